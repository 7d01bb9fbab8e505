// A job that hangs: mptrun says who waits for whom, from the outside, and why where that can be seen.
#include <gtest/gtest.h>

#include "../support/leftovers.hpp"
#include "../support/process.hpp"
#include "../support/programs.hpp"
#include "../support/sanitized.hpp"

namespace {
using namespace mpt::test;
using namespace std::chrono_literals;

std::string const rank_facade = program("MPT_TEST_RANK_FACADE", "rank_facade");
/// Long enough for all ranks to have come to their wait.
std::string const limit = sanitized ? "5s" : "1s";
constexpr auto a_while = sanitized ? 3000ms : 300ms; // until a program waits, or a report is there

struct mistake {
    char const* which;
    int ranks;
    std::vector<char const*> said;
};
void PrintTo(mistake const& m, std::ostream* out) { *out << m.which; }
struct hang : testing::TestWithParam<mistake> {};

TEST_P(hang, is_explained_when_the_time_is_over) {
    auto const& m = GetParam();
    leftovers const left;
    auto const e =
        run(left.mark() + mptrun + " --timeout " + limit + " -n " + std::to_string(m.ranks) + ' ' + waits + " hang " + m.which,
            30s);
    EXPECT_FALSE(e.late);
    EXPECT_EQ(e.code, 124) << e.err;
    EXPECT_TRUE(e.says("the time limit of " + limit.substr(0, 1) + " s is over; ending the ")) << e.err;
    for (auto const* part : m.said) EXPECT_TRUE(e.says(part)) << part << "\n is missing in\n" << e.err;
    EXPECT_EQ(left.found(), "");
}
INSTANTIATE_TEST_SUITE_P(
    of, hang,
    testing::Values(
        mistake{"cycle",
                3,
                {"rank 0 waits in MPI_Recv from rank 1, tag 7, on MPI_COMM_WORLD (4 bytes) for ",
                 "a cycle: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0."}},
        mistake{"missing",
                4,
                {"ranks 0-2 wait in MPI_Barrier on MPI_COMM_WORLD for ", "; rank 3 is not in it.",
                 "rank 3 has been computing, or polling (MPI_Test)."}},
        mistake{"tag",
                2,
                {"rank 1 has a message from rank 0, tag 8, on MPI_COMM_WORLD (4 bytes): another tag than the awaited one."}},
        mistake{
            "communicator",
            2,
            {"rank 1 has a message from rank 0, tag 7, on the solver's (4 bytes): another communicator than the awaited one."}},
        mistake{"collective", 2, {"rank 1 has a message of MPI_Bcast on MPI_COMM_WORLD from rank 0, without being in it."}},
        mistake{
            "wait", 3, {"ranks 0-2 wait in MPI_Wait for a receive from any rank, any tag, on MPI_COMM_WORLD (4 bytes) for "}},
        mistake{"sides",
                3,
                {"rank 0 waits in MPI_Barrier on the bridge for ", "; rank 1 is not in it.",
                 "ranks 1-2 wait in MPI_Recv from rank 0, tag 7, on the bridge (4 bytes) for ",
                 "rank 1 has a message of MPI_Barrier on the bridge from rank 0, without being in it."}},
        mistake{"edges",
                3,
                {"rank 0 waits in a collective of neighbours on the web with rank 1 for ",
                 "a cycle: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0."}},
        mistake{
            "edge", 2, {"rank 0 waits in a collective of neighbours on the web with rank 1 for ", "; rank 1 is not in it."}},
        mistake{"probe", 2, {"rank 0 waits in MPI_Probe from rank 1, tag 3, on MPI_COMM_WORLD for ", "a cycle: rank 0"}},
        mistake{"send",
                2,
                {"rank 0 waits in MPI_Send to rank 1, tag 5, on MPI_COMM_WORLD (8388608 bytes) for ",
                 "a cycle: rank 0 waits for rank 1,"}}),
    [](auto const& i) { return std::string{i.param.which}; });

TEST(hang_report, sees_programs_in_cpp_as_well) {
    auto const e = run(mptrun + " --timeout " + limit + " -n 2 " + rank_facade + " smp hang", 30s);
    EXPECT_EQ(e.code, 124) << e.err;
    EXPECT_TRUE(e.says("rank 0 waits in MPI_Recv from rank 1, tag 7, on MPI_COMM_WORLD (8 bytes) for ")) << e.err;
    EXPECT_TRUE(e.says("rank 1 waits in MPI_Barrier on MPI_COMM_WORLD for ")) << e.err;
    EXPECT_TRUE(e.says("rank 0 has a message of MPI_Barrier on MPI_COMM_WORLD from rank 1, without being in it.")) << e.err;
}

TEST(hang_report, sees_who_wants_the_lock_of_a_window) {
    auto const e = run(mptrun + " --timeout " + limit + " -n 2 " + rank_facade + " smp hang-lock", 30s);
    EXPECT_EQ(e.code, 124) << e.err;
    EXPECT_TRUE(e.says("rank 1 waits in MPI_Win_lock for the window of rank 0 for ")) << e.err;
    EXPECT_TRUE(e.says("rank 0 waits in MPI_Barrier on MPI_COMM_WORLD for ")) << e.err;
}

TEST(hang_report, sees_operations_that_an_agent_of_the_target_is_to_answer) {
    auto const e = run(mptrun + " --timeout " + limit + " -n 2 " + waits + " hang answer", 30s);
    EXPECT_EQ(e.code, 124) << e.err;
    EXPECT_TRUE(e.says("rank 1 waits in MPI_Get_accumulate or the like, for the answer of an agent of rank 0 for ")) << e.err;
    EXPECT_TRUE(e.says("rank 0 has been stopped by a signal")) << e.err;
    EXPECT_FALSE(e.says("a cycle")) << e.err;
}

TEST(hang_report, takes_both_ends_of_a_message_under_way_for_no_cycle) {
    auto const e = run(mptrun + " --timeout " + limit + " -n 2 " + waits + " hang transfer", 30s);
    EXPECT_EQ(e.code, 124) << e.err;
    EXPECT_FALSE(e.says("a cycle")) << e.err;
}

TEST(hang_report, sees_requests_whose_wait_only_spins) {
    auto const e = run(mptrun + " -x MPT_WAIT=spin --timeout " + limit + " -n 2 " + waits + " hang wait", 30s);
    EXPECT_EQ(e.code, 124) << e.err;
    EXPECT_TRUE(e.says("ranks 0-1 wait in MPI_Wait for a receive from any rank")) << e.err;
}

TEST(hang_report, comes_once_when_nothing_moves_and_the_job_goes_on) {
    for (auto const& given : {"env MPT_HANG_REPORT=1 " + mptrun, mptrun + " -x MPT_HANG_REPORT=1"}) {
        auto const e = run(given + " -n 3 " + waits + " hang late", 20s);
        EXPECT_EQ(e.code, 0) << e.err;
        EXPECT_TRUE(e.says("no wait has begun or ended for 1 s; the job goes on:")) << e.err;
        EXPECT_TRUE(e.says("ranks 1-2 wait in MPI_Barrier on MPI_COMM_WORLD for ")) << e.err;
        EXPECT_TRUE(e.says("; rank 0 is not in it.")) << e.err;
        EXPECT_EQ(e.err.find("no wait has"), e.err.rfind("no wait has")) << e.err;
    }
}

TEST(hang_report, is_silent_while_things_move) {
    auto const e = run("env MPT_HANG_REPORT=1 " + mptrun + " -n 3 " + waits + " work", 60s);
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.err, "");
}

