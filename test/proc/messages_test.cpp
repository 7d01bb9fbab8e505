// What is said of the commonest mistakes, to the letter: one sentence, with the values in it, once for a job. "{}" stands for what
// differs between runs (a process id, a handle, a size). mptrun's own line, and the run-time system's, are not looked at.
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "../support/process.hpp"

namespace {
using namespace mpt::test;
using namespace std::chrono_literals;

std::string of_environment(char const* name, char const* otherwise) {
    auto const* const value = std::getenv(name);
    return value ? value : otherwise;
}
std::string const mptrun = of_environment("MPT_TEST_MPTRUN", "mptrun");
std::string const rank = of_environment("MPT_TEST_RANK", "proc_rank");
std::string const mistakes = of_environment("MPT_TEST_MISTAKES", "mistakes");

/// The lines that mpt wrote.
std::string said_by_mpt(std::string const& err) {
    std::string all;
    std::istringstream in{err};
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("mpt: ")) all += line + '\n';
    return all;
}

/// Does a text look like a pattern, where "{}" is any run of characters without a blank?
bool looks_like(std::string_view text, std::string_view pattern) {
    auto const hole = pattern.find("{}");
    if (hole == pattern.npos) return text == pattern;
    if (text.substr(0, hole) != pattern.substr(0, hole)) return false;
    text.remove_prefix(hole);
    pattern.remove_prefix(hole + 2);
    auto const most = std::min(text.find_first_of(" \n"), text.size());
    for (std::size_t n = 1; n <= most; ++n)
        if (looks_like(text.substr(n), pattern)) return true;
    return false;
}

struct mistake {
    char const* name;
    std::string command;
    std::string said; // without the first "mpt: " and the last end of line
    int code;         // 0: the job goes on
};
std::ostream& operator<<(std::ostream& to, mistake const& m) { return to << m.command; }

struct message : testing::TestWithParam<mistake> {};

TEST_P(message, says_what_is_wrong_once) {
    auto const& m = GetParam();
    auto const e = run(m.command, 30s);
    EXPECT_FALSE(e.late);
    EXPECT_EQ(e.code, m.code) << e.err;
    EXPECT_PRED2(looks_like, said_by_mpt(e.err), "mpt: " + m.said + '\n') << e.err;
}

std::string ranks(int n, std::string const& command) { return mptrun + " -n " + std::to_string(n) + ' ' + command; }
std::string erring(int n, std::string const& which) { return ranks(n, mistakes + ' ' + which); }
std::string const called = "called at {}/test/proc/mistakes.cpp:{}";
/// As the C interface says it: which rank's call it was.
std::string ended(int who, int of, int code, std::string const& why) {
    auto const rank_of = "rank " + std::to_string(who) + " of " + std::to_string(of);
    return rank_of + " on {} (process {}) ended the job with exit code " + std::to_string(code) + ": " + why;
}
std::string at(int who, int of, int code, std::string const& why) {
    return ended(who, of, code, why + " (rank " + std::to_string(who) + " of " + std::to_string(of) + "), " + called);
}
/// The same of a call on a window.
std::string in_window(int code, std::string const& why) {
    return ended(0, 1, code, why + " (rank 0 of 1, rank 0 of 1 in a window without a name), " + called);
}
/// A shell sets a variable for rank 1 alone.
std::string const for_rank_1 = "sh -c 'case $MPT_BOOT in 1:1:*) export MPT_EAGER_MAX=4K;; esac; exec " + mistakes + "'";

