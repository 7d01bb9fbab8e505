/* Examples of OpenSHMEM's text: Point-To-Point Synchronization Routines. Which example lies where stands in docs/c-binding.md. */
#include "check.h"

enum { most = 64, width = 100 };

/* shmem_wait_until: until another PE makes a variable negative. */
static void until_negative(int me, int n) {
    static int ivar;
    shmem_p(&ivar, -1 - me, (me + 1) % n);
    shmem_wait_until(&ivar, SHMEM_CMP_LT, 0);
    EXPECT(ivar == -1 - (me + n - 1) % n);
    shmem_barrier_all();
}

/* shmem_test: a wait of one's own that does something else meanwhile. */
static long wait_busily(long* ivar, int cmp, long value) {
    long rounds = 0;
    while (!shmem_test(ivar, cmp, value)) rounds++;
    return rounds;
}
static void tests_busily(int me, int n) {
    static long ivar = 5;
    EXPECT(shmem_test(&ivar, SHMEM_CMP_EQ, 5) && !shmem_test(&ivar, SHMEM_CMP_NE, 5));
    EXPECT(wait_busily(&ivar, SHMEM_CMP_GE, 5) == 0);
    shmem_barrier_all();
    shmem_atomic_set(&ivar, 6L + me, (me + 1) % n);
    EXPECT(wait_busily(&ivar, SHMEM_CMP_GT, 5) >= 0 && ivar == 6 + (me + n - 1) % n);
    shmem_barrier_all();
}

static int* flags_from_all(int me, int n) { /* each PE sets its own at all */
    int* const flags = shmem_calloc((size_t)n, sizeof(int));
    for (int p = 0; p < n; p++) shmem_atomic_set(&flags[me], 1, p);
    return flags;
}

/* shmem_wait_until_all, shmem_test_all: every PE's flag; those that are masked out do not count, and may never come. */
static void all_flags(int me, int n) {
    int* const flags = flags_from_all(me, n);
    shmem_wait_until_all(flags, (size_t)n, NULL, SHMEM_CMP_EQ, 1);
    for (int p = 0; p < n; p++) EXPECT(flags[p] == 1);
    EXPECT(shmem_test_all(flags, (size_t)n, NULL, SHMEM_CMP_EQ, 1) && !shmem_test_all(flags, (size_t)n, NULL, SHMEM_CMP_GT, 1));
    shmem_barrier_all();
    int status[most] = {0};
    status[0] = 1;
    flags[0] = 77;
    shmem_wait_until_all(flags, (size_t)n, status, SHMEM_CMP_EQ, 1);
    while (!shmem_test_all(flags, (size_t)n, status, SHMEM_CMP_LE, 1)) continue;
    shmem_wait_until_all(flags, 0, NULL, SHMEM_CMP_EQ, 1); /* of none: at once */
    EXPECT(shmem_test_all(flags, 0, NULL, SHMEM_CMP_EQ, 1));
    shmem_free(flags);
}

static int* blocks_from_all(int me, int n, int** flags) { /* each block comes before its flag */
    int* const data = shmem_malloc((size_t)(width * n) * sizeof(int));
    int mine[width];
    *flags = shmem_calloc((size_t)n, sizeof(int));
    for (int i = 0; i < width; i++) mine[i] = me * width + i;
    for (int p = 0; p < n; p++) shmem_put_nbi(&data[me * width], mine, width, p);
    shmem_fence();
    for (int p = 0; p < n; p++) shmem_atomic_set(&(*flags)[me], 1, p);
    shmem_quiet();
    return data;
}
static long sum_of_block(int const* data, size_t k) {
    long sum = 0;
    for (size_t i = 0; i < width; i++) sum += data[k * width + i];
    return sum;
}

