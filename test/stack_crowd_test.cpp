#include <gtest/gtest.h>
#include <mpt/stack/crowd.hpp>

namespace {
using mpt::crowd;

TEST(stack_crowd, is_crowded_by_more_threads_than_it_has_room_for) {
    crowd c{2};
    EXPECT_TRUE(c.is_empty());
    c.come(), c.come();
    EXPECT_FALSE(c.is_crowded());
    c.come();
    EXPECT_TRUE(c.is_crowded());
    c.go();
    EXPECT_FALSE(c.is_crowded());
    EXPECT_FALSE(c.is_empty());
    c.go(), c.go();
    EXPECT_TRUE(c.is_empty());
}

constexpr int brief = 64;

TEST(stack_crowd, company_counts_in_its_lane_from_its_first_look_in_vain_and_in_the_rank_when_it_waits_for_long) {
    crowd here{1}, of_rank{1};
    {
        mpt::company one{here, of_rank}, elsewhere{of_rank, of_rank};
        EXPECT_TRUE(here.is_empty());
        EXPECT_FALSE(elsewhere.have_come());
        for (int i = 0; i < brief; ++i) EXPECT_FALSE(one.have_come());
        EXPECT_FALSE(here.is_empty());
        EXPECT_FALSE(of_rank.is_crowded());
        EXPECT_TRUE(one.have_come()) << "of the rank two wait";
        EXPECT_FALSE(here.is_crowded());
        EXPECT_FALSE(one.have_come()) << "it knows";
        EXPECT_TRUE(elsewhere.have_come());
        {
            mpt::company brief_one{here, of_rank};
            brief_one.have_come();
            EXPECT_TRUE(here.is_crowded());
        }
        EXPECT_FALSE(here.is_crowded());
    }
    EXPECT_TRUE(here.is_empty());
    EXPECT_TRUE(of_rank.is_empty());
}

TEST(stack_crowd, company_of_one_lane_knows_of_others_at_once) {
    crowd here{1};
    mpt::company one{here, here}, other{here, here};
    EXPECT_FALSE(one.have_come());
    EXPECT_TRUE(other.have_come());
    EXPECT_TRUE(one.have_come());
}

TEST(stack_crowd, who_is_not_alone_does_not_look_between_its_yields) {
    for (bool const scarce : {false, true}) EXPECT_EQ(mpt::among_others({.scarce = scarce, .between = 16}, 0).between, 0u);
}

TEST(stack_crowd, a_passer_counts_from_its_first_question_to_its_end) {
    crowd of_rank{1};
    {
        mpt::passer one{of_rank}, other{of_rank};
        EXPECT_TRUE(of_rank.is_empty());
        EXPECT_FALSE(one.is_one_too_many());
        EXPECT_FALSE(one.is_one_too_many()) << "it counts once";
        EXPECT_TRUE(other.is_one_too_many());
    }
    EXPECT_TRUE(of_rank.is_empty());
}

TEST(stack_crowd, has_one_at_a_time_that_looks_out) {
    crowd c{1};
    EXPECT_TRUE(c.look_out());
    EXPECT_FALSE(c.look_out());
    c.look_no_more();
    EXPECT_TRUE(c.look_out());
}
} // namespace
