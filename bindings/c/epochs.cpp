// Chapter 12: when the memory of a window is whose - epochs of all, of groups, and of locks.
#include <mpt/mpi/hints.hpp>

#include "entries.hpp"
#include "windows.hpp"

namespace mpt::c {

namespace {

struct promise {
    int bit;
    char const* name;
};
constexpr promise all_promises[] = {{MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK"},
                                    {MPI_MODE_NOSTORE, "MPI_MODE_NOSTORE"},
                                    {MPI_MODE_NOPUT, "MPI_MODE_NOPUT"},
                                    {MPI_MODE_NOPRECEDE, "MPI_MODE_NOPRECEDE"},
                                    {MPI_MODE_NOSUCCEED, "MPI_MODE_NOSUCCEED"}};

/// Of those that this call takes. MPI-4.1 section 12.5.5.
rma::promises promised(call const& on, int assert, int taken) {
    if ((assert & ~taken) != 0) [[unlikely]] {
        std::string allowed = "0";
        for (auto const& p : all_promises)
            if ((taken & p.bit) != 0) allowed += std::string{", "} + p.name;
        on.refuse(MPI_ERR_ASSERT, "assert", assert, allowed);
    }
    auto const has = [assert](int bit) { return (assert& bit) != 0; };
    return {.no_check = has(MPI_MODE_NOCHECK),
            .no_store = has(MPI_MODE_NOSTORE),
            .no_put = has(MPI_MODE_NOPUT),
            .no_precede = has(MPI_MODE_NOPRECEDE),
            .no_succeed = has(MPI_MODE_NOSUCCEED)};
}

void check_subset(call const& on, win const& w, group const& g) {
    for (std::int32_t i = 0; i < g.size(); ++i)
        if (!w.members.find(g.world(i)))
            on.fail(MPI_ERR_GROUP, "rank " + std::to_string(i) + " of group is not in the group of win, which has " +
                                       std::to_string(w.size()) + " processes");
}

// What the watch of a window hears of, where calls are checked (mpt/rma/watch.hpp).

[[maybe_unused]] std::vector<mpt::rank> in_ranks_of(win const& w, group const& g) {
    std::vector<mpt::rank> ranks;
    for (std::int32_t i = 0; i < g.size(); ++i) ranks.push_back(*w.members.find(g.world(i)));
    return ranks;
}
/// Of a window that was promised none.
void before_lock([[maybe_unused]] call const& on, [[maybe_unused]] win const& w) {
    if constexpr (!checked) return;
    std::lock_guard const g{on.of().changing};
    if (hints::never_locked(w.hints))
        on.fail(MPI_ERR_RMA_SYNC, "the window's hint no_locks is true, which promises that nobody locks it");
}
/// Beside who promised that nobody competes nobody does.
void note_lock(call const& on, win& w, rma::lock_kind kind, mpt::rank r) {
    if constexpr (!checked) return;
    auto const found = watch_of(w).locked(kind, r);
    if (!found) return;
    window_of(w).unlock(r);
    require_nothing(on, found);
}
void note_lock_all(call const& on, win& w) {
    if constexpr (!checked) return;
    auto& watch = watch_of(w);
    for (mpt::rank r = 0; r < w.size(); r = r + 1) {
        auto const found = watch.locked(rma::lock_kind::shared, r);
        if (!found) continue;
        for (mpt::rank had = 0; had < w.size(); had = had + 1) watch.unlocked(had);
        window_of(w).unlock_all();
        require_nothing(on, found);
    }
}
void note_flush_all(win& w, bool here) {
    if constexpr (checked)
        for (mpt::rank r = 0; r < w.size(); r = r + 1) watch_of(w).flushed(r, here);
}

} // namespace

namespace impl {

void Win_fence(call& on, int assert, win& w) {
    auto const p = promised(on, assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED);
    if constexpr (!checked) return window_of(w).fence(p);
    require_nothing(on, watch_of(w).may_fence());
    auto const before = watch_of(w).before_fence(p); // told when the others have been met, who would wait for this rank
    try {
        window_of(w).fence(p);
    } catch (error const& e) {
        if (e.code() == errc::rma_range) watch_of(w).fenced(); // it has met the others, and tells what was refused
        throw;
    }
    auto const after = watch_of(w).fenced();
    require_nothing(on, before);
    require_nothing(on, after);
}

void Win_start(call& on, group_object& g, int assert, win& w) {
    check_subset(on, w, g.members);
    auto const p = promised(on, assert, MPI_MODE_NOCHECK);
    if constexpr (checked) require_nothing(on, watch_of(w).before_start(in_ranks_of(w, g.members), p));
    window_of(w).start(g.members, p);
    if constexpr (checked) watch_of(w).started();
}
void Win_complete(call&, win& w) { window_of(w).complete(); }
void Win_post(call& on, group_object& g, int assert, win& w) {
    check_subset(on, w, g.members);
    auto const p = promised(on, assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT);
    if constexpr (checked) require_nothing(on, watch_of(w).before_post(p));
    window_of(w).post(g.members, p);
}
void Win_wait(call&, win& w) {
    window_of(w).wait();
    if constexpr (checked) watch_of(w).waited();
}
void Win_test(call&, win& w, int& flag) {
    flag = window_of(w).test();
    if (checked && flag) watch_of(w).waited();
}

// Who locks nobody is in an epoch all the same, in which all that are locked may be flushed.

void Win_lock(call& on, int type, int rank, int assert, win& w) {
    auto const p = promised(on, assert, MPI_MODE_NOCHECK);
    before_lock(on, w);
    auto const kind = type == MPI_LOCK_EXCLUSIVE ? rma::lock_kind::exclusive : rma::lock_kind::shared;
    if (rank == MPI_PROC_NULL) return window_of(w).lock(kind, proc_null, p);
    window_of(w).lock(kind, mpt::rank{rank}, p);
    note_lock(on, w, kind, mpt::rank{rank});
}
void Win_unlock(call&, int rank, win& w) {
    if (rank == MPI_PROC_NULL) return window_of(w).unlock(proc_null);
    if constexpr (checked) watch_of(w).unlocked(mpt::rank{rank});
    window_of(w).unlock(mpt::rank{rank});
}
void Win_lock_all(call& on, int assert, win& w) {
    auto const p = promised(on, assert, MPI_MODE_NOCHECK);
    before_lock(on, w);
    window_of(w).lock_all(p);
    note_lock_all(on, w);
}
void Win_unlock_all(call&, win& w) {
    if constexpr (checked)
        for (mpt::rank r = 0; r < w.size(); r = r + 1) watch_of(w).unlocked(r);
    window_of(w).unlock_all();
}

void Win_flush(call&, int rank, win& w) {
    if (rank == MPI_PROC_NULL) return;
    window_of(w).flush(mpt::rank{rank});
    if constexpr (checked) watch_of(w).flushed(mpt::rank{rank});
}
void Win_flush_all(call&, win& w) {
    window_of(w).flush_all();
    note_flush_all(w, false);
}
void Win_flush_local(call&, int rank, win& w) {
    if (rank == MPI_PROC_NULL) return;
    window_of(w).flush_local(mpt::rank{rank});
    if constexpr (checked) watch_of(w).flushed(mpt::rank{rank}, true);
}
void Win_flush_local_all(call&, win& w) {
    window_of(w).flush_local_all();
    note_flush_all(w, true);
}
void Win_sync(call&, win& w) { window_of(w).sync(); }

} // namespace impl
} // namespace mpt::c
