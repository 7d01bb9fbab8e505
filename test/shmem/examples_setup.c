/* Examples of OpenSHMEM's text: Library Setup, Exit, and Query Routines; Thread Support; Memory Management Routines; the annex Writing
   OpenSHMEM Programs. Which example lies where stands in docs/c-binding.md. */
#include "check.h"

enum { most = 64, width = 16 };

/* shmem_my_pe, shmem_n_pes: each PE says its number; together they are all numbers from none to one less than there are PEs. */
static void numbers(int me, int n) {
    static int seen[most], count;
    EXPECT(me >= 0 && me < n);
    shmem_atomic_inc(&seen[me], 0);
    shmem_atomic_inc(&count, 0);
    shmem_barrier_all();
    if (me == 0) {
        EXPECT(count == n);
        for (int p = 0; p < n; p++) EXPECT(seen[p] == 1);
    }
}

/* shmem_pe_accessible, shmem_addr_accessible: static and shared memory can be reached at each PE, a local variable at none. */
static void accessible(int me, int n) {
    static int in_data;
    int on_stack = me;
    int* const in_heap = shmem_malloc(sizeof(int));
    for (int p = 0; p < n; p++) {
        EXPECT(shmem_pe_accessible(p));
        EXPECT(shmem_addr_accessible(&in_data, p) && shmem_addr_accessible(in_heap, p));
        EXPECT(!shmem_addr_accessible(&on_stack, p));
    }
    EXPECT(!shmem_pe_accessible(n) && !shmem_pe_accessible(-1));
    shmem_free(in_heap);
}

/* shmem_ptr: one PE fills another's array by stores; where there is no such pointer, by puts. */
static void stores(int me, int n) {
    int const next = (me + 1) % n, before = (me + n - 1) % n;
    int* const cells = shmem_calloc(width, sizeof(int));
    int* const there = shmem_ptr(cells, next);
    EXPECT(shmem_ptr(cells, me) == cells);
    for (int i = 0; i < width; i++) {
        if (there) there[i] = 100 * me + i;
        else shmem_p(&cells[i], 100 * me + i, next);
    }
    shmem_barrier_all();
    for (int i = 0; i < width; i++) EXPECT(cells[i] == 100 * before + i);
    shmem_free(cells);
}

