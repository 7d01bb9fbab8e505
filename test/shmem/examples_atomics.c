/* Examples of OpenSHMEM's text: Atomic Memory Operations, and what the Memory Model says of their being whole. Which example lies where
   stands in docs/c-binding.md. */
#include "check.h"

enum { most = 64 };

/* shmem_atomic_inc, shmem_atomic_fetch_inc: all add one at the last PE; what each has seen on its way is its own. */
static void increments(int me, int n) {
    static int dst = 74, seen[most], old[most];
    int const last = n - 1;
    shmem_atomic_inc(&dst, last);
    shmem_barrier_all();
    EXPECT(dst == (me == last ? 74 + n : 74));
    shmem_barrier_all();
    int const mine = shmem_atomic_fetch_inc(&dst, last) - 74 - n;
    EXPECT(mine >= 0 && mine < n);
    if (mine >= 0 && mine < n) shmem_atomic_inc(&seen[mine], 0);
    shmem_p(&old[me], mine, 0);
    shmem_barrier_all();
    if (me == 0)
        for (int p = 0; p < n; p++) EXPECT(seen[p] == 1 && old[p] >= 0 && old[p] < n);
    EXPECT(shmem_atomic_fetch(&dst, last) == 74 + 2 * n);
    shmem_barrier_all();
}

/* shmem_atomic_add, shmem_atomic_fetch_add: PE 1, or the only one, adds at PE 0, and has what was there. */
static void additions(int me, int n) {
    static int dst;
    int old = -1;
    dst = 22;
    shmem_barrier_all();
    if (me == 1 % n) old = shmem_atomic_fetch_add(&dst, 44, 0);
    shmem_barrier_all();
    EXPECT(old == (me == 1 % n ? 22 : -1) && dst == (me == 0 ? 66 : 22));
    shmem_barrier_all();
    if (me == 1 % n) shmem_atomic_add(&dst, -66, 0);
    shmem_barrier_all();
    EXPECT(dst == (me == 0 ? 0 : 22));
}

/* shmem_atomic_compare_swap: a race with one winner; all who come later are told who. */
static void race(int me, int n) {
    static int winner = -1, told[most];
    int const old = shmem_atomic_compare_swap(&winner, -1, me, 0);
    shmem_p(&told[me], old, 0);
    shmem_barrier_all();
    if (me == 0) {
        int won = 0;
        for (int p = 0; p < n; p++) {
            EXPECT(told[p] == (winner == p ? -1 : winner));
            won += told[p] == -1;
        }
        EXPECT(won == 1);
    }
    shmem_barrier_all();
}

/* shmem_atomic_swap: the odd PEs leave their numbers at the next, and take what that had; it takes floating types, too. */
static void swaps(int me, int n) {
    long* const dest = shmem_malloc(sizeof(long));
    double* const real = shmem_malloc(sizeof(double));
    int const next = (me + 1) % n, before = (me + n - 1) % n;
    *dest = me, *real = me + 0.5;
    shmem_barrier_all();
    if (me % 2 == 1) {
        EXPECT(shmem_atomic_swap(dest, (long)me, next) == next);
        EXPECT(shmem_atomic_swap(real, me + 0.25, next) == next + 0.5);
    }
    shmem_barrier_all();
    int const is_told = before % 2 == 1 && n > 1;
    EXPECT(*dest == (is_told ? before : me) && *real == (is_told ? before + 0.25 : me + 0.5));
    shmem_free(real), shmem_free(dest);
}

/* shmem_atomic_set, shmem_atomic_fetch: a word is read whole while another PE writes it: one of the two, never a mixture. */
static void whole(int me, int n) {
    static uint64_t word;
    enum { turns = 300 };
    uint64_t const zeroes = 0, ones = ~zeroes;
    if (me == 0)
        for (int i = 0; i <= turns; i++) shmem_atomic_set(&word, i % 2 == 0 ? ones : zeroes, n - 1);
    else
        for (int i = 0; i < turns; i++) {
            uint64_t const seen = shmem_atomic_fetch(&word, n - 1);
            EXPECT(seen == zeroes || seen == ones);
        }
    shmem_barrier_all();
    EXPECT(word == (me == n - 1 ? ones : zeroes));
}

/* shmem_atomic_or, _and, _xor and the fetching forms: who is there is a set of bits, of which each knows what it was before. */
static void sets(int me, int n) {
    static unsigned there, gone = ~0u, turned;
    unsigned const mine = 1u << me, all = n == 32 ? ~0u : (1u << n) - 1;
    shmem_atomic_or(&there, mine, 0);
    shmem_atomic_and(&gone, ~mine, 0);
    shmem_atomic_xor(&turned, mine, 0);
    shmem_barrier_all();
    if (me == 0) EXPECT(there == all && gone == ~all && turned == all);
    shmem_barrier_all();
    EXPECT((shmem_atomic_fetch_and(&there, ~mine, 0) & mine) == mine);
    EXPECT((shmem_atomic_fetch_or(&gone, mine, 0) & mine) == 0);
    EXPECT((shmem_atomic_fetch_xor(&turned, mine, 0) & mine) == mine);
    shmem_barrier_all();
    if (me == 0) EXPECT(there == 0 && gone == ~0u && turned == 0);
    shmem_barrier_all();
}

