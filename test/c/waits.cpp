// Ranks that wait for ever, or die while others wait: proc/death_test, proc/hang_test and proc/hostile_test start it.
//   work                    everybody talks to everybody: exit code 0
//   die WHO HOW WHERE       rank WHO ends as HOW says, a moment after the others have gone where WHERE says
//   hang WHICH              a mistake that makes ranks wait for ever
// Linked with libmpi_abi as any other program.
#include <mpi.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {
using namespace std::chrono_literals;

int rank_of(MPI_Comm c = MPI_COMM_WORLD) {
    int rank = -1;
    MPI_Comm_rank(c, &rank);
    return rank;
}
int size_of() {
    int size = -1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}
void receive(int from, int tag, MPI_Comm c = MPI_COMM_WORLD) {
    int word = 0;
    MPI_Recv(&word, 1, MPI_INT, from, tag, c, MPI_STATUS_IGNORE);
}
void send(int to, int tag, MPI_Comm c = MPI_COMM_WORLD) {
    int const word = 1;
    MPI_Send(&word, 1, MPI_INT, to, tag, c);
}
/// Has a signal stopped that process?
bool is_stopped(int process) {
    std::ifstream in{"/proc/" + std::to_string(process) + "/stat"};
    std::string const line{std::istreambuf_iterator<char>{in}, {}};
    auto const name_ends = line.rfind(')');
    return name_ends + 2 < line.size() && line[name_ends + 2] == 'T';
}
[[noreturn]] void compute() {
    for (;;) std::this_thread::yield();
}

// --- work ------------------------------------------------------------------------------------------------------------------
int work() {
    int const me = rank_of(), n = size_of();
    std::vector<int> out(1 << 18, me), in(out.size());
    for (int shift = 1; shift < n; ++shift) {
        int const left = (me + n - shift) % n;
        MPI_Sendrecv(out.data(), 1 << 18, MPI_INT, (me + shift) % n, shift, in.data(), 1 << 18, MPI_INT, left, shift,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in.front() != left || in.back() != left) return 7;
    }
    int sum = -1;
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum == n * (n - 1) / 2 ? 0 : 8;
}

// --- die -------------------------------------------------------------------------------------------------------------------
std::map<std::string, void (*)()> const deaths{
    {"exit0", [] { ::_exit(0); }},
    {"exit3", [] { ::_exit(3); }},
    {"segv", [] { std::raise(SIGSEGV); }},
    {"kill", [] { std::raise(SIGKILL); }},
    {"throw", [] { throw std::runtime_error{"rank throws"}; }},
    {"abort", [] { std::abort(); }},
    {"mpi_abort", [] { MPI_Abort(MPI_COMM_WORLD, 9); }},
    {"early", [] { ::_exit(3); }},
    {"mistake", [] { send(size_of(), 7); }},
    {"never", [] { compute(); }},
};

void wait_for_it(int culprit, std::string const& where) {
    if (where == "recv") receive(culprit, 7);
    if (where == "mistake") deaths.at(where)();
    if (where == "barrier") MPI_Barrier(MPI_COMM_WORLD);
    if (where == "deaf") std::signal(SIGTERM, SIG_IGN), std::signal(SIGINT, SIG_IGN);
    compute();
}

void die(int who, std::string const& how, std::string const& where) {
    if (how == "early" && std::getenv("MPT_BOOT") &&
        std::string{std::getenv("MPT_BOOT")}.starts_with("1:" + std::to_string(who))) {
        std::this_thread::sleep_for(100ms);
        deaths.at(how)();
    }
    MPI_Init(nullptr, nullptr);
    if (rank_of() != who) wait_for_it(who, where);
    std::this_thread::sleep_for(100ms);
    deaths.at(how)();
}

// --- hang ------------------------------------------------------------------------------------------------------------------
/// Ranks 0 and 1, a mistake in what 0 sends; both then wait for ever.
template <class F> void two(F what_0_sends) {
    if (rank_of() == 0) what_0_sends(), receive(1, 9);
    else receive(0, 7);
}

/// A rank of a distributed graph that hears of one other, or of nobody.
void expect_from(int source) {
    int const edges = source == MPI_PROC_NULL ? 0 : 1, word = 0;
    int got = 0;
    MPI_Comm web = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges, &source, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &web);
    MPI_Comm_set_name(web, "the web");
    MPI_Neighbor_allgather(&word, 1, MPI_INT, &got, 1, MPI_INT, web);
}

