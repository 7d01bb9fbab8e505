// A program whose every rank sends two messages and receives two, and does much else, of which a tool that counts must see nothing.
#include <mpi.h>

#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = -1, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int const right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int tag = 0; tag < 2; ++tag) {
        int out = rank, in = -1;
        MPI_Request to_myself = MPI_REQUEST_NULL;
        if (size == 1) MPI_Irecv(&in, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &to_myself);
        if (rank % 2 == 0) MPI_Send(&out, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
        if (size > 1) MPI_Recv(&in, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Recv(nullptr, 0, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank % 2 != 0) MPI_Send(&out, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
        MPI_Wait(&to_myself, MPI_STATUS_IGNORE);
        if (in != left) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Comm twin = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    std::vector<int> all(100000, rank), sum(all.size());
    MPI_Allreduce(all.data(), sum.data(), static_cast<int>(all.size()), MPI_INT, MPI_SUM, twin);
    MPI_Bcast(all.data(), static_cast<int>(all.size()), MPI_INT, size - 1, twin);
    MPI_Sendrecv(all.data(), 7, MPI_INT, right, 5, sum.data(), 7, MPI_INT, left, 5, twin, MPI_STATUS_IGNORE);
    MPI_Barrier(twin);
    MPI_Comm_free(&twin);
    return MPI_Finalize();
}
