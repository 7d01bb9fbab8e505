/* Cray's extensions: teams on grids, collectives over teams, pieces of any size, handles of atomics, PEs of this machine. */
#include <shmemx.h>

#include "check.h"
#include <time.h>

static long sync_[SHMEM_REDUCE_SYNC_SIZE];

static void queries(int me, int n) {
    int pes[64] = {0};
    EXPECT(shmemx_local_npes() == n && shmemx_local_pes(pes, 64) == n && pes[me] == me);
    pes[0] = -1;
    EXPECT(shmemx_local_pes(pes, 0) == n && pes[0] == -1);
    static int there;
    shmemx_thread_register();
    shmem_int_p(&there, me + 1, (me + 1) % n);
    shmemx_local_complete(), shmemx_thread_fence(), shmemx_thread_quiet(), shmemx_pe_quiet((me + 1) % n);
    shmem_sync_all();
    EXPECT(there == (me + n - 1) % n + 1);
    shmemx_thread_unregister();
}

/* Asked before shmem_init, too. */
static void clock_of(double before) {
    double const begun = shmemx_wtime();
    EXPECT(begun > before && begun - before < 60);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    double const passed = shmemx_wtime() - begun;
    EXPECT(passed >= 0.02 && passed < 20);
}

static void grids(int me, int n) {
    shmem_team_t x, y, z;
    EXPECT(shmemx_team_split_2d(SHMEM_TEAM_WORLD, 2, (n + 1) / 2, &x, &y) == 0);
    EXPECT(shmem_team_my_pe(x) == me % 2 && shmem_team_my_pe(y) == me / 2);
    shmem_team_destroy(x), shmem_team_destroy(y);
    EXPECT(shmemx_team_split_2d(SHMEM_TEAM_WORLD, 1, 0, &x, &y) != 0 && x == SHMEM_TEAM_NULL && y == SHMEM_TEAM_NULL);
    EXPECT(shmemx_team_split_2d(SHMEM_TEAM_NULL, 1, 1, &x, &y) != 0 && x == SHMEM_TEAM_NULL && y == SHMEM_TEAM_NULL);
    EXPECT(shmemx_team_split_2d(SHMEM_TEAM_WORLD, 2, 2, &x, &y) == 0); /* for others than the first four there is no place */
    EXPECT((x == SHMEM_TEAM_NULL) == (me >= 4) && (y == SHMEM_TEAM_NULL) == (me >= 4));
    if (x != SHMEM_TEAM_NULL) {
        int const here = n < 4 ? n : 4;
        static long mine, sum;
        EXPECT(shmem_team_n_pes(x) == (me / 2 * 2 + 1 < here ? 2 : 1) && shmem_team_n_pes(y) == (me % 2 + 2 < here ? 2 : 1));
        mine = me;
        EXPECT(shmem_long_sum_reduce(y, &sum, &mine, 1) == 0 && sum == me % 2 + (me % 2 + 2 < here ? me % 2 + 2 : 0));
        shmemx_team_destroy(&x), shmemx_team_destroy(&y);
    }
    EXPECT(shmemx_team_split_3d(SHMEM_TEAM_WORLD, 2, 1, (n + 1) / 2, &x, &y, &z) == 0);
    EXPECT(shmem_team_my_pe(x) == me % 2 && shmem_team_n_pes(y) == 1 && shmem_team_my_pe(z) == me / 2);
    shmem_team_destroy(x), shmem_team_destroy(y), shmem_team_destroy(z);
    EXPECT(shmemx_team_split_3d(SHMEM_TEAM_WORLD, 1, 1, 1, &x, &y, &z) == 0);
    EXPECT((x == SHMEM_TEAM_NULL) == (me > 0) && (y == SHMEM_TEAM_NULL) == (me > 0) && (z == SHMEM_TEAM_NULL) == (me > 0));
    shmem_team_destroy(x), shmem_team_destroy(y), shmem_team_destroy(z);
    EXPECT(shmemx_team_split_3d(SHMEM_TEAM_WORLD, 1, n, 0, &x, &y, &z) != 0 && z == SHMEM_TEAM_NULL);
}

