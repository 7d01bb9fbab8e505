/* Corners of the specification that the programs of whole families do not come to: strides that go backwards, what lies side by
   side, the extremes of types, teams and contexts made many times over, teams of one PE, teams that overlap, names of C11 inside each
   other, pieces of which some are empty and some large, the heap in random order. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>

#include "check.h"

static int me, n, next, before;

/* --- strides ------------------------------------------------------------------------------------------------------------------ */

enum { row = 24 };

/* Element k of the source's, counted back from the end, to the dest's, two apart, and the other way; of static data and the heap. */
static void backwards(long* there) {
    long from[row], back[row] = {0};
    for (int i = 0; i < row; i++) there[i] = -1, from[i] = 100 * me + i;
    shmem_barrier_all();
    shmem_long_iput(there + row - 2, from, -2, 1, 5, next);
    shmem_long_iput(there, from + row - 1, 1, -3, 4, next);
    shmem_barrier_all();
    for (int i = 0; i < 5; i++) EXPECT(there[row - 2 - 2 * i] == 100 * before + i);
    for (int i = 0; i < 4; i++) EXPECT(there[i] == 100 * before + row - 1 - 3 * i);
    EXPECT(there[row - 1] == -1 && there[4] == -1 && there[row - 12] == -1);
    shmem_barrier_all();
    for (int i = 0; i < row; i++) there[i] = 1000 * me + i;
    shmem_barrier_all();
    shmem_long_iget(back + 9, there + 1, -1, 2, 10, next);
    for (int i = 0; i < 10; i++) EXPECT(back[9 - i] == 1000 * next + 1 + 2 * i);
    shmem_long_ibget(back, there + row - 3, 3, -6, 3, 4, next); /* blocks of three from the end on */
    for (int b = 0; b < 4; b++)
        for (int i = 0; i < 3; i++) EXPECT(back[3 * b + i] == 1000 * next + row - 3 - 6 * b + i);
    shmem_barrier_all();
    shmem_long_ibput(there + row - 2, from, -4, 2, 2, 3, next);
    shmem_long_iput(there, from + 1, 1, 0, 3, next); /* the same element three times */
    shmem_barrier_all();
    for (int i = 0; i < 6; i++) EXPECT(there[row - 2 - 4 * (i / 2) + i % 2] == 100 * before + i);
    for (int i = 0; i < 3; i++) EXPECT(there[i] == 100 * before + 1);
    shmem_barrier_all();
}

/* --- neighbours --------------------------------------------------------------------------------------------------------------- */

enum { many = 96 };
static void count_up(long* at) {
    shmem_barrier_all();
    for (int i = 0; i < many; i++) at[i] = 100 * me + i;
    shmem_barrier_all();
}

