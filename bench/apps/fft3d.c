/* fft3d - a complex 3-D Fourier transform over slabs, as the kernel of spectral codes has it: its time is the transposition's.
 *
 *     mpiexec -n N fft3d [-g GRID] [-s STEPS]          GRID: a power of two, a multiple of N
 *
 *        z                                   Rank r has GRID / N planes of z: it transforms lines of x and of y within each.
 *        |  [ rank 1: planes ]               MPI_Alltoall turns the cube, so that it has GRID / N planes of y with whole lines
 *        |  [ rank 0: planes ]               of z, and it transforms those. A step is a transform there and one back.
 *        '-------------------- x, y
 *
 * Memory is from MPI_Alloc_mem, by which MPICH_ALLOC_MEM_AFFINITY and MPICH_ALLOC_MEM_PG_SZ choose its nodes and pages, and then from
 * malloc. The first transform is compared with a serial one, which sums by the definition: all of it for grids up to 64, some points of
 * larger ones. What comes back is compared with what there was. A difference ends the program with 1. Prints what a step takes, `fft3d_alloc_mem 0 TIME ms` and `fft3d_malloc 0 TIME ms`, and
 * what of it is in MPI_Alltoall: `fft3d_..._alltoall 0 TIME ms`. */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double complex number;

static int rank, size;
static long n = 32, steps = 5, slab; /* slab: planes of a rank */
static double const pi = 3.14159265358979323846;
static number* roots; /* exp(-2 pi i k / n) */

static number first_value(long x, long y, long z) {
    return (double)((x * 7919 + y * 104729 + z * 1299709) % 1000) / 1000. + I * (double)((x + 2 * y + 3 * z) % 17) / 17.;
}

/* --- one line -------------------------------------------------------------------------------------------------------- */

/* In place, by halves; sign: -1 there, 1 back, which divides by n. */
static void transform_line(number* a, int sign) {
    for (long i = 1, j = 0; i < n; ++i) {
        long bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            number const other = a[i];
            a[i] = a[j], a[j] = other;
        }
    }
    for (long half = 1; half < n; half *= 2)
        for (long from = 0; from < n; from += 2 * half)
            for (long k = 0; k < half; ++k) {
                number const w = roots[k * (n / (2 * half))];
                number const odd = (sign < 0 ? w : conj(w)) * a[from + k + half], even = a[from + k];
                a[from + k] = even + odd, a[from + k + half] = even - odd;
            }
    if (sign > 0)
        for (long i = 0; i < n; ++i) a[i] /= (double)n;
}

/* A line that is not one run of memory. */
static void transform_strided(number* a, long stride, int sign) {
    static number line[1 << 12];
    for (long i = 0; i < n; ++i) line[i] = a[i * stride];
    transform_line(line, sign);
    for (long i = 0; i < n; ++i) a[i * stride] = line[i];
}

/* --- the cube -------------------------------------------------------------------------------------------------------- */

/* Planes of z: at(x, y, z) is a[(z * n + y) * n + x]. Planes of y, when it is turned: a[(y * n + z) * n + x]. */
static number *cube, *turned;
static double in_alltoall;

/* The planes of one cube become those of the other: blocks of `slab` rows go to each rank, and come from each. */
static void turn(number* from, number* to) {
    long const row = n, block = slab * slab * row;
    for (int r = 0; r < size; ++r) /* packed for rank r: its rows of all planes of ours */
        for (long p = 0; p < slab; ++p)
            memcpy(to + r * block + p * slab * row, from + (p * n + r * slab) * row, (size_t)(slab * row) * sizeof *from);
    double const begin = MPI_Wtime();
    MPI_Alltoall(to, (int)(2 * block), MPI_DOUBLE, from, (int)(2 * block), MPI_DOUBLE, MPI_COMM_WORLD);
    in_alltoall += MPI_Wtime() - begin;
    for (int r = 0; r < size; ++r) /* rank r's planes are rows of ours */
        for (long p = 0; p < slab; ++p)
            for (long q = 0; q < slab; ++q)
                memcpy(to + (q * n + r * slab + p) * row, from + r * block + (p * slab + q) * row, (size_t)row * sizeof *from);
}

static void there(void) {
    for (long p = 0; p < slab; ++p) {
        for (long y = 0; y < n; ++y) transform_line(cube + (p * n + y) * n, -1);
        for (long x = 0; x < n; ++x) transform_strided(cube + p * n * n + x, n, -1);
    }
    turn(cube, turned);
    for (long p = 0; p < slab; ++p)
        for (long x = 0; x < n; ++x) transform_strided(turned + p * n * n + x, n, -1);
}
static void back(void) {
    for (long p = 0; p < slab; ++p)
        for (long x = 0; x < n; ++x) transform_strided(turned + p * n * n + x, n, 1);
    turn(turned, cube);
    for (long p = 0; p < slab; ++p) {
        for (long x = 0; x < n; ++x) transform_strided(cube + p * n * n + x, n, 1);
        for (long y = 0; y < n; ++y) transform_line(cube + (p * n + y) * n, 1);
    }
}

