/* sweep - a transport sweep over a grid of ranks, as SNAP and Sweep3D do (KBA): by messages, and by puts with signals.
 *
 *     mpiexec -n N sweep [-T THREADS] [-s SWEEPS] [-x NX] [-y NY] [-z NZ] [-a ANGLES] [-g GROUPS] [-k CHUNK]
 *
 *       z                       Ranks form a grid over y and z; each has all of x, and ny * nz columns of cells. From each corner
 *       |  [ 2 ]-->[ 3 ]        a wave goes through the grid: a rank takes the fluxes that flow in from the ranks before it in y
 *       |    ^       ^          and in z, solves CHUNK planes of x, and hands on what flows out, so the ranks of a diagonal work
 *       |  [ 0 ]-->[ 1 ]        at once. Threads share the energy groups: each sweeps its own through all eight octants, and
 *       '----------- y          talks for itself.
 *
 * By puts: one window in a passive epoch for all the time, with a place and a signal for every face of a group's sweep. The
 * number of the sweep is the signal, so nothing is cleared; between two sweeps all meet, as SNAP's convergence test does. The
 * sums of all angles' fluxes are compared with those of a serial sweep; a difference ends the program with 1. Prints what a
 * sweep takes: `sweep_messages_THREADS 0 TIME ms`, `sweep_rma_...`, and by puts with one lock around each call of a rank's threads. */
#define _GNU_SOURCE
#include "../peers/team.h"

static int rank, size, grid[2], place[2], threads = 2;
static long sweeps = 3, nx = 32, ny = 8, nz = 8, angles = 8, groups = 8, chunk = 8;

/* --- the physics: what flows out of a cell, by what flows in --------------------------------------------------------- */

/* A block of cells that is solved at once: where it lies in the whole, and what flows through it. */
struct block {
    long y0, z0, ny, nz;               /* of the whole grid */
    double *in_x, *in_y, *in_z, *flux; /* faces [z][y], [x][z], [x][y] of angles; sums of all angles [x][z][y] */
};
struct octant {
    int x, y, z; /* 1: forward, 0: backward */
};
static struct octant octant_of(int o) { return (struct octant){o & 1, o >> 1 & 1, o >> 2 & 1}; }
static long step(long i, long n, int forward) { return forward ? i : n - 1 - i; }

static double source(long g, long x, long y, long z) { return 1 + (double)((g * 31 + x * 17 + y * 13 + z * 7) % 11); }

static void solve_cell(double* px, double* py, double* pz, double* sum, double q) {
    for (long a = 0; a < angles; ++a) {
        double const mu = 0.1 + 0.05 * (double)a, eta = 0.9 - 0.04 * (double)a, xi = 0.5;
        double const psi = (q + mu * px[a] + eta * py[a] + xi * pz[a]) / (1.5 + mu + eta + xi);
        px[a] = py[a] = pz[a] = psi;
        *sum += psi / (double)angles;
    }
}

/* The planes [first, first + n) of x, counted in the wave's direction. Faces in y and z become what flows out. */
static void solve_planes(struct block* b, long g, struct octant o, long first, long n) {
    for (long i = 0; i < n; ++i)
        for (long k = 0; k < b->nz; ++k)
            for (long j = 0; j < b->ny; ++j) {
                long const x = step(first + i, nx, o.x), z = step(k, b->nz, o.z), y = step(j, b->ny, o.y);
                solve_cell(b->in_x + (z * b->ny + y) * angles, b->in_y + (i * b->nz + z) * angles,
                           b->in_z + (i * b->ny + y) * angles, b->flux + (x * b->nz + z) * b->ny + y,
                           source(g, x, b->y0 + y, b->z0 + z));
            }
}

static struct block new_block(long y0, long z0, long my, long mz) {
    struct block b = {y0, z0, my, mz, NULL, NULL, NULL, NULL};
    b.in_x = zeroed((size_t)(my * mz * angles), sizeof(double)), b.flux = zeroed((size_t)(nx * my * mz), sizeof(double));
    b.in_y = zeroed((size_t)(chunk * mz * angles), sizeof(double)),
    b.in_z = zeroed((size_t)(chunk * my * angles), sizeof(double));
    return b;
}
static void free_block(struct block* b) { free(b->in_x), free(b->in_y), free(b->in_z), free(b->flux); }
static void clear(double* face, long n) { memset(face, 0, (size_t)n * sizeof *face); }