/* What a PE moves within its own memory, from a place to the next, and between elements of others: nothing of it overlaps. */
static void within(long* at) {
    count_up(at);
    shmem_long_put(at + 4, at, 4, me), shmem_long_get(at + 8, at, 4, me), shmem_putmem(at + 13, at + 12, 8, me);
    for (int i = 0; i < 4; i++) EXPECT(at[4 + i] == 100 * me + i && at[8 + i] == 100 * me + i);
    EXPECT(at[13] == 100 * me + 12);
    count_up(at);
    shmem_long_iput(at + 1, at, 2, 2, 5, me);            /* 0 2 4 6 8 to 1 3 5 7 9 */
    shmem_iget64(at + 29, at + 20, -2, 2, 5, me);        /* 20 22 24 26 28 to 29 27 25 23 21 */
    shmem_long_ibput(at + 32, at + 30, 4, 4, 2, 3, me);  /* 30 31 34 35 38 39 to 32 33 36 37 40 41 */
    shmem_long_ibget(at + 53, at + 50, -6, 3, 2, 1, me); /* 50 51 to 53 54 */
    shmem_long_iput(at + 60, at + 61, 9, 3, 3, me);      /* 61 64 67 to 60 69 78: among the source's, and beyond it */
    shmem_long_iput(at + 80, at + 80, 1, 1, 0, me);
    for (int i = 0; i < 5; i++) EXPECT(at[2 * i + 1] == 100 * me + 2 * i && at[29 - 2 * i] == 100 * me + 20 + 2 * i);
    for (int i = 0; i < 6; i++) EXPECT(at[32 + 4 * (i / 2) + i % 2] == 100 * me + 30 + 4 * (i / 2) + i % 2);
    EXPECT(at[53] == 100 * me + 50 && at[54] == 100 * me + 51);
    for (int i = 0; i < 3; i++) EXPECT(at[60 + 9 * i] == 100 * me + 61 + 3 * i);
    count_up(at);
    if (n > 1 && me == 0) shmem_long_put(at, at, 4, next), shmem_long_iput(at + 10, at + 10, 1, 2, 4, n - 1);
    shmem_barrier_all();
    EXPECT(n == 1 || ((me != 1 || at[3] == 3) && (me != n - 1 || at[13] == 16)));
}
/* Collectives whose dest begins where the source ends, and the other way; of pieces of which some are empty. */
static void side_by_side(long* at) {
    static long sync[SHMEM_COLLECT_SYNC_SIZE];
    int const all = n * (n - 1) / 2;
    for (int way = 0; way < 4; way++) { /* dest is before source, or behind it; of a team, or of an active set */
        long *const from = way % 2 ? at : at + all, *const into = way % 2 ? at + n : at;
        count_up(at);
        if (way < 2) shmem_long_collect(SHMEM_TEAM_WORLD, into, from, (size_t)me);
        else shmem_collect64(into, from, (size_t)me, 0, 0, n, sync);
        for (int p = 0, k = 0; p < n; p++)
            for (int i = 0; i < p; i++, k++) EXPECT(into[k] == 100 * p + (int)(from - at) + i);
    }
    count_up(at);
    shmem_long_fcollect(SHMEM_TEAM_WORLD, at, at + n, 1);
    for (int p = 0; p < n; p++) EXPECT(at[p] == 100 * p + n);
    count_up(at);
    shmem_fcollect64(at + 2, at, 2, 0, 0, n, sync);
    for (int p = 0; p < 2 * n; p++) EXPECT(at[2 + p] == 100 * (p / 2) + p % 2);
    count_up(at);
    shmem_long_alltoall(SHMEM_TEAM_WORLD, at, at + n, 1);
    for (int p = 0; p < n; p++) EXPECT(at[p] == 100 * p + n + me);
    count_up(at);
    shmem_long_alltoalls(SHMEM_TEAM_WORLD, at + 1, at, 2, 2, 2);
    for (int k = 0; k < 2 * n; k++) EXPECT(at[2 * k + 1] == 100 * (k / 2) + 2 * (2 * me + k % 2));
    count_up(at);
    shmem_alltoalls64(at, at + 1, 3, 3, 1, 0, 0, n, sync);
    for (int p = 0; p < n; p++) EXPECT(at[3 * p] == 100 * p + 3 * me + 1);
    shmem_long_fcollect(SHMEM_TEAM_WORLD, at, at, 0), shmem_long_collect(SHMEM_TEAM_WORLD, at, at, 0);
    shmem_alltoall64(at, at, 0, 0, 0, n, sync);
    count_up(at);
}
/* What may be in place, is. Work arrays are as long as they must be, at the end of their blocks. */
static void in_place(long* at) {
    enum {
        nreduce = 4,
        n_work = nreduce / 2 + 1 > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? nreduce / 2 + 1 : SHMEM_REDUCE_MIN_WRKDATA_SIZE
    };
    long *const work = shmem_malloc(n_work * sizeof(long)), *const sync = shmem_malloc(SHMEM_REDUCE_SYNC_SIZE * sizeof(long));
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync[i] = SHMEM_SYNC_VALUE;
    for (int way = 0; way < 3; way++) {
        count_up(at);
        if (way == 0) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, at, at, nreduce);
        if (way == 1) shmem_long_sum_to_all(at, at, nreduce, 0, 0, n, work, sync);
        if (way == 2) shmem_long_sum_to_all(at, at + nreduce, nreduce, 0, 0, n, work, sync);
        int const place = way == 2 ? nreduce : 0;
        for (int i = 0; i < nreduce; i++) EXPECT(at[i] == 100 * n * (n - 1) / 2 + n * (i + place));
    }
    count_up(at);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, at, at, 3, n - 1), shmem_broadcast64(at + 4, at + 4, 3, n - 1, 0, 0, n, sync);
    for (int i = 0; i < 7; i++) EXPECT(at[i] == 100 * (i == 3 ? me : n - 1) + i);
    count_up(at);
    shmem_long_sum_inscan(SHMEM_TEAM_WORLD, at, at, 1);
    EXPECT(at[0] == 100 * me * (me + 1) / 2);
    shmem_long_sum_to_all(at, at, 0, 0, 0, n, NULL, sync);
    shmem_free(sync), shmem_free(work);
}

