// No schedule lets a sleeper of a bell sleep through what was published, in either fence mode, and no fence can be spared.
#include <memory>

#include <gtest/gtest.h>
#include <mpt/core/types.hpp>
#include <mpt/wait/doorbell.hpp>

#include "scheduler.hpp"

namespace {

using namespace mpt::model;
using mpt::fence_mode;
constexpr mpt::nanoseconds any_time{1};

/// `publishers` threads publish one message each, to as many mailboxes; `sleepers` threads wait for all of them.
template <class World> struct bell_program {
    fence_mode mode;
    unsigned publishers, sleepers;

    struct state {
        mpt::wait::doorbell<World> bell;
        std::array<typename World::atomics::template atomic<std::uint32_t>, 3> mail{};
        std::array<model_data<int>, 3> letter{};
    };

    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        for (unsigned p = 0; p < publishers; ++p)
            x.thread([s, p, m = mode] {
                s->letter[p].set(7);
                s->mail[p].store(1, std::memory_order_release);
                s->bell.ring(World{}, m);
            });
        for (unsigned i = 0; i < sleepers; ++i)
            x.thread([s, m = mode, n = publishers] {
                while (!all_there(*s, n)) {
                    auto const armed = s->bell.arm(m);
                    if (!all_there(*s, n)) s->bell.sleep(World{}, armed, any_time);
                    s->bell.disarm();
                }
                for (unsigned p = 0; p < n; ++p) require(s->letter[p].get() == 7, "the letter is there");
            });
    }
    static bool all_there(state& s, unsigned n) {
        for (unsigned p = 0; p < n; ++p)
            if (s.mail[p].load(std::memory_order_acquire) == 0) return false;
        return true;
    }
};
using by_operation = basic_world<basic_atomics<invisible_fences>>;

struct light_dropped : fences {
    static void light(fence_mode) noexcept {}
};
struct heavy_dropped : fences {
    static void heavy(fence_mode) noexcept {}
};

class bell_model : public testing::TestWithParam<fence_mode> {};

TEST_P(bell_model, wakes_a_sleeper_for_every_message) {
    for (auto const& result : {check({.schedules = 8000}, bell_program<model_world>{GetParam(), 1, 1}),
                               check({.schedules = 8000}, bell_program<model_world>{GetParam(), 2, 1}),
                               check({.schedules = 8000}, bell_program<model_world>{GetParam(), 1, 2}),
                               check({.schedules = 8000}, bell_program<model_world>{GetParam(), 2, 2}),
                               check({.schedules = 4000}, bell_program<model_world>{GetParam(), 3, 2})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST_P(bell_model, bears_sleepers_that_wake_early) {
    auto const result =
        check({.schedules = 5000, .timeouts = true, .early_wakeups = true}, bell_program<model_world>{GetParam(), 2, 2});
    EXPECT_TRUE(result.ok) << result.report;
}

TEST_P(bell_model, loses_a_wake_up_when_the_sleeper_does_not_fence) {
    auto const result = check({.schedules = 8000}, bell_program<basic_world<basic_atomics<heavy_dropped>>>{GetParam(), 1, 1});
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.what.find("lost wake-up"), std::string::npos) << result.what;
}

TEST_P(bell_model, needs_every_fence_and_order_of_its_header) {
    auto const missed = needless({.schedules = 8000}, bell_program<model_world>{GetParam(), 2, 2}, "bell.hpp");
    EXPECT_TRUE(missed.empty()) << missed.front();
}

INSTANTIATE_TEST_SUITE_P(both_fence, bell_model, testing::Values(fence_mode::both));
INSTANTIATE_TEST_SUITE_P(the_sleeper_fences, bell_model, testing::Values(fence_mode::sleeper));

TEST(bell_model, loses_a_wake_up_when_both_must_fence_and_the_publisher_does_not) {
    auto const result =
        check({.schedules = 8000}, bell_program<basic_world<basic_atomics<light_dropped>>>{fence_mode::both, 1, 1});
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.what.find("lost wake-up"), std::string::npos) << result.what;
}

TEST(bell_model, wakes_every_sleeper_where_fences_are_invisible_and_operations_stand_for_them) {
    for (auto const& result : {check({.schedules = 8000}, bell_program<by_operation>{fence_mode::both, 1, 1}),
                               check({.schedules = 8000}, bell_program<by_operation>{fence_mode::both, 2, 2})})
        EXPECT_TRUE(result.ok) << result.report;
    auto const missed = needless({.schedules = 8000}, bell_program<by_operation>{fence_mode::both, 2, 1}, "bell.hpp");
    for (auto const& m : missed) ADD_FAILURE() << m;
}

/// The bell as it would be with one flag that each sleeper takes back for itself.
TEST(bell_model, would_lose_a_wake_up_if_one_of_two_sleepers_disarmed_for_both) {
    struct state {
        model_world::word asleep{0}, rings{0}, first{0}, second{0};
    };
    auto const result = check({.schedules = 20'000}, [](execution& x) {
        auto s = std::make_shared<state>();
        auto const sleeper = [s](model_world::word& mail) {
            while (mail.load(std::memory_order_acquire) == 0) {
                auto const seen = s->rings.load(std::memory_order_acquire);
                s->asleep.store(1, std::memory_order_seq_cst);
                fences::heavy(fence_mode::both);
                if (mail.load(std::memory_order_acquire) == 0) model_world{}.wait(s->rings, seen, any_time);
                s->asleep.store(0, std::memory_order_relaxed);
            }
        };
        auto const sender = [s](model_world::word& mail) {
            mail.store(1, std::memory_order_release);
            fences::light(fence_mode::both);
            if (s->asleep.load(std::memory_order_relaxed) == 0) return;
            s->rings.fetch_add(1, std::memory_order_release);
            model_world{}.wake(s->rings, 2);
        };
        x.thread([=] { sleeper(s->first); });
        x.thread([=] { sleeper(s->second); });
        x.thread([=] { sender(s->first), sender(s->second); });
    });
    EXPECT_FALSE(result.ok) << "this is why disarm() leaves the bell alone";
}

} // namespace
