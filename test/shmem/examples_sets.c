/* Examples of OpenSHMEM's text: Collective Routines over active sets, deprecated since 1.5, and start_pes. Which example lies where stands
   in docs/c-binding.md. */
#include "check.h"

enum {
    most = 64,
    words = SHMEM_COLLECT_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_ALLTOALLS_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE
};
static long sync_a[words], sync_b[SHMEM_REDUCE_SYNC_SIZE], sync_c[SHMEM_BARRIER_SYNC_SIZE];

static void work_arrays(void) {
    for (size_t i = 0; i < sizeof sync_a / sizeof sync_a[0]; i++) sync_a[i] = SHMEM_SYNC_VALUE;
    for (size_t i = 0; i < sizeof sync_b / sizeof sync_b[0]; i++) sync_b[i] = SHMEM_SYNC_VALUE;
    for (size_t i = 0; i < sizeof sync_c / sizeof sync_c[0]; i++) sync_c[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
}

/* shmem_barrier: the even PEs put at the next even one, and meet among themselves; the odd ones keep what they had. */
static void even_barrier(int me, int n) {
    static int x = 10101;
    int const size = n / 2 + n % 2;
    if (me % 2 == 0) {
        shmem_p(&x, 4 + me, 2 * ((me / 2 + 1) % size));
        shmem_barrier(0, 1, size, sync_c);
        EXPECT(x == 4 + 2 * ((me / 2 + size - 1) % size));
    } else EXPECT(x == 10101);
    shmem_barrier_all();
}

/* shmem_sync over an active set: it meets after a shmem_quiet that has completed the put. */
static void even_sync(int me, int n) {
    static int x = 10101;
    int const size = (n + 1) / 2;
    if (me % 2 == 0) {
        shmem_p(&x, 4 + me, 2 * ((me / 2 + 1) % size));
        shmem_quiet();
        shmem_sync(0, 1, size, sync_c);
        EXPECT(x == 4 + 2 * ((me / 2 + size - 1) % size));
    }
    shmem_barrier_all();
}

/* shmem_broadcast64, shmem_broadcast32: all have the root's row but the root, whose dest stays as it was. */
static void broadcast(int me, int n) {
    static long source[4], dest[4];
    static int source_32[4], dest_32[4];
    int const root = n - 1;
    for (int i = 0; i < 4; i++) source[i] = 10 * me + i, source_32[i] = 100 * me + i, dest[i] = dest_32[i] = -1;
    shmem_barrier_all();
    shmem_broadcast64(dest, source, 4, root, 0, 0, n, sync_a);
    shmem_barrier_all(); /* the work array is used again */
    shmem_broadcast32(dest_32, source_32, 4, 0, 0, 0, n, sync_a);
    for (int i = 0; i < 4; i++) {
        EXPECT(dest[i] == (me == root ? -1 : 10 * root + i));
        EXPECT(dest_32[i] == (me == 0 ? -1 : i));
    }
    shmem_barrier_all();
}

/* shmem_collect32, shmem_fcollect32: rows of growing lengths, and of one length, by a lower part of the PEs. */
static void collect(int me, int n) {
    int const size = n > 1 ? n - 1 : 1; /* but for the last */
    int *const source = shmem_malloc((size_t)n * sizeof(int)), *const dest = shmem_malloc((size_t)(n * n + 1) * sizeof(int));
    for (int i = 0; i <= me; i++) source[i] = me * (me + 1) / 2 + i;
    for (int i = 0; i <= n * n; i++) dest[i] = -9999;
    shmem_barrier_all();
    int const total = size * (size + 1) / 2;
    if (me < size) shmem_collect32(dest, source, (size_t)me + 1, 0, 0, size, sync_a);
    for (int i = 0; i <= n * n; i++) EXPECT(dest[i] == (me < size && i < total ? i : -9999));
    shmem_barrier_all();
    if (me < size) {
        shmem_fcollect32(dest, source, 1, 0, 0, size, sync_a);
        for (int p = 0; p < size; p++) EXPECT(dest[p] == p * (p + 1) / 2);
    }
    shmem_free(source), shmem_free(dest);
}

/* shmem_alltoall64, shmem_alltoalls64: what PE p has for PE q is p + q; also with a gap behind each element. */
static void alltoall(int me, int n) {
    enum { count = 2 };
    size_t const room = (size_t)(2 * count * n) * sizeof(int64_t);
    int64_t *const source = shmem_malloc(room), *const dest = shmem_malloc(room);
    for (int i = 0; i < 2 * count * n; i++) dest[i] = 9999;
    for (int p = 0; p < n; p++)
        for (int i = 0; i < count; i++) source[p * count + i] = me + p;
    shmem_barrier_all();
    shmem_alltoall64(dest, source, count, 0, 0, n, sync_a);
    for (int p = 0; p < n; p++)
        for (int i = 0; i < count; i++) EXPECT(dest[p * count + i] == me + p);
    for (int i = count * n; i < 2 * count * n; i++) EXPECT(dest[i] == 9999);
    shmem_barrier_all();
    for (int i = 0; i < 2 * count * n; i++) dest[i] = 9999;
    shmem_barrier_all();
    shmem_alltoalls64(dest, source, 2, 1, count, 0, 0, n, sync_a);
    for (int p = 0; p < n; p++)
        for (int i = 0; i < count; i++) {
            EXPECT(dest[2 * (p * count + i)] == me + p);
            EXPECT(dest[2 * (p * count + i) + 1] == 9999);
        }
    shmem_free(source), shmem_free(dest);
}

/* shmem_int_and_to_all, _or_, _xor_, _max_, _min_, _sum_ and _prod_to_all: the upper half alone, of which each has two bits and a number. */
static void to_all(int me, int n) {
    static int bits, value, result[7], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    int const first = n / 2, size = n - first;
    bits = 3 << me, value = me + 1;
    for (int i = 0; i < 7; i++) result[i] = -1;
    shmem_barrier_all();
    if (me >= first) {
        int sum = 0, product = 1, all = 0, common = ~0, odd = 0;
        for (int p = first; p < n; p++) sum += p + 1, product *= p + 1, all |= 3 << p, common &= 3 << p, odd ^= 3 << p;
        shmem_int_and_to_all(&result[0], &bits, 1, first, 0, size, work, sync_b), shmem_barrier(first, 0, size, sync_c);
        shmem_int_or_to_all(&result[1], &bits, 1, first, 0, size, work, sync_b), shmem_barrier(first, 0, size, sync_c);
        shmem_int_xor_to_all(&result[2], &bits, 1, first, 0, size, work, sync_b), shmem_barrier(first, 0, size, sync_c);
        shmem_int_max_to_all(&result[3], &value, 1, first, 0, size, work, sync_b), shmem_barrier(first, 0, size, sync_c);
        shmem_int_min_to_all(&result[4], &value, 1, first, 0, size, work, sync_b), shmem_barrier(first, 0, size, sync_c);
        shmem_int_sum_to_all(&result[5], &value, 1, first, 0, size, work, sync_b), shmem_barrier(first, 0, size, sync_c);
        shmem_int_prod_to_all(&result[6], &value, 1, first, 0, size, work, sync_b);
        EXPECT(result[0] == common && result[1] == all && result[2] == odd);
        EXPECT(result[3] == n && result[4] == first + 1 && result[5] == sum && result[6] == product);
    } else
        for (int i = 0; i < 7; i++) EXPECT(result[i] == -1);
    shmem_barrier_all();
}

/* start_pes: it begins as shmem_init does, whatever the number; who has called it need not end. */
int main(void) {
    start_pes(12345);
    int const me = shmem_my_pe(), n = shmem_n_pes();
    EXPECT(_my_pe() == me && _num_pes() == n && n <= most);
    work_arrays();
    even_barrier(me, n), even_sync(me, n), broadcast(me, n), collect(me, n), alltoall(me, n), to_all(me, n);
    return failures != 0;
}
