// Chapter 6: collectives that do not block, and persistent ones.
#include "collective_request.hpp"
#include "entries.hpp"

namespace mpt::c {

namespace {

/// What an exception of ours says; one of the user's passes through.
ending ending_of(std::exception_ptr const& failure) {
    ending e;
    try {
        if (failure) std::rethrow_exception(failure);
    } catch (error const& x) {
        e.code = mpi_code_of(x);
        e.sentence = x.what();
    } catch (std::bad_alloc const&) {
        e.code = MPI_ERR_NO_MEM;
        e.sentence = "no memory";
    }
    return e;
}

} // namespace

void collective_request::start() {
    active = true;
    try {
        steps_->start();
    } catch (...) {
        active = false;
        throw;
    }
}
ending collective_request::seen() { return ending_of(steps_->failure()); }
ending collective_request::finish() {
    steps_->wait();
    active = false;
    steps_->collect();
    return seen();
}
void collective_request::abandon() {
    active = false;
    steps_->abandon();
}
bool collective_request::end_steps_well(std::uint32_t looks) noexcept {
    if (!steps_->look(looks) || steps_->failure()) return false;
    active = false;
    steps_->collect();
    return true;
}
void collective_request::rest(binding& b, ref<request> mine) noexcept {
    if (called_.all[0] == 0) return;
    on_ = {};
    b.resting.keep(called_.mark(), std::move(mine));
}
MPI_Request collective_request::begin_again(binding& b, comm& c, ref<request> resting) {
    auto& r = of(resting);
    r.on_ = ref{c};
    r.steps_->renumber(c.next_schedule());
    return launch(b, std::move(resting));
}

namespace impl {

void Ibarrier(call& on, comm& c, MPI_Request& r) { r = begun<barrier_call>(on, c); }
void Ibcast(call& on, void* buffer, MPI_Count count, datatype_object* t, int root, comm& c, MPI_Request& r) {
    r = begun<broadcast_call>(on, c, buffer, count, t, root);
}
void Igather(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object* rt, int root,
             comm& c, MPI_Request& r) {
    r = begun<gather_call<even>>(on, c, sb, sn, st, even{rb, rn, rt}, root);
}
void Igatherv(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, numbers rn, numbers places,
              datatype_object* rt, int root, comm& c, MPI_Request& r) {
    r = begun<gather_call<listed>>(on, c, sb, sn, st, listed{rb, rn, places, rt}, root);
}
void Iscatter(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object* rt,
              int root, comm& c, MPI_Request& r) {
    r = begun<scatter_call<even>>(on, c, even{sb, sn, st}, rb, rn, rt, root);
}
void Iscatterv(call& on, void const* sb, numbers sn, numbers places, datatype_object* st, void* rb, MPI_Count rn,
               datatype_object* rt, int root, comm& c, MPI_Request& r) {
    r = begun<scatter_call<listed>>(on, c, listed{sb, sn, places, st}, rb, rn, rt, root);
}
void Iallgather(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object& rt,
                comm& c, MPI_Request& r) {
    r = begun<allgather_call<even>>(on, c, sb, sn, st, even{rb, rn, &rt});
}
void Iallgatherv(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, numbers rn, numbers places,
                 datatype_object& rt, comm& c, MPI_Request& r) {
    r = begun<allgather_call<listed>>(on, c, sb, sn, st, listed{rb, rn, places, &rt});
}
void Ialltoall(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object& rt,
               comm& c, MPI_Request& r) {
    r = begun<alltoall_call<even>>(on, c, even{sb, sn, st}, even{rb, rn, &rt});
}
void Ialltoallv(call& on, void const* sb, numbers sn, numbers splaces, datatype_object* st, void* rb, numbers rn,
                numbers rplaces, datatype_object& rt, comm& c, MPI_Request& r) {
    r = begun<alltoall_call<listed>>(on, c, listed{sb, sn, splaces, st}, listed{rb, rn, rplaces, &rt});
}
void Ialltoallw(call& on, void const* sb, numbers sn, numbers splaces, MPI_Datatype const* st, void* rb, numbers rn,
                numbers rplaces, MPI_Datatype const* rt, comm& c, MPI_Request& r) {
    auto const& types = on.of().datatypes;
    r = begun<alltoall_call<typed>>(on, c, typed{sb, sn, splaces, st, types, c.peers()},
                                    typed{rb, rn, rplaces, rt, types, c.peers()});
}
void Ireduce(call& on, void const* sb, void* rb, MPI_Count count, datatype_object* t, operation_object* op, int root, comm& c,
             MPI_Request& r) {
    r = begun<reduce_call>(on, c, sb, rb, count, t, op, root);
}
void Iallreduce(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c,
                MPI_Request& r) {
    r = begun<allreduce_call>(on, c, sb, rb, count, t, op);
}
void Iscan(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c,
           MPI_Request& r) {
    r = begun<scan_call<up_to::itself>>(on, c, sb, rb, count, t, op);
}
void Iexscan(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c,
             MPI_Request& r) {
    r = begun<scan_call<up_to::the_one_before>>(on, c, sb, rb, count, t, op);
}
void Ireduce_scatter(call& on, void const* sb, void* rb, numbers counts, datatype_object& t, operation_object& op, comm& c,
                     MPI_Request& r) {
    r = begun<reduce_scatter_call>(on, c, sb, rb, counts, t, op);
}
void Ireduce_scatter_block(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op,
                           comm& c, MPI_Request& r) {
    r = begun<reduce_scatter_block_call>(on, c, sb, rb, count, t, op);
}

void Barrier_init(call& on, comm& c, info_object*, MPI_Request& r) { r = prepared<barrier_call>(on, c); }
void Bcast_init(call& on, void* buffer, MPI_Count count, datatype_object* t, int root, comm& c, info_object*, MPI_Request& r) {
    r = prepared<broadcast_call>(on, c, buffer, count, t, root);
}
void Gather_init(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object* rt,
                 int root, comm& c, info_object*, MPI_Request& r) {
    r = prepared<gather_call<even>>(on, c, sb, sn, st, even{rb, rn, rt}, root);
}
void Gatherv_init(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, numbers rn, numbers places,
                  datatype_object* rt, int root, comm& c, info_object*, MPI_Request& r) {
    r = prepared<gather_call<listed>>(on, c, sb, sn, st, listed{rb, rn, places, rt}, root);
}
void Scatter_init(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object* rt,
                  int root, comm& c, info_object*, MPI_Request& r) {
    r = prepared<scatter_call<even>>(on, c, even{sb, sn, st}, rb, rn, rt, root);
}
void Scatterv_init(call& on, void const* sb, numbers sn, numbers places, datatype_object* st, void* rb, MPI_Count rn,
                   datatype_object* rt, int root, comm& c, info_object*, MPI_Request& r) {
    r = prepared<scatter_call<listed>>(on, c, listed{sb, sn, places, st}, rb, rn, rt, root);
}
void Allgather_init(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object& rt,
                    comm& c, info_object*, MPI_Request& r) {
    r = prepared<allgather_call<even>>(on, c, sb, sn, st, even{rb, rn, &rt});
}
void Allgatherv_init(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, numbers rn, numbers places,
                     datatype_object& rt, comm& c, info_object*, MPI_Request& r) {
    r = prepared<allgather_call<listed>>(on, c, sb, sn, st, listed{rb, rn, places, &rt});
}
void Alltoall_init(call& on, void const* sb, MPI_Count sn, datatype_object* st, void* rb, MPI_Count rn, datatype_object& rt,
                   comm& c, info_object*, MPI_Request& r) {
    r = prepared<alltoall_call<even>>(on, c, even{sb, sn, st}, even{rb, rn, &rt});
}
void Alltoallv_init(call& on, void const* sb, numbers sn, numbers splaces, datatype_object* st, void* rb, numbers rn,
                    numbers rplaces, datatype_object& rt, comm& c, info_object*, MPI_Request& r) {
    r = prepared<alltoall_call<listed>>(on, c, listed{sb, sn, splaces, st}, listed{rb, rn, rplaces, &rt});
}
void Alltoallw_init(call& on, void const* sb, numbers sn, numbers splaces, MPI_Datatype const* st, void* rb, numbers rn,
                    numbers rplaces, MPI_Datatype const* rt, comm& c, info_object*, MPI_Request& r) {
    auto const& types = on.of().datatypes;
    r = prepared<alltoall_call<typed>>(on, c, typed{sb, sn, splaces, st, types, c.peers()},
                                       typed{rb, rn, rplaces, rt, types, c.peers()});
}
void Reduce_init(call& on, void const* sb, void* rb, MPI_Count count, datatype_object* t, operation_object* op, int root,
                 comm& c, info_object*, MPI_Request& r) {
    r = prepared<reduce_call>(on, c, sb, rb, count, t, op, root);
}
void Allreduce_init(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c,
                    info_object*, MPI_Request& r) {
    r = prepared<allreduce_call>(on, c, sb, rb, count, t, op);
}
void Scan_init(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c,
               info_object*, MPI_Request& r) {
    r = prepared<scan_call<up_to::itself>>(on, c, sb, rb, count, t, op);
}
void Exscan_init(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op, comm& c,
                 info_object*, MPI_Request& r) {
    r = prepared<scan_call<up_to::the_one_before>>(on, c, sb, rb, count, t, op);
}
void Reduce_scatter_init(call& on, void const* sb, void* rb, numbers counts, datatype_object& t, operation_object& op, comm& c,
                         info_object*, MPI_Request& r) {
    r = prepared<reduce_scatter_call>(on, c, sb, rb, counts, t, op);
}
void Reduce_scatter_block_init(call& on, void const* sb, void* rb, MPI_Count count, datatype_object& t, operation_object& op,
                               comm& c, info_object*, MPI_Request& r) {
    r = prepared<reduce_scatter_block_call>(on, c, sb, rb, count, t, op);
}

} // namespace impl
} // namespace mpt::c
