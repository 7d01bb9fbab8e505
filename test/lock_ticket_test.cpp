#include <mpt/lock/ticket.hpp>

#include <cstring>
#include <functional>
#include <semaphore>

#include <pthread.h>

#include "lock_conformance.hpp"

namespace mpt::test {

/// Waiters that go to sleep at once, on one bell or on two: the way by which wake-ups could be lost.
using all_asleep_on_one_bell = lock::basic_ticket<0, 0, 1>;
using all_asleep_on_two_bells = lock::basic_ticket<0, 0, 2>;

/// Waiters that look little, and are away most of the time.
using seldom_there = lock::basic_ticket<0, 100, 2, 256, 2, 2>;

/// First come, first served, whoever comes again and again: nobody becomes a tenant.
template <std::uint32_t Spins = 4000, std::uint32_t Yields = 200, std::uint32_t Passes = 16, std::uint32_t Keeps = 64>
using without_tenants = lock::basic_ticket<Spins, Yields, 8, 256, Passes, 64, Keeps, 512, ~std::uint32_t{0}>;

/// Whoever has been there a few times is a tenant, and not for long.
using all_tenants = lock::basic_ticket<0, 0, 1, 256, 16, 64, 8, 1, 4, 1, 1, 1>;

/// The lock that MPT_TICKET=off stands for.
struct by_mutex : lock::ticket {
    static constexpr bool fair = false;
    template <class World> struct type : lock::ticket::type<World> {
        type() { this->by_mutex(); }
    };
};

INSTANTIATE_TYPED_TEST_SUITE_P(ticket, lock_conformance, lock::ticket);
INSTANTIATE_TYPED_TEST_SUITE_P(seldom_there, lock_conformance, seldom_there);
INSTANTIATE_TYPED_TEST_SUITE_P(without_tenants, lock_conformance, without_tenants<>);
INSTANTIATE_TYPED_TEST_SUITE_P(all_tenants, lock_conformance, all_tenants);
INSTANTIATE_TYPED_TEST_SUITE_P(by_mutex, lock_conformance, by_mutex);
INSTANTIATE_TYPED_TEST_SUITE_P(all_asleep_on_one_bell, lock_conformance, all_asleep_on_one_bell);
INSTANTIATE_TYPED_TEST_SUITE_P(all_asleep_on_two_bells, lock_conformance, all_asleep_on_two_bells);

/// In a process that has registered: visitors pay for the fences, and the lock is biased. Few passes earn it, so that it comes and goes
/// all the time.
template <class Ticket> struct of_registered : Ticket {
    static constexpr bool process_shared = false;
    template <class World> struct type : Ticket::template type<World> {
        type() : Ticket::template type<World>{World{}, registered() ? fence_mode::sleeper : fence_mode::both} {}
    };
    static bool registered() {
        static bool const here = register_heavy();
        return here;
    }
};
using biased = of_registered<lock::ticket>;
using biased_soon = of_registered<lock::basic_ticket<0, 0, 1, 1>>;
INSTANTIATE_TYPED_TEST_SUITE_P(biased, lock_conformance, biased);
using settled_soon = of_registered<lock::basic_ticket<0, 0, 1, 256, 16, 64, 64, 1, 4, 4, 1, 1, 16, 4>>;
INSTANTIATE_TYPED_TEST_SUITE_P(settled_soon, lock_conformance, settled_soon);
INSTANTIATE_TYPED_TEST_SUITE_P(biased_soon, lock_conformance, biased_soon);

template <class Lock> void pass_to_and_fro(Lock& lock, int rounds) {
    ten_counters counters;
    std::thread other{[&] {
        for (int i = 0; i < rounds; ++i) {
            mpt::guard g{lock};
            EXPECT_TRUE(counters.step());
        }
    }};
    for (int i = 0; i < rounds; ++i) {
        mpt::guard g{lock};
        EXPECT_TRUE(counters.step());
    }
    other.join();
    EXPECT_EQ(counters.value(), 2u * static_cast<unsigned>(rounds));
}

TEST(ticket, loses_no_wake_up_where_the_sleeper_pays_for_the_fence) {
    if (!register_heavy()) GTEST_SKIP() << "membarrier is refused here";
    watchdog const dog{"a ticket lock with membarrier"};
    all_asleep_on_one_bell::type<patient> lock{patient{}, fence_mode::sleeper};
    pass_to_and_fro(lock, 10'000 / less_under_tools);
}

TEST(ticket, goes_on_when_its_numbers_wrap) {
    watchdog const dog{"wrapping tickets"};
    // The layout is the lock's own: next_ and serving_ open its first two lines.
    alignas(line_pair) std::array<std::byte, 2048> memory{};
    using type = without_tenants<>::type<patient>;
    static_assert(sizeof(type) <= sizeof memory);
    auto* const lock = ::new (memory.data()) type;
    std::uint32_t const nearly = ~std::uint32_t{0} - 20; // a turn is kept 64 times at most, of 2000 passes
    std::memcpy(memory.data(), &nearly, sizeof nearly);
    std::memcpy(memory.data() + cache_line, &nearly, sizeof nearly);
    pass_to_and_fro(*lock, 1'000);
    std::uint32_t next = 0;
    std::memcpy(&next, memory.data(), sizeof next);
    EXPECT_LT(next, nearly) << "the numbers did not wrap: the test misses its point";
}

TEST(ticket, lets_one_in_at_a_time_beside_a_favoured_caller_by_the_mutex_too) {
    if (mpt::native_fences::invisible) GTEST_SKIP() << "no bias under ThreadSanitizer";
    if (!register_heavy()) GTEST_SKIP() << "membarrier is refused here";
    watchdog const dog{"a favoured caller, and the mutex"};
    lock::ticket::type<patient> lock{patient{}, fence_mode::both};
    lock.by_mutex();
    lock.favour_caller();
    pass_to_and_fro(lock, 100'000);
}

TEST(ticket, lets_a_favoured_caller_in_without_a_ticket_whatever_the_mode_and_others_all_the_same) {
    if (mpt::native_fences::invisible) GTEST_SKIP() << "no bias under ThreadSanitizer";
    if (!register_heavy()) GTEST_SKIP() << "membarrier is refused here";
    watchdog const dog{"a favoured caller"};
    alignas(line_pair) std::array<std::byte, 2048> memory{}; // the first word counts tickets, as above
    using type = lock::ticket::type<patient>;
    auto* const lock = ::new (memory.data()) type{patient{}, fence_mode::both};
    lock->favour_caller();
    auto const drawn = [&memory] {
        std::uint32_t n = 0;
        std::memcpy(&n, memory.data(), sizeof n);
        return n;
    };
    auto const before = drawn();
    for (int i = 0; i < 100; ++i) {
        mpt::guard const g{*lock};
        EXPECT_EQ(drawn(), before);
    }
    pass_to_and_fro(*lock, 1'000);
    EXPECT_GT(drawn(), before);
}

/// A world in which whoever yields does as it is told there.
struct told : patient {
    static inline std::function<void()> at_a_yield;
    void yield() const noexcept { at_a_yield(); }
};

TEST(ticket, passes_by_a_waiter_that_gave_its_cpu_away_but_not_for_ever) {
    watchdog const dog{"a waiter that is away"};
    constexpr std::uint32_t passes = 3;
    using type = without_tenants<0, 1000, passes>::type<told>;
    type lock;
    std::binary_semaphore gone{0}, come_back{0};
    told::at_a_yield = [&] { gone.release(), come_back.acquire(); };
    type::node mine;
    lock.acquire(mine);
    bool inside = false;
    std::thread waiter{[&] {
        mpt::guard g{lock};
        inside = true;
    }};
    for (std::uint32_t passed = 0; passed < passes; ++passed) {
        gone.acquire(); // it has yielded, and does not come back before it is told to
        lock.release(mine);
        for (int i = 0; i < 10; ++i) { // nobody is in line for us
            ASSERT_TRUE(lock.try_acquire(mine));
            lock.release(mine);
        }
        lock.acquire(mine);
        come_back.release();
    }
    gone.acquire();
    lock.release(mine);
    EXPECT_FALSE(lock.try_acquire(mine)) << "it is its turn, wherever it is";
    come_back.release();
    waiter.join();
    EXPECT_TRUE(inside);
}

/// A thread in line that sleeps, and is woken when it is told to.
struct woken_late : patient {
    static inline std::function<void()> asleep;
    void wait(native_atomics::atomic<std::uint32_t>&, std::uint32_t, nanoseconds) const noexcept { asleep(); }
    void wake(native_atomics::atomic<std::uint32_t>&, int) const noexcept {}
};

/// A thread that has got in line and sleeps, until it is woken.
template <class Lock> class one_asleep {
    std::binary_semaphore sleeps_{0}, wakes_{0};
    std::atomic<bool> inside_{false};
    std::thread thread_;

public:
    explicit one_asleep(Lock& lock) {
        woken_late::asleep = [this] { sleeps_.release(), wakes_.acquire(); };
        thread_ = std::thread{[this, &lock] {
            mpt::guard const g{lock};
            inside_ = true;
        }};
        sleeps_.acquire();
    }
    bool inside() const { return inside_; }
    void gets_in_when_it_is_woken() {
        wakes_.release();
        thread_.join();
        EXPECT_TRUE(inside_);
    }
};

TEST(ticket, lets_its_holder_come_back_before_the_next_in_line_but_not_for_ever) {
    watchdog const dog{"a turn that is kept"};
    constexpr std::uint32_t keeps = 5;
    without_tenants<0, 0, 16, keeps>::type<woken_late> lock;
    decltype(lock)::node mine;
    lock.acquire(mine);
    one_asleep waiter{lock};
    for (std::uint32_t kept = 0; kept < keeps; ++kept) {
        lock.release(mine);
        lock.acquire(mine);
        EXPECT_FALSE(waiter.inside());
    }
    lock.release(mine);
    EXPECT_FALSE(lock.try_acquire(mine)) << "it is the other's turn, asleep or not";
    waiter.gets_in_when_it_is_woken();
}

TEST(ticket, whoever_only_tries_passes_a_kept_turn_on) {
    watchdog const dog{"a turn that is passed on"};
    using type = lock::basic_ticket<0, 0>::type<woken_late>;
    type lock;
    std::counting_semaphore<> sleeps{0};
    std::atomic<bool> awake{false};
    woken_late::asleep = [&] { sleeps.release(), awake.wait(false); };
    type::node mine;
    lock.acquire(mine);
    std::thread first{[&] { mpt::guard g{lock}; }};
    sleeps.acquire();
    lock.release(mine);
    EXPECT_FALSE(lock.try_acquire(mine));
    std::atomic<bool> inside{false};
    std::thread second{[&] { // behind the one that sleeps, whose turn it is
        mpt::guard g{lock};
        inside = true;
    }};
    sleeps.acquire();
    EXPECT_FALSE(inside);
    awake = true;
    awake.notify_all();
    first.join();
    second.join();
    EXPECT_TRUE(inside);
}

/// In by so many passes, each of which found something.
template <class Lock> void become_tenant(Lock& lock) {
    for (int i = 0; i < 8; ++i) mpt::guard const g{lock};
}

TEST(ticket, a_tenant_keeps_its_turn_while_nobody_is_in_line_and_loses_it_to_who_tries_while_it_is_gone) {
    watchdog const dog{"a tenant that is gone"};
    lock::basic_ticket<0, 0, 8, 256, 16, 64, 65536, 512, 8, 256, 0, 0>::type<patient> lock;
    become_tenant(lock);
    std::thread{[&] {
        decltype(lock)::node mine;
        EXPECT_FALSE(lock.try_acquire(mine)) << "it may come back at once";
    }}.join();
    { mpt::guard const g{lock}; } // and so it does
    std::thread{[&] {
        decltype(lock)::node mine;
        EXPECT_FALSE(lock.try_acquire(mine));
        ASSERT_TRUE(lock.try_acquire(mine)) << "it has not come back";
        lock.release(mine);
        EXPECT_TRUE(lock.try_acquire(mine)) << "one pass makes no tenant";
        lock.release(mine);
    }}.join();
    decltype(lock)::node mine;
    ASSERT_TRUE(lock.try_acquire(mine)) << "the lock is free";
    lock.release(mine);
}

TEST(ticket, who_waits_takes_the_turn_of_a_tenant_that_is_gone) {
    watchdog const dog{"a tenant that does not come back"};
    lock::ticket::type<patient> awake;
    lock::basic_ticket<0, 0>::type<patient> asleep;
    become_tenant(awake), become_tenant(asleep);
    std::thread{[&] {
        mpt::guard const a{awake};
        mpt::guard const b{asleep};
    }}.join();
}

/// A tenant that is nearly always inside, and never passes its turn on by itself.
void wait_beside_a_tenant(int cpus, std::chrono::microseconds inside_for) {
    few_cpus const few{cpus};
    lock::basic_ticket<0, 10, 8, 256, 16, 64, ~std::uint32_t{0}, 512, 8, 256, 100>::type<patient> lock;
    for (int i = 0; i < 20; ++i) {
        std::atomic<bool> stop{false};
        std::atomic<std::uint64_t> passes{0};
        std::thread tenant{[&] {
            while (!stop) {
                mpt::guard const g{lock};
                ++passes;
                for (auto const end = std::chrono::steady_clock::now() + inside_for; std::chrono::steady_clock::now() < end;) {}
            }
        }};
        while (passes < 20) ::sched_yield();
        {
            mpt::guard const g{lock};
            stop = true;
        }
        tenant.join();
    }
}

TEST(ticket, who_waits_gets_the_turn_of_a_tenant_that_always_comes_back) {
    watchdog const dog{"a tenant that stays"};
    for (int const us : {0, 5, 50}) wait_beside_a_tenant(2, std::chrono::microseconds{us});
}
TEST(ticket, who_waits_gets_the_turn_of_a_tenant_that_always_comes_back_on_the_same_cpu) {
    watchdog const dog{"a tenant that stays on one CPU"};
    for (int const us : {0, 5, 50}) wait_beside_a_tenant(1, std::chrono::microseconds{us});
}
TEST(ticket, who_only_tries_gets_in_though_a_tenant_comes_back_each_time) {
    constexpr std::uint32_t tries = 100, never = 1'000'000'000;
    lock::basic_ticket<0, 0, 8, 256, 16, 64, 65536, 512, 8, 256, 0, never, tries>::type<patient> lock;
    become_tenant(lock);
    std::uint32_t refused = 0;
    for (bool in = false; !in; refused += !in) {
        ASSERT_LT(refused, tries);
        { mpt::guard const here_again{lock}; }
        std::thread{[&] {
            decltype(lock)::node mine;
            in = lock.try_acquire(mine);
            if (in) lock.release(mine);
        }}.join();
    }
    EXPECT_EQ(refused, tries - 1) << "the tenant was there all the time";
}

TEST(ticket, a_tenant_that_is_there_in_vain_is_one_no_more) {
    watchdog const dog{"a tenant that finds nothing"};
    constexpr int vain = 3;
    lock::basic_ticket<0, 0, 8, 256, 16, 64, 65536, 512, 8, vain, 0, 1'000'000'000, 1'000'000'000>::type<patient> lock;
    auto const look = [&] {
        mpt::guard const g{lock};
        mpt::say_in_vain(lock);
    };
    auto const others_get_in = [&] {
        bool in = false;
        std::thread{[&] {
            decltype(lock)::node mine;
            in = lock.try_acquire(mine);
            if (in) lock.release(mine);
        }}.join();
        return in;
    };
    become_tenant(lock);
    for (int i = 1; i < vain; ++i) look();
    { mpt::guard const found_something{lock}; }
    for (int i = 1; i < vain; ++i) look();
    EXPECT_FALSE(others_get_in());
    look();
    EXPECT_TRUE(others_get_in());
}

TEST(ticket, who_looks_in_vain_leaves_its_turn_to_the_next_in_line) {
    watchdog const dog{"a look in vain"};
    lock::basic_ticket<0, 0>::type<woken_late> lock;
    decltype(lock)::node mine;
    lock.acquire(mine);
    one_asleep waiter{lock};
    lock.release(mine);
    lock.acquire(mine); // it had found something, and is first
    EXPECT_FALSE(waiter.inside());
    lock.in_vain();
    lock.release(mine);
    EXPECT_FALSE(lock.try_acquire(mine)) << "it is the other's turn, asleep or not";
    waiter.gets_in_when_it_is_woken();
}

TEST(ticket, a_tenant_passes_on_a_turn_that_was_claimed) {
    watchdog const dog{"a turn that is claimed"};
    constexpr std::uint32_t at_once = 0, never = 1'000'000'000;
    for (bool const claims : {false, true}) {
        lock::basic_ticket<0, 0, 8, 256, 16, 64, 65536, 512, 8, 256, at_once>::type<woken_late> impatient;
        lock::basic_ticket<0, 0, 8, 256, 16, 64, 65536, 512, 8, 256, never>::type<woken_late> patient;
        auto const see = [claims](auto& lock) {
            become_tenant(lock);
            typename std::remove_reference_t<decltype(lock)>::node mine;
            lock.acquire(mine);
            one_asleep waiter{lock};
            lock.release(mine);
            EXPECT_EQ(lock.try_acquire(mine), !claims);
            if (!claims) {
                EXPECT_FALSE(waiter.inside());
                lock.release(mine);
                lock.give_up();
            }
            waiter.gets_in_when_it_is_woken();
        };
        claims ? see(impatient) : see(patient);
    }
}

TEST(ticket, asks_the_kernel_for_nothing_while_nobody_waits) {
    struct counting : patient {
        static int& calls() {
            static int n = 0;
            return n;
        }
        void wait(native_atomics::atomic<std::uint32_t>&, std::uint32_t, nanoseconds) const noexcept { ++calls(); }
        void wake(native_atomics::atomic<std::uint32_t>&, int) const noexcept { ++calls(); }
        void yield() const noexcept { ++calls(); }
    };
    lock::ticket::type<counting> lock;
    for (int i = 0; i < 1000; ++i) {
        mpt::guard outer{lock};
        mpt::guard inner{lock};
    }
    EXPECT_EQ(counting::calls(), 0);
}

} // namespace mpt::test