/* The forms that are only begun (1.5): many at once, and what each has fetched is there after one shmem_quiet. */
static void begun(int me, int n) {
    static long tickets, sums[most], best = -1, place[most], read_only[most];
    static uint64_t ors, ands = ~(uint64_t)0, xors;
    long ticket = -1, sum[most], was = -2, swapped[most], seen[most];
    uint64_t bits[3] = {0, 0, 0};
    uint64_t const mine = (uint64_t)1 << me;
    read_only[me] = 100 + me, place[me] = me;
    shmem_barrier_all();
    shmem_atomic_fetch_inc_nbi(&ticket, &tickets, 0);
    shmem_atomic_compare_swap_nbi(&was, &best, -1L, (long)me, 0);
    for (int p = 0; p < n; p++) {
        shmem_atomic_fetch_add_nbi(&sum[p], &sums[me], 5L, p);
        shmem_atomic_fetch_nbi(&seen[p], &read_only[p], p);
        if ((p + 1) % n == me) shmem_atomic_swap_nbi(&swapped[p], &place[p], 1000L + me, p);
    }
    shmem_atomic_fetch_or_nbi(&bits[0], &ors, mine, n - 1);
    shmem_atomic_fetch_and_nbi(&bits[1], &ands, ~mine, n - 1);
    shmem_atomic_fetch_xor_nbi(&bits[2], &xors, mine, n - 1);
    shmem_quiet();
    int const before = (me + n - 1) % n, next = (me + 1) % n;
    EXPECT(ticket >= 0 && ticket < n && swapped[before] == before);
    for (int p = 0; p < n; p++) EXPECT(sum[p] == 0 && seen[p] == 100 + p);
    EXPECT((bits[0] & mine) == 0 && (bits[1] & mine) == mine && (bits[2] & mine) == 0);
    shmem_barrier_all();
    long const first = shmem_atomic_fetch(&best, 0);
    EXPECT(was == (first == me ? -1 : first) && shmem_atomic_fetch(&tickets, 0) == n);
    for (int p = 0; p < n; p++) EXPECT(sums[p] == 5);
    EXPECT(place[me] == 1000 + next);
    if (me == n - 1) EXPECT(ors == ((uint64_t)1 << n) - 1 && ands == ~ors && xors == ors);
    shmem_barrier_all();
}

/* The Memory Model's mistakes, as it mends them. First: one word, one type, where 32 bits would do; the value is shifted instead. */
static void one_type(int me, int n) {
    static uint64_t x;
    uint64_t const value = (uint64_t)me + 1;
    shmem_atomic_or(&x, me % 2 == 0 ? value : value << 32, 0);
    shmem_barrier_all();
    uint64_t expected = 0;
    for (uint64_t p = 0; p < (uint64_t)n; p++) expected |= p % 2 == 0 ? p + 1 : (p + 1) << 32;
    EXPECT(x == (me == 0 ? expected : 0));
}

/* Second: a barrier between increments and a reduction that reads what they count. */
static void barrier_between(int me, int n) {
    static int x, y;
    for (int i = 0; i <= me; i++) shmem_atomic_inc(&x, (me + 1) % n);
    shmem_barrier_all();
    EXPECT(shmem_sum_reduce(SHMEM_TEAM_WORLD, &y, &x, 1) == 0 && y == n * (n + 1) / 2);
    shmem_barrier_all();
}

/* Third: the owner of a word increments it by an atomic, too. */
static void owner_as_others(int me, int n) {
    static int x;
    for (int i = 0; i < 100; i++) shmem_atomic_inc(&x, 0);
    shmem_barrier_all();
    EXPECT(x == (me == 0 ? 100 * n : 0));
}

/* Fourth: one domain for one word: contexts of two teams, one after the other. */
static void one_domain(int me, int n) {
    static uint64_t x;
    shmem_ctx_t ctx;
    int const target = shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_SHARED);
    if (me > 0) {
        EXPECT(shmem_team_create_ctx(SHMEM_TEAM_WORLD, 0, &ctx) == 0);
        shmem_atomic_inc(ctx, &x, 0);
        shmem_ctx_destroy(ctx);
    }
    shmem_barrier_all();
    if (target >= 0) {
        EXPECT(shmem_team_create_ctx(SHMEM_TEAM_SHARED, 0, &ctx) == 0);
        shmem_atomic_inc(ctx, &x, target);
        shmem_ctx_destroy(ctx);
    }
    shmem_barrier_all();
    EXPECT(x == (me == 0 ? (uint64_t)(2 * n - 1) : 0)); /* all PEs are on this machine */
    shmem_barrier_all();
}

/* The names before 1.4, deprecated: they are the same operations on the same words. */
static void old_names(int me, int n) {
    static int dst;
    static long count;
    shmem_int_add(&dst, me + 1, 0), shmem_int_inc(&dst, 0);
    shmem_atomic_add(&dst, 1, 0);
    shmem_barrier_all();
    if (me == 0) EXPECT(dst == n * (n + 1) / 2 + 2 * n);
    long const mine = shmem_long_finc(&count, n - 1), next = shmem_long_fadd(&count, 2, n - 1);
    EXPECT(mine >= 0 && next > mine && next < 3 * n);
    shmem_barrier_all();
    EXPECT(shmem_long_fetch(&count, n - 1) == 3 * n);
    shmem_barrier_all();
    if (me == 0) {
        EXPECT(shmem_long_cswap(&count, 3L * n, 7, n - 1) == 3 * n && shmem_long_swap(&count, 8, n - 1) == 7);
        shmem_long_set(&count, 9, n - 1);
    }
    shmem_barrier_all();
    EXPECT(count == (me == n - 1 ? 9 : 0));
}

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    increments(me, n), additions(me, n), race(me, n), swaps(me, n), whole(me, n), sets(me, n), begun(me, n);
    one_type(me, n), barrier_between(me, n), owner_as_others(me, n), one_domain(me, n), old_names(me, n);
    return ended();
}
