#include <array>
#include <cstring>
#include <new>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/core/types.hpp>
#include <mpt/wait/doorbell.hpp>
#include <mpt/world/native.hpp>

#include "support/watchdog.hpp"

namespace {

using namespace mpt;
using doorbell = wait::doorbell<world::native>;

TEST(doorbell, has_its_lines_for_itself) { static_assert(sizeof(doorbell) == line_pair && alignof(doorbell) == line_pair); }

TEST(doorbell, works_from_memory_that_holds_only_zeroes) {
    alignas(doorbell) std::array<std::byte, sizeof(doorbell)> zeroes{};
    alignas(doorbell) std::array<std::byte, sizeof(doorbell)> made{};
    std::memset(made.data(), 0xff, made.size());
    ::new (made.data()) doorbell;
    EXPECT_EQ(std::memcmp(made.data(), zeroes.data(), sizeof(std::uint32_t)), 0) << "a new doorbell is zero where it has state";
}

TEST(doorbell, wakes_a_lane_that_naps_and_a_nap_ends_without_it) {
    test::watchdog const dog{"a lane asleep"};
    world::native const world;
    doorbell bell;
    native_atomics::atomic<std::uint32_t> mail{0};
    auto const lane = [&](nanoseconds nap, bool until_mail) {
        do {
            auto const armed = bell.arm(fence_mode::both);
            if (mail.load(std::memory_order_acquire) == 0) bell.sleep(world, armed, nap);
            bell.disarm();
        } while (until_mail && mail.load(std::memory_order_acquire) == 0);
    };
    lane(nanoseconds{1'000'000}, false); // nobody rings
    std::thread sleeper{lane, nanoseconds::max(), true};
    world.sleep_for(nanoseconds{2'000'000});
    mail.store(1, std::memory_order_release);
    bell.ring(world, fence_mode::both);
    sleeper.join();
}

} // namespace