/* shmem_info_get_version, shmem_info_get_name: what the library says of itself is what its header says. */
static void says_of_itself(void) {
    int major = -1, minor = -1;
    char name[SHMEM_MAX_NAME_LEN];
    memset(name, 'x', sizeof name);
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    EXPECT(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    EXPECT(memchr(name, 0, sizeof name) != NULL && strncmp(name, SHMEM_VENDOR_STRING, sizeof name) == 0);
}

/* shmem_query_thread: the level is the one that the beginning gave. */
static void level_is(int given) {
    int level = -1;
    shmem_query_thread(&level);
    EXPECT(level == given);
    EXPECT(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED && SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED);
    EXPECT(SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE);
}

/* shmem_malloc, shmem_align, shmem_realloc, shmem_free: one offset is the same place everywhere; what grows keeps what it held. */
static void blocks(int me, int n) {
    int const next = (me + 1) % n, before = (me + n - 1) % n;
    long* row = shmem_malloc(width * sizeof(long));
    double* const lines = shmem_align(4096, width * sizeof(double));
    EXPECT(row && lines && (uintptr_t)lines % 4096 == 0);
    for (int i = 0; i < width; i++) shmem_p(&row[i], (long)me * width + i, next), shmem_p(&lines[i], me + i / 16.0, next);
    shmem_barrier_all();
    row = shmem_realloc(row, 100 * width * sizeof(long));
    EXPECT(row != NULL);
    for (int i = 0; i < width; i++) EXPECT(row[i] == (long)before * width + i && lines[i] == before + i / 16.0);
    shmem_barrier_all();
    shmem_p(&row[100 * width - 1], (long)me, next); /* the last of the new ones is there for others, too */
    shmem_barrier_all();
    EXPECT(row[100 * width - 1] == before);
    row = shmem_realloc(row, width * sizeof(long));
    for (int i = 0; i < width; i++) EXPECT(row[i] == (long)before * width + i);
    shmem_free(row), shmem_free(lines);
    EXPECT(shmem_malloc(0) == NULL);
    shmem_free(NULL);
}

/* shmem_calloc: all zeroes, where a block that was not has just been given back. */
static void zeroes(void) {
    enum { many = 4096 };
    unsigned char* const dirty = shmem_malloc(many);
    memset(dirty, 0xa5, many);
    shmem_free(dirty);
    unsigned char* const clean = shmem_calloc(many / 8, 8);
    for (int i = 0; i < many; i++) EXPECT(clean[i] == 0);
    shmem_free(clean);
    EXPECT(shmem_calloc(0, 8) == NULL && shmem_calloc(8, 0) == NULL);
}

/* shmem_malloc_with_hints: counters for atomics of others, words for their signals, and a block without any hint. */
static void hinted(int me, int n) {
    int const next = (me + 1) % n, before = (me + n - 1) % n;
    long* const counter = shmem_malloc_with_hints(sizeof(long), SHMEM_MALLOC_ATOMICS_REMOTE);
    uint64_t* const flag = shmem_malloc_with_hints(sizeof(uint64_t), SHMEM_MALLOC_SIGNAL_REMOTE);
    long* const both = shmem_malloc_with_hints(sizeof(long), SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    int* const plain = shmem_malloc_with_hints(sizeof(int), 0);
    EXPECT(counter && flag && both && plain);
    *counter = 0, *flag = 0, *both = 0;
    shmem_barrier_all();
    for (int p = 0; p < n; p++) shmem_atomic_add(counter, me + 1L, p), shmem_atomic_inc(both, p);
    shmem_int_put_signal(plain, &me, 1, flag, 1, SHMEM_SIGNAL_SET, next);
    EXPECT(shmem_signal_wait_until(flag, SHMEM_CMP_EQ, 1) == 1 && *plain == before);
    shmem_barrier_all();
    EXPECT(*counter == (long)n * (n + 1) / 2 && *both == n);
    shmem_free(plain), shmem_free(both), shmem_free(flag), shmem_free(counter);
    EXPECT(shmem_malloc_with_hints(0, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL);
}

/* Writing OpenSHMEM Programs: one PE puts a row to all others; one after the other, by a lock, they write what they got in one list. */
static void tells_all(int me, int n) {
    static short row[width], list[most * width];
    static long lock, lines;
    short source[width];
    for (short i = 0; i < width; i++) source[i] = (short)(i * i);
    if (me == 0)
        for (int p = 0; p < n; p++) shmem_put(row, source, width, p);
    shmem_barrier_all();
    for (int i = 0; i < width; i++) row[i] = (short)(row[i] + 1000 * me);
    shmem_set_lock(&lock);
    long const line = shmem_g(&lines, 0);
    shmem_put(&list[line * width], row, width, 0);
    shmem_p(&lines, line + 1, 0);
    shmem_clear_lock(&lock);
    shmem_barrier_all();
    if (me == 0) {
        int seen[most] = {0};
        EXPECT(lines == n);
        for (int k = 0; k < n; k++) {
            int const from = list[k * width] / 1000;
            if (from >= 0 && from < n) seen[from]++;
            for (int i = 0; i < width; i++) EXPECT(list[k * width + i] == 1000 * from + i * i);
        }
        for (int p = 0; p < n; p++) EXPECT(seen[p] == 1);
    }
}

/* shmem_init_thread and shmem_query_initialized: begun once. shmem_finalize: what was put before it has come when it returns; no call of
   the library may say so then, but the PE's own memory. */
int main(void) {
    static long told;
    int running = -1, provided = -1;
    shmem_query_initialized(&running);
    if (running != 0) return 1;
    if (shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided) != 0 || provided < SHMEM_THREAD_SERIALIZED) return 1;
    shmem_query_initialized(&running);
    EXPECT(running == 1);
    int const me = shmem_my_pe(), n = shmem_n_pes();
    numbers(me, n), accessible(me, n), stores(me, n), says_of_itself(), level_is(provided);
    blocks(me, n), zeroes(), hinted(me, n), tells_all(me, n);
    long const mine = 10101 + me;
    shmem_put_nbi(&told, &mine, 1, (me + 1) % n);
    shmem_finalize();
    shmem_query_initialized(&running);
    return failures != 0 || running != 0 || told != 10101 + (me + n - 1) % n;
}
