/* Atomics: every operation for every type, by all PEs on one element of each in turn; what was fetched adds up. On heap memory and
   on static data, where both are one domain. */
#include "check.h"

static shmem_ctx_t ctx;
static long double in_data;
static uint64_t a_signal;

#define LOOK(T, expected)                                                                                                      \
    do {                                                                                                                       \
        shmem_barrier_all();                                                                                                   \
        if (me == at) EXPECT(*cell == (T)(expected));                                                                          \
        shmem_barrier_all();                                                                                                   \
    } while (0)
#define RESET(T, value)                                                                                                        \
    do {                                                                                                                       \
        shmem_barrier_all();                                                                                                   \
        *cell = (T)(value);                                                                                                    \
        shmem_barrier_all();                                                                                                   \
    } while (0)
#define BEGIN(T)                                                                                                               \
    int const me = shmem_my_pe(), n = shmem_n_pes(), turns = place == &in_data ? 3 : 10;                                       \
    T* const cell = place;                                                                                                     \
    T was = 0;                                                                                                                 \
    (void)was, (void)n, (void)turns

/* Everybody's numbers, each seen once, where all add one: their sum says so. */
#define TICKETS(T, call)                                                                                                       \
    do {                                                                                                                       \
        double sum_ = 0;                                                                                                       \
        RESET(T, 0);                                                                                                           \
        for (int k = 0; k < turns; k++) {                                                                                      \
            call;                                                                                                              \
            shmem_quiet();                                                                                                     \
            shmem_ctx_quiet(ctx);                                                                                              \
            sum_ += (double)was;                                                                                               \
        }                                                                                                                      \
        LOOK(T, turns* n);                                                                                                     \
        sums[me] = sum_;                                                                                                       \
        double all_ = 0;                                                                                                       \
        shmem_barrier_all();                                                                                                   \
        for (int p = 0; p < n; p++) all_ += shmem_double_g(&sums[p], p);                                                       \
        EXPECT(all_ == (double)(turns * n) * (turns * n - 1) / 2);                                                             \
        shmem_barrier_all();                                                                                                   \
    } while (0)
static double sums[64];

