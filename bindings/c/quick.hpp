/// quick - the short ways of the calls that programs make most: all of the common case, or nothing.
///
///        PMPI_Isend ---> quick::Isend   handles live, values are good, data in one piece, the wire takes them ---> MPI_SUCCESS
///                             `-------- anything else: nothing was done ---> quick::otherwise::Isend ---> run("MPI_Isend", ...)
///                                                                            the long way: every check, every case, every error
///
///   What is not as it mostly is has no short way: wildcards, MPI_PROC_NULL, MPI_BOTTOM, null pointers, data in several pieces (but for one
///   element that is packed), a request that is not done yet (but for a collective and for an array of requests: MPI_Wait and MPI_Waitall
///   look for some microseconds), a tool that waits for events. So a short way makes no call object, catches nothing, and has no sentence for
///   anybody; the checks of the long way stay the ones that count. But for two: an MPI_Sendrecv whose message has left waits for the other one,
///   as a receive that was begun, and an MPI_Startall goes on the long way from the first transfer for which there is no room. Persistent
///   transfers of any sort have short ends, and those of data in one piece with one rank short starts, if they are standard or ready.
///
///   Cost    instructions of a small message with its share of MPI_Waitall: a send 256 in place of 531, a receive 712 in place of 1139;
///           blocking 204 in place of 381, and 298 in place of 446. origin: bench/instructions_c.cpp, g++ 12 -O2 with assertions
///           One-sided, to a target that is mapped: a put and its flush 233 in place of 512, a fetch-and-op 233 in place of 710. origin:
///           callgrind, the release library; a compare-and-swap and its flush 276 in place of 560 (with assertions)
///           Doubles, 8 bytes and 4 KiB, with a flush: MPI_Get_accumulate 20 and 89 ns in place of 90 and 155, MPI_Accumulate of 4 KiB 58 in
///           place of 73; MPI_Fetch_and_op where elements are locked 29 in place of 43. origin: thread_bench rma, AMD EPYC, Zen 5
///           Of collectives (quick_collectives.cpp): data in one piece, a predefined operation, one group of ranks. Two ranks, 8 bytes: a
///           broadcast 29 ns in place of 49, a scatter 40 in place of 89, an allreduce 98 in place of 138, together with coll::detail::brief
///           origin: bench/peers, collectives, AMD EPYC, Zen 5
///           MPI_Pack and MPI_Unpack of 8 bytes 241 in place of 663 together (callgrind, the release library)
///   Limit   small forms only: the large twins take the long way.
///   Tests   test/c/pt2pt_test.cpp (both forms against each other), test/c/requests_test.cpp, test/c/persistent_test.cpp,
///           test/c/collectives_test.cpp, test/c/datatypes_test.cpp, test/c/schedules_test.cpp
#pragma once
#include <mpi.h>

namespace mpt::c::quick {

int Send(void const* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);
int Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status* status);
int Sendrecv(void const* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, int recvcount,
             MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status);
int Sendrecv_replace(void* buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
                     MPI_Status* status);
int Isend(void const* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request);
int Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request* request);
int Start(MPI_Request* request);
int Startall(int count, MPI_Request array_of_requests[]);
int Wait(MPI_Request* request, MPI_Status* status);
int Test(MPI_Request* request, int* flag, MPI_Status* status);
int Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]);
int Waitany(int count, MPI_Request array_of_requests[], int* indx, MPI_Status* status);
int Testany(int count, MPI_Request array_of_requests[], int* indx, int* flag, MPI_Status* status);
int Pack(void const* inbuf, int incount, MPI_Datatype datatype, void* outbuf, int outsize, int* position, MPI_Comm comm);
int Unpack(void const* inbuf, int insize, int* position, void* outbuf, int outcount, MPI_Datatype datatype, MPI_Comm comm);
int Put(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
        int target_count, MPI_Datatype target_datatype, MPI_Win win);
int Get(void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
        int target_count, MPI_Datatype target_datatype, MPI_Win win);
int Rput(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request);
int Rget(void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request);
int Accumulate(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
               int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);
