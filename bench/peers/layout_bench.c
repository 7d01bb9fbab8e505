/* layout_bench - scattered data in one-sided calls, the objects that describe them, and what programs ask all the time: one source for every
 * MPI (bench/peers/peers.py).
 *
 *     mpiexec -n 2 layout_bench [-t SECONDS] [FAMILY...]
 *
 * Rank 0 prints a line a figure: `test bytes value us`. Batches are as long as `-t` says (0.01; batches.h).
 *
 *     runs      put, get, accumulate and its flush by rank 0, of `bytes` in runs of 8 or 512 with gaps as long between them, to the same
 *               places: in a window of the library's memory, and (_private) of the program's, while rank 1 waits in MPI; _triples:
 *               three floats at a time, of structures of eight; _face: of a block of 64 x 64 x 4 doubles, by two vectors, one in the other
 *     objects   memory, windows, and types of 1000 parts (these are the `bytes` of a type): made and freed
 *     queries   of what is at hand: no communication
 *
 * Only MPI-3 functions. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"

enum { window_bytes = 1 << 20, parts = 1000, edge = 64 };

static int rank;
static char* data;

static void say(char const* test, char const* end, long bytes, double us) {
    if (rank == 0) printf("%s%s %ld %.4g us\n", test, end, bytes, us), fflush(stdout);
}
static double us_of(call_of* call, long bytes) {
    long const calls = calls_of(call, bytes);
    return seconds_of(call, bytes, calls) / (double)calls * 1e6;
}

/* --- runs ------------------------------------------------------------------------------------------------------------ */

static MPI_Win win;
static MPI_Datatype layout; /* of doubles, or floats */

static void put(long bytes) {
    (void)bytes;
    if (rank != 0) return;
    MPI_Put(data, 1, layout, 1, 0, 1, layout, win);
    MPI_Win_flush(1, win);
}
static void get(long bytes) {
    (void)bytes;
    if (rank != 0) return;
    MPI_Get(data, 1, layout, 1, 0, 1, layout, win);
    MPI_Win_flush(1, win);
}
static void accumulate(long bytes) {
    (void)bytes;
    if (rank != 0) return;
    MPI_Accumulate(data, 1, layout, 1, 0, 1, layout, MPI_SUM, win);
    MPI_Win_flush(1, win);
}

