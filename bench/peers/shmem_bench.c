/* shmem_bench - one source for every OpenSHMEM: what bench/peers/peers.py runs beside each other.
 *
 *     oshrun -n N shmem_bench [-m LEAST:MOST] [-t SECONDS] [-T THREADS] [-c PLACES] TEST...
 *
 * PE 0 prints a line a figure: `test bytes value unit`. Times are those of the slowest PE. Every batch is about as long as `-t`
 * says, found by trials.
 *
 *     latency       a put and its quiet, a get, by size; the same of 8 bytes by p and g
 *     bw            windows of 64 non-blocking puts, or gets, and a quiet
 *     rate          windows of 64 non-blocking puts of 8 bytes and a quiet: by the default context, by two contexts in turn, by a
 *                   private one; and by p
 *     atomics       fetching ones; an add as windows of 64 and a quiet
 *     pairs         the first half of the PEs at once, each with one of the second half: such windows, a non-blocking put and its quiet;
 *                   atomics that fetch, one after another, and windows of those that do not
 *     puts          PE 0 and PE 1 at once, each to the other, at most 2 KB: a blocking put and its quiet; windows of 64 blocking puts and a
 *                   quiet (_bw, both directions together), in which a library that returns before the put is done there has less to wait
 *                   for; to the symmetric heap, and (_static) to static data
 *     signal        data and a flag there and back, half of it: put, fence, p; and put_signal, its flag beside the data, and
 *                   (_static) in another segment
 *     threads       windows of 64 non-blocking puts of 8 bytes and a quiet by PE 0's threads, all threads' together: by the default
 *                   context, by a context each, by a private context each, and (_registered) each registered as a thread
 *     contexts      a put of 8 bytes by the default context beside 0, 1, 2, 4, ... other contexts
 *     places        a put of 8 bytes, a get and windows of non-blocking puts by the default context; the put once more (_beside_all) when
 *                   there are as many other contexts as -c allows
 *                   With -c the last three run with SHMEM_MAX_CTX set so, and their names say it (_of_7): private contexts and
 *                   registered threads share that many places. Where a context is refused there is no row.
 *     collectives   barrier, broadcast, collect, fcollect, reduce, alltoall; after each all meet, which is not counted; broadcast
 *                   also with that (_met): where PEs share CPUs who leaves a barrier first waits for a root that has no CPU, and
 *                   how much of the two calls is the one's or the other's is a matter of who comes last
 *     reductions    sums of doubles in an active set of all PEs and in the team of all, of sizes around 16 KB, beyond which a library may
 *                   go by halves (Cray's SHMEM_REDUCE_CUTOFF_SIZE)
 *
 * Only functions of OpenSHMEM 1.4, which all have, but for signals, teams (1.5) and the registration of threads, where they are there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
#define HAS_1_5 1
#else
#define HAS_1_5 0
#endif

enum { window = 64, most_calls = 1000000, most_threads = 64, short_put = 2048 };

static int me, size, threads = 4;
static char of_places[16]; /* "_of_7": of a pool of so many contexts */
static long least_bytes = 1, most_bytes = 1 << 20;
static double batch = 0.02;
static char *here, *there; /* symmetric: `size` blocks of the largest size each */
static long syncs[SHMEM_BCAST_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE];
static double* work;
static double mine, slowest, least_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

