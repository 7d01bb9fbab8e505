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
    EXPECT_FALSE(y.took(wait::yields::slice)) << "once may be others' turns";
    for (unsigned const n : {8u, 24u, 56u, 120u, 248u, 504u, 1016u, 1024u, 1024u}) {
        EXPECT_FALSE(y.were_dear());
        EXPECT_TRUE(y.took(wait::yields::slice));
        EXPECT_TRUE(y.were_dear());
        EXPECT_EQ(waits_without(y), n);
    }
}

void are_short(wait::yields& y, unsigned times) {
    for (unsigned i = 0; i < times; ++i) EXPECT_FALSE(y.took(wait::yields::slice - nanoseconds{1}));
}

TEST(wait_yields, short_ones_forget_the_long_ones_by_and_by) {
    wait::yields y;
    EXPECT_FALSE(y.took(nanoseconds{4'000'000}));
    EXPECT_TRUE(y.took(nanoseconds{4'000'000}));
    EXPECT_TRUE(y.took(nanoseconds{4'000'000}));
    EXPECT_EQ(waits_without(y), 24u);
    are_short(y, 1);
    EXPECT_FALSE(y.were_dear());
    EXPECT_TRUE(y.took(wait::yields::slice)) << "one that is short may have been given to a friend";
    EXPECT_EQ(waits_without(y), 32u) << "half as long as before, and on from there";
    are_short(y, 10);
    EXPECT_TRUE(y.took(wait::yields::slice));
    EXPECT_EQ(waits_without(y), 8u);
    are_short(y, wait::yields::remembered);
    EXPECT_FALSE(y.took(wait::yields::slice));
    are_short(y, wait::yields::remembered - 1);
    EXPECT_TRUE(y.took(wait::yields::slice)) << "the last that remembers the one before";
    EXPECT_EQ(waits_without(y), 8u);
}

TEST(wait_yields, are_worth_a_try_until_that_was_in_vain_and_again_once_one_is_short) {
    wait::yields y;
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(y.are_worth_a_try());
        EXPECT_FALSE(y.took(wait::yields::slice));
        EXPECT_TRUE(y.took(wait::yields::slice));
        EXPECT_TRUE(y.are_worth_a_try()) << "nobody has tried";
        y.tried_in_vain();
        EXPECT_TRUE(y.took(wait::yields::slice));
        EXPECT_FALSE(y.are_worth_a_try());
        EXPECT_FALSE(y.took(nanoseconds{1}));
        EXPECT_TRUE(y.are_worth_a_try());
        are_short(y, wait::yields::remembered);
    }
}

TEST(wait_yields, of_ranks_that_share_a_cpu_may_take_the_turns_of_all_others) {
    auto const takes = [](wait::yields&& y, nanoseconds t) { return y.took(t), y.took(t); };
    EXPECT_TRUE(takes(wait::yields{1}, wait::yields::slice));
    EXPECT_TRUE(takes(wait::yields{0}, wait::yields::slice)) << "of how many is not known";
    auto const all = wait::yields::slice + 7 * wait::yields::turn;
    EXPECT_FALSE(takes(wait::yields{8}, all - nanoseconds{1}));
    EXPECT_TRUE(takes(wait::yields{8}, all));
    EXPECT_TRUE(takes(wait::yields{100}, wait::yields::longest)) << "and no more than a program that computes";
}

constexpr nanoseconds in_vain{300}, taken{3'000}; // what a yield takes
void come_back(wait::yields& y, nanoseconds t, unsigned times) {
    for (unsigned i = 0; i < times; ++i) EXPECT_FALSE(y.took(t)) << "it is no slice";
}

TEST(wait_yields, that_nobody_takes_let_waits_look_first_until_one_is_taken) {
    wait::yields y;
    EXPECT_FALSE(y.are_idle()) << "nothing is known";
    EXPECT_FALSE(y.were_in_vain());
    come_back(y, in_vain, wait::yields::row - 1);
    EXPECT_FALSE(y.were_idle()) << "others may just have had their turns";
    come_back(y, in_vain, 1);
    EXPECT_TRUE(y.were_idle());
    for (unsigned i = 0; i < wait::yields::waits; ++i) EXPECT_TRUE(y.are_idle());
    EXPECT_FALSE(y.are_idle()) << "it is time to ask again";
    EXPECT_TRUE(y.were_in_vain()) << "which is not known to have changed";
    come_back(y, in_vain, 1);
    EXPECT_TRUE(y.are_idle()) << "and nothing has changed";
    come_back(y, taken, 1);
    EXPECT_FALSE(y.are_idle());
    EXPECT_FALSE(y.were_in_vain());
    come_back(y, in_vain, 1);
    EXPECT_FALSE(y.are_idle()) << "they are counted anew";
    EXPECT_FALSE(y.were_in_vain());
    come_back(y, in_vain, wait::yields::row - 1);
    EXPECT_TRUE(y.are_idle());
}

TEST(wait_yields, that_somebody_takes_let_waits_yield_soon_until_nobody_does) {
    wait::yields y;
    EXPECT_FALSE(y.are_taken()) << "nothing is known";
    come_back(y, in_vain, 1);
    EXPECT_FALSE(y.are_taken());
    come_back(y, taken, 1);
    for (unsigned i = 0; i < wait::yields::waits; ++i) EXPECT_TRUE(y.are_taken());
    EXPECT_FALSE(y.are_taken()) << "long ago, and no yield since";
    come_back(y, taken, 1);
    come_back(y, in_vain, wait::yields::row - 1);
    EXPECT_TRUE(y.are_taken()) << "others may just have had their turns";
    come_back(y, in_vain, 1);
    EXPECT_FALSE(y.are_taken());
}

TEST(wait_yields, are_due_after_so_many_polls_in_a_row_that_found_nothing) {
    wait::yields y;
    auto const poll_in_vain = [&](unsigned times) {
        for (unsigned i = 0; i < times; ++i) EXPECT_FALSE(y.polled_in_vain());
    };
    poll_in_vain(wait::yields::vain_polls - 1);
    y.found();
    poll_in_vain(wait::yields::vain_polls - 1);
    EXPECT_TRUE(y.polled_in_vain()) << "one that finds something ended the row";
    poll_in_vain(wait::yields::vain_polls - 1);
    EXPECT_TRUE(y.polled_in_vain()) << "others had their turns";
}
} // namespace