/* shmem_wait_until_any: blocks of all PEs are summed in the order in which they come. */
static void any_block(int me, int n) {
    int* flags;
    int* const data = blocks_from_all(me, n, &flags);
    int status[most] = {0};
    long const last = (long)width * n - 1;
    long total = 0;
    for (int k = 0; k < n; k++) {
        size_t const which = shmem_wait_until_any(flags, (size_t)n, status, SHMEM_CMP_NE, 0);
        EXPECT(which < (size_t)n && status[which] == 0);
        if (which < (size_t)n) total += sum_of_block(data, which), status[which] = 1;
    }
    EXPECT(total == last * (last + 1) / 2);
    EXPECT(shmem_wait_until_any(flags, (size_t)n, status, SHMEM_CMP_NE, 0) == SIZE_MAX); /* all are masked out */
    shmem_free(data), shmem_free(flags);
}

/* shmem_wait_until_some: the same, as many at once as there are. */
static void some_blocks(int me, int n) {
    int* flags;
    int* const data = blocks_from_all(me, n, &flags);
    int status[most] = {0}, done = 0;
    size_t which[most];
    long const last = (long)width * n - 1;
    long total = 0;
    while (done < n) {
        size_t const found = shmem_wait_until_some(flags, (size_t)n, which, status, SHMEM_CMP_NE, 0);
        EXPECT(found >= 1 && found <= (size_t)(n - done));
        for (size_t i = 0; i < found; i++) {
            EXPECT(status[which[i]] == 0);
            total += sum_of_block(data, which[i]), status[which[i]] = 1;
        }
        done += (int)found;
        if (found == 0) break;
    }
    EXPECT(done == n && total == last * (last + 1) / 2);
    EXPECT(shmem_wait_until_some(flags, (size_t)n, which, status, SHMEM_CMP_NE, 0) == 0);
    shmem_free(data), shmem_free(flags);
}

/* shmem_test_any: flags are looked for one by one, with something else to do meanwhile. */
static void tests_any(int me, int n) {
    int* const flags = flags_from_all(me, n);
    int status[most] = {0}, found = 0;
    while (found < n) {
        size_t const which = shmem_test_any(flags, (size_t)n, status, SHMEM_CMP_EQ, 1);
        if (which == SIZE_MAX) continue;
        EXPECT(which < (size_t)n && status[which] == 0);
        status[which % most] = 1, found++;
    }
    for (int p = 0; p < n; p++) EXPECT(status[p] == 1);
    EXPECT(shmem_test_any(flags, (size_t)n, status, SHMEM_CMP_EQ, 1) == SIZE_MAX);
    shmem_free(flags);
}

/* shmem_test_some: PE 0 sees some puts of the others, perhaps none, and then the rest; it never waits. */
static void tests_some(int me, int n) {
    int* const ivars = shmem_calloc((size_t)n, sizeof(int));
    int status[most] = {0};
    size_t which[most];
    if (me == 0) {
        status[0] = 1; /* nobody writes that one */
        for (int seen = 1; seen < n;) {
            size_t const found = shmem_test_some(ivars, (size_t)n, which, status, SHMEM_CMP_NE, 0);
            for (size_t i = 0; i < found; i++) {
                EXPECT(which[i] > 0 && status[which[i]] == 0 && ivars[which[i]] == 10 * (int)which[i]);
                status[which[i]] = 1;
            }
            seen += (int)found;
        }
        EXPECT(shmem_test_some(ivars, (size_t)n, which, status, SHMEM_CMP_NE, 0) == 0);
    } else shmem_p(&ivars[me], 10 * me, 0);
    shmem_free(ivars);
}

static int* values_from_all(int me, int n, int* expected) { /* odd PEs tell two, even ones one */
    int* const ivars = shmem_calloc((size_t)n, sizeof(int));
    for (int p = 0; p < n; p++) shmem_atomic_set(&ivars[me], me % 2 + 1, p), expected[p] = p % 2 + 1;
    return ivars;
}

