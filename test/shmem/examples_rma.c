/* Examples of OpenSHMEM's text: Remote Memory Access Routines, blocking and not; Signaling Operations; Memory Ordering Routines; Distributed
   Locking Routines; Cache Management. Which example lies where stands in docs/c-binding.md. */
#include "check.h"

enum { most = 64 };

/* shmem_put: an array of the caller's own, on its stack, goes to static memory of another PE; the neighbours of it stay. */
static void puts_array(int me, int n) {
    static long dest[12];
    long source[10];
    for (int i = 0; i < 10; i++) source[i] = 10L * me + i;
    dest[0] = dest[11] = -1;
    shmem_barrier_all();
    shmem_put(&dest[1], source, 10, (me + 1) % n);
    shmem_barrier_all();
    for (int i = 0; i < 10; i++) EXPECT(dest[1 + i] == 10L * ((me + n - 1) % n) + i);
    EXPECT(dest[0] == -1 && dest[11] == -1);
    shmem_barrier_all();
}

/* shmem_p: one value, without a variable for it, to the heap of PE 1, or of the only one. */
static void puts_value(int me, int n) {
    double* const f = shmem_malloc(sizeof(double));
    *f = 3.25;
    shmem_barrier_all();
    if (me == 0) shmem_p(f, 2.75, 1 % n);
    shmem_barrier_all();
    EXPECT(*f == (me == 1 % n ? 2.75 : 3.25));
    shmem_free(f);
}

/* shmem_iput, shmem_iget: every second element goes side by side, and comes back with two places between. */
static void strided(int me, int n) {
    static short dest[10];
    short source[10], back[15];
    for (short i = 0; i < 10; i++) source[i] = (short)(100 * me + i + 1), dest[i] = -1;
    for (int i = 0; i < 15; i++) back[i] = -2;
    int const next = (me + 1) % n, before = (me + n - 1) % n;
    shmem_barrier_all();
    shmem_iput(dest, source, 1, 2, 5, next);
    shmem_barrier_all();
    for (int i = 0; i < 10; i++) EXPECT(dest[i] == (i < 5 ? 100 * before + 2 * i + 1 : -1));
    shmem_iget(back, dest, 3, 1, 5, next);
    for (int i = 0; i < 15; i++) EXPECT(back[i] == (i % 3 == 0 ? source[2 * (i / 3)] : -2));
    shmem_barrier_all();
}

/* shmem_get, shmem_g: PE 0 reads what the last PE holds, as an array and as one value; nobody else has to do anything. */
static void reads(int me, int n) {
    static long x = 10101;
    static int rows[most];
    for (int i = 0; i < most; i++) rows[i] = 1000 * me + i;
    x += me;
    shmem_barrier_all();
    if (me == 0) {
        int got[most] = {0};
        EXPECT(shmem_g(&x, n - 1) == 10101 + n - 1);
        shmem_get(got, rows, most, n - 1);
        for (int i = 0; i < most; i++) EXPECT(got[i] == 1000 * (n - 1) + i);
    }
    shmem_barrier_all();
}

/* shmem_put_nbi, shmem_get_nbi: all transfers of an exchange are begun, one shmem_quiet completes them. */
static void begun(int me, int n) {
    enum { width = 500 };
    int* const rows = shmem_malloc((size_t)(most * width) * sizeof(int));
    int* const copy = malloc((size_t)(most * width) * sizeof(int));
    int mine[width];
    for (int i = 0; i < width; i++) mine[i] = 1000 * me + i;
    for (int p = 0; p < n; p++) shmem_put_nbi(&rows[me * width], mine, width, p);
    shmem_quiet();
    shmem_sync_all();
    for (int p = 0; p < n; p++) shmem_get_nbi(&copy[p * width], &rows[p * width], width, (me + p) % n);
    shmem_quiet();
    for (int p = 0; p < n; p++)
        for (int i = 0; i < width; i++) EXPECT(rows[p * width + i] == 1000 * p + i && copy[p * width + i] == 1000 * p + i);
    shmem_barrier_all();
    free(copy);
    shmem_free(rows);
}