INSTANTIATE_TEST_SUITE_P(
    of, message,
    testing::Values(
        mistake{"bad_value", "env MPT_LANES=99 " + ranks(4, rank + " hello"),
                "MPT_LANES=99 is out of range; allowed: 1 .. 16 (default 1).", 6},
        mistake{"two_bad_values", "env MPT_EAGER_MAX=8Q MPT_WAIT=snooze " + ranks(3, rank + " hello"),
                "MPT_WAIT=snooze is none of its words; allowed: auto, spin, yield, sleep (default auto).\n"
                "mpt: MPT_EAGER_MAX=8Q is not a size (4096, 4K, 2M, 1G); allowed: 0 .. 1M (default 64K).",
                6},
        mistake{"misspelt_name", "env MPT_EAGRE_MAX=1 " + erring(3, "none"),
                "warning: mpt knows no variable MPT_EAGRE_MAX; did you mean MPT_EAGER_MAX?", 0},
        mistake{"values_that_differ", ranks(3, for_rank_1),
                "MPI_Init: MPT_EAGER_MAX is 64K on rank 0 but 4K on rank 1: this must be the same on all ranks of a job, " +
                    called,
                16},
        mistake{"stacks_that_differ", ranks(2, rank + " layout"),
                "rank 0 runs the stack \"stack0\" (layout 0000000000000001) but rank 1 runs \"stack1\" (layout "
                "0000000000000002): all "
                "ranks of a job must be built with the same stack and the same version of mpt.",
                6},
        mistake{"foreign_launcher", "env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 " + rank + " hello",
                "this process was started as rank 0 of 2 by Open MPI's mpirun, whose job mpt cannot join: start it with mptrun "
                "(inside "
                "an allocation: one mptrun, not one per rank), or unset OMPI_COMM_WORLD_RANK to run it alone.",
                6},
        mistake{"no_address_space", "sh -c 'ulimit -f 100; exec " + rank + " hello'",
                "a job of 1 needs at least 1 MB of address space for each rank, but ulimit -f leaves {} KB in all.", 6},
        mistake{"closed_descriptor",
                ranks(1, "sh -c 'MPT_BOOT=1:0:1:999999999:900:1:1:901:1:1:-1:0:0:0:a:b exec " + rank + " hello'"),
                "descriptor 900 that mptrun handed to this rank was closed or replaced on the way, and /proc/999999999/fd/900 "
                "cannot "
                "be opened "
                "(No such file or directory). Start the program directly from mptrun, or let the script between them keep "
                "descriptors "
                "open.",
                6},
        mistake{"two_programs_as_one_rank", ranks(1, "sh -c '" + rank + " hello; exec " + rank + " hello'"),
                "rank 0 of this job is already taken by process {}: a program that a rank starts is not the same rank twice.",
                6},
        mistake{"truncation", erring(2, "truncate"),
                at(0, 2, 15, "MPI_Recv: the message from rank 1 with tag 5 has 32 bytes; the receive has room for 8"), 15},
        mistake{"wrong_rank", erring(1, "rank"), at(0, 1, 6, "MPI_Send: dest is 7; allowed: 0 to 0, MPI_PROC_NULL"), 6},
        mistake{"wrong_tag", erring(1, "tag"), at(0, 1, 4, "MPI_Send: tag is -5; allowed: 0 to 2147483647"), 4},
        mistake{"wrong_count", erring(1, "count"), at(0, 1, 2, "MPI_Send: count is -1; allowed: not negative"), 2},
        mistake{"wrong_root", erring(1, "root"), at(0, 1, 8, "MPI_Bcast: root is 9; allowed: 0 to 0"), 8},
        mistake{"null_communicator", erring(1, "null-comm"),
                at(0, 1, 5, "MPI_Barrier: comm is MPI_COMM_NULL; a living communicator is needed"), 5},
        mistake{"freed_communicator", erring(1, "freed-comm"),
                at(0, 1, 5, "MPI_Barrier: comm is {}, which is no communicator, or one that was freed"), 5},
        mistake{"null_datatype", erring(1, "null-type"),
                at(0, 1, 3, "MPI_Send: datatype is MPI_DATATYPE_NULL; a living datatype is needed"), 3},
        mistake{"uncommitted_datatype", erring(1, "uncommitted"),
                at(0, 1, 3, "MPI_Send: datatype is not committed (MPI_Type_commit)"), 3},
        mistake{"null_buffer", erring(1, "null-buffer"),
                at(0, 1, 1, "MPI_Send: buf is a null pointer (MPI_BOTTOM), and should hold 4 elements of MPI_DOUBLE"), 1},
        mistake{
            "same_memory", erring(1, "same-memory"),
            at(0, 1, 1, "MPI_Allreduce: sendbuf and recvbuf are the same memory; data that stay where they are: MPI_IN_PLACE"),
            1},
        mistake{"wrong_operation", erring(1, "operation"), at(0, 1, 10, "MPI_Allreduce: MPI_BAND is not defined on MPI_DOUBLE"),
                10},
        mistake{"freed_request", erring(1, "freed-request"),
                at(0, 1, 7, "MPI_Wait: request is {}, which is no request, or one that was freed"), 7},
        mistake{
            "truncation_of_one_of_many", erring(1, "truncate-many"),
            at(0, 1, 15, "MPI_Waitall: request 1: the message from rank 0 with tag 1 has 4 bytes; the receive has room for 1"),
            15},
        mistake{"outside_a_window", erring(1, "outside"),
                in_window(48, "MPI_Put: bytes 12 to 16 of rank 0's part of the window, which has 4 bytes"), 48},
        mistake{
            "no_epoch", erring(1, "no-epoch"),
            in_window(50, "MPI_Put: no epoch of this rank is open to rank 0 of the window: fence, start or lock begins one"),
            50},
        mistake{"abort", erring(1, "abort"), ended(0, 1, 3, "MPI_Abort was called with error code 3, " + called), 3},
        mistake{"init_twice", erring(1, "again"), at(0, 1, 16, "MPI_Init: MPI_Init was called already"), 16},
        mistake{"before_init", erring(1, "before"), "MPI_Barrier: called before MPI_Init, " + called, 16},
        mistake{"after_finalize", erring(1, "after"), "MPI_Barrier: called after MPI_Finalize, " + called, 16}),
    [](auto const& i) { return std::string{i.param.name}; });

