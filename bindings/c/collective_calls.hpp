/// collective_calls - the collectives as objects: made of the arguments, which are checked, and run with a team.
///
///        gather_call<even> what{on, comm, sendbuf, sendcount, sendtype, even{recvbuf, recvcount, recvtype}, root};
///        what.run(team_of(comm));                        blocking
///        schedule{..., [&](auto const& t) { what.run(t); }}     non-blocking and persistent: collective_request.hpp
///
///   The object has what data refer to: layouts, the parts of all ranks, the operation on the datatype. It stays where it is. On an
///   intercommunicator parts are of the other side's ranks, and a rank may have none of its own, or none at all.
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

class barrier_call {
    group const* far_;

public:
    barrier_call(call const&, comm const& c) noexcept : far_{far_side(c)} {}
    template <class Team> void run(Team const& t) const {
        on_all_sides(t, far_, [](auto const& all) { coll::barrier(all); });
    }
};

class broadcast_call {
    group const* far_;
    moved_part layout_;
    coll::place data_;
    int root_;

public:
    broadcast_call(call const&, comm const& c, void* buffer, MPI_Count count, datatype_object const* t, int root)
        : far_{far_side(c)}, root_{root} {
        if (t) data_ = layout_.make({buffer, 0, count, t->type});
    }
    template <class Team> void run(Team const& t) const {
        on_all_sides(t, far_, [this](auto const& all) { coll::broadcast(all, data_, root_); });
    }
};

template <class Where> class gather_call {
    group const* far_;
    parts<Where> all_;
    moved_data layout_;
    std::optional<source> mine_;
    int root_;

public:
    gather_call(call const& on, comm const& c, void const* buffer, MPI_Count count, datatype_object const* t, Where const& all,
                int root)
        : far_{far_side(c)}, all_{c, all}, root_{root} {
        if (!call::has_part(root, c)) return;
        refuse_in_place(on, buffer, "sendbuf", root, c);
        if (call::at_root(root, c)) require_apart(on, c, buffer, count, t, all_);
        mine_ = brought(layout_, buffer, count, t);
    }
    template <class Team> void run(Team const& t) const {
        on_all_sides(t, far_, [this](auto const& all) {
            if constexpr (Where::same_size) coll::gather(all, mine_, all_, root_);
            else coll::gatherv(all, mine_, all_, root_);
        });
    }
};

template <class Where> class scatter_call {
    group const* far_;
    parts<Where> all_;
    moved_data layout_;
    std::optional<sink> mine_;
    int root_;

public:
    scatter_call(call const& on, comm const& c, Where const& all, void* buffer, MPI_Count count, datatype_object const* t,
                 int root)
        : far_{far_side(c)}, all_{c, all}, root_{root} {
        if (!call::has_part(root, c)) return;
        refuse_in_place(on, buffer, "recvbuf", root, c);
        if (call::at_root(root, c)) require_apart(on, c, buffer, count, t, all_);
        mine_ = wanted(layout_, buffer, count, t);
    }
    template <class Team> void run(Team const& t) const {
        on_all_sides(t, far_, [this](auto const& all) {
            if constexpr (Where::same_size) coll::scatter(all, all_, mine_, root_);
            else coll::scatterv(all, all_, mine_, root_);
        });
    }
};

template <class Where> class allgather_call {
    group const* far_;
    parts<Where> all_;
    moved_data layout_;
    std::optional<source> mine_;

public:
    allgather_call(call const& on, comm const& c, void const* buffer, MPI_Count count, datatype_object const* t,
                   Where const& all)
        : far_{far_side(c)}, all_{c, all} {
        refuse_in_place(on, buffer, "sendbuf", c);
        require_apart(on, c, buffer, count, t, all_);
        mine_ = brought(layout_, buffer, count, t);
    }
    template <class Team> void run(Team const& t) const {
        on_all_sides(t, far_, [this](auto const& all) { coll::allgather(all, mine_, all_); });
    }
};

