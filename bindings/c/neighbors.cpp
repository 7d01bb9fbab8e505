// Chapter 8: the collectives of neighbours.
#include "neighbor_calls.hpp"

#include "collective_request.hpp"
#include "entries.hpp"

namespace mpt::c {

coll::neighbours neighbours_of(call const& on, comm const& c) {
    if (c.is_inter()) on.fail(MPI_ERR_COMM, "comm is an intercommunicator, whose processes have no neighbours");
    c.shape.require_neighbours("comm");
    return {c.shape.sources(), c.shape.destinations(), c.shape.as<cartesian>() != nullptr};
}
void refuse_in_place(call const& on, void const* sendbuf, void const* recvbuf) {
    if (sendbuf == MPI_IN_PLACE || recvbuf == MPI_IN_PLACE)
        on.fail(MPI_ERR_BUFFER,
                std::string{sendbuf == MPI_IN_PLACE ? "sendbuf" : "recvbuf"} + " is MPI_IN_PLACE, which is not allowed here");
}

namespace {

typed typed_out(call const& on, comm const& c, void const* buffer, numbers counts, MPI_Aint const* places,
                MPI_Datatype const* types) {
    return {buffer, counts, places, types, on.of().datatypes, c.destinations()};
}
typed typed_in(call const& on, comm const& c, void* buffer, numbers counts, MPI_Aint const* places, MPI_Datatype const* types) {
    return {buffer, counts, places, types, on.of().datatypes, c.sources()};
}

} // namespace

namespace impl {

void Neighbor_allgather(call& on, void const* sb, MPI_Count sn, datatype_object& st, void* rb, MPI_Count rn,
                        datatype_object& rt, comm& c) {
    done_now<neighbor_allgather_call<even>>(on, c, sb, sn, st, even{rb, rn, &rt});
}
void Neighbor_allgatherv(call& on, void const* sb, MPI_Count sn, datatype_object& st, void* rb, numbers rn, numbers places,
                         datatype_object& rt, comm& c) {
    done_now<neighbor_allgather_call<listed>>(on, c, sb, sn, st, listed{rb, rn, places, &rt});
}
void Neighbor_alltoall(call& on, void const* sb, MPI_Count sn, datatype_object& st, void* rb, MPI_Count rn, datatype_object& rt,
                       comm& c) {
    done_now<neighbor_alltoall_call<even>>(on, c, even{sb, sn, &st}, even{rb, rn, &rt});
}
void Neighbor_alltoallv(call& on, void const* sb, numbers sn, numbers splaces, datatype_object& st, void* rb, numbers rn,
                        numbers rplaces, datatype_object& rt, comm& c) {
    done_now<neighbor_alltoall_call<listed>>(on, c, listed{sb, sn, splaces, &st}, listed{rb, rn, rplaces, &rt});
}
void Neighbor_alltoallw(call& on, void const* sb, numbers sn, MPI_Aint const* splaces, MPI_Datatype const* st, void* rb,
                        numbers rn, MPI_Aint const* rplaces, MPI_Datatype const* rt, comm& c) {
    done_now<neighbor_alltoall_call<typed>>(on, c, typed_out(on, c, sb, sn, splaces, st), typed_in(on, c, rb, rn, rplaces, rt));
}

void Ineighbor_allgather(call& on, void const* sb, MPI_Count sn, datatype_object& st, void* rb, MPI_Count rn,
                         datatype_object& rt, comm& c, MPI_Request& r) {
    r = begun<neighbor_allgather_call<even>>(on, c, sb, sn, st, even{rb, rn, &rt});
}
void Ineighbor_allgatherv(call& on, void const* sb, MPI_Count sn, datatype_object& st, void* rb, numbers rn, numbers places,
                          datatype_object& rt, comm& c, MPI_Request& r) {
    r = begun<neighbor_allgather_call<listed>>(on, c, sb, sn, st, listed{rb, rn, places, &rt});
}
void Ineighbor_alltoall(call& on, void const* sb, MPI_Count sn, datatype_object& st, void* rb, MPI_Count rn,
                        datatype_object& rt, comm& c, MPI_Request& r) {
    r = begun<neighbor_alltoall_call<even>>(on, c, even{sb, sn, &st}, even{rb, rn, &rt});
}
void Ineighbor_alltoallv(call& on, void const* sb, numbers sn, numbers splaces, datatype_object& st, void* rb, numbers rn,
                         numbers rplaces, datatype_object& rt, comm& c, MPI_Request& r) {
    r = begun<neighbor_alltoall_call<listed>>(on, c, listed{sb, sn, splaces, &st}, listed{rb, rn, rplaces, &rt});
}
void Ineighbor_alltoallw(call& on, void const* sb, numbers sn, MPI_Aint const* splaces, MPI_Datatype const* st, void* rb,
                         numbers rn, MPI_Aint const* rplaces, MPI_Datatype const* rt, comm& c, MPI_Request& r) {
    r = begun<neighbor_alltoall_call<typed>>(on, c, typed_out(on, c, sb, sn, splaces, st),
                                             typed_in(on, c, rb, rn, rplaces, rt));
}

void Neighbor_allgather_init(call& on, void const* sb, MPI_Count sn, datatype_object& st, void* rb, MPI_Count rn,
                             datatype_object& rt, comm& c, info_object*, MPI_Request& r) {
    r = prepared<neighbor_allgather_call<even>>(on, c, sb, sn, st, even{rb, rn, &rt});
}
void Neighbor_allgatherv_init(call& on, void const* sb, MPI_Count sn, datatype_object& st, void* rb, numbers rn, numbers places,
                              datatype_object& rt, comm& c, info_object*, MPI_Request& r) {
    r = prepared<neighbor_allgather_call<listed>>(on, c, sb, sn, st, listed{rb, rn, places, &rt});
}
void Neighbor_alltoall_init(call& on, void const* sb, MPI_Count sn, datatype_object& st, void* rb, MPI_Count rn,
                            datatype_object& rt, comm& c, info_object*, MPI_Request& r) {
    r = prepared<neighbor_alltoall_call<even>>(on, c, even{sb, sn, &st}, even{rb, rn, &rt});
}
void Neighbor_alltoallv_init(call& on, void const* sb, numbers sn, numbers splaces, datatype_object& st, void* rb, numbers rn,
                             numbers rplaces, datatype_object& rt, comm& c, info_object*, MPI_Request& r) {
    r = prepared<neighbor_alltoall_call<listed>>(on, c, listed{sb, sn, splaces, &st}, listed{rb, rn, rplaces, &rt});
}
void Neighbor_alltoallw_init(call& on, void const* sb, numbers sn, MPI_Aint const* splaces, MPI_Datatype const* st, void* rb,
                             numbers rn, MPI_Aint const* rplaces, MPI_Datatype const* rt, comm& c, info_object*,
                             MPI_Request& r) {
    r = prepared<neighbor_alltoall_call<typed>>(on, c, typed_out(on, c, sb, sn, splaces, st),
                                                typed_in(on, c, rb, rn, rplaces, rt));
}

} // namespace impl
} // namespace mpt::c
