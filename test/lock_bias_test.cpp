#include <mpt/lock/bias.hpp>

#include <atomic>
#include <set>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <mpt/lock/ticket.hpp>
#include <mpt/world/threads.hpp>

#include "support/few_cpus.hpp"
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
            static void heavy_here(fence_mode) noexcept { ++heavy_ones; }
            static void heavy(fence_mode) noexcept {}
            static void drain() noexcept {}
        };
    };
    static int barriers() { return std::exchange(atomics::fences::heavy_ones, 0); }
};
using bias = mpt::lock::bias<counting, 4, 64, 1>; // a seat
using bias_of_two = mpt::lock::bias<counting, 4, 64, 2>;

constexpr std::uint64_t ann = 11, bob = 12, cid = 13;
constexpr counting world{};

template <class Bias> void leave_as_holder(Bias& b, std::uint64_t who, int times) {
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

TEST(bias, has_as_many_favourites_as_seats_of_whom_one_may_enter) {
    bias_of_two b;
    b.grant(ann, sleeper);
    ASSERT_TRUE(b.enter(ann));
    b.leave();
    b.revoke(world, bob, sleeper);
    leave_as_holder(b, bob, 7);
    EXPECT_FALSE(b.enter(bob)) << "ann was revoked, so eight times";
    leave_as_holder(b, bob, 1);
    EXPECT_FALSE(b.enter(ann));
    ASSERT_TRUE(b.enter(bob)) << "ann may be about to enter, on her seat";
    EXPECT_TRUE(b.seems_taken());
    EXPECT_FALSE(b.holds(ann));
    EXPECT_TRUE(b.holds(bob));
    EXPECT_FALSE(b.enter_again(ann));
    ASSERT_TRUE(b.enter(bob));
    EXPECT_FALSE(b.try_revoke(ann, sleeper));
    b.leave(), b.leave();
    b.revoke(world, cid, sleeper);
    b.grant(cid, sleeper);
    EXPECT_FALSE(b.enter(cid)) << "ann and bob may both be about to enter";
    b.revoke(world, ann, sleeper); // she comes by the lock's own ways
    leave_as_holder(b, ann, 1);
    b.grant(cid, sleeper);
    ASSERT_TRUE(b.enter(cid)) << "on the seat that was ann's";
    EXPECT_FALSE(b.enter(ann));
    EXPECT_FALSE(b.enter(bob));
    b.leave();
}

TEST(bias, gives_a_favourite_its_own_seat_again) {
    bias_of_two b;
    for (int i = 0; i < 10; ++i) {
        b.grant(ann, sleeper);
        ASSERT_TRUE(b.enter(ann)) << i;
        b.leave();
        EXPECT_EQ(b.stays(), static_cast<std::uint64_t>(i) + 1) << "it has the first seat, whose numbers begin with 0";
        b.revoke(world, bob, sleeper);
        b.grant(bob, sleeper);
        ASSERT_TRUE(b.enter(bob)) << i;
        b.leave();
        b.revoke(world, ann, sleeper);
    }
}

TEST(bias, says_another_number_each_time_a_favourite_has_left_on_whatever_seat) {
    bias_of_two b;
    std::set<std::uint32_t> said{static_cast<std::uint32_t>(b.stays())};
    auto const come_and_go = [&](std::uint64_t who) {
        b.revoke(world, who, sleeper);
        b.grant(who, sleeper);
        for (int i = 0; i < 100; ++i) {
            ASSERT_TRUE(b.enter(who));
            b.leave();
            EXPECT_TRUE(said.insert(static_cast<std::uint32_t>(b.stays())).second);
        }
    };
    for (int i = 0; i < 10; ++i) come_and_go(ann), come_and_go(bob);
}

TEST(bias, is_known_by_numbers_that_differ_in_their_lower_bits_alone) {
    constexpr std::uint64_t process = std::uint64_t{0x155} << 53, first = process | 0x7f8825914, second = process | 0x7f8825136;
    mpt::lock::bias<counting, 4> b;
    b.grant(first, sleeper);
    EXPECT_FALSE(b.enter(second));
    ASSERT_TRUE(b.enter(first));
    b.leave();
    b.revoke(world, second, sleeper);
    b.grant(second, sleeper);
    EXPECT_FALSE(b.enter(first));
    ASSERT_TRUE(b.enter(second));
    b.leave();
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

TEST(bias, goes_to_another_where_the_favourite_says_that_it_comes_by_the_locks_own_ways) {
    bias b;
    b.grant(ann, sleeper);
    ASSERT_TRUE(b.enter(ann));
    b.leave();
    b.retire(bob); // it is not the favourite
    b.revoke(world, bob, sleeper);
    b.grant(bob, sleeper);
    EXPECT_FALSE(b.enter(bob)) << "ann may be about to enter";
    b.retire(ann);
    b.grant(bob, sleeper);
    EXPECT_FALSE(b.enter(ann));
    EXPECT_FALSE(b.enter_again(ann));
    auto const before = b.stays();
    ASSERT_TRUE(b.enter(bob));
    EXPECT_TRUE(b.seems_taken());
    EXPECT_FALSE(b.enter_again(ann));
    EXPECT_TRUE(b.enter_again(bob));
    b.leave(), b.leave();
    EXPECT_FALSE(b.seems_taken());
    EXPECT_EQ(b.stays(), before + 2);
    b.retire(ann); // not any more
    ASSERT_TRUE(b.enter(bob));
    b.leave();
    b.revoke(world, ann, sleeper);
    b.retire(bob);
    leave_as_holder(b, bob, 1);
    b.grant(ann, sleeper);
    ASSERT_TRUE(b.enter(ann)) << "who has retired, and been inside since, is no favourite";
    b.leave();
}

TEST(bias, is_granted_to_a_tenant_later_where_that_was_not_worth_it_and_sooner_again) {
    bias b;
    auto const settles_after = [&](std::uint32_t kept) {
        b.settle(ann, sleeper, kept - 1);
        bool const early = b.enter(ann);
        if (early) b.leave();
        b.settle(ann, sleeper, kept);
        bool const in = b.enter(ann);
        if (in) b.leave();
        return in && !early;
    };
    for (std::uint32_t kept = 64; kept <= 4096; kept *= 2) {
        EXPECT_TRUE(settles_after(kept)) << kept;
        b.revoke(world, bob, sleeper);
    }
    for (std::uint32_t kept : {4096u, 2048u, 1024u}) {
        EXPECT_TRUE(settles_after(kept)) << kept;
        for (int i = 0; i < 300; ++i) b.enter(ann), b.leave();
        b.revoke(world, bob, sleeper);
    }
    leave_as_holder(b, bob, 1);
    leave_as_holder(b, ann, 3);
    EXPECT_FALSE(b.enter(ann));
    leave_as_holder(b, ann, 1);
    ASSERT_TRUE(b.enter(ann)) << "who is alone earns it as soon as ever";
    b.leave();
}

TEST(bias, is_dropped_by_the_holder_and_another_may_have_it) {
    bias b;
    b.grant(ann, sleeper);
    b.drop(ann, sleeper);
    EXPECT_FALSE(b.enter(ann));
    b.grant(bob, sleeper);
    ASSERT_TRUE(b.enter(bob));
    b.leave();
}

TEST(bias, is_given_back_by_a_favourite_inside_that_holds_the_lock_otherwise) {
    bias b;
    b.grant(ann, sleeper);
    ASSERT_TRUE(b.enter(ann));
    ASSERT_TRUE(b.enter(ann));
    EXPECT_EQ(b.give_back(), 2u);
    EXPECT_FALSE(b.seems_taken());
    EXPECT_FALSE(b.enter(ann));
    EXPECT_FALSE(b.enter_again(ann)) << "it is inside by the lock's own ways alone";
}

/// Tenants come and go by plain stores soon.
constexpr std::uint32_t long_ago = 1'000'000'000;
template <std::uint32_t Vain, std::uint32_t Stay, std::uint32_t Gone> using settling =
    mpt::lock::basic_ticket<0, 0, 8, 100'000, 16, 64, 65536, 512, 4, Vain, Stay, Gone, long_ago, 4>::template type<counting>;

template <class Lock> void settle(Lock& lock) {
    for (int i = 0; i < 8; ++i) mpt::guard const g{lock};
    counting::barriers();
    mpt::guard const g{lock};
}
template <class Lock> bool others_get_in(Lock& lock) {
    bool in = false;
    std::thread{[&] {
        typename Lock::node mine;
        in = lock.try_acquire(mine);
        if (in) lock.release(mine);
    }}.join();
    return in;
}

TEST(a_settled_tenant, keeps_those_out_that_try_until_it_is_gone) {
    settling<long_ago, long_ago, 0> lock{{}, sleeper};
    settle(lock);
    EXPECT_FALSE(others_get_in(lock));
    { mpt::guard const g{lock}; }
    EXPECT_FALSE(others_get_in(lock)) << "it was there meanwhile";
    EXPECT_EQ(counting::barriers(), 0);
    EXPECT_TRUE(others_get_in(lock));
    EXPECT_EQ(counting::barriers(), 1) << "it had the bias";
    { mpt::guard const g{lock}; }
    EXPECT_TRUE(others_get_in(lock)) << "one pass makes no tenant";
    EXPECT_EQ(counting::barriers(), 0);
}

TEST(a_settled_tenant, loses_its_turn_to_who_waits_while_it_is_gone) {
    mpt::test::watchdog const dog{"a settled tenant that is gone"};
    settling<long_ago, long_ago, long_ago> lock{{}, sleeper};
    settle(lock);
    std::thread{[&] {
        settle(lock); // another tenant, though the first has not been here since
        EXPECT_FALSE(others_get_in(lock)) << "it may come back";
        std::thread{[&] { mpt::guard const g{lock}; }}.join();
        EXPECT_TRUE(others_get_in(lock));
    }}.join();
}

TEST(a_settled_tenant, passes_its_turn_on_when_it_gives_up) {
    settling<long_ago, long_ago, long_ago> lock{{}, sleeper};
    settle(lock);
    EXPECT_FALSE(others_get_in(lock));
    mpt::give_up(lock);
    EXPECT_TRUE(others_get_in(lock));
    EXPECT_EQ(counting::barriers(), 0) << "there was nothing to take away";
}

TEST(a_settled_tenant, keeps_its_turn_when_it_says_inside_that_it_gives_up) {
    settling<long_ago, long_ago, 0> lock{{}, sleeper};
    settle(lock);
    {
        mpt::guard const g{lock};
        mpt::give_up(lock);
        for (int i = 0; i < 3; ++i) EXPECT_FALSE(others_get_in(lock)) << "it is inside";
    }
    EXPECT_FALSE(others_get_in(lock));
    EXPECT_TRUE(others_get_in(lock)) << "it is gone";
}

TEST(a_settled_tenant, passes_its_turn_on_when_it_was_there_in_vain_for_long) {
    constexpr int vain = 3;
    settling<vain, long_ago, long_ago> lock{{}, sleeper};
    settle(lock);
    auto const look = [&] {
        mpt::guard const outer{lock};
        mpt::guard const inner{lock};
        mpt::say_in_vain(lock), mpt::say_in_vain(lock);
    };
    for (int i = 0; i < 10 * vain; ++i) {
        { mpt::guard const found_something{lock}; }
        mpt::guard const g{lock};
        mpt::say_in_vain(lock);
    }
    EXPECT_FALSE(others_get_in(lock));
    for (int i = 0; i < 10 * vain; ++i) {
        mpt::guard const g{lock};
        mpt::say_in_vain(lock);
    }
    EXPECT_TRUE(others_get_in(lock));
    EXPECT_EQ(counting::barriers(), 0);
    settle(lock);
    for (int i = 0; i < 10 * vain; ++i) look(); // a stay in a stay counts as one that found something
    EXPECT_FALSE(others_get_in(lock));
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
            static void heavy(fence_mode) noexcept { mpt::heavy_barrier(); }
            static void heavy_here(fence_mode) noexcept { mpt::heavy_barrier_here(), ++heavy_ones; }
            static void drain() noexcept {}
        };
    };
};

