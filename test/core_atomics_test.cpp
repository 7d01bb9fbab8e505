#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/core/atomics.hpp>

namespace {

using word = mpt::native_atomics::atomic<std::uint32_t>;
using wide = mpt::native_atomics::atomic<std::uint64_t>;

TEST(atomics, of_the_machine_are_lock_free_and_no_larger_than_their_value) {
    static_assert(word::is_always_lock_free && wide::is_always_lock_free); // else they would not work between processes
    static_assert(sizeof(word) == 4 && sizeof(wide) == 8);
}

TEST(atomics, hand_over_plain_data_by_release_and_acquire) {
    constexpr std::uint32_t rounds = 2000;
    std::uint64_t plain = 0; // guarded by turn alone; a sanitizer build proves it
    word turn{0};
    std::thread other{[&] {
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            while (turn.load(std::memory_order_acquire) != 2 * i - 1) std::this_thread::yield();
            plain += i;
            turn.store(2 * i, std::memory_order_release);
        }
    }};
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        plain += i;
        turn.store(2 * i - 1, std::memory_order_release);
        while (turn.load(std::memory_order_acquire) != 2 * i) mpt::native_atomics::pause(), std::this_thread::yield();
    }
    other.join();
    EXPECT_EQ(plain, 2ull * rounds * (rounds + 1) / 2);
}

} // namespace
