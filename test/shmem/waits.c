/* Waiting for memory and testing it, for every type: a PE's elements are set by the one before it, one by one. Locks, and order. */
#include <pthread.h>
#include <time.h>

#include "check.h"

enum { n_most = 6 };
static long double cells_[n_most];
static long lock;
static int counter, order[2];

static int const skipped[n_most] = {0, 1, 0, 0, 1, 0}; /* the last but one and the second do not count */

#define BEGIN_ROUND(T)                                                                                                         \
    shmem_barrier_all();                                                                                                       \
    for (int i = 0; i < n_most; i++) cells[i] = 0;                                                                             \
    shmem_barrier_all()
#define SEND(NAME, T, i, value) shmem_##NAME##_p(&cells[i], (T)(value), next)

#define SIMPLE(NAME, T)                                                                                                        \
    static void simple_##NAME(void) {                                                                                          \
        int const n = shmem_n_pes(), next = (shmem_my_pe() + 1) % n;                                                           \
        T* const cells = (T*)(void*)cells_;                                                                                    \
        static int const compare[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};     \
        static int const with[] = {5, 0, 4, 5, 6, 5}, before[] = {0, 0, 0, 0, 9, 9};                                           \
        for (int c = 0; c < 6; c++) {                                                                                          \
            shmem_barrier_all();                                                                                               \
            cells[0] = (T)before[c];                                                                                           \
            shmem_barrier_all();                                                                                               \
            EXPECT(shmem_##NAME##_test(&cells[0], compare[c], (T)with[c]) == 0);                                               \
            shmem_barrier_all();                                                                                               \
            SEND(NAME, T, 0, 5);                                                                                               \
            if (c % 2) shmem_##NAME##_wait_until(&cells[0], compare[c], (T)with[c]);                                           \
            else                                                                                                               \
                while (!shmem_##NAME##_test(&cells[0], compare[c], (T)with[c])) {}                                             \
            EXPECT(cells[0] == 5);                                                                                             \
        }                                                                                                                      \
    }

#define MANY(NAME, T)                                                                                                          \
    static void many_##NAME(void) {                                                                                            \
        int const n = shmem_n_pes(), next = (shmem_my_pe() + 1) % n;                                                           \
        T* const cells = (T*)(void*)cells_;                                                                                    \
        T const wanted[n_most] = {3, 9, 4, 5, 9, 6};                                                                           \
        int done[n_most];                                                                                                      \
        size_t which[n_most], seen;                                                                                            \
        for (int vector = 0; vector < 2; vector++) {                                                                           \
            BEGIN_ROUND(T);                                                                                                    \
            EXPECT(vector ? !shmem_##NAME##_test_all_vector(cells, n_most, skipped, SHMEM_CMP_EQ, wanted)                      \
                          : !shmem_##NAME##_test_all(cells, n_most, skipped, SHMEM_CMP_NE, 0));                                \
            EXPECT((vector ? shmem_##NAME##_test_any_vector(cells, n_most, NULL, SHMEM_CMP_EQ, wanted)                         \
                           : shmem_##NAME##_test_any(cells, n_most, NULL, SHMEM_CMP_NE, 0)) == SIZE_MAX);                      \
            EXPECT((vector ? shmem_##NAME##_test_some_vector(cells, n_most, which, skipped, SHMEM_CMP_EQ, wanted)              \
                           : shmem_##NAME##_test_some(cells, n_most, which, skipped, SHMEM_CMP_NE, 0)) == 0);                  \
            shmem_barrier_all();                                                                                               \
            SEND(NAME, T, 2, 4);                                                                                               \
            EXPECT((vector ? shmem_##NAME##_wait_until_any_vector(cells, n_most, skipped, SHMEM_CMP_EQ, wanted)                \
                           : shmem_##NAME##_wait_until_any(cells, n_most, skipped, SHMEM_CMP_NE, 0)) == 2);                    \
            EXPECT((vector ? shmem_##NAME##_test_any_vector(cells, n_most, skipped, SHMEM_CMP_EQ, wanted)                      \
                           : shmem_##NAME##_test_any(cells, n_most, skipped, SHMEM_CMP_NE, 0)) == 2);                          \
            EXPECT((vector ? shmem_##NAME##_test_some_vector(cells, n_most, which, NULL, SHMEM_CMP_EQ, wanted)                 \
                           : shmem_##NAME##_test_some(cells, n_most, which, NULL, SHMEM_CMP_NE, 0)) == 1);                     \
            EXPECT(which[0] == 2);                                                                                             \
            for (int i = 0; i < n_most; i++) done[i] = skipped[i] || i == 2;                                                   \
            shmem_barrier_all();                                                                                               \
            SEND(NAME, T, 0, 3), SEND(NAME, T, 3, 5), SEND(NAME, T, 5, 6);                                                     \
            for (size_t left = 3; left > 0; left -= seen) {                                                                    \
                seen = vector ? shmem_##NAME##_wait_until_some_vector(cells, n_most, which, done, SHMEM_CMP_EQ, wanted)        \
                              : shmem_##NAME##_wait_until_some(cells, n_most, which, done, SHMEM_CMP_NE, 0);                   \
                EXPECT(seen > 0 && seen <= left);                                                                              \
                if (seen == 0 || seen > left) break;                                                                           \
                for (size_t i = 0; i < seen; done[which[i++]] = 1) EXPECT(!done[which[i]]);                                    \
            }                                                                                                                  \
            if (vector) shmem_##NAME##_wait_until_all_vector(cells, n_most, skipped, SHMEM_CMP_EQ, wanted);                    \
            else shmem_##NAME##_wait_until_all(cells, n_most, skipped, SHMEM_CMP_NE, 0);                                       \
            EXPECT(vector ? shmem_##NAME##_test_all_vector(cells, n_most, skipped, SHMEM_CMP_EQ, wanted)                       \
                          : shmem_##NAME##_test_all(cells, n_most, skipped, SHMEM_CMP_NE, 0));                                 \
            EXPECT(cells[0] == 3 && cells[1] == 0 && cells[2] == 4 && cells[3] == 5 && cells[4] == 0 && cells[5] == 6);        \
        }                                                                                                                      \
        int const none[n_most] = {1, 1, 1, 1, 1, 1};                                                                           \
        EXPECT(shmem_##NAME##_wait_until_any(cells, n_most, none, SHMEM_CMP_EQ, 77) == SIZE_MAX);                              \
        EXPECT(shmem_##NAME##_wait_until_some(cells, 0, which, NULL, SHMEM_CMP_EQ, 77) == 0);                                  \
        EXPECT(shmem_##NAME##_test_all(cells, n_most, none, SHMEM_CMP_EQ, 77) == 1);                                           \
        shmem_##NAME##_wait_until_all(cells, n_most, none, SHMEM_CMP_EQ, 77);                                                  \
    }
/* A series of calls for any comes to each that fits, of every sort of call. */
#define EACH(NAME, T)                                                                                                          \
    static void each_##NAME(void) {                                                                                            \
        static T cells[n_most] = {3, 7, 4, 5, 7, 6};                                                                           \
        T const wanted[n_most] = {3, 9, 4, 5, 9, 6};                                                                           \
        int came[4][n_most] = {{0}};                                                                                           \
        for (int call = 0; call < 100 * n_most; call++) {                                                                      \
            size_t i = n_most;                                                                                                 \
            if (call % 4 == 0) i = shmem_##NAME##_wait_until_any(cells, n_most, skipped, SHMEM_CMP_NE, 0);                     \
            if (call % 4 == 1) i = shmem_##NAME##_test_any(cells, n_most, skipped, SHMEM_CMP_NE, 0);                           \
            if (call % 4 == 2) i = shmem_##NAME##_wait_until_any_vector(cells, n_most, skipped, SHMEM_CMP_EQ, wanted);         \
            if (call % 4 == 3) i = shmem_##NAME##_test_any_vector(cells, n_most, skipped, SHMEM_CMP_EQ, wanted);               \
            EXPECT(i < n_most);                                                                                                \
            if (i < n_most) came[call % 4][i] = 1;                                                                             \
        }                                                                                                                      \
        for (int i = 0; i < 4 * n_most; i++) EXPECT(came[i / n_most][i % n_most] == !skipped[i % n_most]);                     \
    }
MPT_AMO_TYPES(SIMPLE)
MPT_AMO_TYPES(MANY)
MPT_AMO_TYPES(EACH)
#define MPT_SHORT_TYPES(X) X(short, short) X(ushort, unsigned short) /* of old, and as elsewhere */
MPT_SHORT_TYPES(SIMPLE)
MPT_SHORT_TYPES(MANY)
MPT_SHORT_TYPES(EACH)

#define OLD(NAME, T)                                                                                                           \
    static void old_##NAME(void) {                                                                                             \
        int const next = (shmem_my_pe() + 1) % shmem_n_pes();                                                                  \
        T* const cells = (T*)(void*)cells_;                                                                                    \
        BEGIN_ROUND(T);                                                                                                        \
        SEND(NAME, T, 1, 3);                                                                                                   \
        shmem_##NAME##_wait(&cells[1], 0);                                                                                     \
        EXPECT(cells[1] == 3);                                                                                                 \
    }
OLD(short, short)
OLD(int, int)
OLD(long, long)
OLD(longlong, long long)

static void of_longs(void) {
    int const next = (shmem_my_pe() + 1) % shmem_n_pes();
    static long flags[2];
    shmem_barrier_all();
    shmem_long_p(&flags[0], 4, next), shmem_long_p(&flags[1], 5, next);
    (shmem_wait)(&flags[0], 0);
    (shmem_wait_until)(&flags[1], SHMEM_CMP_GE, 5);
    EXPECT(flags[0] == 4 && flags[1] == 5);
}

/* Who has the lock counts, by plain gets and puts: two at once would lose some. */
static void locks(void) {
    enum { turns = 30 };
    for (int i = 0; i < turns; i++) {
        if (i % 2) shmem_set_lock(&lock);
        else
            while (shmem_test_lock(&lock)) {}
        shmem_int_p(&counter, shmem_int_g(&counter, 0) + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    if (shmem_my_pe() == 0) EXPECT(counter == turns * shmem_n_pes());
    if (shmem_my_pe() == 0) shmem_set_lock(&lock);
    shmem_barrier_all();
    EXPECT(shmem_my_pe() == 0 || shmem_test_lock(&lock) != 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0) shmem_clear_lock(&lock);
    shmem_barrier_all();
}

/* What comes after a fence is not seen before what came before it. */
static void ordered(void) {
    int const next = (shmem_my_pe() + 1) % shmem_n_pes();
    shmem_ctx_t ctx;
    EXPECT(shmem_ctx_create(0, &ctx) == 0);
    for (int i = 1; i < 200; i++) {
        shmem_ctx_int_p(ctx, &order[0], i, next);
        if (i % 4 == 0) shmem_ctx_fence(ctx);
        if (i % 4 == 1) shmem_ctx_quiet(ctx);
        if (i % 4 == 2) shmem_ctx_pe_quiet(ctx, &next, 1);
        if (i % 4 == 3) shmem_ctx_int_p(ctx, &order[0], i, next), shmem_ctx_fence(ctx);
        shmem_ctx_int_p(ctx, &order[1], i, next);
        shmem_int_wait_until(&order[1], SHMEM_CMP_GE, i);
        EXPECT(order[0] >= i);
    }
    shmem_barrier_all();
    shmem_int_p(&order[0], 1000, next);
    shmem_pe_quiet(&next, 1);
    EXPECT(shmem_int_g(&order[0], next) == 1000);
    shmem_fence();
    shmem_ctx_destroy(ctx);
}

/* Each call that may change a word of another PE's wakes who waits for it, wherever the word is, and whichever of many it is. */
enum { n_words = 40, changes = 37 };
static uint64_t words[n_words];

/* The last of the PE's words was 2, and will not be. */
static void change(int how, uint64_t* all, int pe) {
    uint64_t ones[n_words], was = 2;
    uint64_t* const at = all + n_words - 1;
    for (int i = 0; i < n_words; i++) ones[i] = 1;
    switch (how) {
    case 0: shmem_uint64_p(at, 1, pe); break;
    case 1: shmem_uint64_put(at, ones, 1, pe); break;
    case 2: shmem_uint64_put(all, ones, n_words, pe); break;
    case 3: shmem_putmem(at, ones, sizeof *ones, pe); break;
    case 4: shmem_putmem(all, ones, sizeof ones, pe); break;
    case 5: shmem_put8((char*)at + 1, ones, 1, pe); break;
    case 6: shmem_put128(at - 1, ones, 1, pe); break;
    case 7: shmem_uint64_iput(at - 4, ones, 2, 1, 3, pe); break;
    case 8: shmem_uint64_ibput(at - 4, ones, 3, 2, 2, 2, pe); break;
    case 9: shmem_uint64_put_nbi(at, ones, 1, pe), shmem_quiet(); break;
    case 10: shmem_uint64_put_nbi(all, ones, n_words, pe), shmem_quiet(); break;
    case 11: shmem_putmem_nbi(all, ones, sizeof ones, pe), shmem_quiet(); break;
    case 12: shmem_uint64_atomic_set(at, 1, pe); break;
    case 13: shmem_uint64_atomic_add(at, 1, pe); break;
    case 14: shmem_uint64_atomic_inc(at, pe); break;
    case 15: shmem_uint64_atomic_and(at, 1, pe); break;
    case 16: shmem_uint64_atomic_or(at, 1, pe); break;
    case 17: shmem_uint64_atomic_xor(at, 1, pe); break;
    case 18: was = shmem_uint64_atomic_swap(at, 1, pe); break;
    case 19: was = shmem_uint64_atomic_compare_swap(at, 2, 1, pe); break;
    case 20: was = shmem_uint64_atomic_fetch_add(at, 1, pe); break;
    case 21: was = shmem_uint64_atomic_fetch_inc(at, pe); break;
    case 22: was = shmem_uint64_atomic_fetch_and(at, 1, pe); break;
    case 23: was = shmem_uint64_atomic_fetch_or(at, 1, pe); break;
    case 24: was = shmem_uint64_atomic_fetch_xor(at, 1, pe); break;
    case 25: shmem_uint64_atomic_swap_nbi(&was, at, 1, pe), shmem_quiet(); break;
    case 26: shmem_uint64_atomic_compare_swap_nbi(&was, at, 2, 1, pe), shmem_quiet(); break;
    case 27: shmem_uint64_atomic_fetch_add_nbi(&was, at, 1, pe), shmem_quiet(); break;
    case 28: shmem_uint64_atomic_fetch_inc_nbi(&was, at, pe), shmem_quiet(); break;
    case 29: shmem_uint64_atomic_fetch_and_nbi(&was, at, 1, pe), shmem_quiet(); break;
    case 30: shmem_uint64_atomic_fetch_or_nbi(&was, at, 1, pe), shmem_quiet(); break;
    case 31: shmem_uint64_atomic_fetch_xor_nbi(&was, at, 1, pe), shmem_quiet(); break;
    case 32: shmem_uint64_put_signal(all, ones, 20, at, 1, SHMEM_SIGNAL_SET, pe); break;
    case 33: shmem_uint64_put_signal(all, ones, 20, at, 1, SHMEM_SIGNAL_ADD, pe); break;
    case 34: shmem_signal_set(at, 1, pe); break;
    case 35: shmem_signal_add(at, 1, pe); break;
    default: shmem_uint64_put_signal_nbi(all, ones, 20, at, 1, SHMEM_SIGNAL_SET, pe), shmem_quiet(); break;
    }
    EXPECT(was == 2);
}
static void woken(uint64_t* all) {
    int const next = (shmem_my_pe() + 1) % shmem_n_pes();
    for (int how = 0; how < changes; how++) {
        all[n_words - 1] = 2;
        shmem_barrier_all();
        change(how, all, next);
        shmem_uint64_wait_until(&all[n_words - 1], SHMEM_CMP_NE, 2);
        shmem_barrier_all();
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* A PE that is asleep, for a second at least if nobody rings, is awake soon after its word has changed: in one of three tries, for
   this machine may have other things to do. */
static void rung(uint64_t* all) {
    static double began;
    int const me = shmem_my_pe(), peer = me ^ 1, waits = me % 2;
    for (int how = 0; how < changes; how++) {
        double best = 1e9;
        for (int again = 0; again < 3; again++) {
            all[n_words - 1] = 2;
            shmem_barrier_all();
            if (waits) {
                shmem_uint64_wait_until(&all[n_words - 1], SHMEM_CMP_NE, 2);
                double const awake = now();
                shmem_barrier_all();
                double const late = awake - shmem_double_g(&began, peer);
                if (late < best) best = late;
            } else {
                nanosleep(&(struct timespec){0, 10000000}, NULL);
                began = now();
                if (peer < shmem_n_pes()) change(how, all, peer);
                shmem_barrier_all();
            }
        }
        if (waits && best > 0.5) printf("who waits for change %d sleeps on for %.3f s\n", how, best), failures++;
    }
}

struct later {
    int how;
    uint64_t* all;
    double began;
};
static void* change_later(void* what) {
    struct later* const l = what;
    nanosleep(&(struct timespec){0, 10000000}, NULL);
    l->began = now();
    change(l->how, l->all, shmem_my_pe());
    return NULL;
}
/* The same of a thread that another one of its PE rings. */
static void rung_by_thread(uint64_t* all) {
    for (int how = 0; how < changes; how++) {
        double best = 1e9;
        for (int again = 0; again < 3 && best > 0.5; again++) {
            struct later l = {how, all, 0};
            pthread_t other;
            all[n_words - 1] = 2;
            pthread_create(&other, NULL, change_later, &l);
            shmem_uint64_wait_until(&all[n_words - 1], SHMEM_CMP_NE, 2);
            double const awake = now();
            pthread_join(other, NULL);
            if (awake - l.began < best) best = awake - l.began;
        }
        if (best > 0.5) printf("who waits for change %d of its own PE's sleeps on for %.3f s\n", how, best), failures++;
    }
    shmem_barrier_all();
}

/* With an argument: this only, where waiters are asked to sleep. */
int main(int argc, char** argv) {
    (void)argv;
    int provided;
    if (argc > 1) shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    else shmem_init();
    uint64_t* const allocated = shmem_calloc(n_words, sizeof *allocated);
    if (argc > 1) {
        rung(words), rung(allocated);
        rung_by_thread(words), rung_by_thread(allocated);
        shmem_free(allocated);
        return ended();
    }
    woken(words), woken(allocated);
    shmem_free(allocated);
#define RUN(NAME, T) simple_##NAME(), many_##NAME(), each_##NAME();
    MPT_AMO_TYPES(RUN)
    MPT_SHORT_TYPES(RUN)
    old_short(), old_int(), old_long(), old_longlong(), of_longs();
    locks();
    ordered();
    return ended();
}
