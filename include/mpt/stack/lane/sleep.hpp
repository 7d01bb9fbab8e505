/// stack/lane/sleep - what a wait of a lane does when it has looked for long: it gives its CPU away, or sleeps. Included by stack/lane.hpp.
///
///        yield    ... took a time slice, or did lately: sleep in its place
///        sleep    another thread looks:                  in a berth, until that one completes what we wait for
///                 nobody else is up, all others in berths, and we have only heard that yields are dear:
///                                                        yields all the same, for those that took them may lie down; not where that was
///                                                        in vain of late (wait/yields.hpp)
///                 else:                                  at the lane's bell
///
///   Why       Threads of one rank that compute, or have messages to move, keep the CPU for a slice; so those that wait sleep at once. When all
///             have come to wait, the last would sleep, too, and its CPU be idle: to wake that takes 30 us and more, to come back from a
///             yield 1. And each nap of one in a berth takes the CPU from those who do something, twice a switch, and the lock.
///             origin: windows of 64 messages of 8 and 16 threads of two ranks, AMD EPYC, 2 CPUs, M/s: 15.8 and 13.2, so 18.2 and 15.7; of a
///             thread beside 15 that wait for something else, 13 to 18, so 17 to 21
///   Limit     where the one that looks is kept from it, by a program of others or by what it does for a peer (wait_hooks.hpp), who lies in a
///             berth sees what has come for it after 16 naps at the latest, a second at most.
///   Tests     test/stack_lane_test.cpp
#pragma once
#include <mpt/stack/lane.hpp>

namespace mpt::inline v0 {

/// A yield of a wait, which sleeps from now on if it took a time slice, or one did lately: asked by the first of a row.
template <class Stack> void lane<Stack>::give_way(typename Stack::wait_type& w, manners& m) noexcept {
    if (facts().yields == ~std::uint32_t{0}) return static_cast<void>(give_way()); // who is told to yield for ever does so
    m.warned = !std::exchange(m.yielded, true) && yields_.are_dear();
    bool dear = m.warned;
    if (!dear) {
        dear = yields_.took(give_way());
        if (dear && m.all_the_same) yields_.tried_in_vain();
        auto const n = looks_of(facts(), yields_.were_idle());
        if (n != looks()) looks_.store(n, std::memory_order_relaxed); // order: see lane.hpp, looks()
    }
    if (dear) [[unlikely]]
        w = typename Stack::wait_type{asleep(facts())};
}

template <class Stack> bool lane<Stack>::fall_asleep(typename Stack::wait_type& w, function_ref<bool(engine_type&)> done,
                                                     protocol::request* over, presence_type& here, manners& m) {
    if (job_.launcher_gone()) [[unlikely]]
        job_.follow_abort();
    follow();
    std::uint32_t armed = 0;
    bool bell = false;
    typename wait::berths<world_type>::berth* place = nullptr;
    {
        guard g{lock_};
        here.come();
        if (std::exchange(m.warned, false) && engine_.berths().is_alone_up() && yields_.are_worth_a_try()) {
            m.yielded = m.all_the_same = true;
            auto f = facts();
            f.spins = f.between = 0;
            w = typename Stack::wait_type{f};
            return false;
        }
        if (over && over->berth != 0) [[unlikely]]
            over = nullptr; // another thread sleeps over it
        bell = engine_.can_sleep();
        if (bell && over && !over->complete) place = engine_.berths().take(over->berth);
        if (place) bell = false;
        if (bell) armed = engine_.arm(over);
        bool const moved = bell && engine_.progress() != 0, yes = over ? over->complete : bell && done(engine_);
        if (moved || yes) {
            if (bell) engine_.disarm(over);
            w.reset();
            return yes && (!over || done(engine_)) && (here.go(), true);
        }
        show_kept(engine_.tables(), job_.record(job_.me()).kept);
    }
    bool const rank_sleeps = bell && all_.size() < 2 && !here_.is_crowded();
    if (rank_sleeps) job_.fall_asleep();
    auto const before = world_.now();
    bool const out = bell && all_.size() > 1 && crowd_->look_out(); // one sleeper of a rank looks at all lanes early
    if (place) place->sleep(world_, longest_nap(bounded_nap(soundly * w.nap()), false));
    else if (bell) engine_.sleep(world_, armed, longest_nap(w.nap(), out));
    else return world_.sleep_for(a_break), false;
    if (out) crowd_->look_no_more();
    auto const slept = world_.now() - before;
    if (rank_sleeps) job_.wake_up();
    guard g{lock_};
    if (bell) engine_.disarm(over);
    else if (engine_.berths().leave(*place)) w.reset();
    ++sleeps_, slept_ += slept;
    return false;
}

/// Peers ring the bell of the lane they send on: with several lanes, look at the others now and then. And where a lane has no
/// bell (streams only), another thread that completes what this one waits for cannot wake it.
template <class Stack> nanoseconds lane<Stack>::longest_nap(nanoseconds wished, bool looks_out) noexcept {
    constexpr bool alone = std::is_same_v<typename Stack::lock_policy_type, lock::none> || engine_type::wakes_threads;
    if constexpr (!alone) wished = std::min(wished, 20 * a_break);
    return looks_out ? std::min(wished, 4 * a_break) : wished;
}

} // namespace mpt::inline v0
