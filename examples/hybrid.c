// A plate that is heated along its upper edge, relaxed by ranks that are teams of OpenMP threads (mptcc -fopenmp hybrid.c):
//     OMP_NUM_THREADS=2 mptrun -n 2 ./hybrid funneled    threads share each loop; the main thread alone calls MPI
//     OMP_NUM_THREADS=2 mptrun -n 2 ./hybrid multiple    each thread keeps some columns, and exchanges their ends itself
// Every rank has some of the rows. Both ways are compared with the plate of one thread, bit by bit.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { side = 254, width = side + 2, steps = 200 };
typedef double row[width];

static int first_of(int part, int parts) { return 1 + side * part / parts; } // of 1 to side, shared out evenly

static void relax(row* next, row const* now, int top, int bottom, int left, int right) {
    for (int y = top; y < bottom; ++y)
        for (int x = left; x < right; ++x) next[y][x] = (now[y - 1][x] + now[y + 1][x] + now[y][x - 1] + now[y][x + 1]) / 4;
}

/// Rows 1 to rows are ours; 0 and rows + 1 are the neighbours', or the edge.
struct plate {
    row *now, *next;
    int rows, up, down; // up, down: ranks
};

/// Columns left to right of our outermost rows become the neighbours', and theirs become ours.
static void exchange(struct plate const* p, int left, int right, int tag) {
    int const n = right - left;
    MPI_Sendrecv(&p->now[1][left], n, MPI_DOUBLE, p->up, tag, &p->now[p->rows + 1][left], n, MPI_DOUBLE, p->down, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&p->now[p->rows][left], n, MPI_DOUBLE, p->down, tag, &p->now[0][left], n, MPI_DOUBLE, p->up, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void swap(struct plate* p) {
    row* const was = p->now;
    p->now = p->next, p->next = was;
}

/// Parallel loops, and MPI between them.
static void run_funneled(struct plate* p, int threads) {
    for (int step = 0; step < steps; ++step) {
        exchange(p, 1, width - 1, 0);
#pragma omp parallel for num_threads(threads)
        for (int y = 1; y <= p->rows; ++y) relax(p->next, (row const*)p->now, y, y + 1, 1, width - 1);
        swap(p);
    }
}

/// One parallel region, and MPI by all threads: each talks to its like in the neighbours, by a tag of their own.
static void run_multiple(struct plate* p, int threads) {
#pragma omp parallel num_threads(threads)
    {
        int const me = omp_get_thread_num(), left = first_of(me, threads), right = first_of(me + 1, threads);
        for (int step = 0; step < steps; ++step) {
            exchange(p, left, right, me);
            relax(p->next, (row const*)p->now, 1, p->rows + 1, left, right);
#pragma omp barrier
#pragma omp single
            swap(p); // the end of `single` is a barrier, too
        }
    }
}

static row* new_plate(int rows, int has_upper_edge) {
    row* const all = calloc((size_t)rows + 2, sizeof *all);
    for (int x = 0; all && has_upper_edge && x < width; ++x) all[0][x] = 100;
    if (!all) MPI_Abort(MPI_COMM_WORLD, 1);
    return all;
}
static struct plate new_pair(int rows, int has_upper_edge) {
    struct plate const p = {new_plate(rows, has_upper_edge), new_plate(rows, has_upper_edge), rows, MPI_PROC_NULL,
                            MPI_PROC_NULL};
    return p;
}
static void discard(struct plate* p) { free(p->now), free(p->next); }

/// The rows of a plate that one thread has relaxed, from `first` on: how many of them differ from ours?
static int different_rows(struct plate const* mine, int first) {
    struct plate whole = new_pair(side, 1);
    for (int step = 0; step < steps; ++step, swap(&whole)) relax(whole.next, (row const*)whole.now, 1, side + 1, 1, width - 1);
    int n = 0;
    for (int y = 1; y <= mine->rows; ++y) n += memcmp(mine->now[y], whole.now[first + y - 1], sizeof(row)) != 0;
    discard(&whole);
    return n;
}

int main(int argc, char** argv) {
    int const multiple = argc > 1 && strcmp(argv[1], "multiple") == 0,
              wanted = multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
    int provided, me, ranks, threads = omp_get_max_threads(), different, all = 0;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided < wanted) {
        if (me == 0) fprintf(stderr, "hybrid: the library provides a lower level of threads than %s\n", argv[1]);
        MPI_Finalize();
        return 1;
    }
    MPI_Allreduce(MPI_IN_PLACE, &threads, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD); // each has a partner in every rank
    int const first = first_of(me, ranks);
    struct plate mine = new_pair(first_of(me + 1, ranks) - first, me == 0);
    if (me > 0) mine.up = me - 1;
    if (me + 1 < ranks) mine.down = me + 1;

    double const start = MPI_Wtime();
    (multiple ? run_multiple : run_funneled)(&mine, threads);
    double const seconds = MPI_Wtime() - start;

    different = different_rows(&mine, first);
    MPI_Allreduce(&different, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0) {
        printf("%d ranks of %d threads, %s: %d of %d rows differ from one thread's\n", ranks, threads,
               multiple ? "all of which call MPI" : "one of which calls MPI", all, side);
        printf("%.1f us a step\n", seconds / steps * 1e6);
    }
    discard(&mine);
    MPI_Finalize();
    return all != 0;
}