static void say(char const* test, long bytes, double value, char const* unit) {
    if (me == 0) printf("%s %ld %.6g %s\n", test, bytes, value, unit), fflush(stdout);
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- how often, and how long ----------------------------------------------------------------------------------------- */

typedef void call_of(shmem_ctx_t ctx, long bytes);
typedef double batch_of(call_of* call, long bytes, long calls); /* the seconds of so many calls of this PE */

static double in_a_row(call_of* call, long bytes, long calls) {
    double const start = now();
    for (long i = 0; i < calls; ++i) call(SHMEM_CTX_DEFAULT, bytes);
    return now() - start;
}
/* All meet after each call: what they share is free again. */
static double one_by_one(call_of* call, long bytes, long calls) {
    double took = 0;
    for (long i = 0; i < calls; ++i) {
        double const start = now();
        call(SHMEM_CTX_DEFAULT, bytes);
        took += now() - start;
        shmem_barrier_all();
    }
    return took;
}

static double with_meetings(call_of* call, long bytes, long calls) {
    double const start = now();
    for (long i = 0; i < calls; ++i) call(SHMEM_CTX_DEFAULT, bytes), shmem_barrier_all();
    return now() - start;
}

static double seconds_of(batch_of* run, call_of* call, long bytes, long calls) {
    shmem_barrier_all();
    mine = run(call, bytes, calls);
    shmem_barrier_all();
    shmem_double_max_to_all(&slowest, &mine, 1, 0, 0, size, least_work, syncs);
    shmem_barrier_all();
    return slowest;
}

/* Seconds a call: trials of 1, 4, 16 ... calls, until one is long enough to tell how many take about as long as a batch. Then two batches, of
   which the second counts: a library may touch memory for the first time in the one before. */
static double time_by(batch_of* run, call_of* call, long bytes) {
    long calls = 1;
    double took = seconds_of(run, call, bytes, calls);
    while (took < batch / 8 && calls < most_calls) took = seconds_of(run, call, bytes, calls *= 4);
    for (int of = 0; of < 2; ++of) {
        double const wanted = (double)calls * batch / took;
        calls = wanted < 3 ? 3 : wanted > most_calls ? most_calls : (long)wanted;
        took = seconds_of(run, call, bytes, calls);
    }
    return took / (double)calls;
}
static double time_of(call_of* call, long bytes) { return time_by(in_a_row, call, bytes); }

/* --- puts, gets and atomics: by PE 0 to PE 1, which waits in a barrier ----------------------------------------------- */

#define BY_PE_0(name, ...)                                                                                                     \
    static void name(shmem_ctx_t ctx, long bytes) {                                                                            \
        (void)ctx, (void)bytes;                                                                                                \
        if (me == 0) __VA_ARGS__;                                                                                              \
    }
static long volatile got;
BY_PE_0(put, shmem_putmem(there, here, (size_t)bytes, 1), shmem_quiet())
BY_PE_0(get, shmem_getmem(here, there, (size_t)bytes, 1))
BY_PE_0(p, shmem_long_p((long*)there, 1, 1), shmem_quiet())
BY_PE_0(g, got = shmem_long_g((long*)there, 1))
BY_PE_0(fetch, got = shmem_long_atomic_fetch((long*)there, 1))
BY_PE_0(fetch_add, got = shmem_long_atomic_fetch_add((long*)there, 1, 1))
BY_PE_0(swap, got = shmem_long_atomic_swap((long*)there, 1, 1))
BY_PE_0(cswap, got = shmem_long_atomic_compare_swap((long*)there, 1, 2, 1))

#define WINDOW_BY_PE_0(name, ...)                                                                                              \
    static void name##_window(shmem_ctx_t ctx, long bytes) {                                                                   \
        if (me != 0) return;                                                                                                   \
        (void)bytes;                                                                                                           \
        for (int i = 0; i < window; ++i) __VA_ARGS__;                                                                          \
        shmem_ctx_quiet(ctx);                                                                                                  \
    }
WINDOW_BY_PE_0(put, shmem_ctx_putmem_nbi(ctx, there, here, (size_t)bytes, 1))
WINDOW_BY_PE_0(get, shmem_ctx_getmem_nbi(ctx, here, there, (size_t)bytes, 1))
WINDOW_BY_PE_0(p, shmem_ctx_long_p(ctx, (long*)there, i, 1))
WINDOW_BY_PE_0(add, shmem_ctx_long_atomic_add(ctx, (long*)there, 1, 1))

static shmem_ctx_t contexts[2];
static void private_window(shmem_ctx_t ctx, long bytes) { (void)ctx, put_window(contexts[0], bytes); }
static void two_windows(shmem_ctx_t ctx, long bytes) {
    (void)ctx;
    if (me != 0) return;
    for (int i = 0; i < window; ++i) shmem_ctx_putmem_nbi(contexts[i % 2], there, here, (size_t)bytes, 1);
    shmem_ctx_quiet(contexts[0]), shmem_ctx_quiet(contexts[1]);
}

