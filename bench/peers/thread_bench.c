/* thread_bench - threads of two ranks that talk at once, and one-sided operations: one source for every MPI (bench/peers.py).
 *
 *     mpiexec -n 2 thread_bench [-T THREADS] [-t SECONDS] TEST...
 *
 * Rank 0 prints a line a figure: `test bytes value unit`; of tests by several threads the name says how many: threads_rate_4.
 * Every batch is about as long as `-t` says, found by trials, and not shorter than some milliseconds: in less, threads run one
 * after another.
 *
 *     latency       each thread with its partner, 8 bytes there and back: half of it
 *     rate          windows of 64 messages of 8 bytes to the partner, all threads' together: on one communicator, and (rate_own)
 *                   on one for each pair of threads
 *     rma_rate      windows of 64 puts, gets, accumulates of 8 bytes and a flush by rank 0's threads, each at a place of its own:
 *                   in one window, and (_own) in one for each thread
 *     rma_hot       windows of 64 puts or gets and a flush by rank 0's threads at once, small and large, and (_one_lock) the same
 *                   with one lock around each of the calls: what a library gains that lets threads inject without it
 *     rma           an operation and its flush by one thread; memory of the library, and (_private) of the program; windows of 64
 *                   puts or gets and a flush (_bw); a window whose hint says that accumulates are of rows (_rows: MPI-4.1)
 *
 * Only MPI-3 functions. */
#define _GNU_SOURCE
#include "team.h"

enum { window = 64, apart = 128 }; /* messages or operations; bytes from one thread's place to the next */

static int rank, most = 16;
static double batch = 0.05;
static MPI_Comm comms[most_threads];
static MPI_Win wins[most_threads];

static void say(char const* test, int threads, long bytes, double value, char const* unit) {
    if (rank != 0) return;
    if (threads > 0) printf("threads_%s_%d %ld %.6g %s\n", test, threads, bytes, value, unit);
    else printf("%s %ld %.6g %s\n", test, bytes, value, unit);
    fflush(stdout);
}

/* --- how often ------------------------------------------------------------------------------------------------------- */

struct job {
    void (*once)(int thread, struct job const* j);
    long calls, bytes;
    int own; /* each thread has a communicator, or a window, for itself */
};

static void repeat(int thread, void* data) {
    struct job const* const j = data;
    for (long i = 0; i < j->calls; ++i) j->once(thread, j);
}

/* Seconds a call of each thread. */
static double time_of(struct job j, int threads) {
    double took = 0;
    for (j.calls = 1; j.calls < 1000000; j.calls *= 4)
        if ((took = run_team(threads, repeat, &j)) > batch / 4) break;
    double const wanted = (double)j.calls * batch / took;
    j.calls = wanted < 3 ? 3 : (long)wanted;
    return run_team(threads, repeat, &j) / (double)j.calls;
}

/* --- messages -------------------------------------------------------------------------------------------------------- */

static void ping_pong(int thread, struct job const* j) {
    char out[8] = {0}, in[8];
    MPI_Comm const c = comms[j->own ? thread : 0];
    if (rank == 0) MPI_Send(out, 8, MPI_CHAR, 1, thread, c);
    MPI_Recv(in, 8, MPI_CHAR, 1 - rank, thread, c, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, 8, MPI_CHAR, 0, thread, c);
}

static void stream(int thread, struct job const* j) {
    MPI_Request r[window];
    char out[8] = {0}, in[window][8];
    MPI_Comm const c = comms[j->own ? thread : 0];
    for (int i = 0; i < window; ++i)
        if (rank == 0) MPI_Isend(out, 8, MPI_CHAR, 1, thread, c, &r[i]);
        else MPI_Irecv(in[i], 8, MPI_CHAR, 0, thread, c, &r[i]);
    MPI_Waitall(window, r, MPI_STATUSES_IGNORE);
    if (rank == 0) MPI_Recv(in[0], 1, MPI_CHAR, 1, thread, c, MPI_STATUS_IGNORE);
    else MPI_Send(out, 1, MPI_CHAR, 0, thread, c);
}

/* --- one-sided operations -------------------------------------------------------------------------------------------- */

static char *data, *results;

