/* Collectives: over the world, over a team of every second PE, and over active sets, for every type; compared with plain loops. */
#include "check.h"

enum { n_most = 8, room = 64 * n_most };
static long sync_a[SHMEM_REDUCE_SYNC_SIZE + SHMEM_ALLTOALLS_SYNC_SIZE], sync_b[SHMEM_COLLECT_SYNC_SIZE];
static shmem_team_t team;
static int first, stride, members, me; /* of the team, by numbers of the world; me: in the team */
static void *from_, *into_, *work_;

static int world_of(int pe) { return first + stride * pe; }
static void settle(void) { shmem_team_sync(team); }

#define FILL(T, count)                                                                                                         \
    T *const from = from_, *const into = into_;                                                                                \
    for (size_t i_ = 0; i_ < room / 2; i_++) from[i_] = (T)(i_ < (count) ? held(world_of(me), i_) : 0), into[i_] = 0;          \
    settle()

#define MOVING(NAME, T, TEAM, ALLTOALL, ALLTOALLS, BROADCAST, COLLECT, FCOLLECT)                                               \
    static void moving_##NAME(void) {                                                                                          \
        int const root = members - 1;                                                                                          \
        {                                                                                                                      \
            FILL(T, (size_t)(3 * members));                                                                                    \
            ALLTOALL(into, from, 3);                                                                                           \
            for (int p = 0; p < members; p++)                                                                                  \
                for (int i = 0; i < 3; i++) EXPECT(into[3 * p + i] == (T)held(world_of(p), (size_t)(3 * me + i)));             \
            EXPECT(into[3 * members] == 0);                                                                                    \
            settle();                                                                                                          \
        }                                                                                                                      \
        {                                                                                                                      \
            FILL(T, (size_t)(4 * members));                                                                                    \
            ALLTOALLS(into, from, 3, 2, 2);                                                                                    \
            for (int p = 0; p < members; p++)                                                                                  \
                for (int i = 0; i < 2; i++) EXPECT(into[(2 * p + i) * 3] == (T)held(world_of(p), (size_t)(2 * me + i) * 2));   \
            EXPECT(into[1] == 0 && into[2] == 0);                                                                              \
            settle();                                                                                                          \
        }                                                                                                                      \
        {                                                                                                                      \
            FILL(T, n_most);                                                                                                   \
            BROADCAST(into, from, n_most, root);                                                                               \
            for (size_t i = 0; i < n_most; i++) EXPECT(into[i] == (TEAM || me != root ? (T)held(world_of(root), i) : 0));      \
            settle();                                                                                                          \
        }                                                                                                                      \
        {                                                                                                                      \
            FILL(T, n_most);                                                                                                   \
            COLLECT(into, from, (size_t)(me + 1));                                                                             \
            size_t at = 0;                                                                                                     \
            for (int p = 0; p < members; p++)                                                                                  \
                for (size_t i = 0; i < (size_t)(p + 1); i++) EXPECT(into[at++] == (T)held(world_of(p), i));                    \
            EXPECT(into[at] == 0);                                                                                             \
            settle();                                                                                                          \
        }                                                                                                                      \
        {                                                                                                                      \
            FILL(T, n_most);                                                                                                   \
            FCOLLECT(into, from, 5);                                                                                           \
            for (int p = 0; p < members; p++)                                                                                  \
                for (size_t i = 0; i < 5; i++) EXPECT(into[5 * (size_t)p + i] == (T)held(world_of(p), i));                     \
            settle();                                                                                                          \
        }                                                                                                                      \
    }

/* What a function of the team interface is called with, and what one of an active set is. */
#define FINE(call) EXPECT((call) == 0)
#define SET first, log_stride(), members
static int log_stride(void) { return stride == 2; }

