/// comm - what a communicator handle stands for. Groups are values; a context and a lane make it a channel (pt2pt.hpp).
#pragma once
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <mpt/coll/team.hpp>
#include <mpt/core/types.hpp>
#include <mpt/mpi/attributes.hpp>
#include <mpt/mpi/graph.hpp>
#include <mpt/stack/group.hpp>
#include <mpt/stack/partitioned.hpp>

#include "counted.hpp"
#include "errhandler.hpp"
#include "session.hpp"

namespace mpt::protocol {
struct arrival;
} // namespace mpt::protocol

namespace mpt::c {

struct comm : counted {
    group members; // ours
    mpt::rank me;  // our rank in it
    group others;  // whom messages name: the members, or the other side of an intercommunicator
    bool two_sided = false;
    context_id context{};
    void* lane = nullptr; // mpt::lane<stack>
    MPI_Comm handle = MPI_COMM_NULL;
    ref<errhandler> handler;
    std::string name;
    ref<session> of_session;              // that it comes from, if any
    buffer_place<send_buffer> buffer;     // of its buffered sends
    std::unique_ptr<attributes> attached; // made when they are first asked for (attributes.hpp)
    std::uint32_t assertions = 0;         // hints: bits by communicators.cpp's list
    topology shape;
    std::uint32_t* rooted_calls = &own_calls; // its collectives with a root so far; MPI_COMM_WORLD's are every facade's
    std::uint32_t own_calls = 0;
    coll::meeting* shared = &own_shared; // memory for its collectives; MPI_COMM_WORLD's is every facade's
    coll::meeting own_shared;
    mutable std::uint32_t joint_calls = 0;              // the same of both sides of an intercommunicator as one team
    pair_numbers pairs;                                 // of its partitioned operations; guarded by binding::changing
    native_atomics::atomic<std::uint32_t> schedules{0}; // collectives begun or prepared so far that do not block
    std::optional<std::string> asserted_kinds;          // a hint: of which memory are the buffers that its calls are given

    comm(group g, mpt::rank r, context_id c, void* on_lane)
        : members{std::move(g)}, me{r}, others{members}, context{c}, lane{on_lane} {}

    int size() const noexcept { return members.size(); }
    /// Even: odd ones are those of the C++ interface, which may use the same communicator.
    std::uint32_t next_schedule() noexcept {
        return 2 * schedules.fetch_add(1, std::memory_order_relaxed); // order: the program orders its collectives
    }
    /// The world rank of a rank here, or of whoever sends.
    mpt::rank world(int peer) const noexcept { return peer == MPI_ANY_SOURCE ? any_source : others.world(peer); }
    /// How many ranks a message may name.
    int peers() const noexcept { return others.size(); }
    /// How many dimensions its grid has, and neighbours by its topology.
    int dims() const noexcept {
        auto const* const grid = shape.as<cartesian>();
        return grid ? static_cast<int>(grid->dims().size()) : 0;
    }
    int sources() const noexcept { return static_cast<int>(shape.sources().size()); }
    int destinations() const noexcept { return static_cast<int>(shape.destinations().size()); }
    bool is_inter() const noexcept { return two_sided; }
};

/// A message that a matched probe took.
struct message : counted {
    protocol::arrival* taken = nullptr; // null: of MPI_PROC_NULL
    ref<comm> on;
};

struct group_object : counted {
    group members;
    ref<session> of_session; // that it comes from, if any
    explicit group_object(group g) : members{std::move(g)} {}
    int size() const noexcept { return members.size(); }
};

} // namespace mpt::c
