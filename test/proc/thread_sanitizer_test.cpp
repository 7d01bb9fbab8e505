// Ranks that are processes, in ThreadSanitizer's address space: in a build with it (make tsan).
#include <gtest/gtest.h>

#include "../support/process.hpp"
#include "../support/programs.hpp"

namespace {
using namespace mpt::test;

std::string const rank = program("MPT_TEST_RANK", "proc_rank");
std::string const rank_facade = program("MPT_TEST_RANK_FACADE", "rank_facade");

/// Ends well and silently, and prints `says`.
void works(std::string const& program, std::string_view says) {
    auto const command = mptrun + " -n 3 " + program;
    auto const e = run(command);
    EXPECT_EQ(e.code, 0) << command << '\n' << e.out << e.err;
    EXPECT_EQ(e.err, "") << command;
    EXPECT_NE(e.out.find(says), e.out.npos) << command << '\n' << e.out;
}

TEST(thread_sanitizer, has_room_for_the_arena) { works(rank + " memory 2", "rank 1: filled 2 MB"); }

TEST(thread_sanitizer, finds_nothing_in_ranks_that_are_processes) {
    for (auto const* const wire : {" smp ", " stream "})
        for (auto const* const mode : {"ring 100", "megabyte 1", "mixed 1 1"}) works(rank_facade + wire + mode, " ranks: ");
}
} // namespace
