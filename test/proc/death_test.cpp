// Every way to die while others wait in every way: the job ends with the culprit's code, says who and why and where the others
// were, and leaves nothing behind; also where mptrun or its sentinel is killed by force, and for Ctrl-C at a terminal.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "../support/leftovers.hpp"
#include "../support/process.hpp"
#include "../support/programs.hpp"
#include "../support/signals.hpp"

#include <pty.h>

namespace {
using namespace mpt::test;
using namespace std::chrono_literals;

// Watchdogs, at ten times what is promised: blocked ranks are gone within 0.5 s, computing ones within 2 s.
constexpr auto soon = 5s, grace = 20s;

/// A sanitizer would make an exit code of a signal.
std::string const as_it_is = "ASAN_OPTIONS=handle_segv=0:handle_abort=0 ";

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}

struct death {
    char const* how;
    int code;
    char const* said;
};
struct place {
    char const *name, *where, *options, *said;
};
void PrintTo(death const& d, std::ostream* out) { *out << d.how; }
void PrintTo(place const& p, std::ostream* out) { *out << p.name; }

struct dying : testing::TestWithParam<std::tuple<death, place>> {};

TEST_P(dying, ends_the_job_names_the_culprit_once_and_says_where_the_others_were) {
    auto const& [d, p] = GetParam();
    bool const early = std::string_view{d.how} == "early", told = std::string_view{d.how} == "mpi_abort";
    leftovers const left;
    auto const e =
        run(left.mark() + as_it_is + mptrun + " -n 3 " + p.options + ' ' + waits + " die 1 " + d.how + ' ' + p.where, soon);
    EXPECT_FALSE(e.late);
    EXPECT_EQ(e.code, d.code) << e.err;
    EXPECT_TRUE(e.says(d.said)) << e.err;
    EXPECT_EQ(count_of(e.err, told ? "rank 1 of 3 on " : "rank 1 on "), 1u) << e.err;
    EXPECT_TRUE(e.says(early ? "ranks 0, 2 waited in MPI_Init." : p.said)) << e.err;
    EXPECT_EQ(count_of(e.err, "\n"), 2u) << e.err;
    EXPECT_EQ(left.found(), "");
}
INSTANTIATE_TEST_SUITE_P(
    a, dying,
    testing::Combine(
        testing::Values(death{"exit0", 1, "ended without finalizing (exit code 0)"},
                        death{"exit3", 3, "ended with exit code 3;"}, death{"segv", 139, "was killed by signal 11"},
                        death{"kill", 137, "was killed by signal 9"},
                        death{"throw", 134, "by an exception that nobody caught: std::runtime_error: rank throws"},
                        death{"abort", 134, "was killed by signal 6"}, death{"early", 3, "with exit code 3 before MPI_Init"},
                        death{"mpi_abort", 9, "MPI_Abort was called with error code 9"}),
        testing::Values(place{"recv", "recv", "",
                              "ranks 0, 2 waited in MPI_Recv from rank 1, tag 7, on MPI_COMM_WORLD (4 bytes)."},
                        place{"sleep", "recv", "-x MPT_WAIT=sleep", "ranks 0, 2 waited in MPI_Recv from rank 1, tag 7"},
                        place{"barrier", "barrier", "", "ranks 0, 2 waited in MPI_Barrier on MPI_COMM_WORLD."},
                        place{"compute", "compute", "", "ranks 0, 2 did not wait in mpt."})),
    [](auto const& i) { return std::string{std::get<0>(i.param).how} + "_while_others_" + std::get<1>(i.param).name; });

TEST(death, of_one_ends_those_that_do_not_listen_after_the_grace_period) {
    leftovers const left;
    auto const e = run(left.mark() + mptrun + " -n 3 " + waits + " die 1 exit3 deaf", grace);
    EXPECT_FALSE(e.late);
    EXPECT_EQ(e.code, 3) << e.err;
    EXPECT_EQ(left.found(), "");
}

TEST(death, of_a_rank_ends_what_it_started_too) {
    leftovers const left;
    auto const e = run(left.mark() + mptrun + " -n 3 sh -c 'sleep 1000 & exec " + waits + " die 1 kill recv'", soon);
    EXPECT_EQ(e.code, 137) << e.err;
    EXPECT_EQ(left.found(), "");
}

TEST(death, by_the_same_mistake_on_every_rank_is_said_once) {
    leftovers const left;
    auto const e = run(left.mark() + mptrun + " -n 4 " + waits + " die 0 mistake mistake", soon);
    EXPECT_EQ(e.code, 6) << e.err; // MPI_ERR_RANK
    EXPECT_EQ(count_of(e.err, "ended the job with exit code 6"), 1u) << e.err;
    EXPECT_EQ(count_of(e.err, "exit code"), 1u) << e.err;
    EXPECT_EQ(left.found(), "");
}

TEST(death, of_programs_that_know_nothing_of_mpt_is_one_line) {
    auto const e =
        run(mptrun + " -n 2 sh -c 'exec 2>/dev/null; test \"${MPT_BOOT#1:1}\" = \"$MPT_BOOT\" || exit 3; sleep 1000'", soon);
    EXPECT_EQ(e.code, 3);
    EXPECT_EQ(count_of(e.err, "\n"), 1u) << e.err;
    EXPECT_FALSE(e.says("MPI_Init")) << e.err;
}

// --- mptrun and its sentinel, killed by force ---------------------------------------------------------------------------------