static void neighbours(void) {
    static long in_data[many];
    long* const in_heap = shmem_malloc(many * sizeof(long));
    within(in_data), within(in_heap), side_by_side(in_data), side_by_side(in_heap), in_place(in_data), in_place(in_heap);
    shmem_free(in_heap);
}

/* --- extremes ----------------------------------------------------------------------------------------------------------------- */

#define EXTREMES(NAME, T, least, most)                                                                                         \
    do {                                                                                                                       \
        static T mine[2], all[2];                                                                                              \
        mine[0] = me == 0 ? (T)(least) : (T)(most), mine[1] = me == n - 1 ? (T)(most) : (T)(least);                            \
        shmem_barrier_all();                                                                                                   \
        EXPECT(shmem_##NAME##_min_reduce(SHMEM_TEAM_WORLD, all, mine, 2) == 0);                                                \
        EXPECT(all[0] == (T)(least) && all[1] == (n == 1 ? (T)(most) : (T)(least)));                                           \
        shmem_barrier_all();                                                                                                   \
        EXPECT(shmem_##NAME##_max_reduce(SHMEM_TEAM_WORLD, all, mine, 2) == 0);                                                \
        EXPECT(all[0] == (n == 1 ? (T)(least) : (T)(most)) && all[1] == (T)(most));                                            \
        shmem_barrier_all();                                                                                                   \
    } while (0)
/* A number beyond half the range is more than 1 where there is no sign, and less where there is one. */
#define COMPARED(NAME, T, most, has_sign)                                                                                      \
    do {                                                                                                                       \
        static T word, words[2];                                                                                               \
        static T const ones[2] = {1, 1};                                                                                       \
        word = words[0] = words[1] = 0;                                                                                        \
        shmem_barrier_all();                                                                                                   \
        shmem_##NAME##_p(&word, (T)(most), next), shmem_##NAME##_p(&words[1], (T)(most), next);                                \
        shmem_##NAME##_wait_until(&word, has_sign ? SHMEM_CMP_LT : SHMEM_CMP_GT, (has_sign) ? 0 : 1);                          \
        EXPECT(word == (T)(most) && shmem_##NAME##_test(&word, SHMEM_CMP_GE, 1) == !(has_sign));                               \
        EXPECT(shmem_##NAME##_wait_until_any(words, 2, NULL, SHMEM_CMP_NE, 0) == 1);                                           \
        EXPECT(shmem_##NAME##_test_any_vector(words, 2, NULL, SHMEM_CMP_GT, ones) == ((has_sign) ? SIZE_MAX : 1));             \
        shmem_barrier_all();                                                                                                   \
        EXPECT(shmem_##NAME##_atomic_fetch_inc(&word, next) == (T)(most)); /* and round to the least */                        \
        shmem_barrier_all();                                                                                                   \
        EXPECT(word == (T)((most) + 1u));                                                                                      \
        EXPECT(shmem_##NAME##_atomic_compare_swap(&word, (T)(most), 5, me) == (T)((most) + 1u) && word != 5);                  \
        EXPECT(shmem_##NAME##_atomic_compare_swap(&word, word, (T)(most), me) == (T)((most) + 1u) && word == (T)(most));       \
        shmem_barrier_all();                                                                                                   \
    } while (0)

static void extremes(void) {
    EXTREMES(char, char, CHAR_MIN, CHAR_MAX);
    EXTREMES(schar, signed char, SCHAR_MIN, SCHAR_MAX);
    EXTREMES(short, short, SHRT_MIN, SHRT_MAX);
    EXTREMES(int, int, INT_MIN, INT_MAX);
    EXTREMES(long, long, LONG_MIN, LONG_MAX);
    EXTREMES(longlong, long long, LLONG_MIN, LLONG_MAX);
    EXTREMES(ptrdiff, ptrdiff_t, PTRDIFF_MIN, PTRDIFF_MAX);
    EXTREMES(uchar, unsigned char, 0, UCHAR_MAX);
    EXTREMES(ushort, unsigned short, 0, USHRT_MAX);
    EXTREMES(uint, unsigned, 0, UINT_MAX);
    EXTREMES(ulong, unsigned long, 0, ULONG_MAX);
    EXTREMES(ulonglong, unsigned long long, 0, ULLONG_MAX);
    EXTREMES(int8, int8_t, INT8_MIN, INT8_MAX);
    EXTREMES(int16, int16_t, INT16_MIN, INT16_MAX);
    EXTREMES(int32, int32_t, INT32_MIN, INT32_MAX);
    EXTREMES(int64, int64_t, INT64_MIN, INT64_MAX);
    EXTREMES(uint8, uint8_t, 0, UINT8_MAX);
    EXTREMES(uint16, uint16_t, 0, UINT16_MAX);
    EXTREMES(uint32, uint32_t, 0, UINT32_MAX);
    EXTREMES(uint64, uint64_t, 0, UINT64_MAX);
    EXTREMES(size, size_t, 0, SIZE_MAX);
    EXTREMES(float, float, -INFINITY, FLT_MAX);
    EXTREMES(double, double, -DBL_MAX, INFINITY);
    EXTREMES(longdouble, long double, -LDBL_MAX, LDBL_MAX);
    COMPARED(uint, unsigned, UINT_MAX, 0);
    COMPARED(ulong, unsigned long, ULONG_MAX, 0);
    COMPARED(ulonglong, unsigned long long, ULLONG_MAX, 0);
    COMPARED(uint32, uint32_t, UINT32_MAX, 0);
    COMPARED(uint64, uint64_t, UINT64_MAX, 0);
    COMPARED(size, size_t, SIZE_MAX, 0);
    COMPARED(int, int, UINT_MAX, 1); /* -1 */
    COMPARED(long, long, ULONG_MAX, 1);
    COMPARED(longlong, long long, ULLONG_MAX, 1);
    COMPARED(int32, int32_t, UINT32_MAX, 1);
    COMPARED(int64, int64_t, UINT64_MAX, 1);
    COMPARED(ptrdiff, ptrdiff_t, SIZE_MAX, 1);
    static uint64_t high; /* the highest bit of a signal is one as any other */
    shmem_barrier_all();
    shmem_uint64_put_signal(&high, NULL, 0, &high, UINT64_C(1) << 63, SHMEM_SIGNAL_ADD, next);
    EXPECT(shmem_signal_wait_until(&high, SHMEM_CMP_GT, 1) == UINT64_C(1) << 63);
    static double swapped = 0;
    double const nothing = -0.0;
    shmem_barrier_all();
    EXPECT(shmem_double_atomic_swap(&swapped, nothing, next) == 0);
    shmem_barrier_all();
    EXPECT(signbit(swapped) && signbit(shmem_double_atomic_fetch(&swapped, next)));
    shmem_barrier_all();
}

/* --- names of C11 inside each other ------------------------------------------------------------------------------------------- */

static void nested(void) {
#if __STDC_VERSION__ >= 201112L
    static int where[3];
    static double value, half;
    static long long count, zero;
    where[0] = next, where[1] = 0, where[2] = me, value = half = me + 0.5, count = zero = 0;
    shmem_barrier_all();
    EXPECT(shmem_g(&where[2], shmem_g(&where[0], shmem_g(&where[2], me))) == next);
    EXPECT(_Generic(shmem_g(&value, 0), double: 1, default: 0) &&
           _Generic(shmem_atomic_fetch(&count, 0), long long: 1, default: 0));
    shmem_barrier_all();
    shmem_p(&value, shmem_g(SHMEM_CTX_DEFAULT, &half, me) + shmem_g(&where[1], me), next);
    shmem_barrier_all();
    EXPECT(value == before + 0.5);
    shmem_atomic_add(&count, shmem_atomic_fetch_add(SHMEM_CTX_DEFAULT, &zero, 0, me) + 2, next);
    double const nearly_four = 3.99;
    shmem_p(&where[1], nearly_four, next); /* becomes an int, as by assignment */
    shmem_barrier_all();
    EXPECT(count == 2 && where[1] == 3);
    shmem_atomic_set(&count, 1, me), shmem_atomic_inc(&count, shmem_g(&where[2], me));
    EXPECT(shmem_atomic_compare_swap(&count, shmem_atomic_fetch(&count, me), shmem_atomic_fetch(&count, me) + 1, me) == 2);
    EXPECT(count == 3);
    shmem_barrier_all();
#endif
}

/* --- teams and contexts ------------------------------------------------------------------------------------------------------- */

/* Each collective over a team of one. */
static void alone(void) {
    shmem_team_t own = SHMEM_TEAM_INVALID;
    for (int p = 0; p < n; p++) {
        shmem_team_t t;
        EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, p, 1, 1, NULL, 0, &t) == 0 && (t != SHMEM_TEAM_INVALID) == (p == me));
        if (t != SHMEM_TEAM_INVALID) own = t;
    }
    static long from[4], into[4];
    EXPECT(shmem_team_my_pe(own) == 0 && shmem_team_n_pes(own) == 1 && shmem_team_translate_pe(own, 0, SHMEM_TEAM_WORLD) == me);
    EXPECT(shmem_team_translate_pe(SHMEM_TEAM_WORLD, next, own) == (n == 1 ? 0 : -1));
    for (int i = 0; i < 4; i++) from[i] = 10 * me + i, into[i] = -1;
    EXPECT(shmem_long_alltoall(own, into, from, 4) == 0 && into[3] == 10 * me + 3);
    EXPECT(shmem_long_alltoalls(own, into, from, 3, 1, 2) == 0 && into[3] == 10 * me + 1);
    EXPECT(shmem_long_broadcast(own, into, from, 2, 0) == 0 && into[1] == 10 * me + 1);
    EXPECT(shmem_long_collect(own, into, from + 1, 3) == 0 && into[2] == 10 * me + 3);
    EXPECT(shmem_long_fcollect(own, into, from, 4) == 0 && into[0] == 10 * me);
    EXPECT(shmem_long_prod_reduce(own, into, from + 1, 1) == 0 && into[0] == 10 * me + 1);
    EXPECT(shmem_long_sum_inscan(own, into, from + 1, 1) == 0 && into[0] == 10 * me + 1);
    EXPECT(shmem_long_sum_exscan(own, into, from, 1) == 0 && into[0] == 0);
    EXPECT(shmem_team_sync(own) == 0 && shmem_team_ptr(own, from, 0) == from && !shmem_team_ptr(own, from, 1));
    shmem_ctx_t ctx;
    EXPECT(shmem_team_create_ctx(own, SHMEM_CTX_PRIVATE, &ctx) == 0);
    shmem_ctx_long_p(ctx, into, 77, 0), shmem_ctx_quiet(ctx);
    EXPECT(into[0] == 77 && shmem_ctx_long_atomic_fetch_add(ctx, into, 1, 0) == 77 && into[0] == 78);
    shmem_ctx_destroy(ctx), shmem_team_destroy(own);
    shmem_barrier_all();
}

/* Made and ended again and again; of one team half a hundred at once. */
static void again(void) {
    enum { times = 300, at_once = 50 };
    for (int i = 0; i < times; i++) {
        shmem_team_t t;
        shmem_team_config_t config = {i % 3};
        int const size = 1 + i % n;
        EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, size, &config, i % 2 ? SHMEM_TEAM_NUM_CONTEXTS : 0, &t) == 0);
        EXPECT((t != SHMEM_TEAM_INVALID) == (me < size));
        if (t == SHMEM_TEAM_INVALID) continue;
        static int mine, sum;
        mine = i + me;
        EXPECT(shmem_int_sum_reduce(t, &sum, &mine, 1) == 0 && sum == size * i + size * (size - 1) / 2);
        shmem_team_destroy(t);
    }
    shmem_team_t many[at_once];
    for (int i = 0; i < at_once; i++)
        EXPECT(shmem_team_split_strided(i ? many[i - 1] : SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &many[i]) == 0);
    for (int i = 0; i < at_once; i++) {
        EXPECT(shmem_team_my_pe(many[i]) == (i % 2 ? me : n - 1 - me));
        EXPECT(shmem_team_translate_pe(many[i], 0, many[at_once - 1]) == (i % 2 ? 0 : n - 1));
    }
    for (int i = 0; i < at_once; i++) EXPECT(shmem_team_sync(many[i]) == 0);
    for (int i = 0; i < at_once; i++) shmem_team_destroy(many[i]);
    for (int i = 0; i < 20000; i++) {
        shmem_ctx_t ctx;
        long const options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED, SHMEM_CTX_NOSTORE};
        if (shmem_ctx_create(options[i % 4], &ctx) != 0) EXPECT(!"a context could not be had");
        shmem_ctx_destroy(ctx);
    }
    shmem_barrier_all();
}

/* Low ones and high ones, with one PE in both: it alone decides in which order it takes part, and nobody else waits for the other team. */
static void overlapping(void) {
    if (n < 3) return;
    int const middle = n / 2;
    shmem_team_t low, high;
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, middle + 1, NULL, 0, &low) == 0);
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, middle, 1, n - middle, NULL, 0, &high) == 0);
    static long mine[2], sums[2];
    for (int turn = 0; turn < 40; turn++) {
        mine[0] = me + turn, mine[1] = 2 * me + turn;
        for (int which = 0; which < 2; which++) {
            int const is_low = (turn + which) % 2;
            shmem_team_t const t = is_low ? low : high;
            if (t == SHMEM_TEAM_INVALID) continue;
            int const first = is_low ? 0 : middle, size = is_low ? middle + 1 : n - middle;
            EXPECT(shmem_long_sum_reduce(t, &sums[is_low], &mine[is_low], 1) == 0);
            EXPECT(sums[is_low] == (is_low ? 2L : 1L) * (size * (2L * first + size - 1) / 2) + (long)size * turn);
        }
    }
    shmem_barrier_all();
    if (low != SHMEM_TEAM_INVALID) shmem_team_destroy(low);
    if (high != SHMEM_TEAM_INVALID) shmem_team_destroy(high);
}

