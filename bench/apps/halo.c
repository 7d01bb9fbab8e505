/* halo - threads that exchange halos by passive-target one-sided operations, as WOMBAT does, beside the same by messages.
 *
 *     mpiexec -n N halo [-T THREADS] [-s STEPS] [-c COLUMNS] [-r ROWS]
 *
 *      rank 0   ~~~~~~|~~~~~~|~~~~~~   halo row above     A plate whose edges meet (a torus), relaxed by averages of neighbours.
 *               ......|......|......                      Each rank has ROWS rows; each of its threads has a strip of columns,
 *               thread|thread|thread                      and talks to the same thread of the ranks above and below, at once
 *               ......|......|......                      with the others: puts its edge into their halo, flushes, and raises
 *               ~~~~~~|~~~~~~|~~~~~~   halo row below     their signal.
 *
 * Halos are twice there: one is read while the next comes. That is enough, because a neighbour's thread sends the halo of step s
 * only after it has ours of step s - 1, which we sent when we had read that of s - 2. All results are compared with a serial
 * solution, bit by bit; a difference ends the program with 1. Prints what a step takes: `halo_rma_THREADS 0 TIME us`, the same with
 * one lock around each call of a rank's threads (`halo_rma_one_lock_...`), and `halo_messages_...`. */
#define _GNU_SOURCE
#include "../peers/team.h"

static int rank, size, threads = 2, above, below;
static long steps = 200, columns = 512, rows = 64;
static double *now, *next;

/* --- the plate ------------------------------------------------------------------------------------------------------- */

static double first_value(long row, long column) { return (double)((row * 7919 + column * 104729) % 1000); }

/* The strip [from, to) of one row; west and east of it the plate closes. */
static void relax(double* out, double const* north, double const* mid, double const* south, long from, long to) {
    for (long c = from; c < to; ++c) {
        double const west = mid[c == 0 ? columns - 1 : c - 1], east = mid[c == columns - 1 ? 0 : c + 1];
        out[c] = 0.2 * (mid[c] + north[c] + south[c] + west + east);
    }
}

/* This rank's rows after all steps, computed by itself with everybody's. */
static double* serial(void) {
    long const all = rows * size;
    double *a = zeroed((size_t)(all * columns), sizeof *a), *b = zeroed((size_t)(all * columns), sizeof *b);
    for (long i = 0; i < all * columns; ++i) a[i] = first_value(i / columns, i % columns);
    for (long s = 0; s < steps; ++s) {
        for (long r = 0; r < all; ++r)
            relax(b + r * columns, a + (r + all - 1) % all * columns, a + r * columns, a + (r + 1) % all * columns, 0, columns);
        double* const old = a;
        a = b, b = old;
    }
    memmove(a, a + rank * rows * columns, (size_t)(rows * columns) * sizeof *a);
    free(b);
    return a;
}

/* --- halos ----------------------------------------------------------------------------------------------------------- */

enum { from_above, from_below };

/* A window: signals of each side and thread (how many steps have come), then halos of each parity and side. */
static MPI_Win win;
static char* memory;
static MPI_Aint signal_at(int side, int thread) { return (side * most_threads + thread) * (MPI_Aint)sizeof(long); }
static MPI_Aint halo_at(long step, int side, long column) {
    return signal_at(2, 0) + ((step % 2 * 2 + side) * columns + column) * (MPI_Aint)sizeof(double);
}
static MPI_Aint window_bytes(void) { return halo_at(1, from_below, columns); }
static double* halo(long step, int side) { return (double*)(memory + halo_at(step, side, 0)); }

struct strip {
    int thread;
    long from, to, step;
};

static void put_edge(struct strip s, double const* row, int to, int side) {
    int const n = (int)(s.to - s.from);
    ALONE(MPI_Put(row + s.from, n, MPI_DOUBLE, to, halo_at(s.step, side, s.from), n, MPI_DOUBLE, win));
    ALONE(MPI_Win_flush(to, win));
    long const come = s.step + 1;
    ALONE(MPI_Accumulate(&come, 1, MPI_LONG, to, signal_at(side, s.thread), 1, MPI_LONG, MPI_REPLACE, win));
    ALONE(MPI_Win_flush(to, win));
}
static void await_edge(struct strip s, int side) {
    long come = 0;
    for (long looks = 0; come <= s.step; ++looks) {
        ALONE(MPI_Fetch_and_op(NULL, &come, MPI_LONG, rank, signal_at(side, s.thread), MPI_NO_OP, win));
        ALONE(MPI_Win_flush(rank, win));
        look_again(looks);
    }
    ALONE(MPI_Win_sync(win));
}
static void exchange_rma(struct strip s) {
    put_edge(s, now, above, from_below);
    put_edge(s, now + (rows - 1) * columns, below, from_above);
    await_edge(s, from_above);
    await_edge(s, from_below);
}

