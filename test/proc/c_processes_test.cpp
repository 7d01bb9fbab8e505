// Programs of the C interface as processes: how they enter and leave, and how an error or MPI_Abort ends them all.
#include <algorithm>

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
constexpr int err_other = 16, err_rank = 6; // as in the standard's binary interface
INSTANTIATE_TEST_SUITE_P(
    a, c_process_that_fails,
    testing::Values(fault{"abort 7", 3, 7, "MPI_Abort was called with error code 7"},
                    fault{"abort-self 9", 1, 9, "MPI_Abort was called with error code 9"},
                    fault{"abort 200", 1, 200, "MPI_Abort was called with error code 200"},
                    fault{"fatal 5", 3, err_rank, "MPI_Send: dest is 5; allowed: 0 to 2, MPI_PROC_NULL (rank 0 of 3)"},
                    fault{"fatal -9", 1, err_rank, "MPI_Send: dest is -9"},
                    fault{"before", 1, err_other, "MPI_Comm_rank: called before MPI_Init"},
                    fault{"after", 1, err_other, "MPI_Comm_rank: called after MPI_Finalize"},
                    fault{"twice", 1, err_other, "MPI_Init: MPI_Init was called already"},
                    fault{"again", 1, err_other, "MPI_Init: called after MPI_Finalize; MPI cannot be entered twice"}),
    [](auto const& i) {
        std::string name = i.param.how;
        std::ranges::replace_if(
            name, [](char c) { return c == ' ' || c == '-'; }, '_');
        return name;
    });

} // namespace
