/* pages - what the size of pages does for messages, one-sided operations and accesses without any order.
 *
 *     mpiexec -n 2 pages [-m MEGABYTES] [-t SECONDS]
 *
 *      rank 0  [ memory ]  <--- MPI_Get, MPI_Send, loads ---  [ memory ]  rank 1        both of a shared window, with base pages
 *                                                                                     (mpt_mem_pg_sz=4K), then with huge ones (2M)
 *
 * Huge pages come from the system's pool (/proc/sys/vm/nr_hugepages), else transparently; the window's info says which pages it has,
 * and a size that it has not got has no rows. What arrives is checked. Prints `pages_WHAT_SIZE 0 VALUE UNIT`: `get` and `send`, bandwidth
 * of operations of 4 MB, all over the memory; `random`, a load from anywhere in the own memory; `far`, the same in the other rank's. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_piece = 4 << 20 };

static int rank;
static long megabytes = 64;
static double least_time = 0.2;
static char *mine, *theirs, *into;
static size_t bytes, piece;
static MPI_Win win;
static int wrong;

static char value_at(size_t i, int of) { return (char)(i * 31 + (i >> 12) * 7 + (size_t)of * 101); }

/* --- what is measured: one round, and the bytes or accesses of it ------------------------------------------------------ */

static double get(size_t round) {
    size_t const at = round * piece % (bytes - piece + 1);
    if (rank == 1) MPI_Get(into, (int)piece, MPI_CHAR, 0, (MPI_Aint)at, (int)piece, MPI_CHAR, win), MPI_Win_flush(0, win);
    if (rank == 1) wrong |= into[0] != value_at(at, 0) || into[piece - 1] != value_at(at + piece - 1, 0);
    return (double)piece;
}
static double send(size_t round) {
    size_t const at = round * piece % (bytes - piece + 1);
    if (rank == 0) MPI_Send(mine + at, (int)piece, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(into, (int)piece, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) wrong |= into[0] != value_at(at, 0) || into[piece - 1] != value_at(at + piece - 1, 0);
    return (double)piece;
}
/* Each load says where the next is, so that none is early. */
static double loads(char const* from, int of) {
    enum { count = 10000 };
    static uint64_t state = 88172645463325252u;
    for (int i = 0; i < count; ++i) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        size_t const at = state % bytes;
        char const c = from[at];
        wrong |= c != value_at(at, of);
        state += (uint64_t)(unsigned char)c;
    }
    return count;
}
static double random_own(size_t round) { return (void)round, rank == 1 ? loads(mine, 1) : 1; }
static double random_far(size_t round) { return (void)round, rank == 1 ? loads(theirs, 0) : 1; }

static void measure(char const* what, char const* size, double (*one)(size_t), char const* unit) {
    double done = 0, seconds = 0;
    for (size_t round = 0, rounds = 8; seconds < least_time; rounds *= 2) { /* rank 1 says when it is enough */
        MPI_Barrier(MPI_COMM_WORLD);
        double const start = MPI_Wtime();
        done = 0;
        for (size_t i = 0; i < rounds; ++i) done += one(round++);
        seconds = MPI_Wtime() - start;
        MPI_Bcast(&seconds, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    }
    if (rank == 1)
        printf("pages_%s_%s 0 %.6g %s\n", what, size, *unit == 'G' ? done / seconds / 1e9 : seconds / done * 1e9, unit);
}

/* --------------------------------------------------------------------------------------------------------------------- */

/* Whether the window has got pages of that size. */
static int has_pages(char const* size) {
    MPI_Info info;
    char value[16] = "4K";
    int found = 0, both = 0, length = sizeof value;
    MPI_Win_get_info(win, &info);
    MPI_Info_get_string(info, "mpt_mem_pg_sz", &length, value, &found);
    MPI_Info_free(&info);
    found = strcmp(value, size) == 0;
    MPI_Allreduce(&found, &both, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return both;
}

static void with_pages(char const* size) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpt_mem_pg_sz", size);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &mine, &win);
    MPI_Info_free(&info);
    MPI_Aint length = 0;
    int unit = 0;
    MPI_Win_shared_query(win, 1 - rank, &length, &unit, &theirs);
    for (size_t i = 0; i < bytes; ++i) mine[i] = value_at(i, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Win_sync(win);
    if (has_pages(size)) {
        measure("get", size, get, "GB/s");
        measure("send", size, send, "GB/s");
        measure("random", size, random_own, "ns");
        measure("far", size, random_far, "ns");
    } else if (rank == 0) printf("# pages of %s: there are none\n", size);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static int options(int argc, char** argv) {
    int i = 1;
    for (; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "-m") == 0) megabytes = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "-t") == 0) least_time = strtod(argv[i + 1], NULL);
        else return 0;
    return i == argc && megabytes >= 1 && megabytes <= 1 << 20;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || !options(argc, argv)) {
        fputs("usage: pages [-m MEGABYTES] [-t SECONDS], by two ranks\n", stderr);
        wrong = 1;
    } else {
        bytes = (size_t)megabytes << 20, piece = bytes < most_piece ? bytes : most_piece;
        into = calloc(piece, 1);
        with_pages("4K"), with_pages("2M");
        free(into);
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (wrong && rank == 0) fputs("pages: what came is not what was there\n", stderr);
    }
    MPI_Finalize();
    return wrong;
}
