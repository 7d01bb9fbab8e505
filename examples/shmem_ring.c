/* A parcel goes round the PEs of OpenSHMEM: each adds its number to what it got, and puts it into the next one's memory, with a signal
   that tells that it has come.
       oshcc shmem_ring.c -o shmem_ring && oshrun -n 4 ./shmem_ring */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

enum { room = 64 };
static long parcel[room];    /* static data are symmetric: every PE has a parcel, and the others may write it */
static uint64_t has_arrived; /* 0 until the signal comes */

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    long onward[room];
    if (me != 0) shmem_signal_wait_until(&has_arrived, SHMEM_CMP_EQ, 1); /* what was put before the signal is here, too */
    memcpy(onward, parcel, sizeof parcel);
    if (me < room) onward[me] = 100 + me;
    shmem_long_put_signal(parcel, onward, room, &has_arrived, 1, SHMEM_SIGNAL_SET, next);
    if (me == 0) {
        shmem_signal_wait_until(&has_arrived, SHMEM_CMP_EQ, 1);
        printf("the parcel is home from %d PEs:", n);
        for (int i = 0; i < n && i < room; i++) printf(" %ld", parcel[i]);
        printf("\n");
    }
    shmem_finalize();
    return 0;
}