static double per_s(double seconds) { return window / seconds * 1e-6; }

static void latency(void) {
    for (long n = least_bytes; n <= most_bytes; n *= 2) {
        say("shmem_put", n, time_of(put, n) * 1e6, "us");
        say("shmem_get", n, time_of(get, n) * 1e6, "us");
    }
    say("shmem_p", 8, time_of(p, 8) * 1e6, "us");
    say("shmem_g", 8, time_of(g, 8) * 1e6, "us");
}
static void bandwidth(void) {
    for (long n = least_bytes; n <= most_bytes; n *= 2) {
        say("shmem_put_bw", n, (double)n * window / time_of(put_window, n) * 1e-9, "GB/s");
        say("shmem_get_bw", n, (double)n * window / time_of(get_window, n) * 1e-9, "GB/s");
    }
}
static void rate(void) {
    say("shmem_rate_nbi", 8, per_s(time_of(put_window, 8)), "M/s");
    say("shmem_rate_p", 8, per_s(time_of(p_window, 8)), "M/s");
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &contexts[0]) == 0) {
        say("shmem_rate_nbi_private", 8, per_s(time_of(private_window, 8)), "M/s");
        shmem_ctx_destroy(contexts[0]);
    }
    int const first = shmem_ctx_create(0, &contexts[0]), second = shmem_ctx_create(0, &contexts[1]);
    if (first == 0 && second == 0) say("shmem_rate_nbi_of_two", 8, per_s(time_of(two_windows, 8)), "M/s");
    if (first == 0) shmem_ctx_destroy(contexts[0]);
    if (second == 0) shmem_ctx_destroy(contexts[1]);
}
static void atomics(void) {
    say("shmem_fetch", 8, time_of(fetch, 8) * 1e6, "us");
    say("shmem_fetch_add", 8, time_of(fetch_add, 8) * 1e6, "us");
    say("shmem_swap", 8, time_of(swap, 8) * 1e6, "us");
    say("shmem_cswap", 8, time_of(cswap, 8) * 1e6, "us");
    say("shmem_rate_add", 8, per_s(time_of(add_window, 8)), "M/s");
}

/* --- many PEs at once ------------------------------------------------------------------------------------------------- */

static void pair_window(shmem_ctx_t ctx, long bytes) {
    if (me >= size / 2) return;
    for (int i = 0; i < window; ++i) shmem_ctx_putmem_nbi(ctx, there, here, (size_t)bytes, me + size / 2);
    shmem_ctx_quiet(ctx);
}
static void pair_fetch_add(shmem_ctx_t ctx, long bytes) {
    (void)bytes;
    if (me < size / 2) got = shmem_ctx_long_atomic_fetch_add(ctx, (long*)there, 1, me + size / 2);
}
static void pair_cswap(shmem_ctx_t ctx, long bytes) {
    (void)bytes;
    if (me < size / 2) got = shmem_ctx_long_atomic_compare_swap(ctx, (long*)there, 1, 2, me + size / 2);
}
static void pair_put(shmem_ctx_t ctx, long bytes) {
    if (me >= size / 2) return;
    shmem_ctx_putmem_nbi(ctx, there, here, (size_t)bytes, me + size / 2);
    shmem_ctx_quiet(ctx);
}
static void pair_add_window(shmem_ctx_t ctx, long bytes) {
    (void)bytes;
    if (me >= size / 2) return;
    for (int i = 0; i < window; ++i) shmem_ctx_long_atomic_add(ctx, (long*)there, 1, me + size / 2);
    shmem_ctx_quiet(ctx);
}
static void pair_set_window(shmem_ctx_t ctx, long bytes) {
    (void)bytes;
    if (me >= size / 2) return;
    for (int i = 0; i < window; ++i) shmem_ctx_long_atomic_set(ctx, (long*)there, i, me + size / 2);
    shmem_ctx_quiet(ctx);
}
static void pairs(void) {
    double const several = size / 2;
    say("shmem_pairs_nbi", 8, several * per_s(time_of(pair_window, 8)), "M/s");
    say("shmem_pairs_nbi", 1024, several * per_s(time_of(pair_window, 1024)), "M/s");
    say("shmem_pairs_put_nbi", 8, time_of(pair_put, 8) * 1e6, "us");
    say("shmem_pairs_put_nbi", 1024, time_of(pair_put, 1024) * 1e6, "us");
    say("shmem_pairs_fetch_add", 8, several / time_of(pair_fetch_add, 8) * 1e-6, "M/s");
    say("shmem_pairs_cswap", 8, several / time_of(pair_cswap, 8) * 1e-6, "M/s");
    say("shmem_pairs_add", 8, several * per_s(time_of(pair_add_window, 8)), "M/s");
    say("shmem_pairs_set", 8, several * per_s(time_of(pair_set_window, 8)), "M/s");
}

