// A program of the C interface that ends as it is told: proc/c_processes_test starts it. Linked with libmpi_abi as any other.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

namespace {

int rank_of() {
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
/// Rank 0 does it; the others wait for a message that never comes.
template <class F> void at_rank_0(F f) {
    if (rank_of() == 0) f();
    else MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

std::string told() {
    int initialized = -1, finalized = -1;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return std::to_string(initialized) + std::to_string(finalized);
}

/// One line of every rank: what it was told before, while, and after MPI is there; and the sum of all ranks.
void work(int argc, char** argv) {
    auto all = told();
    MPI_Init(&argc, &argv);
    int const rank = rank_of();
    int sum = -1;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    all += ' ' + told();
    MPI_Finalize();
    std::printf("%s %s sum %d\n", all.c_str(), told().c_str(), sum);
}

void finalize_at_exit() {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    std::printf("%s at exit\n", told().c_str());
}

std::map<std::string, void (*)(int)> const ways{
    {"abort", [](int code) { at_rank_0([&] { MPI_Abort(MPI_COMM_WORLD, code); }); }},
    {"abort-self", [](int code) { at_rank_0([&] { MPI_Abort(MPI_COMM_SELF, code); }); }},
    {"fatal", [](int dest) { at_rank_0([&] { MPI_Send(nullptr, 0, MPI_INT, dest, 1, MPI_COMM_WORLD); }); }},
    {"abort-in-thread", [](int code) { at_rank_0([&] { std::thread{[&] { MPI_Abort(MPI_COMM_WORLD, code); }}.join(); }); }},
    {"exit", [](int code) { at_rank_0([&] { std::exit(code); }); }},
    {"twice", [](int) { MPI_Init(nullptr, nullptr); }},
    {"after",
     [](int) {
         MPI_Finalize();
         rank_of();
     }},
    {"again",
     [](int) {
         MPI_Finalize();
         MPI_Init(nullptr, nullptr);
     }},
};

} // namespace

int main(int argc, char** argv) {
    std::string const way = argc > 1 ? argv[1] : "work";
    if (way == "work") return work(argc, argv), 0;
    if (way == "before") return rank_of();
    if (way == "finalize-at-exit") std::atexit(finalize_at_exit);
    MPI_Init(&argc, &argv);
    if (way == "finalize-at-exit") return 0;
    if (way == "return") return at_rank_0([] {}), argc > 2 ? std::atoi(argv[2]) : 0;
    ways.at(way)(argc > 2 ? std::atoi(argv[2]) : 0);
    std::puts("went on");
    return 0;
}