/* In a team's context a PE counts by its number there, in static data and in the heap, for data, atomics and signals. */
static void by_number(long* heap) {
    static long data[2];
    static uint64_t flag;
    uint64_t* const far_flag = (uint64_t*)(heap + 4);
    shmem_team_t odd;
    shmem_ctx_t ctx;
    data[0] = data[1] = heap[0] = heap[1] = 0, flag = 0, *far_flag = 0;
    shmem_barrier_all();
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -2, (n + 1) / 2, NULL, 0, &odd) == 0); /* from the last on */
    if (odd != SHMEM_TEAM_INVALID) {
        int const here = shmem_team_my_pe(odd), size = shmem_team_n_pes(odd), to = (here + 1) % size;
        int const from = n - 1 - 2 * ((here + size - 1) % size); /* who sends to us, by its number of all */
        long const what[2] = {me + 1, me + 2};
        EXPECT(shmem_team_create_ctx(odd, SHMEM_CTX_SERIALIZED, &ctx) == 0);
        shmem_ctx_long_put_signal(ctx, data, what, 2, &flag, 7, SHMEM_SIGNAL_SET, to);
        shmem_ctx_long_put_signal_nbi(ctx, heap, what, 2, far_flag, 8, SHMEM_SIGNAL_ADD, to);
        EXPECT(shmem_signal_wait_until(&flag, SHMEM_CMP_NE, 0) == 7 && data[0] == from + 1 && data[1] == from + 2);
        EXPECT(shmem_signal_wait_until(far_flag, SHMEM_CMP_NE, 0) == 8 && heap[0] == from + 1 && heap[1] == from + 2);
        EXPECT(shmem_team_sync(odd) == 0);
        shmem_ctx_long_atomic_add(ctx, data, 100, to), shmem_ctx_long_atomic_add(ctx, heap, 100, to);
        shmem_ctx_pe_quiet(ctx, &to, 1);
        EXPECT(shmem_team_sync(odd) == 0);
        EXPECT(data[0] == from + 101 && heap[0] == from + 101);
        long got[2] = {0};
        shmem_ctx_long_iget(ctx, got, data, 1, 1, 2, to);
        EXPECT(got[1] == me + 2);
        shmem_ctx_long_get_nbi(ctx, got, heap, 2, to), shmem_ctx_quiet(ctx);
        EXPECT(got[1] == me + 2);
        long* const there = shmem_team_ptr(odd, heap, to);
        EXPECT(there && there[1] == me + 2);
        shmem_ctx_signal_add(ctx, &flag, 1, to), shmem_ctx_signal_set(ctx, far_flag, 3, to);
        EXPECT(shmem_signal_wait_until(&flag, SHMEM_CMP_EQ, 8) == 8 && shmem_signal_wait_until(far_flag, SHMEM_CMP_EQ, 3) == 3);
        EXPECT(shmem_team_sync(odd) == 0);
        shmem_ctx_destroy(ctx), shmem_team_destroy(odd);
    }
    shmem_barrier_all();
}

