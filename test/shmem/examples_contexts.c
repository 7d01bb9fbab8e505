/* Examples of OpenSHMEM's text: Communication Management Routines, contexts and their sessions. Which example lies where stands in
   docs/c-binding.md. */
#include "check.h"
#include <pthread.h>

enum { most = 64, threads = 3 };

static void in_threads(void* (*runs)(void*)) {
    pthread_t all[threads];
    for (size_t i = 0; i < threads; i++) pthread_create(&all[i], NULL, runs, (void*)i);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
}

enum { tasks = 400 };
static long next_task, times_done[tasks];
static long drawn[threads], refused;

static void* draw(void* number) {
    int const me = shmem_my_pe(), n = shmem_n_pes();
    shmem_ctx_t ctx;
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0) {
        __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    for (int k = 0; k < n; k++) { /* at home first; then those who have more to do are helped */
        int const where = (me + k) % n;
        for (long task; (task = shmem_atomic_fetch_inc(ctx, &next_task, where)) < tasks; drawn[(size_t)number]++)
            shmem_atomic_inc(ctx, &times_done[task], where);
    }
    shmem_ctx_destroy(ctx);
    return NULL;
}

/* shmem_ctx_create: threads with private contexts draw tasks from counters of all PEs; each task is done, and by one of them. */
static void tasks_of_all(int me, int n) {
    static long mine, all;
    in_threads(draw);
    EXPECT(refused == 0);
    for (int i = 0; i < threads; i++) mine += drawn[i];
    shmem_barrier_all();
    EXPECT(shmem_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1) == 0 && all == (long)tasks * n);
    for (int i = 0; i < tasks; i++) EXPECT(times_done[i] == 1);
    EXPECT(next_task == tasks + (long)threads * n && me < n); /* each thread has come once too often */
    shmem_barrier_all();
}

/* shmem_ctx_create, shmem_ctx_quiet: a sum in stages; a stage's pieces are on their way by one context while those before, which came by
   the other, are summed. */
static void staged_sum(int me, int n) {
    enum { length = 2048, piece = 256 };
    static int in[length], out[length];
    int* buffer[2];
    shmem_ctx_t ctx[2];
    for (int k = 0; k < 2; k++) {
        buffer[k] = shmem_malloc((size_t)(piece * n) * sizeof(int));
        EXPECT(shmem_ctx_create(0, &ctx[k]) == 0);
    }
    for (int i = 0; i < length; i++) in[i] = (me + 1) * i, out[i] = 0;
    shmem_barrier_all();
    for (int stage = 0; stage <= length / piece; stage++) {
        int const now = stage % 2, then = 1 - now;
        if (stage < length / piece)
            for (int p = 1; p <= n; p++)
                shmem_put_nbi(ctx[now], &buffer[now][piece * me], &in[piece * stage], piece, (me + p) % n);
        if (stage == 0) continue;
        shmem_ctx_quiet(ctx[then]);
        shmem_sync_all(); /* all pieces of the stage before are there */
        for (int p = 0; p < n; p++)
            for (int i = 0; i < piece; i++) out[piece * (stage - 1) + i] += buffer[then][piece * p + i];
        shmem_sync_all(); /* and are read: the buffer may be written again */
    }
    for (int i = 0; i < length; i++) EXPECT(out[i] == n * (n + 1) / 2 * i);
    for (int k = 0; k < 2; k++) shmem_ctx_destroy(ctx[k]), shmem_free(buffer[k]);
}

static _Thread_local shmem_ctx_t of_thread = SHMEM_CTX_INVALID;
static int* from[most];
static int* into[most];
enum { count = 3000 };

static void register_thread(void) {
    if (of_thread == SHMEM_CTX_INVALID)
        if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &of_thread) != 0 && shmem_ctx_create(0, &of_thread) != 0)
            of_thread = SHMEM_CTX_DEFAULT;
}
static void unregister_thread(void) {
    if (of_thread != SHMEM_CTX_DEFAULT) shmem_ctx_destroy(of_thread), of_thread = SHMEM_CTX_INVALID;
}
static void* put_rows(void* number) {
    int const me = shmem_my_pe(), n = shmem_n_pes();
    register_thread(), register_thread(); /* twice is once */
    EXPECT(of_thread != SHMEM_CTX_INVALID);
    for (int p = (int)(size_t)number; p < n; p += threads)
        shmem_ctx_putmem(of_thread, into[me], from[p], count * sizeof(int), p);
    unregister_thread();
    EXPECT(of_thread == SHMEM_CTX_INVALID || of_thread == SHMEM_CTX_DEFAULT);
    return NULL;
}

/* SHMEM_CTX_INVALID: the layer of a library gives each thread a context when it comes, and knows by this value who has none. */
static void layer(int me, int n) {
    for (int p = 0; p < n; p++) {
        from[p] = shmem_calloc(count, sizeof(int)), into[p] = shmem_calloc(count, sizeof(int));
        for (int i = 0; i < count; i++) from[p][i] = 1000 * me + p + i;
    }
    in_threads(put_rows);
    shmem_barrier_all(); /* destroying a context completes what was begun on it */
    for (int p = 0; p < n; p++)
        for (int i = 0; i < count; i++) EXPECT(into[p][i] == 1000 * p + me + i);
    shmem_barrier_all();
    for (int p = 0; p < n; p++) shmem_free(from[p]), shmem_free(into[p]);
}