/// Late comers to a lock whose user has the bias soon, and is in a tight loop. CPUs: as many as there are.
template <class Lock> void come_late(int times, std::chrono::microseconds inside_for) {
    if (!mpt::register_heavy()) GTEST_SKIP() << "membarrier is refused here";
    mpt::test::watchdog const dog{"late comers"};
    fenced::atomics::fences::heavy_ones = 0;
    for (int i = 0; i < times; ++i) {
        Lock lock{{}, sleeper};
        std::atomic<bool> come{false}, stop{false};
        int passes = 0;
        std::thread favourite{[&] {
            while (!stop.load(std::memory_order_relaxed)) {
                mpt::guard const g{lock};
                if (++passes == 1000) come = true;
                for (auto const end = std::chrono::steady_clock::now() + inside_for;
                     come && std::chrono::steady_clock::now() < end;) {}
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

constexpr std::uint32_t never = 1'000'000'000;
using biased_soon = mpt::lock::basic_ticket<1000, 16, 8, 10>::type<fenced>;
using settled_soon = mpt::lock::basic_ticket<0, 10, 8, never, 16, 64, never, 512, 8, never, 100>::type<fenced>;
TEST(bias, keeps_no_late_comer_out_of_a_lock_whose_favourite_is_in_a_tight_loop) {
    for (int const us : {0, 5}) come_late<biased_soon>(100, std::chrono::microseconds{us});
}
TEST(a_settled_tenant, that_stays_for_ever_loses_its_turn_to_who_waits) {
    for (int const us : {0, 5, 50}) come_late<settled_soon>(20, std::chrono::microseconds{us});
}
TEST(a_settled_tenant, that_stays_for_ever_loses_its_turn_to_who_waits_on_the_same_cpu) {
    mpt::test::few_cpus const one{1};
    for (int const us : {0, 5, 50}) come_late<settled_soon>(20, std::chrono::microseconds{us});
}

} // namespace
