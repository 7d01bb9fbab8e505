// A program of the C interface that ends as it is told: proc/c_processes_test starts it. Linked with libmpi_abi as any other.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "random_accumulates.hpp"
#include "random_collectives.hpp"
#include "random_messages.hpp"

#include <signal.h>
#include <unistd.h>

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

/// The classes of errors before MPI_Init, of no object, of the world, of this process alone, and after MPI_Finalize.
void errors_without_handlers() {
    auto const bad_rank = [](MPI_Comm c) { return MPI_Send(nullptr, 0, MPI_INT, 99, 0, c); };
    int n = 0;
    auto all = std::to_string(MPI_Comm_rank(MPI_COMM_WORLD, &n));
    MPI_Init(nullptr, nullptr);
    for (int const code : {MPI_Group_size(MPI_GROUP_NULL, &n), bad_rank(MPI_COMM_WORLD), bad_rank(MPI_COMM_SELF)})
        all += ' ' + std::to_string(code);
    MPI_Finalize();
    all += ' ' + std::to_string(MPI_Comm_rank(MPI_COMM_WORLD, &n));
    std::printf("%s\n", all.c_str());
}

/// What MPI_Info_create_env says of the number of ranks.
std::string maxprocs() {
    MPI_Info made = MPI_INFO_NULL;
    char value[16] = "nothing";
    int length = sizeof value, found = 0;
    MPI_Info_create_env(0, nullptr, &made);
    MPI_Info_get_string(made, "maxprocs", &length, value, &found);
    MPI_Info_free(&made);
    return value;
}
/// It before, while, and after MPI is there; or before alone.
void environment(bool before_alone) {
    auto all = maxprocs();
    if (!before_alone) {
        MPI_Init(nullptr, nullptr);
        all += ' ' + maxprocs();
        MPI_Finalize();
        all += ' ' + maxprocs();
    }
    std::printf("%s\n", all.c_str());
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

MPI_Session opened(MPI_Errhandler h = MPI_ERRORS_ARE_FATAL) {
    MPI_Session s = MPI_SESSION_NULL;
    MPI_Session_init(MPI_INFO_NULL, h, &s);
    return s;
}
MPI_Comm all_of(MPI_Session s) {
    MPI_Group g = MPI_GROUP_NULL;
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Group_from_session_pset(s, "mpi://WORLD", &g);
    MPI_Comm_create_from_group(g, "process", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c);
    MPI_Group_free(&g);
    return c;
}
/// The sum of all ranks, by a session that comes and goes.
int sum_by_session() {
    auto s = opened();
    auto c = all_of(s);
    int rank = -1, sum = -1;
    MPI_Comm_rank(c, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, c);
    MPI_Comm_free(&c);
    MPI_Session_finalize(&s);
    return sum;
}

/// The last rank makes a mistake that is its session's. Rank 0 of two goes on when the other is gone.
void abort_of_session() {
    auto s = opened(MPI_ERRORS_ABORT);
    auto const c = all_of(s);
    int rank = -1, size = -1;
    long other = ::getpid();
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    if (rank == size - 1) {
        if (rank > 0) MPI_Send(&other, 1, MPI_LONG, 0, 1, c);
        MPI_Group none = MPI_GROUP_NULL;
        MPI_Group_from_session_pset(s, "mpi://NOBODY", &none);
    } else {
        MPI_Recv(&other, 1, MPI_LONG, 1, 1, c, MPI_STATUS_IGNORE);
        while (::kill(static_cast<pid_t>(other), 0) == 0) ::usleep(1000);
        MPI_Session_finalize(&s);
    }
    std::puts("went on");
}

/// Programs that do not begin with MPI_Init.
std::map<std::string, void (*)(int)> const by_sessions{
    {"sessions",
     [](int rounds) {
         for (int i = 0; i < rounds; ++i) std::printf("%s sum %d\n", told().c_str(), sum_by_session());
     }},
    {"sessions-and-world",
     [](int) {
         auto all = std::to_string(sum_by_session());
         MPI_Init(nullptr, nullptr);
         all += ' ' + std::to_string(sum_by_session());
         MPI_Finalize();
         for (int i = 0; i < 2; ++i) all += ' ' + std::to_string(sum_by_session());
         std::printf("%s %s\n", told().c_str(), all.c_str());
     }},
    {"sessions-of-all-but-the-last",
     [](int milliseconds) {
         auto s = opened();
         MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
         MPI_Comm c = MPI_COMM_NULL;
         int last = -1, sum = -1, one = 1;
         MPI_Group_from_session_pset(s, "mpi://WORLD", &all);
         MPI_Group_size(all, &last);
         --last;
         MPI_Group_excl(all, 1, &last, &some);
         ::usleep(1000U * static_cast<unsigned>(milliseconds));
         MPI_Comm_create_from_group(some, "process", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c);
         MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c);
         std::printf("%d of %d\n", sum, last + 1);
         for (auto* const g : {&all, &some}) MPI_Group_free(g);
         MPI_Comm_free(&c);
         MPI_Session_finalize(&s);
     }},
    {"session-of-one",
     [](int) {
         auto s = opened();
         int n = -1;
         MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n);
         MPI_Session_finalize(&s);
         std::printf("%d sets\n", n);
     }},
    {"session-left-open",
     [](int code) {
         all_of(opened());
         std::exit(code);
     }},
    {"session-abort",
     [](int code) {
         auto const c = all_of(opened());
         int rank = -1;
         MPI_Comm_rank(c, &rank);
         if (rank == 0) MPI_Abort(c, code);
         MPI_Recv(nullptr, 0, MPI_INT, 0, 1, c, MPI_STATUS_IGNORE);
     }},
    {"abort-of-session", [](int) { abort_of_session(); }},
    {"session-without-world",
     [](int) {
         opened();
         rank_of();
     }},
    {"session-over",
     [](int) {
         sum_by_session();
         rank_of();
     }},
    {"session-finalize-world",
     [](int) {
         opened();
         MPI_Finalize();
     }},
    {"session-fatal",
     [](int) {
         MPI_Group g = MPI_GROUP_NULL;
         MPI_Group_from_session_pset(opened(), "mpi://NOBODY", &g);
     }},
};