static shmem_ctx_t in_turn;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static long sum_there;

static void* add_in_turn(void* number) {
    int const next = (shmem_my_pe() + 1) % shmem_n_pes();
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&turn);
        shmem_p(in_turn, &sum_there, shmem_g(in_turn, &sum_there, next) + 1 + (long)(size_t)number, next);
        shmem_ctx_quiet(in_turn);
        pthread_mutex_unlock(&turn);
    }
    return NULL;
}

/* SHMEM_CTX_SERIALIZED: threads share a context, of which a lock of the program's keeps all but one away. */
static void serialized(int me, int n) {
    EXPECT(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &in_turn) == 0);
    in_threads(add_in_turn);
    shmem_barrier_all();
    EXPECT(sum_there == 50L * threads * (threads + 1) / 2 && me < n);
    shmem_ctx_destroy(in_turn);
    shmem_barrier_all();
}

/* SHMEM_CTX_NOSTORE: puts of the context are ordered by its fence; stores through a pointer by the fence of the default context. */
static void no_stores(int me, int n) {
    static int by_put, flags[2];
    int* const by_store = shmem_calloc(1, sizeof(int));
    int const next = (me + 1) % n, before = (me + n - 1) % n;
    shmem_ctx_t ctx;
    EXPECT(shmem_ctx_create(SHMEM_CTX_NOSTORE | SHMEM_CTX_PRIVATE, &ctx) == 0);
    shmem_p(ctx, &by_put, me + 1, next);
    shmem_ctx_fence(ctx);
    shmem_p(ctx, &flags[0], 1, next);
    int* const there = shmem_ptr(by_store, next);
    if (there) *there = me + 1;
    else shmem_p(by_store, me + 1, next);
    shmem_fence();
    shmem_p(&flags[1], 1, next);
    shmem_wait_until_all(flags, 2, NULL, SHMEM_CMP_EQ, 1);
    EXPECT(by_put == before + 1 && *by_store == before + 1);
    shmem_ctx_destroy(ctx);
    shmem_free(by_store);
}

/* shmem_ctx_get_team: the default context is of all PEs; one of a team is of that team; an invalid one of none. */
static void teams_of(int me, int n) {
    shmem_team_t upper, of;
    shmem_ctx_t ctx;
    EXPECT(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &of) == 0 && of == SHMEM_TEAM_WORLD);
    EXPECT(shmem_ctx_get_team(SHMEM_CTX_INVALID, &of) != 0 && of == SHMEM_TEAM_INVALID);
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, n / 2, 1, n - n / 2, NULL, 0, &upper) == 0);
    if (upper != SHMEM_TEAM_INVALID && shmem_team_create_ctx(upper, 0, &ctx) == 0) {
        EXPECT(shmem_ctx_get_team(ctx, &of) == 0 && of == upper && shmem_team_my_pe(of) == me - n / 2);
        shmem_ctx_destroy(ctx);
    }
    shmem_team_destroy(upper);
}

static unsigned next_random(unsigned* seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 8; }

/* shmem_ctx_session_start, shmem_ctx_session_stop (1.6): a table is changed at random by atomics of one kind, said beforehand. Stopping
   completes nothing and meets nobody. What the table must be, each PE finds by drawing all PEs' numbers again. */
static void random_updates(int me, int n) {
    enum { updates = 3000, places = 256 };
    uint64_t* const table = shmem_calloc(places, sizeof(uint64_t));
    uint64_t expected[places] = {0};
    shmem_ctx_session_config_t const config = {.total_ops = updates};
    shmem_ctx_t ctx;
    EXPECT(shmem_ctx_create(0, &ctx) == 0);
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH | SHMEM_CTX_SESSION_SAME_AMO, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    unsigned seed = 1u + (unsigned)me;
    for (int i = 0; i < updates; i++) {
        int const pe = (int)(next_random(&seed) % (unsigned)n);
        unsigned const place = next_random(&seed) % places;
        shmem_atomic_xor(ctx, &table[place], (uint64_t)next_random(&seed), pe);
    }
    shmem_ctx_session_stop(ctx);
    shmem_ctx_quiet(ctx);
    shmem_sync_all();
    for (int p = 0; p < n; p++) {
        seed = 1u + (unsigned)p;
        for (int i = 0; i < updates; i++) {
            int const pe = (int)(next_random(&seed) % (unsigned)n);
            unsigned const place = next_random(&seed) % places, value = next_random(&seed);
            if (pe == me) expected[place] ^= value;
        }
    }
    for (int i = 0; i < places; i++) EXPECT(table[i] == expected[i]);
    shmem_ctx_destroy(ctx);
    shmem_free(table);
}

int main(void) {
    int level = 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    if (level != SHMEM_THREAD_MULTIPLE) shmem_global_exit(1);
    int const me = shmem_my_pe(), n = shmem_n_pes();
    tasks_of_all(me, n), staged_sum(me, n), layer(me, n), serialized(me, n), no_stores(me, n), teams_of(me, n),
        random_updates(me, n);
    return ended();
}
