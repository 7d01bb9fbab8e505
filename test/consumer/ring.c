/* A C program of somebody who knows nothing of mpt: sends a number round a ring, and says whose library it runs on. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, size, sum = 0, length;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Status status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(version, &length);
    if (rank > 0) MPI_Recv(&sum, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD, &status);
    sum += rank + 1;
    MPI_Send(&sum, 1, MPI_INT, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 7, MPI_COMM_WORLD);
    if (rank == size - 1) printf("%.3s: %d ranks, sum %d\n", version, size, sum);
    MPI_Finalize();
    return 0;
}