/* --- pieces ------------------------------------------------------------------------------------------------------------------- */

/* Some bring nothing, some much; of large pieces to all, too, and from memory that no other PE has. */
static void pieces(void) {
    enum { large = 30000 };
    size_t const most = (size_t)n * large;
    int *const into = shmem_malloc(most * sizeof(int)), *const from = shmem_malloc(most * sizeof(int));
    for (int turn = 0; turn < 4; turn++) {
        size_t at = 0;
        for (size_t i = 0; i < most; i++) from[i] = me * 1000003 + (int)i, into[i] = -1;
        shmem_barrier_all();
#define PIECE(p) (size_t)(((p) + turn) % 4 == 0 ? 0 : ((p) + turn) % 4 == 1 ? large : ((p) + turn) % 4 == 2 ? 1 : 777)
        EXPECT(shmem_int_collect(SHMEM_TEAM_WORLD, into, from, PIECE(me)) == 0);
        for (int p = 0; p < n; at += PIECE(p), p++) {
            size_t good = 0;
            while (good < PIECE(p) && into[at + good] == p * 1000003 + (int)good) good++;
            EXPECT(good == PIECE(p));
        }
        EXPECT(at == most || into[at] == -1);
        shmem_barrier_all();
    }
    for (size_t size = 1; size <= large; size = size * 7 + 5) {
        shmem_barrier_all();
        EXPECT(shmem_int_alltoall(SHMEM_TEAM_WORLD, into, from, size) == 0);
        for (int p = 0; p < n; p++) {
            size_t good = 0;
            while (good < size && into[(size_t)p * size + good] == p * 1000003 + me * (int)size + (int)good) good++;
            EXPECT(good == size);
        }
        shmem_barrier_all();
        EXPECT(shmem_int_fcollect(SHMEM_TEAM_WORLD, into, from, size) == 0);
        for (int p = 0; p < n; p++)
            EXPECT(into[(size_t)p * size] == p * 1000003 && into[(size_t)(p + 1) * size - 1] == p * 1000003 + (int)size - 1);
        for (int root = 0; root < n; root++) {
            shmem_barrier_all();
            EXPECT(shmem_int_broadcast(SHMEM_TEAM_WORLD, into, from, size, root) == 0);
            EXPECT(into[0] == root * 1000003 && into[size - 1] == root * 1000003 + (int)size - 1);
        }
        shmem_barrier_all();
        for (size_t i = 0; i < size; i++) into[i] = me + (int)i; /* in place */
        shmem_barrier_all();
        EXPECT(shmem_int_max_reduce(SHMEM_TEAM_WORLD, into, into, size) == 0 && into[size - 1] == n - 1 + (int)size - 1);
        shmem_barrier_all();
        EXPECT(shmem_int_sum_inscan(SHMEM_TEAM_WORLD, into, into, size) == 0 && into[0] == (me + 1) * (n - 1));
    }
    shmem_barrier_all();
    shmem_free(into), shmem_free(from);
}

