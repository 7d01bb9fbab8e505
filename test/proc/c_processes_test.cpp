// Programs of the C interface as processes: how they enter and leave, and how an error or MPI_Abort ends them all.
#include <algorithm>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "../support/dice.hpp"
#include "../support/process.hpp"
#include "../support/sanitized.hpp"

namespace {
using namespace mpt::test;
using namespace std::chrono_literals;

std::string of_environment(char const* name, char const* otherwise) {
    auto const* const value = std::getenv(name);
    return value ? value : otherwise;
}
std::string const mptrun = of_environment("MPT_TEST_MPTRUN", "mptrun");
std::string const program = of_environment("MPT_TEST_C_PROCESS", "c_process");

ended ranks(int n, std::string const& how) { return run(mptrun + " -n " + std::to_string(n) + ' ' + program + ' ' + how, 30s); }

TEST(c_processes, know_whether_mpi_is_there) {
    for (int n : {1, 3}) {
        auto const e = ranks(n, "work");
        auto const line = "00 10 11 sum " + std::to_string(n * (n - 1) / 2) + '\n';
        auto wanted = std::string{};
        for (int i = 0; i < n; ++i) wanted += line;
        EXPECT_EQ(e.code, 0) << e.err;
        EXPECT_EQ(e.out, wanted);
        EXPECT_EQ(e.err, "");
    }
    auto const alone = run(program + " work", 30s); // without mptrun: one rank
    EXPECT_EQ(alone.code, 0) << alone.err;
    EXPECT_EQ(alone.out, "00 10 11 sum 0\n");
}

TEST(c_processes, may_leave_mpi_from_a_function_that_runs_at_exit) {
    for (int n : {1, 3}) {
        auto const e = ranks(n, "finalize-at-exit");
        EXPECT_EQ(e.code, 0) << e.err;
        EXPECT_EQ(e.err, "");
        auto wanted = std::string{};
        for (int i = 0; i < n; ++i) wanted += "11 at exit\n";
        EXPECT_EQ(e.out, wanted);
    }
}

std::string times(int n, std::string const& line) {
    std::string all;
    for (int i = 0; i < n; ++i) all += line + '\n';
    return all;
}
void expect_lines(std::string const& command, std::string const& wanted) {
    auto const e = run(command, 30s);
    EXPECT_EQ(e.code, 0) << command << '\n' << e.err;
    EXPECT_EQ(e.out, wanted) << command;
    EXPECT_EQ(e.err, "") << command;
}

TEST(c_processes, that_have_sessions_alone_are_shown_when_all_are_there) {
    auto const e = run("env MPT_INFO=1 " + mptrun + " -n 2 " + program + " sessions 2", 30s);
    EXPECT_EQ(e.code, 0) << e.err;
    auto const table = std::string{"2 ranks on host "};
    auto const first = e.err.find(table);
    ASSERT_NE(first, std::string::npos) << e.err;
    EXPECT_EQ(e.err.find(table, first + 1), std::string::npos) << e.err;
}

TEST(c_processes, that_have_sessions_alone_are_in_the_report_of_a_hang) {
    auto const* const limit = sanitized ? "5s" : "1s";
    auto const e = run(mptrun + " --timeout " + limit + " -n 2 sh -c 'case $MPT_BOOT in 1:1:*) kill -STOP $$;; esac; exec " +
                           program + " sessions 1'",
                       30s);
    EXPECT_EQ(e.code, 124) << e.err;
    EXPECT_TRUE(e.says("rank 0 waits in MPI_Comm_create_from_group or the like (rank 1 has not begun) for ")) << e.err;
    EXPECT_TRUE(e.says("rank 1 has not called MPI_Init yet.")) << e.err;
}

TEST(c_processes, need_no_more_than_sessions) {
    for (int n : {1, 3}) {
        auto const sum = std::to_string(n * (n - 1) / 2);
        auto const job = mptrun + " -n " + std::to_string(n) + ' ' + program;
        expect_lines(job + " sessions 3", times(3 * n, "00 sum " + sum));
        expect_lines(job + " sessions-and-world", times(n, "11 " + sum + ' ' + sum + ' ' + sum + ' ' + sum));
        expect_lines(job + " session-of-one", times(n, "2 sets"));
    }
    expect_lines(program + " sessions 3", times(3, "00 sum 0"));
    expect_lines(program + " session-left-open", "");
}

/// The last rank is a program without MPI, and ends at once. mptrun looks again every 200 ms.
TEST(c_processes, whose_sessions_need_not_all_ranks_go_on_when_the_others_end) {
    for (auto const* const ms : {"0", "600"})
        expect_lines(mptrun + " -n 2 " + program + " sessions-of-all-but-the-last " + ms + " : -n 1 true", times(2, "2 of 3"));
    for (auto const* const how : {" sessions 1", " sessions-and-world", " work"}) {
        auto const e = run(mptrun + " -n 2 " + program + how + " : -n 1 true", 30s);
        EXPECT_FALSE(e.late) << how;
        EXPECT_EQ(e.code, 1) << how;
        EXPECT_TRUE(e.says("rank 2 ") && e.says("ended without joining the job that others wait in")) << e.err;
        EXPECT_TRUE(e.says("waited in MPI_")) << e.err;
    }
}

TEST(c_processes, are_told_before_mpi_is_there_how_many_they_are) {
    for (int n : {1, 3}) {
        auto const all = std::to_string(n);
        expect_lines(mptrun + " -n " + all + ' ' + program + " environment", times(n, all + ' ' + all + ' ' + all));
    }
    expect_lines(program + " environment", "1 1 1\n");
    expect_lines("env PMI_FD=9 PMI_RANK=0 PMI_SIZE=5 " + program + " environment before", "5\n");
    expect_lines("env PMI_FD=9 PMI_RANK=0 PMI_SIZE=many " + program + " environment before", "nothing\n");
    expect_lines("env MPT_BOOT=bad " + program + " environment before", "nothing\n");
    expect_lines("env OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 " + program + " environment before", "nothing\n");
}

TEST(c_processes, begin_with_the_error_handler_that_mptrun_was_told) {
    for (int n : {1, 2}) {
        auto const ranks = " -n " + std::to_string(n) + ' ' + program + " errors-without-handlers";
        expect_lines(mptrun + " -initial-errhandler mpi_errors_return" + ranks, times(n, "16 9 6 6 16"));
        for (auto const* how : {"", " -initial-errhandler mpi_errors_abort", " --initial-errhandler=MPI_ERRORS_ARE_FATAL"}) {
            auto const e = run(mptrun + how + ranks, 30s);
            EXPECT_EQ(e.code, 16) << e.err;
            EXPECT_TRUE(e.says("MPI_Comm_rank: called before MPI_Init")) << e.err;
        }
    }
    // A program that a rank starts by itself is not told.
    auto const inner =
        run(mptrun + " -initial-errhandler mpi_errors_return " + mptrun + ' ' + program + " errors-without-handlers", 30s);
    EXPECT_EQ(inner.code, 16) << inner.out;
}

/// Random programs whose ranks are processes, n of them, along every path that data take (c/random_messages.hpp, c/random_collectives.hpp).
void expect_right(std::string const& what, unsigned most_ranks, std::initializer_list<char const*> settings) {
    mpt::test::seeds const seeds{12};
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !testing::Test::HasFailure(); ++seed) {
        mpt::test::dice common{seed};
        auto const ranks = std::to_string(1 + common.below(most_ranks));
        std::string const set = common.one_of(settings);
        auto const e = run("env " + set + ' ' + mptrun + " -n " + ranks + ' ' + program + ' ' + what + ' ' +
                               std::to_string(common.below(1u << 30)),
                           60s);
        EXPECT_EQ(e.code, 0) << set << ", " << ranks << " ranks; replay with MPT_SEED=" << seed << '\n' << e.out << e.err;
        EXPECT_EQ(e.out, "");
    }
}
TEST(c_processes, get_the_messages_that_their_order_allows) {
    expect_right("messages", 4,
                 {"", "MPT_SINGLE_COPY=off", "MPT_LANES=3", "MPT_EAGER_MAX=1K", "MPT_UNEXPECTED_MAX=4K", "MPT_PIPELINE_MAX=0",
                  "MPT_BOTH_ENDS=off", "MPT_SINGLE_COPY_SIZE=0", "MPT_CACHED_MAX=1K"});
}
TEST(c_processes, have_what_collectives_on_communicators_that_overlap_give) {
    expect_right("collectives", 6,
                 {"", "", "MPT_SINGLE_COPY=off", "MPT_LANES=3", "MPT_NODE_CALLS=0", "MPT_NODE_RANKS=0", "MPT_NODE_MAX=1K",
                  "MPT_COLL_OFF=all", "MPT_CACHED_MAX=1K", "MPT_NODE_DIRECT=1",
                  "MPT_NODE_DIRECT=1 MPT_NODE_PIECE=0 MPT_NODE_CALLS=1"});
}
TEST(c_processes, go_another_way_where_some_may_not_copy_by_themselves) {
    for (auto const* few : {"1", "3"})
        for (auto const* seed : {"1", "2", "3"}) {
            auto const part = [&](std::string const& ranks) { return " -n " + ranks + ' ' + program + " collectives " + seed; };
            auto const e = run("env MPT_NODE_DIRECT=1 MPT_NODE_PIECE=0 " + mptrun + " -env MPT_SINGLE_COPY off" + part(few) +
                                   " :" + part("2"),
                               60s);
            EXPECT_EQ(e.code, 0) << few << ", " << seed << e.out << e.err;
            EXPECT_EQ(e.out, "");
        }
}
TEST(c_processes, lose_no_accumulate_of_rows_and_of_numbers) {
    expect_right("accumulates", 4,
                 {"", "MPT_FENCES=sleeper", "MPT_FENCES=sleeper", "MPT_FENCES=both", "MPT_LANES=3", "MPT_SINGLE_COPY=off",
                  "MPT_RMA_DIRECT=off", "MPICH_RMA_OVER_DMAPP=0"});
}

