/* Examples of OpenSHMEM's text: Collective Routines over teams. Which example lies where stands in docs/c-binding.md; those over active
   sets are examples_sets.c. */
#include "check.h"

enum { most = 64 };

/* shmem_barrier_all: what each has put at the next has come when the barrier is over. */
static void barrier(int me, int n) {
    static int x = 1010;
    shmem_p(&x, 4 + me, (me + 1) % n);
    shmem_barrier_all();
    EXPECT(x == 4 + (me + n - 1) % n);
    shmem_barrier_all();
}

/* shmem_sync_all: it meets, and completes nothing; so a shmem_quiet comes before it. */
static void sync_all(int me, int n) {
    static int x = 1010;
    shmem_p(&x, 4 + me, (me + 1) % n);
    shmem_quiet();
    shmem_sync_all();
    EXPECT(x == 4 + (me + n - 1) % n);
    shmem_sync_all();
}

/* shmem_team_sync, shmem_sync: two teams that overlap put in turn, each meets alone; who is in none keeps what it had. */
static void team_sync(int me, int n) {
    static int x = 10101;
    shmem_team_t team[2] = {SHMEM_TEAM_INVALID, SHMEM_TEAM_INVALID};
    for (int k = 0; k < 2; k++) {
        int const stride = k + 2;
        if (n > stride)
            EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, stride, stride, (n - 1) / stride, NULL, 0, &team[k]) == 0);
        int const here = shmem_team_my_pe(team[k]), size = shmem_team_n_pes(team[k]);
        if (team[k] != SHMEM_TEAM_INVALID) {
            shmem_p(&x, stride, shmem_team_translate_pe(team[k], (here + 1) % size, SHMEM_TEAM_WORLD));
            shmem_quiet();
            if (k == 0) EXPECT(shmem_sync(team[k]) == 0); /* C11's name */
            else EXPECT(shmem_team_sync(team[k]) == 0);
            EXPECT(x == stride);
        }
        EXPECT(shmem_sync(SHMEM_TEAM_WORLD) == 0);
    }
    EXPECT(x == (me > 0 && me % 3 == 0 ? 3 : me > 0 && me % 2 == 0 ? 2 : 10101));
    for (int k = 0; k < 2; k++) shmem_team_destroy(team[k]);
    shmem_barrier_all();
}

/* shmem_broadcast: all of a team, the root as well, have the root's row. */
static void broadcast(int me, int n) {
    static long source[4], dest[4];
    for (int root = 0; root < n; root++) {
        for (int i = 0; i < 4; i++) source[i] = me == root ? 10 * root + i : -1, dest[i] = -9;
        shmem_sync_all();
        EXPECT(shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, 4, root) == 0);
        for (int i = 0; i < 4; i++) EXPECT(dest[i] == 10 * root + i);
        shmem_sync_all();
    }
    unsigned char* const bytes = shmem_calloc(3, 1);
    if (me == n - 1) memcpy(bytes, "abc", 3);
    shmem_sync_all();
    EXPECT(shmem_broadcastmem(SHMEM_TEAM_WORLD, bytes, bytes, 3, n - 1) == 0 && memcmp(bytes, "abc", 3) == 0); /* in place */
    shmem_free(bytes);
}

/* shmem_collect, shmem_fcollect: rows of one to n elements side by side count up without a gap; rows of one length likewise. */
static void collected(int me, int n) {
    int const total = n * (n + 1) / 2;
    int *const source = shmem_malloc((size_t)n * sizeof(int)), *const dest = shmem_malloc((size_t)(total + 1) * sizeof(int));
    for (int i = 0; i <= me; i++) source[i] = me * (me + 1) / 2 + i;
    for (int i = 0; i <= total; i++) dest[i] = -9999;
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)me + 1) == 0);
    for (int i = 0; i < total; i++) EXPECT(dest[i] == i);
    EXPECT(dest[total] == -9999);
    shmem_barrier_all();
    source[0] = 7 * me;
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_fcollect(SHMEM_TEAM_WORLD, dest, source, 1) == 0);
    for (int p = 0; p < n; p++) EXPECT(dest[p] == 7 * p);
    shmem_barrier_all();
    EXPECT(shmem_collect(SHMEM_TEAM_WORLD, dest, source, me == 0) == 0 && dest[0] == 0); /* some have nothing */
    shmem_free(source), shmem_free(dest);
}

/* shmem_alltoall, shmem_alltoalls: the piece for each says from whom and for whom it is; also by every second element. */
static void exchanged(int me, int n) {
    enum { count = 2 };
    size_t const room = (size_t)(2 * count * n) * sizeof(int64_t);
    int64_t *const source = shmem_malloc(room), *const dest = shmem_malloc(room);
    for (int i = 0; i < 2 * count * n; i++) source[i] = dest[i] = -1;
    for (int p = 0; p < n; p++)
        for (int i = 0; i < count; i++) source[p * count + i] = 10000 * me + 100 * p + i;
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_alltoall(SHMEM_TEAM_WORLD, dest, source, count) == 0);
    for (int p = 0; p < n; p++)
        for (int i = 0; i < count; i++) EXPECT(dest[p * count + i] == 10000 * p + 100 * me + i);
    shmem_barrier_all();
    for (int i = 0; i < 2 * count * n; i++) dest[i] = -1;
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_alltoalls(SHMEM_TEAM_WORLD, dest, source, 2, 1, count) == 0);
    for (int p = 0; p < n; p++)
        for (int i = 0; i < count; i++) {
            int64_t const* const pair = &dest[2 * (p * count + i)];
            EXPECT(pair[0] == 10000 * p + 100 * me + i && pair[1] == -1);
        }
    shmem_free(source), shmem_free(dest);
}