/* --- PE 0 and PE 1 to each other, by blocking puts -------------------------------------------------------------------- */

static char static_place[short_put];
static char* place; /* where both put to */

static void put_to_each_other(shmem_ctx_t ctx, long bytes) {
    (void)ctx;
    if (me <= 1) shmem_putmem(place, here, (size_t)bytes, 1 - me), shmem_quiet();
}
static void window_to_each_other(shmem_ctx_t ctx, long bytes) {
    (void)ctx;
    if (me > 1) return;
    for (int i = 0; i < window; ++i) shmem_putmem(place, here, (size_t)bytes, 1 - me);
    shmem_quiet();
}
static void puts_both_ways(void) {
    static char const* const names[][2] = {{"shmem_puts", "shmem_puts_bw"}, {"shmem_puts_static", "shmem_puts_static_bw"}};
    for (int s = 0; s < 2; ++s) {
        place = s ? static_place : there;
        for (long n = 8; n <= short_put && n <= most_bytes; n *= 4) {
            say(names[s][0], n, time_of(put_to_each_other, n) * 1e6, "us");
            say(names[s][1], n, 2.0 * window * (double)n / time_of(window_to_each_other, n) * 1e-9, "GB/s");
        }
    }
}

/* --- data and a flag, there and back --------------------------------------------------------------------------------- */

static uint64_t *flag, static_flag;
static uint64_t round_trips; /* the same on both PEs, as both make all calls */

typedef void give_of(long bytes, uint64_t* at, uint64_t value);
static void there_and_back(give_of* give, long bytes, uint64_t* at) {
    ++round_trips;
    if (me == 0) give(bytes, at, round_trips);
    shmem_uint64_wait_until(at, SHMEM_CMP_GE, round_trips);
    if (me == 1) give(bytes, at, round_trips);
}
static void give_by_fence(long bytes, uint64_t* at, uint64_t value) {
    shmem_putmem(there, here, (size_t)bytes, 1 - me);
    shmem_fence();
    shmem_uint64_p(at, value, 1 - me);
}
static void by_fence(shmem_ctx_t ctx, long bytes) { (void)ctx, there_and_back(give_by_fence, bytes, flag); }
static void by_fence_static(shmem_ctx_t ctx, long bytes) { (void)ctx, there_and_back(give_by_fence, bytes, &static_flag); }
#if HAS_1_5
static void give_by_signal(long bytes, uint64_t* at, uint64_t value) {
    shmem_putmem_signal(there, here, (size_t)bytes, at, value, SHMEM_SIGNAL_SET, 1 - me);
}
static void by_signal(shmem_ctx_t ctx, long bytes) { (void)ctx, there_and_back(give_by_signal, bytes, flag); }
static void by_signal_static(shmem_ctx_t ctx, long bytes) { (void)ctx, there_and_back(give_by_signal, bytes, &static_flag); }
#endif

