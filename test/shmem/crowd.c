/* Many PEs on few CPUs: all of them write to all, count, reduce and wait for one another; what random writes leave is computed by every
   PE anew. With a number it is the seed of that. */
#include "check.h"

enum { writes = 40, slots = 8 };

static uint64_t dice;
static unsigned roll(unsigned below) {
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(dice >> 33) % below;
}

static int still[slots], still_count;
static uint64_t turn;

/* PE p's words at each other are slots * p and what follows. */
static void random_writes(uint64_t seed, int me, int n) {
    long* const got = shmem_calloc((size_t)n * slots, sizeof(long));
    long* const want = calloc((size_t)n * slots, sizeof(long));
    for (int p = 0; p < n; p++) {
        dice = seed + (uint64_t)p;
        for (int i = 0; i < writes; i++) {
            int const to = (int)roll((unsigned)n), slot = (int)roll(slots), how = (int)roll(3);
            long const value = 1 + (long)roll(1000), at = (long)p * slots + slot;
            if (to == me) want[at] = how == 2 ? want[at] + value : value;
            if (p != me) continue;
            if (how == 0) shmem_long_p(&got[at], value, to);
            if (how == 1) shmem_long_put(&got[at], &value, 1, to);
            if (how == 2) shmem_long_atomic_add(&got[at], value, to);
        }
    }
    shmem_barrier_all();
    for (int i = 0; i < n * slots; i++) EXPECT(got[i] == want[i]);
    for (int p = me; p < me + 3; p++) /* and as their neighbours read it */
        EXPECT(shmem_long_g(&got[me * slots], p % n) == shmem_long_atomic_fetch(&got[me * slots], p % n));
    shmem_barrier_all();
    shmem_free(got), free(want);
}

/* Each number is drawn once. */
static void tickets(int me, int n) {
    int* const next = shmem_calloc(1, sizeof(int));
    int* const drawn = shmem_calloc((size_t)n * 4, sizeof(int));
    for (int i = 0; i < 4; i++) {
        int const mine = shmem_int_atomic_fetch_inc(next, n - 1);
        EXPECT(mine >= 0 && mine < 4 * n);
        shmem_int_atomic_inc(&drawn[mine], 0);
    }
    shmem_barrier_all();
    for (int i = 0; me == 0 && i < 4 * n; i++) EXPECT(drawn[i] == 1);
    shmem_free(drawn), shmem_free(next);
}

static void collectives(int me, int n) {
    long *const from = shmem_malloc((size_t)n * sizeof(long)), *const into = shmem_malloc((size_t)n * sizeof(long));
    for (int p = 0; p < n; p++) from[p] = (long)me * n + p;
    EXPECT(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, into, from, (size_t)n) == 0);
    for (long p = 0; p < n; p++) EXPECT(into[p] == (long)n * n * (n - 1) / 2 + n * p);
    shmem_sync_all();
    EXPECT(shmem_long_max_reduce(SHMEM_TEAM_WORLD, into, from, 1) == 0 && into[0] == (long)(n - 1) * n);
    shmem_sync_all();
    EXPECT(shmem_long_alltoall(SHMEM_TEAM_WORLD, into, from, 1) == 0);
    for (long p = 0; p < n; p++) EXPECT(into[p] == p * n + me);
    shmem_sync_all();
    EXPECT(shmem_long_fcollect(SHMEM_TEAM_WORLD, into, from, 1) == 0);
    for (long p = 0; p < n; p++) EXPECT(into[p] == p * n);
    shmem_sync_all();
    EXPECT(shmem_long_broadcast(SHMEM_TEAM_WORLD, into, from, 1, n / 2) == 0 && into[0] == (long)(n / 2) * n);
    shmem_barrier_all();
    shmem_free(into), shmem_free(from);
}

/* A word goes around twice. */
static void turns(int me, int n) {
    for (uint64_t round = 1; round <= 2; round++) {
        if (me != 0 || round > 1) shmem_signal_wait_until(&turn, SHMEM_CMP_GE, me == 0 ? round - 1 : round);
        shmem_int_put_signal(still, &(int){me + (int)round}, 1, &turn, round, SHMEM_SIGNAL_SET, (me + 1) % n);
    }
    shmem_signal_wait_until(&turn, SHMEM_CMP_GE, 2);
    EXPECT(still[0] == (me + n - 1) % n + 2);
    shmem_int_atomic_inc(&still_count, 0);
    shmem_barrier_all();
    EXPECT(shmem_int_g(&still_count, 0) == n);
}

int main(int argc, char** argv) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    uint64_t const seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    if (me == 0) printf("%d PEs, seed %llu\n", n, (unsigned long long)seed), fflush(stdout);
    EXPECT(shmem_team_n_pes(SHMEM_TEAM_SHARED) == n);
    for (uint64_t i = 0; i < 3; i++) random_writes(seed + 1000 * i, me, n);
    tickets(me, n), collectives(me, n), turns(me, n);
    return ended();
}