static MPI_Aint place_of(int thread, struct job const* j) { return thread * (j->bytes > apart ? j->bytes : apart); }
static MPI_Win win_of(int thread, struct job const* j) { return wins[j->own ? thread : 0]; }
static void put(int thread, struct job const* j) {
    MPI_Aint const at = place_of(thread, j);
    ALONE(MPI_Put(data + at, (int)j->bytes, MPI_CHAR, 1, at, (int)j->bytes, MPI_CHAR, win_of(thread, j)));
}
static void get(int thread, struct job const* j) {
    MPI_Aint const at = place_of(thread, j);
    ALONE(MPI_Get(data + at, (int)j->bytes, MPI_CHAR, 1, at, (int)j->bytes, MPI_CHAR, win_of(thread, j)));
}
static void accumulate(int thread, struct job const* j) {
    int const n = (int)(j->bytes / 8);
    MPI_Accumulate(data + thread * apart, n, MPI_DOUBLE, 1, thread * apart, n, MPI_DOUBLE, MPI_SUM, win_of(thread, j));
}
static void get_accumulate(int thread, struct job const* j) {
    int const n = (int)(j->bytes / 8);
    MPI_Get_accumulate(data + thread * apart, n, MPI_DOUBLE, results, n, MPI_DOUBLE, 1, thread * apart, n, MPI_DOUBLE, MPI_SUM,
                       win_of(thread, j));
}
static void fetch_and_op(int thread, struct job const* j) {
    long const one = 1;
    MPI_Fetch_and_op(&one, data + thread * apart, MPI_LONG, 1, thread * apart, MPI_SUM, win_of(thread, j));
}
static void compare_and_swap(int thread, struct job const* j) {
    long const one = 1, two = 2;
    MPI_Compare_and_swap(&one, &two, data + thread * apart, MPI_LONG, 1, thread * apart, win_of(thread, j));
}

/* By rank 0; the other one waits, in MPI. */
#define AND_FLUSH(name, times)                                                                                                 \
    static void name##_##times(int thread, struct job const* j) {                                                              \
        if (rank != 0) return;                                                                                                 \
        for (int i = 0; i < times; ++i) name(thread, j);                                                                       \
        ALONE(MPI_Win_flush(1, win_of(thread, j)));                                                                            \
    }
AND_FLUSH(put, 1)
AND_FLUSH(get, 1)
AND_FLUSH(accumulate, 1)
AND_FLUSH(get_accumulate, 1)
AND_FLUSH(fetch_and_op, 1)
AND_FLUSH(compare_and_swap, 1)
AND_FLUSH(put, 64)
AND_FLUSH(get, 64)
AND_FLUSH(accumulate, 64)

static void open_windows(int n, long bytes, void* own, MPI_Info hints) {
    for (int i = 0; i < n; ++i) {
        void* base = own;
        if (own) MPI_Win_create(own, bytes, 1, hints, MPI_COMM_WORLD, &wins[i]);
        else MPI_Win_allocate(bytes, 1, hints, MPI_COMM_WORLD, &base, &wins[i]);
        memset(base, 0, (size_t)bytes);
        MPI_Win_lock_all(0, wins[i]);
    }
    data = zeroed(2, (size_t)bytes);
    results = data + bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}
static void close_windows(int n) {
    for (int i = 0; i < n; ++i) MPI_Win_unlock_all(wins[i]), MPI_Win_free(&wins[i]);
    free(data);
}

/* --- tests ----------------------------------------------------------------------------------------------------------- */

static void latency(void) {
    for (int n = 1; n <= most; n *= 2) say("latency", n, 8, time_of((struct job){.once = ping_pong}, n) / 2 * 1e6, "us");
}
static void rate(void) {
    for (int own = 0; own < 2; ++own)
        for (int n = 1; n <= most; n *= 2)
            say(own ? "rate_own" : "rate", n, 8, n * window / time_of((struct job){.once = stream, .own = own}, n) * 1e-6,
                "M/s");
}
static void rma_rate(void) {
    struct {
        char const* name[2];
        void (*once)(int thread, struct job const* j);
    } const all[] = {{{"put_rate", "put_rate_own"}, put_64},
                     {{"get_rate", "get_rate_own"}, get_64},
                     {{"accumulate_rate", "accumulate_rate_own"}, accumulate_64}};
    open_windows(most, most * apart, NULL, MPI_INFO_NULL);
    for (size_t t = 0; t < sizeof all / sizeof *all; ++t)
        for (int own = 0; own < 2; ++own)
            for (int n = 1; n <= most; n *= 2) {
                struct job const j = {.once = all[t].once, .bytes = 8, .own = own};
                say(all[t].name[own], n, 8, n * window / time_of(j, n) * 1e-6, "M/s");
            }
    close_windows(most);
}