static void signals(void) {
    static struct {
        char const* name;
        call_of* call;
    } const all[] = {
        {"shmem_put_fence_p", by_fence},
        {"shmem_put_fence_p_static", by_fence_static},
#if HAS_1_5
        {"shmem_put_signal", by_signal},
        {"shmem_put_signal_static", by_signal_static}
#endif
    };
    for (size_t w = 0; w < sizeof all / sizeof *all; ++w)
        for (long n = 8; n <= most_bytes; n *= 8) say(all[w].name, n, time_of(all[w].call, n) / 2 * 1e6, "us");
}

/* --- threads --------------------------------------------------------------------------------------------------------- */

/* Cray's, where it is there: what it returns differs, so who is refused calls as any other thread. */
static void (*register_thread)(void), (*unregister_thread)(void);

enum share { default_context, context_each, private_each, registered };
static enum share sharing;
static int team; /* so many threads */

struct member {
    pthread_t thread;
    pthread_barrier_t* all; /* they are there; they begin; they have ended */
    long calls;
    int refused; /* there was no context for this thread */
};
static void own_windows(struct member* m, shmem_ctx_t ctx) {
    pthread_barrier_wait(m->all), pthread_barrier_wait(m->all);
    for (long i = 0; i < m->calls && !m->refused; ++i) put_window(ctx, 8);
    pthread_barrier_wait(m->all);
}
static void* member_runs(void* data) {
    struct member* const m = data;
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    int const own = sharing == context_each || sharing == private_each;
    if (sharing == registered) register_thread();
    if (own) m->refused = shmem_ctx_create(sharing == private_each ? SHMEM_CTX_PRIVATE : 0, &ctx) != 0;
    own_windows(m, ctx);
    if (own && !m->refused) shmem_ctx_destroy(ctx);
    if (sharing == registered) unregister_thread();
    return NULL;
}

static int anyone_refused;
static double by_threads(call_of* call, long bytes, long calls) {
    static struct member all[most_threads];
    pthread_barrier_t barrier;
    (void)call, (void)bytes;
    if (me != 0) return 0;
    pthread_barrier_init(&barrier, NULL, (unsigned)team + 1);
    for (int i = 0; i < team; ++i) {
        all[i] = (struct member){.all = &barrier, .calls = calls};
        if (pthread_create(&all[i].thread, NULL, member_runs, &all[i]) != 0) shmem_global_exit(1);
    }
    pthread_barrier_wait(&barrier);
    double const start = now();
    pthread_barrier_wait(&barrier), pthread_barrier_wait(&barrier);
    double const took = now() - start;
    for (int i = 0; i < team; ++i) pthread_join(all[i].thread, NULL), anyone_refused |= all[i].refused;
    pthread_barrier_destroy(&barrier);
    return took;
}

static void rates_of_threads(void) {
    static char const* const names[] = {"", "_ctx", "_private", "_registered"};
    *(void**)&register_thread = dlsym(RTLD_DEFAULT, "shmemx_thread_register");
    *(void**)&unregister_thread = dlsym(RTLD_DEFAULT, "shmemx_thread_unregister");
    enum share const last = register_thread && unregister_thread ? registered : private_each;
    for (sharing = default_context; sharing <= last; ++sharing)
        for (team = 1; team <= threads; team *= 2) {
            char name[64];
            anyone_refused = 0;
            double const seconds = time_by(by_threads, put_window, 8);
            snprintf(name, sizeof name, "shmem_threads_nbi%s%s_%d", names[sharing], of_places, team);
            if (!anyone_refused) say(name, 8, team * per_s(seconds), "M/s");
        }
}

static void beside_contexts(void) {
    shmem_ctx_t others[most_threads];
    int there_are = 0, wanted = 0, room = 1;
    while (room && wanted <= threads) {
        while (room && there_are < wanted) room = shmem_ctx_create(0, &others[there_are]) == 0, there_are += room;
        char name[64];
        snprintf(name, sizeof name, "shmem_put_beside%s_%d", of_places, there_are);
        double const seconds = time_of(put, 8);
        if (room) say(name, 8, seconds * 1e6, "us");
        wanted = wanted == 0 ? 1 : wanted * 2;
    }
    while (there_are > 0) shmem_ctx_destroy(others[--there_are]);
}

