/* Threads that register and contexts share a pool of places. Seven places, ten threads: what fits, what is refused, what the pool says of
   itself; and what threads have begun is complete when each has said so. */
#include "check.h"
#include <pthread.h>

enum { places = 7, most_threads = 10 };

static pthread_barrier_t all_have, may_go;
static int refused;

static void expect_use(int line, int unused, int owned, int contexts, int threads) {
    int u[5];
    shmemx_resource_use(&u[0], &u[1], &u[2], &u[3], &u[4]);
    if (u[0] == places && u[1] == unused && u[2] == owned && u[3] == contexts && u[4] == threads) return;
    printf("line %d: PE %d: places %d unused %d owned %d contexts %d threads %d\n", line, shmem_my_pe(), u[0], u[1], u[2], u[3],
           u[4]);
    failures++;
}
#define USE(...) expect_use(__LINE__, __VA_ARGS__)

static long* counts; /* one a thread */
static shmem_ctx_t in_turn;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void* thread(void* number) {
    int const i = (int)(size_t)number, next = (shmem_my_pe() + 1) % shmem_n_pes();
    if (shmemx_thread_register() != 0) __atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED); /* any of them */
    else EXPECT(shmemx_thread_register() == 0);                                           /* twice is once */
    for (int k = 0; k < 100; k++) shmem_long_atomic_add(&counts[i], k, next), shmemx_thread_fence();
    for (int k = 0; k < 10; k++) { /* what a serialized context is for */
        pthread_mutex_lock(&turn);
        shmem_ctx_long_p(in_turn, &counts[most_threads + 1], shmem_ctx_long_g(in_turn, &counts[most_threads + 1], next) + 1,
                         next);
        shmem_ctx_quiet(in_turn);
        pthread_mutex_unlock(&turn);
    }
    shmemx_thread_quiet();
    pthread_barrier_wait(&all_have), pthread_barrier_wait(&may_go);
    shmemx_thread_unregister();
    return NULL;
}

static void* leaves_without_a_word(void* unused) {
    (void)unused;
    EXPECT(shmemx_thread_register() == 0);
    USE(places - 1, 0, 0, 1);
    return NULL;
}

/* SHMEM_TEAM_SHARED has the same PEs here as SHMEM_TEAM_WORLD, and is another team: its collectives are this thread's. */
static long mine_there, sum_there;
static void* adds_up(void* unused) {
    (void)unused;
    int const n = shmem_n_pes();
    for (long k = 1; k <= 200; k++) {
        mine_there = k * (shmem_my_pe() + 1);
        EXPECT(shmem_long_sum_reduce(SHMEM_TEAM_SHARED, &sum_there, &mine_there, 1) == 0 && sum_there == k * n * (n + 1) / 2);
    }
    return NULL;
}
static void two_teams_at_once(void) {
    pthread_t other;
    pthread_create(&other, NULL, adds_up, NULL);
    for (int k = 0; k < 100; k++) {
        EXPECT(shmem_team_sync(SHMEM_TEAM_WORLD) == 0);
        shmem_barrier_all();
        shmem_free(shmem_malloc(64));
    }
    pthread_join(other, NULL);
}

int main(void) {
    setenv("SHMEM_MAX_CTX", "7", 1), setenv("SHMEM_MAX_THREADS", "10", 1);
    if (shmemx_init_thread(SHMEM_THREAD_MULTIPLE + 1) != -1) return 1; /* there is no such level, and no library yet */
    if (shmemx_init_thread(SHMEM_THREAD_MULTIPLE) != SHMEM_THREAD_MULTIPLE) return 1;
    EXPECT(shmemx_query_thread() == SHMEM_THREAD_MULTIPLE);
    counts = shmem_calloc(most_threads + 2, sizeof(long));
    shmem_ctx_t mine[places], none;
    USE(places, 0, 0, 0);
    for (int i = 0; i < 3; i++) {
        pthread_t ends;
        pthread_create(&ends, NULL, leaves_without_a_word, NULL);
        pthread_join(ends, NULL);
        USE(places, 0, 0, 0);
    }
    EXPECT(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &in_turn) == 0);
    USE(places - 1, 0, 1, 0);

    pthread_t threads[most_threads + 1];
    pthread_barrier_init(&all_have, NULL, most_threads + 2), pthread_barrier_init(&may_go, NULL, most_threads + 2);
    for (size_t i = 0; i <= most_threads; i++) pthread_create(&threads[i], NULL, thread, (void*)i);
    pthread_barrier_wait(&all_have);
    USE(0, 0, 1, most_threads);
    EXPECT(refused == 1); /* one more than may be: it works all the same */
    EXPECT(shmem_ctx_create(SHMEM_CTX_PRIVATE, &none) != 0 && none == SHMEM_CTX_INVALID);
    EXPECT(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &mine[0]) == 0);
    shmem_ctx_destroy(mine[0]);
    pthread_barrier_wait(&may_go);
    for (int i = 0; i <= most_threads; i++) pthread_join(threads[i], NULL);
    USE(places - 1, 0, 1, 0);
    shmem_barrier_all();
    for (int i = 0; i <= most_threads; i++) EXPECT(counts[i] == 100 * 99 / 2);
    EXPECT(counts[most_threads + 1] == 10 * (most_threads + 1));

    for (int i = 0; i < places - 1; i++) EXPECT(shmem_ctx_create(SHMEM_CTX_PRIVATE, &mine[i]) == 0);
    USE(0, places - 1, places, 0);
    EXPECT(shmem_ctx_create(SHMEM_CTX_PRIVATE, &none) != 0 && shmem_ctx_create(0, &none) != 0);
    EXPECT(shmemx_thread_register() == 0); /* beside the context that is not private */
    USE(0, places - 1, places, 1);
    shmem_ctx_destroy(in_turn);
    EXPECT(shmem_ctx_create(SHMEM_CTX_PRIVATE, &none) != 0);
    shmemx_thread_unregister(), shmemx_thread_unregister();
    EXPECT(shmem_ctx_create(SHMEM_CTX_PRIVATE, &mine[places - 1]) == 0);
    EXPECT(shmemx_thread_register() == 0); /* beside the default context */
    USE(0, places, places, 1);
    shmemx_thread_unregister();
    for (int i = 0; i < places; i++) shmem_ctx_destroy(mine[i]);
    USE(places, 0, 0, 0);
    shmem_free(counts);
    two_teams_at_once();
    return ended();
}
