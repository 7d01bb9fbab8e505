/// lock_conformance - what every lock that excludes must do, written once. A lock's test instantiates it:
///
///   INSTANTIATE_TYPED_TEST_SUITE_P(ticket, lock_conformance, mpt::lock::ticket);
///
/// The world of these tests never lets a sleeper time out, so a lost wake-up hangs the test and the watchdog says so.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/lock/lock.hpp>
#include <mpt/world/threads.hpp>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/few_cpus.hpp"
#include "support/watchdog.hpp"

namespace mpt::test {

/// world::threads, but a sleeper that nobody wakes sleeps for ever.
struct patient : world::threads {
    void wait(native_atomics::atomic<std::uint32_t>& word, std::uint32_t seen, nanoseconds) const noexcept {
        world::threads::wait(word, seen, nanoseconds::max());
    }
};
static_assert(world_policy<patient>);

inline constexpr int less_under_tools = MPT_THREAD_SANITIZER ? 10 : 1;

/// The kernel's word for what a thread of this process does: 'R' runs, 'S' sleeps.
inline char state_of(pid_t thread) {
    std::ifstream in{"/proc/self/task/" + std::to_string(thread) + "/stat"};
    std::string const line{std::istreambuf_iterator<char>{in}, {}};
    auto const name_end = line.rfind(')');
    return name_end == std::string::npos || name_end + 2 >= line.size() ? '?' : line[name_end + 2];
}

/// After Concurrency Kit's validator: ten counters that only stay equal if one thread at a time is inside.
class ten_counters {
    std::array<std::uint64_t, 10> c_{};

public:
    /// False when another thread was seen inside.
    bool step() {
        bool alone = true;
        for (auto& c : c_) alone = alone && c == c_[0];
        for (auto& c : c_) c = c + 1;
        for (auto& c : c_) alone = alone && c == c_[0];
        return alone;
    }
    std::uint64_t value() const { return c_[9]; }
};

template <class L> class lock_conformance : public testing::Test {
protected:
    using lock_type = typename L::template type<patient>;
    using node = typename lock_type::node;

    /// threads * rounds passes through the ten counters; inside: called by the holder with its round.
    template <class Inside> void contend(int threads, int rounds, Inside inside) {
        lock_type lock;
        ten_counters counters;
        std::atomic<int> intrusions{0};
        std::vector<std::thread> team;
        for (int t = 0; t < threads; ++t)
            team.emplace_back([&, t] {
                for (int i = 0; i < rounds; ++i) {
                    mpt::guard g{lock};
                    if (!counters.step()) ++intrusions;
                    inside(t, i);
                }
            });
        for (auto& t : team) t.join();
        EXPECT_EQ(intrusions, 0);
        EXPECT_EQ(counters.value(), static_cast<std::uint64_t>(threads) * static_cast<std::uint64_t>(rounds));
    }
};
TYPED_TEST_SUITE_P(lock_conformance);

TYPED_TEST_P(lock_conformance, lets_one_thread_in_at_a_time) {
    watchdog const dog{"mutual exclusion"};
    this->contend(2, 50'000 / less_under_tools, [](int, int) {});
}

TYPED_TEST_P(lock_conformance, loses_no_wake_up_with_8_threads_on_2_cpus) {
    watchdog const dog{"8 threads on 2 CPUs"};
    few_cpus const two{2};
    this->contend(8, 3'000 / less_under_tools, [](int, int i) {
        if (i % 64 == 0) ::sched_yield(); // the holder is descheduled: the others run out of spins and yields
        if (i % 1024 == 0) ::usleep(2000);
    });
}

TYPED_TEST_P(lock_conformance, loses_no_wake_up_with_8_threads_on_1_cpu) {
    watchdog const dog{"8 threads on 1 CPU"};
    few_cpus const one{1};
    this->contend(8, 2'000 / less_under_tools, [](int, int i) {
        if (i % 64 == 0) ::sched_yield();
        if (i % 1024 == 0) ::usleep(2000);
    });
}

TYPED_TEST_P(lock_conformance, can_be_acquired_again_by_its_holder_and_opens_with_the_last_release) {
    if constexpr (!TypeParam::recursive) GTEST_SKIP() << TypeParam::name << " does not promise to be recursive";
    watchdog const dog{"recursion"};
    typename TestFixture::lock_type lock;
    typename TestFixture::node outer, middle, inner;
    auto const others_get_in = [&lock] {
        bool in = false;
        std::thread{[&] {
            typename TestFixture::node n;
            in = lock.try_acquire(n);
            if (in) lock.release(n);
        }}.join();
        return in;
    };
    lock.acquire(outer);
    lock.acquire(middle);
    EXPECT_TRUE(lock.try_acquire(inner));
    EXPECT_FALSE(others_get_in());
    lock.release(inner);
    lock.release(middle);
    EXPECT_FALSE(others_get_in());
    lock.release(outer);
    EXPECT_TRUE(others_get_in());
}

