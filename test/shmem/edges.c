/* What the specification says of nothing, of handles that are none, and of the greatest and the least: 0 elements, no team, no context,
   sets of which nobody is waited for, sizes that overflow, teams of teams in any direction. */
#include "check.h"

static long here_;
static uint64_t signal_;

static void memory(int me, int n) {
    EXPECT(!shmem_malloc(0) && !shmem_calloc(0, 8) && !shmem_calloc(8, 0) && !shmem_align(64, 0) && !shmem_realloc(NULL, 0));
    EXPECT(!shmem_malloc_with_hints(0, 0) && !shmem_calloc(SIZE_MAX / 2, 3) && !shmem_calloc(SIZE_MAX, SIZE_MAX));
    EXPECT(!shmem_malloc(SIZE_MAX) && !shmem_align(1 << 20, SIZE_MAX) && !shmem_align(24, 8));
    shmem_free(NULL);
    for (size_t power = sizeof(void*); power <= 8 << 20; power *= 2) { /* beyond a huge page, too */
        void *const small = shmem_malloc(8), *const p = shmem_align(power, power + 8);
        long* const last = (long*)((char*)p + power);
        EXPECT(p && (uintptr_t)p % power == 0);
        *last = 0;
        shmem_barrier_all();
        shmem_long_p(last, (long)power + me, (me + 1) % n);
        shmem_barrier_all();
        EXPECT(*last == (long)power + (me + n - 1) % n);
        shmem_free(small), shmem_free(p);
    }
    long const hints[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                          SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE};
    for (int i = 0; i < 4; i++) {
        uint64_t* const p = shmem_malloc_with_hints(3 * sizeof(uint64_t), hints[i]);
        *p = 0;
        shmem_barrier_all();
        shmem_uint64_atomic_add(p, (uint64_t)me, (me + 1) % n);
        shmem_barrier_all();
        EXPECT(*p == (uint64_t)((me + n - 1) % n));
        EXPECT(!shmem_realloc(p, SIZE_MAX) && *p == (uint64_t)((me + n - 1) % n)); /* it is as it was */
        EXPECT(!shmem_realloc(p, 0));                                              /* freed */
    }
    int mine = 0;
    EXPECT(!shmem_ptr(&mine, me) && shmem_ptr(&here_, me) == &here_ && (n == 1 || shmem_ptr(&here_, (me + 1) % n) != &here_));
    EXPECT(!shmem_team_ptr(SHMEM_TEAM_INVALID, &here_, 0) && shmem_team_ptr(SHMEM_TEAM_WORLD, &here_, me) == &here_);
    EXPECT(shmem_addr_accessible(&here_, (me + 1) % n) && !shmem_addr_accessible(&mine, me));
    EXPECT(shmem_pe_accessible(n - 1) && !shmem_pe_accessible(n) && !shmem_pe_accessible(-1));
}

/* Static constants are read as static variables are. */
static void constants(int me, int n) {
    static long const primes[4] = {2, 3, 5, 7};
    static long sums[4];
    int const from = (me + 1) % n;
    long got[4] = {0};
    shmem_long_get(got, primes, 4, from);
    EXPECT(memcmp(got, primes, sizeof got) == 0);
    shmem_long_iget(got, primes, 1, 2, 2, from);
    EXPECT(got[1] == 5 && shmem_long_g(&primes[3], from) == 7 && shmem_long_atomic_fetch(&primes[1], from) == 3);
    EXPECT(shmem_addr_accessible(primes, from) && shmem_ptr(primes, me) == primes);
    EXPECT(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums, primes, 4) == 0 && sums[2] == 5L * n);
    shmem_barrier_all();
}

static void nothing(int me, int n) {
    int const to = (me + 1) % n;
    here_ = 7, signal_ = 0;
    shmem_barrier_all();
    shmem_long_put(&here_, NULL, 0, to), shmem_long_get(NULL, &here_, 0, to), shmem_putmem_nbi(&here_, NULL, 0, to);
    shmem_long_iput(&here_, NULL, 1, 1, 0, to), shmem_long_iget(NULL, &here_, 1, 1, 0, to);
    shmem_long_ibput(&here_, NULL, 1, 1, 1, 0, to), shmem_long_ibget(NULL, &here_, 1, 1, 1, 0, to);
    shmem_long_put(NULL, NULL, 0, to), shmem_long_get(NULL, NULL, 0, to), shmem_getmem_nbi(NULL, NULL, 0, to);
    EXPECT(here_ == 7);
    shmem_barrier_all();
    shmem_long_put_signal(&here_, NULL, 0, &signal_, 5, SHMEM_SIGNAL_ADD, to); /* the signal goes all the same */
    EXPECT(shmem_signal_wait_until(&signal_, SHMEM_CMP_GE, 5) == 5);
    long values[1] = {0};
    size_t which[1];
    int const all_out[1] = {1};
    shmem_long_wait_until_all(&here_, 0, NULL, SHMEM_CMP_EQ, 1), shmem_long_wait_until_all(&here_, 1, all_out, SHMEM_CMP_EQ, 1);
    shmem_long_wait_until_all_vector(&here_, 0, NULL, SHMEM_CMP_EQ, values);
    EXPECT(shmem_long_wait_until_any(&here_, 0, NULL, SHMEM_CMP_EQ, 1) == SIZE_MAX);
    EXPECT(shmem_long_wait_until_any(&here_, 1, all_out, SHMEM_CMP_EQ, 1) == SIZE_MAX);
    EXPECT(shmem_long_wait_until_some(&here_, 0, which, NULL, SHMEM_CMP_EQ, 1) == 0);
    EXPECT(shmem_long_wait_until_some_vector(&here_, 1, which, all_out, SHMEM_CMP_EQ, values) == 0);
    EXPECT(shmem_long_test_all(&here_, 0, NULL, SHMEM_CMP_EQ, 1) == 1 &&
           shmem_long_test_all(&here_, 1, all_out, SHMEM_CMP_EQ, 1) == 1);
    EXPECT(shmem_long_test_any(&here_, 0, NULL, SHMEM_CMP_EQ, 1) == SIZE_MAX);
    EXPECT(shmem_long_test_some(&here_, 1, which, all_out, SHMEM_CMP_EQ, 1) == 0);
    shmem_barrier_all();
}