static void rma_hot(void) {
    static long const sizes[] = {8, 262144};
    struct {
        char const* name[2];
        void (*once)(int thread, struct job const* j);
    } const all[] = {{{"put_hot", "put_hot_one_lock"}, put_64}, {{"get_hot", "get_hot_one_lock"}, get_64}};
    open_windows(1, most * sizes[1], NULL, MPI_INFO_NULL);
    for (size_t t = 0; t < sizeof all / sizeof *all; ++t)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s)
            for (int locked = 0; locked < 2; ++locked)
                for (int n = 1; n <= most; n *= 2) {
                    one_lock = locked;
                    double const seconds = time_of((struct job){.once = all[t].once, .bytes = sizes[s]}, n);
                    say(all[t].name[locked], n, sizes[s], (double)(n * window * sizes[s]) / seconds * 1e-9, "GB/s");
                }
    one_lock = 0;
    close_windows(1);
}

static void rma_on(char const* end, void* own, long bytes, MPI_Info hints) {
    static long const sizes[] = {8, 4096, 65536, 1048576};
    struct {
        char const* name;
        void (*once)(int thread, struct job const* j);
        int sized, in_a_row;
    } const all[] = {{"put", put_1, 1, 1},
                     {"get", get_1, 1, 1},
                     {"accumulate", accumulate_1, 1, 1},
                     {"get_accumulate", get_accumulate_1, 1, 1},
                     {"fetch_and_op", fetch_and_op_1, 0, 1},
                     {"compare_and_swap", compare_and_swap_1, 0, 1},
                     {"put_bw", put_64, 1, 64},
                     {"get_bw", get_64, 1, 64}};
    open_windows(1, bytes, own, hints);
    for (size_t t = 0; t < sizeof all / sizeof *all; ++t)
        for (size_t s = 0; s < (all[t].sized ? sizeof sizes / sizeof *sizes : 1); ++s) {
            double const seconds = time_of((struct job){.once = all[t].once, .bytes = sizes[s]}, 1);
            char name[64];
            snprintf(name, sizeof name, "%s%s", all[t].name, end);
            if (all[t].in_a_row == 1) say(name, 0, sizes[s], seconds * 1e6, "us");
            else say(name, 0, sizes[s], (double)(sizes[s] * window) / seconds * 1e-9, "GB/s");
        }
    close_windows(1);
}
static void rma(void) {
    long const bytes = 1 << 20;
    void* const own = zeroed(1, (size_t)bytes);
    MPI_Info rows = MPI_INFO_NULL;
    MPI_Info_create(&rows);
    MPI_Info_set(rows, "mpi_accumulate_granularity", "65536");
    rma_on("", NULL, bytes, MPI_INFO_NULL);
    rma_on("_private", own, bytes, MPI_INFO_NULL);
    rma_on("_rows", NULL, bytes, rows);
    MPI_Info_free(&rows);
    free(own);
}

static int is(char const* a, char const* b) { return strcmp(a, b) == 0; }

static int run(char const* test) {
    if (is(test, "latency")) return latency(), 0;
    if (is(test, "rate")) return rate(), 0;
    if (is(test, "rma_rate")) return rma_rate(), 0;
    if (is(test, "rma_hot")) return rma_hot(), 0;
    if (is(test, "rma")) return rma(), 0;
    return 1;
}

static char const usage[] = "usage: thread_bench [-T THREADS] [-t SECONDS] TEST...   (on 2 ranks)\n"
                            "  -T   the most threads of a rank (16): 1, 2, 4, ... of them\n"
                            "  -t   how long a figure's batch is (0.05)\n"
                            "  TEST latency rate rma_rate rma_hot rma\n";

static int options(int argc, char** argv) {
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        char* end = argv[i + 1];
        if (is(argv[i], "-T")) most = (int)strtol(end, &end, 10);
        else if (is(argv[i], "-t")) batch = strtod(end, &end);
        else return argc;
        if (*end != 0) return argc;
    }
    return most >= 1 && most <= most_threads && batch > 0 ? i : argc;
}

int main(int argc, char** argv) {
    begin_threads(&argc, &argv);
    int size = 0, wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int const first = options(argc, argv);
    if (first >= argc || size != 2) wrong = 1;
    for (int i = 0; i < most && !wrong; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = first; i < argc && !wrong; ++i) wrong = run(argv[i]);
    for (int i = 0; i < most && first < argc && size == 2; ++i) MPI_Comm_free(&comms[i]);
    if (wrong && rank == 0) fputs(usage, stderr);
    MPI_Finalize();
    return wrong;
}