int Get_accumulate(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype, void* result_addr, int result_count,
                   MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int target_count,
                   MPI_Datatype target_datatype, MPI_Op op, MPI_Win win);
int Fetch_and_op(void const* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                 MPI_Op op, MPI_Win win);
int Compare_and_swap(void const* origin_addr, void const* compare_addr, void* result_addr, MPI_Datatype datatype,
                     int target_rank, MPI_Aint target_disp, MPI_Win win);
int Win_flush(int rank, MPI_Win win);
int Win_lock(int lock_type, int rank, int assert, MPI_Win win);
int Win_unlock(int rank, MPI_Win win);
int Win_lock_all(int assert, MPI_Win win);
int Win_unlock_all(MPI_Win win);
int Barrier(MPI_Comm comm);
int Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
int Reduce(void const* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm);
int Allreduce(void const* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int Gather(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
           int root, MPI_Comm comm);
int Scatter(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
            int root, MPI_Comm comm);
int Allgather(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
              MPI_Comm comm);
int Alltoall(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
             MPI_Comm comm);
int Gatherv(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int const* recvcounts, int const* displs,
            MPI_Datatype recvtype, int root, MPI_Comm comm);
int Scatterv(void const* sendbuf, int const* sendcounts, int const* displs, MPI_Datatype sendtype, void* recvbuf, int recvcount,
             MPI_Datatype recvtype, int root, MPI_Comm comm);
int Allgatherv(void const* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int const* recvcounts,
               int const* displs, MPI_Datatype recvtype, MPI_Comm comm);
int Alltoallv(void const* sendbuf, int const* sendcounts, int const* sdispls, MPI_Datatype sendtype, void* recvbuf,
              int const* recvcounts, int const* rdispls, MPI_Datatype recvtype, MPI_Comm comm);
int Reduce_scatter_block(void const* sendbuf, void* recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int Scan(void const* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
int Exscan(void const* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);

/// Generated.
namespace otherwise {
decltype(quick::Send) Send;
decltype(quick::Recv) Recv;
decltype(quick::Sendrecv) Sendrecv;
decltype(quick::Sendrecv_replace) Sendrecv_replace;
decltype(quick::Isend) Isend;
decltype(quick::Irecv) Irecv;
decltype(quick::Start) Start;
decltype(quick::Startall) Startall;
decltype(quick::Wait) Wait;
decltype(quick::Test) Test;
decltype(quick::Waitall) Waitall;
decltype(quick::Waitany) Waitany;
decltype(quick::Testany) Testany;
decltype(quick::Pack) Pack;
decltype(quick::Unpack) Unpack;
decltype(quick::Put) Put;
decltype(quick::Get) Get;
decltype(quick::Rput) Rput;
decltype(quick::Rget) Rget;
decltype(quick::Accumulate) Accumulate;
decltype(quick::Get_accumulate) Get_accumulate;
decltype(quick::Fetch_and_op) Fetch_and_op;
decltype(quick::Compare_and_swap) Compare_and_swap;
decltype(quick::Win_flush) Win_flush;
decltype(quick::Win_lock) Win_lock;
decltype(quick::Win_unlock) Win_unlock;
decltype(quick::Win_lock_all) Win_lock_all;
decltype(quick::Win_unlock_all) Win_unlock_all;
decltype(quick::Barrier) Barrier;
decltype(quick::Bcast) Bcast;
decltype(quick::Reduce) Reduce;
decltype(quick::Allreduce) Allreduce;
decltype(quick::Gather) Gather;
decltype(quick::Scatter) Scatter;
decltype(quick::Allgather) Allgather;
decltype(quick::Alltoall) Alltoall;
decltype(quick::Gatherv) Gatherv;
decltype(quick::Scatterv) Scatterv;
decltype(quick::Allgatherv) Allgatherv;
decltype(quick::Alltoallv) Alltoallv;
decltype(quick::Reduce_scatter_block) Reduce_scatter_block;
decltype(quick::Scan) Scan;
decltype(quick::Exscan) Exscan;
} // namespace otherwise

} // namespace mpt::c::quick