/* shmem_putmem_signal: PE 0's message goes round a ring; each hands on what has come with the signal, until it is back. */
static void round_the_ring(int me, int n) {
    enum { size = 2048 };
    static uint64_t flag;
    uint64_t *const data = shmem_calloc(size, sizeof(uint64_t)), *const message = malloc(size * sizeof(uint64_t));
    for (uint64_t i = 0; i < size; i++) message[i] = 7 * i;
    if (me != 0) {
        EXPECT(shmem_signal_wait_until(&flag, SHMEM_CMP_EQ, 1) == 1);
        memcpy(message, data, size * sizeof(uint64_t));
    }
    shmem_putmem_signal(data, message, size * sizeof(uint64_t), &flag, 1, SHMEM_SIGNAL_SET, (me + 1) % n);
    if (me == 0) EXPECT(shmem_signal_wait_until(&flag, SHMEM_CMP_EQ, 1) == 1);
    for (uint64_t i = 0; i < size; i++) EXPECT(data[i] == 7 * i);
    shmem_barrier_all();
    free(message);
    shmem_free(data);
}

/* shmem_put_signal_nbi with SHMEM_SIGNAL_ADD, shmem_signal_fetch: who counts the signals need not know who has come. */
static void counted_blocks(int me, int n) {
    enum { width = 64 };
    static double blocks[most][width];
    static uint64_t come;
    double mine[width];
    for (int i = 0; i < width; i++) mine[i] = me + i / 64.0;
    for (int p = 0; p < n; p++) shmem_put_signal_nbi(blocks[me], mine, width, &come, 1, SHMEM_SIGNAL_ADD, (me + p) % n);
    while (shmem_signal_fetch(&come) < (uint64_t)n) continue;
    for (int p = 0; p < n; p++)
        for (int i = 0; i < width; i++) EXPECT(blocks[p][i] == p + i / 64.0);
    shmem_quiet();
    shmem_barrier_all();
    EXPECT(shmem_signal_fetch(&come) == (uint64_t)n);
}

/* shmem_signal_set, shmem_signal_add (1.6): a signal without data, after data that a fence keeps before it. */
static void signals(int me, int n) {
    static uint64_t ready, count;
    static int rows[most];
    int const next = (me + 1) % n, before = (me + n - 1) % n;
    for (int p = 0; p < n; p++) shmem_p(&rows[me], 10 * me + p, p);
    shmem_fence();
    for (int p = 0; p < n; p++) shmem_signal_add(&count, 2, p);
    EXPECT(shmem_signal_wait_until(&count, SHMEM_CMP_GE, 2 * (uint64_t)n) == 2 * (uint64_t)n);
    for (int p = 0; p < n; p++) EXPECT(rows[p] == 10 * p + me);
    shmem_signal_set(&ready, (uint64_t)me + 5, next);
    EXPECT(shmem_signal_wait_until(&ready, SHMEM_CMP_NE, 0) == (uint64_t)before + 5);
    shmem_barrier_all();
}

