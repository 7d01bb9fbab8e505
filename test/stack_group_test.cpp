#include <gtest/gtest.h>
#include <mpt/stack/group.hpp>

namespace {
using mpt::group;
using mpt::rank;

/// world() and find() are inverse to each other, and nobody else is found.
void expect_members(group const& g, std::vector<std::int32_t> const& world) {
    ASSERT_EQ(g.size(), static_cast<std::int32_t>(world.size()));
    for (std::int32_t w = -3; w < 64; ++w) {
        auto const it = std::find(world.begin(), world.end(), w);
        auto const found = g.find(rank{w});
        ASSERT_EQ(found.has_value(), it != world.end()) << w;
        if (!found) continue;
        EXPECT_EQ(found->value, it - world.begin());
        EXPECT_EQ(g.world(*found).value, w);
    }
}

TEST(stack_group, a_range_counts_by_its_step) {
    expect_members(group::range(0, 5), {0, 1, 2, 3, 4});
    expect_members(group::range(7, 1), {7});
    expect_members(group::range(3, 4, 10), {3, 13, 23, 33});
    expect_members(group::range(9, 4, -3), {9, 6, 3, 0});
}

TEST(stack_group, an_empty_group_has_nobody) {
    expect_members(group{}, {});
    expect_members(group::of({}), {});
    expect_members(group::range(4, 0), {});
    EXPECT_FALSE(group{}.find(mpt::any_source));
}

TEST(stack_group, any_order_of_ranks_is_kept) {
    for (auto const& world : std::vector<std::vector<std::int32_t>>{
             {5}, {0, 1, 2}, {2, 1, 0}, {4, 8, 12}, {1, 0, 2}, {0, 1, 3}, {30, 2, 17, 3, 63, 0}, {1, 2, 4, 8, 16, 32}})
        expect_members(group::of(world), world);
}

TEST(stack_group, wildcards_are_in_no_group) {
    for (auto const& g : {group::range(0, 100), group::of({9, 3, 4}), group::range(9, 5, -2)}) {
        EXPECT_FALSE(g.find(mpt::any_source));
        EXPECT_FALSE(g.find(mpt::proc_null));
    }
}

TEST(stack_group, a_group_is_equal_to_one_of_the_same_ranks_in_the_same_order) {
    EXPECT_EQ(group::of({3, 4, 5}), group::range(3, 3));
    EXPECT_EQ(group::of({7, 1, 2}), group::of({7, 1, 2}));
    EXPECT_FALSE(group::of({7, 1, 2}) == group::of({1, 7, 2}));
    EXPECT_FALSE(group::range(0, 3) == group::range(0, 4));
    EXPECT_EQ(group{}, group::of({}));
}

TEST(stack_group, a_copy_lives_on_when_the_first_one_is_gone) {
    group copy;
    {
        auto const first = group::of({8, 3, 11});
        copy = first;
    }
    expect_members(copy, {8, 3, 11});
}

TEST(stack_group, a_range_of_a_very_large_job_needs_no_table) {
    auto const g = group::range(0, 2'000'000'000);
    EXPECT_EQ(g.world(1'999'999'999).value, 1'999'999'999);
    EXPECT_EQ(g.find(rank{1'999'999'999})->value, 1'999'999'999);
    EXPECT_FALSE(g.find(rank{2'000'000'000}));
}
} // namespace