/* --- memory ------------------------------------------------------------------------------------------------------------------- */

static size_t roll(size_t below) { /* the same at all */
    static uint64_t dice = 11;
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(dice >> 33) % below;
}

/* All do the same in a random order; what is in a block stays as long as it is there, and nobody else's block is in it. */
static void heap(void) {
    enum { most = 40 };
    unsigned char* at[most] = {0};
    size_t bytes[most] = {0};
    for (int turn = 0; turn < 1500; turn++) {
        size_t const i = roll(most), want = 1 + roll(roll(4) == 0 ? 100000 : 200), power = (size_t)8 << roll(10);
        if (at[i]) {
            EXPECT(at[i][0] == (unsigned char)i && at[i][bytes[i] - 1] == (unsigned char)(i + (size_t)me));
            if (roll(2)) {
                at[i] = shmem_realloc(at[i], want);
                EXPECT(at[i] && at[i][0] == (unsigned char)i);
            } else shmem_free(at[i]), at[i] = NULL;
        } else {
            size_t const how = roll(4);
            at[i] = how == 0   ? shmem_align(power, want)
                    : how == 1 ? shmem_calloc(want, 1)
                    : how == 2 ? shmem_malloc(want)
                               : shmem_malloc_with_hints(want, SHMEM_MALLOC_SIGNAL_REMOTE);
            EXPECT(at[i] && (how != 0 || (uintptr_t)at[i] % power == 0) && (uintptr_t)at[i] % (want >= 16 ? 16 : 8) == 0);
            if (how == 1) EXPECT(at[i][0] == 0 && at[i][want - 1] == 0);
        }
        if (at[i]) bytes[i] = want, at[i][want - 1] = (unsigned char)(i + (size_t)me), at[i][0] = (unsigned char)i;
        if (at[i] && want == 1) shmem_free(at[i]), at[i] = NULL; /* no room for both */
        if (turn % 100 == 0 && at[i]) {                          /* the same place at all */
            shmem_barrier_all();
            EXPECT(shmem_uchar_g(&at[i][bytes[i] - 1], next) == (unsigned char)(i + (size_t)next));
            shmem_barrier_all();
        }
    }
    for (int i = 0; i < most; i++) shmem_free(at[i]);
}