/* shmem_fence: at each of two PEs an array comes before the word that was put after it. */
static void fenced(int me, int n) {
    static long dest[10];
    static int targ;
    long const source[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    int const first = 1 % n, second = 2 % n;
    if (me == 0) {
        shmem_put_nbi(dest, source, 10, first);
        shmem_put_nbi(dest, source, 10, second);
        shmem_fence();
        shmem_p(&targ, 99, first);
        shmem_p(&targ, 99, second);
    }
    if (me == first || me == second) {
        shmem_wait_until(&targ, SHMEM_CMP_EQ, 99);
        for (int i = 0; i < 10; i++) EXPECT(dest[i] == i + 1);
    }
    shmem_barrier_all();
}

/* shmem_quiet: what PE 0 has put at two PEs it can read back, and tell a third one of; a fence would not do for that. */
static void quieted(int me, int n) {
    static long dest[3];
    static int targ, told;
    long const source[3] = {1, 2, 3};
    int const first = 1 % n, second = 2 % n, third = 3 % n;
    if (me == 0) {
        shmem_put_nbi(dest, source, 3, first);
        shmem_p(&targ, 90, second);
        shmem_quiet();
        long x[3] = {0};
        shmem_get(x, dest, 3, first);
        EXPECT(x[0] == 1 && x[1] == 2 && x[2] == 3 && shmem_g(&targ, second) == 90);
        shmem_p(&told, 1, third);
    }
    if (me == third) {
        shmem_wait_until(&told, SHMEM_CMP_EQ, 1);
        EXPECT(shmem_g(&dest[2], first) == 3 && shmem_g(&targ, second) == 90);
    }
    shmem_barrier_all();
}

/* shmem_pe_quiet (1.6): only what was begun at the PEs of a list is completed; the rest is by the shmem_quiet that follows. */
static void quieted_pes(int me, int n) {
    static int rows[most], told;
    int list[most], size = 0;
    for (int p = 0; p < n; p++) shmem_put_nbi(&rows[me], &me, 1, p);
    for (int p = me % 2; p < n; p += 2) list[size++] = p;
    shmem_pe_quiet(list, (size_t)size);
    for (int i = 0; i < size; i++) EXPECT(shmem_g(&rows[me], list[i]) == me);
    for (int i = 0; i < size; i++) shmem_atomic_inc(&told, list[i]);
    shmem_quiet();
    shmem_pe_quiet(list, 0);
    for (int p = 0; p < n; p++) EXPECT(shmem_g(&rows[me], p) == me);
    shmem_barrier_all();
    EXPECT(told == (me % 2 == 0 ? (n + 1) / 2 : n / 2)); /* by those that are even as I am, or odd */
    shmem_barrier_all();
}

/* shmem_set_lock, shmem_test_lock, shmem_clear_lock: a count that is read, grows, and is written again, and loses nothing. */
static void locked(int me, int n) {
    static long lock;
    static int count, holder = -1;
    for (int turn = 0; turn < 10; turn++) {
        if (turn % 2 == 0) shmem_set_lock(&lock);
        else
            while (shmem_test_lock(&lock) != 0) continue;
        EXPECT(shmem_atomic_swap(&holder, me, 0) == -1); /* nobody else is in */
        shmem_p(&count, shmem_g(&count, 0) + 1, 0);
        EXPECT(shmem_atomic_swap(&holder, -1, 0) == me);
        shmem_clear_lock(&lock); /* the count is there before another can have the lock */
    }
    shmem_barrier_all();
    EXPECT(shmem_g(&count, 0) == 10 * n);
    shmem_barrier_all();
}

/* shmem_set_cache_inv and the other names of cache control, deprecated: memory is coherent with them and without. */
static void coherent(int me, int n) {
    static int flag;
    shmem_clear_cache_inv();
    shmem_p(&flag, me + 1, (me + 1) % n);
    shmem_wait_until(&flag, SHMEM_CMP_NE, 0);
    shmem_set_cache_inv(), shmem_set_cache_line_inv(&flag), shmem_clear_cache_line_inv(&flag);
    shmem_udcflush(), shmem_udcflush_line(&flag);
    EXPECT(flag == (me + n - 1) % n + 1);
    shmem_barrier_all();
}

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    puts_array(me, n), puts_value(me, n), strided(me, n), reads(me, n), begun(me, n);
    round_the_ring(me, n), counted_blocks(me, n), signals(me, n);
    fenced(me, n), quieted(me, n), quieted_pes(me, n), locked(me, n), coherent(me, n);
    return ended();
}
