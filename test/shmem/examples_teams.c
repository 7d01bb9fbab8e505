/* Examples of OpenSHMEM's text: Team Management Routines, and contexts of teams. Which example lies where stands in docs/c-binding.md. */
#include "check.h"

/* shmem_team_split_strided, shmem_team_my_pe, shmem_team_n_pes: half of the PEs, every second one, and nobody else. */
static void every_second(int me, int n) {
    shmem_team_t team = SHMEM_TEAM_WORLD;
    if (n < 2) return; /* there is no half of one */
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n / 2, NULL, 0, &team) == 0);
    int const is_in = me % 2 == 0 && me / 2 < n / 2;
    EXPECT((team != SHMEM_TEAM_INVALID) == is_in);
    EXPECT(shmem_team_my_pe(team) == (is_in ? me / 2 : -1) && shmem_team_n_pes(team) == (is_in ? n / 2 : -1));
    shmem_team_destroy(team);
}

/* shmem_team_translate_pe: a number in a team is told in the team of all, and the other way round; who is not there is -1. */
static void translated(int me, int n) {
    shmem_team_t even;
    int const size = (n + 1) / 2;
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, size, NULL, 0, &even) == 0);
    if (even != SHMEM_TEAM_INVALID) {
        EXPECT(shmem_team_translate_pe(even, shmem_team_my_pe(even), SHMEM_TEAM_WORLD) == me);
        for (int p = 0; p < size; p++) EXPECT(shmem_team_translate_pe(even, p, SHMEM_TEAM_WORLD) == 2 * p);
        for (int p = 0; p < n; p++) EXPECT(shmem_team_translate_pe(SHMEM_TEAM_WORLD, p, even) == (p % 2 == 0 ? p / 2 : -1));
    } else EXPECT(shmem_team_translate_pe(even, 0, SHMEM_TEAM_WORLD) == -1);
    shmem_team_destroy(even);
}

/* shmem_team_split_2d twice makes a space of three axes: a PE has its place on each, and an axis sums its own line. */
static void space(int me, int n) {
    static int mine, sum[3];
    int const wide = n > 2 ? 2 : 1, deep = n > 4 ? 2 : n > 1 ? n / wide : 1;
    shmem_team_t x, yz, y, z;
    EXPECT(shmem_team_split_2d(SHMEM_TEAM_WORLD, wide, NULL, 0, &x, NULL, 0, &yz) == 0);
    EXPECT(shmem_team_split_2d(yz, deep, NULL, 0, &y, NULL, 0, &z) == 0);
    shmem_team_destroy(yz);
    int const at_x = me % wide, at_y = me / wide % deep, at_z = me / wide / deep;
    EXPECT(shmem_team_my_pe(x) == at_x && shmem_team_my_pe(y) == at_y && shmem_team_my_pe(z) == at_z);
    mine = 1 << me;
    int expected[3] = {0, 0, 0};
    for (int p = 0; p < n; p++) {
        int const px = p % wide, py = p / wide % deep, pz = p / wide / deep;
        if (py == at_y && pz == at_z) expected[0] += 1 << p;
        if (px == at_x && pz == at_z) expected[1] += 1 << p;
        if (px == at_x && py == at_y) expected[2] += 1 << p;
    }
    EXPECT(shmem_sum_reduce(x, &sum[0], &mine, 1) == 0 && sum[0] == expected[0]);
    EXPECT(shmem_sum_reduce(y, &sum[1], &mine, 1) == 0 && sum[1] == expected[1]);
    EXPECT(shmem_sum_reduce(z, &sum[2], &mine, 1) == 0 && sum[2] == expected[2]);
    shmem_team_destroy(x), shmem_team_destroy(y), shmem_team_destroy(z);
}

/* shmem_team_config_t, shmem_team_get_config: a team that was to have two contexts says so, and has them. */
static void configured(int me, int n) {
    static long told[2];
    shmem_team_config_t config = {.num_contexts = 2};
    shmem_team_t team;
    shmem_ctx_t ctx[2];
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
    config.num_contexts = -1;
    EXPECT(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 2);
    for (int k = 0; k < 2; k++) {
        EXPECT(shmem_team_create_ctx(team, SHMEM_CTX_SERIALIZED, &ctx[k]) == 0);
        shmem_p(ctx[k], &told[k], 10L * me + k, (me + 1) % n);
        shmem_ctx_quiet(ctx[k]);
    }
    shmem_team_sync(team);
    for (int k = 0; k < 2; k++) {
        EXPECT(told[k] == 10L * ((me + n - 1) % n) + k);
        shmem_ctx_destroy(ctx[k]);
    }
    shmem_team_destroy(team);
}