/* --- locks -------------------------------------------------------------------------------------------------------------------- */

/* Several at once, always from the first on; in the heap. */
static void locks(void) {
    enum { several = 3, turns = 20 };
    long *const lock = shmem_calloc(several, sizeof(long)), *const count = shmem_calloc(several, sizeof(long));
    for (int turn = 0; turn < turns; turn++) {
        int const first = (me + turn) % several;
        for (int i = first; i < several; i++) shmem_set_lock(&lock[i]);
        for (int i = first; i < several; i++) shmem_long_p(&count[i], shmem_long_g(&count[i], 0) + 1, 0);
        for (int i = first; i < several; i++) shmem_clear_lock(&lock[i]);
    }
    shmem_barrier_all();
    long expected[several] = {0};
    for (int p = 0; p < n; p++)
        for (int turn = 0; turn < turns; turn++)
            for (int i = (p + turn) % several; i < several; i++) expected[i]++;
    for (int i = 0; me == 0 && i < several; i++) EXPECT(count[i] == expected[i]);
    for (int i = 0; i < several; i++) EXPECT(lock[i] == 0 || me != 0);
    shmem_barrier_all();
    shmem_free(lock), shmem_free(count);
}

int main(void) {
    shmem_init();
    me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    static long in_data[row];
    long* const in_heap = shmem_malloc(row * sizeof(long));
    backwards(in_data), backwards(in_heap);
    neighbours();
    extremes(), nested();
    alone(), again(), overlapping(), by_number(in_heap);
    pieces(), heap(), locks();
    shmem_free(in_heap);
    return ended();
}