/// Nobody waits for a program that is alone: how it ends is its own business.
TEST(c_processes, that_are_alone_need_not_finalize) {
    for (auto const* how : {"exit", "return"})
        for (int code : {0, 3}) {
            auto const e = run(program + ' ' + how + ' ' + std::to_string(code), 30s);
            EXPECT_EQ(e.code, code) << how;
            EXPECT_EQ(e.err, "") << how;
        }
    auto const aborted = run(program + " abort-self 9", 30s);
    EXPECT_EQ(aborted.code, 9);
    EXPECT_TRUE(aborted.says("MPI_Abort was called with error code 9")) << aborted.err;
}

struct fault {
    char const* how;
    int ranks, code;
    char const* said;
};
struct c_process_that_fails : testing::TestWithParam<fault> {};

TEST_P(c_process_that_fails, ends_the_job_with_its_code_and_a_sentence) {
    auto const& p = GetParam();
    auto const e = ranks(p.ranks, p.how);
    EXPECT_FALSE(e.late);
    EXPECT_EQ(e.code, p.code) << e.err;
    EXPECT_TRUE(e.says(p.said)) << e.err;
    EXPECT_EQ(e.out, ""); // nobody went on
}
constexpr int err_other = 16, err_rank = 6, err_comm = 5, err_arg = 13; // as in the standard's binary interface
INSTANTIATE_TEST_SUITE_P(
    a, c_process_that_fails,
    testing::Values(fault{"abort 7", 3, 7, "MPI_Abort was called with error code 7"},
                    fault{"abort-self 9", 1, 9, "MPI_Abort was called with error code 9"},
                    fault{"abort 200", 1, 200, "MPI_Abort was called with error code 200"},
                    fault{"abort 0", 2, 1, "MPI_Abort was called with error code 0"},
                    fault{"abort-self 9", 3, 9, "rank 0 of 3"}, // a part of a job cannot end alone
                    fault{"abort-in-thread 11", 3, 11, "MPI_Abort was called with error code 11"},
                    fault{"exit 0", 3, 1, "ended without finalizing (exit code 0); ending the other 2 ranks."},
                    fault{"session-left-open 0", 3, 1, "ended without finalizing (exit code 0); ending the other 2 ranks."},
                    fault{"session-left-open 5", 1, 5, "ended with exit code 5"},
                    // MPI_ERRORS_ABORT is MPI_Abort on the communicator, or on one of the window's group.
                    fault{"abort-of-comm 5", 3, err_rank, "exit code 6: MPI_Send: dest is 5; allowed: 0 to 2"},
                    fault{"abort-of-comm 5", 2, err_rank, "rank 0 of 2 on "},
                    fault{"abort-of-window 7", 2, err_rank, "ended the job with exit code 6: MPI_Win_lock: rank is 7"},
                    fault{"abort-of-nothing", 2, 9, "ended the job with exit code 9: MPI_Group_size: group is MPI_GROUP"},
                    fault{"abort-of-session", 1, err_arg, "ends with exit code 13: MPI_Group_from_session_pset: "},
                    fault{"session-abort 7", 3, 7, "MPI_Abort was called with error code 7"},
                    fault{"session-without-world", 1, err_comm,
                          "MPI_Comm_rank: comm is MPI_COMM_WORLD, which is there from MPI_Init"},
                    fault{"session-over", 1, err_other, "MPI_Comm_rank: called after the last session was finalized"},
                    fault{"session-finalize-world", 1, err_other, "MPI_Finalize: called before MPI_Init"},
                    fault{"session-fatal", 1, err_arg, "there is no process set \"mpi://NOBODY\""},
                    fault{"exit 3", 3, 3, "ended with exit code 3; ending the other 2 ranks."},
                    fault{"return 0", 3, 1, "ended without finalizing (exit code 0); ending the other 2 ranks."},
                    fault{"return 4", 3, 4, "ended with exit code 4; ending the other 2 ranks."},
                    fault{"fatal 5", 3, err_rank, "MPI_Send: dest is 5; allowed: 0 to 2, MPI_PROC_NULL (rank 0 of 3)"},
                    fault{"fatal -9", 1, err_rank, "MPI_Send: dest is -9"},
                    fault{"before", 1, err_other, "MPI_Comm_rank: called before MPI_Init"},
                    fault{"after", 1, err_other, "MPI_Comm_rank: called after MPI_Finalize"},
                    fault{"twice", 1, err_other, "MPI_Init: MPI_Init was called already"},
                    fault{"again", 1, err_other, "MPI_Init: called after MPI_Finalize; MPI cannot be entered twice"}),
    [](auto const& i) {
        auto name = std::to_string(i.param.ranks) + " ranks " + i.param.how;
        std::ranges::replace_if(
            name, [](char c) { return c == ' ' || c == '-'; }, '_');
        return name;
    });

