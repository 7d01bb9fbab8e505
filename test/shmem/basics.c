/* Beginning and end, who is there, memory, teams, contexts, and what does nothing. */
#include "check.h"
#include <pshmem.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static int in_data = 3;
static long sync_words[SHMEM_BARRIER_SYNC_SIZE];

static void who(int me, int n) {
    int major = 0, minor = 0, level = -1, begun = 0;
    char name[SHMEM_MAX_NAME_LEN] = "";
    shmem_info_get_version(&major, &minor);
    EXPECT(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION && _SHMEM_MAJOR_VERSION == major);
    EXPECT(OSHMEM_SPEC_VERSION == 10000 * major + 100 * minor);
    shmem_info_get_name(name);
    EXPECT(strcmp(name, SHMEM_VENDOR_STRING) == 0);
    shmem_query_thread(&level);
    EXPECT(level == SHMEM_THREAD_MULTIPLE);
    shmem_query_initialized(&begun);
    EXPECT(begun == 1);
    EXPECT(me >= 0 && me < n && pshmem_my_pe() == me && _my_pe() == me && _num_pes() == n);
    EXPECT(shmem_pe_accessible(n - 1) && !shmem_pe_accessible(n) && !shmem_pe_accessible(-1));
    shmem_pcontrol(1, 2, 3);
    shmem_set_cache_inv(), shmem_clear_cache_inv(), shmem_udcflush();
    shmem_set_cache_line_inv(&in_data), shmem_clear_cache_line_inv(&in_data), shmem_udcflush_line(&in_data);
}

static void memory(int me, int n) {
    int const next = (me + 1) % n;
    int on_stack = 0, *const from_heap = malloc(sizeof(int));
    int *const a = shmem_malloc(10 * sizeof(int)), *const b = shmem_calloc(100, sizeof(int)), *const c = shmem_align(4096, 100);
    EXPECT(a && b && c && (uintptr_t)c % 4096 == 0);
    for (int i = 0; i < 100; i++) EXPECT(b[i] == 0);
    EXPECT(shmem_addr_accessible(a, next) && shmem_addr_accessible(&in_data, next) && !shmem_addr_accessible(&on_stack, next));
    EXPECT(!shmem_addr_accessible(from_heap, next) && !shmem_addr_accessible(a, n) && !shmem_addr_accessible(NULL, 0));
    for (int i = 0; i < 10; i++) a[i] = me * 100 + i;
    shmem_barrier_all();
    int* const there = shmem_ptr(a, next);
    EXPECT(there && there[3] == next * 100 + 3);
    EXPECT(shmem_ptr(a, me) == a && shmem_team_ptr(SHMEM_TEAM_WORLD, a, next) == there && shmem_ptr(&on_stack, next) == NULL);
    EXPECT(shmem_ptr(a, n) == NULL && shmem_team_ptr(SHMEM_TEAM_INVALID, a, 0) == NULL);
    shmem_barrier_all();
    int* const more = shmem_realloc(a, 100000 * sizeof(int));
    for (int i = 0; i < 10; i++) EXPECT(more[i] == me * 100 + i);
    more[99999] = me;
    shmem_barrier_all();
    EXPECT(shmem_int_g(&more[99999], next) == next);
    EXPECT(shmem_malloc(0) == NULL && shmem_calloc(0, 4) == NULL && shmem_align(3, 8) == NULL);
    int* const hinted = shmem_malloc_with_hints(64, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    EXPECT(hinted != NULL);
    int *const old = shmalloc(8), *const older = shmemalign(64, 8);
    EXPECT(old && older && (uintptr_t)older % 64 == 0);
    int* const oldest = shrealloc(old, 800);
    shfree(oldest), shfree(older);
    shmem_free(hinted), shmem_free(NULL), shmem_free(c), shmem_free(b), shmem_free(more);
    EXPECT(shmem_malloc((size_t)1 << 50) == NULL); /* more than there is */
    free(from_heap);
}

static void teams(int me, int n) {
    EXPECT(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me && shmem_team_n_pes(SHMEM_TEAM_WORLD) == n);
    EXPECT(shmem_team_my_pe(SHMEM_TEAM_SHARED) == me && shmem_team_n_pes(SHMEM_TEAM_SHARED) == n); /* all are on this machine */
    EXPECT(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    shmem_team_config_t config = {2};
    shmem_team_t back = SHMEM_TEAM_WORLD;
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &back) ==
           0); /* the other way round */
    EXPECT(shmem_team_my_pe(back) == n - 1 - me && shmem_team_n_pes(back) == n);
    EXPECT(shmem_team_translate_pe(back, 0, SHMEM_TEAM_WORLD) == n - 1 &&
           shmem_team_translate_pe(SHMEM_TEAM_WORLD, me, back) == n - 1 - me);
    EXPECT(shmem_team_translate_pe(back, n, SHMEM_TEAM_WORLD) == -1 &&
           shmem_team_translate_pe(back, 0, SHMEM_TEAM_INVALID) == -1);
    config.num_contexts = 0;
    EXPECT(shmem_team_get_config(back, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 2);
    EXPECT(shmem_team_get_config(SHMEM_TEAM_INVALID, 0, &config) != 0);
    shmem_team_t none;
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n + 1, NULL, 0, &none) != 0 && none == SHMEM_TEAM_INVALID);
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &none) != 0 && none == SHMEM_TEAM_INVALID);
    shmem_team_t row, column;
    EXPECT(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &row, NULL, 0, &column) == 0);
    EXPECT(shmem_team_my_pe(row) == me % 2 && shmem_team_my_pe(column) == me / 2);
    EXPECT(shmem_team_n_pes(row) == (me / 2 * 2 + 2 <= n ? 2 : 1) && shmem_team_n_pes(column) == (n - me % 2 + 1) / 2);
    /* The numbers of a team count in its contexts. */
    static int told;
    shmem_ctx_t ctx;
    shmem_team_t of;
    EXPECT(shmem_team_create_ctx(back, 0, &ctx) == 0 && shmem_ctx_get_team(ctx, &of) == 0 && of == back);
    EXPECT(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &of) == 0 && of == SHMEM_TEAM_WORLD);
    EXPECT(shmem_ctx_get_team(SHMEM_CTX_INVALID, &of) != 0 && of == SHMEM_TEAM_INVALID);
    shmem_barrier_all();
    shmem_ctx_int_p(ctx, &told, me + 1, n - 1 - me);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    EXPECT(told == me + 1 && shmem_ctx_int_g(ctx, &told, 0) == n);
    shmem_ctx_session_config_t const what = {100};
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &what, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_stop(ctx);
    shmem_barrier_all();
    shmem_ctx_destroy(ctx);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    EXPECT(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID);
    shmem_team_destroy(row), shmem_team_destroy(column), shmem_team_destroy(back);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
}

