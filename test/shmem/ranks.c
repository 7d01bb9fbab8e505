/* PEs and ranks of one program: a communicator in the order of the PEs, and one in another, with tables both ways. */
#include <mpi.h>

#include "check.h"

int main(void) {
    static int rank_of[64], sender;
    MPI_Init(NULL, NULL);
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    MPI_Comm as_pes, turned;
    int rank, size, same, got = -1, pe_of[64];
    MPI_Comm_split(MPI_COMM_WORLD, 0, me, &as_pes), MPI_Comm_split(MPI_COMM_WORLD, 0, n - me, &turned);
    MPI_Comm_rank(as_pes, &rank), MPI_Comm_size(as_pes, &size);
    EXPECT(rank == me && size == n);
    MPI_Comm_compare(as_pes, MPI_COMM_WORLD, &same);
    EXPECT(same == MPI_CONGRUENT); /* PEs are numbered as the ranks of all are */
    MPI_Comm_rank(turned, &rank);
    EXPECT(rank == n - 1 - me);
    for (int p = 0; p < n; p++) shmem_int_p(&rank_of[me], rank, p);
    MPI_Allgather(&me, 1, MPI_INT, pe_of, 1, MPI_INT, turned);
    shmem_barrier_all();
    for (int p = 0; p < n; p++) EXPECT(pe_of[rank_of[p]] == p && rank_of[pe_of[p]] == p);
    /* A put and a message go to the same process. */
    shmem_int_p(&sender, me, next);
    MPI_Sendrecv(&me, 1, MPI_INT, rank_of[next], 5, &got, 1, MPI_INT, rank_of[before], 5, turned, MPI_STATUS_IGNORE);
    shmem_barrier_all();
    EXPECT(got == before && sender == before);
    MPI_Comm_free(&as_pes), MPI_Comm_free(&turned);
    shmem_barrier_all();
    shmem_finalize();
    MPI_Finalize();
    return failures != 0;
}
