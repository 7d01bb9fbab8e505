// A biased lock in full traffic: its bias is earned and revoked at random moments. Run under ThreadSanitizer too, with fences that
// are real there: what a bias hands over goes by a release and an acquire, which it understands.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include <mpt/lock/ticket.hpp>
#include <mpt/world/threads.hpp>
#include <sched.h>

#include "support/watchdog.hpp"

namespace {

std::uint64_t seed() {
    static auto const s = [] {
        auto const* given = std::getenv("MPT_STRESS_SEED");
        auto const v = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
        std::printf("seed %llu (repeat with MPT_STRESS_SEED)\n", static_cast<unsigned long long>(v));
        return static_cast<std::uint64_t>(v);
    }();
    return s;
}
double seconds() {
    auto const* given = std::getenv("MPT_STRESS_S");
    return given ? std::strtod(given, nullptr) : 2.0;
}

/// The machine, with its own barriers under every tool.
struct fenced : mpt::world::threads {
    static inline std::atomic<std::uint64_t> barriers{0}; // of revocations
    struct atomics : mpt::native_atomics {
        struct fences {
            static constexpr bool invisible = false;
            static void light(mpt::fence_mode) noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
            static void heavy(mpt::fence_mode) noexcept { mpt::heavy_barrier(); }
            static void heavy_here(mpt::fence_mode) noexcept {
                mpt::heavy_barrier_here();
                barriers.fetch_add(1, std::memory_order_relaxed);
            }
            static void drain() noexcept {}
        };
    };
};

/// Everything is plain: only the lock keeps it whole.
template <class Lock> struct shared {
    Lock lock{{}, mpt::fence_mode::sleeper};
    std::array<std::uint64_t, 8> counters{};
    std::uint64_t entered = 0;

    bool pass(std::mt19937_64& random) {
        typename Lock::node outer, inner;
        if (random() % 4 != 0 || !lock.try_acquire(outer)) lock.acquire(outer);
        bool const again = random() % 4 == 0;
        if (again) lock.acquire(inner);
        bool whole = true;
        for (auto& c : counters) whole = whole && c == counters[0];
        for (auto& c : counters) ++c;
        ++entered;
        if (random() % 1024 == 0) ::sched_yield();
        if (random() % 4 == 0) lock.in_vain();
        if (again) lock.release(inner);
        lock.release(outer);
        if (random() % 256 == 0) lock.give_up();
        return whole;
    }
};

using awake = mpt::lock::basic_ticket<1000, 16, 8, 1>::type<fenced>;
using asleep = mpt::lock::basic_ticket<0, 0, 1, 1>::type<fenced>;
/// Tenants have the bias after a few passes, and nobody else has.
using settled = mpt::lock::basic_ticket<100, 16, 8, 1'000'000'000, 16, 64, 1024, 16, 2, 4, 5, 1, 64, 2>::type<fenced>;

/// A new lock, for its patience grows: thread 0 is nearly always there, the others visit it and go. How often it was entered.
template <class Lock> std::uint64_t one_round(unsigned visitors, std::uint64_t first) {
    shared<Lock> s;
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> passes{0}, broken{0};
    std::vector<std::thread> team;
    for (unsigned t = 0; t <= visitors; ++t)
        team.emplace_back([&, t] {
            std::mt19937_64 random{first + t};
            std::uint64_t mine = 0;
            while (!stop.load(std::memory_order_relaxed)) {
                for (auto n = 1 + random() % 64; n > 0; --n, ++mine)
                    if (!s.pass(random)) broken.fetch_add(1, std::memory_order_relaxed);
                if (t != 0) std::this_thread::sleep_for(std::chrono::microseconds{random() % 100});
            }
            passes += mine;
        });
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    stop = true;
    for (auto& t : team) t.join();
    EXPECT_EQ(broken, 0u);
    EXPECT_EQ(s.entered, passes);
    EXPECT_EQ(s.counters[7], passes);
    return s.entered;
}

template <class Lock> void visit(unsigned visitors) {
    if (!mpt::register_heavy()) GTEST_SKIP() << "membarrier is refused here";
    mpt::test::watchdog const dog{"a biased lock", std::chrono::seconds{100}};
    fenced::barriers = 0;
    std::uint64_t entered = 0;
    auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>{seconds() / 5};
    for (auto first = seed(); std::chrono::steady_clock::now() < end && !testing::Test::HasFailure(); first += 100)
        entered += one_round<Lock>(visitors, first);
    std::printf("%llu passes, %llu revocations\n", static_cast<unsigned long long>(entered),
                static_cast<unsigned long long>(fenced::barriers.load()));
    EXPECT_GT(fenced::barriers, 0u);
}

TEST(lock_bias_stress, one_visitor_finds_all_as_the_favourite_left_it) { visit<awake>(1); }
TEST(lock_bias_stress, five_visitors_find_all_as_the_favourite_left_it) { visit<awake>(5); }
TEST(lock_bias_stress, visitors_find_all_as_a_tenant_left_it) { visit<settled>(1); }
TEST(lock_bias_stress, five_visitors_find_all_as_tenants_left_it) { visit<settled>(5); }
TEST(lock_bias_stress, five_visitors_that_sleep_at_once_find_all_as_the_favourite_left_it) { visit<asleep>(5); }

} // namespace