template <class Where> class alltoall_call {
    group const* far_;
    bool in_place_;
    parts<Where> mine_, all_;

public:
    alltoall_call(call const& on, comm const& c, Where const& mine, Where const& all)
        : far_{far_side(c)}, in_place_{mine.buffer == MPI_IN_PLACE}, mine_{c, mine}, all_{c, all} {
        refuse_in_place(on, mine.buffer, "sendbuf", c);
        if constexpr (std::is_same_v<Where, typed>) require_types(on, mine, all);
        auto const one = c.is_inter() ? 0 : c.me.value;
        if (!in_place_) require_apart(on, mine_.where(one), all_.where(one));
    }
    template <class Team> void run(Team const& t) const {
        if (in_place_) return coll::alltoall_in_place(t, all_);
        on_all_sides(t, far_, [this](auto const& all) {
            if constexpr (Where::same_size) coll::alltoall(all, mine_, all_);
            else coll::alltoallv(all, mine_, all_);
        });
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
    group const* far_;
    std::optional<combined_data> data_; // nothing: has no part in it
    int root_;

public:
    reduce_call(call const& on, comm const& c, void const* sb, void* rb, MPI_Count count, datatype_object* t,
                operation_object* op, int root)
        : far_{far_side(c)}, root_{root} {
        if (t) data_.emplace(on, sb, rb, count, *t, *op, c.me == root && !far_);
        if (call::has_part(root, c)) refuse_in_place(on, sb, "sendbuf", root, c);
    }
    template <class Team> void run(Team const& t) const {
        if (!data_) return;
        on_all_sides(t, far_,
                     [this](auto const& all) { coll::reduce(all, data_->how, data_->mine, data_->result, data_->n, root_); });
    }
};

/// All get the combination of all, or of the other side's.
class allreduce_call {
    group const* far_;
    combined_data data_;

public:
    allreduce_call(call const& on, comm const& c, void const* sb, void* rb, MPI_Count count, datatype_object& t,
                   operation_object& op)
        : far_{far_side(c)}, data_{on, sb, rb, count, t, op, true} {
        refuse_in_place(on, sb, "sendbuf", c);
    }
    template <class Team> void run(Team const& t) const {
        on_all_sides(t, far_, [this](auto const& all) { coll::allreduce(all, data_.how, data_.mine, data_.result, data_.n); });
    }
};

/// Each gets the combination of those up to itself, or before it.
enum class up_to { itself, the_one_before };
template <up_to Which> class scan_call {
    combined_data data_;

public:
    scan_call(call const& on, comm const& c, void const* sb, void* rb, MPI_Count count, datatype_object& t,
              operation_object& op)
        : data_{on, sb, rb, count, t, op, true} {
        require_one_side(on, c, "comm");
    }
    template <class Team> void run(Team const& t) const {
        if constexpr (Which == up_to::itself) coll::scan(t, data_.how, data_.mine, data_.result, data_.n);
        else coll::exscan(t, data_.how, data_.mine, data_.result, data_.n);
    }
};

/// All get parts of the combination.
class reduce_scatter_call {
    group const* far_;
    combined_data data_; // n: of this rank's part
    numbers counts_;

public:
    reduce_scatter_call(call const& on, comm const& c, void const* sb, void* rb, numbers counts, datatype_object& t,
                        operation_object& op)
        : far_{far_side(c)}, data_{on, sb, rb, counts[c.me], t, op, true}, counts_{counts} {
        refuse_in_place(on, sb, "sendbuf", c);
        if (sb == MPI_IN_PLACE) on.data(rb, counts, c.size(), t, "recvbuf"); // all of it, not this rank's part
    }
    template <class Team> void run(Team const& t) const {
        on_all_sides(t, far_, [this](auto const& all) {
            coll::reduce_scatter(all, data_.how, data_.mine, data_.result,
                                 [this](std::int32_t r) { return data_.how.count(counts_[r]); });
        });
    }
};
class reduce_scatter_block_call {
    group const* far_;
    combined_data data_;

public:
    reduce_scatter_block_call(call const& on, comm const& c, void const* sb, void* rb, MPI_Count count, datatype_object& t,
                              operation_object& op)
        : far_{far_side(c)}, data_{on, sb, rb, count, t, op, true} {
        refuse_in_place(on, sb, "sendbuf", c);
    }
    template <class Team> void run(Team const& t) const {
        on_all_sides(t, far_, [this](auto const& all) {
            coll::reduce_scatter_block(all, data_.how, data_.mine, data_.result, data_.n);
        });
    }
};

/// Blocking: checked, and done.
template <class Call, class... Args> void done_now(call const& on, comm const& c, Args&&... arguments) {
    Call const what{on, c, arguments...};
    what.run(team_of(c));
}

} // namespace mpt::c