static void say_of_places(char const* test, double value, char const* unit) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", test, of_places);
    say(name, 8, value, unit);
}
static void in_places(void) {
    long const most = *of_places ? strtol(of_places + strlen("_of_"), NULL, 10) : 0;
    say_of_places("shmem_default_put", time_of(put, 8) * 1e6, "us");
    say_of_places("shmem_default_get", time_of(get, 8) * 1e6, "us");
    say_of_places("shmem_default_rate_nbi", per_s(time_of(put_window, 8)), "M/s");
    shmem_ctx_t* const others = malloc((size_t)(most + 1) * sizeof *others);
    long there_are = 0;
    while (others && there_are < most && shmem_ctx_create(0, &others[there_are]) == 0) ++there_are;
    double const beside = time_of(put, 8) * 1e6;
    if (most > 0 && there_are == most) say_of_places("shmem_default_put_beside_all", beside, "us");
    while (there_are > 0) shmem_ctx_destroy(others[--there_are]);
    free(others);
}

/* --- collectives: with active sets, which every version has ---------------------------------------------------------- */

static size_t words(long bytes) { return (size_t)bytes / 8; }
static void barrier(shmem_ctx_t ctx, long bytes) { (void)ctx, (void)bytes, shmem_barrier_all(); }
static void broadcast(shmem_ctx_t ctx, long bytes) {
    (void)ctx, shmem_broadcast64(there, here, words(bytes), 0, 0, 0, size, syncs);
}
static void collect(shmem_ctx_t ctx, long bytes) { (void)ctx, shmem_collect64(there, here, words(bytes), 0, 0, size, syncs); }
static void fcollect(shmem_ctx_t ctx, long bytes) { (void)ctx, shmem_fcollect64(there, here, words(bytes), 0, 0, size, syncs); }
static void alltoall(shmem_ctx_t ctx, long bytes) { (void)ctx, shmem_alltoall64(there, here, words(bytes), 0, 0, size, syncs); }
static void reduce(shmem_ctx_t ctx, long bytes) {
    (void)ctx;
    shmem_double_sum_to_all((double*)there, (double*)here, (int)words(bytes), 0, 0, size, work, syncs);
}

static void collectives(void) {
    static struct {
        char const* name;
        call_of* call;
    } const all[] = {{"shmem_broadcast", broadcast},
                     {"shmem_collect", collect},
                     {"shmem_fcollect", fcollect},
                     {"shmem_reduce", reduce},
                     {"shmem_alltoall", alltoall}};
    static long const sizes[] = {8, 1024, 65536, 1048576};
    say("shmem_barrier", 0, time_of(barrier, 0) * 1e6, "us");
    for (size_t c = 0; c < sizeof all / sizeof *all; ++c)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
            if (sizes[i] <= most_bytes) say(all[c].name, sizes[i], time_by(one_by_one, all[c].call, sizes[i]) * 1e6, "us");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        if (sizes[i] <= most_bytes)
            say("shmem_broadcast_met", sizes[i], time_by(with_meetings, broadcast, sizes[i]) * 1e6, "us");
}

#if HAS_1_5
static void team_reduce(shmem_ctx_t ctx, long bytes) {
    (void)ctx, shmem_double_sum_reduce(SHMEM_TEAM_WORLD, (double*)there, (double*)here, words(bytes));
}
#endif

static void reductions(void) {
    static long const sizes[] = {8, 1024, 8192, 16384, 16384 + 8, 32768, 65536};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        if (sizes[i] > most_bytes) continue;
        say("shmem_set_reduce", sizes[i], time_by(one_by_one, reduce, sizes[i]) * 1e6, "us");
#if HAS_1_5
        say("shmem_team_reduce", sizes[i], time_by(one_by_one, team_reduce, sizes[i]) * 1e6, "us");
#endif
    }
}

/* --- what is asked for ----------------------------------------------------------------------------------------------- */