/* A team that was asked to have contexts has so many at once; one that was not, as the job. */
static void contexts_of_a_team(int n) {
    shmem_team_t two, any, none = SHMEM_TEAM_WORLD, no_column = SHMEM_TEAM_WORLD;
    shmem_team_config_t config = {2};
    shmem_ctx_t ctx[3];
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &two) == 0);
    EXPECT(shmem_team_create_ctx(two, 0, &ctx[0]) == 0 && shmem_team_create_ctx(two, SHMEM_CTX_PRIVATE, &ctx[1]) == 0);
    EXPECT(shmem_team_create_ctx(two, 0, &ctx[2]) != 0 && ctx[2] == SHMEM_CTX_INVALID);
    shmem_ctx_destroy(ctx[0]);
    EXPECT(shmem_team_create_ctx(two, 0, &ctx[2]) == 0 && shmem_team_create_ctx(two, 0, &ctx[0]) != 0);
    shmem_team_destroy(two);                                                            /* its contexts end with it */
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, 0, &any) == 0); /* the mask says: not asked */
    EXPECT(shmem_team_get_config(any, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 0);
    for (int i = 0; i < 3; i++) EXPECT(shmem_team_create_ctx(any, 0, &ctx[i]) == 0);
    for (int i = 0; i < 3; i++) shmem_ctx_destroy(ctx[i]);
    shmem_team_destroy(any);
    config.num_contexts = shmem_my_pe() == n - 1 ? 1 << 30 : 1; /* more than one PE can have: nobody gets a team */
    EXPECT(shmem_team_split_2d(SHMEM_TEAM_WORLD, n, NULL, 0, &none, &config, SHMEM_TEAM_NUM_CONTEXTS, &no_column) != 0);
    EXPECT(none == SHMEM_TEAM_INVALID && no_column == SHMEM_TEAM_INVALID);
    config.num_contexts = -1;
    EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, &config, SHMEM_TEAM_NUM_CONTEXTS, &none) != 0);
}

/* Contexts end somewhere, and then say so; what was given back can be had again. */
static void contexts(void) {
    enum { most = 5000 };
    static shmem_ctx_t all[most];
    int made = 0, again = 0;
    while (made < most && shmem_ctx_create(SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE, &all[made]) == 0) made++;
    EXPECT(made > 0 && made < most && all[made] == SHMEM_CTX_INVALID);
    for (int i = 0; i < made; i++) shmem_ctx_destroy(all[i]);
    while (again < made && shmem_ctx_create(0, &all[again]) == 0) again++;
    EXPECT(again == made);
    for (int i = 0; i < again; i++) shmem_ctx_destroy(all[i]);
}

static void* reads_for_ever(void* unused) {
    for (;;) getchar();
    return unused;
}

