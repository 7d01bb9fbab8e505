// Chapter 6: blocking collectives, and the operation on this process alone.
#include "collective_calls.hpp"
#include "entries.hpp"

namespace mpt::c {

namespace {

void each_committed(call const& on, typed const& data, char const* argument) {
    for (int r = 0; r < data.how_many; ++r)
        on.committed(data.type(r), (std::string{argument} + '[' + std::to_string(r) + ']').c_str());
}

} // namespace

void same_memory(call const& on, char const* one, char const* other) {
    on.fail(MPI_ERR_BUFFER,
            std::string{one} + " and " + other + " are the same memory; data that stay where they are: MPI_IN_PLACE");
}
void refuse_in_place(call const& on, void const* buffer, char const* argument, comm const& c) {
    if (buffer == MPI_IN_PLACE && c.is_inter())
        on.fail(MPI_ERR_BUFFER,
                std::string{argument} + " is MPI_IN_PLACE, and comm is an intercommunicator, where nothing is in place");
}
void refuse_in_place(call const& on, void const* buffer, char const* argument, int root, comm const& c) {
    refuse_in_place(on, buffer, argument, c);
    if (buffer == MPI_IN_PLACE && c.me != root)
        on.fail(MPI_ERR_BUFFER, std::string{argument} + " is MPI_IN_PLACE, which is allowed at the root only (rank " +
                                    std::to_string(root) + ")");
}
void require_apart(call const& on, part const& a, part const& b) {
    if (a.starts_like(b)) same_memory(on, "sendbuf", "recvbuf");
}
void require_types(call const& on, typed const& mine, typed const& all) {
    if (all.buffer == MPI_IN_PLACE) on.fail(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE, which is not allowed here");
    if (mine.buffer != MPI_IN_PLACE) each_committed(on, mine, "sendtypes");
    each_committed(on, all, "recvtypes");
}

std::optional<source> brought(moved_data& layout, void const* buffer, MPI_Count count, datatype_object const* t) {
    if (buffer == MPI_IN_PLACE) return coll::in_place;
    return layout.out(buffer, count, t->type);
}
std::optional<sink> wanted(moved_data& layout, void* buffer, MPI_Count count, datatype_object const* t) {
    if (buffer == MPI_IN_PLACE) return coll::in_place;
    return layout.in(buffer, count, t->type);
}

namespace impl {

void Barrier(call& on, comm& c) { done_now<barrier_call>(on, c); }

void Bcast(call& on, void* buffer, MPI_Count count, datatype_object* t, int root, comm& c) {
    done_now<broadcast_call>(on, c, buffer, count, t, root);
}

void Gather(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object* rt, int root,
            comm& c) {
    done_now<gather_call<even>>(on, c, sb, sn, st, even{rb, rn, rt}, root);
}
void Gatherv(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, numbers rn, numbers places,
             datatype_object* rt, int root, comm& c) {
    done_now<gather_call<listed>>(on, c, sb, sn, st, listed{rb, rn, places, rt}, root);
}
void Scatter(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object* rt, int root,
             comm& c) {
    done_now<scatter_call<even>>(on, c, even{sb, sn, st}, rb, rn, rt, root);
}
void Scatterv(call& on, void const* sb, numbers sn, numbers places, datatype_object* st, void* rb, MPI_Count rn,
              datatype_object* rt, int root, comm& c) {
    done_now<scatter_call<listed>>(on, c, listed{sb, sn, places, st}, rb, rn, rt, root);
}

void Allgather(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object& rt,
               comm& c) {
    done_now<allgather_call<even>>(on, c, sb, sn, st, even{rb, rn, &rt});
}
void Allgatherv(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, numbers rn, numbers places,
                datatype_object& rt, comm& c) {
    done_now<allgather_call<listed>>(on, c, sb, sn, st, listed{rb, rn, places, &rt});
}

void Alltoall(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object& rt,
              comm& c) {
    done_now<alltoall_call<even>>(on, c, even{sb, sn, st}, even{rb, rn, &rt});
}
void Alltoallv(call& on, void const* sb, numbers sn, numbers splaces, datatype_object* st, void* rb, numbers rn,
               numbers rplaces, datatype_object& rt, comm& c) {
    done_now<alltoall_call<listed>>(on, c, listed{sb, sn, splaces, st}, listed{rb, rn, rplaces, &rt});
}
void Alltoallw(call& on, void const* sb, numbers sn, numbers splaces, MPI_Datatype const* st, void* rb, numbers rn,
               numbers rplaces, MPI_Datatype const* rt, comm& c) {
    auto const& types = on.of().datatypes;
    done_now<alltoall_call<typed>>(on, c, typed{sb, sn, splaces, st, types, c.peers()},
                                   typed{rb, rn, rplaces, rt, types, c.peers()});
}

void Reduce(call& on, void const* sb, void* rb, MPI_Count count, datatype_object* t, operation_object* op, int root, comm& c) {
    done_now<reduce_call>(on, c, sb, rb, count, t, op, root);
}
void Allreduce(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c) {
    done_now<allreduce_call>(on, c, sb, rb, count, t, op);
}
void Scan(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c) {
    done_now<scan_call<up_to::itself>>(on, c, sb, rb, count, t, op);
}
void Exscan(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c) {
    done_now<scan_call<up_to::the_one_before>>(on, c, sb, rb, count, t, op);
}
void Reduce_scatter(call& on, void const* sb, void* rb, numbers counts, datatype_object& t, operation_object& op, comm& c) {
    done_now<reduce_scatter_call>(on, c, sb, rb, counts, t, op);
}
void Reduce_scatter_block(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op,
                          comm& c) {
    done_now<reduce_scatter_block_call>(on, c, sb, rb, count, t, op);
}

void Reduce_local(call& on, void const* in, void* inout, MPI_Count count, datatype_object& t, operation_object& op) {
    combination const how{on, op, t};
    auto const n = how.count(count);
    if (in == inout && n > 0) same_memory(on, "inbuf", "inoutbuf");
    how.combine(how.origin(in), how.origin(inout), n);
}

} // namespace impl
} // namespace mpt::c
