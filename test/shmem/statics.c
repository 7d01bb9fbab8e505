/* Static variables beside the heap: what they held before shmem_init stays, all PEs reach them, and shmem_ptr tells where, or that they
   are nowhere here. A child of fork has its own.

       statics mapped          one thread, OpenSHMEM begins: the PEs map them
       statics apart           the same where MPT_SHARE_STATIC=0
       statics thread          another thread is there when it begins
       statics inside          mapped, and calls of several threads at once */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { long_row = 100000, rounds = 1000, most_threads = 3 };

static int me, n, next, before;
static long given = 41, given_row[5] = {1, 2, 3, 4, 5};
static long row[long_row];
static int counts[4];
static unsigned long votes;
static double real_word;
static uint64_t signal_word;
static char text[64];
static long lock_word;
static long under_lock;

static void kept(void) {
    EXPECT(given == 42 && given_row[4] == 50 && row[long_row - 1] == 7 && row[1] == 0);
    EXPECT(strcmp(text, "before") == 0);
}
static void moved(void) {
    long here[64], back[64];
    for (int i = 0; i < 64; i++) here[i] = 100 * me + i;
    shmem_barrier_all();
    shmem_long_put(row, here, 64, next);
    shmem_long_iput(row + 100, here, 2, 3, 10, next);
    shmem_long_p(&given, 1000 + me, next);
    shmem_double_p(&real_word, 0.5 + me, next);
    shmem_putmem(text + 1, "abc", 3, next);
    shmem_barrier_all();
    for (int i = 0; i < 64; i++) EXPECT(row[i] == 100 * before + i);
    for (int i = 0; i < 10; i++) EXPECT(row[100 + 2 * i] == 100 * before + 3 * i && row[101 + 2 * i] == 0);
    EXPECT(given == 1000 + before && real_word == 0.5 + before && memcmp(text, "babcre", 6) == 0);
    shmem_long_get(back, row, 64, next);
    for (int i = 0; i < 64; i++) EXPECT(back[i] == 100 * me + i);
    shmem_long_iget(back, row + 100, 1, 2, 10, next);
    for (int i = 0; i < 10; i++) EXPECT(back[i] == 100 * me + 3 * i);
    EXPECT(shmem_long_g(&given, next) == 1000 + me);
    shmem_barrier_all();
}
static void counted(void) {
    for (int i = 0; i < rounds; i++) {
        shmem_int_atomic_add(&counts[0], 1, i % n);
        shmem_int_atomic_inc(&counts[1], (me + i) % n);
        (void)shmem_int_atomic_fetch_add(&counts[2], 2, 0);
        if (shmem_int_atomic_compare_swap(&counts[3], 0, me + 1, 0) == 0) {
            shmem_ulong_atomic_xor(&votes, 1, 0);
            (void)shmem_int_atomic_swap(&counts[3], 0, 0);
        }
    }
    shmem_barrier_all();
    long all[2] = {0, 0};
    for (int pe = 0; pe < n; pe++) all[0] += shmem_int_atomic_fetch(&counts[0], pe), all[1] += shmem_int_g(&counts[1], pe);
    EXPECT(all[0] == (long)rounds * n && all[1] == (long)rounds * n);
    EXPECT(me != 0 || (counts[2] == 2 * rounds * n && votes <= 1 && counts[3] == 0));
    shmem_double_atomic_set(&real_word, 2.25 * me, next);
    shmem_barrier_all();
    EXPECT(real_word == 2.25 * before);
    for (int i = 0; i < rounds / 10; i++) {
        shmem_set_lock(&lock_word);
        long const was = shmem_long_g(&under_lock, 0);
        shmem_long_p(&under_lock, was + 1, 0);
        shmem_clear_lock(&lock_word);
    }
    shmem_barrier_all();
    EXPECT(me != 0 || under_lock == (long)(rounds / 10) * n);
}
/* Data and its signal round the PEs, both static; then data of the heap with a static signal, and the other way. */
static void signalled(void) {
    long* const heap = shmem_malloc(sizeof *heap);
    uint64_t* const flag = shmem_calloc(1, sizeof *flag);
    for (uint64_t round = 1; round <= 300; round++) {
        long const value = (long)round * 10 + me;
        shmem_long_put_signal(&row[500], &value, 1, &signal_word, round, SHMEM_SIGNAL_SET, next);
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, round);
        EXPECT(row[500] == (long)round * 10 + before);
        shmem_barrier_all();
    }
    long const value = 5 + me;
    shmem_long_put_signal(heap, &value, 1, &signal_word, 1000, SHMEM_SIGNAL_SET, next);
    shmem_long_put_signal(&row[501], &value, 1, flag, 3, SHMEM_SIGNAL_ADD, next);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1000);
    shmem_uint64_wait_until(flag, SHMEM_CMP_NE, 0);
    EXPECT(*heap == 5 + before && row[501] == 5 + before && *flag == 3);
    shmem_barrier_all();
    shmem_free(heap), shmem_free(flag);
}
static void pointed(int is_mapped) {
    shmem_barrier_all();
    long* const there = shmem_ptr(&row[900], next);
    EXPECT((there != NULL) == (is_mapped || next == me));
    EXPECT(shmem_ptr(&row[900], me) == &row[900]);
    EXPECT(shmem_team_ptr(SHMEM_TEAM_WORLD, &row[900], next) == there);
    if (there) *there = 77 + me;
    shmem_barrier_all();
    EXPECT(!there || row[900] == 77 + before);
    shmem_barrier_all();
}
static void forked(void) {
    row[950] = 1, given = 2;
    shmem_barrier_all();
    fflush(stdout);
    pid_t const child = fork();
    if (child == 0) {
        int const is = row[950] == 1 && given == 2 && row[60000] == 0;
        for (int i = 0; i < long_row; i++) row[i] = -1;
        given = -1;
        _exit(is ? 0 : 1);
    }
    int status = 1;
    EXPECT(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    shmem_barrier_all();
    EXPECT(row[950] == 1 && given == 2 && row[60000] == 0);
    shmem_long_p(&row[951], 4 + me, next);
    shmem_barrier_all();
    EXPECT(row[951] == 4 + before);
    shmem_barrier_all();
}
static void* count_along(void* ignored) {
    (void)ignored;
    for (int i = 0; i < rounds; i++) shmem_long_atomic_inc(&row[970 + i % 3], i % n);
    return NULL;
}
static void by_threads(void) {
    pthread_t all[most_threads];
    for (int i = 0; i < most_threads; i++) pthread_create(&all[i], NULL, count_along, NULL);
    for (int i = 0; i < most_threads; i++) pthread_join(all[i], NULL);
    shmem_barrier_all();
    long sum = 0;
    for (int pe = 0; pe < n; pe++)
        for (int i = 0; i < 3; i++) sum += shmem_long_g(&row[970 + i], pe);
    EXPECT(sum == (long)rounds * most_threads * n);
    shmem_barrier_all();
}

static pthread_barrier_t until_begun;
static void* be_there(void* ignored) {
    (void)ignored;
    pthread_barrier_wait(&until_begun);
    return NULL;
}

int main(int argc, char** argv) {
    char const* const way = argc > 1 ? argv[1] : "";
    int const is_thread = strcmp(way, "thread") == 0, is_inside = strcmp(way, "inside") == 0;
    given = 42, given_row[4] = 50, row[long_row - 1] = 7, strcpy(text, "before");
    pthread_t another;
    if (is_thread) pthread_barrier_init(&until_begun, NULL, 2), pthread_create(&another, NULL, be_there, NULL);
    int level = -1;
    EXPECT(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0 && level == SHMEM_THREAD_MULTIPLE);
    if (is_thread) pthread_barrier_wait(&until_begun), pthread_join(another, NULL);
    me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    kept();
    moved();
    counted();
    signalled();
    if (*way) pointed(strcmp(way, "mapped") == 0 || is_inside);
    forked();
    if (is_inside) by_threads();
    return ended();
}