/* shmem_team_ptr (1.6): the next one's heap by its number in the team of those that share theirs; null for no team. */
static void next_in_team(int me, int n) {
    int* const cells = shmem_calloc(4, sizeof(int));
    int const here = shmem_team_my_pe(SHMEM_TEAM_SHARED), size = shmem_team_n_pes(SHMEM_TEAM_SHARED);
    int* const there = shmem_team_ptr(SHMEM_TEAM_SHARED, cells, (here + 1) % size);
    EXPECT(there != NULL && size <= n);
    for (int i = 0; there && i < 4; i++) there[i] = 10 * me + i;
    shmem_barrier_all();
    int const before = shmem_team_translate_pe(SHMEM_TEAM_SHARED, (here + size - 1) % size, SHMEM_TEAM_WORLD);
    for (int i = 0; i < 4; i++) EXPECT(cells[i] == 10 * before + i);
    EXPECT(shmem_team_ptr(SHMEM_TEAM_INVALID, cells, 0) == NULL);
    shmem_free(cells);
}

static int translate_by(shmem_ctx_t from, int pe, shmem_ctx_t to) {
    shmem_team_t of_from, of_to;
    if (shmem_ctx_get_team(from, &of_from) != 0 || shmem_ctx_get_team(to, &of_to) != 0) return -1;
    return shmem_team_translate_pe(of_from, pe, of_to);
}
static void tell_next(shmem_ctx_t ctx, int* cell) {
    shmem_team_t team;
    if (shmem_ctx_get_team(ctx, &team) != 0) return; /* the caller is not of it */
    int const here = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
    shmem_put(ctx, cell, &here, 1, (here + 1) % size);
}

/* shmem_team_create_ctx, shmem_ctx_get_team: functions that know a context alone find its team; of two teams that overlap, the last PE of
   one is found in the other, and all who are in both add up there. */
static void two_teams(int me, int n) {
    static int by_two, by_three, total;
    shmem_team_config_t const one = {.num_contexts = 1};
    shmem_team_t twos, threes;
    shmem_ctx_t of_twos = SHMEM_CTX_INVALID, of_threes = SHMEM_CTX_INVALID;
    int const size_2 = (n + 1) / 2, size_3 = (n + 2) / 3;
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, size_2, &one, SHMEM_TEAM_NUM_CONTEXTS, &twos) == 0);
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 3, size_3, &one, SHMEM_TEAM_NUM_CONTEXTS, &threes) == 0);
    EXPECT((shmem_team_create_ctx(twos, 0, &of_twos) == 0) == (me % 2 == 0));
    EXPECT((shmem_team_create_ctx(threes, 0, &of_threes) == 0) == (me % 3 == 0));
    EXPECT((of_twos == SHMEM_CTX_INVALID) == (me % 2 != 0) && (of_threes == SHMEM_CTX_INVALID) == (me % 3 != 0));
    by_two = by_three = -1;
    shmem_barrier_all();
    tell_next(of_twos, &by_two), tell_next(of_threes, &by_three);
    shmem_ctx_quiet(of_twos), shmem_ctx_quiet(of_threes); /* one without a context does nothing */
    shmem_team_sync(SHMEM_TEAM_WORLD);
    EXPECT(by_two == (me % 2 == 0 ? (me / 2 + size_2 - 1) % size_2 : -1));
    EXPECT(by_three == (me % 3 == 0 ? (me / 3 + size_3 - 1) % size_3 : -1));
    int const both = (size_3 - 1) / 2 * 2; /* of the threes, the last that is of the twos, too */
    if (me % 6 == 0) {
        int const there = translate_by(of_threes, both, of_twos);
        EXPECT(there == 3 * both / 2);
        shmem_atomic_add(of_twos, &total, by_two + by_three, there);
        shmem_ctx_quiet(of_twos);
    } else EXPECT(translate_by(of_threes, both, of_twos) == -1);
    shmem_team_sync(SHMEM_TEAM_WORLD);
    int expected = 0;
    for (int p = 0; p < n; p += 6) expected += (p / 2 + size_2 - 1) % size_2 + (p / 3 + size_3 - 1) % size_3;
    EXPECT(total == (me == 3 * both ? expected : 0));
    shmem_ctx_destroy(of_twos), shmem_ctx_destroy(of_threes);
    shmem_team_destroy(twos), shmem_team_destroy(threes);
    shmem_barrier_all();
}

/* shmem_team_destroy: collectives of a part while the rest does something else; then the part of the part. */
static void part_of_part(int me, int n) {
    static long mine, sum;
    shmem_team_t upper, last;
    int const first = n / 2, size = n - first;
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, first, 1, size, NULL, 0, &upper) == 0);
    if (upper != SHMEM_TEAM_INVALID) {
        mine = me + 1L;
        EXPECT(shmem_sum_reduce(upper, &sum, &mine, 1) == 0);
        EXPECT(sum == (long)n * (n + 1) / 2 - (long)first * (first + 1) / 2);
        EXPECT(shmem_team_split_strided(upper, size - 1, 1, 1, NULL, 0, &last) == 0); /* counted in the team */
        EXPECT((last != SHMEM_TEAM_INVALID) == (me == n - 1));
        if (last != SHMEM_TEAM_INVALID) EXPECT(shmem_team_n_pes(last) == 1 && shmem_team_sync(last) == 0);
        shmem_team_destroy(last), shmem_team_destroy(upper);
    }
    shmem_barrier_all();
}

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    every_second(me, n), translated(me, n), space(me, n), configured(me, n), next_in_team(me, n);
    two_teams(me, n), part_of_part(me, n);
    return ended();
}
