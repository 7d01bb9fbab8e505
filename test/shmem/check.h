/* test/shmem/check - what the programs of this folder share: they run as any number of PEs, each compares what it gets with what a
   plain loop says, prints what differs, and ends with the exit code 1 then. */
#ifndef MPT_TEST_SHMEM_CHECK_H
#define MPT_TEST_SHMEM_CHECK_H
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define EXPECT(what)                                                                                                           \
    do {                                                                                                                       \
        if (!(what) && ++failures < 20) printf("%s:%d: PE %d: %s\n", __FILE__, __LINE__, shmem_my_pe(), #what);                \
    } while (0)

/* The types of the specification's tables, each with its name. */
#define MPT_AMO_TYPES(X)                                                                                                       \
    X(int, int)                                                                                                                \
    X(long, long)                                                                                                              \
    X(longlong, long long)                                                                                                     \
    X(uint, unsigned int)                                                                                                      \
    X(ulong, unsigned long)                                                                                                    \
    X(ulonglong, unsigned long long)                                                                                           \
    X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define MPT_EXTENDED_TYPES(X) X(float, float) X(double, double) MPT_AMO_TYPES(X)
#define MPT_BIT_TYPES(X)                                                                                                       \
    X(uint, unsigned int)                                                                                                      \
    X(ulong, unsigned long)                                                                                                    \
    X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)
#define MPT_SMALL_TYPES(X)                                                                                                     \
    X(uchar, unsigned char) X(ushort, unsigned short) X(int8, int8_t) X(int16, int16_t) X(uint8, uint8_t) X(uint16, uint16_t)
#define MPT_OTHER_TYPES(X) X(char, char) X(schar, signed char) X(short, short) X(longdouble, long double)
#define MPT_RMA_TYPES(X) MPT_EXTENDED_TYPES(X) MPT_SMALL_TYPES(X) MPT_OTHER_TYPES(X)
#define MPT_REDUCE_BIT_TYPES(X) MPT_SMALL_TYPES(X) MPT_BIT_TYPES(X) X(size, size_t)

/* What PE `pe` has at place i: small, and never zero. */
static inline int held(int pe, size_t i) { return (int)(1 + (size_t)pe * 13 + i % 11); }

static inline int ended(void) {
    shmem_barrier_all();
    shmem_finalize();
    return failures != 0;
}
#endif
