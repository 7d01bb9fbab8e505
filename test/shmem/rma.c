/* Remote memory: every form of put and get for every type and size, on heap memory and on static data, in the default context and in
   one of the program's; put with signal. */
#include "check.h"

enum { n_most = 24, n_used = 20 };
static shmem_ctx_t ctx;
static uint64_t a_signal; /* static data is symmetric, too */
static long double in_data[2][n_most];
static void* in_heap[2];
static char mine_[n_most * 16], back_[n_most * 16];

/* Puts to the next PE, and looks what the one before has put here: `count` elements, number k from place `s` to place `d`. */
#define PUT(T, count, d, s, call)                                                                                              \
    do {                                                                                                                       \
        size_t found_ = 0, i_;                                                                                                 \
        for (i_ = 0; i_ < n_most; i_++) there[i_] = 0, mine[i_] = (T)held(me, i_);                                             \
        shmem_barrier_all();                                                                                                   \
        call;                                                                                                                  \
        shmem_ctx_quiet(ctx);                                                                                                  \
        shmem_barrier_all();                                                                                                   \
        for (size_t k = 0; k != (size_t)(count); k++) EXPECT(there[d] == (T)held(before, s));                                  \
        for (i_ = 0; i_ < n_most; i_++) found_ += there[i_] != 0;                                                              \
        EXPECT(found_ == (count));                                                                                             \
        shmem_barrier_all();                                                                                                   \
    } while (0)

/* Gets from the next PE. */
#define GET(T, count, d, s, call)                                                                                              \
    do {                                                                                                                       \
        size_t found_ = 0, i_;                                                                                                 \
        for (i_ = 0; i_ < n_most; i_++) there[i_] = (T)held(me, i_), back[i_] = 0;                                             \
        shmem_barrier_all();                                                                                                   \
        call;                                                                                                                  \
        shmem_quiet();                                                                                                         \
        shmem_ctx_quiet(ctx);                                                                                                  \
        for (size_t k = 0; k != (size_t)(count); k++) EXPECT(back[d] == (T)held(next, s));                                     \
        for (i_ = 0; i_ < n_most; i_++) found_ += back[i_] != 0;                                                               \
        EXPECT(found_ == (count));                                                                                             \
        shmem_barrier_all();                                                                                                   \
    } while (0)

/* Puts and signals; the signal is there after the data. */
#define SIGNAL(T, op, value, call)                                                                                             \
    do {                                                                                                                       \
        size_t i_;                                                                                                             \
        for (i_ = 0; i_ < n_most; i_++) there[i_] = 0, mine[i_] = (T)held(me, i_);                                             \
        a_signal = 5;                                                                                                          \
        shmem_barrier_all();                                                                                                   \
        call;                                                                                                                  \
        EXPECT(shmem_signal_wait_until(&a_signal, SHMEM_CMP_NE, 5) == (value));                                                \
        EXPECT(shmem_signal_fetch(&a_signal) == (value));                                                                      \
        for (i_ = 0; i_ < n_used; i_++) EXPECT(there[i_] == (T)held(before, i_));                                              \
        shmem_barrier_all();                                                                                                   \
    } while (0)

#define BEGIN(T)                                                                                                               \
    int const me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;                           \
    T *const there = place, *const mine = (T*)(void*)mine_, *const back = (T*)(void*)back_

