// A million communicators made and freed, one after the other, and a hundred thousand alive at once: each has messages of its own, those
// that were there before stay what they were, and the memory of what was freed is used again. Prints what was wrong.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <unistd.h>

namespace {

constexpr int alive = 100'000, made = 1'000'000, looked_at = 2'000;
int rank, size, failures;

void expect(bool yes, char const* what, int line) {
    if (yes) return;
    if (++failures < 20) std::printf("rank %d, line %d: %s\n", rank, line, what);
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

/// MiB of memory that this process has.
long resident() {
    long pages = 0;
    if (auto* const f = std::fopen("/proc/self/statm", "r")) {
        long whole = 0;
        if (std::fscanf(f, "%ld %ld", &whole, &pages) != 2) pages = 0;
        std::fclose(f);
    }
    return pages * ::sysconf(_SC_PAGESIZE) >> 20;
}

/// One message on each, sent in one order and received in the other: none is taken for another's.
void talk(std::vector<MPI_Comm> const& comms, std::vector<int> const& which) {
    int const right = (rank + 1) % size, left = (rank + size - 1) % size;
    std::vector<MPI_Request> sends(which.size());
    for (std::size_t i = 0; i < which.size(); ++i)
        MPI_Isend(&which[i], 1, MPI_INT, right, 0, comms[static_cast<std::size_t>(which[i])], &sends[i]);
    for (auto i = which.size(); i-- > 0;) {
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, left, 0, comms[static_cast<std::size_t>(which[i])], MPI_STATUS_IGNORE);
        EXPECT(got == which[i]);
    }
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned seed = std::random_device{}();
    MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    std::mt19937 random{seed};
    if (rank == 0) std::printf("seed %u\n", seed);

    std::vector<MPI_Comm> comms(alive);
    for (auto& c : comms) MPI_Comm_dup(MPI_COMM_WORLD, &c);
    std::vector<int> which(alive);
    for (int i = 0; i < alive; ++i) which[static_cast<std::size_t>(i)] = i;
    std::shuffle(which.begin(), which.end(), random);
    which.resize(looked_at);
    talk(comms, which);

    auto const round = [](int n) {
        for (int i = 0; i < n; ++i) {
            MPI_Comm c = MPI_COMM_NULL;
            MPI_Comm_dup(MPI_COMM_WORLD, &c);
            EXPECT(c != MPI_COMM_NULL);
            if (i % 1000 == 0) {
                int one = 1, sum = 0;
                MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c);
                EXPECT(sum == size);
            }
            MPI_Comm_free(&c);
            EXPECT(c == MPI_COMM_NULL);
        }
    };
    round(made / 10);
    auto const before = resident();
    round(made - made / 10);
    auto const grown = resident() - before;
    if (grown > 16) std::printf("rank %d: %d communicators that were freed have left %ld MiB\n", rank, made, grown), ++failures;

    talk(comms, which);
    for (auto& c : comms) MPI_Comm_free(&c);
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
