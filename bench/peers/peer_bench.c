/* peer_bench - one source for every MPI: what bench/peers.py runs beside each other.
 *
 *     mpiexec -n N peer_bench [options] TEST...
 *
 * Rank 0 prints a line a figure: `test bytes value unit`. Times are those of the slowest rank. Every batch is about as long as `-t` says
 * (batches.h). Only MPI-3 functions. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"

enum { window = 64 };

static int rank, size;
static long least_bytes = 1, most_bytes = 4 << 20, fixed_calls = 0, warm_calls = 10;
static char *out, *in, *many;

static void say(char const* test, long bytes, double value, char const* unit) {
    if (rank == 0) printf("%s %ld %.6g %s\n", test, bytes, value, unit), fflush(stdout);
}

/* --- how often, and how long ------------------------------------------------------------------------------------------------- */

/* Seconds a call, the same number on all ranks. */
static double time_of(call_of* call, long bytes) {
    long const calls = fixed_calls > 0 ? fixed_calls : calls_of(call, bytes);
    seconds_of(call, bytes, warm_calls < calls ? warm_calls : calls);
    return seconds_of(call, bytes, calls) / (double)calls;
}

/* --- between two ---------------------------------------------------------------------------------------------------------------- */

static void ping_pong(long bytes) {
    if (rank > 1) return;
    int const n = (int)bytes;
    if (rank == 0) MPI_Send(out, n, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(in, n, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, n, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

/* A window of messages from `from` to `to`, acknowledged. Buffers are reused, as in the usual bandwidth tests. */
static void stream(long bytes, int from, int to) {
    MPI_Request r[window];
    int const n = (int)bytes;
    if (rank == from) {
        for (int i = 0; i < window; ++i) MPI_Isend(out, n, MPI_CHAR, to, 2, MPI_COMM_WORLD, &r[i]);
        MPI_Waitall(window, r, MPI_STATUSES_IGNORE);
        MPI_Recv(in, 1, MPI_CHAR, to, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == to) {
        for (int i = 0; i < window; ++i) MPI_Irecv(in, n, MPI_CHAR, from, 2, MPI_COMM_WORLD, &r[i]);
        MPI_Waitall(window, r, MPI_STATUSES_IGNORE);
        MPI_Send(out, 1, MPI_CHAR, from, 3, MPI_COMM_WORLD);
    }
}
static void one_way(long bytes) { stream(bytes, 0, 1); }
/* Rank i to rank i + size / 2. */
static void pairs(long bytes) { stream(bytes, rank % (size / 2), rank % (size / 2) + size / 2); }

static void both_ways(long bytes) {
    if (rank > 1) return;
    MPI_Request r[2 * window];
    int const n = (int)bytes;
    for (int i = 0; i < window; ++i) MPI_Irecv(in, n, MPI_CHAR, 1 - rank, 4, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i < window; ++i) MPI_Isend(out, n, MPI_CHAR, 1 - rank, 4, MPI_COMM_WORLD, &r[window + i]);
    MPI_Waitall(2 * window, r, MPI_STATUSES_IGNORE);
}

/* Both send, and both receive: what neighbours of a grid do. */
static void exchange(long bytes) {
    if (rank > 1) return;
    int const n = (int)bytes;
    MPI_Sendrecv(out, n, MPI_CHAR, 1 - rank, 5, in, n, MPI_CHAR, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A message and a byte for it: what a worker gets, and says when it has it. */
static void errand(long bytes) {
    if (rank > 1) return;
    int const n = (int)bytes;
    if (rank == 0) MPI_Send(out, n, MPI_CHAR, 1, 6, MPI_COMM_WORLD);
    MPI_Recv(in, rank == 0 ? 1 : n, MPI_CHAR, 1 - rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, 1, MPI_CHAR, 0, 6, MPI_COMM_WORLD);
}

/* --- overlap: the share of a transfer that computing hides ------------------------------------------------------------------------ */

static double work_seconds;
static void work(void) {
    double const until = MPI_Wtime() + work_seconds;
    double volatile x = 1;
    while (MPI_Wtime() < until)
        for (int i = 0; i < 100; ++i) x = x * 1.0000001;
}

typedef void start_of(long bytes, MPI_Request r[2]);
static start_of* started;

static void start_transfer(long bytes, MPI_Request r[2]) {
    if (rank > 1) return;
    MPI_Irecv(in, (int)bytes, MPI_CHAR, 1 - rank, 5, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, (int)bytes, MPI_CHAR, 1 - rank, 5, MPI_COMM_WORLD, &r[1]);
}
static void start_bcast(long bytes, MPI_Request r[2]) { MPI_Ibcast(out, (int)bytes, MPI_CHAR, 0, MPI_COMM_WORLD, r); }
static void start_allreduce(long bytes, MPI_Request r[2]) {
    MPI_Iallreduce(out, in, (int)(bytes / 8), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static void start_alltoall(long bytes, MPI_Request r[2]) {
    MPI_Ialltoall(many, (int)bytes, MPI_CHAR, many + size * bytes, (int)bytes, MPI_CHAR, MPI_COMM_WORLD, r);
}

static void start_and_work(long bytes) {
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    started(bytes, r);
    work();
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}
static void overlap(char const* test, start_of* start, long bytes) {
    started = start, work_seconds = 0;
    double const bare = time_of(start_and_work, bytes);
    work_seconds = bare;
    double const both = time_of(start_and_work, bytes);
    double const hidden = 100 * (1 - (both - bare) / bare);
    say(test, bytes, hidden < 0 ? 0 : hidden > 100 ? 100 : hidden, "%");
}

/* --- all together ------------------------------------------------------------------------------------------------------------------- */

static void barrier(long bytes) { (void)bytes, MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(long bytes) { MPI_Bcast(out, (int)bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }
static void reduce(long bytes) { MPI_Reduce(out, in, (int)(bytes / 8), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); }
static void allreduce(long bytes) { MPI_Allreduce(out, in, (int)(bytes / 8), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void gather(long bytes) { MPI_Gather(out, (int)bytes, MPI_CHAR, many, (int)bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }
static void scatter(long bytes) { MPI_Scatter(many, (int)bytes, MPI_CHAR, in, (int)bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }
static void allgather(long bytes) { MPI_Allgather(out, (int)bytes, MPI_CHAR, many, (int)bytes, MPI_CHAR, MPI_COMM_WORLD); }
static void alltoall(long bytes) {
    MPI_Alltoall(many, (int)bytes, MPI_CHAR, many + size * bytes, (int)bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void collectives(void) {
    struct {
        char const* name;
        call_of* call;
    } const all[] = {{"bcast", bcast},     {"reduce", reduce},       {"allreduce", allreduce}, {"gather", gather},
                     {"scatter", scatter}, {"allgather", allgather}, {"alltoall", alltoall}};
    static long const sizes[] = {8, 1024, 65536, 1048576};
    say("barrier", 0, time_of(barrier, 0) * 1e6, "us");
    for (size_t c = 0; c < sizeof all / sizeof *all; ++c)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
            if (sizes[s] <= most_bytes) say(all[c].name, sizes[s], time_of(all[c].call, sizes[s]) * 1e6, "us");
}

static void collectives_overlap(void) {
    for (long n = 1024; n <= most_bytes; n *= 32) {
        overlap("ibcast", start_bcast, n);
        overlap("iallreduce", start_allreduce, n);
        overlap("ialltoall", start_alltoall, n);
    }
}

/* --- a rank's memory, when it has talked to everybody ------------------------------------------------------------------------------- */

static void memory(void) {
    double kilobytes = 0, sum = 0;
    char line[256];
    alltoall(64), alltoall(1024);
    FILE* f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "Pss:", 4) == 0) kilobytes = atof(line + 4);
    if (f) fclose(f);
    MPI_Reduce(&kilobytes, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    say("memory", 0, sum / size / 1024, "MB");
}

static int is(char const* a, char const* b) { return strcmp(a, b) == 0; }

static int run(char const* test) {
    double const per_s = 1e-9;
    if (is(test, "hello")) return say("hello", 0, size, "ranks"), 0;
    if (is(test, "memory")) return memory(), 0;
    if (is(test, "collectives")) return collectives(), 0;
    if (is(test, "ioverlap")) return collectives_overlap(), 0;
    if (size < 2) return 1;
    for (long n = least_bytes; n <= most_bytes; n *= 2)
        if (is(test, "latency")) say(test, n, time_of(ping_pong, n) / 2 * 1e6, "us");
        else if (is(test, "bw")) say(test, n, per_s * (double)n * window / time_of(one_way, n), "GB/s");
        else if (is(test, "bibw")) say(test, n, per_s * (double)n * 2 * window / time_of(both_ways, n), "GB/s");
        else if (is(test, "exchange")) say(test, n, time_of(exchange, n) * 1e6, "us");
        else if (is(test, "errand")) say(test, n, time_of(errand, n) * 1e6, "us");
        else if (is(test, "overlap")) overlap(test, start_transfer, n);
        else if (is(test, "rate")) return say(test, 8, window / time_of(one_way, 8) * 1e-6, "M/s"), 0;
        else if (is(test, "pairs")) return say(test, 8, size / 2 * window / time_of(pairs, 8) * 1e-6, "M/s"), 0;
        else return 1;
    return 0;
}

static char const usage[] = "usage: peer_bench [-m LEAST:MOST] [-i CALLS] [-x WARM-UP] [-t SECONDS] TEST...\n"
                            "  -m   message sizes in bytes (1:4194304), doubled from one to the next\n"
                            "  -i   calls a figure; without it, as many as fit into -t seconds (0.02)\n"
                            "  -x   calls before that (10)\n"
                            "  TEST latency bw bibw exchange errand overlap ioverlap rate pairs collectives memory hello\n";

static int options(int argc, char** argv) {
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        char* end = argv[i + 1];
        if (is(argv[i], "-m")) {
            least_bytes = strtol(end, &end, 10);
            if (*end == ':') most_bytes = strtol(end + 1, &end, 10);
        } else if (is(argv[i], "-i")) fixed_calls = strtol(end, &end, 10);
        else if (is(argv[i], "-x")) warm_calls = strtol(end, &end, 10);
        else if (is(argv[i], "-t")) batch = strtod(end, &end);
        else return argc;
        if (*end != 0) return argc;
    }
    return least_bytes >= 1 && most_bytes >= least_bytes && most_bytes < 1 << 28 ? i : argc;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int wrong = 0, first = options(argc, argv);
    long const one = most_bytes < 1 << 10 ? 1 << 10 : most_bytes, each = most_bytes < 1 << 20 ? one : 1 << 20;
    out = calloc(1, (size_t)one), in = calloc(1, (size_t)one), many = calloc(2 * (size_t)size, (size_t)each);
    if (first >= argc || !out || !in || !many) wrong = 1;
    for (int i = first; i < argc && !wrong; ++i) {
        /* What was never written is read from one page of zeros: no program sends that. */
        if (!is(argv[i], "memory") && !is(argv[i], "hello"))
            memset(out, 1, (size_t)one), memset(many, 1, 2 * (size_t)size * (size_t)each);
        wrong = run(argv[i]);
    }
    if (wrong && rank == 0) fputs(usage, stderr);
    free(out), free(in), free(many);
    MPI_Finalize();
    return wrong;
}
