/* A program as they were written before MPI-2: mptcc -compat compiles it unchanged. */
#include <mpi.h>

#include <stdio.h>

static int errors;
static void count_errors(MPI_Comm* comm, int* code, ...) {
    (void)comm, (void)code;
    ++errors;
}

/* A particle, with room behind it that is no part of the message. */
struct particle {
    char sort;
    double place;
    int number;
    char padding[100];
};

static MPI_Datatype particle_type(void) {
    struct particle p;
    int lengths[5] = {1, 1, 1, 1, 1};
    MPI_Aint places[5], start;
    MPI_Datatype types[5] = {MPI_LB, MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_UB}, made;
    int i;
    MPI_Address(&p, &start);
    MPI_Address(&p.sort, &places[1]);
    MPI_Address(&p.place, &places[2]);
    MPI_Address(&p.number, &places[3]);
    for (i = 1; i < 4; ++i) places[i] -= start;
    places[0] = 0;
    places[4] = sizeof p;
    MPI_Type_struct(5, lengths, places, types, &made);
    MPI_Type_commit(&made);
    return made;
}

int main(int argc, char** argv) {
    int rank, size, right, left, sum = 0, i;
    struct particle out[3], in[3];
    MPI_Datatype type;
    MPI_Aint extent, lower, upper;
    MPI_Errhandler handler, mine;
    MPI_Status status, again;
    MPI_Fint fortran_status[MPI_F_STATUS_SIZE];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Errhandler_create(count_errors, &handler);
    MPI_Errhandler_set(MPI_COMM_WORLD, handler);
    MPI_Errhandler_get(MPI_COMM_WORLD, &mine);
    MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)));
    type = particle_type();
    MPI_Type_extent(type, &extent);
    MPI_Type_lb(type, &lower);
    MPI_Type_ub(type, &upper);
    for (i = 0; i < 3; ++i) out[i].sort = 'a', out[i].place = i, out[i].number = (rank + 1) * 10 + i;
    right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Sendrecv(out, 3, type, right, 1, in, 3, type, left, 1, MPI_COMM_WORLD, &status);
    MPI_Status_c2f(&status, fortran_status);
    MPI_Status_f2c(fortran_status, &again);
    MPI_Get_count(&again, MPI_Type_f2c(MPI_Type_c2f(type)), &i);
    if (errors != 1 || mine != handler || extent != sizeof in[0] || lower != 0 || upper != extent || i != 3 || in[2].place != 2)
        printf("rank %d: %d errors, extent %ld from %ld, %d particles\n", rank, errors, (long)extent, (long)lower, i);
    i = in[1].number / 10;
    MPI_Reduce(&i, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("mpt: %d ranks, sum %d\n", size, sum);
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