/* Odd ones and even ones, backwards, and the last PE in none; every second PE. */
static void colors(int me, int n) {
    for (int way = 0; way < 2; way++) {
        int const color = me == n - 1 ? SHMEM_COLOR_UNDEFINED : me % 2, size = (n - me % 2) / 2;
        shmem_team_t team = SHMEM_TEAM_WORLD;
        EXPECT((way ? shmemx_team_split(SHMEM_TEAM_WORLD, color, -me, &team)
                    : shmemx_team_split_color(SHMEM_TEAM_NODE, color, -me, &team)) == 0);
        EXPECT((team == SHMEM_TEAM_NULL) == (me == n - 1));
        if (team == SHMEM_TEAM_NULL) continue;
        static long mine, sum;
        int const here = shmemx_team_my_pe(team);
        EXPECT(shmemx_team_n_pes(team) == size && here == size - 1 - me / 2);
        for (int p = 0; p < size; p++)
            EXPECT(shmemx_team_translate_pe(team, p, SHMEM_TEAM_WORLD) == me % 2 + 2 * (size - 1 - p));
        mine = me;
        EXPECT(shmem_long_sum_reduce(team, &sum, &mine, 1) == 0 && sum == (long)size * (size - 1) + size * (me % 2));
        shmemx_team_destroy(&team);
        EXPECT(team == SHMEM_TEAM_NULL);
    }
    shmem_team_t even, none = SHMEM_TEAM_WORLD;
    EXPECT(shmemx_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, &even) == 0);
    EXPECT(shmemx_team_my_pe(even) == (me % 2 ? -1 : me / 2) && shmemx_team_n_pes(even) == (me % 2 ? -1 : (n + 1) / 2));
    if (even != SHMEM_TEAM_NULL) shmemx_team_destroy(&even);
    EXPECT(shmemx_team_split(SHMEM_TEAM_NULL, 0, 0, &none) != 0 && none == SHMEM_TEAM_NULL);
}

#define REDUCE(NAME, T, OP, start, step)                                                                                       \
    do {                                                                                                                       \
        static T from[3], into[3], work[3];                                                                                    \
        T a = (start);                                                                                                         \
        for (int i = 0; i < 3; i++) from[i] = (T)(me + 1), into[i] = 0;                                                        \
        shmemx_team_barrier(SHMEM_TEAM_WORLD, sync_);                                                                          \
        shmemx_team_##NAME##_##OP##_to_all(SHMEM_TEAM_WORLD, into, from, 3, work, sync_);                                      \
        for (int p = 0; p < n; p++) {                                                                                          \
            T const b = (T)(p + 1);                                                                                            \
            a = (step);                                                                                                        \
        }                                                                                                                      \
        EXPECT(into[0] == a && into[2] == a);                                                                                  \
        shmemx_team_barrier(SHMEM_TEAM_WORLD, sync_);                                                                          \
    } while (0)

#define REDUCE_BITS(NAME, T)                                                                                                   \
    REDUCE(NAME, T, and, -1, a& b);                                                                                            \
    REDUCE(NAME, T, or, 0, a | b);                                                                                             \
    REDUCE(NAME, T, xor, 0, a ^ b);
#define REDUCE_ORDERED(NAME, T)                                                                                                \
    REDUCE(NAME, T, max, 0, a > b ? a : b);                                                                                    \
    REDUCE(NAME, T, min, 99, a < b ? a : b);
#define REDUCE_NUMBERS(NAME, T)                                                                                                \
    REDUCE(NAME, T, sum, 0, a + b);                                                                                            \
    REDUCE(NAME, T, prod, 1, a* b);
#define INTEGERS(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)
#define REALS(X) X(float, float) X(double, double) X(longdouble, long double)

static void reductions(int me, int n) {
    INTEGERS(REDUCE_BITS)
    INTEGERS(REDUCE_ORDERED)
    REALS(REDUCE_ORDERED)
    INTEGERS(REDUCE_NUMBERS)
    REALS(REDUCE_NUMBERS)
    REDUCE_NUMBERS(complexf, float _Complex)
    REDUCE_NUMBERS(complexd, double _Complex)
}

