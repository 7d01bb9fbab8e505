/* team - threads of a rank that do the same work at the same time, and how long it took: for benchmarks in C with mpi.h alone.
 *
 *      run_team(n, work, data)     n threads: wait for each other and for all ranks, work(i, data), and the time of the slowest rank
 *
 * Who waits for another thread or rank by looking again and again gives its CPU away in between (look_again). */
#pragma once
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_threads = 64 };

typedef void work_of(int thread, void* data);

struct team_member {
    pthread_t thread;
    int number;
    work_of* work;
    void* data;
    pthread_barrier_t *begin, *end;
};

static void* member_runs(void* p) {
    struct team_member* const m = p;
    pthread_barrier_wait(m->begin);
    m->work(m->number, m->data);
    pthread_barrier_wait(m->end);
    return NULL;
}

/* Seconds from the moment at which all ranks' threads could begin to the end of the last. Collective on MPI_COMM_WORLD. */
static double run_team(int n, work_of* work, void* data) {
    static struct team_member all[most_threads];
    pthread_barrier_t begin, end;
    pthread_barrier_init(&begin, NULL, (unsigned)n + 1), pthread_barrier_init(&end, NULL, (unsigned)n + 1);
    for (int i = 0; i < n; ++i) {
        all[i] = (struct team_member){.number = i, .work = work, .data = data, .begin = &begin, .end = &end};
        if (pthread_create(&all[i].thread, NULL, member_runs, &all[i]) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double const start = MPI_Wtime();
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    double const mine = MPI_Wtime() - start;
    for (int i = 0; i < n; ++i) pthread_join(all[i].thread, NULL);
    pthread_barrier_destroy(&begin), pthread_barrier_destroy(&end);
    double slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static inline void look_again(long looks) {
    if (looks % 64 == 63) sched_yield();
}

/* Where `one_lock` is set, each call of a rank's threads goes by itself, as in a library that has one lock for all of them. */
static int one_lock;
static pthread_mutex_t all_calls = PTHREAD_MUTEX_INITIALIZER;
static inline void begin_call(void) {
    if (one_lock) pthread_mutex_lock(&all_calls);
}
static inline void end_call(void) {
    if (one_lock) pthread_mutex_unlock(&all_calls);
}
#define ALONE(call) (begin_call(), (void)(call), end_call())

/* Threads of a rank may call at once, or the program ends. */
static void begin_threads(int* argc, char*** argv) {
    int provided = 0;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided == MPI_THREAD_MULTIPLE) return;
    fputs("this library gives no MPI_THREAD_MULTIPLE\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void* zeroed(size_t n, size_t size) {
    void* const p = calloc(n > 0 ? n : 1, size);
    if (!p) MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}
