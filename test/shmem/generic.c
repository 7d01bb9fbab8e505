/* C11's names for all types: each with and without a context chooses the function of its argument's type. */
#include "check.h"
#include <stdint.h>

static shmem_ctx_t ctx;
static double wide[4];
static uint64_t a_signal;
static long long counter;
static short small_one;
static unsigned bits;
static int flags[3];

/* Types that a name has had by an older version of the specification, or has by other libraries. */
#define OLD_WAIT(NAME, T)                                                                                                      \
    static void waits_for_##NAME(int next) {                                                                                   \
        static T word;                                                                                                         \
        shmem_p(&word, (T)(next + 1), next);                                                                                   \
        shmem_wait_until(&word, SHMEM_CMP_NE, 0);                                                                              \
        EXPECT(word == (T)(shmem_my_pe() + 1) && shmem_test(&word, SHMEM_CMP_GT, 0));                                          \
        size_t which = 1;                                                                                                      \
        T const as_it_is = word;                                                                                               \
        shmem_wait_until_all(&word, 1, NULL, SHMEM_CMP_NE, 0);                                                                 \
        EXPECT(shmem_wait_until_any(&word, 1, NULL, SHMEM_CMP_NE, 0) == 0 && shmem_test_all(&word, 1, NULL, SHMEM_CMP_GT, 0)); \
        EXPECT(shmem_test_some_vector(&word, 1, &which, NULL, SHMEM_CMP_EQ, &as_it_is) == 1 && which == 0);                    \
        shmem_barrier_all();                                                                                                   \
    }
/* The old names of atomics take the types of the new ones. */
#define OLD_ATOMICS(NAME, T)                                                                                                   \
    static void old_atomics_##NAME(void) {                                                                                     \
        static T cell;                                                                                                         \
        int const me = shmem_my_pe(), next = (me + 1) % shmem_n_pes();                                                         \
        shmem_set(&cell, (T)3, next);                                                                                          \
        EXPECT(shmem_fetch(&cell, next) == 3 && shmem_swap(&cell, (T)4, next) == 3 &&                                          \
               shmem_cswap(&cell, (T)4, (T)5, next) == 4);                                                                     \
        EXPECT(shmem_finc(&cell, next) == 5 && shmem_fadd(&cell, (T)2, next) == 6);                                            \
        shmem_inc(&cell, next), shmem_add(&cell, (T)2, next);                                                                  \
        shmem_barrier_all();                                                                                                   \
        EXPECT(cell == 11);                                                                                                    \
        shmem_barrier_all();                                                                                                   \
    }
MPT_AMO_TYPES(OLD_ATOMICS)
#define OLD_WAITS(X) X(short, short) X(ushort, unsigned short)
OLD_WAITS(OLD_WAIT)
#define SIGNED_BITS(NAME, T)                                                                                                   \
    static void bits_of_##NAME(int me, int n) {                                                                                \
        static T mine, all;                                                                                                    \
        mine = (T)(1 << me | 1 << 12);                                                                                         \
        EXPECT(shmem_or_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1) == 0 && all == (T)(((1 << n) - 1) | 1 << 12));                \
        shmem_barrier_all();                                                                                                   \
        EXPECT(shmem_and_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1) == 0 && all == (T)((n == 1) | 1 << 12));                     \
        shmem_barrier_all();                                                                                                   \
        EXPECT(shmem_xor_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1) == 0 && all == (T)(((1 << n) - 1) | (n % 2) << 12));         \
        shmem_barrier_all();                                                                                                   \
    }