std::map<std::string, void (*)()> const hangs{
    {"cycle", [] { receive((rank_of() + 1) % size_of(), 7); }},
    {"missing", [] { rank_of() == size_of() - 1 ? compute() : static_cast<void>(MPI_Barrier(MPI_COMM_WORLD)); }},
    {"tag", [] { two([] { send(1, 8); }); }},
    {"communicator",
     [] {
         MPI_Comm other = MPI_COMM_NULL;
         MPI_Comm_dup(MPI_COMM_WORLD, &other);
         MPI_Comm_set_name(other, "the solver's");
         two([&] { send(1, 7, other); });
     }},
    {"collective",
     [] {
         int word = 0;
         if (rank_of() == 0) MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD), receive(1, 9);
         else receive(0, 7);
     }},
    {"wait",
     [] {
         int word = 0;
         MPI_Request r = MPI_REQUEST_NULL;
         MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r);
         MPI_Wait(&r, MPI_STATUS_IGNORE);
     }},
    {"sides", // rank 0 on one side, the others on the other: a barrier, which they have not come to
     [] {
         int const side = rank_of() > 0;
         MPI_Comm half = MPI_COMM_NULL, bridge = MPI_COMM_NULL;
         MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
         MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 3, &bridge);
         MPI_Comm_set_name(bridge, "the bridge");
         if (side == 0) MPI_Barrier(bridge);
         else receive(0, 7, bridge);
     }},
    {"edges", // each says that the next one sends to it, and nobody says that it sends
     [] { expect_from((rank_of() + 1) % size_of()); }},
    {"edge", // only rank 0 knows of an edge
     [] {
         if (rank_of() == 0) expect_from(1);
         else expect_from(MPI_PROC_NULL), receive(0, 7);
     }},
    {"probe", [] { MPI_Probe((rank_of() + 1) % size_of(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }},
    {"transfer", // no mistake: a message that is long under way, again and again
     [] {
         std::vector<char> data(1 << 26);
         for (;;)
             if (rank_of() == 0) MPI_Send(data.data(), 1 << 26, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
             else MPI_Recv(data.data(), 1 << 26, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
     }},
    {"send",
     [] {
         std::vector<char> much(8 << 20);
         MPI_Send(much.data(), 8 << 20, MPI_CHAR, (rank_of() + 1) % size_of(), 5, MPI_COMM_WORLD);
         compute();
     }},
    {"answer", // of an agent that does not run; both wait for each other, as far as messages go
     [] {
         std::vector<int> own(64), ones(64, 1), was(64);
         MPI_Win memory = MPI_WIN_NULL;
         MPI_Win_create(own.data(), 64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory);
         if (rank_of() == 0) {
             int const me = ::getpid();
             MPI_Send(&me, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
             std::raise(SIGSTOP);
             receive(1, 3);
         }
         int other = 0;
         MPI_Recv(&other, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
         while (!is_stopped(other)) std::this_thread::sleep_for(1ms); // else its agent may answer before
         MPI_Datatype gaps = MPI_DATATYPE_NULL;
         MPI_Type_vector(4, 1, 2, MPI_INT, &gaps);
         MPI_Type_commit(&gaps);
         MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, memory);
         MPI_Get_accumulate(ones.data(), 4, MPI_INT, was.data(), 4, MPI_INT, 0, 0, 1, gaps, MPI_SUM, memory);
         MPI_Win_unlock(0, memory);
     }},
    {"late", // not a hang: everybody waits for rank 0 for longer than one step of work should take
     [] {
         if (rank_of() == 0) std::this_thread::sleep_for(1500ms);
         MPI_Barrier(MPI_COMM_WORLD);
         MPI_Finalize();
         std::exit(0);
     }},
};
} // namespace

int main(int argc, char** argv) {
    std::string const mode = argc > 1 ? argv[1] : "";
    if (mode == "die" && argc > 4) return die(std::atoi(argv[2]), argv[3], argv[4]), 1;
    MPI_Init(&argc, &argv);
    if (mode == "work") return work();
    if (mode == "hang" && argc > 2) hangs.at(argv[2])();
    std::fprintf(stderr, "waits: no such mode, or one that ended\n");
    return 2;
}
