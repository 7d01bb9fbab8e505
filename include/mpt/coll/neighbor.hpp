/// coll/neighbor - pieces to the neighbours and from them, by whatever graph the ranks stand in.
///
///        sources       2   0   -   2        piece i of `all` comes from sources[i]
///        destinations  0   -   0            piece i of `mine` goes to destinations[i]; - is nobody (proc_null)
///
///   All messages of a rank go at once: as many as it has neighbours, each byte crosses one wire. Where nobody is, nothing is read
///   or written. Graphs may have an edge more than once, and lead back to where they come from: of the messages from one rank to
///   another the k-th in the sender's order is the k-th in the receiver's.
///
///   On a grid neighbours stand in pairs, below and above in each dimension, and what goes down comes in from above:
///
///        piece 2d     goes down    comes in as piece 2d + 1        also where both neighbours are one process, or this one
///        piece 2d + 1 goes up      comes in as piece 2d            (periodic dimensions of 1 or 2)
///
///   so a rank takes each pair the other way round than it sends it.
///
///   Limit     what one rank has for another is as large as what that one expects of it; a graph is told to all alike.
///   Memory    about 50 bytes for each neighbour.
///   Tests     test/coll_neighbor_test.cpp    Source MPI-4.1 sections 8.6 and 8.7.
#pragma once
#include <mpt/coll/pieces.hpp>
#include <mpt/coll/team.hpp>

namespace mpt::inline v0::coll {

/// Whom a rank exchanges with, in the order of its pieces.
struct neighbours {
    std::span<rank const> sources, destinations;
    bool grid = false; // in pairs, as above
};

/// Another piece for each neighbour.
template <team_type Team>
void neighbor_alltoall(Team const& t, neighbours const& near, by_rank<source> mine, by_rank<sink> all) {
    messages<incoming> in{static_cast<std::int32_t>(near.sources.size())};
    messages<outgoing> out{static_cast<std::int32_t>(near.destinations.size())};
    for (std::size_t i = 0; i < near.sources.size(); ++i) {
        auto const at = near.grid ? i ^ 1 : i;
        if (near.sources[at] != proc_null) in.add({near.sources[at], all(static_cast<std::int32_t>(at))});
    }
    for (std::size_t i = 0; i < near.destinations.size(); ++i)
        if (near.destinations[i] != proc_null) out.add({near.destinations[i], mine(static_cast<std::int32_t>(i))});
    t.exchange_all(in, out, speaker::neighbor); // all of them end before a size is found wrong
}

/// The same piece for each.
template <team_type Team>
void neighbor_allgather(Team const& t, neighbours const& near, source const& mine, by_rank<sink> all) {
    auto const same = [&mine](std::int32_t) { return mine; };
    neighbor_alltoall(t, near, same, all);
}

} // namespace mpt::inline v0::coll
