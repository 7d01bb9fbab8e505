/* MPI and SHMEM in one program: begun and ended in any order, on one engine. The argument says which begins and which ends first. */
#include <mpi.h>

#include "check.h"

static long there, total;

static void work(void) {
    int const me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    int rank = -1, size = -1, got = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT(rank == me && size == n);
    for (int turn = 0; turn < 20; turn++) {
        int const told = 100 * me + turn;
        shmem_long_p(&there, turn + me, next);
        MPI_Sendrecv(&told, 1, MPI_INT, next, 3, &got, 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(got == 100 * before + turn);
        shmem_barrier_all();
        EXPECT(there == turn + before);
        long const mine = there;
        long sum = 0;
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        EXPECT(sum == (long)n * turn + (long)n * (n - 1) / 2);
        shmem_long_atomic_add(&total, sum, 0);
    }
    /* One waits in MPI while the other is served in SHMEM, and the other way round. */
    if (me == 0 && n > 1) MPI_Recv(&got, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1) {
        shmem_long_atomic_inc(&total, 0);
        MPI_Send(&me, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    shmem_barrier_all();
}

int main(int argc, char** argv) {
    int const shmem_first = argc > 1 && argv[1][0] == 's', shmem_ends_first = argc > 1 && argv[1][1] == 's';
    if (shmem_first) shmem_init();
    MPI_Init(&argc, &argv);
    if (!shmem_first) shmem_init();
    work();
    int const wrong = failures;
    if (shmem_ends_first) {
        shmem_finalize();
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
    } else {
        MPI_Finalize();
        shmem_barrier_all();
        shmem_finalize();
    }
    return wrong != 0;
}
