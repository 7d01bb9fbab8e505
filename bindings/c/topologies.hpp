/// topologies - how a communicator comes to a topology. MPI-4.1 section 8.5.
#pragma once
#include <mpt/mpi/group_algebra.hpp>

#include "communicators.hpp"

namespace mpt::c {

inline group first_of(group const& g, int n) {
    std::int32_t const ranks[][3] = {{0, n - 1, 1}};
    return n == g.size() ? g : n == 0 ? group{} : groups::range_incl(g, ranks);
}
/// Collective over the parent: a communicator of its first n processes; nothing for the others. shape(me) is its topology. Ranks stay
/// in their order.
template <class Shape> MPI_Comm with_topology(binding& b, comm const& parent, int n, Shape const& shape) {
    auto const made = created(b, parent, first_of(parent.members, n));
    if (!made) return MPI_COMM_NULL;
    made->shape = shape(made->me);
    return publish(b, made);
}

} // namespace mpt::c
