/* batches - how often a call is made for one figure, and how long it takes: for benchmarks in C with mpi.h alone.
 *
 *      calls_of(call, bytes)               so many calls take about as long as a batch
 *      seconds_of(call, bytes, calls)      the time of the slowest rank
 *
 * Found by trials, so that a slow library is measured with fewer calls and not for hours. Both are collective on MPI_COMM_WORLD, and have one
 * result on all ranks. */
#pragma once
#include <mpi.h>

enum { most_calls = 100000 };

static double batch = 0.02; /* seconds */

typedef void call_of(long bytes);

static double seconds_of(call_of* call, long bytes, long calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    double const start = MPI_Wtime();
    for (long i = 0; i < calls; ++i) call(bytes);
    double const mine = MPI_Wtime() - start;
    double slowest = 0;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static long fitting(long calls, double took) {
    double const wanted = (double)calls * batch / took;
    return wanted < 3 ? 3 : wanted > most_calls ? most_calls : (long)wanted;
}
/* Trials of 1, 4, 16 ... calls, until one is long enough to tell; then such a batch tells once more, for in the trials a library may touch
   memory for the first time. */
static long calls_of(call_of* call, long bytes) {
    long calls = 1;
    double took = seconds_of(call, bytes, calls);
    while (took < batch / 8 && calls < most_calls) took = seconds_of(call, bytes, calls *= 4);
    calls = fitting(calls, took);
    return fitting(calls, seconds_of(call, bytes, calls));
}