static void exchange_messages(struct strip s) {
    MPI_Request r[4];
    int const n = (int)(s.to - s.from), up = 2 * s.thread, down = up + 1;
    MPI_Irecv(halo(s.step, from_above) + s.from, n, MPI_DOUBLE, above, down, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(halo(s.step, from_below) + s.from, n, MPI_DOUBLE, below, up, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(now + s.from, n, MPI_DOUBLE, above, up, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(now + (rows - 1) * columns + s.from, n, MPI_DOUBLE, below, down, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

/* --- all steps ------------------------------------------------------------------------------------------------------- */

typedef void exchange_of(struct strip s);
static pthread_barrier_t strips;

static void all_steps(int thread, void* data) {
    exchange_of** const exchange = data;
    struct strip s = {thread, columns * thread / threads, columns * (thread + 1) / threads, 0};
    for (; s.step < steps; ++s.step) {
        (*exchange)(s);
        for (long r = 0; r < rows; ++r)
            relax(next + r * columns, r == 0 ? halo(s.step, from_above) : now + (r - 1) * columns, now + r * columns,
                  r == rows - 1 ? halo(s.step, from_below) : now + (r + 1) * columns, s.from, s.to);
        if (pthread_barrier_wait(&strips) == PTHREAD_BARRIER_SERIAL_THREAD) {
            double* const old = now;
            now = next, next = old;
        }
        pthread_barrier_wait(&strips);
    }
}

/* Whether the solution is right. */
static int solve(char const* name, exchange_of* exchange, int locked, double const* wanted) {
    one_lock = locked;
    memset(memory, 0, (size_t)window_bytes());
    for (long i = 0; i < rows * columns; ++i) now[i] = first_value(rank * rows + i / columns, i % columns);
    MPI_Win_lock_all(0, win);
    MPI_Win_sync(win);
    double const seconds = run_team(threads, all_steps, &exchange); /* begins when all ranks are here */
    MPI_Win_unlock_all(win);
    int right = memcmp(now, wanted, (size_t)(rows * columns) * sizeof *now) == 0;
    if (rank == 0) printf("%s_%d 0 %.6g us\n", name, threads, seconds / (double)steps * 1e6), fflush(stdout);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!right && rank == 0) fprintf(stderr, "%s: the solution differs from the serial one\n", name);
    return right;
}

static int options(int argc, char** argv) {
    int i = 1;
    for (; i + 1 < argc; i += 2) {
        long const n = strtol(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "-T") == 0) threads = (int)n;
        else if (strcmp(argv[i], "-s") == 0) steps = n;
        else if (strcmp(argv[i], "-c") == 0) columns = n;
        else if (strcmp(argv[i], "-r") == 0) rows = n;
        else return 0;
    }
    return i == argc && threads >= 1 && threads <= most_threads && steps > 0 && columns >= threads && rows > 0;
}

int main(int argc, char** argv) {
    begin_threads(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    above = (rank + size - 1) % size, below = (rank + 1) % size;
    int right = 0;
    if (!options(argc, argv)) fputs("usage: halo [-T THREADS] [-s STEPS] [-c COLUMNS] [-r ROWS]\n", stderr);
    else {
        now = zeroed((size_t)(rows * columns), sizeof *now), next = zeroed((size_t)(rows * columns), sizeof *next);
        pthread_barrier_init(&strips, NULL, (unsigned)threads);
        MPI_Win_allocate(window_bytes(), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        double* const wanted = serial();
        right = solve("halo_rma", exchange_rma, 0, wanted);
        right &= solve("halo_rma_one_lock", exchange_rma, 1, wanted);
        right &= solve("halo_messages", exchange_messages, 0, wanted);
        MPI_Win_free(&win);
        pthread_barrier_destroy(&strips);
        free(wanted), free(now), free(next);
    }
    MPI_Finalize();
    return !right;
}
