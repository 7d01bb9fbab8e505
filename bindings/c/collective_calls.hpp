/// collective_calls - the collectives as objects: made of the arguments, which are checked, and run with a team.
///
///        gather_call<even> what{on, comm, sendbuf, sendcount, sendtype, even{recvbuf, recvcount, recvtype}, root};
///        what.run(team_of(comm));                        blocking
///        schedule{..., [&](auto const& t) { what.run(t); }}     non-blocking and persistent: collective_request.hpp
///
///   The object has what data refer to: layouts, the parts of all ranks, the operation on the datatype. It stays where it is.
///   Source MPI-4.1 chapter 6.
#pragma once
#include <mpt/coll/allgather.hpp>
#include <mpt/coll/allreduce.hpp>
#include <mpt/coll/alltoall.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/gather.hpp>
#include <mpt/coll/reduce.hpp>
#include <mpt/coll/scan.hpp>
#include <mpt/coll/scatter.hpp>

#include "collectives.hpp"
#include "operations.hpp"
#include "parts.hpp"

namespace mpt::c {

// --- data that move ---------------------------------------------------------------------------------------------------------

struct barrier_call {
    barrier_call(call const&, comm const&) noexcept {}
    template <class Team> void run(Team const& t) const { coll::barrier(t); }
};

class broadcast_call {
    moved_part layout_;
    coll::place data_;
    int root_;

public:
    broadcast_call(call const&, comm const&, void* buffer, MPI_Count count, datatype_object const& t, int root)
        : data_{layout_.make({buffer, 0, count, t.type})}, root_{root} {}
    template <class Team> void run(Team const& t) const { coll::broadcast(t, data_, root_); }
};

template <class Where> class gather_call {
    parts<Where> all_;
    moved_data layout_;
    std::optional<source> mine_;
    int root_;

public:
    gather_call(call const& on, comm const& c, void const* buffer, MPI_Count count, datatype_object const* t, Where const& all,
                int root)
        : all_{c, all}, root_{root} {
        refuse_in_place(on, buffer, "sendbuf", root, c);
        if (c.me == root) require_apart(on, c, buffer, count, t, all_);
        mine_ = brought(layout_, buffer, count, t);
    }
    template <class Team> void run(Team const& t) const {
        if constexpr (Where::same_size) coll::gather(t, mine_, all_, root_);
        else coll::gatherv(t, mine_, all_, root_);
    }
};

template <class Where> class scatter_call {
    parts<Where> all_;
    moved_data layout_;
    std::optional<sink> mine_;
    int root_;

public:
    scatter_call(call const& on, comm const& c, Where const& all, void* buffer, MPI_Count count, datatype_object const* t,
                 int root)
        : all_{c, all}, root_{root} {
        refuse_in_place(on, buffer, "recvbuf", root, c);
        if (c.me == root) require_apart(on, c, buffer, count, t, all_);
        mine_ = wanted(layout_, buffer, count, t);
    }
    template <class Team> void run(Team const& t) const {
        if constexpr (Where::same_size) coll::scatter(t, all_, mine_, root_);
        else coll::scatterv(t, all_, mine_, root_);
    }
};

template <class Where> class allgather_call {
    parts<Where> all_;
    moved_data layout_;
    std::optional<source> mine_;

public:
    allgather_call(call const& on, comm const& c, void const* buffer, MPI_Count count, datatype_object const* t,
                   Where const& all)
        : all_{c, all} {
        require_apart(on, c, buffer, count, t, all_);
        mine_ = brought(layout_, buffer, count, t);
    }
    template <class Team> void run(Team const& t) const { coll::allgather(t, mine_, all_); }
};

template <class Where> class alltoall_call {
    bool in_place_;
    parts<Where> mine_, all_;

public:
    alltoall_call(call const& on, comm const& c, Where const& mine, Where const& all)
        : in_place_{mine.buffer == MPI_IN_PLACE}, mine_{c, mine}, all_{c, all} {
        if constexpr (std::is_same_v<Where, typed>) require_types(on, mine, all);
        if (!in_place_) require_apart(on, mine_.where(c.me), all_.where(c.me));
    }
    template <class Team> void run(Team const& t) const {
        if (in_place_) return coll::alltoall_in_place(t, all_);
        if constexpr (Where::same_size) coll::alltoall(t, mine_, all_);
        else coll::alltoallv(t, mine_, all_);
    }
};

// --- data that are combined ---------------------------------------------------------------------------------------------------

/// An operation on elements, and the buffers. Both hold data of one type.
struct combined_data {
    combination how;
    std::size_t n;
    std::byte const* mine; // null: in place
    std::byte* result;

    combined_data(call const& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op,
                  bool both)
        : how{on, op, t}, n{how.count(count)}, mine{how.mine(sb)}, result{how.origin(rb)} {
        if (both && sb == rb && n > 0) same_memory(on, "sendbuf", "recvbuf");
    }
};

class reduce_call {
    combined_data data_;
    int root_;

public:
    reduce_call(call const& on, comm const& c, void const* sb, void* rb, MPI_Count count, datatype_object& t,
                operation_object& op, int root)
        : data_{on, sb, rb, count, t, op, c.me == root}, root_{root} {
        refuse_in_place(on, sb, "sendbuf", root, c);
    }
    template <class Team> void run(Team const& t) const {
        coll::reduce(t, data_.how, data_.mine, data_.result, data_.n, root_);
    }
};

enum class among { allreduce, scan, exscan };

/// All get a combination: of all, or of those up to or before them.
template <among What> class combine_call {
    combined_data data_;

public:
    combine_call(call const& on, comm const&, void const* sb, void* rb, MPI_Count count, datatype_object& t,
                 operation_object& op)
        : data_{on, sb, rb, count, t, op, true} {}
    template <class Team> void run(Team const& t) const {
        if constexpr (What == among::allreduce) coll::allreduce(t, data_.how, data_.mine, data_.result, data_.n);
        else if constexpr (What == among::scan) coll::scan(t, data_.how, data_.mine, data_.result, data_.n);
        else coll::exscan(t, data_.how, data_.mine, data_.result, data_.n);
    }
};

/// All get parts of the combination.
class reduce_scatter_call {
    combined_data data_; // n: of this rank's part
    numbers counts_;

public:
    reduce_scatter_call(call const& on, comm const& c, void const* sb, void* rb, numbers counts, datatype_object& t,
                        operation_object& op)
        : data_{on, sb, rb, counts[c.me], t, op, true}, counts_{counts} {
        if (sb == MPI_IN_PLACE) on.data(rb, counts, c.size(), t, "recvbuf"); // all of it, not this rank's part
    }
    template <class Team> void run(Team const& t) const {
        coll::reduce_scatter(t, data_.how, data_.mine, data_.result,
                             [this](std::int32_t r) { return data_.how.count(counts_[r]); });
    }
};
class reduce_scatter_block_call {
    combined_data data_;

public:
    reduce_scatter_block_call(call const& on, comm const&, void const* sb, void* rb, MPI_Count count, datatype_object& t,
                              operation_object& op)
        : data_{on, sb, rb, count, t, op, true} {}
    template <class Team> void run(Team const& t) const {
        coll::reduce_scatter_block(t, data_.how, data_.mine, data_.result, data_.n);
    }
};

/// Blocking: checked, and done.
template <class Call, class... Args> void done_now(call const& on, comm const& c, Args&&... arguments) {
    Call const what{on, c, arguments...};
    what.run(team_of(c));
}

} // namespace mpt::c
