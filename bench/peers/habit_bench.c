/* habit_bench - what programs do with MPI beside plain sends and receives, one source for every MPI (bench/peers/peers.py).
 *
 *     mpiexec -n N habit_bench [-t SECONDS] [-m BYTES] [-s SUFFIX] [HABIT...]         2 to 64 ranks
 *
 * Rank 0 prints a line a figure: `habit bytes value us` (-s: what stands behind each habit's name), of 8 bytes, 1 KiB and 64 KiB where a habit moves data. Ranks 0 and 1 do what two do, all
 * what all do; of what all do together the bytes are those of a rank's buffer. Sixteen messages share theirs, and have a
 * byte each at least. Times are those of the slowest rank, of batches as long as `-t` says (0.01; batches.h). Only MPI-3 functions. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"

enum { most_bytes = 1 << 16, most_ranks = 64, rows = 64, many_requests = 16, tag = 3 };

static int rank, size, other;
static long only_bytes = -1;
static char *out, *in;
static int counts[most_ranks], places[most_ranks];

typedef void habit_of(int n);

/* --- two ranks: a question and its answer, so that a call is a round trip ------------------------------------------------------------ */

static void answer(int n) { MPI_Recv(in, n, MPI_CHAR, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void say_back(int n) { MPI_Send(out, n, MPI_CHAR, other, tag, MPI_COMM_WORLD); }

static void any_source(int n) {
    MPI_Status s;
    if (rank == 0) say_back(n);
    MPI_Recv(in, n, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    if (rank == 1) say_back(n);
}
static void ssend(int n) {
    if (rank == 0) MPI_Ssend(out, n, MPI_CHAR, other, tag, MPI_COMM_WORLD);
    answer(n);
    if (rank == 1) MPI_Ssend(out, n, MPI_CHAR, other, tag, MPI_COMM_WORLD);
}
static void bsend(int n) {
    if (rank == 0) MPI_Bsend(out, n, MPI_CHAR, other, tag, MPI_COMM_WORLD);
    answer(n);
    if (rank == 1) MPI_Bsend(out, n, MPI_CHAR, other, tag, MPI_COMM_WORLD);
}
static void probed(int n) {
    MPI_Status s;
    int got = 0;
    if (rank == 0) say_back(n);
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    MPI_Get_count(&s, MPI_CHAR, &got);
    MPI_Recv(in, got, MPI_CHAR, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) say_back(n);
}
static void iprobed(int n) {
    int here = 0;
    MPI_Status s;
    if (rank == 0) say_back(n);
    while (!here) MPI_Iprobe(other, tag, MPI_COMM_WORLD, &here, &s);
    answer(n);
    if (rank == 1) say_back(n);
}
static void mprobed(int n) {
    MPI_Status s;
    MPI_Message m;
    if (rank == 0) say_back(n);
    MPI_Mprobe(other, tag, MPI_COMM_WORLD, &m, &s);
    MPI_Mrecv(in, n, MPI_CHAR, &m, MPI_STATUS_IGNORE);
    if (rank == 1) say_back(n);
}
static void tested(int n) {
    MPI_Request r;
    int done = 0;
    MPI_Irecv(in, n, MPI_CHAR, other, tag, MPI_COMM_WORLD, &r);
    if (rank == 0) say_back(n);
    while (!done) MPI_Test(&r, &done, MPI_STATUS_IGNORE);
    if (rank == 1) say_back(n);
}
static void waited(int n) {
    MPI_Request r;
    MPI_Irecv(in, n, MPI_CHAR, other, tag, MPI_COMM_WORLD, &r);
    if (rank == 0) say_back(n);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (rank == 1) say_back(n);
}

/* Both at once. */
static void sendrecv(int n) {
    MPI_Sendrecv(out, n, MPI_CHAR, other, tag, in, n, MPI_CHAR, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void sendrecv_replace(int n) {
    MPI_Sendrecv_replace(out, n, MPI_CHAR, other, tag, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void posted(int n, int messages, MPI_Request* r) {
    int const each = n < messages ? 1 : n / messages;
    for (int i = 0; i < messages; ++i) MPI_Irecv(in + i * each, each, MPI_CHAR, other, tag, MPI_COMM_WORLD, &r[i]);
    for (int i = 0; i < messages; ++i) MPI_Isend(out + i * each, each, MPI_CHAR, other, tag, MPI_COMM_WORLD, &r[messages + i]);
}
static void neighbours(int n) {
    MPI_Request r[2];
    posted(n, 1, r);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}
static void waitany(int n) {
    MPI_Request r[2 * many_requests];
    int at;
    posted(n, many_requests, r);
    for (int i = 0; i < 2 * many_requests; ++i) MPI_Waitany(2 * many_requests, r, &at, MPI_STATUS_IGNORE);
}
static void waitsome(int n) {
    MPI_Request r[2 * many_requests];
    int at[2 * many_requests], got;
    posted(n, many_requests, r);
    for (int left = 2 * many_requests; left > 0; left -= got) MPI_Waitsome(2 * many_requests, r, &got, at, MPI_STATUSES_IGNORE);
}
static void testall(int n) {
    MPI_Request r[2 * many_requests];
    int done = 0;
    posted(n, many_requests, r);
    while (!done) MPI_Testall(2 * many_requests, r, &done, MPI_STATUSES_IGNORE);
}
static void testany(int n) {
    MPI_Request r[2 * many_requests];
    int at, done;
    posted(n, many_requests, r);
    for (int left = 2 * many_requests; left > 0; left -= done) MPI_Testany(2 * many_requests, r, &at, &done, MPI_STATUS_IGNORE);
}
static MPI_Request lasting[2];
static int lasting_bytes = -1;
static void persistent(int n) {
    if (lasting_bytes != n) {
        for (int i = 0; lasting_bytes >= 0 && i < 2; ++i) MPI_Request_free(&lasting[i]);
        MPI_Recv_init(in, n, MPI_CHAR, other, tag, MPI_COMM_WORLD, &lasting[0]);
        MPI_Send_init(out, n, MPI_CHAR, other, tag, MPI_COMM_WORLD, &lasting[1]);
        lasting_bytes = n;
    }
    MPI_Startall(2, lasting);
    MPI_Waitall(2, lasting, MPI_STATUSES_IGNORE);
}

/* Data that do not lie in one piece. */
static MPI_Datatype column;
static int column_bytes;
static void to_column(int n) {
    if (column_bytes == n) return;
    if (column_bytes) MPI_Type_free(&column);
    int const block = n < 8 * rows ? 8 : n / rows;
    MPI_Type_vector(n / block, block, 2 * block, MPI_CHAR, &column);
    MPI_Type_commit(&column);
    column_bytes = n;
}
static void vector(int n) {
    to_column(n);
    if (rank == 0) MPI_Send(out, 1, column, other, tag, MPI_COMM_WORLD);
    MPI_Recv(in, 1, column, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, 1, column, other, tag, MPI_COMM_WORLD);
}
static void vectors_both(int n) {
    to_column(n);
    MPI_Sendrecv(out, 1, column, other, tag, in, 1, column, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void packed(int n) {
    to_column(n);
    int at = 0;
    MPI_Pack(out, 1, column, in, 2 * most_bytes, &at, MPI_COMM_WORLD);
    at = 0;
    MPI_Unpack(in, n, &at, out, 1, column, MPI_COMM_WORLD);
}
static void new_vector(int n) {
    MPI_Datatype t;
    (void)n;
    MPI_Type_vector(8, 1, 4, MPI_DOUBLE, &t);
    MPI_Type_commit(&t);
    MPI_Type_free(&t);
}

/* --- all ------------------------------------------------------------------------------------------------------------------------ */

static void wait_for(MPI_Request r) { MPI_Wait(&r, MPI_STATUS_IGNORE); }
static void ibarrier(int n) {
    MPI_Request r;
    (void)n, MPI_Ibarrier(MPI_COMM_WORLD, &r), wait_for(r);
}
static void ibcast(int n) {
    MPI_Request r;
    MPI_Ibcast(out, n, MPI_CHAR, 0, MPI_COMM_WORLD, &r), wait_for(r);
}
static void iallreduce(int n) {
    MPI_Request r;
    MPI_Iallreduce(out, in, n / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r), wait_for(r);
}
static void ialltoall(int n) {
    MPI_Request r;
    MPI_Ialltoall(out, n / size, MPI_CHAR, in, n / size, MPI_CHAR, MPI_COMM_WORLD, &r), wait_for(r);
}
static void iallgather(int n) {
    MPI_Request r;
    MPI_Iallgather(out, n / size, MPI_CHAR, in, n / size, MPI_CHAR, MPI_COMM_WORLD, &r), wait_for(r);
}
static void parts_of(int n) {
    for (int i = 0; i < size; ++i) counts[i] = n / size, places[i] = i * (n / size);
}
static void gatherv(int n) {
    parts_of(n), MPI_Gatherv(out, counts[rank], MPI_CHAR, in, counts, places, MPI_CHAR, 0, MPI_COMM_WORLD);
}
static void scatterv(int n) {
    parts_of(n), MPI_Scatterv(out, counts, places, MPI_CHAR, in, counts[rank], MPI_CHAR, 0, MPI_COMM_WORLD);
}
static void allgatherv(int n) {
    parts_of(n), MPI_Allgatherv(out, counts[rank], MPI_CHAR, in, counts, places, MPI_CHAR, MPI_COMM_WORLD);
}
static void alltoallv(int n) {
    parts_of(n), MPI_Alltoallv(out, counts, places, MPI_CHAR, in, counts, places, MPI_CHAR, MPI_COMM_WORLD);
}
static void reduce_scatter(int n) {
    MPI_Reduce_scatter_block(out, in, n / 8 < size ? 1 : n / 8 / size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void scan(int n) { MPI_Scan(out, in, n / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void exscan(int n) { MPI_Exscan(out, in, n / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void in_place(int n) { MPI_Allreduce(MPI_IN_PLACE, in, n / 8, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); }
static void least_of_all(int n) {
    MPI_Allreduce(out, in, n / 8 / 2 > 0 ? n / 16 : 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
}

static MPI_Comm ring = MPI_COMM_NULL;
static void make_ring(void) {
    int const all = size, round = 1;
    if (ring == MPI_COMM_NULL) MPI_Cart_create(MPI_COMM_WORLD, 1, &all, &round, 0, &ring);
}
static void neighbor_alltoall(int n) { make_ring(), MPI_Neighbor_alltoall(out, n / 2, MPI_CHAR, in, n / 2, MPI_CHAR, ring); }
static void neighbor_allgather(int n) { make_ring(), MPI_Neighbor_allgather(out, n / 2, MPI_CHAR, in, n / 2, MPI_CHAR, ring); }
static void halo_ring(int n) {
    MPI_Request r[4];
    int const left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Irecv(in, n, MPI_CHAR, left, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(in + n, n, MPI_CHAR, right, 2, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(out, n, MPI_CHAR, right, 1, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(out + n, n, MPI_CHAR, left, 2, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}
static void shift(int n) {
    MPI_Sendrecv(out, n, MPI_CHAR, (rank + 1) % size, tag, in, n, MPI_CHAR, (rank + size - 1) % size, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}
/* Rank 0 hands a task to whoever asks. */
static void tasks(int n) {
    if (rank == 0) {
        for (int i = 1; i < size; ++i) {
            MPI_Status s;
            MPI_Recv(in, 8, MPI_CHAR, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &s);
            MPI_Send(out, n, MPI_CHAR, s.MPI_SOURCE, tag, MPI_COMM_WORLD);
        }
    } else {
        MPI_Send(out, 8, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
        MPI_Recv(in, n, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}
static void dup(int n) {
    MPI_Comm c;
    (void)n, MPI_Comm_dup(MPI_COMM_WORLD, &c), MPI_Comm_free(&c);
}
static void split(int n) {
    MPI_Comm c;
    (void)n, MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &c), MPI_Comm_free(&c);
}

/* --- one-sided, on memory of the library's ------------------------------------------------------------------------------------------ */

static MPI_Win win;
static char* shown;
static void fence_put(int n) {
    MPI_Win_fence(0, win);
    MPI_Put(out, n, MPI_CHAR, (rank + 1) % size, 0, n, MPI_CHAR, win);
    MPI_Win_fence(0, win);
}
static void lock_put(int n) {
    if (rank != 0) return;
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, win), MPI_Put(out, n, MPI_CHAR, other, 0, n, MPI_CHAR, win),
        MPI_Win_unlock(other, win);
}
static void lock_own(int n) {
    if (rank != 0) return;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win), MPI_Get(in, n, MPI_CHAR, other, 0, n, MPI_CHAR, win);
    MPI_Win_unlock(other, win);
}
static MPI_Group of_other = MPI_GROUP_NULL;
static void posted_put(int n) {
    if (of_other == MPI_GROUP_NULL) {
        MPI_Group all;
        MPI_Comm_group(MPI_COMM_WORLD, &all), MPI_Group_incl(all, 1, &other, &of_other), MPI_Group_free(&all);
    }
    MPI_Win_post(of_other, 0, win), MPI_Win_start(of_other, 0, win);
    MPI_Put(out, n, MPI_CHAR, other, 0, n, MPI_CHAR, win);
    MPI_Win_complete(win), MPI_Win_wait(win);
}
static void rput(int n) {
    MPI_Request r;
    if (rank != 0) return;
    MPI_Win_lock_all(0, win);
    MPI_Rput(out, n, MPI_CHAR, other, 0, n, MPI_CHAR, win, &r), MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
}
static void new_window(int n) {
    MPI_Win w;
    (void)n, MPI_Win_create(out, most_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w), MPI_Win_free(&w);
}

/* --- */

enum { pair = 1, sizes_of = 2 };
static struct {
    char const* name;
    habit_of* call;
    int how;
} const habits[] = {
    {"any_source", any_source, pair | sizes_of},
    {"ssend", ssend, pair | sizes_of},
    {"bsend", bsend, pair | sizes_of},
    {"probe", probed, pair | sizes_of},
    {"iprobe", iprobed, pair | sizes_of},
    {"mprobe", mprobed, pair | sizes_of},
    {"irecv_test", tested, pair | sizes_of},
    {"irecv_wait", waited, pair | sizes_of},
    {"sendrecv", sendrecv, pair | sizes_of},
    {"sendrecv_replace", sendrecv_replace, pair | sizes_of},
    {"isend_irecv_waitall", neighbours, pair | sizes_of},
    {"waitany_16", waitany, pair | sizes_of},
    {"waitsome_16", waitsome, pair | sizes_of},
    {"testall_16", testall, pair | sizes_of},
    {"testany_16", testany, pair | sizes_of},
    {"persistent", persistent, pair | sizes_of},
    {"vector", vector, pair | sizes_of},
    {"vector_sendrecv", vectors_both, pair | sizes_of},
    {"pack_unpack", packed, pair | sizes_of},
    {"type_vector", new_vector, pair},
    {"ibarrier", ibarrier, 0},
    {"ibcast", ibcast, sizes_of},
    {"iallreduce", iallreduce, sizes_of},
    {"ialltoall", ialltoall, sizes_of},
    {"iallgather", iallgather, sizes_of},
    {"gatherv", gatherv, sizes_of},
    {"scatterv", scatterv, sizes_of},
    {"allgatherv", allgatherv, sizes_of},
    {"alltoallv", alltoallv, sizes_of},
    {"reduce_scatter_block", reduce_scatter, sizes_of},
    {"scan", scan, sizes_of},
    {"exscan", exscan, sizes_of},
    {"allreduce_in_place", in_place, sizes_of},
    {"minloc", least_of_all, sizes_of},
    {"neighbor_alltoall", neighbor_alltoall, sizes_of},
    {"neighbor_allgather", neighbor_allgather, sizes_of},
    {"halo_ring", halo_ring, sizes_of},
    {"shift", shift, sizes_of},
    {"tasks", tasks, sizes_of},
    {"comm_dup", dup, 0},
    {"comm_split", split, 0},
    {"fence_put", fence_put, sizes_of},
    {"lock_put", lock_put, sizes_of},
    {"lock_get", lock_own, sizes_of},
    {"posted_put", posted_put, pair | sizes_of},
    {"rput", rput, sizes_of},
    {"win_create", new_window, 0},
};
enum { all_habits = sizeof habits / sizeof *habits };

/* The habit at work. Ranks that have no part in it wait. */
static habit_of* now;
static void habit(long bytes) { now((int)bytes); }
static void nothing(long bytes) { (void)bytes; }
static double time_of(int h, int n) {
    now = habits[h].call;
    call_of* const call = habits[h].how & pair && rank > 1 ? nothing : habit;
    long const calls = calls_of(call, n);
    return seconds_of(call, n, calls) / (double)calls;
}

static int is_habit(char const* name) {
    for (int h = 0; h < all_habits; ++h)
        if (strcmp(habits[h].name, name) == 0) return 1;
    return 0;
}
static int wanted(char const* name, int argc, char** argv, int first) {
    for (int i = first; i < argc; ++i)
        if (strcmp(argv[i], name) == 0) return 1;
    return first >= argc;
}

static void let_go(char* buffer, int buffered) {
    for (int i = 0; lasting_bytes >= 0 && i < 2; ++i) MPI_Request_free(&lasting[i]);
    if (column_bytes) MPI_Type_free(&column);
    if (of_other != MPI_GROUP_NULL) MPI_Group_free(&of_other);
    if (ring != MPI_COMM_NULL) MPI_Comm_free(&ring);
    MPI_Win_free(&win);
    MPI_Buffer_detach(&buffer, &buffered);
    free(out), free(in), free(buffer);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    batch = 0.01;
    char const* suffix = "";
    int first = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2)
        if (strcmp(argv[first], "-t") == 0) batch = atof(argv[first + 1]);
        else if (strcmp(argv[first], "-m") == 0) only_bytes = atol(argv[first + 1]);
        else if (strcmp(argv[first], "-s") == 0) suffix = argv[first + 1];
        else break;
    for (int i = first; i < argc; ++i)
        if (!is_habit(argv[i])) size = 0; /* nor an option */
    size_t const room = 4 * most_bytes, buffered = 1 << 22;
    out = malloc(room), in = malloc(room);
    char* const buffer = malloc(buffered);
    if (size < 2 || size > most_ranks || batch <= 0 || !out || !in || !buffer) {
        if (rank == 0) fputs("usage: mpiexec -n 2..64 habit_bench [-t SECONDS] [-m BYTES] [-s SUFFIX] [HABIT...]\n", stderr);
        MPI_Finalize();
        return 2;
    }
    other = 1 - rank;
    memset(out, 0, room), memset(in, 0, room); /* what was never written is read from one page of zeros */
    MPI_Buffer_attach(buffer, (int)buffered);
    MPI_Win_allocate(2 * most_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shown, &win);
    for (int h = 0; h < all_habits; ++h) {
        if (!wanted(habits[h].name, argc, argv, first)) continue;
        static int const sizes[] = {8, 1024, most_bytes};
        for (int s = 0; s < (habits[h].how & sizes_of ? 3 : 1); ++s) {
            int const n = habits[h].how & sizes_of ? sizes[s] : 0;
            if (only_bytes >= 0 && n != only_bytes) continue;
            double const t = time_of(h, n);
            if (rank == 0) printf("%s%s %d %.4g us\n", habits[h].name, suffix, n, t * 1e6), fflush(stdout);
        }
    }
    let_go(buffer, (int)buffered);
    MPI_Finalize();
    return 0;
}
