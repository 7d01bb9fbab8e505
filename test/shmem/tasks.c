/* Tasks are drawn from one counter by the threads of all PEs, each with a private context of its own (OpenMP). */
#include "check.h"

enum { tasks = 600, threads = 3 };
static int next_task, done[tasks], mine, all;

int main(void) {
    int level = 0, refused = 0, drawn = 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    EXPECT(level == SHMEM_THREAD_MULTIPLE);
    int const me = shmem_my_pe(), n = shmem_n_pes();
#pragma omp parallel num_threads(threads) reduction(+ : refused, drawn)
    {
        shmem_ctx_t ctx;
        refused += shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0;
        for (int task; (task = shmem_ctx_int_atomic_fetch_inc(ctx, &next_task, 0)) < tasks; drawn++)
            shmem_ctx_int_atomic_inc(ctx, &done[task], task % n);
        shmem_ctx_quiet(ctx);
        shmem_ctx_destroy(ctx);
    }
    EXPECT(refused == 0);
    mine = drawn;
    shmem_barrier_all();
    EXPECT(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1) == 0 && all == tasks);
    for (int task = 0; task < tasks; task++) EXPECT(done[task] == (task % n == me));
    if (me == 0) EXPECT(next_task == tasks + threads * n); /* each thread has drawn one too many */
    return ended();
}
