#include <mpt/lock/bias.hpp>

#include <atomic>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <mpt/lock/ticket.hpp>
#include <mpt/world/threads.hpp>

#include "support/watchdog.hpp"

namespace {

using mpt::fence_mode;
constexpr auto sleeper = fence_mode::sleeper;

/// Counts what a bias asks of the machine; its fences are no fences, for one thread plays all.
struct counting : mpt::world::threads {
    struct atomics : mpt::native_atomics {
        struct fences {
            static constexpr bool invisible = false;
            static inline int heavy_ones = 0;
            static void light(fence_mode) noexcept {}
            static void heavy(fence_mode) noexcept { ++heavy_ones; }
            static void drain() noexcept {}
        };
    };
    static int barriers() { return std::exchange(atomics::fences::heavy_ones, 0); }
};
using bias = mpt::lock::bias<counting, 4>;

constexpr std::uint64_t ann = 11, bob = 12;
constexpr counting world{};

void leave_as_holder(bias& b, std::uint64_t who, int times) {
    for (int i = 0; i < times; ++i) b.earn(who, sleeper);
}

TEST(bias, lets_in_who_was_alone_for_long_and_nobody_else) {
    bias b;
    leave_as_holder(b, ann, 3);
    EXPECT_FALSE(b.enter(ann));
    leave_as_holder(b, bob, 1);
    leave_as_holder(b, ann, 3);
    EXPECT_FALSE(b.enter(ann)) << "bob came between";
    leave_as_holder(b, ann, 1);
    EXPECT_FALSE(b.enter(bob));
    ASSERT_TRUE(b.enter(ann));
    EXPECT_TRUE(b.seems_taken());
    b.leave();
    EXPECT_FALSE(b.seems_taken());
}

TEST(bias, is_granted_at_once_to_who_will_be_alone_and_taken_back_all_the_same) {
    bias b;
    b.grant(ann, sleeper);
    ASSERT_TRUE(b.enter(ann));
    b.leave();
    b.revoke(world, bob, sleeper);
    EXPECT_FALSE(b.enter(ann));
    b.grant(bob, sleeper);
    EXPECT_FALSE(b.enter(bob)) << "it is no favourite";
}

TEST(bias, is_not_granted_where_both_sides_fence) {
    bias b;
    for (int i = 0; i < 100; ++i) b.earn(ann, fence_mode::both);
    EXPECT_FALSE(b.enter(ann));
    b.grant(ann, fence_mode::both);
    EXPECT_FALSE(b.enter(ann));
}

TEST(bias, is_taken_away_by_one_heavy_barrier_and_earned_again_in_twice_the_time) {
    bias b;
    leave_as_holder(b, ann, 4);
    counting::barriers();
    for (int patience = 8; patience <= 64; patience *= 2) {
        b.revoke(world, bob, sleeper);
        EXPECT_EQ(counting::barriers(), 1);
        EXPECT_FALSE(b.enter(ann));
        b.revoke(world, ann, sleeper);
        EXPECT_EQ(counting::barriers(), 0) << "there was nothing to take away";
        leave_as_holder(b, bob, 1);
        leave_as_holder(b, ann, patience - 1);
        EXPECT_FALSE(b.enter(ann));
        leave_as_holder(b, ann, 1);
        ASSERT_TRUE(b.enter(ann));
        b.leave();
    }
}

TEST(bias, has_one_favourite_until_that_comes_by_the_locks_own_ways) {
    bias b;
    leave_as_holder(b, ann, 4);
    b.revoke(world, bob, sleeper);
    leave_as_holder(b, bob, 1000);
    EXPECT_FALSE(b.enter(bob)) << "ann may be about to enter";
    leave_as_holder(b, ann, 1);
    EXPECT_FALSE(b.enter(ann));
    leave_as_holder(b, bob, 7);
    EXPECT_FALSE(b.enter(bob)) << "ann was revoked, so eight times";
    leave_as_holder(b, bob, 1);
    ASSERT_TRUE(b.enter(bob));
    EXPECT_FALSE(b.enter(ann));
    EXPECT_TRUE(b.seems_taken());
    b.leave();
    EXPECT_FALSE(b.seems_taken());
}

TEST(bias, is_earned_sooner_again_where_it_was_much_used) {
    bias b;
    leave_as_holder(b, ann, 4);
    for (int used : {3, 5000}) {
        for (int i = 0; i < used; ++i) {
            ASSERT_TRUE(b.enter(ann));
            ASSERT_TRUE(b.enter(ann));
            b.leave(), b.leave();
        }
        int const patience = used < 10 ? 8 : 4;
        b.revoke(world, bob, sleeper);
        leave_as_holder(b, bob, 1);
        leave_as_holder(b, ann, patience - 1);
        EXPECT_FALSE(b.enter(ann)) << used;
        leave_as_holder(b, ann, 1);
        EXPECT_TRUE(b.enter(ann)) << used;
        b.leave();
    }
}

TEST(bias, stays_where_a_visitor_that_does_not_wait_finds_the_favourite_inside) {
    bias b;
    leave_as_holder(b, ann, 4);
    ASSERT_TRUE(b.enter(ann));
    EXPECT_FALSE(b.try_revoke(bob, sleeper));
    ASSERT_TRUE(b.enter(ann)) << "once more";
    b.leave(), b.leave();
    EXPECT_TRUE(b.try_revoke(bob, sleeper));
    EXPECT_FALSE(b.enter(ann));
}

TEST(bias, is_given_back_by_the_favourite_that_came_by_the_locks_own_ways) {
    bias b;
    leave_as_holder(b, ann, 4);
    counting::barriers();
    b.revoke(world, ann, sleeper);
    EXPECT_EQ(counting::barriers(), 0) << "nobody else is concerned";
    EXPECT_FALSE(b.enter(ann));
}

TEST(bias, lets_the_favourite_inside_enter_again_though_a_visitor_waits) {
    if (mpt::native_fences::invisible) GTEST_SKIP() << "no bias under ThreadSanitizer";
    if (!mpt::register_heavy()) GTEST_SKIP() << "membarrier is refused here";
    mpt::test::watchdog const dog{"a favourite inside"};
    mpt::lock::bias<mpt::world::threads, 1> b;
    b.earn(ann, sleeper);
    ASSERT_TRUE(b.enter(ann));
    std::atomic<bool> alone{false};
    std::thread visitor{[&] {
        b.revoke(mpt::world::threads{}, bob, sleeper);
        alone = true;
    }};
    while (b.enter(ann)) b.leave(); // until it is revoked: that time, too, it has entered
    EXPECT_FALSE(b.enter_again(bob));
    EXPECT_TRUE(b.enter_again(ann));
    b.leave();
    EXPECT_FALSE(alone);
    b.leave();
    visitor.join();
    EXPECT_FALSE(b.enter_again(ann));
}

/// The machine, with its own barriers under every tool.
struct fenced : mpt::world::threads {
    struct atomics : mpt::native_atomics {
        struct fences {
            static constexpr bool invisible = false;
            static inline std::atomic<int> heavy_ones{0};
            static void light(fence_mode) noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
            static void heavy(fence_mode) noexcept { mpt::heavy_barrier(), ++heavy_ones; }
            static void drain() noexcept {}
        };
    };
};

TEST(bias, keeps_no_late_comer_out_of_a_lock_whose_favourite_is_in_a_tight_loop) {
    if (!mpt::register_heavy()) GTEST_SKIP() << "membarrier is refused here";
    mpt::test::watchdog const dog{"late comers"};
    constexpr int times = 100;
    for (int i = 0; i < times; ++i) {
        mpt::lock::basic_ticket<1000, 16, 8, 10>::type<fenced> lock{{}, sleeper};
        std::atomic<bool> come{false}, stop{false};
        int passes = 0;
        std::thread favourite{[&] {
            while (!stop.load(std::memory_order_relaxed)) {
                mpt::guard const g{lock};
                if (++passes == 1000) come = true;
            }
        }};
        while (!come) std::this_thread::yield();
        {
            mpt::guard const g{lock};
            EXPECT_GE(passes, 1000);
        }
        stop = true;
        favourite.join();
    }
    EXPECT_GE(fenced::atomics::fences::heavy_ones, times) << "each of them met a lock that was biased";
}

} // namespace
