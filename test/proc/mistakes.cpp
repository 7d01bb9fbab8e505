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

void use_freed_request() {
    MPI_Request made = MPI_REQUEST_NULL;
    MPI_Recv_init(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &made);
    MPI_Request freed = made;
    MPI_Request_free(&made);
    MPI_Wait(&freed, MPI_STATUS_IGNORE);
}

/// The second of two receives is too short.
void truncate_one_of_many() {
    int long_enough = 0;
    char short_one = 0;
    MPI_Request both[2];
    MPI_Irecv(&long_enough, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &both[0]);
    MPI_Irecv(&short_one, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &both[1]);
    for (int tag : {0, 1}) MPI_Send(&word, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

void put_outside(bool locked) {
    MPI_Win w = MPI_WIN_NULL;
    MPI_Win_create(&word, sizeof word, sizeof word, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    if (locked) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
    int const one = 1;
    MPI_Put(&one, 1, MPI_INT, 0, 3, 1, MPI_INT, w);
}
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
    {"null-buffer", [] { MPI_Send(nullptr, 4, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD); }},
    {"same-memory", [] { MPI_Allreduce(&word, &word, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }},
    {"operation",
     [] {
         double in = 0, out = 0;
         MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD);
     }},
    {"freed-request", use_freed_request},
    {"truncate-many", truncate_one_of_many},
    {"outside", [] { put_outside(true); }},
    {"no-epoch", [] { put_outside(false); }},
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