static void begin(void) {
    for (long p = 0; p < slab; ++p)
        for (long y = 0; y < n; ++y)
            for (long x = 0; x < n; ++x) cube[(p * n + y) * n + x] = first_value(x, y, rank * slab + p);
}

/* --- by the definition ----------------------------------------------------------------------------------------------- */

/* All lines along one direction. */
static void sum_lines(number* a, long stride) {
    number* const line = malloc((size_t)n * sizeof *line);
    for (long at = 0; at < n * n * n; ++at) {
        if (at / stride % n != 0) continue;
        for (long k = 0; k < n; ++k) {
            line[k] = 0;
            for (long i = 0; i < n; ++i) line[k] += a[at + i * stride] * roots[i * k % n];
        }
        for (long k = 0; k < n; ++k) a[at + k * stride] = line[k];
    }
    free(line);
}
static number* serial(void) {
    number* const a = malloc((size_t)(n * n * n) * sizeof *a);
    for (long i = 0; i < n * n * n; ++i) a[i] = first_value(i % n, i / n % n, i / n / n);
    sum_lines(a, 1), sum_lines(a, n), sum_lines(a, n * n);
    return a;
}
/* One point of it. */
static number serial_at(long kx, long ky, long kz) {
    number sum = 0;
    for (long z = 0; z < n; ++z)
        for (long y = 0; y < n; ++y) {
            number line = 0;
            for (long x = 0; x < n; ++x) line += first_value(x, y, z) * roots[x * kx % n];
            sum += line * roots[(y * ky + z * kz) % n];
        }
    return sum;
}
static int same(number a, number b) { return cabs(a - b) <= 1e-9 * (double)n * (double)n * (double)n; }

/* What this rank has of it is right; wanted: NULL for a large grid. */
static int is_transformed(number const* wanted) {
    if (!wanted) {
        for (long i = 0; i < 4; ++i) {
            long const p = i * 5 % slab, z = (i * 77 + 3) % n, x = (i * 31 + 1) % n;
            if (!same(turned[(p * n + z) * n + x], serial_at(x, rank * slab + p, z))) return 0;
        }
        return 1;
    }
    for (long p = 0; p < slab; ++p)
        for (long z = 0; z < n; ++z)
            for (long x = 0; x < n; ++x)
                if (!same(turned[(p * n + z) * n + x], wanted[(z * n + rank * slab + p) * n + x])) return 0;
    return 1;
}
static int is_as_before(void) {
    for (long p = 0; p < slab; ++p)
        for (long y = 0; y < n; ++y)
            for (long x = 0; x < n; ++x)
                if (cabs(cube[(p * n + y) * n + x] - first_value(x, y, rank * slab + p)) > 1e-9) return 0;
    return 1;
}

/* --------------------------------------------------------------------------------------------------------------------- */

static int measure(char const* name, number const* wanted) {
    begin();
    there();
    int right = is_transformed(wanted);
    back();
    right &= is_as_before();
    in_alltoall = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double const start = MPI_Wtime();
    for (long s = 0; s < steps; ++s) there(), back();
    double const seconds = MPI_Wtime() - start;
    right &= is_as_before();
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("fft3d_%s 0 %.6g ms\n", name, seconds / (double)steps * 1e3);
        printf("fft3d_%s_alltoall 0 %.6g ms\n", name, in_alltoall / (double)steps * 1e3);
        if (!right) fprintf(stderr, "fft3d_%s: the transform differs from the serial one\n", name);
    }
    return right;
}

static int options(int argc, char** argv) {
    int i = 1;
    for (; i + 1 < argc; i += 2) {
        long const value = strtol(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "-g") == 0) n = value;
        else if (strcmp(argv[i], "-s") == 0) steps = value;
        else return 0;
    }
    return i == argc && n >= 2 && n <= 1 << 10 && (n & (n - 1)) == 0 && n % size == 0 && steps > 0;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = 0;
    if (!options(argc, argv))
        fputs("usage: fft3d [-g GRID] [-s STEPS]; GRID is a power of two, and a multiple of the ranks\n", stderr);
    else {
        slab = n / size;
        size_t const bytes = (size_t)(slab * n * n) * sizeof *cube;
        roots = malloc((size_t)n * sizeof *roots);
        for (long k = 0; k < n; ++k) roots[k] = cos(2 * pi * (double)k / (double)n) - I * sin(2 * pi * (double)k / (double)n);
        number* const wanted = n <= 64 ? serial() : NULL;
        MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &cube);
        MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &turned);
        right = measure("alloc_mem", wanted);
        MPI_Free_mem(cube), MPI_Free_mem(turned);
        cube = malloc(bytes), turned = malloc(bytes);
        right &= measure("malloc", wanted);
        free(cube), free(turned), free(wanted), free(roots);
    }
    MPI_Finalize();
    return !right;
}
