// Collectives over teams and active sets.
#include "engine.hpp"

namespace mpt::c::shmem {

namespace {

/// f(the team), and 0; where the handle is none, -1.
template <class F> int over(shmem_team_t team, F const& f) {
    auto* const t = find_team(team);
    if (!t) return -1;
    return guarded([&] { return f(*t), 0; });
}
/// An active set that is none, or that the caller is not in, ends the job.
template <class F> int over(set const& who, F const& f) {
    return guarded([&] { return f(here().job().active_set(who.start, who.log_stride, who.size)), 0; });
}

} // namespace

void barrier_all() {
    guarded([] { here().env->barrier_all(); });
}
void sync_all() {
    guarded([] { here().env->sync_all(); });
}
void barrier(set const& who) {
    over(who, [](team_type& t) { here().job().barrier(t); });
}
void barrier(shmem_team_t team) {
    over(team, [](team_type& t) { here().job().barrier(t); });
}

int sync(shmem_team_t team) { return over(team, mpt::shmem::sync<stack>); }
int sync(set const& who) { return over(who, mpt::shmem::sync<stack>); }

int alltoall(shmem_team_t team, void* dest, void const* source, std::size_t n) {
    return over(team, [=](team_type& t) { mpt::shmem::alltoall(t, dest, source, n); });
}
int alltoall(set const& who, void* dest, void const* source, std::size_t n) {
    return over(who, [=](team_type& t) { mpt::shmem::alltoall(t, dest, source, n); });
}
int alltoalls(shmem_team_t team, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t n,
              std::size_t width) {
    return over(team, [=](team_type& t) { mpt::shmem::alltoalls(t, dest, source, dst, sst, n, width); });
}
int alltoalls(set const& who, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst, std::size_t n,
              std::size_t width) {
    return over(who, [=](team_type& t) { mpt::shmem::alltoalls(t, dest, source, dst, sst, n, width); });
}
int broadcast(shmem_team_t team, void* dest, void const* source, std::size_t n, int root) {
    return over(team, [=](team_type& t) { mpt::shmem::broadcast(t, dest, source, n, root); });
}
int broadcast(set const& who, void* dest, void const* source, std::size_t n, int root) {
    return over(who, [=](team_type& t) { mpt::shmem::broadcast(t, dest, source, n, root, true); });
}
int collect(shmem_team_t team, void* dest, void const* source, std::size_t n) {
    return over(team, [=](team_type& t) { mpt::shmem::collect(t, dest, source, n); });
}
int collect(set const& who, void* dest, void const* source, std::size_t n) {
    return over(who, [=](team_type& t) { mpt::shmem::collect(t, dest, source, n); });
}
int fcollect(shmem_team_t team, void* dest, void const* source, std::size_t n) {
    return over(team, [=](team_type& t) { mpt::shmem::fcollect(t, dest, source, n); });
}
int fcollect(set const& who, void* dest, void const* source, std::size_t n) {
    return over(who, [=](team_type& t) { mpt::shmem::fcollect(t, dest, source, n); });
}

int alltoallv(shmem_team_t team, void* dest, std::size_t const* offsets, std::size_t* sizes, void const* source,
              std::size_t const* source_offsets, std::size_t const* source_sizes) {
    return over(team,
                [=](team_type& t) { mpt::shmem::alltoallv(t, dest, offsets, sizes, source, source_offsets, source_sizes); });
}
int alltoallv(set const& who, void* dest, std::size_t const* offsets, std::size_t* sizes, void const* source,
              std::size_t const* source_offsets, std::size_t const* source_sizes) {
    return over(who,
                [=](team_type& t) { mpt::shmem::alltoallv(t, dest, offsets, sizes, source, source_offsets, source_sizes); });
}
std::size_t alltoallv_packed(shmem_team_t team, void* dest, std::size_t room, void const* source,
                             std::size_t const* source_offsets, std::size_t const* source_sizes) {
    std::size_t came = 0;
    over(team, [&](team_type& t) { came = mpt::shmem::alltoallv_packed(t, dest, room, source, source_offsets, source_sizes); });
    return came;
}
std::size_t alltoallv_packed(set const& who, void* dest, std::size_t room, void const* source,
                             std::size_t const* source_offsets, std::size_t const* source_sizes) {
    std::size_t came = 0;
    over(who, [&](team_type& t) { came = mpt::shmem::alltoallv_packed(t, dest, room, source, source_offsets, source_sizes); });
    return came;
}

namespace far {

int reduce(shmem_team_t team, operation op, element_kind kind, void* dest, void const* source, std::size_t n) {
    return over(team, [=](team_type& t) { mpt::shmem::reduce(t, dest, source, n, op, kind); });
}
int reduce(set const& who, operation op, element_kind kind, void* dest, void const* source, std::size_t n) {
    return over(who, [=](team_type& t) { mpt::shmem::reduce(t, dest, source, n, op, kind); });
}
int scan(shmem_team_t team, element_kind kind, void* dest, void const* source, std::size_t n, bool with_own) {
    using mpt::shmem::scan_kind;
    auto const which = with_own ? scan_kind::inclusive : scan_kind::exclusive;
    return over(team, [=](team_type& t) { mpt::shmem::scan(t, dest, source, n, which, kind); });
}

} // namespace far
} // namespace mpt::c::shmem