static void runs_of(char const* shape, char const* end, MPI_Datatype of) {
    static struct {
        char const* name;
        call_of* call;
    } const all[] = {{"put", put}, {"get", get}, {"accumulate", accumulate}};
    int bytes = 0;
    layout = of;
    MPI_Type_commit(&layout);
    MPI_Type_size(layout, &bytes);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s", all[i].name, shape);
        say(name, end, bytes, us_of(all[i].call, bytes));
    }
    MPI_Type_free(&layout);
}
static void rows(char const* end, int runs, int doubles) {
    char shape[32];
    MPI_Datatype t = MPI_DATATYPE_NULL;
    snprintf(shape, sizeof shape, "runs_%d", doubles * 8);
    MPI_Type_vector(runs, doubles, 2 * doubles, MPI_DOUBLE, &t);
    runs_of(shape, end, t);
}
static void triples(char const* end, int n) {
    MPI_Datatype t = MPI_DATATYPE_NULL;
    MPI_Type_vector(n, 3, 8, MPI_FLOAT, &t);
    runs_of("triples", end, t);
}
static void face(char const* end) {
    MPI_Datatype line = MPI_DATATYPE_NULL, t = MPI_DATATYPE_NULL;
    MPI_Type_vector(edge, 1, 4, MPI_DOUBLE, &line);
    MPI_Type_create_hvector(edge, 1, edge * 4 * 8, line, &t);
    runs_of("face", end, t);
    MPI_Type_free(&line);
}
static void runs_in(char const* end, char* own) {
    char* base = own;
    if (own) MPI_Win_create(own, window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    else MPI_Win_allocate(window_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, window_bytes);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    rows(end, 16, 1), rows(end, 128, 1), rows(end, 1024, 1), rows(end, 4096, 1);
    rows(end, 64, 64), rows(end, 512, 64);
    triples(end, 256), triples(end, 4096);
    face(end);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}
static void runs(void) {
    char* const own = calloc(1, window_bytes);
    if (!own) MPI_Abort(MPI_COMM_WORLD, 1);
    runs_in("", NULL);
    runs_in("_private", own);
    free(own);
}

/* --- objects --------------------------------------------------------------------------------------------------------- */

static int lengths[parts], indices[parts];
static MPI_Aint places[parts];
static MPI_Datatype types[parts];

static void alloc_mem(long bytes) {
    char* p = NULL;
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &p);
    *p = 1;
    MPI_Free_mem(p);
}
static void win_allocate(long bytes) {
    char* base = NULL;
    MPI_Win w;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    MPI_Win_free(&w);
}
static void win_shared(long bytes) {
    char* base = NULL;
    MPI_Win w;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
    MPI_Win_free(&w);
}
static void win_create(long bytes) {
    MPI_Win w;
    MPI_Win_create(data, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_free(&w);
}
static void win_dynamic(long bytes) {
    MPI_Win w;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Win_attach(w, data, bytes);
    MPI_Win_detach(w, data);
    MPI_Win_free(&w);
}
static void committed(MPI_Datatype t) { MPI_Type_commit(&t), MPI_Type_free(&t); }
static void type_indexed(long bytes) {
    MPI_Datatype t;
    (void)bytes;
    MPI_Type_indexed(parts, lengths, indices, MPI_DOUBLE, &t);
    committed(t);
}
static void type_indexed_block(long bytes) {
    MPI_Datatype t;
    (void)bytes;
    MPI_Type_create_indexed_block(parts, 1, indices, MPI_DOUBLE, &t);
    committed(t);
}
static void type_struct(long bytes) {
    MPI_Datatype t;
    (void)bytes;
    MPI_Type_create_struct(parts, lengths, places, types, &t);
    committed(t);
}
static void type_subarray(long bytes) {
    static int const whole[] = {edge, edge, edge}, part[] = {edge / 2, edge / 2, edge / 2}, at[] = {1, 1, 1};
    MPI_Datatype t;
    (void)bytes;
    MPI_Type_create_subarray(3, whole, part, at, MPI_ORDER_C, MPI_DOUBLE, &t);
    committed(t);
}
static void objects(void) {
    for (int i = 0; i < parts; ++i) {
        lengths[i] = 1 + i % 3, indices[i] = i * 5, places[i] = i * 40;
        types[i] = i % 2 ? MPI_INT : MPI_DOUBLE;
    }
    say("alloc_mem", "", 8192, us_of(alloc_mem, 8192)), say("alloc_mem", "", 1 << 20, us_of(alloc_mem, 1 << 20));
    say("win_allocate", "", 8192, us_of(win_allocate, 8192)), say("win_shared", "", 8192, us_of(win_shared, 8192));
    say("win_of_own", "", 8192, us_of(win_create, 8192)), say("win_dynamic", "", 8192, us_of(win_dynamic, 8192));
    say("type_indexed", "", parts, us_of(type_indexed, parts)),
        say("type_indexed_block", "", parts, us_of(type_indexed_block, parts));
    say("type_struct", "", parts, us_of(type_struct, parts)), say("type_subarray", "", 0, us_of(type_subarray, 0));
}

/* --- queries: a thousand a call, or who measures is what takes time ----------------------------------------------------- */

#define QUERY(name, ...)                                                                                                       \
    static void name(long bytes) {                                                                                             \
        (void)bytes;                                                                                                           \
        for (int i = 0; i < 1000; ++i) __VA_ARGS__;                                                                            \
    }
static int number, flag;
static MPI_Aint low, length;
static MPI_Status status;
static void* value;
static char text[MPI_MAX_PROCESSOR_NAME];
QUERY(comm_rank, MPI_Comm_rank(MPI_COMM_WORLD, &number))
QUERY(type_size, MPI_Type_size(MPI_DOUBLE, &number))
QUERY(type_extent, MPI_Type_get_extent(MPI_DOUBLE, &low, &length))
QUERY(get_count, MPI_Get_count(&status, MPI_DOUBLE, &number))
QUERY(initialized, MPI_Initialized(&flag))
QUERY(attribute, MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void*)&value, &flag))
QUERY(wtime, MPI_Wtime())
QUERY(processor_name, MPI_Get_processor_name(text, &number))
static void queries(void) {
    static struct {
        char const* name;
        call_of* call;
    } const all[] = {{"comm_rank", comm_rank}, {"type_size", type_size},          {"type_extent", type_extent},
                     {"get_count", get_count}, {"initialized", initialized},      {"attribute", attribute},
                     {"wtime", wtime},         {"processor_name", processor_name}};
    MPI_Sendrecv(&number, 0, MPI_INT, rank, 0, &number, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &status);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) say(all[i].name, "", 0, us_of(all[i].call, 0) / 1000);
}

static int run(char const* family) {
    if (strcmp(family, "runs") == 0) return runs(), 0;
    if (strcmp(family, "objects") == 0) return objects(), 0;
    if (strcmp(family, "queries") == 0) return queries(), 0;
    return 1;
}

int main(int argc, char** argv) {
    int size = 0, first = 1, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    batch = 0.01;
    if (argc > 2 && strcmp(argv[1], "-t") == 0) batch = atof(argv[2]), first = 3;
    data = calloc(1, window_bytes);
    wrong = size != 2 || batch <= 0 || !data;
    if (first == argc && !wrong) runs(), objects(), queries();
    for (int i = first; i < argc && !wrong; ++i) wrong = run(argv[i]);
    if (wrong && rank == 0) fputs("usage: mpiexec -n 2 layout_bench [-t SECONDS] [runs|objects|queries...]\n", stderr);
    free(data);
    MPI_Finalize();
    return wrong ? 2 : 0;
}
