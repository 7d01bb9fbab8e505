#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/wait/berths.hpp>
#include <mpt/world/native.hpp>

#include "support/watchdog.hpp"

namespace {

using namespace mpt;
using berths = wait::berths<world::native>;
constexpr world::native world_;
constexpr nanoseconds a_moment{1'000'000};

TEST(berths, let_nobody_lie_down_while_nobody_else_looks) {
    berths all;
    std::uint32_t number = 0;
    all.come();
    EXPECT_EQ(all.take(number), nullptr);
    EXPECT_EQ(number, 0u);
    all.come();
    auto* const b = all.take(number);
    ASSERT_NE(b, nullptr);
    EXPECT_NE(number, 0u);
    EXPECT_EQ(all.looking(), 1u);
    EXPECT_TRUE(all.is_alone_up());
    std::uint32_t other = 0;
    EXPECT_EQ(all.take(other), nullptr) << "the last that looks";
    all.rouse(world_, number);
    EXPECT_EQ(number, 0u) << "the request names no berth any more";
    b->sleep(world_, nanoseconds::max()); // who was roused does not sleep
    EXPECT_TRUE(all.leave(*b));
    EXPECT_EQ(all.looking(), 2u);
    EXPECT_FALSE(all.is_alone_up());
    all.go(world_);
    EXPECT_FALSE(all.is_alone_up()) << "nobody else waits";
}

TEST(berths, a_sleep_that_nobody_ends_ends_by_itself_and_who_lay_there_looks) {
    berths all;
    std::uint32_t number = 0;
    all.come(), all.come();
    auto* const b = all.take(number);
    ASSERT_NE(b, nullptr);
    b->sleep(world_, a_moment);
    EXPECT_FALSE(all.leave(*b));
    EXPECT_EQ(number, 0u);
    EXPECT_EQ(all.looking(), 2u);
    EXPECT_EQ(all.take(number), b) << "it is used again";
}

TEST(berths, who_looks_last_rouses_the_one_that_came_first) {
    berths all;
    std::array<std::uint32_t, 3> number{};
    for (int i = 0; i < 4; ++i) all.come();
    std::array<berths::berth*, 3> place{};
    for (std::size_t i = 0; i < 3; ++i) place[i] = all.take(number[i]);
    all.go(world_);
    EXPECT_EQ(number[0], 0u);
    EXPECT_NE(number[1], 0u);
    EXPECT_NE(number[2], 0u);
    EXPECT_EQ(all.looking(), 1u);
    EXPECT_TRUE(all.leave(*place[0]));
    all.rouse(world_, number[2]); // its request is complete: it looks, too
    all.go(world_);               // the first's wait is over
    EXPECT_NE(number[1], 0u);
    EXPECT_TRUE(all.leave(*place[2]));
    all.go(world_);
    EXPECT_EQ(number[1], 0u);
    EXPECT_TRUE(all.leave(*place[1]));
    all.go(world_);
    EXPECT_EQ(all.looking(), 0u);
}

/// Each thread waits for its own number to be reached, again and again; whoever looks counts up. A wake-up that was lost would hang.
TEST(berths, lose_no_wake_up_of_many_threads) {
    test::watchdog const dog{"threads in berths"};
    constexpr std::uint64_t threads = 6, rounds = 300;
    struct waiter {
        std::uint64_t wants = 0;
        std::uint32_t number = 0;
    };
    std::mutex lock;
    berths all;
    std::uint64_t now = 0; // under the lock, as all of this
    std::array<waiter, threads> waiters;
    std::vector<std::thread> team;
    for (std::uint64_t t = 0; t < threads; ++t)
        team.emplace_back([&, t] {
            auto& me = waiters[t];
            for (std::uint64_t i = 1; i <= rounds; ++i) {
                std::unique_lock hold{lock};
                me.wants = threads * i + t;
                all.come();
                while (now < me.wants) {
                    auto* const b = all.take(me.number);
                    if (!b) { // the one that looks: it moves everybody's
                        ++now;
                        for (auto const& w : waiters)
                            if (w.number != 0 && w.wants <= now) all.rouse(world_, w.number);
                        continue;
                    }
                    hold.unlock();
                    b->sleep(world_, nanoseconds::max());
                    hold.lock();
                    EXPECT_TRUE(all.leave(*b));
                }
                all.go(world_);
            }
        });
    for (auto& t : team) t.join();
    EXPECT_EQ(all.looking(), 0u);
}

} // namespace
