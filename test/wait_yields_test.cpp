#include <gtest/gtest.h>
#include <mpt/wait/yields.hpp>

namespace {
using namespace mpt;

/// How many waits do without yields.
unsigned waits_without(wait::yields& y) {
    unsigned n = 0;
    while (y.are_dear()) ++n;
    return n;
}

TEST(wait_yields, are_done_without_for_longer_each_time_that_one_takes_a_slice_and_never_for_ever) {
    wait::yields y;
    EXPECT_EQ(waits_without(y), 0u);
    for (unsigned const n : {8u, 24u, 56u, 120u, 248u, 504u, 1016u, 1024u, 1024u}) {
        EXPECT_FALSE(y.were_dear());
        EXPECT_TRUE(y.took(wait::yields::slice));
        EXPECT_TRUE(y.were_dear());
        EXPECT_EQ(waits_without(y), n);
    }
}

TEST(wait_yields, a_short_one_forgets_the_long_ones) {
    wait::yields y;
    EXPECT_TRUE(y.took(nanoseconds{4'000'000}));
    EXPECT_TRUE(y.took(nanoseconds{4'000'000}));
    EXPECT_EQ(waits_without(y), 24u);
    EXPECT_FALSE(y.took(wait::yields::slice - nanoseconds{1}));
    EXPECT_FALSE(y.were_dear());
    EXPECT_TRUE(y.took(wait::yields::slice));
    EXPECT_EQ(waits_without(y), 8u);
}
} // namespace