std::map<std::string, void (*)(int)> const ways{
    {"abort", [](int code) { at_rank_0([&] { MPI_Abort(MPI_COMM_WORLD, code); }); }},
    {"abort-self", [](int code) { at_rank_0([&] { MPI_Abort(MPI_COMM_SELF, code); }); }},
    {"fatal", [](int dest) { at_rank_0([&] { MPI_Send(nullptr, 0, MPI_INT, dest, 1, MPI_COMM_WORLD); }); }},
    {"abort-of-comm",
     [](int dest) {
         MPI_Comm c = MPI_COMM_NULL;
         MPI_Comm_dup(MPI_COMM_WORLD, &c);
         MPI_Comm_set_errhandler(c, MPI_ERRORS_ABORT);
         at_rank_0([&] { MPI_Send(nullptr, 0, MPI_INT, dest, 1, c); });
     }},
    {"abort-of-window",
     [](int target) {
         MPI_Win w = MPI_WIN_NULL;
         MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
         MPI_Win_set_errhandler(w, MPI_ERRORS_ABORT);
         at_rank_0([&] { MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w); });
     }},
    {"abort-of-nothing",
     [](int) {
         int n = 0;
         MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ABORT);
         at_rank_0([&] { MPI_Group_size(MPI_GROUP_NULL, &n); });
     }},
    {"program",
     [](int) {
         int* number = nullptr;
         int found = 0;
         MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
         std::printf("program %d\n", found ? *number : -1);
         MPI_Finalize();
         std::exit(0);
     }},
    {"messages", // a random program; what was wrong is on standard output
     [](int seed) {
         long sent = 0;
         auto const faults = mpt::c::test::random_messages{static_cast<unsigned>(seed)}.run(15, sent);
         MPI_Finalize();
         std::printf("%s", faults.c_str());
         std::exit(faults.empty() && sent > 0 ? 0 : 1);
     }},
    {"collectives",
     [](int seed) {
         auto const faults = mpt::c::test::random_collectives{static_cast<unsigned>(seed)}.run(150);
         MPI_Finalize();
         std::printf("%s", faults.c_str());
         std::exit(faults.empty() ? 0 : 1);
     }},
    {"accumulates",
     [](int seed) {
         auto const faults = mpt::c::test::random_accumulates{static_cast<unsigned>(seed)}.run(20);
         MPI_Finalize();
         std::printf("%s", faults.c_str());
         std::exit(faults.empty() ? 0 : 1);
     }},
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
    if (way == "environment") return environment(argc > 2), 0;
    if (way == "before") return rank_of();
    if (way == "errors-without-handlers") return errors_without_handlers(), 0;
    if (auto const at = by_sessions.find(way); at != by_sessions.end()) return at->second(argc > 2 ? std::atoi(argv[2]) : 0), 0;
    if (way == "finalize-at-exit") std::atexit(finalize_at_exit);
    MPI_Init(&argc, &argv);
    if (way == "finalize-at-exit") return 0;
    if (way == "return") return at_rank_0([] {}), argc > 2 ? std::atoi(argv[2]) : 0;
    ways.at(way)(argc > 2 ? std::atoi(argv[2]) : 0);
    std::puts("went on");
    return 0;
}
