#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/core/types.hpp>
#include <mpt/world/bell.hpp>
#include <mpt/world/threads.hpp>

#include "support/watchdog.hpp"

namespace {

using namespace mpt;
using word = native_atomics::atomic<std::uint32_t>;

/// Sleepers are never woken by time, and wake-up calls are counted.
struct patient : world::threads {
    static inline std::atomic<int> calls{0};
    void wait(word& w, std::uint32_t seen, nanoseconds) const noexcept { world::threads::wait(w, seen, nanoseconds::max()); }
    void wake(word& w, int n) const noexcept {
        ++calls;
        world::threads::wake(w, n);
    }
};
constexpr nanoseconds any_time{1};

class bells : public testing::TestWithParam<fence_mode> {
protected:
    void SetUp() override {
        if (GetParam() == fence_mode::sleeper && !register_heavy()) GTEST_SKIP() << "membarrier is refused here";
        patient::calls = 0;
    }
    fence_mode const mode = GetParam();
    patient const world{};
    world::bell<patient> bell;
};

TEST_P(bells, rung_while_nobody_sleeps_call_nobody) {
    for (int i = 0; i < 100; ++i) bell.ring(world, mode);
    EXPECT_EQ(patient::calls, 0);
}

TEST_P(bells, call_the_kernel_once_for_each_time_they_were_armed) {
    bell.arm(mode);
    bell.arm(mode);
    for (int i = 0; i < 100; ++i) bell.ring(world, mode);
    EXPECT_EQ(patient::calls, 1);
    bell.arm(mode);
    bell.ring(world, mode);
    EXPECT_EQ(patient::calls, 2);
}

TEST_P(bells, rung_between_arm_and_sleep_do_not_let_the_sleeper_sleep) {
    test::watchdog const dog{"a sleeper whose bell was rung before"};
    auto const seen = bell.arm(mode);
    bell.ring(world, mode);
    bell.sleep(world, seen, any_time);
}

TEST_P(bells, pass_messages_to_and_fro_without_losing_a_wake_up) {
    test::watchdog const dog{"two threads that sleep for each other"};
    constexpr std::uint32_t rounds = MPT_THREAD_SANITIZER ? 2'000 : 20'000;
    struct side {
        world::bell<patient> bell;
        alignas(line_pair) word mail{0};
    };
    std::array<side, 2> sides{};
    auto const send = [&](side& to, std::uint32_t n) {
        to.mail.store(n, std::memory_order_release);
        to.bell.ring(world, mode);
    };
    auto const receive = [&](side& at, std::uint32_t n) {
        while (at.mail.load(std::memory_order_acquire) != n) {
            auto const seen = at.bell.arm(mode);
            if (at.mail.load(std::memory_order_acquire) != n) at.bell.sleep(world, seen, any_time);
        }
    };
    std::thread other{[&] {
        for (std::uint32_t i = 1; i <= rounds; ++i) receive(sides[1], i), send(sides[0], i);
    }};
    for (std::uint32_t i = 1; i <= rounds; ++i) send(sides[1], i), receive(sides[0], i);
    other.join();
}

TEST_P(bells, wake_every_thread_that_sleeps_on_them) {
    test::watchdog const dog{"several sleepers on one bell"};
    constexpr std::uint32_t sleepers = 4, rounds = MPT_THREAD_SANITIZER ? 200 : 2'000;
    word round{0}, done{0};
    std::vector<std::thread> team;
    for (std::uint32_t s = 0; s < sleepers; ++s)
        team.emplace_back([&] {
            for (std::uint32_t i = 1; i <= rounds; ++i) {
                while (round.load(std::memory_order_acquire) < i) {
                    auto const seen = bell.arm(mode);
                    if (round.load(std::memory_order_acquire) < i) bell.sleep(world, seen, any_time);
                }
                done.fetch_add(1, std::memory_order_release);
            }
        });
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        round.store(i, std::memory_order_release);
        bell.ring(world, mode);
        while (done.load(std::memory_order_acquire) < i * sleepers) std::this_thread::yield();
    }
    for (auto& t : team) t.join();
}

INSTANTIATE_TEST_SUITE_P(both_fence, bells, testing::Values(fence_mode::both));
INSTANTIATE_TEST_SUITE_P(the_sleeper_fences, bells, testing::Values(fence_mode::sleeper));

} // namespace
