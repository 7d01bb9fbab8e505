/* One mistake for each argument: what the library of `oshcc -debug` must find (check_mistakes.py says with which words). */
#include <pthread.h>
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

static int there[4], flag;
static uint64_t a_signal;
static long work[1], numbers[4];
#define SELF 0, 0, 1 /* the active set of the first PE */

static char large[1 << 20], other[1 << 20];
static void* use_always(void* ctx) {
    for (;;) shmem_ctx_putmem(*(shmem_ctx_t*)ctx, large, other, sizeof large, 1);
    return NULL;
}
static void* use(void* ctx) {
    shmem_ctx_int_p(*(shmem_ctx_t*)ctx, there, 1, 0);
    return NULL;
}

int main(int argc, char** argv) {
    char const* const what = argc > 1 ? argv[1] : "";
    int mine[4] = {0};
    long sync_here[1] = {SHMEM_SYNC_VALUE};
#define IS(name) else if (strcmp(what, name) == 0)
    if (strcmp(what, "before") == 0) shmem_barrier_all();
    shmem_init();
    int *const heap = shmem_malloc(4 * sizeof(int)), *const freed = shmem_malloc(4);
    shmem_free(freed);
    shmem_ctx_t ctx;
    shmem_team_t team;
    shmem_ctx_create(0, &ctx);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team);
    int const me = shmem_my_pe(), all_do = strncmp(what, "all: ", 5) == 0;
    if (me != 0 && !all_do) shmem_barrier_all(); /* until the first PE's mistake ends the job */
    IS("pe") shmem_int_put(there, mine, 4, 99);
    IS("negative") shmem_int_g(there, -1);
    IS("ctx pe") shmem_ctx_int_p(ctx, there, 1, 2);
    IS("stack") shmem_int_put(mine, there, 4, 0);
    IS("constant") {
        static int const fixed[4] = {1, 2, 3, 4};
        shmem_int_put((int*)(uintptr_t)fixed, mine, 4, 0);
    }
    IS("heap") { shmem_int_p(malloc(4), 1, 0); }
    IS("beyond") shmem_int_put(heap, mine, (size_t)1 << 50, 0);
    IS("end of a block") shmem_int_put(heap + 1, mine, 4, 0);
    IS("beyond a block") shmem_int_g(heap + 4, 0);
    IS("freed") shmem_int_g(freed, 0);
    IS("overlap") shmem_int_put(there + 1, there, 3, 0);
    IS("no context") shmem_ctx_int_p(SHMEM_CTX_INVALID, there, 1, 0);
    IS("old context") { shmem_ctx_destroy(ctx), shmem_ctx_int_p(ctx, there, 1, 0); }
    IS("order of an old context") { shmem_ctx_destroy(ctx), shmem_ctx_quiet(ctx); }
    IS("session of an old context") { shmem_ctx_destroy(ctx), shmem_ctx_session_start(ctx, 0, NULL, 0); }
    IS("private") {
        pthread_t second;
        shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx);
        shmem_ctx_int_p(ctx, there, 1, 0); /* the maker may */
        pthread_create(&second, NULL, use, &ctx), pthread_join(second, NULL);
    }
    IS("serialized") {
        pthread_t second;
        shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx);
        pthread_create(&second, NULL, use_always, &ctx), use_always(&ctx);
    }
    IS("no team") shmem_int_sum_reduce(SHMEM_TEAM_INVALID, there, heap, 2);
    IS("old team") { shmem_team_destroy(team), shmem_team_sync(team); }
    IS("root") shmem_int_broadcast(team, there, heap, 2, 1);
    IS("root of a set") shmem_broadcast64(numbers, numbers, 0, -1, 0, 0, 1, work);
    IS("root beyond a set") shmem_broadcast64(numbers, numbers, 0, 99, 0, 0, 1, work);
    IS("first of a set") shmem_barrier(2, 0, 1, work);
    IS("stride of a set") shmem_sync(0, -1, 1, work);
    IS("size of a set") shmem_long_sum_to_all(numbers, numbers, 4, 0, 1, 2, numbers, work);
    IS("set of others") shmem_fcollect64(numbers, numbers, 1, 1, 0, 1, work);
    IS("list of PEs") shmem_pe_quiet((int[]){1, 99}, 2);
    IS("list of a context's PEs") shmem_ctx_pe_quiet(ctx, (int[]){-1}, 1);
    IS("no list of PEs") shmem_pe_quiet(NULL, 1);
    IS("default context ends") shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
    IS("context ends twice") { shmem_ctx_destroy(ctx), shmem_ctx_destroy(ctx); }
    IS("team of an old context") { shmem_ctx_destroy(ctx), shmem_ctx_get_team(ctx, &team); }
    IS("all PEs' team ends") shmem_team_destroy(SHMEM_TEAM_WORLD);
    IS("team ends twice") { shmem_team_destroy(team), shmem_team_destroy(team); }
    IS("node's team ends") {
        team = SHMEM_TEAM_SHARED;
        shmemx_team_destroy(&team);
    }
    IS("size of an old team") { shmem_team_destroy(team), shmem_team_n_pes(team); }
    IS("put of what it writes") shmem_int_put(heap, (int*)shmem_ptr(heap, 1) + 1, 3, 1);
    IS("get into what it reads") shmem_ctx_getmem(ctx, (char*)shmem_ptr(heap, 0) + 4, heap, 8, 0);
    IS("get into a PE's") shmem_int_iget((int*)shmem_ptr(heap, 1) + 1, heap, 1, 1, 3, 1);
    IS("pSync in dest") shmem_broadcast64(numbers, numbers, 2, 0, SELF, numbers + 1);
    IS("pSync in source") shmem_collect32(large, other, 64, SELF, (long*)(other + 8));
    IS("pWrk in source") shmem_long_sum_to_all(numbers, numbers + 2, 2, SELF, numbers + 3, work);
    IS("pWrk and pSync") shmem_long_sum_to_all(numbers, numbers + 2, 1, SELF, work, work);
    IS("reduce overlap") shmem_int_sum_reduce(team, there, there + 1, 2);
    IS("team reduce overlap") shmemx_team_int_sum_to_all(team, there, there + 1, 2, there, work);
    IS("set reduce overlap") shmem_int_max_to_all(there + 1, there, 2, SELF, heap, work);
    IS("scan overlap") shmem_int_sum_inscan(team, there + 1, there, 2);
    IS("broadcast overlap") shmem_int_broadcast(team, there, there + 1, 2, 0);
    IS("set broadcast overlap") shmem_broadcast32(there, there + 1, 2, 0, SELF, work);
    IS("collect overlap") shmem_int_collect(team, there + 1, there, 2);
    IS("collect in place") shmem_collectmem(team, there, there, 4);
    IS("set collect overlap") shmem_collect64(numbers, numbers + 1, 2, SELF, work);
    IS("fcollect overlap") shmem_int_fcollect(team, there, there + 1, 2);
    IS("fcollect bytes overlap") shmem_fcollectmem(team, there, (char*)there + 3, 4);
    IS("set fcollect overlap") shmem_fcollect32(there, there, 1, SELF, work);
    IS("alltoall overlap") shmem_int_alltoall(team, there, there + 1, 2);
    IS("set alltoall overlap") shmem_alltoall64(numbers + 1, numbers, 2, SELF, work);
    IS("alltoalls overlap") shmem_int_alltoalls(team, there, there + 1, 1, 2, 2);
    IS("alltoalls bytes overlap") shmem_alltoallsmem(team, there, (char*)there + 4, 2, 1, 4);
    IS("set alltoalls overlap") shmem_alltoalls32(there, there + 2, 2, 1, 2, SELF, work);
    IS("iput overlap") shmem_int_iput(there, there + 2, 2, 1, 2, 0);
    IS("iget overlap") shmem_ctx_iget32(ctx, there + 3, there, -1, 2, 2, 0);
    IS("ibput overlap") shmem_int_ibput(there, there + 1, 2, 3, 2, 1, 0);
    IS("ibget overlap") shmem_ibget64(numbers, numbers + 1, 2, 2, 2, 1, 0);
    IS("pSync of a barrier") shmem_barrier(SELF, sync_here);
    IS("pSync of a sync") shmem_sync(SELF, NULL);
    IS("pSync of a broadcast") shmem_broadcast64(numbers, numbers, 1, 0, SELF, sync_here);
    IS("pSync of a collect") shmem_collect64(numbers, numbers + 2, 1, SELF, sync_here);
    IS("pSync of a fcollect") shmem_fcollect32(numbers, numbers + 2, 1, SELF, sync_here);
    IS("pSync of an alltoall") shmem_alltoall32(numbers, numbers + 2, 1, SELF, sync_here);
    IS("pSync of an alltoalls") shmem_alltoalls64(numbers, numbers + 2, 1, 1, 1, SELF, sync_here);
    IS("pSync that is too short") shmem_barrier(SELF, (long*)(void*)(heap + 3));
    IS("pSync of a reduction") shmem_long_sum_to_all(numbers, numbers, 1, SELF, numbers + 2, sync_here);
    IS("pWrk") shmem_int_prod_to_all(there, there, 2, SELF, mine, work);
    IS("pWrk that is too short") shmem_int_and_to_all(there, there, 4, SELF, heap + 2, work);
    IS("set beyond all") shmem_alltoall32(there, there + 2, 1, 1, 0, 2, work);
    IS("signal op") shmem_int_put_signal(there, mine, 1, &a_signal, 1, 7, 0);
    IS("signal") shmem_int_put_signal(there, mine, 1, (uint64_t*)(void*)mine, 1, SHMEM_SIGNAL_SET, 0);
    IS("cmp") shmem_int_test(&flag, 9, 1);
    IS("iput") shmem_int_iput(heap, mine, (ptrdiff_t)1 << 40, 1, 4, 0);
    IS("iput backwards") shmem_int_iput(heap + 2, mine, -1, 1, 4, 0);
    IS("iget of static data backwards") shmem_int_iget(mine, there, 1, -((ptrdiff_t)1 << 40), 2, 0);
    IS("iput without a stride") shmem_int_iput(heap + 4, mine, 0, 1, 4, 0);
    IS("ibput beyond all") shmem_int_ibput(heap, mine, PTRDIFF_MAX, 1, 1, 1 << 20, 0);
    IS("bytes beyond 64 bits") shmem_long_put(numbers, numbers, (size_t)1 << 61, 0);
    IS("no source") shmem_int_put(there, NULL, 2, 0);
    IS("no dest") shmem_ctx_getmem(ctx, NULL, there, 2, 0);
    IS("nowhere to fetch") shmem_long_atomic_fetch_nbi(NULL, numbers, 0);
    IS("no values") shmem_long_test_all_vector(numbers, 1, NULL, SHMEM_CMP_EQ, NULL);
    IS("crooked add") shmem_long_atomic_add((long*)(void*)((char*)numbers + 4), 1, 0);
    IS("crooked fetch") shmem_int_atomic_fetch((int*)(void*)((char*)heap + 2), 0);
    IS("crooked signal") shmem_signal_add((uint64_t*)(void*)((char*)numbers + 1), 1, 0);
    IS("crooked wait") shmem_long_wait_until((long*)(void*)((char*)numbers + 4), SHMEM_CMP_EQ, 0);
    IS("crooked lock") shmem_set_lock((long*)(void*)((char*)numbers + 4));
    IS("all: collect") shmem_int_collect(SHMEM_TEAM_WORLD, heap, there, 4);
    IS("all: collect in a set") shmem_collect32(heap, there, 3, 0, 0, 2, work);
    IS("all: collect overlap") shmem_int_collect(SHMEM_TEAM_WORLD, there, there + 2, me == 0 ? 1 : 2);
    IS("all: set collect overlap") shmem_collect64(numbers, numbers + 2, me == 0 ? 2 : 1, 0, 0, 2, work);
    IS("all: malloc") shmem_malloc(me == 0 ? 8 : 16);
    IS("all: align") shmem_align(me == 0 ? 64 : 128, 8);
    IS("all: roots") shmem_int_broadcast(SHMEM_TEAM_WORLD, there, there, 1, me);
    IS("all: lengths") shmem_int_fcollect(SHMEM_TEAM_WORLD, heap, there, me == 0 ? 1 : 2);
    IS("all: operations") {
        if (me == 0) shmem_int_sum_reduce(SHMEM_TEAM_WORLD, there, there, 1);
        else shmem_int_max_reduce(SHMEM_TEAM_WORLD, there, there, 1);
    }
    IS("another collective") shmem_int_sum_reduce(SHMEM_TEAM_WORLD, there, there, 1);
    IS("allocation beside a barrier") shmem_malloc(8);
    IS("end beside a barrier") shmem_finalize();
    IS("free") shmem_free(heap + 1);
    IS("after") { shmem_finalize(), shmem_barrier_all(); }
    shmem_finalize();
    return 0;
}
