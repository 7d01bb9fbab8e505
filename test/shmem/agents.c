/* The first PE calls nothing until all others are done: what they do to its static data its agent does, which sleeps longer the longer
   nobody asks. Random sizes and pauses, with what must be there written down by each. With a number it is the seed.
   Then each gives its data and a signal to the next, all of it static: who waits does what its agent is asked for, or the agent does. */
#include "check.h"
#include <time.h>

enum { room = 200000, rounds = 40, most = 8 };

static unsigned char area[most][room];
static long counts[most], finished;
static uint64_t set_to, added_to;

static uint64_t dice;
static unsigned roll(unsigned below) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % below;
}
static void pause_for(long milliseconds) {
    struct timespec const t = {0, milliseconds * 1000000};
    nanosleep(&t, NULL);
}

static void ask(int me) {
    unsigned char *const want = calloc(1, room), *const got = malloc(room);
    for (int round = 0; round < rounds; round++) {
        size_t const n = 1 + roll(roll(3) == 0 ? room : 3000), at = roll(room - (unsigned)n + 1);
        for (size_t i = 0; i < n; i++) want[at + i] = (unsigned char)roll(256);
        shmem_uchar_put(&area[me][at], &want[at], n, 0);
        if (roll(4) == 0) pause_for(roll(60)); /* the agent goes to sleep */
        EXPECT(shmem_long_atomic_fetch_add(&counts[me], 1, 0) == round);
        shmem_quiet();
        size_t const m = 1 + roll(room), from = roll(room - (unsigned)m + 1);
        shmem_uchar_get(got, &area[me][from], m, 0);
        EXPECT(memcmp(got, &want[from], m) == 0);
    }
    free(want), free(got);
}

static void go_round(int me, int n) {
    int const next = (me + 1) % n, before = (me + n - 1) % n;
    unsigned char* const data = malloc(room);
    uint64_t const rest = 100;
    for (uint64_t round = 1; round <= rest; round++) {
        size_t const bytes = round % 10 == 0 ? room : 1 + round * 31 % 3000; /* the same at all */
        memset(data, held(me, round), bytes);
        if (round % 2) shmem_uchar_put_signal(area[0], data, bytes, &set_to, round, SHMEM_SIGNAL_SET, next);
        else shmem_uchar_put_signal(area[0], data, bytes, &added_to, 2, SHMEM_SIGNAL_ADD, next);
        if (roll(20) == 0) pause_for(roll(3));
        if (round % 2) shmem_signal_wait_until(&set_to, SHMEM_CMP_GE, round);
        else shmem_signal_wait_until(&added_to, SHMEM_CMP_GE, round);
        EXPECT(shmem_signal_fetch(round % 2 ? &set_to : &added_to) == round);
        size_t good = 0;
        while (good < bytes && area[0][good] == held(before, round)) good++;
        EXPECT(good == bytes);
        shmem_sync_all(); /* completes nothing */
    }
    free(data);
}

int main(int argc, char** argv) {
    setenv("MPT_SINGLE_COPY", "off", 1); /* or the kernel copies */
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    dice = (argc > 1 ? strtoull(argv[1], NULL, 0) : 1) * 1000 + (uint64_t)me;
    if (n > most) return 1;
    if (me != 0) ask(me), shmem_long_atomic_inc(&finished, 0), shmem_quiet();
    else
        while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) != n - 1) pause_for(1);
    for (int p = 1; me == 0 && p < n; p++) EXPECT(counts[p] == rounds);
    shmem_barrier_all();
    go_round(me, n);
    return ended();
}
