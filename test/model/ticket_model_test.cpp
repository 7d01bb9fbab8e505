// The ticket lock under every schedule the scheduler can think of, with few spins and few bells so that all its ways are taken;
// and each of its orders shown to be needed.
#include <memory>

#include <gtest/gtest.h>
#include <mpt/lock/ticket.hpp>

#include "scheduler.hpp"

namespace {

using namespace mpt::model;
using mpt::fence_mode;

/// `threads` threads enter `rounds` times each; odd threads try first, in vain three times of four, and give up every second time; every second pass is recursive.
template <class Lock, class World = model_world> struct lock_program {
    fence_mode mode;
    unsigned threads;
    int rounds;

    struct state {
        explicit state(fence_mode m) : lock{World{}, m} {}
        typename Lock::template type<World> lock;
        model_data<int> inside, passes;
    };

    void operator()(execution& x) const {
        auto s = std::make_shared<state>(mode);
        for (unsigned t = 0; t < threads; ++t)
            x.thread([s, t, n = rounds] {
                for (int i = 0; i < n; ++i) pass(*s, t % 2 == 1, i % 2 == 1, t % 2 == 1 && i % 4 != 1);
            });
        x.finally([s, all = static_cast<int>(threads) * rounds] { require(s->passes.get() == all, "every pass counted"); });
    }

    static void pass(state& s, bool tries, bool again, bool vain) {
        typename Lock::template type<World>::node n, m;
        if (!tries || !s.lock.try_acquire(n)) s.lock.acquire(n);
        if (again) s.lock.acquire(m);
        require(s.inside.get() == 0, "nobody else is inside");
        s.inside.set(1);
        s.passes.set(s.passes.get() + 1);
        s.inside.set(0);
        if (vain) s.lock.in_vain();
        if (again) s.lock.release(m);
        s.lock.release(n);
        if (again && tries) s.lock.give_up();
    }
};

/// How many schedules: ThreadSanitizer makes each switch of fibres some fifty times dearer, and sees nothing here that the
/// model does not see.
constexpr unsigned schedules(unsigned n) { return MPT_THREAD_SANITIZER ? n / 10 : n; }

using always_asleep = mpt::lock::basic_ticket<0, 0, 1>;
using two_bells = mpt::lock::basic_ticket<1, 0, 2>;
using all_ways = mpt::lock::basic_ticket<1, 1, 2>;
using away_soon = mpt::lock::basic_ticket<0, 2, 1, 256, 1, 1>; // all yield at one place, and are passed by once
using away_often = mpt::lock::basic_ticket<0, 2, 1, 256, 3, 2>;
constexpr std::uint32_t never = ~std::uint32_t{0};
using kept_once = mpt::lock::basic_ticket<2, 0, 1, 256, 1, 1, 1, 1, never>; // others are first every second time
using kept_awake = mpt::lock::basic_ticket<3, 2, 1, 256, 1, 1, 2, 1, never>;
using all_tenants = mpt::lock::basic_ticket<2, 1, 1, 256, 1, 1, 8, 1, 1, 1, 0, 0>; // who tries takes an abandoned turn at once
using tenants_soon = mpt::lock::basic_ticket<0, 1, 2, 256, 1, 1, 3, 1, 2, 1, 1000, 0, 2>;
using tenants_or_biased = mpt::lock::basic_ticket<1, 0, 1, 2, 1, 1, 8, 1, 1, 2, 0, 0>;
/// Tenants that have the bias soon: who tries takes an abandoned turn at once, or who waits has claimed it at once.
using settled = mpt::lock::basic_ticket<2, 1, 1, 256, 1, 1, 8, 1, 1, 2, 1, 0, 0, 1>;
using settled_beside_a_line = mpt::lock::basic_ticket<1, 2, 2, 256, 1, 1, 8, 1, 1, 1, 0, 1000, never, 1>;
using settled_or_biased = mpt::lock::basic_ticket<0, 0, 1, 2, 1, 1, 8, 1, 1, 3, 0, 0, 2, 2>;
/// The same with one seat, or two, for all favourites.
using settled_on_one_seat = mpt::lock::basic_ticket<2, 1, 1, 256, 1, 1, 8, 1, 1, 2, 1, 0, 0, 1, 1>;
using settled_on_two = mpt::lock::basic_ticket<0, 0, 1, 2, 1, 1, 8, 1, 1, 3, 0, 0, 2, 2, 2>;
using biased = mpt::lock::basic_ticket<0, 0, 1, 1>; // to whoever has just been in
using biased_on_one_seat = mpt::lock::basic_ticket<0, 0, 1, 1, 16, 64, 16384, 512, 8, 512, 300, 5, 512, 64, 1>;
using biased_late = mpt::lock::basic_ticket<1, 1, 2, 2>;

class ticket_model : public testing::TestWithParam<fence_mode> {};

TEST_P(ticket_model, lets_one_in_at_a_time_and_forgets_nobody) {
    for (auto const& result : {check({.schedules = schedules(5000)}, lock_program<always_asleep>{GetParam(), 2, 3}),
                               check({.schedules = schedules(5000)}, lock_program<always_asleep>{GetParam(), 3, 2}),
                               check({.schedules = schedules(5000)}, lock_program<two_bells>{GetParam(), 4, 1}),
                               check({.schedules = schedules(3000)}, lock_program<all_ways>{GetParam(), 3, 3})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST_P(ticket_model, passes_by_who_is_away_and_forgets_nobody) {
    for (auto const& result : {check({.schedules = schedules(5000)}, lock_program<away_soon>{GetParam(), 2, 3}),
                               check({.schedules = schedules(5000)}, lock_program<away_soon>{GetParam(), 3, 2}),
                               check({.schedules = schedules(3000)}, lock_program<away_often>{GetParam(), 4, 2})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST_P(ticket_model, leaves_a_turn_to_who_comes_back_or_to_the_next_in_line) {
    for (auto const& result : {check({.schedules = schedules(5000)}, lock_program<kept_once>{GetParam(), 2, 4}),
                               check({.schedules = schedules(5000)}, lock_program<kept_once>{GetParam(), 3, 3}),
                               check({.schedules = schedules(5000)}, lock_program<kept_awake>{GetParam(), 3, 3})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST_P(ticket_model, leaves_the_lock_to_a_tenant_and_forgets_nobody) {
    for (auto const& result : {check({.schedules = schedules(5000)}, lock_program<all_tenants>{GetParam(), 2, 4}),
                               check({.schedules = schedules(5000)}, lock_program<all_tenants>{GetParam(), 3, 3}),
                               check({.schedules = schedules(5000)}, lock_program<tenants_soon>{GetParam(), 3, 4}),
                               check({.schedules = schedules(5000)}, lock_program<tenants_or_biased>{GetParam(), 3, 3})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST_P(ticket_model, needs_every_order_of_its_tenants) {
    for (auto const& m : needless({.schedules = schedules(10'000)}, lock_program<tenants_soon>{GetParam(), 3, 4}, "ticket.hpp"))
        ADD_FAILURE() << m;
}

TEST_P(ticket_model, bears_sleepers_that_wake_early) {
    auto const result = check({.schedules = schedules(3000), .timeouts = true, .early_wakeups = true},
                              lock_program<always_asleep>{GetParam(), 3, 2});
    EXPECT_TRUE(result.ok) << result.report;
}

TEST_P(ticket_model, needs_every_order_of_its_header) {
    for (auto const& m : needless({.schedules = schedules(5000)}, lock_program<always_asleep>{GetParam(), 3, 2}, "ticket.hpp"))
        ADD_FAILURE() << m;
}

TEST_P(ticket_model, needs_the_fences_of_its_bells) {
    for (auto const& m : needless({.schedules = schedules(10'000)}, lock_program<always_asleep>{GetParam(), 3, 2}, "bell.hpp"))
        ADD_FAILURE() << m;
}

INSTANTIATE_TEST_SUITE_P(both_fence, ticket_model, testing::Values(fence_mode::both));
INSTANTIATE_TEST_SUITE_P(the_sleeper_fences, ticket_model, testing::Values(fence_mode::sleeper));

TEST(ticket_model, lets_one_in_at_a_time_while_its_bias_comes_and_goes) {
    for (auto const& result :
         {check({.schedules = schedules(10'000)}, lock_program<biased>{fence_mode::sleeper, 2, 4}),
          check({.schedules = schedules(10'000)}, lock_program<biased>{fence_mode::sleeper, 3, 3}),
          check({.schedules = schedules(10'000)}, lock_program<biased_on_one_seat>{fence_mode::sleeper, 3, 3}),
          check({.schedules = schedules(5000)}, lock_program<biased_late>{fence_mode::sleeper, 2, 6}),
          check({.schedules = schedules(5000)}, lock_program<biased>{fence_mode::both, 3, 2})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST(ticket_model, lets_one_in_at_a_time_while_tenants_have_the_bias) {
    for (auto const& result :
         {check({.schedules = schedules(10'000)}, lock_program<settled>{fence_mode::sleeper, 2, 5}),
          check({.schedules = schedules(10'000)}, lock_program<settled>{fence_mode::sleeper, 3, 4}),
          check({.schedules = schedules(10'000)}, lock_program<settled_on_one_seat>{fence_mode::sleeper, 3, 4}),
          check({.schedules = schedules(10'000)}, lock_program<settled_on_two>{fence_mode::sleeper, 3, 4}),
          check({.schedules = schedules(10'000)}, lock_program<settled_beside_a_line>{fence_mode::sleeper, 3, 4}),
          check({.schedules = schedules(10'000)}, lock_program<settled_or_biased>{fence_mode::sleeper, 3, 4}),
          check({.schedules = schedules(5000)}, lock_program<settled_or_biased>{fence_mode::sleeper, 4, 3})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST(ticket_model, needs_every_order_of_a_bias_that_goes_from_one_to_another) {
    for (auto const& m :
         needless({.schedules = schedules(20'000)}, lock_program<settled>{fence_mode::sleeper, 3, 4}, "bias.hpp"))
        ADD_FAILURE() << m;
}

TEST(ticket_model, needs_every_order_of_its_bias) {
    for (auto const& m :
         needless({.schedules = schedules(50'000)}, lock_program<biased_on_one_seat>{fence_mode::sleeper, 3, 4}, "bias.hpp"))
        ADD_FAILURE() << m;
}

/// A machine that loses every wake-up: only time ends a sleep.
struct deaf_world : model_world {
    void wait(word& w, std::uint32_t seen, mpt::nanoseconds d) const noexcept {
        require(d <= mpt::nanoseconds{100'000'000}, "no sleep is longer than 100 ms");
        model_world::wait(w, seen, d);
    }
    void wake(word&, int) const noexcept {}
};

TEST_P(ticket_model, goes_on_after_at_most_100_ms_where_every_wake_up_is_lost) {
    auto const result =
        check({.schedules = schedules(2000), .timeouts = true}, lock_program<always_asleep, deaf_world>{GetParam(), 3, 2});
    EXPECT_TRUE(result.ok) << result.report;
}

TEST(ticket_model, holds_where_fences_are_invisible) {
    using world = basic_world<basic_atomics<invisible_fences>>;
    auto const result = check({.schedules = schedules(5000)}, lock_program<always_asleep, world>{fence_mode::both, 3, 2});
    EXPECT_TRUE(result.ok) << result.report;
}

/// A copy of the world in which no store releases.
template <class T> struct never_releases : atomic<T> {
    using atomic<T>::atomic;
    void store(T v, std::memory_order) noexcept { atomic<T>::store(v, std::memory_order_relaxed); }
};
struct leaky_atomics : model_atomics {
    template <class T> using atomic = never_releases<T>;
};

TEST(ticket_model, sees_the_race_when_the_lock_is_built_on_stores_that_do_not_release) {
    auto const result =
        check({.schedules = schedules(5000)}, lock_program<always_asleep, basic_world<leaky_atomics>>{fence_mode::both, 2, 1});
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.what.find("data race"), std::string::npos) << result.report;
}

TEST(ticket_model, serves_in_the_order_of_arrival) {
    struct state {
        all_ways::type<model_world> lock;
        model_atomics::atomic<int> came{0};
        model_data<int> served;
    };
    auto const result = check({.schedules = schedules(1000)}, [](execution& x) {
        auto s = std::make_shared<state>();
        x.thread([s] { // holds the lock until both others have drawn their tickets, one after the other
            all_ways::type<model_world>::node n;
            s->lock.acquire(n);
            s->came.store(1, std::memory_order_release);
            while (s->came.load(std::memory_order_acquire) != 3) model_world{}.sleep_for(mpt::nanoseconds{1000});
            s->lock.release(n);
        });
        for (int const turn : {1, 2})
            x.thread([s, turn] {
                while (s->came.load(std::memory_order_acquire) != turn) model_world{}.sleep_for(mpt::nanoseconds{1000});
                all_ways::type<model_world>::node n;
                // Time only passes while nobody can run: when this sleeper wakes, the one before it waits in the lock.
                model_world{}.sleep_for(mpt::nanoseconds{1000'000});
                s->came.store(turn + 1, std::memory_order_release);
                s->lock.acquire(n);
                require(s->served.get() == turn - 1, "first come, first served");
                s->served.set(turn);
                s->lock.release(n);
            });
    });
    EXPECT_TRUE(result.ok) << result.report;
}

TEST(ticket_model, is_checked_under_thousands_of_schedules_a_second) {
    auto const before = std::chrono::steady_clock::now();
    auto const result = check({.schedules = schedules(5000)}, lock_program<all_ways>{fence_mode::both, 3, 2});
    auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    EXPECT_TRUE(result.ok) << result.report;
    EXPECT_EQ(result.schedules, schedules(5000));
    auto const n = static_cast<double>(result.schedules);
    std::printf("%.0f schedules/s, %.1f accesses each\n", n / seconds, static_cast<double>(result.steps) / n);
}

} // namespace
