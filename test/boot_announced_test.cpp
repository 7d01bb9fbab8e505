// A program that was started by hand is one rank, and was told so before it joined; whole programs are in proc/c_processes_test.
#include <gtest/gtest.h>
#include <mpt/boot/announced.hpp>
#include <mpt/boot/boot.hpp>

namespace {
using namespace mpt;

TEST(announced, is_what_is_found_by_who_joins) {
    auto const before = boot::announced_size();
    EXPECT_EQ(before, boot::detect().size);
    EXPECT_EQ(boot::announced_size(), before);
}

} // namespace
