/// rma/window/sync - epochs: when operations may be, and when they are complete.
///
///        none --fence--> fence --fence(no_succeed)--> none            a lock or start may follow a fence that nothing followed
///        none --start--> start --complete--> none
///        none --lock_all-> lock_all --unlock_all--> none
///        none, with so many targets locked one by one                 beside all of them: post --wait, test--> over
///
///   A lock is looked at by the usual waiter, whose bell is rung by who gives the lock back: a hand-over like a message's
///   (wait/doorbell.hpp), with the sleeper's place in the control block in front of the lock. Words between start and post, complete
///   and wait are empty messages, which wake who sleeps.
///   Source   MPI-4.1 section 12.5.
#pragma once
#include <exception>

#include <mpt/rma/window.hpp>

namespace mpt::inline v0::rma {

// --- what is complete -----------------------------------------------------------------------------------------------------------------
/// All that the target's agent was asked for is done. Throws where it refused some of it.
template <class Stack> void window<Stack>::confirm(target_type& t) {
    auto const asked = t.asked.load(std::memory_order_relaxed); // order: who asked it synchronises with us
    auto done = t.confirmed.load(std::memory_order_acquire);    // sync(rma.confirmed): acquire
    if (asked == done) [[likely]]
        return;
    std::uint32_t refused = 0;
    ask_for("flush", t, {.what = request::confirm}, {}, {}, sink{&refused, sizeof refused});
    while (static_cast<std::int32_t>(asked - done) > 0 && // another thread may have had more confirmed
           !t.confirmed.compare_exchange_weak(done, asked, std::memory_order_release, // sync(rma.confirmed): release
                                              std::memory_order_relaxed)) {}          // order: another try
    if (refused != 0)
        throw error{errc::rma_range, "mpt: " + std::to_string(refused) + " operations went to memory of rank " +
                                         std::to_string(t.world.value) + " of the job that is not attached to the window"};
}
/// Of n targets, f(0) and so on, all of them also where one refuses something.
template <class Stack> template <class F> void window<Stack>::confirm_each(std::int32_t n, F f) {
    std::exception_ptr refused;
    for (std::int32_t i = 0; i < n; ++i) {
        try {
            confirm(f(i));
        } catch (error const&) {
            if (!refused) refused = std::current_exception();
        }
    }
    if (refused) std::rethrow_exception(refused);
}
template <class Stack> void window<Stack>::confirm_all() {
    confirm_each(size(), [this](std::int32_t r) -> auto& { return at(rank{r}); });
}
/// The epoch ends also where something was refused, since others wait for its end; who asked for it is told afterwards.
template <class Stack> template <class Confirm, class End> void window<Stack>::end_epoch(Confirm all, End end) {
    try {
        all();
    } catch (error const&) {
        end();
        throw;
    }
    end();
}

/// Messages of this rank may have to leave, or to come, before what it looks for in a window's memory is there.
template <class Stack> void window<Stack>::move_messages() {
    auto const thread = run_->world().self();
    if (turns_.may_skip(thread)) [[likely]]
        return;
    turns_.begin_again(thread);
    auto& lane = wire_.on();
    if (typename Stack::lock_type::node n; lane.lock().try_acquire(n)) lane.step(), lane.lock().release(n);
    lane.serve_others();
    lane.follow();
    lane.offer_way();
}

template <class Stack> void window<Stack>::flush(rank target) {
    must_be_passive("flush", target);
    confirm(at(target));
    settle();
    move_messages();
}
template <class Stack> void window<Stack>::flush_all() {
    must_be_passive("flush_all");
    confirm_all();
    settle();
    move_messages();
}
template <class Stack> void window<Stack>::flush_local(rank target) {
    must_be_passive("flush_local", target);
    move_messages();
}
template <class Stack> void window<Stack>::flush_local_all() {
    must_be_passive("flush_local_all");
    move_messages();
}
template <class Stack> void window<Stack>::sync() {
    settle();
    move_messages();
}

// --- what may be ----------------------------------------------------------------------------------------------------------------------
template <class Stack> void window<Stack>::wrong_order(char const* call, char const* why) const {
    throw error{errc::rma_sync, "mpt: " + std::string{call} + ": " + why};
}
template <class Stack> void window<Stack>::no_epoch(char const* call, rank r) const {
    throw error{errc::rma_sync, "mpt: " + std::string{call} + ": no epoch of this rank is open to rank " +
                                    std::to_string(r.value) + " of the window: fence, start or lock begins one"};
}
template <class Stack> void window<Stack>::must_begin(char const* call) const {
    auto const e = now();
    if ((e != epoch::none && e != epoch::fence) || locks() != 0)
        wrong_order(call, "an access epoch is open, begun by start, lock or lock_all");
}
template <class Stack> void window<Stack>::must_be_passive(char const* call, rank r) const {
    if (now() != epoch::lock_all && targets_[static_cast<std::size_t>(r.value)].lock == held::nothing) [[unlikely]]
        wrong_order(call, ("rank " + std::to_string(r.value) + " of the window is not locked").c_str());
}
template <class Stack> void window<Stack>::must_be_passive(char const* call) const {
    if (now() != epoch::lock_all && locks() == 0) [[unlikely]]
        wrong_order(call, "no rank of the window is locked");
}

// --- all together -------------------------------------------------------------------------------------------------------------------------
template <class Stack> void window<Stack>::fence(promises p) {
    must_begin("fence");
    end_epoch([&] { confirm_all(); },
              [&] {
                  settle();
                  coll::barrier(team());
                  enter(p.no_succeed ? epoch::none : epoch::fence);
                  open_to_all(!p.no_succeed);
              });
}

// --- some with some -------------------------------------------------------------------------------------------------------------------------
template <class Stack> rank window<Stack>::of_mine(char const* call, rank world) const {
    if (auto const r = who_.find(world)) return *r;
    throw error{errc::argument, "mpt: " + std::string{call} + ": rank " + std::to_string(world.value) +
                                    " of the job is in the group but not in the window"};
}

template <class Stack> void window<Stack>::start(group const& targets, promises p) {
    must_begin("start");
    for (rank i = 0; i < targets.size(); i = i + 1) of_mine("start", targets.world(i));
    open_to_all(false);
    enter(epoch::start);
    started_ = targets;
    for (rank i = 0; i < targets.size(); i = i + 1) {
        auto const world = targets.world(i);
        if (!p.no_check) wire_.recv(world, posted, std::span<std::byte>{});
        open(at(of_mine("start", world)), true);
    }
}

template <class Stack> void window<Stack>::complete() {
    if (now() != epoch::start) wrong_order("complete", "no access epoch was begun by start");
    auto const closed = [this](std::int32_t i) -> auto& {
        auto& t = at(of_mine("complete", started_.world(i)));
        return open(t, false), t;
    };
    end_epoch([&] { confirm_each(started_.size(), closed); },
              [&] {
                  settle();
                  enter(epoch::none);
                  for (rank i = 0; i < started_.size(); i = i + 1)
                      wire_.send(started_.world(i), completed, std::span<std::byte const>{});
              });
}

template <class Stack> void window<Stack>::post(group const& origins, promises p) {
    if (exposed_) wrong_order("post", "the exposure epoch before is not over: wait ends it");
    for (rank i = 0; i < origins.size(); i = i + 1) of_mine("post", origins.world(i));
    settle();
    exposed_ = true;
    posted_to_ = origins;
    heard_.assign(static_cast<std::size_t>(origins.size()), false);
    for (rank i = 0; i < origins.size() && !p.no_check; i = i + 1) tell_posted(origins.world(i));
}

/// It may not wait for the origin, which may be about to post to us.
template <class Stack> void window<Stack>::tell_posted(rank world) {
    if (!wire_.try_send(world, posted, {})) told_.push_back(wire_.start_send(world, posted, source{}));
}
template <class Stack> void window<Stack>::finish_told() {
    for (auto* const r : told_) wire_.finish(*r, {wait_for::pending_send, wire_.context(), r->peer, posted, 0});
    told_.clear();
}

/// Is that origin through?
template <class Stack> bool window<Stack>::hear(std::size_t i, bool waits) {
    auto const world = posted_to_.world(static_cast<std::int32_t>(i));
    outcome seen;
    if (!waits && !wire_.iprobe(world, completed, seen)) return false;
    wire_.recv(world, completed, std::span<std::byte>{});
    return true;
}
template <class Stack> void window<Stack>::end_exposure() {
    exposed_ = false;
    finish_told();
    settle();
}

template <class Stack> void window<Stack>::wait() {
    if (!exposed_) wrong_order("wait", "no exposure epoch was begun by post");
    for (std::size_t i = 0; i < heard_.size(); ++i)
        if (!heard_[i]) heard_[i] = hear(i, true);
    end_exposure();
}

template <class Stack> bool window<Stack>::test() {
    if (!exposed_) wrong_order("test", "no exposure epoch was begun by post");
    for (std::size_t i = 0; i < heard_.size(); ++i)
        if (!heard_[i] && !(heard_[i] = hear(i, false))) return false;
    end_exposure();
    return true;
}

// --- one alone ------------------------------------------------------------------------------------------------------------------------------
/// A waiter's place, as long as it waits.
template <class Stack> class window<Stack>::in_line {
    atomic<std::int32_t>* place_ = nullptr;

public:
    in_line(control<world_type>& c, rank me) noexcept {
        for (auto& p : c.waiting) {
            std::int32_t nobody = 0;
            // order: the barrier of the sleeper's bell comes before its last look
            if (!p.compare_exchange_strong(nobody, me.value + 1, std::memory_order_relaxed)) continue;
            place_ = &p;
            return;
        }
    }
    ~in_line() {
        if (place_) place_->store(0, std::memory_order_relaxed); // order: a ring too many harms nobody
    }
    in_line(in_line const&) = delete;
};

/// The lock was given back.
template <class Stack> void window<Stack>::wake(control<world_type>& c) noexcept {
    auto const mode = run_->job().fences();
    fences::light(mode);
    for (auto const& p : c.waiting) {
        auto const who = p.load(std::memory_order_relaxed); // order: light() is in front of it
        if (who == 0) [[likely]]
            continue;
        if (auto* const bell = wire_.on().bell_of(rank{who - 1})) bell->ring(run_->world(), mode);
    }
}

/// Who has waited so long for the whole lets nobody in any more who would share it; who has waited so long there enters. A hold that
/// loses its CPU meanwhile is to end before that.
inline constexpr nanoseconds gate_shut_after{1'000'000}, gate_open_after{20'000'000};

template <class Stack> void window<Stack>::take(lock_kind kind, target_type& t, promises p) {
    if (p.no_check) {
        t.lock = held::promised;
        return;
    }
    if (!t.sync->lock.try_lock(kind)) {
        in_line const here{*t.sync, who_.world(me_)};
        auto const& clock = wire_.on().world();
        auto const long_since = clock.now() + (kind == lock_kind::exclusive ? gate_shut_after : gate_open_after);
        wire_.on().wait({wait_for::lock, wire_.context(), any_source, tag{t.world.value}, 0}, [&](auto&) {
            return t.sync->lock.try_lock(kind) || (clock.now() >= long_since && t.sync->lock.insist(kind));
        });
    }
    t.lock = kind == lock_kind::exclusive ? held::exclusive : held::shared;
}

template <class Stack> void window<Stack>::give(target_type& t) noexcept {
    auto const had = std::exchange(t.lock, held::nothing);
    if (had == held::exclusive) t.sync->lock.release_exclusive();
    if (had == held::shared) t.sync->lock.release_shared();
    if (had == held::exclusive || had == held::shared) wake(*t.sync);
}

template <class Stack> void window<Stack>::lock(lock_kind kind, rank target, promises p) {
    if (auto const e = now(); e == epoch::start || e == epoch::lock_all)
        wrong_order("lock", "an access epoch is open, begun by start or lock_all");
    if (target == proc_null) {
        if (nobody_locked_.exchange(true, std::memory_order_relaxed)) // order: own thread's epoch
            wrong_order("lock", "nobody (proc_null) is locked by this rank already");
        locks_.fetch_add(1, std::memory_order_relaxed); // order: as below
        if (now() == epoch::fence) enter(epoch::none), open_to_all(false);
        return;
    }
    auto& t = at(target);
    if (t.lock != held::nothing)
        wrong_order("lock", ("rank " + std::to_string(target.value) + " of the window is locked by this rank already").c_str());
    take(kind, t, p);
    locks_.fetch_add(1, std::memory_order_relaxed); // order: of several threads, each counts its own
    if (now() == epoch::fence) enter(epoch::none), open_to_all(false);
    open(t, true);
}

template <class Stack> void window<Stack>::unlock(rank target) {
    if (target == proc_null) {
        if (!nobody_locked_.exchange(false, std::memory_order_relaxed)) // order: own thread's epoch
            wrong_order("unlock", "nobody (proc_null) is not locked");
        locks_.fetch_sub(1, std::memory_order_relaxed); // order: as in lock
        return;
    }
    auto& t = at(target);
    if (now() == epoch::lock_all || t.lock == held::nothing)
        wrong_order("unlock", ("rank " + std::to_string(target.value) + " of the window is not locked").c_str());
    end_epoch([&] { confirm(t); },
              [&] {
                  settle();
                  open(t, false);
                  locks_.fetch_sub(1, std::memory_order_relaxed); // order: as in lock
                  give(t);
              });
    move_messages();
}

template <class Stack> bool window<Stack>::try_lock(lock_kind kind, rank target) noexcept {
    auto& t = at(target);
    if (now() != epoch::none || t.lock != held::nothing || !t.sync->lock.try_lock(kind)) [[unlikely]]
        return false;
    t.lock = kind == lock_kind::exclusive ? held::exclusive : held::shared;
    locks_.fetch_add(1, std::memory_order_relaxed); // order: of several threads, each counts its own
    open(t, true);
    return true;
}

template <class Stack> bool window<Stack>::try_unlock(rank target) noexcept {
    auto& t = at(target);
    if (now() == epoch::lock_all || t.lock == held::nothing || !is_confirmed(t)) [[unlikely]]
        return false;
    if (!turns_.may_skip(run_->world().self())) return false;
    settle();
    open(t, false);
    locks_.fetch_sub(1, std::memory_order_relaxed); // order: as in try_lock
    give(t);
    return true;
}

template <class Stack> void window<Stack>::lock_all(promises p) {
    must_begin("lock_all");
    for (rank r = 0; r < size(); r = r + 1) take(lock_kind::shared, at(r), p);
    enter(epoch::lock_all);
    open_to_all(true);
}

template <class Stack> void window<Stack>::unlock_all() {
    if (now() != epoch::lock_all) wrong_order("unlock_all", "the ranks of the window are not locked by lock_all");
    end_epoch([&] { confirm_all(); },
              [&] {
                  settle();
                  open_to_all(false);
                  enter(epoch::none);
                  for (rank r = 0; r < size(); r = r + 1) give(at(r));
              });
    move_messages();
}

template <class Stack> bool window<Stack>::try_lock_all() noexcept {
    if (now() != epoch::none || locks() != 0) [[unlikely]]
        return false;
    for (rank r = 0; r < size(); r = r + 1) {
        auto& t = at(r);
        if (t.sync->lock.try_lock(lock_kind::shared)) [[likely]] {
            t.lock = held::shared;
            continue;
        }
        while (r > 0) give(at(r = r - 1)); // those are as they were
        return false;
    }
    enter(epoch::lock_all);
    open_to_all(true);
    return true;
}

template <class Stack> bool window<Stack>::try_unlock_all() noexcept {
    if (now() != epoch::lock_all) [[unlikely]]
        return false;
    for (rank r = 0; r < size(); r = r + 1)
        if (!is_confirmed(at(r))) [[unlikely]]
            return false;
    if (!turns_.may_skip(run_->world().self())) return false;
    settle();
    open_to_all(false);
    enter(epoch::none);
    for (rank r = 0; r < size(); r = r + 1) give(at(r));
    return true;
}

} // namespace mpt::inline v0::rma