TYPED_TEST_P(lock_conformance, excludes_whoever_came_in_by_try_acquire) {
    watchdog const dog{"try_acquire"};
    typename TestFixture::lock_type lock;
    ten_counters counters;
    std::uint64_t const wanted = 20'000 / less_under_tools;
    std::atomic<int> intrusions{0};
    auto const trying = [&] {
        for (std::uint64_t got = 0; got < wanted;) {
            typename TestFixture::node n;
            if (!lock.try_acquire(n)) {
                ::sched_yield();
                continue;
            }
            if (!counters.step()) ++intrusions;
            lock.release(n);
            ++got;
        }
    };
    auto const waiting = [&] {
        for (std::uint64_t got = 0; got < wanted; ++got) {
            mpt::guard g{lock};
            if (!counters.step()) ++intrusions;
        }
    };
    std::thread a{trying}, b{waiting}, c{trying};
    a.join(), b.join(), c.join();
    EXPECT_EQ(intrusions, 0);
    EXPECT_EQ(counters.value(), 3 * wanted);
}

TYPED_TEST_P(lock_conformance, serves_in_the_order_of_arrival_where_it_promises_so) {
    if constexpr (!TypeParam::fair) GTEST_SKIP() << TypeParam::name << " does not promise an order";
    watchdog const dog{"order of arrival"};
    constexpr int waiters = 12; // more than a ticket lock has bells
    typename TestFixture::lock_type lock;
    typename TestFixture::node mine;
    std::vector<int> order;
    std::vector<std::thread> team;
    lock.acquire(mine);
    for (int i = 0; i < waiters; ++i) {
        std::atomic<pid_t> id{0};
        team.emplace_back([&lock, &order, &id, i] {
            id = ::gettid();
            mpt::guard g{lock};
            order.push_back(i);
        });
        while (id == 0 || state_of(id) != 'S') ::usleep(100); // asleep: it has come and waits
        ::usleep(100);
        while (state_of(id) != 'S') ::usleep(100);
    }
    lock.release(mine);
    for (auto& t : team) t.join();
    std::vector<int> wanted(waiters);
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(order, wanted);
}

TYPED_TEST_P(lock_conformance, excludes_processes_that_share_its_memory) {
    if constexpr (!TypeParam::process_shared) GTEST_SKIP() << TypeParam::name << " does not promise to work between processes";
    watchdog const dog{"processes"};
    struct shared {
        typename TestFixture::lock_type lock;
        ten_counters counters;
        std::atomic<int> intrusions{0};
    };
    constexpr int processes = 4;
    constexpr std::uint64_t rounds = 5'000 / less_under_tools;
    void* const place = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(place, MAP_FAILED);
    auto* const s = ::new (place) shared;
    std::array<pid_t, processes> children{};
    for (auto& child : children) {
        child = ::fork();
        if (child != 0) continue;
        for (std::uint64_t i = 0; i < rounds; ++i) {
            mpt::guard g{s->lock};
            if (!s->counters.step()) ++s->intrusions;
            if (i % 256 == 0) ::sched_yield();
        }
        ::_exit(0);
    }
    for (pid_t const child : children) {
        int how = -1;
        ASSERT_EQ(::waitpid(child, &how, 0), child);
        EXPECT_EQ(how, 0);
    }
    EXPECT_EQ(s->intrusions, 0);
    EXPECT_EQ(s->counters.value(), processes * rounds);
    s->~shared();
    ::munmap(place, sizeof(shared));
}

/// Fairness is measured and reported, not asserted: the machine schedules as it likes.
TYPED_TEST_P(lock_conformance, says_how_fairly_it_serves) {
    watchdog const dog{"fairness"};
    constexpr int threads = 4;
    typename TestFixture::lock_type lock;
    std::array<std::uint64_t, threads> served{};
    std::atomic<bool> stop{false};
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t)
        team.emplace_back([&, t] {
            while (!stop.load(std::memory_order_relaxed)) {
                mpt::guard g{lock};
                ++served[static_cast<std::size_t>(t)];
            }
        });
    ::usleep(200'000);
    stop = true;
    for (auto& t : team) t.join();
    auto const [least, most] = std::minmax_element(served.begin(), served.end());
    auto const all = std::accumulate(served.begin(), served.end(), std::uint64_t{0});
    std::printf("%-8s %d threads: %.2f M acquires/s, busiest / idlest thread %.2f\n", std::string{TypeParam::name}.c_str(),
                threads, static_cast<double>(all) / 0.2e6,
                static_cast<double>(*most) / static_cast<double>(std::max<std::uint64_t>(*least, 1)));
    EXPECT_GT(all, 0u);
}

REGISTER_TYPED_TEST_SUITE_P(lock_conformance, lets_one_thread_in_at_a_time, loses_no_wake_up_with_8_threads_on_2_cpus,
                            loses_no_wake_up_with_8_threads_on_1_cpu,
                            can_be_acquired_again_by_its_holder_and_opens_with_the_last_release,
                            excludes_whoever_came_in_by_try_acquire, serves_in_the_order_of_arrival_where_it_promises_so,
                            excludes_processes_that_share_its_memory, says_how_fairly_it_serves);

} // namespace mpt::test
