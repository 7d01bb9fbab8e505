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

/* Some PEs count down one word, and the first to swap its number in wins; a lock keeps a sum of two words whole. */
static void races(int me, int n) {
    static int winner = -1, won;
    static long lock, sum[2];
    int const seen = shmem_int_atomic_compare_swap(&winner, -1, me, 0);
    if (seen == -1) shmem_int_atomic_inc(&won, 0);
    shmem_barrier_all();
    EXPECT(seen == -1 || seen == shmem_int_atomic_fetch(&winner, 0));
    EXPECT(shmem_int_atomic_fetch(&won, 0) == 1);
    for (int i = 0; i < 20; i++) {
        if (i % 2 == 0) shmem_set_lock(&lock);
        else
            while (shmem_test_lock(&lock) != 0) {}
        long had[2];
        shmem_long_get(had, sum, 2, n - 1);
        EXPECT(had[0] == had[1]);
        shmem_long_p(&sum[0], had[0] + 1, n - 1), shmem_long_p(&sum[1], had[1] + 1, n - 1);
        shmem_quiet();
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    EXPECT(shmem_long_g(&sum[1], n - 1) == 20 * n);
}

/* Each PE sets its bit, clears its neighbour's, turns one over: bits of one word that nobody loses. */
static void bits(int me, int n) {
    static uint64_t word = 0, mask = ~(uint64_t)0, parity = 0;
    uint64_t const mine = (uint64_t)1 << me;
    EXPECT((shmem_uint64_atomic_fetch_or(&word, mine, 0) & mine) == 0);
    EXPECT((shmem_uint64_atomic_fetch_and(&mask, ~mine, 0) & mine) != 0);
    shmem_uint64_atomic_xor(&parity, mine | (uint64_t)1 << (me + 1) % n, 0);
    shmem_barrier_all();
    uint64_t const all = ((uint64_t)1 << n) - 1;
    EXPECT(shmem_uint64_g(&word, 0) == all && shmem_uint64_g(&mask, 0) == ~all);
    EXPECT(shmem_uint64_g(&parity, 0) == (n == 1 ? 1 : 0)); /* each bit twice; of one PE, one bit once */
    shmem_barrier_all();
    EXPECT(shmem_uint64_atomic_swap(&word, 7, me) == (me == 0 ? all : 0));
    shmem_uint64_atomic_set(&word, 9, me);
    EXPECT(word == 9);
    shmem_barrier_all();
}

/* Data, a fence, a flag: who sees the flag sees the data; and puts that are only begun are complete after quiet. */
static void order(int me, int n) {
    enum { width = 2000 };
    static int data[width];
    static int flag;
    static long target[3];
    int mine[width];
    int const next = (me + 1) % n, before = (me + n - 1) % n;
    for (int round = 1; round <= 10; round++) {
        for (int i = 0; i < width; i++) mine[i] = round * 1000 + me + i;
        shmem_int_put(data, mine, width, next);
        shmem_fence();
        shmem_int_p(&flag, round, next);
        shmem_int_wait_until(&flag, SHMEM_CMP_GE, round);
        for (int i = 0; i < width; i++) EXPECT(data[i] == round * 1000 + before + i);
        shmem_barrier_all();
    }
    long const values[3] = {me, me * 2, me * 3};
    shmem_long_put_nbi(target, values, 3, next);
    shmem_quiet();
    shmem_sync_all();
    EXPECT(target[0] == before && target[2] == before * 3);
    long got[3] = {0};
    shmem_long_get_nbi(got, target, 3, next);
    shmem_quiet();
    EXPECT(got[1] == me * 2);
    shmem_barrier_all();
}

/* Work comes from all sides in any order: what has come is done, and is not looked at again. */
static void work(int me, int n) {
    static int ready[64], from_any[64], values[64];
    int skip[64] = {0}, done = 0;
    size_t which[64];
    for (int p = 0; p < n; p++) shmem_int_p(&ready[me], me + 1, p);
    while (done < n) {
        size_t const found = shmem_int_wait_until_some(ready, (size_t)n, which, skip, SHMEM_CMP_GT, 0);
        EXPECT(found > 0);
        for (size_t i = 0; i < found; i++) {
            EXPECT(skip[which[i]] == 0 && ready[which[i]] == (int)which[i] + 1);
            skip[which[i]] = 1;
        }
        done += (int)found;
    }
    EXPECT(shmem_int_wait_until_any(ready, (size_t)n, skip, SHMEM_CMP_GT, 0) == SIZE_MAX); /* nothing is left to wait for */
    for (int p = 0; p < n; p++) shmem_int_atomic_add(&from_any[me], 5, (me + p) % n), skip[p] = 0;
    for (done = 0; done < n; done++) {
        size_t const i = shmem_int_wait_until_any(from_any, (size_t)n, skip, SHMEM_CMP_EQ, 5);
        EXPECT(i < (size_t)n && skip[i] == 0);
        if (i < (size_t)n) skip[i] = 1;
    }
    for (int p = 0; p < n; p++) values[p] = p + 1;
    shmem_int_wait_until_all_vector(ready, (size_t)n, NULL, SHMEM_CMP_EQ, values);
    EXPECT(shmem_int_test_all(ready, (size_t)n, NULL, SHMEM_CMP_NE, 0));
    EXPECT(shmem_int_test_any(ready, (size_t)n, NULL, SHMEM_CMP_EQ, n) == (size_t)n - 1);
    EXPECT(shmem_int_test_some(ready, (size_t)n, which, NULL, SHMEM_CMP_LE, 1) == 1 && which[0] == 0);
    shmem_barrier_all();
}

/* Every second PE is a team with a context of its own; a grid sums its rows and its columns. */
static void teams(int me, int n) {
    shmem_team_t even, row, column;
    shmem_team_config_t const config = {1};
    static long told, sums[2], mine;
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, &config, SHMEM_TEAM_NUM_CONTEXTS, &even) == 0);
    EXPECT((even != SHMEM_TEAM_INVALID) == (me % 2 == 0));
    told = -1;
    shmem_barrier_all();
    shmem_ctx_t ctx;
    if (even != SHMEM_TEAM_INVALID) {
        int const here = shmem_team_my_pe(even), size = shmem_team_n_pes(even);
        EXPECT(shmem_team_translate_pe(even, here, SHMEM_TEAM_WORLD) == me);
        EXPECT(shmem_team_create_ctx(even, 0, &ctx) == 0);
        shmem_ctx_long_p(ctx, &told, here, (here + 1) % size);
        shmem_ctx_quiet(ctx);
        shmem_team_sync(even);
        EXPECT(told == (here + size - 1) % size);
        shmem_ctx_destroy(ctx);
        shmem_team_destroy(even);
    }
    int const width = n > 2 ? 2 : 1;
    EXPECT(shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &row, NULL, 0, &column) == 0);
    mine = 1 + me;
    EXPECT(shmem_long_sum_reduce(row, &sums[0], &mine, 1) == 0 && shmem_long_sum_reduce(column, &sums[1], &mine, 1) == 0);
    long across = 0, down = 0;
    for (int p = 0; p < n; p++) {
        if (p / width == me / width) across += 1 + p;
        if (p % width == me % width) down += 1 + p;
    }
    EXPECT(sums[0] == across && sums[1] == down);
    shmem_team_destroy(row), shmem_team_destroy(column);
    EXPECT(shmem_team_ptr(SHMEM_TEAM_SHARED, &told, shmem_team_my_pe(SHMEM_TEAM_SHARED)) == &told);
    shmem_barrier_all();
}

