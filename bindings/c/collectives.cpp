// Chapter 6: blocking collectives that move data. Those that combine them: reductions.cpp.
#include "collectives.hpp"

#include <mpt/coll/allgather.hpp>
#include <mpt/coll/alltoall.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/gather.hpp>
#include <mpt/coll/scatter.hpp>

#include "entries.hpp"
#include "parts.hpp"

namespace mpt::c {

namespace {

void each_committed(call const& on, MPI_Datatype const* types, int n, char const* argument) {
    for (int r = 0; r < n; ++r)
        on.committed(on.object(types[r], argument), (std::string{argument} + '[' + std::to_string(r) + ']').c_str());
}

void require_apart(call const& on, part const& a, part const& b) {
    if (a.starts_like(b)) same_memory(on, "sendbuf", "recvbuf");
}

/// What this rank brings, or nothing where it is in its place already.
std::optional<source> brought(moved_data& layout, void const* buffer, MPI_Count count, datatype_object const* t) {
    if (buffer == MPI_IN_PLACE) return coll::in_place;
    return layout.out(buffer, count, t->type);
}
std::optional<sink> wanted(moved_data& layout, void* buffer, MPI_Count count, datatype_object const* t) {
    if (buffer == MPI_IN_PLACE) return coll::in_place;
    return layout.in(buffer, count, t->type);
}

/// The one part is not to be where a part of the others begins: this rank's, or the first.
template <class All>
void require_apart(call const& on, comm const& c, void const* one, MPI_Count count, datatype_object const* t, All const& all) {
    if (one == MPI_IN_PLACE) return;
    part const mine{one, 0, count, t->type};
    require_apart(on, mine, all.where(c.me));
    require_apart(on, mine, all.where(0));
}

template <class All> void gather(call const& on, void const* buffer, MPI_Count count, datatype_object const* t, All const& all,
                                 int root, comm const& c) {
    refuse_in_place(on, buffer, "sendbuf", root, c);
    if (c.me == root) require_apart(on, c, buffer, count, t, all);
    moved_data layout;
    auto const mine = brought(layout, buffer, count, t);
    if constexpr (All::same_size) coll::gather(team_of(c), mine, all, root);
    else coll::gatherv(team_of(c), mine, all, root);
}

template <class All>
void scatter(call const& on, All const& all, void* buffer, MPI_Count count, datatype_object const* t, int root, comm const& c) {
    refuse_in_place(on, buffer, "recvbuf", root, c);
    if (c.me == root) require_apart(on, c, buffer, count, t, all);
    moved_data layout;
    auto const mine = wanted(layout, buffer, count, t);
    if constexpr (All::same_size) coll::scatter(team_of(c), all, mine, root);
    else coll::scatterv(team_of(c), all, mine, root);
}

template <class All>
void allgather(call const& on, void const* buffer, MPI_Count count, datatype_object const* t, All const& all, comm const& c) {
    require_apart(on, c, buffer, count, t, all);
    moved_data layout;
    coll::allgather(team_of(c), brought(layout, buffer, count, t), all);
}

template <class Mine, class All>
void alltoall(call const& on, void const* buffer, Mine const& mine, All const& all, comm const& c) {
    if (buffer == MPI_IN_PLACE) return coll::alltoall_in_place(team_of(c), all);
    require_apart(on, mine.where(c.me), all.where(c.me));
    if constexpr (All::same_size) coll::alltoall(team_of(c), mine, all);
    else coll::alltoallv(team_of(c), mine, all);
}

} // namespace

void same_memory(call const& on, char const* one, char const* other) {
    on.fail(MPI_ERR_BUFFER,
            std::string{one} + " and " + other + " are the same memory; data that stay where they are: MPI_IN_PLACE");
}
void refuse_in_place(call const& on, void const* buffer, char const* argument, int root, comm const& c) {
    if (buffer == MPI_IN_PLACE && c.me != root)
        on.fail(MPI_ERR_BUFFER, std::string{argument} + " is MPI_IN_PLACE, which is allowed at the root only (rank " +
                                    std::to_string(root) + ")");
}

namespace impl {

void Barrier(call&, comm& c) { coll::barrier(team_of(c)); }

void Bcast(call&, void* buffer, MPI_Count count, datatype_object& t, int root, comm& c) {
    moved_part data;
    coll::broadcast(team_of(c), data.make({buffer, 0, count, t.type}), root);
}

void Gather(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object* rt, int root,
            comm& c) {
    gather(on, sb, sn, st, parts{c, even{rb, rn, rt}}, root, c);
}
void Gatherv(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, numbers rn, numbers places,
             datatype_object* rt, int root, comm& c) {
    gather(on, sb, sn, st, parts{c, listed{rb, rn, places, rt}}, root, c);
}
void Scatter(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object* rt, int root,
             comm& c) {
    scatter(on, parts{c, even{sb, sn, st}}, rb, rn, rt, root, c);
}
void Scatterv(call& on, void const* sb, numbers sn, numbers places, datatype_object* st, void* rb, MPI_Count rn,
              datatype_object* rt, int root, comm& c) {
    scatter(on, parts{c, listed{sb, sn, places, st}}, rb, rn, rt, root, c);
}

void Allgather(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object& rt,
               comm& c) {
    allgather(on, sb, sn, st, parts{c, even{rb, rn, &rt}}, c);
}
void Allgatherv(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, numbers rn, numbers places,
                datatype_object& rt, comm& c) {
    allgather(on, sb, sn, st, parts{c, listed{rb, rn, places, &rt}}, c);
}

void Alltoall(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object& rt,
              comm& c) {
    alltoall(on, sb, parts{c, even{sb, sn, st}}, parts{c, even{rb, rn, &rt}}, c);
}
void Alltoallv(call& on, void const* sb, numbers sn, numbers splaces, datatype_object* st, void* rb, numbers rn,
               numbers rplaces, datatype_object& rt, comm& c) {
    alltoall(on, sb, parts{c, listed{sb, sn, splaces, st}}, parts{c, listed{rb, rn, rplaces, &rt}}, c);
}
void Alltoallw(call& on, void const* sb, numbers sn, numbers splaces, MPI_Datatype const* st, void* rb, numbers rn,
               numbers rplaces, MPI_Datatype const* rt, comm& c) {
    if (rb == MPI_IN_PLACE) on.fail(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE, which is not allowed here");
    auto const& types = on.of().datatypes;
    if (sb != MPI_IN_PLACE) each_committed(on, st, c.peers(), "sendtypes");
    each_committed(on, rt, c.peers(), "recvtypes");
    alltoall(on, sb, parts{c, typed{sb, sn, splaces, st, types}}, parts{c, typed{rb, rn, rplaces, rt, types}}, c);
}

} // namespace impl
} // namespace mpt::c