/* --- faces between ranks --------------------------------------------------------------------------------------------- */

/* One face of one chunk of a group's sweep. */
struct face {
    int across; /* 0: y, 1: z */
    int octant;
    long group, chunk, sweep;
};
struct way { /* how faces go */
    char const* name;
    void (*take)(struct face f, double* data, long n, int from);
    void (*give)(struct face f, double const* data, long n, int to);
    int one_lock; /* around each call of a rank's threads */
};

static void take_message(struct face f, double* data, long n, int from) {
    MPI_Recv(data, (int)n, MPI_DOUBLE, from, (int)(f.group * 2 + f.across), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
/* The data are computed upon at once, so the send is awaited. */
static void give_message(struct face f, double const* data, long n, int to) {
    MPI_Send(data, (int)n, MPI_DOUBLE, to, (int)(f.group * 2 + f.across), MPI_COMM_WORLD);
}

static MPI_Win win;
static char* memory;
static long chunks(void) { return (nx + chunk - 1) / chunk; }
static long number_of(struct face f) { return ((f.group * 8 + f.octant) * chunks() + f.chunk) * 2 + f.across; }
static long faces(void) { return groups * 8 * chunks() * 2; }
static long most_of_face(void) { return chunk * (ny > nz ? ny : nz) * angles; }
static MPI_Aint signal_at(struct face f) { return number_of(f) * (MPI_Aint)sizeof(long); }
static MPI_Aint data_at(long number) { return (faces() + number * most_of_face()) * (MPI_Aint)sizeof(double); }

static void take_put(struct face f, double* data, long n, int from) {
    long come = 0;
    (void)from;
    for (long looks = 0; come < f.sweep; ++looks) {
        ALONE(MPI_Fetch_and_op(NULL, &come, MPI_LONG, rank, signal_at(f), MPI_NO_OP, win));
        ALONE(MPI_Win_flush(rank, win));
        look_again(looks);
    }
    ALONE(MPI_Win_sync(win));
    memcpy(data, memory + data_at(number_of(f)), (size_t)n * sizeof *data);
}
static void give_put(struct face f, double const* data, long n, int to) {
    ALONE(MPI_Put(data, (int)n, MPI_DOUBLE, to, data_at(number_of(f)), (int)n, MPI_DOUBLE, win));
    ALONE(MPI_Win_flush(to, win));
    ALONE(MPI_Accumulate(&f.sweep, 1, MPI_LONG, to, signal_at(f), 1, MPI_LONG, MPI_REPLACE, win));
    ALONE(MPI_Win_flush(to, win));
}

/* The rank beside this one; -1: there is none. */
static int beside(int across, int by) {
    int p[2] = {place[0], place[1]};
    p[across] += by;
    return p[across] < 0 || p[across] >= grid[across] ? -1 : p[0] * grid[1] + p[1];
}

/* --- a sweep --------------------------------------------------------------------------------------------------------- */

struct work {
    struct way const* way;
    struct block* blocks; /* of each group */
    long sweep;
};

static void sweep_group(struct work const* w, struct face f) {
    struct block* const b = &w->blocks[f.group];
    clear(b->flux, nx * b->ny * b->nz);
    for (f.octant = 0; f.octant < 8; ++f.octant) {
        struct octant const o = octant_of(f.octant);
        int const forward[2] = {o.y, o.z};
        clear(b->in_x, b->ny * b->nz * angles);
        for (f.chunk = 0; f.chunk < chunks(); ++f.chunk) {
            long const first = f.chunk * chunk, n = first + chunk > nx ? nx - first : chunk;
            long const length[2] = {n * b->nz * angles, n * b->ny * angles};
            double* const data[2] = {b->in_y, b->in_z};
            for (f.across = 0; f.across < 2; ++f.across) {
                int const from = beside(f.across, forward[f.across] ? -1 : 1);
                if (from < 0) clear(data[f.across], length[f.across]);
                else w->way->take(f, data[f.across], length[f.across], from);
            }
            solve_planes(b, f.group, o, first, n);
            for (f.across = 0; f.across < 2; ++f.across) {
                int const to = beside(f.across, forward[f.across] ? 1 : -1);
                if (to >= 0) w->way->give(f, data[f.across], length[f.across], to);
            }
        }
    }
}
static void sweep_groups(int thread, void* data) {
    struct work const* const w = data;
    for (long g = thread; g < groups; g += threads) sweep_group(w, (struct face){.group = g, .sweep = w->sweep});
}

/* Whether a group's sums are those of one block that has the whole grid. */
static int is_right(struct block const* mine, long g) {
    struct block all = new_block(0, 0, ny * grid[0], nz * grid[1]);
    int right = 1;
    for (int o = 0; o < 8; ++o) {
        clear(all.in_x, all.ny * all.nz * angles);
        for (long first = 0; first < nx; first += chunk) {
            clear(all.in_y, chunk * all.nz * angles), clear(all.in_z, chunk * all.ny * angles);
            solve_planes(&all, g, octant_of(o), first, first + chunk > nx ? nx - first : chunk);
        }
    }
    for (long x = 0; x < nx; ++x)
        for (long z = 0; z < nz; ++z)
            for (long y = 0; y < ny; ++y)
                right &= mine->flux[(x * nz + z) * ny + y] == all.flux[(x * all.nz + mine->z0 + z) * all.ny + mine->y0 + y];
    free_block(&all);
    return right;
}

static int solve(struct way const* way) {
    struct work w = {way, zeroed((size_t)groups, sizeof *w.blocks), 1};
    one_lock = way->one_lock;
    for (long g = 0; g < groups; ++g) w.blocks[g] = new_block(place[0] * ny, place[1] * nz, ny, nz);
    memset(memory, 0, (size_t)data_at(faces()));
    MPI_Win_lock_all(0, win);
    MPI_Win_sync(win);
    double seconds = 0;
    for (; w.sweep <= sweeps; ++w.sweep) seconds += run_team(threads, sweep_groups, &w); /* all ranks meet before and after */
    MPI_Win_unlock_all(win);
    int right = 1;
    for (long g = 0; g < groups; ++g) right &= is_right(&w.blocks[g], g), free_block(&w.blocks[g]);
    free(w.blocks);
    if (rank == 0) printf("%s_%d 0 %.6g ms\n", way->name, threads, seconds / (double)sweeps * 1e3), fflush(stdout);
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!right && rank == 0) fprintf(stderr, "%s: the fluxes differ from the serial ones\n", way->name);
    return right;
}

static int options(int argc, char** argv) {
    struct {
        char const* name;
        long* value;
    } const all[] = {{"-s", &sweeps}, {"-x", &nx}, {"-y", &ny}, {"-z", &nz}, {"-a", &angles}, {"-g", &groups}, {"-k", &chunk}};
    int i = 1, known = 1;
    for (; i + 1 < argc && known; i += 2) {
        long const n = strtol(argv[i + 1], NULL, 10);
        known = n > 0;
        size_t o = 0;
        while (o < sizeof all / sizeof *all && strcmp(all[o].name, argv[i]) != 0) ++o;
        if (o < sizeof all / sizeof *all) *all[o].value = n;
        else if (strcmp(argv[i], "-T") == 0) threads = (int)n;
        else known = 0;
    }
    return known && i == argc && threads <= most_threads;
}

int main(int argc, char** argv) {
    static struct way const ways[] = {{"sweep_messages", take_message, give_message, 0},
                                      {"sweep_rma", take_put, give_put, 0},
                                      {"sweep_rma_one_lock", take_put, give_put, 1}};
    begin_threads(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = 0;
    if (!options(argc, argv))
        fputs("usage: sweep [-T THREADS] [-s SWEEPS] [-x NX] [-y NY] [-z NZ] [-a ANGLES] [-g GROUPS] [-k CHUNK]\n", stderr);
    else {
        MPI_Dims_create(size, 2, grid);
        place[0] = rank / grid[1], place[1] = rank % grid[1];
        MPI_Win_allocate(data_at(faces()), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        right = 1;
        for (size_t w = 0; w < sizeof ways / sizeof *ways; ++w) right &= solve(&ways[w]);
        MPI_Win_free(&win);
    }
    MPI_Finalize();
    return !right;
}
