/* One of two programs in a job, alike to the byte but for one number: the heap is common to them, static data are not. */
#include "check.h"

static long ours = MPT_TEST_PROGRAM;
static long const its_number = MPT_TEST_PROGRAM;

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), other = (me + 1) % shmem_n_pes();
    long* const heap = shmem_malloc(sizeof *heap);
    EXPECT(shmem_n_pes() == 2 && its_number == me && ours == me);
    EXPECT(shmem_addr_accessible(heap, other) && !shmem_addr_accessible(&ours, other) &&
           !shmem_addr_accessible(&its_number, other));
    EXPECT(shmem_addr_accessible(heap, me) && shmem_addr_accessible(&ours, me) && shmem_addr_accessible(&its_number, me));
    shmem_long_p(heap, me, other);
    shmem_long_p(&ours, 7, me);
    shmem_barrier_all();
    EXPECT(*heap == other && ours == 7);
    return ended();
}
