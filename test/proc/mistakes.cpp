// mistakes WHICH: a program of the C interface that makes one of the commonest mistakes; proc/messages_test starts it and compares
// what is said, to the letter.
#include <mpi.h>

#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int rank_of() {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/// Rank 1 sends more than rank 0 has room for, and leaves as it should.
void truncate() {
    std::vector<int> data(8);
    if (rank_of() == 1) MPI_Send(data.data(), 8, MPI_INT, 0, 5, MPI_COMM_WORLD);
    if (rank_of() == 0) MPI_Recv(data.data(), 2, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
}

void use_freed_communicator() {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm freed = copy;
    MPI_Comm_free(&copy);
    MPI_Barrier(freed);
}

void use_uncommitted_type() {
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    int data[2]{};
    MPI_Send(data, 1, pair, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

int word = 0;
std::map<std::string, std::function<void()>> const mistakes{
    {"truncate", truncate},
    {"rank", [] { MPI_Send(&word, 1, MPI_INT, 7, 0, MPI_COMM_WORLD); }},
    {"tag", [] { MPI_Send(&word, 1, MPI_INT, 0, -5, MPI_COMM_WORLD); }},
    {"count", [] { MPI_Send(&word, -1, MPI_INT, 0, 0, MPI_COMM_WORLD); }},
    {"root", [] { MPI_Bcast(&word, 1, MPI_INT, 9, MPI_COMM_WORLD); }},
    {"null-comm", [] { MPI_Barrier(MPI_COMM_NULL); }},
    {"freed-comm", use_freed_communicator},
    {"null-type", [] { MPI_Send(&word, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD); }},
    {"uncommitted", use_uncommitted_type},
    {"abort", [] { MPI_Abort(MPI_COMM_WORLD, 3); }},
    {"throw", [] { throw std::runtime_error{"no such file: input.dat"}; }},
    {"again", [] { MPI_Init(nullptr, nullptr); }},
    {"after",
     [] {
         MPI_Finalize();
         MPI_Barrier(MPI_COMM_WORLD);
     }},
    {"none", [] { MPI_Finalize(); }},
};

} // namespace

int main(int argc, char** argv) {
    std::string const which = argc > 1 ? argv[1] : "none";
    if (which == "before") return MPI_Barrier(MPI_COMM_WORLD);
    MPI_Init(&argc, &argv);
    mistakes.at(which)();
    return 0;
}
