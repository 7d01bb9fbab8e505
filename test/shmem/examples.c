/* Programs of the sort that OpenSHMEM's text explains itself with, each as a function: what the pages say must happen, happens. */
#include "check.h"
#include <stdbool.h>

/* A ring of gets and a sum by fetch-and-add: who comes last knows all. */
static void last_one_sums(int me, int n) {
    static long total, arrivals;
    shmem_long_atomic_add(&total, me + 1, 0);
    shmem_quiet();
    bool const last = shmem_long_atomic_fetch_inc(&arrivals, 0) == n - 1;
    if (last) EXPECT(shmem_long_atomic_fetch(&total, 0) == (long)n * (n + 1) / 2);
    shmem_barrier_all();
    if (me == 0) EXPECT(arrivals == n);
}

/* A pipeline: each PE waits for its left neighbour's block, adds its own number, and hands it on with a signal. */
static void pipeline(int me, int n) {
    enum { blocks = 50, width = 100 };
    static double block[width];
    static uint64_t arrived, taken;
    double mine[width];
    for (uint64_t b = 1; b <= blocks; b++) {
        if (me > 0) shmem_signal_wait_until(&arrived, SHMEM_CMP_GE, b);
        for (int i = 0; i < width; i++) mine[i] = (me > 0 ? block[i] : (double)b) + i;
        if (me > 0) shmem_signal_set(&taken, b, me - 1);
        if (me + 1 < n) {
            if (b > 1) shmem_signal_wait_until(&taken, SHMEM_CMP_GE, b - 1);
            shmem_double_put_signal(block, mine, width, &arrived, b, SHMEM_SIGNAL_SET, me + 1);
        }
        for (int i = 0; i < width; i++) EXPECT(mine[i] == (double)b + (double)(me + 1) * i);
    }
    shmem_barrier_all();
}

/* Samples sorted by value: counts by alltoall, places by an exclusive scan, data by puts. */
static void bucket_sort(int me, int n) {
    enum { each = 200, range = 1000 };
    unsigned seed = 17u + (unsigned)me;
    static long counts_out[64], counts_in[64], mine, before, places[64];
    int values[each];
    for (int i = 0; i < n; i++) counts_out[i] = 0;
    for (int i = 0; i < each; i++) {
        seed = seed * 1103515245u + 12345u;
        values[i] = (int)((seed >> 8) % range);
        counts_out[values[i] * n / range]++;
    }
    shmem_barrier_all();
    EXPECT(shmem_long_alltoall(SHMEM_TEAM_WORLD, counts_in, counts_out, 1) == 0);
    mine = 0;
    for (int p = 0; p < n; p++) places[p] = mine, mine += counts_in[p];
    EXPECT(shmem_long_sum_exscan(SHMEM_TEAM_WORLD, &before, &mine, 1) == 0);
    int* const bucket = shmem_malloc((size_t)(each * n) * sizeof(int));
    for (int p = 0; p < n; p++) {
        long at = shmem_long_g(&places[me], p);
        for (int i = 0; i < each; i++)
            if (values[i] * n / range == p) shmem_int_p(&bucket[at++], values[i], p);
    }
    shmem_barrier_all();
    for (long i = 0; i < mine; i++) EXPECT(bucket[i] * n / range == me);
    if (me == n - 1) EXPECT(before + mine == (long)each * n);
    shmem_free(bucket);
}

/* Rows and columns of a grid sum up what they have; a context for each neighbour's halo. */
static void halo(int me, int n) {
    static double cells[10];
    shmem_ctx_t left, right;
    int const to_left = (me + n - 1) % n, to_right = (me + 1) % n;
    EXPECT(shmem_ctx_create(SHMEM_CTX_PRIVATE, &left) == 0 && shmem_ctx_create(SHMEM_CTX_PRIVATE, &right) == 0);
    for (int i = 1; i < 9; i++) cells[i] = me * 10 + i;
    shmem_barrier_all();
    shmem_ctx_double_put_nbi(left, &cells[9], &cells[1], 1, to_left);
    shmem_ctx_double_put_nbi(right, &cells[0], &cells[8], 1, to_right);
    shmem_ctx_quiet(left), shmem_ctx_quiet(right);
    shmem_sync_all();
    EXPECT(cells[0] == to_left * 10 + 8 && cells[9] == to_right * 10 + 1);
    shmem_ctx_destroy(left), shmem_ctx_destroy(right);
    shmem_barrier_all();
}

/* A number of shmem_init has as many shmem_finalize: only the last one ends. */
int main(void) {
    shmem_init();
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    last_one_sums(me, n), pipeline(me, n), bucket_sort(me, n), halo(me, n);
    shmem_finalize();
    int running = 0;
    shmem_query_initialized(&running);
    EXPECT(running && shmem_my_pe() == me);
    shmem_barrier_all();
    shmem_finalize();
    shmem_query_initialized(&running);
    if (running) failures++;
    return failures != 0;
}
