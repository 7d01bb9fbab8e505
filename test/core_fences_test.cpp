#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/core/atomics.hpp>
#include <mpt/core/fences.hpp>
#include <mpt/core/processor.hpp>

namespace {

using fences = mpt::native_fences;
using word = mpt::native_atomics::atomic<std::uint32_t>;

/// Two threads meet here; spins with yields, since the machine may have one CPU.
class meeting {
    std::atomic<unsigned> came_{0};

public:
    void meet(unsigned round) {
        came_.fetch_add(1);
        while (came_.load() < 2 * (round + 1)) std::this_thread::yield();
    }
};

/// Dekker: each stores its flag and looks at the other's; at least one must see. Returns how often both missed.
unsigned both_missed(mpt::fence_mode mode, unsigned rounds) {
    alignas(mpt::line_pair) word published{0};
    alignas(mpt::line_pair) word asleep{0};
    unsigned missed = 0, sender_saw = 0, sleeper_saw = 0;
    meeting before, after;
    std::thread sender{[&] {
        for (unsigned i = 0; i < rounds; ++i) {
            before.meet(i);
            published.store(i + 1, std::memory_order_relaxed);
            fences::light(mode);
            sender_saw = asleep.load(std::memory_order_relaxed);
            after.meet(i);
        }
    }};
    for (unsigned i = 0; i < rounds; ++i) {
        before.meet(i);
        asleep.store(i + 1, std::memory_order_relaxed);
        fences::heavy(mode);
        sleeper_saw = published.load(std::memory_order_relaxed);
        after.meet(i);
        if (sender_saw != i + 1 && sleeper_saw != i + 1) ++missed;
    }
    sender.join();
    return missed;
}

TEST(fences, on_both_sides_never_let_both_miss) {
    if (MPT_THREAD_SANITIZER)
        GTEST_SKIP() << "ThreadSanitizer does not understand fences; the doorbell uses an operation there";
    EXPECT_EQ(both_missed(mpt::fence_mode::both, 20'000), 0u);
}

TEST(fences, of_the_sleeper_alone_never_let_both_miss) {
    if (MPT_THREAD_SANITIZER)
        GTEST_SKIP() << "ThreadSanitizer does not understand fences; the doorbell uses an operation there";
    if (!mpt::register_heavy()) GTEST_SKIP() << "membarrier is refused here";
    EXPECT_EQ(both_missed(mpt::fence_mode::sleeper, 5'000), 0u);
}

TEST(fences, registering_twice_is_as_good_as_once) {
    auto const first = mpt::register_heavy();
    EXPECT_EQ(mpt::register_heavy(), first);
}

TEST(fences, drain_publishes_streaming_stores_before_the_release_that_follows) {
    constexpr unsigned rounds = 5'000;
    alignas(64) std::array<int, 16> line{}, next{};
    word ready{0}, taken{0};
    std::thread reader{[&] {
        for (unsigned i = 1; i <= rounds; ++i) {
            while (ready.load(std::memory_order_acquire) != i) std::this_thread::yield();
            for (int const v : line) ASSERT_EQ(v, static_cast<int>(i));
            taken.store(i, std::memory_order_release);
        }
    }};
    for (unsigned i = 1; i <= rounds; ++i) {
        next.fill(static_cast<int>(i));
        for (std::size_t at = 0; at < sizeof line; at += mpt::processor::around)
            mpt::processor::store_around(reinterpret_cast<std::byte*>(line.data()) + at,
                                         reinterpret_cast<std::byte const*>(next.data()) + at);
        fences::drain();
        ready.store(i, std::memory_order_release);
        while (taken.load(std::memory_order_acquire) != i) std::this_thread::yield();
    }
    reader.join();
}

} // namespace
