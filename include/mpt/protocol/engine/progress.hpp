/// protocol/engine/progress - one round over everything that may move, and going to sleep when nothing does.
#pragma once
#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

namespace detail {
/// Calls step(item) on each item of a list; the step may take the item off the list.
template <class List, class Step> std::size_t each_once(List& items, Step&& step) noexcept {
    std::size_t moved = 0;
    for (auto it = items.begin(); it != items.end();) {
        auto& item = *it;
        ++it;
        moved += step(item);
    }
    return moved;
}
} // namespace detail

template <class World, class Route, protocol_set Use> std::size_t engine<World, Route, Use>::progress() noexcept {
    constexpr std::size_t budget = 32;
    std::size_t moved = 0;
    ++counts_.rounds;
    wires_.each([&](auto& wire) noexcept {
        moved += wire.poll(arriving{*this}, budget);
        wire.flush();
    });
    if (!stuck_.empty()) [[unlikely]]
        moved += flush_stuck();
    if (!offers_.empty()) moved += detail::each_once(offers_, [this](request& r) { return advance_offer(r); });
    if (active_ != 0) {
        moved += detail::each_once(hopes_, [this](request& r) { return advance_hope(r); });
        moved += detail::each_once(pulls_, [this](request& r) { return advance_pull(r); });
        moved += detail::each_once(pushes_, [this](request& r) { return advance_push(r); });
        moved += detail::each_once(tasks_, [this](request& r) {
            bool const went = r.advance(r);
            if (r.at == phase::working) return went;
            tasks_.erase(r);
            --active_;
            if (r.at == phase::errand) leave_errand(r);
            return true;
        });
    }
    return moved;
}

/// For who waits for one message of that peer's: the line that it will come in is taken over as for an answer (smp/turn_line.hpp), and nothing
/// else is looked at, unless something is under way. Not for many messages, which a round takes together.
/// origin: MPI_Irecv, MPI_Send, MPI_Wait to and fro, 8 bytes, AMD EPYC, Zen 4, two CPUs, by rounds / so: near 0.20 / 0.17 us, far 0.35 / 0.28;
/// a window of 64 from one rank, whose messages lie there one behind the other: 25 / 14 million a second
template <class World, class Route, protocol_set Use> std::size_t engine<World, Route, Use>::progress_with(rank from) noexcept {
    if (!is_at_rest() || !reaches(from)) return progress();
    return with(at(from), [&](auto& wire) {
        unsigned left = 1; // a look may be a call of the system
        if constexpr (requires { wire.looks(); }) left = wire.looks();
        std::size_t moved = 0;
        for (; left != 0 && moved == 0; --left) moved = wire.poll_from(from, arriving{*this});
        return moved;
    });
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::resume(request& r) noexcept {
    start_task(r);
    wake_threads();
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::begin_task(request& r) noexcept {
    r.kind = role::task;
    r.at = phase::working;
    r.go_on();
    r.advance(r);
    if (r.at == phase::working) ++active_, tasks_.push_back(r);
    else if (r.at == phase::errand) leave_errand(r);
}

/// For a thread that holds no lock; one that sleeps may be the only one to come.
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::leave_errand(request& r) noexcept {
    errands_.push_back(r);
    ++active_;
    errands_left_.fetch_add(1, std::memory_order_relaxed); // order: a hint, the lock decides
    wake_threads();
}

template <class World, class Route, protocol_set Use> request* engine<World, Route, Use>::take_errand() noexcept {
    if (errands_.empty()) return nullptr;
    --active_;
    errands_left_.fetch_sub(1, std::memory_order_relaxed); // order: a hint, the lock decides
    return &errands_.pop_front();
}

/// A completed send may start another one, so the list that is walked is not the list that is added to.
template <class World, class Route, protocol_set Use> std::size_t engine<World, Route, Use>::flush_stuck() noexcept {
    std::size_t moved = 0;
    flushing_.swap(stuck_);
    for (auto* p : flushing_)
        if (flush_peer(*p)) ++moved;
        else stuck_.push_back(p);
    flushing_.clear();
    return moved;
}

template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::drained() noexcept {
    bool flushed = true;
    wires_.each([&](auto& wire) noexcept { flushed = wire.flush() && flushed; });
    return flushed && stuck_.empty() && pulls_.empty() && outstanding_ == 0;
}

template <class World, class Route, protocol_set Use> std::uint32_t engine<World, Route, Use>::arm(request* over) noexcept {
    std::uint32_t seen = 0;
    ++asleep_;
    if (over) over->berth = at_bell;
    else ++asleep_over_others_;
    wires_.each([&]<class E>(E& wire) noexcept {
        if constexpr (transport_belled<E>) {
            auto& bell = wire.bell();
            auto const armed = bell.arm(job_.fences());
            if (&bell == bell_) seen = armed;
        }
    });
    return seen;
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::disarm(request* over) noexcept {
    --asleep_;
    if (over) over->berth = 0;
    else --asleep_over_others_;
    if (bell_) bell_->disarm();
}

/// A request is complete, over which a thread may sleep.
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::wake_over(request& r) noexcept {
    if (r.berth == at_bell || asleep_over_others_ != 0) ring_own_bell(); // the latter may sleep over it among others
    if (r.berth != at_bell && r.berth != 0) berths_.rouse(world_, r.berth);
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::find_bell() noexcept {
    wires_.each([&]<class E>(E& wire) noexcept {
        if constexpr (transport_belled<E>)
            if (!bell_) bell_ = &wire.bell();
    });
}

template <class World, class Route, protocol_set Use>
wait::doorbell<World>* engine<World, Route, Use>::bell_of(rank r) noexcept {
    if (r == job_.me()) return bell_;
    auto const at = wires_.pick(r);
    if (at == wires_.none) return nullptr;
    return wires_.with(at, [r]<class E>(E& wire) -> wait::doorbell<World>* {
        if constexpr (transport_neighbourly<E>) return wire.bell_of(r);
        else return nullptr;
    });
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::ring_own_bell() noexcept {
    ++counts_.rings;
    if (bell_) bell_->ring(world_, job_.fences());
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::tell_watchers(notice n) noexcept {
    n.when = world_.now();
    for (auto* const q : watchers_)
        if (q->wants(n.what)) q->post(n);
}

/// Sleeps outside the lane's lock: an endpoint is asked for nothing that another thread may change. A lane with descriptors
/// waits on those and looks at its doorbell every millisecond: the kernel has no call that waits on a futex and on descriptors.
template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::sleep(World const& world, std::uint32_t armed, nanoseconds longest) noexcept {
    bool slept = false;
    wires_.each([&]<class E>(E& wire) noexcept {
        auto const fds = wire.descriptors();
        if (slept || fds.empty()) return;
        world.wait_readable(fds, bell_ ? std::min(longest, nanoseconds{1'000'000}) : longest);
        slept = true;
    });
    if (slept) return;
    if (bell_) bell_->sleep(world, armed, longest);
    else world.sleep_for(longest);
}

} // namespace mpt::inline v0::protocol
