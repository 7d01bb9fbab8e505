/* A SHMEM program of somebody else's: the sum of the PEs' numbers, gathered by each from its neighbour. */
#include <shmem.h>
#include <stdio.h>

static long mine, theirs;

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    mine = me + 1;
    shmem_barrier_all();
    shmem_long_p(&theirs, mine, (me + 1) % n);
    shmem_barrier_all();
    static long sum;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &theirs, 1);
    if (me == 0) printf("mpt: %d PEs, sum %ld\n", n, sum);
    shmem_finalize();
    return 0;
}