TEST(hang_report, is_answered_to_sigquit_and_the_job_goes_on) {
    leftovers const left;
    process p{"exec " + left.mark() + mptrun + " -n 3 " + waits + " hang cycle"};
    ASSERT_TRUE(left.there(3, std::filesystem::path{waits}.filename()));
    std::this_thread::sleep_for(a_while);
    ::kill(p.pid(), SIGQUIT);
    std::this_thread::sleep_for(a_while);
    EXPECT_EQ(left.living(std::filesystem::path{waits}.filename()).size(), 3u);
    ::kill(p.pid(), SIGTERM);
    auto const e = p.wait(20s);
    EXPECT_EQ(e.code, 143);
    EXPECT_TRUE(e.says("mptrun: who waits for whom:\n")) << e.err;
    EXPECT_TRUE(e.says("a cycle: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0.")) << e.err;
    EXPECT_EQ(left.found(), "");
}

TEST(hang_report, comes_on_sigquit_in_the_background_of_a_script_too) { // for which the shell ignores the signal
    leftovers const left;
    process p{"trap '' QUIT; exec " + left.mark() + mptrun + " -n 3 " + waits + " hang cycle"};
    ASSERT_TRUE(left.there(3, std::filesystem::path{waits}.filename()));
    std::this_thread::sleep_for(a_while);
    ::kill(p.pid(), SIGQUIT);
    std::this_thread::sleep_for(a_while);
    ::kill(p.pid(), SIGTERM);
    auto const e = p.wait(20s);
    EXPECT_EQ(e.code, 143);
    EXPECT_TRUE(e.says("mptrun: who waits for whom:\n")) << e.err;
}

