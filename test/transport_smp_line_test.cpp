#include <gtest/gtest.h>

#include <memory>

#include <mpt/transport/smp/line.hpp>

namespace {
using namespace mpt;
using smp::direction;

TEST(smp_line, is_one_cache_line_with_the_flag_last) {
    EXPECT_EQ(sizeof(smp::line<>), 64u);
    EXPECT_EQ(alignof(smp::line<>), 64u);
    EXPECT_EQ(offsetof(smp::line<>, payload), 0u);
    EXPECT_EQ(offsetof(smp::line<>, size), 52u);
    EXPECT_EQ(offsetof(smp::line<>, op), 54u);
    EXPECT_EQ(offsetof(smp::line<>, number), 56u);
}

TEST(smp_line, zeroed_memory_holds_no_frame_of_either_direction) {
    auto const l = std::make_unique<smp::line<>>();
    for (std::uint64_t const before : {std::uint64_t{0}, std::uint64_t{0xfffffff0}, std::uint64_t{0xffffffff}})
        for (auto const d : {direction::from_lower, direction::from_higher})
            EXPECT_FALSE(l->holds(smp::first_number(d, before)));
}

TEST(smp_line, holds_the_published_frame_and_no_other) {
    auto const l = std::make_unique<smp::line<>>();
    auto const n = smp::first_number(direction::from_lower, 41);
    l->publish(7, 3, n);
    EXPECT_TRUE(l->holds(n));
    EXPECT_FALSE(l->holds(n + smp::number_step));
    EXPECT_FALSE(l->holds(n - smp::number_step));
    EXPECT_FALSE(l->holds(smp::first_number(direction::from_higher, 41)));
    EXPECT_EQ(l->size, 7);
    EXPECT_EQ(l->op, 3);
}

TEST(smp_line, taking_it_over_changes_nothing) {
    auto const l = std::make_unique<smp::line<>>();
    auto const n = smp::first_number(direction::from_lower, 41);
    EXPECT_FALSE(l->takes_over(n));
    l->publish(7, 3, n);
    EXPECT_FALSE(l->takes_over(n + smp::number_step));
    EXPECT_TRUE(l->takes_over(n));
    EXPECT_TRUE(l->holds(n));
    EXPECT_EQ(l->size, 7);
}

TEST(smp_line, numbers_of_the_two_directions_never_meet) {
    for (std::uint64_t a = 0; a < 50; ++a)
        for (std::uint64_t b = 0; b < 50; ++b)
            EXPECT_NE(smp::first_number(direction::from_lower, a), smp::first_number(direction::from_higher, b));
}

TEST(smp_line, the_count_of_a_number_moves_by_one_per_frame_and_wraps_at_32_bits) {
    auto n = smp::first_number(direction::from_higher, 0xfffffffe);
    EXPECT_EQ(smp::count_of(n), 0xffffffffu);
    EXPECT_EQ(smp::count_of(n + smp::number_step), 0u);
    EXPECT_EQ(smp::count_of(n + 2 * smp::number_step), 1u);
}

} // namespace