/* What PEs have in different numbers, in one row; everybody's piece for everybody; every second element; from each in turn. */
static void moves(int me, int n) {
    static int from[200], into[64 * 64], strided[40];
    static size_t before_me;
    for (int i = 0; i <= me; i++) from[i] = 100 * me + i;
    EXPECT(shmem_int_collect(SHMEM_TEAM_WORLD, into, from, (size_t)me + 1) == 0);
    for (int p = 0, at = 0; p < n; p++)
        for (int i = 0; i <= p; i++) EXPECT(into[at++] == 100 * p + i);
    shmem_barrier_all();
    for (int i = 0; i < 2 * n + 2; i++) from[i] = 1000 * me + i;
    EXPECT(shmem_int_alltoall(SHMEM_TEAM_WORLD, into, from, 2) == 0);
    for (int p = 0; p < n; p++) EXPECT(into[2 * p] == 1000 * p + 2 * me && into[2 * p + 1] == 1000 * p + 2 * me + 1);
    shmem_barrier_all();
    EXPECT(shmem_int_alltoalls(SHMEM_TEAM_WORLD, into, from, 2, 1, 2) == 0); /* with a gap behind each */
    for (int p = 0; p < n; p++) EXPECT(into[4 * p] == 1000 * p + 2 * me && into[4 * p + 2] == 1000 * p + 2 * me + 1);
    shmem_barrier_all();
    EXPECT(shmem_int_fcollect(SHMEM_TEAM_WORLD, into, from, 3) == 0);
    for (int p = 0; p < n; p++) EXPECT(into[3 * p + 2] == 1000 * p + 2);
    for (int root = 0; root < n; root++) {
        EXPECT(shmem_int_broadcast(SHMEM_TEAM_WORLD, into, from, 4, root) == 0);
        EXPECT(into[3] == 1000 * root + 3);
        shmem_sync(SHMEM_TEAM_WORLD);
    }
    int const next = (me + 1) % n;
    for (int i = 0; i < 40; i++) strided[i] = -1;
    shmem_barrier_all();
    int const line[10] = {me, me + 1, me + 2, me + 3, me + 4, me + 5, me + 6, me + 7, me + 8, me + 9};
    shmem_int_iput(strided, line, 3, 2, 5, next); /* every second, to every third */
    shmem_barrier_all();
    int back[5];
    shmem_int_iget(back, strided, 1, 3, 5, next);
    for (int i = 0; i < 5; i++)
        EXPECT(strided[3 * i] == (me + n - 1) % n + 2 * i && strided[3 * i + 1] == -1 && back[i] == me + 2 * i);
    from[0] = me + 1;
    EXPECT(shmem_int_max_reduce(SHMEM_TEAM_WORLD, into, from, 1) == 0 && into[0] == n);
    shmem_barrier_all();
    EXPECT(shmem_int_prod_reduce(SHMEM_TEAM_WORLD, into, from, 1) == 0);
    unsigned product = 1;
    for (int p = 1; p <= n; p++) product *= (unsigned)p;
    EXPECT((unsigned)into[0] == product);
    before_me = (size_t)me;
    shmem_barrier_all();
    EXPECT(shmem_size_g(&before_me, next) == (size_t)next);
}

