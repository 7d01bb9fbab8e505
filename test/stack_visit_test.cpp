#include <mpt/stack/visit.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

/// Refuses as often as it is told to, and counts.
struct strict {
    struct node {};
    int refuses = 0, tries = 0, inside = 0, stood_in_line = 0;
    void acquire(node&) noexcept { ++stood_in_line, ++inside; }
    bool try_acquire(node&) noexcept {
        ++tries;
        if (refuses > 0) return --refuses, false;
        return ++inside, true;
    }
    void release(node&) noexcept { --inside; }
};
static_assert(mpt::lock_type<strict>);

struct strict_world {
    static inline int pauses = 0;
    void pause() const noexcept { ++pauses; }
};
constexpr strict_world world;

TEST(stack_visit, is_inside_where_nobody_else_is_and_leaves_at_its_end) {
    strict lock;
    mpt::visitor who{world, lock, nullptr};
    {
        mpt::visit const v{who};
        EXPECT_TRUE(v);
        EXPECT_EQ(lock.inside, 1);
    }
    EXPECT_EQ(lock.inside, 0);
    EXPECT_EQ(lock.stood_in_line, 0);
}

TEST(stack_visit, is_refused_without_standing_in_line_and_stands_in_line_in_the_end) {
    strict lock;
    lock.refuses = 1000;
    mpt::visitor who{world, lock, nullptr};
    int refused = 0;
    for (bool inside = false; !inside; refused += !inside) {
        mpt::visit const v{who};
        inside = static_cast<bool>(v);
        EXPECT_EQ(lock.inside, inside);
        ASSERT_LT(refused, 100) << "it never stands in line";
    }
    EXPECT_GE(refused, 10);
    EXPECT_EQ(lock.stood_in_line, 1);
    EXPECT_EQ(lock.tries, refused + 1);
}

TEST(stack_visit, counts_refusals_anew_after_it_was_inside) {
    strict lock;
    mpt::visitor who{world, lock, nullptr};
    for (int round = 0; round < 20; ++round) {
        lock.refuses = 5;
        for (int i = 0; i < 5; ++i) EXPECT_FALSE(mpt::visit{who});
        EXPECT_TRUE(mpt::visit{who});
    }
    EXPECT_EQ(lock.stood_in_line, 0);
}

TEST(stack_visit, rests_longer_and_longer_but_not_over_a_request_that_is_complete) {
    mpt::protocol::request r;
    strict lock;
    strict_world::pauses = 0;
    mpt::visitor who{world, lock, &r};
    lock.refuses = 5;
    std::vector<int> rests;
    for (int i = 0; i < 4; ++i) {
        EXPECT_FALSE(mpt::visit{who});
        rests.push_back(std::exchange(strict_world::pauses, 0));
    }
    EXPECT_GT(rests[0], 0);
    EXPECT_TRUE(std::ranges::is_sorted(rests));
    EXPECT_GT(rests[3], rests[0]);
    r.end();
    EXPECT_FALSE(mpt::visit{who});
    EXPECT_EQ(strict_world::pauses, 0);
}

} // namespace