TEST(message_of_an_exception, is_said_once_where_no_rank_has_joined_yet) {
    auto const e = run("env MPT_LANES=99 " + ranks(3, rank + " careless"), 30s);
    EXPECT_EQ(e.code, 134) << e.err;
    std::string const said = "MPT_LANES=99 is out of range; allowed: 1 .. 16 (default 1).";
    auto const first = e.err.find(said);
    EXPECT_NE(first, std::string::npos) << e.err;
    EXPECT_EQ(e.err.find(said, first + 1), std::string::npos) << e.err;
}

TEST(message_of_an_exception, has_its_what) {
    auto const e = run(erring(2, "throw"), 30s);
    EXPECT_FALSE(e.late);
    EXPECT_EQ(e.code, 128 + SIGABRT) << e.err;
    EXPECT_TRUE(e.says("no such file: input.dat")) << e.err;
}

// --- what is shown at start when it is asked for --------------------------------------------------------------------------------

TEST(start_up, is_silent) {
    auto const e = run(erring(2, "none"), 30s);
    EXPECT_EQ(e.code, 0);
    EXPECT_EQ(e.out + e.err, "");
}

TEST(start_up, table_names_ranks_ways_and_the_variables_that_are_set) {
    auto const e = run("env MPT_INFO=1 MPT_SPIN=7 MPICH_SMP_SINGLE_COPY_OFF=1 " + erring(3, "none"), 30s);
    EXPECT_EQ(e.code, 0);
    EXPECT_TRUE(e.says("3 ranks on host ") && e.says(", started by mptrun (process ")) << e.err;
    std::vector<std::string> lines;
    std::istringstream in{e.err};
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    ASSERT_EQ(lines.size(), 10u) << e.err;
    EXPECT_NE(lines[4].find(" self "), std::string::npos) << e.err;
    for (std::size_t r = 1; r < 3; ++r) {
        EXPECT_EQ(lines[4 + r].substr(0, 6), "     " + std::to_string(r)) << e.err;
        EXPECT_TRUE(lines[4 + r].ends_with("smp              double copy (MPT_SINGLE_COPY is off)")) << e.err;
    }
    EXPECT_EQ(lines[7], "MPT_SPIN = 7 (environment)");
    EXPECT_EQ(lines[8], "MPT_SINGLE_COPY = off (MPICH_SMP_SINGLE_COPY_OFF)");
    EXPECT_EQ(lines[9], "MPT_INFO = on (environment)");
}

TEST(start_up, display_variables_are_obeyed_by_rank_0_alone) {
    auto const e = run("env MPICH_VERSION_DISPLAY=1 MPT_ENV_DISPLAY=1 MPT_SPIN=7 " + erring(3, "none"), 30s);
    EXPECT_EQ(e.code, 0);
    EXPECT_EQ(e.err.find("mpt "), 0u) << e.err;
    auto const first = e.err.find("MPT_SPIN");
    ASSERT_NE(first, std::string::npos) << e.err;
    EXPECT_EQ(e.err.find("MPT_SPIN", first + 1), std::string::npos) << e.err;
    EXPECT_TRUE(e.says("= 7 (environment)\n") && e.says("= on (MPICH_VERSION_DISPLAY)\n")) << e.err;
}

} // namespace