/* Signals are counted: everybody's block is there when the count is full. */
static void counted(int me, int n) {
    enum { width = 16 };
    static float blocks[64][width];
    static uint64_t come;
    float block[width];
    for (int i = 0; i < width; i++) block[i] = (float)(me * width + i);
    for (int p = 0; p < n; p++) shmem_float_put_signal_nbi(blocks[me], block, width, &come, 1, SHMEM_SIGNAL_ADD, p);
    EXPECT(shmem_signal_wait_until(&come, SHMEM_CMP_EQ, (uint64_t)n) == (uint64_t)n);
    EXPECT(shmem_signal_fetch(&come) == (uint64_t)n);
    for (int p = 0; p < n; p++)
        for (int i = 0; i < width; i++) EXPECT(blocks[p][i] == (float)(p * width + i));
    shmem_quiet();
    shmem_barrier_all();
}

/* Everybody adds up the rows of all: while one is added the next is on its way, by two contexts in turn. */
static void pipelined_sum(int me, int n) {
    enum { width = 300 };
    static long row[width];
    long coming[2][width], sum[width];
    shmem_ctx_t by[2];
    for (int i = 0; i < width; i++) sum[i] = row[i] = me * width + i;
    for (int k = 0; k < 2; k++) EXPECT(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &by[k]) == 0);
    shmem_barrier_all();
    for (int k = 0; k < n; k++) {
        int const now = k % 2, later = 1 - now;
        if (k + 1 < n) shmem_ctx_long_get_nbi(by[later], coming[later], row, width, (me + k + 1) % n);
        if (k == 0) continue; /* the own row is there */
        shmem_ctx_quiet(by[now]);
        for (int i = 0; i < width; i++) sum[i] += coming[now][i];
    }
    for (int i = 0; i < width; i++) EXPECT(sum[i] == (long)width * n * (n - 1) / 2 + (long)n * i);
    shmem_barrier_all();
    shmem_ctx_destroy(by[0]), shmem_ctx_destroy(by[1]);
}