static void no_team(void) {
    shmem_team_t none = SHMEM_TEAM_WORLD, x = none, y = none;
    shmem_team_config_t config = {3};
    EXPECT(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    EXPECT(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
    EXPECT(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID) == -1);
    EXPECT(shmem_team_translate_pe(SHMEM_TEAM_WORLD, shmem_n_pes(), SHMEM_TEAM_WORLD) == -1);
    EXPECT(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0 && config.num_contexts == 3);
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &none) != 0 && none == SHMEM_TEAM_INVALID);
    EXPECT(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &x, NULL, 0, &y) != 0);
    EXPECT(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID);
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    EXPECT(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
    EXPECT(shmem_ctx_get_team(SHMEM_CTX_INVALID, &none) != 0 && none == SHMEM_TEAM_INVALID);
    EXPECT(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &none) == 0 && none == SHMEM_TEAM_WORLD);
    shmem_team_destroy(SHMEM_TEAM_INVALID), shmem_ctx_destroy(SHMEM_CTX_INVALID);
    /* Order and hints do nothing without a context; a session may be begun twice, and ended more often. */
    int const me = shmem_my_pe();
    shmem_ctx_session_config_t const calls = {10};
    shmem_ctx_fence(SHMEM_CTX_INVALID), shmem_ctx_quiet(SHMEM_CTX_INVALID), shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, &me, 1);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, &calls, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, 0, NULL, 0),
        shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_SAME_AMO, NULL, 0);
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT), shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
    shmem_pe_quiet(NULL, 0), shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, NULL, 0);
    EXPECT(shmem_team_sync(SHMEM_TEAM_WORLD) == 0);
}

/* Back to front, then every second of these, then rows of the rest; everybody knows everybody's numbers. */
static void teams(int me, int n) {
    shmem_team_t back, some, x, y, all;
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &back) == 0);
    EXPECT(shmem_team_my_pe(back) == n - 1 - me && shmem_team_translate_pe(back, 0, SHMEM_TEAM_WORLD) == n - 1);
    EXPECT(shmem_team_split_strided(back, 0, 2, (n + 1) / 2, NULL, 0, &some) == 0);
    int const in = (n - 1 - me) % 2 == 0;
    EXPECT((some != SHMEM_TEAM_INVALID) == in);
    if (in) {
        EXPECT(shmem_team_my_pe(some) == (n - 1 - me) / 2 && shmem_team_translate_pe(some, 0, back) == 0);
        EXPECT(n < 2 || shmem_team_translate_pe(SHMEM_TEAM_WORLD, n - 2, some) == -1);
        EXPECT(shmem_team_split_2d(some, 2, NULL, 0, &x, NULL, 0, &y) == 0);
        int const mine = shmem_team_my_pe(some), size = shmem_team_n_pes(some);
        EXPECT(shmem_team_my_pe(x) == mine % 2 && shmem_team_my_pe(y) == mine / 2);
        EXPECT(shmem_team_n_pes(x) == (mine / 2 * 2 + 1 < size ? 2 : 1));
        static long from, into;
        from = me + 1;
        EXPECT(shmem_team_sync(some) == 0 && shmem_long_sum_reduce(y, &into, &from, 1) == 0);
        long sum = 0;
        for (int i = mine % 2; i < size; i += 2) sum += n - 1 - 2 * i + 1;
        EXPECT(into == sum);
        shmem_ctx_t ctx;
        EXPECT(shmem_team_create_ctx(x, 0, &ctx) == 0);
        EXPECT(shmem_ctx_long_g(ctx, &from, shmem_team_n_pes(x) - 1) > 0);
        shmem_ctx_destroy(ctx);
        shmem_team_destroy(y), shmem_team_destroy(x), shmem_team_destroy(some);
    }
    EXPECT(shmem_team_split_strided(back, 0, 0, 1, NULL, 0, &all) == 0 && (all != SHMEM_TEAM_INVALID) == (me == n - 1));
    shmem_team_destroy(all);
    EXPECT(shmem_team_split_strided(back, 0, 1, n + 1, NULL, 0, &all) != 0 && all == SHMEM_TEAM_INVALID);
    EXPECT(shmem_team_split_strided(back, -1, 1, 1, NULL, 0, &all) != 0 &&
           shmem_team_split_strided(back, 0, 1, 0, NULL, 0, &all) != 0);
    shmem_team_destroy(back);
}