#define EXTENDED(NAME, T)                                                                                                      \
    static void extended_##NAME(void* place, int at) {                                                                         \
        BEGIN(T);                                                                                                              \
        RESET(T, 3);                                                                                                           \
        EXPECT(shmem_##NAME##_atomic_fetch(cell, at) == 3 && shmem_ctx_##NAME##_atomic_fetch(ctx, cell, at) == 3);             \
        shmem_##NAME##_atomic_fetch_nbi(&was, cell, at), shmem_quiet();                                                        \
        EXPECT(was == 3);                                                                                                      \
        was = 0, shmem_ctx_##NAME##_atomic_fetch_nbi(ctx, &was, cell, at), shmem_ctx_quiet(ctx);                               \
        EXPECT(was == 3);                                                                                                      \
        shmem_barrier_all();                                                                                                   \
        if (me == n - 1) shmem_##NAME##_atomic_set(cell, (T)7, at);                                                            \
        LOOK(T, 7);                                                                                                            \
        if (me == n - 1) shmem_ctx_##NAME##_atomic_set(ctx, cell, (T)8, at), shmem_ctx_quiet(ctx);                             \
        LOOK(T, 8);                                                                                                            \
        if (me == 0) {                                                                                                         \
            EXPECT(shmem_##NAME##_atomic_swap(cell, (T)9, at) == 8 &&                                                          \
                   shmem_ctx_##NAME##_atomic_swap(ctx, cell, (T)10, at) == 9);                                                 \
            shmem_##NAME##_atomic_swap_nbi(&was, cell, (T)11, at), shmem_quiet();                                              \
            EXPECT(was == 10);                                                                                                 \
            shmem_ctx_##NAME##_atomic_swap_nbi(ctx, &was, cell, (T)12, at), shmem_ctx_quiet(ctx);                              \
            EXPECT(was == 11);                                                                                                 \
        }                                                                                                                      \
        LOOK(T, 12);                                                                                                           \
    }
MPT_EXTENDED_TYPES(EXTENDED)

/* Adds one by compare and swap. */
#define BY_SWAP(T, call)                                                                                                       \
    for (T seen_ = 0;; seen_ = was) {                                                                                          \
        T const cond = seen_, value = (T)(seen_ + 1);                                                                          \
        call;                                                                                                                  \
        if (was == cond) break;                                                                                                \
    }

#define ARITHMETIC(NAME, T)                                                                                                    \
    static void arithmetic_##NAME(void* place, int at) {                                                                       \
        BEGIN(T);                                                                                                              \
        TICKETS(T, was = shmem_##NAME##_atomic_fetch_inc(cell, at));                                                           \
        TICKETS(T, was = shmem_ctx_##NAME##_atomic_fetch_inc(ctx, cell, at));                                                  \
        TICKETS(T, was = shmem_##NAME##_atomic_fetch_add(cell, (T)1, at));                                                     \
        TICKETS(T, was = shmem_ctx_##NAME##_atomic_fetch_add(ctx, cell, (T)1, at));                                            \
        TICKETS(T, shmem_##NAME##_atomic_fetch_inc_nbi(&was, cell, at));                                                       \
        TICKETS(T, shmem_ctx_##NAME##_atomic_fetch_inc_nbi(ctx, &was, cell, at));                                              \
        TICKETS(T, shmem_##NAME##_atomic_fetch_add_nbi(&was, cell, (T)1, at));                                                 \
        TICKETS(T, shmem_ctx_##NAME##_atomic_fetch_add_nbi(ctx, &was, cell, (T)1, at));                                        \
        TICKETS(T, BY_SWAP(T, was = shmem_##NAME##_atomic_compare_swap(cell, cond, value, at)));                               \
        TICKETS(T, BY_SWAP(T, was = shmem_ctx_##NAME##_atomic_compare_swap(ctx, cell, cond, value, at)));                      \
        TICKETS(T, BY_SWAP(T, shmem_##NAME##_atomic_compare_swap_nbi(&was, cell, cond, value, at); shmem_quiet()));            \
        TICKETS(T, BY_SWAP(T, shmem_ctx_##NAME##_atomic_compare_swap_nbi(ctx, &was, cell, cond, value, at);                    \
                           shmem_ctx_quiet(ctx)));                                                                             \
        RESET(T, 1);                                                                                                           \
        for (int k = 0; k < turns; k++) {                                                                                      \
            shmem_##NAME##_atomic_add(cell, (T)(me + 1), at), shmem_ctx_##NAME##_atomic_add(ctx, cell, (T)2, at);              \
            shmem_##NAME##_atomic_inc(cell, at), shmem_ctx_##NAME##_atomic_inc(ctx, cell, at);                                 \
        }                                                                                                                      \
        shmem_ctx_quiet(ctx);                                                                                                  \
        LOOK(T, 1 + turns * (n * (n + 1) / 2 + 4 * n));                                                                        \
    }
MPT_AMO_TYPES(ARITHMETIC)

/* The bit of PE `me`, `by` places up, and those of all PEs. Eight PEs reach the sign of 32 bits, so they are made in 64 without one. */
#define BIT(T, by) ((T)((uint64_t)1 << (me + (by))))
#define ALL_BITS (((uint64_t)1 << n) - 1)
#define BITS(NAME, T)                                                                                                          \
    static void bits_##NAME(void* place, int at) {                                                                             \
        BEGIN(T);                                                                                                              \
        T const mine = BIT(T, 0), others = (T)~mine;                                                                           \
        RESET(T, 0);                                                                                                           \
        EXPECT((shmem_##NAME##_atomic_fetch_or(cell, mine, at) & mine) == 0);                                                  \
        EXPECT((shmem_ctx_##NAME##_atomic_fetch_or(ctx, cell, BIT(T, 8), at) & BIT(T, 8)) == 0);                               \
        shmem_##NAME##_atomic_fetch_or_nbi(&was, cell, BIT(T, 16), at), shmem_quiet();                                         \
        EXPECT((was & BIT(T, 16)) == 0 && (was & mine) == mine);                                                               \
        shmem_ctx_##NAME##_atomic_fetch_or_nbi(ctx, &was, cell, BIT(T, 24), at), shmem_ctx_quiet(ctx);                         \
        EXPECT((was & BIT(T, 16)) != 0);                                                                                       \
        LOOK(T, ALL_BITS * 0x01010101);                                                                                        \
        EXPECT((shmem_##NAME##_atomic_fetch_and(cell, others, at) & mine) == mine);                                            \
        EXPECT((shmem_ctx_##NAME##_atomic_fetch_and(ctx, cell, (T)~BIT(T, 8), at) & mine) == 0);                               \
        shmem_##NAME##_atomic_fetch_and_nbi(&was, cell, (T)~BIT(T, 16), at), shmem_quiet();                                    \
        EXPECT((was & BIT(T, 16)) != 0);                                                                                       \
        shmem_ctx_##NAME##_atomic_fetch_and_nbi(ctx, &was, cell, (T)~BIT(T, 24), at), shmem_ctx_quiet(ctx);                    \
        LOOK(T, 0);                                                                                                            \
        EXPECT((shmem_##NAME##_atomic_fetch_xor(cell, mine, at) & mine) == 0);                                                 \
        EXPECT((shmem_ctx_##NAME##_atomic_fetch_xor(ctx, cell, mine | BIT(T, 8), at) & mine) == mine);                         \
        shmem_##NAME##_atomic_fetch_xor_nbi(&was, cell, BIT(T, 8), at), shmem_quiet();                                         \
        EXPECT((was & BIT(T, 8)) != 0);                                                                                        \
        shmem_ctx_##NAME##_atomic_fetch_xor_nbi(ctx, &was, cell, BIT(T, 16), at), shmem_ctx_quiet(ctx);                        \
        shmem_ctx_##NAME##_atomic_xor(ctx, cell, BIT(T, 16), at), shmem_ctx_quiet(ctx);                                        \
        LOOK(T, 0);                                                                                                            \
        shmem_##NAME##_atomic_or(cell, mine, at), shmem_ctx_##NAME##_atomic_or(ctx, cell, BIT(T, 8), at),                      \
            shmem_ctx_quiet(ctx);                                                                                              \
        LOOK(T, ALL_BITS * 0x0101);                                                                                            \
        shmem_##NAME##_atomic_xor(cell, BIT(T, 8), at);                                                                        \
        LOOK(T, ALL_BITS);                                                                                                     \
        if (me % 2) shmem_##NAME##_atomic_and(cell, others, at);                                                               \
        else shmem_ctx_##NAME##_atomic_and(ctx, cell, others, at), shmem_ctx_quiet(ctx);                                       \
        LOOK(T, 0);                                                                                                            \
    }
MPT_BIT_TYPES(BITS)

#define OLD_EXTENDED(NAME, T)                                                                                                  \
    static void old_##NAME(void* place, int at) {                                                                              \
        BEGIN(T);                                                                                                              \
        RESET(T, 3);                                                                                                           \
        EXPECT(shmem_##NAME##_fetch(cell, at) == 3);                                                                           \
        shmem_barrier_all();                                                                                                   \
        if (me == 0) {                                                                                                         \
            shmem_##NAME##_set(cell, (T)4, at);                                                                                \
            EXPECT(shmem_##NAME##_swap(cell, (T)5, at) == 4);                                                                  \
        }                                                                                                                      \
        LOOK(T, 5);                                                                                                            \
    }
MPT_EXTENDED_TYPES(OLD_EXTENDED)

#define OLD(NAME, T)                                                                                                           \
    static void old_arithmetic_##NAME(void* place, int at) {                                                                   \
        BEGIN(T);                                                                                                              \
        TICKETS(T, was = shmem_##NAME##_finc(cell, at));                                                                       \
        TICKETS(T, was = shmem_##NAME##_fadd(cell, (T)1, at));                                                                 \
        TICKETS(T, BY_SWAP(T, was = shmem_##NAME##_cswap(cell, cond, value, at)));                                             \
        RESET(T, 0);                                                                                                           \
        shmem_##NAME##_add(cell, (T)3, at), shmem_##NAME##_inc(cell, at);                                                      \
        LOOK(T, 4 * n);                                                                                                        \
    }
MPT_AMO_TYPES(OLD)

static void signals(int at) {
    int const me = shmem_my_pe(), n = shmem_n_pes();
    uint64_t* const cell = &a_signal;
    RESET(uint64_t, 0);
    shmem_signal_add(cell, 2, at), shmem_ctx_signal_add(ctx, cell, 3, at), shmem_ctx_quiet(ctx);
    LOOK(uint64_t, 5 * n);
    if (me == 0) shmem_signal_set(cell, 11, at);
    LOOK(uint64_t, 11);
    if (me == 0) shmem_ctx_signal_set(ctx, cell, 12, at), shmem_ctx_quiet(ctx);
    LOOK(uint64_t, 12);
}

int main(void) {
    shmem_init();
    EXPECT(shmem_ctx_create(0, &ctx) == 0);
    void* const places[2] = {shmem_malloc(16), &in_data};
    for (int i = 0; i < 2; i++)
        for (int at = 0; at < shmem_n_pes(); at++) {
            void* const place = places[i];
#define RUN_EXTENDED(NAME, T) extended_##NAME(place, at);
#define RUN_ARITHMETIC(NAME, T) arithmetic_##NAME(place, at);
#define RUN_BITS(NAME, T) bits_##NAME(place, at);
#define RUN_OLD(NAME, T) old_##NAME(place, at), old_arithmetic_##NAME(place, at);
            MPT_EXTENDED_TYPES(RUN_EXTENDED)
            MPT_AMO_TYPES(RUN_ARITHMETIC)
            MPT_BIT_TYPES(RUN_BITS)
            MPT_AMO_TYPES(RUN_OLD)
            old_float(place, at), old_double(place, at);
            signals(at);
        }
    shmem_free(places[0]);
    shmem_ctx_destroy(ctx);
    return ended();
}