int main(int argc, char** argv) {
    int level = -1, begun = 1;
    if (argc > 2 && strcmp(argv[1], "never") == 0) sleep(1), exit(atoi(argv[2]));
    shmem_query_initialized(&begun);
    EXPECT(begun == 0);
    if (argc > 1 && strcmp(argv[1], "at exit") == 0) atexit(shmem_finalize);
    if (argc > 1 && strcmp(argv[1], "old") == 0) start_pes(0);
    else EXPECT(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0 && level == SHMEM_THREAD_MULTIPLE);
    int const me = shmem_my_pe(), n = shmem_n_pes();
    if (argc > 1 && strcmp(argv[1], "read") == 0) { /* a thread holds a stream, and will not let it go */
        pthread_t reader;
        pthread_create(&reader, NULL, reads_for_ever, NULL);
        usleep(100000);
        printf("what was found");
        shmem_global_exit(3);
    }
    if (argc > 2 && strcmp(argv[1], "exit") == 0) {
        if (me == n - 1) {
            usleep(300000);           /* until the others are where they are to be */
            printf("what was found"); /* and left in the buffer */
            shmem_global_exit(atoi(argv[2]));
        }
        for (int volatile computes = me == 0; computes;) continue;
        if (me == 1) shmem_int_wait_until(&in_data, SHMEM_CMP_LT, 0); /* which nobody writes */
        for (;;) shmem_barrier_all();
    }
    if (argc > 2 && strcmp(argv[1], "meet") == 0) { /* but for the last */
        static long in, out, all[64];
        if (strcmp(argv[2], "finalize") == 0) shmem_finalize(), sleep(60);
        if (strcmp(argv[2], "stopped") == 0) {
            if (me == n - 1) raise(SIGSTOP);
            usleep(300000);
            shmem_int_atomic_fetch_add(&in_data, 1, n - 1);
        }
        if (strcmp(argv[2], "lock") == 0) {
            long* const lock = shmem_calloc(1, sizeof(long));
            if (me == n - 1) shmem_set_lock(lock);
            shmem_barrier_all();
            if (me == n - 1) sleep(60);
            while (shmem_test_lock(lock) != 0) continue;
        }
        shmem_team_t team;
        int const is_made = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team) == 0;
        if (me == n - 1) usleep(500000), shmem_global_exit(1);
        if (strcmp(argv[2], "team") == 0 && is_made) shmem_team_sync(team);
        if (strcmp(argv[2], "team reduce") == 0 && is_made) shmem_long_sum_reduce(team, &out, &in, 1);
        if (strcmp(argv[2], "set") == 0) shmem_barrier(0, 0, n, sync_words);
        if (strcmp(argv[2], "barrier") == 0) shmem_barrier_all();
        if (strcmp(argv[2], "reduce") == 0) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &out, &in, 1);
        if (strcmp(argv[2], "malloc") == 0) shmem_malloc(8);
        if (strcmp(argv[2], "fcollect") == 0) shmem_long_fcollect(SHMEM_TEAM_WORLD, all, &in, 1);
    }
    if (argc > 1 && strcmp(argv[1], "exhaust") == 0) {
        size_t const much = (size_t)1 << 50;
        char const* const call = argc > 2 ? argv[2] : "";
#define EXHAUSTS(name, arguments)                                                                                              \
    if (strcmp(call, #name) == 0) EXPECT(!name arguments && !name arguments)
        EXHAUSTS(shmem_malloc, (much));
        EXHAUSTS(shmem_calloc, (1, much));
        EXHAUSTS(shmem_align, (64, much));
        EXHAUSTS(shmem_realloc, (NULL, much));
        EXHAUSTS(shmem_malloc_with_hints, (much, 0));
        EXHAUSTS(shmem_kind_malloc, (much, 1));
        EXHAUSTS(shmemx_kind_align, (64, much, 1));
        return failures;
    }
    if (argc > 1 && strcmp(argv[1], "leave") == 0) { /* without shmem_finalize, as the others do not */
        static long in, out;
        if (me != n - 1) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &out, &in, 1);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "fault") == 0) {
        if (me == 0) raise(SIGSEGV);
        shmem_barrier_all();
    }
    if (argc > 1 && strcmp(argv[1], "at exit") == 0) { /* shmem_finalize is called, but too late */
        shmem_int_p(&in_data, me, (me + 1) % n);
        return failures;
    }
    if (argc > 1 && strcmp(argv[1], "old") == 0) return failures; /* nobody has to call shmem_finalize */
    who(me, n), memory(me, n), teams(me, n), contexts_of_a_team(n), contexts();
    int const failed = ended();
    shmem_finalize(); /* once more, which does nothing */
    shmem_query_initialized(&begun);
    return failed || begun;
}
