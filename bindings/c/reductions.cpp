// Chapter 6: blocking collectives that combine data, and the operation on this process alone.
#include <mpt/coll/allreduce.hpp>
#include <mpt/coll/reduce.hpp>
#include <mpt/coll/reduce_scatter.hpp>
#include <mpt/coll/scan.hpp>

#include "collectives.hpp"
#include "entries.hpp"
#include "operations.hpp"

namespace mpt::c {

namespace {

/// Both buffers hold data of one type.
void require_apart(call const& on, void const* a, void const* b, std::size_t n, char const* one = "sendbuf",
                   char const* other = "recvbuf") {
    if (a == b && n > 0) same_memory(on, one, other);
}

} // namespace

namespace impl {

void Reduce(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, int root, comm& c) {
    refuse_in_place(on, sb, "sendbuf", root, c);
    combination const how{on, op, t};
    auto const n = how.count(count);
    if (c.me == root) require_apart(on, sb, rb, n);
    coll::reduce(team_of(c), how, how.mine(sb), how.origin(rb), n, root);
}
void Allreduce(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c) {
    combination const how{on, op, t};
    auto const n = how.count(count);
    require_apart(on, sb, rb, n);
    coll::allreduce(team_of(c), how, how.mine(sb), how.origin(rb), n);
}
void Scan(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c) {
    combination const how{on, op, t};
    auto const n = how.count(count);
    require_apart(on, sb, rb, n);
    coll::scan(team_of(c), how, how.mine(sb), how.origin(rb), n);
}
void Exscan(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c) {
    combination const how{on, op, t};
    auto const n = how.count(count);
    require_apart(on, sb, rb, n);
    coll::exscan(team_of(c), how, how.mine(sb), how.origin(rb), n);
}

void Reduce_scatter(call& on, void const* sb, void* rb, numbers counts, datatype_object& t, operation_object& op, comm& c) {
    if (sb == MPI_IN_PLACE) on.data(rb, counts, c.size(), t, "recvbuf"); // all of it, not this rank's part
    combination const how{on, op, t};
    require_apart(on, sb, rb, how.count(counts[c.me]));
    coll::reduce_scatter(team_of(c), how, how.mine(sb), how.origin(rb), [&](std::int32_t r) { return how.count(counts[r]); });
}
void Reduce_scatter_block(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op,
                          comm& c) {
    combination const how{on, op, t};
    auto const n = how.count(count);
    require_apart(on, sb, rb, n);
    coll::reduce_scatter_block(team_of(c), how, how.mine(sb), how.origin(rb), n);
}

void Reduce_local(call& on, void const* in, void* inout, MPI_Count count, datatype_object& t, operation_object& op) {
    combination const how{on, op, t};
    auto const n = how.count(count);
    require_apart(on, in, inout, n, "inbuf", "inoutbuf");
    how.combine(how.origin(in), how.origin(inout), n);
}

} // namespace impl
} // namespace mpt::c