#define TYPED(NAME, T)                                                                                                         \
    static void rma_##NAME(void* place) {                                                                                      \
        BEGIN(T);                                                                                                              \
        PUT(T, n_used, k, k, shmem_##NAME##_put(there, mine, n_used, next));                                                   \
        PUT(T, 7, k, k, shmem_ctx_##NAME##_put(ctx, there, mine, 7, next));                                                    \
        PUT(T, 0, k, k, shmem_##NAME##_put(there, mine, 0, next));                                                             \
        PUT(T, 1, 3, 4, shmem_##NAME##_p(there + 3, mine[4], next));                                                           \
        PUT(T, 1, 5, 2, shmem_ctx_##NAME##_p(ctx, there + 5, mine[2], next));                                                  \
        PUT(T, 5, 3 * k, 2 * k, shmem_##NAME##_iput(there, mine, 3, 2, 5, next));                                              \
        PUT(T, 6, 2 * k, k, shmem_ctx_##NAME##_iput(ctx, there, mine, 2, 1, 6, next));                                         \
        PUT(T, 8, 5 * (k / 2) + k % 2, 3 * (k / 2) + k % 2, shmem_##NAME##_ibput(there, mine, 5, 3, 2, 4, next));              \
        PUT(T, 9, 4 * (k / 3) + k % 3, 3 * (k / 3) + k % 3, shmem_ctx_##NAME##_ibput(ctx, there, mine, 4, 3, 3, 3, next));     \
        PUT(T, n_used, k, k, shmem_##NAME##_put_nbi(there, mine, n_used, next); shmem_quiet());                                \
        PUT(T, 9, k, k, shmem_ctx_##NAME##_put_nbi(ctx, there, mine, 9, next));                                                \
        GET(T, n_used, k, k, shmem_##NAME##_get(back, there, n_used, next));                                                   \
        GET(T, 7, k, k, shmem_ctx_##NAME##_get(ctx, back, there, 7, next));                                                    \
        GET(T, 1, 3, 4, back[3] = shmem_##NAME##_g(there + 4, next));                                                          \
        GET(T, 1, 5, 2, back[5] = shmem_ctx_##NAME##_g(ctx, there + 2, next));                                                 \
        GET(T, 5, 3 * k, 2 * k, shmem_##NAME##_iget(back, there, 3, 2, 5, next));                                              \
        GET(T, 6, 2 * k, k, shmem_ctx_##NAME##_iget(ctx, back, there, 2, 1, 6, next));                                         \
        GET(T, 8, 5 * (k / 2) + k % 2, 3 * (k / 2) + k % 2, shmem_##NAME##_ibget(back, there, 5, 3, 2, 4, next));              \
        GET(T, 9, 4 * (k / 3) + k % 3, 3 * (k / 3) + k % 3, shmem_ctx_##NAME##_ibget(ctx, back, there, 4, 3, 3, 3, next));     \
        GET(T, n_used, k, k, shmem_##NAME##_get_nbi(back, there, n_used, next));                                               \
        GET(T, 9, k, k, shmem_ctx_##NAME##_get_nbi(ctx, back, there, 9, next));                                                \
        SIGNAL(T, SET, 9, shmem_##NAME##_put_signal(there, mine, n_used, &a_signal, 9, SHMEM_SIGNAL_SET, next));               \
        SIGNAL(T, ADD, 8, shmem_ctx_##NAME##_put_signal(ctx, there, mine, n_used, &a_signal, 3, SHMEM_SIGNAL_ADD, next));      \
        SIGNAL(T, ADD, 6, shmem_##NAME##_put_signal_nbi(there, mine, n_used, &a_signal, 1, SHMEM_SIGNAL_ADD, next));           \
        SIGNAL(T, SET, 7, shmem_ctx_##NAME##_put_signal_nbi(ctx, there, mine, n_used, &a_signal, 7, SHMEM_SIGNAL_SET, next));  \
    }
MPT_RMA_TYPES(TYPED)

/* Functions by size count elements of that size; strides, too. T is a type of the size that can be compared. */
#define SIZED(SIZE, T)                                                                                                         \
    static void sized_##SIZE(void* place) {                                                                                    \
        BEGIN(T);                                                                                                              \
        PUT(T, n_used, k, k, shmem_put##SIZE(there, mine, n_used, next));                                                      \
        PUT(T, 7, k, k, shmem_ctx_put##SIZE(ctx, there, mine, 7, next));                                                       \
        PUT(T, 9, k, k, shmem_put##SIZE##_nbi(there, mine, 9, next); shmem_quiet());                                           \
        PUT(T, 9, k, k, shmem_ctx_put##SIZE##_nbi(ctx, there, mine, 9, next));                                                 \
        PUT(T, 5, 3 * k, 2 * k, shmem_iput##SIZE(there, mine, 3, 2, 5, next));                                                 \
        PUT(T, 5, 3 * k, 2 * k, shmem_ctx_iput##SIZE(ctx, there, mine, 3, 2, 5, next));                                        \
        PUT(T, 8, 5 * (k / 2) + k % 2, 3 * (k / 2) + k % 2, shmem_ibput##SIZE(there, mine, 5, 3, 2, 4, next));                 \
        PUT(T, 8, 5 * (k / 2) + k % 2, 3 * (k / 2) + k % 2, shmem_ctx_ibput##SIZE(ctx, there, mine, 5, 3, 2, 4, next));        \
        GET(T, n_used, k, k, shmem_get##SIZE(back, there, n_used, next));                                                      \
        GET(T, 7, k, k, shmem_ctx_get##SIZE(ctx, back, there, 7, next));                                                       \
        GET(T, 9, k, k, shmem_get##SIZE##_nbi(back, there, 9, next));                                                          \
        GET(T, 9, k, k, shmem_ctx_get##SIZE##_nbi(ctx, back, there, 9, next));                                                 \
        GET(T, 5, 3 * k, 2 * k, shmem_iget##SIZE(back, there, 3, 2, 5, next));                                                 \
        GET(T, 5, 3 * k, 2 * k, shmem_ctx_iget##SIZE(ctx, back, there, 3, 2, 5, next));                                        \
        GET(T, 8, 5 * (k / 2) + k % 2, 3 * (k / 2) + k % 2, shmem_ibget##SIZE(back, there, 5, 3, 2, 4, next));                 \
        GET(T, 8, 5 * (k / 2) + k % 2, 3 * (k / 2) + k % 2, shmem_ctx_ibget##SIZE(ctx, back, there, 5, 3, 2, 4, next));        \
        SIGNAL(T, SET, 9, shmem_put##SIZE##_signal(there, mine, n_used, &a_signal, 9, SHMEM_SIGNAL_SET, next));                \
        SIGNAL(T, ADD, 8, shmem_ctx_put##SIZE##_signal(ctx, there, mine, n_used, &a_signal, 3, SHMEM_SIGNAL_ADD, next));       \
        SIGNAL(T, ADD, 6, shmem_put##SIZE##_signal_nbi(there, mine, n_used, &a_signal, 1, SHMEM_SIGNAL_ADD, next));            \
        SIGNAL(T, SET, 7, shmem_ctx_put##SIZE##_signal_nbi(ctx, there, mine, n_used, &a_signal, 7, SHMEM_SIGNAL_SET, next));   \
    }
SIZED(8, uint8_t)
SIZED(16, uint16_t)
SIZED(32, uint32_t)
SIZED(64, uint64_t)
__extension__ typedef unsigned __int128 of_16_bytes;
SIZED(128, of_16_bytes)

static void bytes(void* place) {
    BEGIN(unsigned char);
    PUT(unsigned char, n_used, k, k, shmem_putmem(there, mine, n_used, next));
    PUT(unsigned char, 7, k, k, shmem_ctx_putmem(ctx, there, mine, 7, next));
    PUT(unsigned char, 9, k, k, shmem_putmem_nbi(there, mine, 9, next); shmem_quiet());
    PUT(unsigned char, 9, k, k, shmem_ctx_putmem_nbi(ctx, there, mine, 9, next));
    GET(unsigned char, n_used, k, k, shmem_getmem(back, there, n_used, next));
    GET(unsigned char, 7, k, k, shmem_ctx_getmem(ctx, back, there, 7, next));
    GET(unsigned char, 9, k, k, shmem_getmem_nbi(back, there, 9, next));
    GET(unsigned char, 9, k, k, shmem_ctx_getmem_nbi(ctx, back, there, 9, next));
    SIGNAL(unsigned char, SET, 9, shmem_putmem_signal(there, mine, n_used, &a_signal, 9, SHMEM_SIGNAL_SET, next));
    SIGNAL(unsigned char, ADD, 8, shmem_ctx_putmem_signal(ctx, there, mine, n_used, &a_signal, 3, SHMEM_SIGNAL_ADD, next));
    SIGNAL(unsigned char, ADD, 6, shmem_putmem_signal_nbi(there, mine, n_used, &a_signal, 1, SHMEM_SIGNAL_ADD, next));
    SIGNAL(unsigned char, SET, 7, shmem_ctx_putmem_signal_nbi(ctx, there, mine, n_used, &a_signal, 7, SHMEM_SIGNAL_SET, next));
}

/* More than any small path takes, and to every PE. */
static void large(void) {
    enum { bytes_of = 1 << 20 };
    int const me = shmem_my_pe(), n = shmem_n_pes();
    unsigned char *const there = shmem_malloc((size_t)bytes_of), *const from = malloc(bytes_of);
    for (int to = 0; to < n; to++) {
        for (int i = 0; i < bytes_of; i++) from[i] = (unsigned char)(i * 7 + me + to);
        shmem_barrier_all();
        if (to == (me + 1) % n) shmem_putmem(there, from, bytes_of, to);
        shmem_barrier_all();
        if (to == me)
            for (int i = 0, wrong = 0; i < bytes_of && !wrong; i++)
                EXPECT(!(wrong = there[i] != (unsigned char)(i * 7 + (me + n - 1) % n + to)));
        if (to == (me + 1) % n) {
            memset(from, 0, bytes_of);
            shmem_getmem(from, there, bytes_of, to);
            for (int i = 0, wrong = 0; i < bytes_of && !wrong; i++)
                EXPECT(!(wrong = from[i] != (unsigned char)(i * 7 + me + to)));
        }
        shmem_barrier_all();
    }
    shmem_free(there);
    free(from);
}

int main(void) {
    shmem_init();
    in_heap[0] = shmem_malloc(n_most * 16);
    EXPECT(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
    void* const places[2] = {in_heap[0], in_data[1]};
    for (int i = 0; i < 2; i++) {
#define RUN(NAME, T) rma_##NAME(places[i]);
        MPT_RMA_TYPES(RUN)
        sized_8(places[i]), sized_16(places[i]), sized_32(places[i]), sized_64(places[i]), sized_128(places[i]),
            bytes(places[i]);
    }
    large();
    shmem_ctx_destroy(ctx);
    shmem_free(in_heap[0]);
    return ended();
}