#define SIGNED(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)
SIGNED(SIGNED_BITS)

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    EXPECT(shmem_ctx_create(0, &ctx) == 0);
    double const from[4] = {me + 1, me + 2, me + 3, me + 4};
    double back[4] = {0};
    shmem_put(wide, from, 2, next), shmem_put(ctx, wide + 2, from + 2, 2, next), shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    EXPECT(wide[0] == before + 1 && wide[3] == before + 4);
    shmem_get(back, wide, 2, next), shmem_get(ctx, back + 2, wide + 2, 2, next);
    EXPECT(back[0] == me + 1 && back[3] == me + 4);
    shmem_barrier_all();
    shmem_put_nbi(wide, from, 1, next), shmem_put_nbi(ctx, wide + 1, from, 1, next), shmem_quiet(), shmem_ctx_quiet(ctx);
    shmem_iput(wide + 2, from, 1, 2, 1, next), shmem_iput(ctx, wide + 3, from, 1, 1, 1, next), shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    for (int i = 0; i < 4; i++) EXPECT(wide[i] == before + 1);
    shmem_get_nbi(back, wide, 1, next), shmem_get_nbi(ctx, back + 1, wide, 1, next), shmem_quiet(), shmem_ctx_quiet(ctx);
    shmem_iget(back + 2, wide, 1, 1, 1, next), shmem_iget(ctx, back + 3, wide, 1, 1, 1, next);
    for (int i = 0; i < 4; i++) EXPECT(back[i] == me + 1);
    shmem_barrier_all();
    shmem_ibput(wide, from, 2, 2, 2, 2, next), shmem_ibput(ctx, wide, from, 2, 2, 2, 2, next), shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    shmem_ibget(back, wide, 2, 2, 2, 1, next), shmem_ibget(ctx, back + 2, wide + 2, 2, 2, 2, 1, next);
    for (int i = 0; i < 4; i++) EXPECT(back[i] == me + 1 + i);
    shmem_barrier_all();
    shmem_p(&small_one, (short)(me + 5), next), shmem_barrier_all();
    short const* const to_read = &small_one; /* of a constant pointer, too */
    EXPECT(shmem_g(to_read, next) == me + 5 && shmem_g(ctx, &small_one, next) == me + 5);
    shmem_barrier_all();
    shmem_p(ctx, &small_one, -1, next), shmem_ctx_quiet(ctx), shmem_barrier_all();
    EXPECT(small_one == -1);

    shmem_atomic_set(&counter, 0, me), shmem_atomic_set(ctx, &counter, 0, me), shmem_ctx_quiet(ctx), shmem_barrier_all();
    long long was = 0;
    shmem_atomic_add(&counter, 2, 0), shmem_atomic_add(ctx, &counter, 2, 0), shmem_atomic_inc(&counter, 0),
        shmem_atomic_inc(ctx, &counter, 0);
    was += shmem_atomic_fetch_add(&counter, 2, 0) + shmem_atomic_fetch_add(ctx, &counter, 2, 0) +
           shmem_atomic_fetch_inc(&counter, 0) + shmem_atomic_fetch_inc(ctx, &counter, 0);
    shmem_atomic_fetch_add_nbi(&was, &counter, 2, 0), shmem_atomic_fetch_add_nbi(ctx, &was, &counter, 2, 0);
    shmem_atomic_fetch_inc_nbi(&was, &counter, 0), shmem_atomic_fetch_inc_nbi(ctx, &was, &counter, 0);
    shmem_quiet(), shmem_ctx_quiet(ctx), shmem_barrier_all();
    EXPECT(shmem_atomic_fetch(&counter, 0) == 18LL * n && shmem_atomic_fetch(ctx, &counter, 0) == 18LL * n);
    shmem_atomic_fetch_nbi(&was, &counter, 0), shmem_atomic_fetch_nbi(ctx, &was, &counter, 0), shmem_quiet(),
        shmem_ctx_quiet(ctx);
    EXPECT(was == 18LL * n);
    shmem_barrier_all();
    if (me == 0) {
        EXPECT(shmem_atomic_compare_swap(&counter, 18LL * n, 1, 0) == 18LL * n &&
               shmem_atomic_compare_swap(ctx, &counter, 1, 2, 0) == 1);
        EXPECT(shmem_atomic_swap(&counter, 3, 0) == 2 && shmem_atomic_swap(ctx, &counter, 4, 0) == 3);
        shmem_atomic_compare_swap_nbi(&was, &counter, 4, 5, 0), shmem_atomic_compare_swap_nbi(ctx, &was, &counter, 5, 6, 0);
        shmem_atomic_swap_nbi(&was, &counter, 7, 0), shmem_atomic_swap_nbi(ctx, &was, &counter, 8, 0), shmem_quiet(),
            shmem_ctx_quiet(ctx);
        EXPECT(counter == 8 && was == 7);
        unsigned got;
        shmem_atomic_or(&bits, 1, 0), shmem_atomic_or(ctx, &bits, 2, 0), shmem_atomic_xor(&bits, 4, 0),
            shmem_atomic_xor(ctx, &bits, 8, 0);
        shmem_atomic_and(&bits, 0xe, 0), shmem_atomic_and(ctx, &bits, 0xf, 0), shmem_ctx_quiet(ctx);
        EXPECT(shmem_atomic_fetch_or(&bits, 1, 0) == 0xe && shmem_atomic_fetch_or(ctx, &bits, 1, 0) == 0xf);
        EXPECT(shmem_atomic_fetch_and(&bits, 7, 0) == 0xf && shmem_atomic_fetch_and(ctx, &bits, 3, 0) == 7);
        EXPECT(shmem_atomic_fetch_xor(&bits, 1, 0) == 3 && shmem_atomic_fetch_xor(ctx, &bits, 1, 0) == 2);
        shmem_atomic_fetch_or_nbi(&got, &bits, 4, 0), shmem_atomic_fetch_or_nbi(ctx, &got, &bits, 8, 0);
        shmem_atomic_fetch_and_nbi(&got, &bits, 0xd, 0), shmem_atomic_fetch_and_nbi(ctx, &got, &bits, 0xc, 0);
        shmem_atomic_fetch_xor_nbi(&got, &bits, 1, 0), shmem_atomic_fetch_xor_nbi(ctx, &got, &bits, 2, 0), shmem_quiet(),
            shmem_ctx_quiet(ctx);
        EXPECT(bits == 0xf && got == 0xd);
        EXPECT(shmem_fetch(&counter, 0) == 8 && shmem_swap(&counter, 9, 0) == 8 && shmem_cswap(&counter, 9, 10, 0) == 9);
        EXPECT(shmem_finc(&counter, 0) == 10 && shmem_fadd(&counter, 2, 0) == 11);
        shmem_inc(&counter, 0), shmem_add(&counter, 2, 0);
        EXPECT(counter == 16);
        shmem_set(&counter, 1, 0);
        EXPECT(counter == 1);
    }
    shmem_barrier_all();

    shmem_put_signal(wide, from, 4, &a_signal, 3, SHMEM_SIGNAL_SET, next), shmem_signal_wait_until(&a_signal, SHMEM_CMP_EQ, 3);
    shmem_barrier_all();
    shmem_put_signal(ctx, wide, from, 4, &a_signal, 1, SHMEM_SIGNAL_ADD, next),
        shmem_signal_wait_until(&a_signal, SHMEM_CMP_EQ, 4);
    shmem_barrier_all();
    shmem_put_signal_nbi(wide, from, 4, &a_signal, 1, SHMEM_SIGNAL_ADD, next),
        shmem_signal_wait_until(&a_signal, SHMEM_CMP_EQ, 5);
    shmem_barrier_all();
    shmem_put_signal_nbi(ctx, wide, from, 4, &a_signal, 1, SHMEM_SIGNAL_ADD, next),
        shmem_signal_wait_until(&a_signal, SHMEM_CMP_EQ, 6);
    shmem_barrier_all();
    shmem_signal_add(&a_signal, 1, next), shmem_signal_add(ctx, &a_signal, 1, next),
        shmem_signal_wait_until(&a_signal, SHMEM_CMP_EQ, 8);
    shmem_barrier_all();
    shmem_signal_set(&a_signal, 1, next), shmem_barrier_all();
    shmem_signal_set(ctx, &a_signal, 2, next), shmem_signal_wait_until(&a_signal, SHMEM_CMP_EQ, 2);

    shmem_barrier_all();
    int const all_ones[3] = {1, 1, 1}, none[3] = {0};
    size_t which[3];
    EXPECT(!shmem_test(&flags[0], SHMEM_CMP_EQ, 1) && !shmem_test_all(flags, 3, none, SHMEM_CMP_EQ, 1));
    EXPECT(shmem_test_any(flags, 3, none, SHMEM_CMP_EQ, 1) == SIZE_MAX &&
           shmem_test_some(flags, 3, which, none, SHMEM_CMP_EQ, 1) == 0);
    EXPECT(!shmem_test_all_vector(flags, 3, none, SHMEM_CMP_EQ, all_ones));
    EXPECT(shmem_test_any_vector(flags, 3, none, SHMEM_CMP_EQ, all_ones) == SIZE_MAX);
    EXPECT(shmem_test_some_vector(flags, 3, which, none, SHMEM_CMP_EQ, all_ones) == 0);
    shmem_barrier_all();
    for (int i = 0; i < 3; i++) shmem_p(&flags[i], 1, next);
    shmem_wait_until(&flags[0], SHMEM_CMP_EQ, 1), shmem_wait_until_all(flags, 3, none, SHMEM_CMP_EQ, 1);
    shmem_wait_until_all_vector(flags, 3, none, SHMEM_CMP_EQ, all_ones);
    EXPECT(shmem_wait_until_any(flags, 3, none, SHMEM_CMP_EQ, 1) < 3 &&
           shmem_wait_until_any_vector(flags, 3, none, SHMEM_CMP_EQ, all_ones) < 3);
    EXPECT(shmem_wait_until_some(flags, 3, which, none, SHMEM_CMP_EQ, 1) == 3);
    EXPECT(shmem_wait_until_some_vector(flags, 3, which, none, SHMEM_CMP_EQ, all_ones) == 3);

    static int volatile watched[3]; /* as programs after OpenSHMEM 1.3 have them, without a warning */
    static long volatile old;
    for (int i = 0; i < 3; i++) shmem_p((int*)(uintptr_t)&watched[i], 1, next);
    shmem_p((long*)(uintptr_t)&old, me, me);
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wall"
#pragma GCC diagnostic error "-Wextra"
#ifndef __clang__
#pragma GCC diagnostic error "-Wdiscarded-qualifiers"
#endif
    shmem_wait_until(&watched[0], SHMEM_CMP_EQ, 1), shmem_wait_until_all(watched, 3, none, SHMEM_CMP_EQ, 1);
    EXPECT(shmem_test(&old, SHMEM_CMP_EQ, me) && shmem_wait_until_any(watched, 3, none, SHMEM_CMP_EQ, 1) < 3);
    EXPECT(shmem_test_some_vector(watched, 3, which, none, SHMEM_CMP_EQ, all_ones) == 3);
