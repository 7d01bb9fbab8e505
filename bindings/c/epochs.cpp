// Chapter 12: when the memory of a window is whose - epochs of all, of groups, and of locks.
#include "entries.hpp"
#include "windows.hpp"

namespace mpt::c {

namespace {

rma::promises promised(int assert) noexcept {
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

} // namespace

namespace impl {

void Win_fence(call&, int assert, win& w) { window_of(w).fence(promised(assert)); }

void Win_start(call& on, group_object& g, int assert, win& w) {
    check_subset(on, w, g.members);
    window_of(w).start(g.members, promised(assert));
}
void Win_complete(call&, win& w) { window_of(w).complete(); }
void Win_post(call& on, group_object& g, int assert, win& w) {
    check_subset(on, w, g.members);
    window_of(w).post(g.members, promised(assert));
}
void Win_wait(call&, win& w) { window_of(w).wait(); }
void Win_test(call&, win& w, int& flag) { flag = window_of(w).test(); }

// Nobody's memory needs no lock, as it needs no operation.

void Win_lock(call&, int type, int rank, int assert, win& w) {
    if (rank == MPI_PROC_NULL) return;
    auto const kind = type == MPI_LOCK_EXCLUSIVE ? rma::lock_kind::exclusive : rma::lock_kind::shared;
    window_of(w).lock(kind, mpt::rank{rank}, promised(assert));
}
void Win_unlock(call&, int rank, win& w) {
    if (rank != MPI_PROC_NULL) window_of(w).unlock(mpt::rank{rank});
}
void Win_lock_all(call&, int assert, win& w) { window_of(w).lock_all(promised(assert)); }
void Win_unlock_all(call&, win& w) { window_of(w).unlock_all(); }

void Win_flush(call&, int rank, win& w) {
    if (rank != MPI_PROC_NULL) window_of(w).flush(mpt::rank{rank});
}
void Win_flush_all(call&, win& w) { window_of(w).flush_all(); }
void Win_flush_local(call&, int rank, win& w) {
    if (rank != MPI_PROC_NULL) window_of(w).flush_local(mpt::rank{rank});
}
void Win_flush_local_all(call&, win& w) { window_of(w).flush_local_all(); }
void Win_sync(call&, win& w) { window_of(w).sync(); }

} // namespace impl
} // namespace mpt::c
