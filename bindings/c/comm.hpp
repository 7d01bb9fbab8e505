/// comm - what a communicator handle stands for. Groups are values; a context and a lane make it a channel (pt2pt.hpp).
#pragma once
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include <mpt/core/types.hpp>
#include <mpt/stack/group.hpp>

#include "counted.hpp"
#include "errhandler.hpp"

namespace mpt::c {

class send_buffer;

struct comm : counted {
    group members;        // ours
    mpt::rank me;         // our rank in it
    context_id context{};
    void* lane = nullptr; // mpt::lane<stack>
    MPI_Comm handle = MPI_COMM_NULL;
    ref<errhandler> handler;
    std::string name;
    std::shared_ptr<send_buffer> buffer; // of its buffered sends

    comm(group g, mpt::rank r, context_id c, void* on_lane) : members{std::move(g)}, me{r}, context{c}, lane{on_lane} {}

    int size() const noexcept { return members.size(); }
    /// How many ranks a message may name.
    int peers() const noexcept { return members.size(); }
    static bool is_inter() noexcept { return false; }
};

struct group_object : counted {
    group members;
    explicit group_object(group g) : members{std::move(g)} {}
    int size() const noexcept { return members.size(); }
};

} // namespace mpt::c
