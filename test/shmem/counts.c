/* A tool between a program and the library: functions of the library's names, which count and call their pshmem_ twins. Also what
   C11's generic names choose goes through them, and the library's own work does not. */
#include <pshmem.h>

#include "check.h"

static struct {
    int is_on, barriers, puts, updates, blocks;
    size_t elements;
} counted;

void shmem_pcontrol(int level, ...) {
    counted.is_on = level > 0;
    pshmem_pcontrol(level);
}
void shmem_barrier_all(void) {
    counted.barriers += counted.is_on;
    pshmem_barrier_all();
}
void shmem_long_put(long* dest, long const* source, size_t n, int pe) {
    if (counted.is_on) counted.puts++, counted.elements += n;
    pshmem_long_put(dest, source, n, pe);
}
long shmem_long_atomic_fetch_inc(long* dest, int pe) {
    counted.updates += counted.is_on;
    return pshmem_long_atomic_fetch_inc(dest, pe);
}
void* shmem_malloc(size_t n) {
    counted.blocks += counted.is_on;
    return pshmem_malloc(n);
}

/* The program, which knows of no tool. */
static void puts_and_counts(int me, int n) {
    static long arrived;
    long* const row = shmem_malloc((size_t)n * 2 * sizeof(long));
    long const two[2] = {me, -me};
    for (int p = 0; p < n; p++) {
        shmem_put(&row[2 * me], two, 2, p);
        shmem_long_put(&row[2 * me], two, 1, p);
        shmem_quiet();
        shmem_long_atomic_fetch_inc(&arrived, p);
    }
    shmem_barrier_all();
    for (int p = 0; p < n; p++) EXPECT(row[2 * p] == p && row[2 * p + 1] == -p);
    EXPECT(arrived == n * (counted.is_on ? 1 : 2));
    shmem_barrier_all();
    shmem_free(row);
}

int main(void) {
    shmem_init();
    int const me = shmem_my_pe(), n = shmem_n_pes();
    shmem_pcontrol(1);
    puts_and_counts(me, n);
    shmem_pcontrol(0);
    puts_and_counts(me, n);
    EXPECT(counted.barriers == 2 && counted.blocks == 1);
    EXPECT(counted.puts == 2 * n && counted.elements == (size_t)(3 * n));
    EXPECT(counted.updates == n);
    return ended();
}