#pragma GCC diagnostic pop

    static long sync_[SHMEM_SYNC_SIZE];
    shmem_sync(SHMEM_TEAM_WORLD), shmem_sync(0, 0, n, sync_);
    static int one[2], all_[64 * 2], sum;
    one[0] = one[1] = me + 1;
    for (int i = 0; i < 64; i++) all_[i] = 0;
    shmem_barrier_all();
    EXPECT(shmem_fcollect(SHMEM_TEAM_WORLD, all_, one, 1) == 0 && all_[n - 1] == n);
    EXPECT(shmem_collect(SHMEM_TEAM_WORLD, all_, one, 2) == 0 && all_[2 * n - 1] == n);
    EXPECT(shmem_broadcast(SHMEM_TEAM_WORLD, &sum, one, 1, n - 1) == 0 && sum == n);
    int *const big = shmem_malloc(sizeof(int) * 64), *const got = shmem_malloc(sizeof(int) * 64);
    for (int i = 0; i < n; i++) big[i] = me * 8 + i;
    EXPECT(shmem_alltoall(SHMEM_TEAM_WORLD, got, big, 1) == 0 && got[n - 1] == (n - 1) * 8 + me);
    shmem_barrier_all();
    EXPECT(shmem_alltoalls(SHMEM_TEAM_WORLD, got, big, 1, 1, 1) == 0 && got[0] == me);
    shmem_barrier_all();
    unsigned *const a = shmem_malloc(sizeof(unsigned)), *const r = shmem_malloc(sizeof(unsigned));
    *a = (unsigned)me + 1;
    EXPECT(shmem_sum_reduce(SHMEM_TEAM_WORLD, r, a, 1) == 0 && *r == (unsigned)(n * (n + 1) / 2));
    EXPECT(shmem_max_reduce(SHMEM_TEAM_WORLD, r, a, 1) == 0 && *r == (unsigned)n);
    EXPECT(shmem_min_reduce(SHMEM_TEAM_WORLD, r, a, 1) == 0 && *r == 1);
    unsigned product = 1, either = 0, both = ~0u, any = 0;
    for (unsigned i = 1; i <= (unsigned)n; i++) product *= i, either ^= i, both &= i, any |= i;
    EXPECT(shmem_prod_reduce(SHMEM_TEAM_WORLD, r, a, 1) == 0 && *r == product);
    EXPECT(shmem_xor_reduce(SHMEM_TEAM_WORLD, r, a, 1) == 0 && *r == either);
    EXPECT(shmem_and_reduce(SHMEM_TEAM_WORLD, r, a, 1) == 0 && *r == both);
    EXPECT(shmem_or_reduce(SHMEM_TEAM_WORLD, r, a, 1) == 0 && *r == any);
    EXPECT(shmem_sum_inscan(SHMEM_TEAM_WORLD, r, a, 1) == 0 && *r == (unsigned)((me + 1) * (me + 2) / 2));
    EXPECT(shmem_sum_exscan(SHMEM_TEAM_WORLD, r, a, 1) == 0 && *r == (unsigned)(me * (me + 1) / 2));
    shmem_barrier_all();
#define RUN_WAIT(NAME, T) waits_for_##NAME(next);
#define RUN_BITS(NAME, T) bits_of_##NAME(me, n);
    OLD_WAITS(RUN_WAIT)
#define RUN_OLD_ATOMICS(NAME, T) old_atomics_##NAME();
    MPT_AMO_TYPES(RUN_OLD_ATOMICS)
    SIGNED(RUN_BITS)
    shmem_ctx_destroy(ctx);
    return ended();
}