std::string const name_of_waits = std::filesystem::path{waits}.filename();
/// A rank is a shell that started something, and then is the program.
std::string ranks_with_children(leftovers const& left, char const* where) {
    return "exec " + left.mark() + mptrun + " -n 3 sh -c 'sleep 1000 & exec " + waits + " die 0 never " + where + "'";
}
/// The child of mptrun that leads a session.
pid_t sentinel_of(pid_t mptrun_pid) {
    std::ifstream children{"/proc/" + std::to_string(mptrun_pid) + "/task/" + std::to_string(mptrun_pid) + "/children"};
    for (pid_t child = 0; children >> child;)
        if (::getsid(child) == child) return child;
    return -1;
}

struct killed : testing::TestWithParam<char const*> {};

TEST_P(killed, mptrun_leaves_nothing_behind) {
    leftovers const left;
    process p{ranks_with_children(left, GetParam())};
    ASSERT_TRUE(left.there(3, name_of_waits) && left.there(3, "sleep"));
    ::kill(p.pid(), SIGKILL);
    EXPECT_EQ(p.wait().code, 137);
    EXPECT_EQ(left.found(), "");
}
INSTANTIATE_TEST_SUITE_P(while_ranks_are_in, killed, testing::Values("recv", "barrier", "compute"),
                         [](auto const& i) { return i.param; });

TEST(sentinel, that_is_killed_is_replaced_and_the_job_goes_on) {
    leftovers const left;
    process p{ranks_with_children(left, "recv")};
    ASSERT_TRUE(left.there(3, name_of_waits) && left.there(3, "sleep"));
    auto const first = sentinel_of(p.pid());
    ASSERT_GT(first, 0);
    ::kill(first, SIGKILL);
    pid_t second = -1;
    ASSERT_TRUE(leftovers::within(10s, [&] { return (second = sentinel_of(p.pid())) > 0 && second != first; }));
    EXPECT_EQ(left.living(name_of_waits).size(), 3u);
    ::kill(p.pid(), SIGKILL);
    EXPECT_EQ(p.wait().code, 137);
    EXPECT_EQ(left.found(), "");
}

TEST(sentinel, and_mptrun_killed_at_once_still_end_the_ranks) {
    leftovers const left;
    process p{"exec " + left.mark() + mptrun + " -n 3 " + waits + " die 0 never compute"};
    ASSERT_TRUE(left.there(3, name_of_waits));
    auto const other = sentinel_of(p.pid());
    ASSERT_GT(other, 0);
    ::kill(other, SIGKILL);
    ::kill(p.pid(), SIGKILL);
    EXPECT_EQ(p.wait().code, 137);
    EXPECT_EQ(left.found(), "");
}

TEST(sentinel, does_not_hold_the_output_of_mptrun_open) {
    auto const e = run("sh -c '" + mptrun + " -n 1 sleep 0.3 | cat; echo end'", soon);
    EXPECT_FALSE(e.late);
    EXPECT_EQ(e.out, "end\n");
}

// --- Ctrl-C at a terminal --------------------------------------------------------------------------------------------------

/// A command whose terminal we are.
class at_terminal {
    int terminal_ = -1;
    pid_t pid_;

public:
    explicit at_terminal(std::string const& command) : pid_{::forkpty(&terminal_, nullptr, nullptr, nullptr)} {
        if (pid_ != 0) return;
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    ~at_terminal() { ::close(terminal_); }
    at_terminal(at_terminal const&) = delete;
    void type(char c) const { EXPECT_EQ(::write(terminal_, &c, 1), 1); }
    /// Exit code, or 128 + signal; -1: it did not end.
    int end(std::chrono::seconds limit) const {
        int status = 0;
        auto const ended = leftovers::within(limit, [&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
        if (!ended) ::kill(pid_, SIGKILL);
        return !ended ? -1 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
};
constexpr char ctrl_c = 3, ctrl_backslash = 28;

TEST(terminal, ctrl_c_ends_the_job) {
    leftovers const left;
    at_terminal const t{"exec " + left.mark() + mptrun + " -n 2 " + waits + " die 0 never recv"};
    ASSERT_TRUE(left.there(2, name_of_waits));
    std::this_thread::sleep_for(100ms);
    t.type(ctrl_c);
    EXPECT_EQ(t.end(soon), 130);
    EXPECT_EQ(left.found(), "");
}

TEST(terminal, ctrl_c_twice_kills_what_does_not_listen) {
    leftovers const left;
    at_terminal const t{"exec " + left.mark() + mptrun + " -n 2 " + waits + " die 9 never deaf"};
    ASSERT_TRUE(left.there(2, name_of_waits));
    ASSERT_TRUE(leftovers::within(soon, [&] {
        return std::ranges::all_of(left.living(name_of_waits), [](pid_t p) { return has_signal(p, "SigIgn", SIGINT); });
    }));
    t.type(ctrl_c);
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(left.living(name_of_waits).size(), 2u);
    t.type(ctrl_c);
    EXPECT_EQ(t.end(grace), 137);
    EXPECT_EQ(left.found(), "");
}

TEST(terminal, ctrl_backslash_asks_and_ends_nothing) {
    leftovers const left;
    at_terminal const t{"exec " + left.mark() + mptrun + " -n 2 " + waits + " die 0 never recv"};
    ASSERT_TRUE(left.there(2, name_of_waits));
    std::this_thread::sleep_for(100ms);
    t.type(ctrl_backslash);
    std::this_thread::sleep_for(200ms);
    EXPECT_EQ(left.living(name_of_waits).size(), 2u);
    t.type(ctrl_c);
    EXPECT_EQ(t.end(soon), 130);
    EXPECT_EQ(left.found(), "");
}

TEST(death, of_a_rank_whose_output_nobody_reads_any_more_is_silent) {
    process p{"{ " + mptrun + " -n 2 sh -c 'while echo line; do :; done'; echo code $? >&2; } | head -n 1"};
    auto const e = p.wait(30s);
    EXPECT_EQ(e.out, "line\n");
    EXPECT_EQ(e.err, "code 141\n");
}

} // namespace