#define TYPED(NAME, T)                                                                                                         \
    static void a_##NAME(T* d, T* s, size_t n) { FINE(shmem_##NAME##_alltoall(team, d, s, n)); }                               \
    static void as_##NAME(T* d, T* s, ptrdiff_t ds, ptrdiff_t ss, size_t n) {                                                  \
        FINE(shmem_##NAME##_alltoalls(team, d, s, ds, ss, n));                                                                 \
    }                                                                                                                          \
    static void b_##NAME(T* d, T* s, size_t n, int r) { FINE(shmem_##NAME##_broadcast(team, d, s, n, r)); }                    \
    static void c_##NAME(T* d, T* s, size_t n) { FINE(shmem_##NAME##_collect(team, d, s, n)); }                                \
    static void f_##NAME(T* d, T* s, size_t n) { FINE(shmem_##NAME##_fcollect(team, d, s, n)); }                               \
    MOVING(NAME, T, 1, a_##NAME, as_##NAME, b_##NAME, c_##NAME, f_##NAME)
MPT_RMA_TYPES(TYPED)

static void a_mem(char* d, char* s, size_t n) { FINE(shmem_alltoallmem(team, d, s, n)); }
static void as_mem(char* d, char* s, ptrdiff_t ds, ptrdiff_t ss, size_t n) { FINE(shmem_alltoallsmem(team, d, s, ds, ss, n)); }
static void b_mem(char* d, char* s, size_t n, int r) { FINE(shmem_broadcastmem(team, d, s, n, r)); }
static void c_mem(char* d, char* s, size_t n) { FINE(shmem_collectmem(team, d, s, n)); }
static void f_mem(char* d, char* s, size_t n) { FINE(shmem_fcollectmem(team, d, s, n)); }
MOVING(mem, char, 1, a_mem, as_mem, b_mem, c_mem, f_mem)

#define OLD(SIZE, T)                                                                                                           \
    static void a_##SIZE(T* d, T* s, size_t n) { shmem_alltoall##SIZE(d, s, n, SET, sync_a); }                                 \
    static void as_##SIZE(T* d, T* s, ptrdiff_t ds, ptrdiff_t ss, size_t n) {                                                  \
        shmem_alltoalls##SIZE(d, s, ds, ss, n, SET, sync_b);                                                                   \
    }                                                                                                                          \
    static void b_##SIZE(T* d, T* s, size_t n, int r) { shmem_broadcast##SIZE(d, s, n, r, SET, sync_a); }                      \
    static void c_##SIZE(T* d, T* s, size_t n) { shmem_collect##SIZE(d, s, n, SET, sync_b); }                                  \
    static void f_##SIZE(T* d, T* s, size_t n) { shmem_fcollect##SIZE(d, s, n, SET, sync_a); }                                 \
    MOVING(SIZE, T, 0, a_##SIZE, as_##SIZE, b_##SIZE, c_##SIZE, f_##SIZE)
OLD(32, int32_t)
OLD(64, int64_t)

/* A reduction of four elements, in place and not; `step` combines a with what PE p has. Numbers are small, so that all types hold them. */
#define REDUCED(T, start, step, call)                                                                                          \
    do {                                                                                                                       \
        T *const from = from_, *const into = into_;                                                                            \
        for (int place_ = 0; place_ < 2; place_++) {                                                                           \
            T* const source = place_ ? into : from;                                                                            \
            for (int i = 0; i < 4; i++) into[i] = 0, source[i] = (T)((world_of(me) * 3 + i) % 4 + 1);                          \
            settle();                                                                                                          \
            call;                                                                                                              \
            for (int i = 0; i < 4; i++) {                                                                                      \
                T a = (T)(start);                                                                                              \
                for (int p = 0; p < members; p++) {                                                                            \
                    T const b = (T)((world_of(p) * 3 + i) % 4 + 1);                                                            \
                    a = (T)(step);                                                                                             \
                }                                                                                                              \
                EXPECT(into[i] == a);                                                                                          \
            }                                                                                                                  \
            settle();                                                                                                          \
        }                                                                                                                      \
    } while (0)
#define BY_TEAM(NAME, OP) FINE(shmem_##NAME##_##OP##_reduce(team, into, source, 4))
#define BY_SET(NAME, OP) shmem_##NAME##_##OP##_to_all(into, source, 4, SET, work_, sync_a)
#define BITWISE(NAME, T, BY)                                                                                                   \
    REDUCED(T, -1, a& b, BY(NAME, and));                                                                                       \
    REDUCED(T, 0, a | b, BY(NAME, or));                                                                                        \
    REDUCED(T, 0, a ^ b, BY(NAME, xor))
#define ORDERED(NAME, T, BY)                                                                                                   \
    REDUCED(T, 0, a > b ? a : b, BY(NAME, max));                                                                               \
    REDUCED(T, 100, a < b ? a : b, BY(NAME, min))
#define SUMMED(NAME, T, BY)                                                                                                    \
    REDUCED(T, 0, a + b, BY(NAME, sum));                                                                                       \
    REDUCED(T, 1, a* b, BY(NAME, prod))

#define RUN_BITS(NAME, T) BITWISE(NAME, T, BY_TEAM);
#define RUN_ORDER(NAME, T) ORDERED(NAME, T, BY_TEAM);
#define RUN_SUM(NAME, T) SUMMED(NAME, T, BY_TEAM);
#define SET_BITS(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)
#define SET_ORDER(X) SET_BITS(X) X(float, float) X(double, double) X(longdouble, long double)
#define COMPLEX(X) X(complexd, double _Complex) X(complexf, float _Complex)
#define RUN_SET_BITS(NAME, T) BITWISE(NAME, T, BY_SET);
#define RUN_SET_ORDER(NAME, T) ORDERED(NAME, T, BY_SET);
#define RUN_SET_SUM(NAME, T) SUMMED(NAME, T, BY_SET);
/* Sums of those before, with the own and without. */
#define RUN_SCAN(NAME, T)                                                                                                      \
    REDUCED(T, 0, p <= me ? a + b : a, FINE(shmem_##NAME##_sum_inscan(team, into, source, 4)));                                \
    REDUCED(T, 0, p < me ? a + b : a, FINE(shmem_##NAME##_sum_exscan(team, into, source, 4)));

static void reductions_by_bits(void) { MPT_REDUCE_BIT_TYPES(RUN_BITS) SET_BITS(RUN_BITS) }
static void reductions_by_order(void) { MPT_RMA_TYPES(RUN_ORDER) }
static void reductions_by_sum(void) { MPT_RMA_TYPES(RUN_SUM) COMPLEX(RUN_SUM) }
static void reductions_by_set(void) {
    SET_BITS(RUN_SET_BITS) SET_ORDER(RUN_SET_ORDER) SET_ORDER(RUN_SET_SUM) COMPLEX(RUN_SET_SUM)
}
static void scans(void) { MPT_RMA_TYPES(RUN_SCAN) COMPLEX(RUN_SCAN) }

/* Many elements: what no small path takes. */
static void large(void) {
    size_t const n = 40000;
    double *const a = shmem_malloc(n * sizeof(double)), *const b = shmem_malloc(n * sizeof(double));
    for (size_t i = 0; i < n; i++) a[i] = (double)(i % 100 + (size_t)shmem_my_pe());
    shmem_barrier_all();
    EXPECT(shmem_double_sum_reduce(SHMEM_TEAM_WORLD, b, a, n) == 0);
    double const pes = shmem_n_pes();
    for (size_t i = 0; i < n; i++)
        if (b[i] != pes * (double)(i % 100) + pes * (pes - 1) / 2) {
            EXPECT(!"a large sum");
            break;
        }
    shmem_free(a);
    shmem_free(b);
}

static void all(void) {
#define RUN(NAME, T) moving_##NAME();
    MPT_RMA_TYPES(RUN)
    moving_mem(), moving_32(), moving_64();
    reductions_by_bits(), reductions_by_order(), reductions_by_sum(), reductions_by_set(), scans();
    shmem_barrier(SET, sync_a), shmem_sync(SET, sync_b);
}

/* After a barrier of whichever kind what each has put is there. */
static void meetings(void) {
    static int seen;
    int const world = shmem_my_pe(), n = shmem_n_pes(), next = (world + 1) % n;
    for (int turn = 1; turn < 50; turn++) {
        shmem_int_p(&seen, turn, next);
        if (turn % 3 == 0) shmem_barrier_all();
        else if (turn % 3 == 1) shmem_quiet(), shmem_sync_all();
        else shmem_barrier(0, 0, n, sync_a);
        EXPECT(seen == turn);
        EXPECT(shmem_team_sync(SHMEM_TEAM_WORLD) == 0);
    }
}

int main(void) {
    shmem_init();
    from_ = shmem_malloc(room * 16), into_ = shmem_malloc(room * 16), work_ = shmem_malloc(room * 16);
    team = SHMEM_TEAM_WORLD, stride = 1, members = shmem_n_pes(), me = shmem_my_pe();
    all();
    meetings();
    large();
    if (shmem_n_pes() > 1) {
        first = 1, stride = 2, members = shmem_n_pes() / 2;
        EXPECT(shmem_team_split_strided(SHMEM_TEAM_WORLD, first, stride, members, NULL, 0, &team) == 0);
        me = shmem_team_my_pe(team);
        EXPECT((team == SHMEM_TEAM_INVALID) == (shmem_my_pe() % 2 == 0));
        if (team != SHMEM_TEAM_INVALID) all();
        shmem_barrier_all();
        shmem_team_destroy(team);
    }
    return ended();
}
