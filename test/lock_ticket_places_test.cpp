#include <mpt/lock/ticket/places.hpp>

#include <functional>

#include <gtest/gtest.h>
#include <mpt/world/threads.hpp>

namespace {

/// Whoever yields does as it is told there.
struct told : mpt::world::threads {
    std::function<void()>* at_a_yield;
    void yield() const noexcept { (*at_a_yield)(); }
};
using places = mpt::lock::ticket_places<told, 4>;

TEST(ticket_places, who_yields_is_away_and_loses_its_turn_to_who_passes_it_by_once) {
    places all;
    std::function<void()> now = [&] { EXPECT_TRUE(all.is_away(5)); };
    told const world{{}, &now};
    EXPECT_FALSE(all.is_away(5));
    EXPECT_TRUE(all.yield(world, 5, true)) << "nobody has passed it by";
    EXPECT_FALSE(all.is_away(5));
    EXPECT_FALSE(all.pass_by(5));
    now = [&] {
        EXPECT_FALSE(all.pass_by(4));
        EXPECT_TRUE(all.pass_by(5));
        EXPECT_FALSE(all.is_away(5));
        EXPECT_FALSE(all.pass_by(5));
    };
    EXPECT_FALSE(all.yield(world, 5, true));
    EXPECT_FALSE(all.is_away(5));
    now = [&] { EXPECT_FALSE(all.pass_by(5)); };
    EXPECT_TRUE(all.yield(world, 5, false)) << "it says that it stays in line";
}

TEST(ticket_places, who_finds_its_place_taken_stays_in_line) {
    places all;
    std::function<void()> inner = [&] {
        EXPECT_FALSE(all.is_away(9));
        EXPECT_FALSE(all.pass_by(9));
    };
    told const second{{}, &inner};
    std::function<void()> outer = [&] { // ticket 5 is away, and ticket 9 has the same place
        EXPECT_TRUE(all.yield(second, 9, true));
        EXPECT_TRUE(all.pass_by(5));
        EXPECT_TRUE(all.yield(second, 9, true)) << "passed, and not yet told";
    };
    EXPECT_FALSE(all.yield(told{{}, &outer}, 5, true));
    EXPECT_TRUE(all.yield(second, 9, false));
}

TEST(ticket_places, numbers_may_wrap) {
    places all;
    constexpr auto last = ~std::uint32_t{0};
    std::function<void()> now = [&] { EXPECT_TRUE(all.pass_by(last)); };
    EXPECT_FALSE(all.yield(told{{}, &now}, last, true));
}

} // namespace