/// What is said where a signal ends ranks that have waited so long.
ended ended_by(int signal, std::chrono::milliseconds waited) {
    leftovers const left;
    process p{"exec " + left.mark() + mptrun + " -n 3 " + waits + " hang cycle"};
    EXPECT_TRUE(left.there(3, std::filesystem::path{waits}.filename()));
    std::this_thread::sleep_for(waited);
    ::kill(p.pid(), signal);
    auto e = p.wait(20s);
    EXPECT_EQ(e.code, 128 + signal) << e.err;
    EXPECT_EQ(left.found(), "");
    return e;
}
TEST(hang_report, comes_when_a_signal_ends_a_job_that_stands_still) {
    for (int const s : {SIGINT, SIGTERM}) {
        auto const e = ended_by(s, a_while + 1500ms);
        EXPECT_TRUE(e.says("mptrun: signal " + std::to_string(s) + " (") && e.says(") ends the job; who waits for whom:\n"))
            << e.err;
        EXPECT_TRUE(e.says("a cycle: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0.")) << e.err;
    }
}
TEST(hang_report, does_not_come_when_a_signal_ends_a_job_at_once) { EXPECT_EQ(ended_by(SIGINT, 0ms).err, ""); }

TEST(hang_report, of_many_ranks_that_do_the_same_is_one_line) {
    auto const e = run(mptrun + " --timeout " + limit + " -n 24 " + waits + " hang missing", 40s);
    EXPECT_EQ(e.code, 124) << e.err;
    EXPECT_TRUE(e.says("ranks 0-22 wait in MPI_Barrier on MPI_COMM_WORLD for ")) << e.err;
    EXPECT_TRUE(e.says("; rank 23 is not in it.")) << e.err;
}

TEST(hang_report, tells_stopped_ranks_and_ranks_that_have_not_begun) {
    auto const stopped = run(mptrun + " --timeout " + limit +
                                 " -n 2 sh -c 'case $MPT_BOOT in 1:1:*) kill -STOP $$;; esac; exec " + waits + " hang missing'",
                             30s);
    EXPECT_EQ(stopped.code, 124) << stopped.err;
    EXPECT_TRUE(stopped.says("rank 0 waits in MPI_Init for ")) << stopped.err;
    EXPECT_TRUE(stopped.says("rank 1 has not called MPI_Init yet.")) << stopped.err;
}

} // namespace