static struct {
    char const* name;
    void (*run)(void);
    int least_pes;
} const tests[] = {{"latency", latency, 2},
                   {"bw", bandwidth, 2},
                   {"rate", rate, 2},
                   {"atomics", atomics, 2},
                   {"pairs", pairs, 2},
                   {"puts", puts_both_ways, 2},
                   {"signal", signals, 2},
                   {"threads", rates_of_threads, 2},
                   {"contexts", beside_contexts, 2},
                   {"places", in_places, 2},
                   {"collectives", collectives, 1},
                   {"reductions", reductions, 1}};
enum { how_many = sizeof tests / sizeof *tests };

static int find(char const* name) {
    int t = 0;
    while (t < how_many && strcmp(tests[t].name, name) != 0) ++t;
    return t;
}

static char const usage[] = "usage: shmem_bench [-m LEAST:MOST] [-t SECONDS] [-T THREADS] [-c PLACES] TEST...\n"
                            "  -m   sizes in bytes (1:1048576), doubled from one to the next\n"
                            "  -t   how long a figure's batch is (0.02)\n"
                            "  -T   the most threads, and the most contexts (4)\n"
                            "  -c   SHMEM_MAX_CTX\n"
                            "  TEST latency bw rate atomics pairs puts signal threads contexts places (on 2 PEs and more)\n"
                            "       collectives reductions\n";

static int options(int argc, char** argv) {
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        char* end = argv[i + 1];
        if (strcmp(argv[i], "-m") == 0) {
            least_bytes = strtol(end, &end, 10);
            if (*end == ':') most_bytes = strtol(end + 1, &end, 10);
        } else if (strcmp(argv[i], "-t") == 0) batch = strtod(end, &end);
        else if (strcmp(argv[i], "-T") == 0) threads = (int)strtol(end, &end, 10);
        else if (strcmp(argv[i], "-c") == 0) snprintf(of_places, sizeof of_places, "_of_%ld", strtol(end, &end, 10));
        else return argc;
        if (*end != 0) return argc;
    }
    for (int t = i; t < argc; ++t)
        if (find(argv[t]) == how_many) return argc;
    int const right = least_bytes >= 1 && most_bytes >= least_bytes && most_bytes < 1 << 26 && batch > 0 && threads >= 1;
    return right && threads <= most_threads ? i : argc;
}

/* Threads are asked for only where they call. */
static void begin(int argc, char** argv) {
    int provided = SHMEM_THREAD_MULTIPLE;
    int in_threads = 0;
    if (*of_places) setenv("SHMEM_MAX_CTX", of_places + strlen("_of_"), 1);
    for (int i = 1; i < argc; ++i) in_threads |= strcmp(argv[i], "threads") == 0;
    if (in_threads) shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    else shmem_init();
    if (provided == SHMEM_THREAD_MULTIPLE) return;
    fputs("this library gives no SHMEM_THREAD_MULTIPLE\n", stderr);
    shmem_global_exit(1);
}

static int make_room(void) {
    size_t const each = most_bytes < 1 << 12 ? 1 << 12 : (size_t)most_bytes;
    for (size_t i = 0; i < sizeof syncs / sizeof *syncs; ++i) syncs[i] = SHMEM_SYNC_VALUE;
    here = shmem_calloc((size_t)size, each), there = shmem_calloc((size_t)size, each), flag = shmem_calloc(1, 8);
    work = shmem_malloc((each / 16 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof *work);
    return here && there && flag && work;
}

int main(int argc, char** argv) {
    int const first = options(argc, argv);
    begin(argc, argv);
    me = shmem_my_pe(), size = shmem_n_pes();
    int wrong = first >= argc || !make_room();
    for (int i = first; i < argc; ++i) wrong |= size < tests[find(argv[i])].least_pes;
    shmem_barrier_all();
    if (wrong && me == 0) fputs(usage, stderr);
    for (int i = first; i < argc && !wrong; ++i) tests[find(argv[i])].run();
    shmem_barrier_all();
    shmem_finalize();
    return wrong;
}
