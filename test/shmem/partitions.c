/* Partitions of the symmetric heap: their blocks, what they have become, and what there is not. Run with
   SHMEM_SYMMETRIC_PARTITION1=size=8M, SMA_SYMMETRIC_PARTITION2=size=3M:kind=F:policy=P:pgsize=2M and
   SHMEM_SYMMETRIC_PARTITION5=size=64K:policy=MANDATORY. Prints the kind of memory that partition 2 has. */
#include "check.h"

static void query(int* kind) {
    size_t bytes = 0, page = 0;
    EXPECT(shmemx_partition_query(1, &bytes, &page, kind) == 0 && bytes == 8 << 20 && page == 4096 &&
           *kind == SHMEMX_NORMALMEM);
    EXPECT(shmemx_partition_query(5, &bytes, NULL, NULL) == 0 && bytes == 64 << 10);
    EXPECT(shmemx_partition_query(2, &bytes, &page, kind) == 0 && bytes == 3 << 20 &&
           (page == 4096 || page == 2 << 20 || page == 1 << 30));
    for (int id = -1; id < 10; id++)
        EXPECT((shmemx_partition_query(id, NULL, NULL, NULL) == 0) == (id == 1 || id == 2 || id == 5));
}

/* A block of each is written and read by the others as any symmetric memory is. */
static void blocks(int me, int n) {
    static int const ids[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        long* const a = i == 1 ? shmemx_kind_malloc(100 * sizeof(long), ids[i]) : shmem_kind_malloc(100 * sizeof(long), ids[i]);
        long* const b = i == 1 ? shmemx_kind_align(4096, 64, ids[i]) : shmem_kind_align(4096, 64, ids[i]);
        EXPECT(a && b && (uintptr_t)b % 4096 == 0);
        *b = 0, a[99] = 0;
        shmem_barrier_all();
        shmem_long_p(a + 99, 10 * me + i, (me + 1) % n);
        shmem_long_atomic_add(b, me + 1, 0);
        shmem_barrier_all();
        EXPECT(a[99] == 10 * ((me + n - 1) % n) + i && shmem_long_g(b, 0) == (long)n * (n + 1) / 2);
        long* const more = shmem_realloc(a, 20000);
        EXPECT(more && more[99] == 10 * ((me + n - 1) % n) + i);
        shmem_free(more), shmem_free(b);
    }
}

static void refused(void) {
    EXPECT(!shmem_kind_malloc(1, 3) && !shmem_kind_malloc(1, 0) && !shmem_kind_malloc(1, 99)); /* not there */
    EXPECT(!shmem_kind_malloc((64 << 10) + 1, 5));                                             /* not so much */
    EXPECT(!shmem_kind_align(24, 8, 2) && !shmem_kind_malloc(0, 2));
    void* const all = shmem_kind_malloc(64 << 10, 5);
    EXPECT(all && !shmem_kind_malloc(1, 5));
    void* const other = shmem_malloc(1 << 20);
    EXPECT(other);
    shmem_free(all), shmem_free(other);
}

int main(void) {
    shmem_init();
    int kind = 0;
    query(&kind), blocks(shmem_my_pe(), shmem_n_pes()), refused();
    if (shmem_my_pe() == 0) printf("partition 2 is %s\n", kind == SHMEMX_FASTMEM ? "fast" : "normal");
    return ended();
}