/// MPI_ERRORS_ABORT on a session ends the process that made the mistake. A shell stands between it and mptrun, which would end the others
/// when it sees that one has failed.
TEST(c_processes, whose_session_aborts_leave_the_others_alone) {
    auto const over = testing::TempDir() + "abort_of_session." + std::to_string(::getpid());
    auto const e = run(mptrun + " -n 2 sh -c '" + program + " abort-of-session && touch " + over + "; until [ -e " + over +
                           " ]; do sleep 0.05; done'",
                       30s);
    ::unlink(over.c_str());
    EXPECT_FALSE(e.late);
    EXPECT_EQ(e.out, "went on\n");
    EXPECT_TRUE(e.says("mpt: rank 1 of 2 (process ")) << e.err;
    EXPECT_TRUE(e.says("ends with exit code 13: MPI_Group_from_session_pset: there is no process set \"mpi://NOBODY\""))
        << e.err;
    EXPECT_FALSE(e.says("ended the job")) << e.err;
}

/// What the tool of test/c/tool.cpp says of n ranks of test/c/traced.cpp, in any order.
void expect_counts(ended const& e, int n) {
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_EQ(e.err, "");
    std::vector<std::string> lines, wanted;
    std::istringstream in{e.out};
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    for (int r = 0; r < n; ++r) wanted.push_back("tool at rank " + std::to_string(r) + ": init 1 send 2 recv 2 finalize 1");
    std::ranges::sort(lines);
    EXPECT_EQ(lines, wanted);
}
std::string const traced = of_environment("MPT_TEST_TRACED", "traced"),
                  tool = of_environment("MPT_TEST_TOOL", "libmpi_tool.so");

TEST(c_processes, a_profiling_tool_sees_the_programs_calls_and_none_of_ours) {
    for (int n : {1, 3})
        for (auto const* how : {"_static", "_shared"}) {
            SCOPED_TRACE(how);
            expect_counts(run(mptrun + " -n " + std::to_string(n) + ' ' + traced + how, 30s), n);
        }
}
TEST(c_processes, a_profiling_tool_may_be_preloaded) {
    if (mpt::test::sanitized) GTEST_SKIP() << "a sanitizer's runtime must come first";
    auto const plain = run(mptrun + " -n 3 " + traced, 30s);
    EXPECT_EQ(plain.code, 0) << plain.err;
    EXPECT_EQ(plain.out, "");
    expect_counts(run("env LD_PRELOAD=" + tool + ' ' + mptrun + " -n 3 " + traced, 30s), 3);
    expect_counts(run(mptrun + " -n 3 env LD_PRELOAD=" + tool + ' ' + traced, 30s), 3);
}

} // namespace