/* shmem_or_reduce, shmem_sum_reduce: where the greatest possible number was drawn at all, and how often by all PEs together. */
static void greatest_drawn(int me, int n) {
    enum { draws = 32 };
    static int count, total;
    unsigned char *const is_greatest = shmem_malloc(draws), *const anywhere = shmem_malloc(draws);
    unsigned char expected[draws] = {0};
    int expected_total = 0;
    for (int p = 0; p < n; p++) {
        unsigned seed = 99u + (unsigned)p;
        for (int i = 0; i < draws; i++) {
            seed = seed * 1103515245u + 12345u;
            int const is_it = (int)((seed >> 12) % (unsigned)n) == n - 1;
            expected[i] |= (unsigned char)is_it, expected_total += is_it;
            if (p == me) is_greatest[i] = (unsigned char)is_it, count += is_it;
        }
    }
    shmem_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_or_reduce(SHMEM_TEAM_WORLD, anywhere, is_greatest, draws) == 0);
    EXPECT(shmem_sum_reduce(SHMEM_TEAM_WORLD, &total, &count, 1) == 0);
    EXPECT(memcmp(anywhere, expected, draws) == 0 && total == expected_total);
    shmem_free(is_greatest), shmem_free(anywhere);
}

/* The other reductions, in place, of numbers whose result is known: and, xor, min, max, prod. */
static void reduced(int me, int n) {
    static unsigned bits[2];
    static long number;
    static double factor;
    bits[0] = ~(1u << me), bits[1] = 3u << me;
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_and_reduce(SHMEM_TEAM_WORLD, &bits[0], &bits[0], 1) == 0);
    EXPECT(shmem_xor_reduce(SHMEM_TEAM_WORLD, &bits[1], &bits[1], 1) == 0);
    EXPECT(bits[0] == ~((1u << n) - 1) && bits[1] == (1u | 1u << n));
    number = 5 - me;
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_min_reduce(SHMEM_TEAM_WORLD, &number, &number, 1) == 0 && number == 6 - n);
    number = 5 - me;
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_max_reduce(SHMEM_TEAM_WORLD, &number, &number, 1) == 0 && number == 5);
    factor = me % 2 == 0 ? 2 : 0.5;
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_prod_reduce(SHMEM_TEAM_WORLD, &factor, &factor, 1) == 0 && factor == (n % 2 == 0 ? 1 : 2));
    shmem_barrier_all();
}

/* Rows of any length, one behind the other at one PE: where a row begins is the sum of those before. */
static int collect_at(shmem_team_t team, char* dest, void const* source, size_t size, int who) {
    static size_t at;
    at = size;
    shmem_team_sync(team);
    int const result = shmem_sum_exscan(team, &at, &at, 1);
    shmem_putmem(dest + at, source, size, who);
    shmem_quiet();
    shmem_team_sync(team);
    return result;
}

/* shmem_sum_exscan, shmem_sum_inscan (1.6): such a collect; and sums with the own value, which are those without it, and it. */
static void scanned(int me, int n) {
    char mine[most];
    static long values[3], with[3], without[3];
    int const total = n * (n + 1) / 2, who = n - 1;
    char* const dest = shmem_calloc((size_t)total + 1, 1);
    memset(mine, 'a' + me, sizeof mine);
    EXPECT(collect_at(SHMEM_TEAM_WORLD, dest, mine, (size_t)me + 1, who) == 0);
    for (int p = 0, at = 0; p < n; p++)
        for (int i = 0; i <= p; i++, at++) EXPECT(dest[at] == (me == who ? 'a' + p : 0));
    EXPECT(dest[total] == 0);
    for (int i = 0; i < 3; i++) values[i] = (me + 1L) * (i + 1);
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_sum_inscan(SHMEM_TEAM_WORLD, with, values, 3) == 0 &&
           shmem_sum_exscan(SHMEM_TEAM_WORLD, without, values, 3) == 0);
    for (int i = 0; i < 3; i++) {
        EXPECT(with[i] == (me + 1L) * (me + 2) / 2 * (i + 1));
        EXPECT(with[i] == without[i] + values[i]); /* of the first: nothing, and its own */
    }
    shmem_free(dest);
}

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    barrier(me, n), sync_all(me, n), team_sync(me, n), broadcast(me, n), collected(me, n), exchanged(me, n);
    greatest_drawn(me, n), reduced(me, n), scanned(me, n);
    return ended();
}