/* PE p sends q bytes to PE q, each p + 1; so PE q gets q bytes of everybody. */
static void pieces(int me, int n) {
    size_t offsets[64], sizes[64], into[64], got[64], came = 0;
    unsigned char *const from = shmem_malloc(64 * 64), *const to = shmem_malloc(64 * 64);
    for (int p = 0; p < n; p++) offsets[p] = (size_t)p * 64, sizes[p] = (size_t)p, into[p] = (size_t)(n - 1 - p) * 64;
    for (int way = 0; way < 4; way++) {
        memset(from, me + 1, 64 * 64), memset(to, 0, 64 * 64), memset(got, 0, sizeof got);
        shmem_barrier_all();
        if (way == 0) shmemx_team_alltoallv(to, into, got, from, offsets, sizes, SHMEM_TEAM_WORLD, sync_);
        if (way == 1) shmemx_alltoallv(to, into, got, from, offsets, sizes, 0, 0, n, sync_);
        if (way == 2) shmemx_team_alltoallv_packed(to, 64 * 64, &came, from, offsets, sizes, SHMEM_TEAM_WORLD, sync_);
        if (way == 3) shmemx_alltoallv_packed(to, 64 * 64, &came, from, offsets, sizes, 0, 0, n, sync_);
        for (int p = 0; p < n; p++)
            for (size_t i = 0; i < (size_t)me; i++) EXPECT(to[(way < 2 ? into[p] : (size_t)(p * me)) + i] == p + 1);
        for (int p = 0; way < 2 && p < n; p++) EXPECT(got[p] == (size_t)me);
        if (way > 1) EXPECT(came == (size_t)(me * n) && to[came] == 0);
        shmem_barrier_all();
    }
    for (int p = 0; p < n; p++) from[3 * p] = from[3 * p + 1] = from[3 * p + 2] = (unsigned char)(10 * me + p);
    shmem_barrier_all();
    shmemx_team_alltoall(to, from, 3, SHMEM_TEAM_WORLD, sync_);
    for (int p = 0; p < n; p++) EXPECT(to[3 * p + 2] == 10 * p + me);
    shmem_barrier_all();
    shmem_free(from), shmem_free(to);
}

#define NB(NAME, T)                                                                                                            \
    do {                                                                                                                       \
        static T cell;                                                                                                         \
        T was = -1;                                                                                                            \
        void* handle = &was;                                                                                                   \
        shmem_barrier_all();                                                                                                   \
        shmemx_##NAME##_add_nb(&cell, 2, 0, &handle), shmemx_##NAME##_inc_nb(&cell, 0, NULL);                                  \
        EXPECT(handle == NULL);                                                                                                \
        shmemx_##NAME##_fadd_nb(&was, &cell, 3, 0, &handle), shmemx_##NAME##_finc_nb(&was, &cell, 0, &handle);                 \
        shmem_quiet();                                                                                                         \
        EXPECT(was >= 3);                                                                                                      \
        shmem_barrier_all();                                                                                                   \
        if (me == 0) {                                                                                                         \
            EXPECT(cell == 7 * n);                                                                                             \
            shmemx_##NAME##_cswap_nb(&was, &cell, 7 * n, 5, 0, &handle), shmem_quiet();                                        \
            EXPECT(was == 7 * n && cell == 5);                                                                                 \
            shmemx_##NAME##_swap_nb(&was, &cell, 6, 0, &handle), shmem_quiet();                                                \
            EXPECT(was == 5 && cell == 6);                                                                                     \
        }                                                                                                                      \
    } while (0)

#define SWAP_NB(NAME, T)                                                                                                       \
    do {                                                                                                                       \
        static T cell;                                                                                                         \
        T was = -1;                                                                                                            \
        void* handle = &was;                                                                                                   \
        cell = (T)me;                                                                                                          \
        shmem_barrier_all();                                                                                                   \
        shmemx_##NAME##_swap_nb(&was, &cell, (T)(me + 0.5), (me + 1) % n, &handle), shmem_quiet();                             \
        EXPECT(handle == NULL && was == (T)((me + 1) % n));                                                                    \
        shmem_barrier_all();                                                                                                   \
        EXPECT(cell == (T)((me + n - 1) % n + 0.5));                                                                           \
    } while (0)

static void handles(int me, int n) {
    NB(int, int);
    NB(long, long);
    NB(longlong, long long);
    SWAP_NB(float, float);
    SWAP_NB(double, double);
}

/* `bytes` of a PE's own go to the next one with the signal; those after them stay. */
#define SIGNAL(call, more, T, bytes)                                                                                           \
    do {                                                                                                                       \
        static T to[4];                                                                                                        \
        static uint64_t arrived;                                                                                               \
        T from[4];                                                                                                             \
        memset(from, held(me, 0), sizeof from), memset(to, 0, sizeof to);                                                      \
        shmem_barrier_all();                                                                                                   \
        call(to, from, 3, &arrived, 5, (me + 1) % n more), shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 5);                 \
        for (size_t i = 0; i < sizeof to; i++)                                                                                 \
            EXPECT(((unsigned char*)to)[i] == (i < (bytes) ? held((me + n - 1) % n, 0) : 0));                                  \
        shmem_barrier_all();                                                                                                   \
    } while (0)