/* A program says what belongs together: many small puts, then updates of one kind. What comes is the same. */
static void sessions(int me, int n) {
    enum { each = 8 };
    static int places[64][each];
    static long updates;
    shmem_ctx_session_config_t const puts = {(size_t)(each * n)};
    shmem_ctx_t ctx;
    EXPECT(shmem_ctx_create(0, &ctx) == 0);
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &puts, SHMEM_CTX_SESSION_TOTAL_OPS);
    for (int i = 0; i < each; i++)
        for (int p = 0; p < n; p++) shmem_ctx_int_p(ctx, &places[me][i], 100 * me + i, p);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH | SHMEM_CTX_SESSION_SAME_AMO, NULL, 0);
    for (int p = 0; p < n; p++) shmem_ctx_long_atomic_add(ctx, &updates, me + 1, p);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_quiet(ctx);
    shmem_sync_all();
    for (int p = 0; p < n; p++)
        for (int i = 0; i < each; i++) EXPECT(places[p][i] == 100 * p + i);
    EXPECT(updates == (long)n * (n + 1) / 2);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
}

/* The even PEs alone, as an active set: the last of them tells, all add up, each collects what all have. */
static void even_pes(int me, int n) {
    enum { each = 4 };
    static long sync_a[SHMEM_COLLECT_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE], sync_b[SHMEM_REDUCE_SYNC_SIZE];
    static long told[each], mine[each], all[64 * each];
    static int sum, number, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    int const size = (n + 1) / 2, root = size - 1;
    for (size_t i = 0; i < sizeof sync_a / sizeof sync_a[0]; i++) sync_a[i] = SHMEM_SYNC_VALUE;
    for (size_t i = 0; i < sizeof sync_b / sizeof sync_b[0]; i++) sync_b[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < each; i++) mine[i] = 10 * me + i, told[i] = -1;
    number = me + 1;
    shmem_barrier_all();
    if (me % 2 == 0) {
        shmem_broadcast64(told, mine, each, root, 0, 1, size, sync_a);
        for (int i = 0; i < each; i++) EXPECT(told[i] == (me == 2 * root ? -1 : 20 * root + i)); /* the root keeps its own */
        shmem_int_sum_to_all(&sum, &number, 1, 0, 1, size, work, sync_b);
        EXPECT(sum == size * size); /* of so many odd numbers */
        shmem_fcollect64(all, mine, each, 0, 1, size, sync_a);
        for (int p = 0; p < size; p++)
            for (int i = 0; i < each; i++) EXPECT(all[p * each + i] == 20 * p + i);
        shmem_barrier(0, 1, size, sync_b);
    }
    shmem_barrier_all();
}

/* A number of shmem_init has as many shmem_finalize: only the last one ends. */
int main(void) {
    shmem_init();
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    last_one_sums(me, n), pipeline(me, n), bucket_sort(me, n), halo(me, n);
    races(me, n), bits(me, n), order(me, n), work(me, n), teams(me, n), moves(me, n), counted(me, n);
    pipelined_sum(me, n), sessions(me, n), even_pes(me, n);
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