/* As many as there is memory for; a handle is used once. */
static void crowd_of_teams(int n) {
    enum { many = 4200 };
    static shmem_team_t team[many];
    shmem_team_t x, y, z;
    for (int i = 0; i < many; i++) EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team[i]) == 0);
    shmem_team_t const old = team[7];
    shmem_team_destroy(old);
#ifndef MPT_TEST_CHECKED /* where it is a mistake that ends the job */
    EXPECT(shmem_team_n_pes(old) == -1);
#endif
    EXPECT(shmem_team_n_pes(team[many - 1]) == n);
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team[7]) == 0 && team[7] != old);
    EXPECT(shmemx_team_split_3d(team[7], n, 1, 1, &x, &y, &z) == 0 && shmem_team_n_pes(x) == n);
    EXPECT(shmem_team_sync(team[many - 1]) == 0 && shmem_team_n_pes(y) == 1 && shmem_team_n_pes(z) == 1);
    shmem_team_destroy(x), shmem_team_destroy(y), shmem_team_destroy(z);
    for (int i = 0; i < many; i++) shmem_team_destroy(team[i]);
    shmem_barrier_all();
}

/* Collectives of nothing, in place, and of other lengths everywhere. */
static void collectives(int me, int n) {
    static long all[512], own[2];
    EXPECT(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all, own, 0) == 0 &&
           shmem_long_broadcast(SHMEM_TEAM_WORLD, all, own, 0, 0) == 0);
    EXPECT(shmem_long_alltoall(SHMEM_TEAM_WORLD, all, own, 0) == 0 && shmem_alltoallmem(SHMEM_TEAM_WORLD, all, own, 0) == 0 &&
           shmem_long_alltoalls(SHMEM_TEAM_WORLD, all, own, 1, 1, 0) == 0);
    EXPECT(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, all, own, 0) == 0 &&
           shmem_long_sum_exscan(SHMEM_TEAM_WORLD, all, own, 0) == 0);
    EXPECT(shmem_long_collect(SHMEM_TEAM_WORLD, all, own, 0) == 0 && shmem_long_fcollect(SHMEM_TEAM_WORLD, all, own, 0) == 0);
    own[0] = own[1] = me + 1;
    shmem_barrier_all();
    EXPECT(shmem_long_collect(SHMEM_TEAM_WORLD, all, own, (size_t)(me % 2)) == 0); /* only the odd ones give any */
    for (int p = 1; p < n; p += 2) EXPECT(all[p / 2] == p + 1);
    shmem_barrier_all();
    EXPECT(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, own, own, 2) == 0 && own[0] == (long)n * (n + 1) / 2 && own[1] == own[0]);
    own[0] = me;
    shmem_barrier_all();
    EXPECT(shmem_long_sum_exscan(SHMEM_TEAM_WORLD, all, own, 1) == 0 && all[0] == (long)me * (me - 1) / 2);
    EXPECT(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, all, own, 1) == 0 && all[0] == (long)me * (me + 1) / 2);
    shmem_barrier_all();
}

/* More contexts than a small table would hold. */
static void contexts(int me, int n) {
    enum { many = 1024 };
    static shmem_ctx_t ctx[many];
    shmem_ctx_t more;
    int const to = (me + 1) % n;
    here_ = 0;
    shmem_barrier_all();
    for (int i = 0; i < many; i++) EXPECT(shmem_ctx_create(i % 2 ? SHMEM_CTX_NOSTORE : 0, &ctx[i]) == 0);
    EXPECT(shmem_ctx_create(0, &more) != 0 && more == SHMEM_CTX_INVALID); /* SHMEM_MAX_CTX */
    for (int i = 0; i < many; i++) shmem_ctx_long_atomic_inc(ctx[i], &here_, to);
    for (int i = 0; i < many; i++) shmem_ctx_quiet(ctx[i]);
    shmem_sync_all();
    EXPECT(here_ == many);
    shmem_ctx_destroy(ctx[500]);
    EXPECT(shmem_ctx_create(0, &ctx[500]) == 0 && shmem_ctx_create(0, &more) != 0);
    for (int i = 0; i < many; i++) shmem_ctx_destroy(ctx[i]);
    shmem_barrier_all();
}

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    memory(me, n), constants(me, n), nothing(me, n), no_team(), teams(me, n), crowd_of_teams(n), collectives(me, n),
        contexts(me, n);
    return ended();
}