/* The same by the call that only begins it, too. */
#define AND_HANDLE , &handle
#define BOTH_SIGNALS(call, call_nb, T, bytes)                                                                                  \
    do {                                                                                                                       \
        void* handle = &handle;                                                                                                \
        SIGNAL(call, , T, bytes);                                                                                              \
        SIGNAL(call_nb, AND_HANDLE, T, bytes);                                                                                 \
        EXPECT(handle == NULL);                                                                                                \
    } while (0)
#define TYPED_SIGNAL(NAME, T) BOTH_SIGNALS(shmemx_##NAME##_put_signal, shmemx_##NAME##_put_signal_nb, T, 3 * sizeof(T));
#define SIZED_SIGNAL(bits) BOTH_SIGNALS(shmemx_put##bits##_signal, shmemx_put##bits##_signal_nb, long double, 3 * bits / 8)

static void signals(int me, int n) {
    MPT_RMA_TYPES(TYPED_SIGNAL)
    SIZED_SIGNAL(8);
    SIZED_SIGNAL(16);
    SIZED_SIGNAL(32);
    SIZED_SIGNAL(64);
    SIZED_SIGNAL(128);
    BOTH_SIGNALS(shmemx_putmem_signal, shmemx_putmem_signal_nb, double, 3u);
    BOTH_SIGNALS(shmemx_put_signal, shmemx_put_signal_nb, double, 3 * sizeof(double));
}

/* Bitwise atomics of signed types by C's names: all set bits of the last PE's cell, and that PE changes it by itself. */
#define SIGNED_BITS(NAME, T)                                                                                                   \
    static void signed_bits_##NAME(int me, int n) {                                                                            \
        static T cell;                                                                                                         \
        T const mine = (T)1 << me % 30;                                                                                        \
        shmem_ctx_t const c = SHMEM_CTX_DEFAULT;                                                                               \
        shmem_##NAME##_atomic_or(&cell, mine, n - 1);                                                                          \
        EXPECT((shmem_ctx_##NAME##_atomic_fetch_or(c, &cell, mine, n - 1) & mine) == mine);                                    \
        shmem_ctx_##NAME##_atomic_or(c, &cell, mine, n - 1);                                                                   \
        EXPECT((shmem_##NAME##_atomic_fetch_or(&cell, mine, n - 1) & mine) == mine);                                           \
        shmem_barrier_all();                                                                                                   \
        if (me == n - 1) {                                                                                                     \
            EXPECT((cell & 1) == 1 && (cell & mine) == mine);                                                                  \
            cell = 13;                                                                                                         \
            shmem_##NAME##_atomic_and(&cell, 7, me), shmem_ctx_##NAME##_atomic_and(c, &cell, 4, me);                           \
            shmem_##NAME##_atomic_xor(&cell, 1, me), shmem_ctx_##NAME##_atomic_xor(c, &cell, 3, me);                           \
            shmem_quiet();                                                                                                     \
            EXPECT(cell == 6);                                                                                                 \
            EXPECT(shmem_##NAME##_atomic_fetch_xor(&cell, 2, me) == 6 &&                                                       \
                   shmem_ctx_##NAME##_atomic_fetch_xor(c, &cell, 1, me) == 4);                                                 \
            EXPECT(shmem_##NAME##_atomic_fetch_and(&cell, 4, me) == 5 &&                                                       \
                   shmem_ctx_##NAME##_atomic_fetch_and(c, &cell, 3, me) == 4);                                                 \
            EXPECT(cell == 0);                                                                                                 \
        }                                                                                                                      \
        shmem_barrier_all();                                                                                                   \
    }
SIGNED_BITS(int, int)
SIGNED_BITS(long, long)
SIGNED_BITS(longlong, long long)

int main(void) {
    double const before = shmemx_wtime();
    shmem_init();
    clock_of(before);
    int const me = shmem_my_pe(), n = shmem_n_pes();
    queries(me, n), colors(me, n), grids(me, n), reductions(me, n), pieces(me, n), handles(me, n), signals(me, n),
        signed_bits_int(me, n), signed_bits_long(me, n), signed_bits_longlong(me, n);
    return ended();
}
