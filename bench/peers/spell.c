/* spell - how far apart two CPUs are at this moment: a word to and fro, and data from one to the other. Virtual CPUs move, between cores with
 * a cache in common and cores without, and all that crosses them is then two to four times as slow (bench/peers/peers.py asks before and
 * after each turn of a library).
 *
 *     spell FIRST-CPU SECOND-CPU      prints: nanoseconds of a round trip over two cache lines, GB/s of 256 KiB handed over
 *
 * No library; some milliseconds. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { line = 64, trips = 20000, bytes = 256 << 10, times = 100, batches = 5 };

/* What the two share: each writes one word, and the first the data. */
struct shared {
    _Alignas(2 * line) _Atomic uint32_t there;
    _Alignas(2 * line) _Atomic uint32_t back;
    _Alignas(4096) char data[bytes];
};

static void on_cpu(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* Acquire here, release in tell(): who sees the word sees the data written before it, and writes over them only when they are read. It spins,
 * for that is what is measured; alarm() ends it where the two have no CPU each. */
static void await(_Atomic uint32_t* word, uint32_t value) {
    while (atomic_load_explicit(word, memory_order_acquire) != value) {}
}
static void tell(_Atomic uint32_t* word, uint32_t value) { atomic_store_explicit(word, value, memory_order_release); }

/* Steps of both: `batches` of words to and fro, then as many of data. first: this is the one that writes and looks at the clock. */
static void run(struct shared* s, int first, double* word, double* copy) {
    static char own[bytes];
    uint32_t step = 0;
    for (int b = 0; b < 2 * batches; ++b) {
        int const data = b >= batches, n = data ? times : trips;
        double const start = now();
        for (int i = 0; i < n; ++i) {
            ++step;
            if (first) {
                if (data) memcpy(s->data, own, bytes);
                tell(&s->there, step), await(&s->back, step);
            } else {
                await(&s->there, step);
                if (data) memcpy(own, s->data, bytes);
                tell(&s->back, step);
            }
        }
        double const each = (now() - start) / n;
        double* const best = data ? copy : word;
        if (*best == 0 || each < *best) *best = each;
    }
}

int main(int argc, char** argv) {
    if (argc != 3) return fprintf(stderr, "usage: spell FIRST-CPU SECOND-CPU\n"), 2;
    struct shared* const s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) return perror("spell: mmap"), 1;
    double word = 0, copy = 0;
    alarm(5); /* nobody spins for ever if the other one is gone */
    pid_t const other = fork();
    if (other < 0) return perror("spell: fork"), 1;
    if (other == 0) alarm(5);
    on_cpu(atoi(argv[other == 0 ? 2 : 1]));
    run(s, other != 0, &word, &copy);
    if (other == 0) _exit(0);
    waitpid(other, NULL, 0);
    printf("%.1f %.2f\n", word * 1e9, bytes / copy * 1e-9);
    return 0;
}
