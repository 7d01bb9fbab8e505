#include <gtest/gtest.h>

#include <mpt/transport/smp/turn_line.hpp>

namespace {
using namespace mpt;

struct smp_turn_line : testing::Test {
    smp::line<> shared{};
    smp::turn_line<> higher{shared, true}, lower{shared, false};
    std::uint64_t from_higher = smp::first_number(smp::direction::from_higher, 0);
    std::uint64_t from_lower = smp::first_number(smp::direction::from_lower, 0);
};

TEST_F(smp_turn_line, the_higher_rank_has_the_first_turn) {
    EXPECT_TRUE(higher.mine());
    EXPECT_FALSE(lower.mine());
    EXPECT_FALSE(lower.found(from_higher));
}

TEST_F(smp_turn_line, a_turn_passes_when_the_frame_was_taken_and_not_before) {
    higher.claim()->publish(1, 1, from_higher);
    EXPECT_FALSE(higher.mine());
    ASSERT_TRUE(lower.found(from_higher));
    EXPECT_FALSE(lower.mine()) << "the frame is still being read";
    lower.pop();
    EXPECT_TRUE(lower.mine());
    EXPECT_FALSE(lower.found(from_higher)) << "a frame is found once";
}

TEST_F(smp_turn_line, a_writer_does_not_find_its_own_frame) {
    higher.claim()->publish(1, 1, from_higher);
    EXPECT_FALSE(higher.found(from_lower));
}

TEST_F(smp_turn_line, turns_go_back_and_forth) {
    auto *writer = &higher, *reader = &lower;
    auto *number = &from_higher, *other = &from_lower;
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(writer->mine());
        ASSERT_FALSE(reader->mine());
        writer->claim()->publish(static_cast<std::uint16_t>(i % 50), 1, *number);
        ASSERT_FALSE(reader->found(*number + smp::number_step, smp::look::owning));
        ASSERT_TRUE(reader->found(*number, i % 2 == 0 ? smp::look::owning : smp::look::loading));
        EXPECT_EQ(reader->front().size, i % 50);
        reader->pop();
        *number += smp::number_step;
        std::swap(writer, reader);
        std::swap(number, other);
    }
}

TEST_F(smp_turn_line, the_first_owning_look_after_a_frame_of_our_own_is_left_out) {
    higher.claim()->publish(1, 1, from_higher);
    ASSERT_TRUE(lower.found(from_higher));
    lower.pop();
    lower.claim()->publish(1, 1, from_lower);
    EXPECT_FALSE(higher.found(from_lower, smp::look::owning)) << "left out";
    EXPECT_TRUE(higher.found(from_lower, smp::look::owning));
}

TEST(smp_look, is_what_the_user_says_or_what_suits_the_processor) {
    EXPECT_EQ(smp::look_of("loading"), smp::look::loading);
    EXPECT_EQ(smp::look_of("owning"), smp::look::owning);
    EXPECT_EQ(smp::look_of("auto"), smp::natural_look());
}

} // namespace