/* The vector forms of shmem_wait_until_any, _some and _all: a value for each element. */
static void waits_for_each(int me, int n) {
    int expected[most], status[most] = {0}, done = 0;
    size_t which[most];
    int* const ivars = values_from_all(me, n, expected);
    long total = 0;
    for (int k = 0; k < n; k++) {
        size_t const i = shmem_wait_until_any_vector(ivars, (size_t)n, status, SHMEM_CMP_EQ, expected);
        EXPECT(i < (size_t)n && status[i] == 0);
        if (i < (size_t)n) status[i] = 1, total += ivars[i];
    }
    EXPECT(total == n + n / 2);
    memset(status, 0, sizeof status);
    while (done < n) {
        size_t const found = shmem_wait_until_some_vector(ivars, (size_t)n, which, status, SHMEM_CMP_GE, expected);
        for (size_t i = 0; i < found; i++) status[which[i]] = 1;
        done += (int)found;
    }
    EXPECT(done == n);
    shmem_wait_until_all_vector(ivars, (size_t)n, NULL, SHMEM_CMP_EQ, expected);
    shmem_barrier_all();
    shmem_atomic_set(&ivars[me], 100 + me, (me + 1) % n); /* then one more at the next */
    expected[(me + n - 1) % n] = 100 + (me + n - 1) % n;
    shmem_wait_until_all_vector(ivars, (size_t)n, NULL, SHMEM_CMP_EQ, expected);
    shmem_free(ivars);
}

/* The vector forms of shmem_test_any, _some and _all: the same without waiting. */
static void tests_each(int me, int n) {
    int expected[most], status[most] = {0}, found = 0;
    size_t which[most];
    int* const ivars = values_from_all(me, n, expected);
    while (found < n) {
        size_t const i = shmem_test_any_vector(ivars, (size_t)n, status, SHMEM_CMP_EQ, expected);
        if (i == SIZE_MAX) continue;
        EXPECT(i < (size_t)n && status[i] == 0);
        status[i % most] = 1, found++;
    }
    EXPECT(shmem_test_all_vector(ivars, (size_t)n, NULL, SHMEM_CMP_EQ, expected));
    EXPECT(shmem_test_some_vector(ivars, (size_t)n, which, NULL, SHMEM_CMP_EQ, expected) == (size_t)n);
    expected[n - 1]++;
    EXPECT(!shmem_test_all_vector(ivars, (size_t)n, NULL, SHMEM_CMP_EQ, expected));
    EXPECT(shmem_test_some_vector(ivars, (size_t)n, which, NULL, SHMEM_CMP_LT, expected) == 1 && which[0] == (size_t)n - 1);
    EXPECT(shmem_test_any_vector(ivars, (size_t)n, NULL, SHMEM_CMP_NE, expected) == (size_t)n - 1);
    shmem_free(ivars);
}

/* shmem_signal_wait_until: it gives what the signal was when it fitted, and the data that came with it are there. */
static void signalled(int me, int n) {
    static uint64_t flag;
    static long data[width];
    long mine[width];
    int const next = (me + 1) % n, before = (me + n - 1) % n;
    for (uint64_t turn = 1; turn <= 20; turn++) {
        for (int i = 0; i < width; i++) mine[i] = (long)turn * 1000 + me * width + i;
        shmem_put_signal(data, mine, width, &flag, turn, SHMEM_SIGNAL_SET, next);
        EXPECT(shmem_signal_wait_until(&flag, SHMEM_CMP_GE, turn) == turn);
        for (int i = 0; i < width; i++) EXPECT(data[i] == (long)turn * 1000 + before * width + i);
        shmem_barrier_all();
    }
}

/* shmem_wait, shmem_long_wait, deprecated: while a variable is what it was. */
static void waits_of_old(int me, int n) {
    static long first, second;
    shmem_p(&first, me + 1L, (me + 1) % n), shmem_p(&second, me + 2L, (me + 1) % n);
    shmem_wait(&first, 0), shmem_long_wait(&second, 0);
    EXPECT(first == (me + n - 1) % n + 1 && second == (me + n - 1) % n + 2);
    shmem_barrier_all();
}

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    until_negative(me, n), tests_busily(me, n), all_flags(me, n), any_block(me, n), some_blocks(me, n);
    tests_any(me, n), tests_some(me, n), waits_for_each(me, n), tests_each(me, n), signalled(me, n), waits_of_old(me, n);
    return ended();
}
