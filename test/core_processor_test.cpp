#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/core/processor.hpp>
#include <mpt/core/processor/vectors.hpp>

namespace {
using namespace mpt;

std::vector<std::byte> pattern(std::size_t n, unsigned seed) {
    std::vector<std::byte> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
    return v;
}

TEST(core_processor, has_a_name_and_no_gift_of_another) {
    std::string_view const name = processor::name;
    EXPECT_FALSE(name.empty());
    if (name == "x86_64") {
        EXPECT_TRUE(processor::copies_strings && processor::stores_around && processor::has_ticks && processor::may_swap_wide);
    } else {
        EXPECT_FALSE(processor::copies_strings || processor::stores_around || processor::has_ticks || processor::may_swap_wide);
        EXPECT_FALSE(processor::is_of_amd() || processor::has_vectors_of_32() || processor::likes_vectors_of_64());
    }
}

TEST(core_processor, who_waits_goes_on) {
    std::atomic<bool> go{false};
    std::thread other{[&] { go.store(true); }};
    while (!go.load()) processor::pause(), processor::count_down(10);
    other.join();
    processor::count_down(0);
    processor::count_down(-1);
}

TEST(core_processor, ticks_go_forward_in_a_thread) {
    auto const first = processor::ticks();
    processor::count_down(100'000);
    auto const second = processor::ticks();
    if constexpr (processor::has_ticks) {
        EXPECT_GT(second, first);
    } else {
        EXPECT_EQ(second, first);
    }
}

TEST(core_processor, copies_strings_of_every_length_and_nothing_beside_them) {
    for (std::size_t n : {0u, 1u, 15u, 64u, 65u, 4096u, 10'001u})
        for (std::size_t shift : {0u, 1u, 63u}) {
            auto const from = pattern(n + shift, 3);
            std::vector<std::byte> to(n + 128, std::byte{0xee});
            processor::copy_string(to.data() + 64, from.data() + shift, n);
            if (n > 0) { EXPECT_EQ(std::memcmp(to.data() + 64, from.data() + shift, n), 0) << n; }
            for (std::size_t i = 0; i < 64; ++i) {
                ASSERT_EQ(to[i], std::byte{0xee}) << n << " bytes, before them at " << i;
                ASSERT_EQ(to[64 + n + i], std::byte{0xee}) << n << " bytes, behind them at " << i;
            }
        }
}

TEST(core_processor, stores_around_the_caches_what_it_is_given) {
    constexpr std::size_t lines = 8 * 64;
    alignas(64) std::array<std::byte, lines + 64> to{};
    auto const from = pattern(lines + 1, 5);
    for (std::size_t at = 0; at < lines; at += processor::around)
        processor::store_around(to.data() + at, from.data() + 1 + at); // from anywhere
    processor::order_stores();
    EXPECT_EQ(std::memcmp(to.data(), from.data() + 1, lines), 0);
    for (std::size_t i = lines; i < to.size(); ++i) EXPECT_EQ(to[i], std::byte{0});
}

TEST(core_processor, a_line_that_is_fetched_to_be_written_is_as_it_was) {
    auto v = pattern(4096, 9);
    auto const before = v;
    for (std::size_t at = 0; at < v.size(); at += 64) processor::fetch_to_write(v.data() + at);
    processor::is_read(v.data());
    EXPECT_EQ(v, before);
}

class wide_swap : public testing::Test {
protected:
    alignas(16) std::array<std::uint64_t, 4> place{1, 2, 3, 4};

    void SetUp() override {
        if (!processor::may_swap_wide || !processor::swaps_wide()) GTEST_SKIP() << "this processor does not swap 16 bytes";
    }
    static std::byte const* bytes(std::array<std::uint64_t, 2> const& v) {
        return reinterpret_cast<std::byte const*>(v.data());
    }
    bool swap(std::array<std::uint64_t, 2> const& seen, std::array<std::uint64_t, 2> const& next) {
        return processor::swap_wide(reinterpret_cast<std::uintptr_t>(place.data()), bytes(seen), bytes(next));
    }
};

TEST_F(wide_swap, changes_what_was_seen_and_nothing_beside_it) {
    EXPECT_TRUE(swap({1, 2}, {std::numeric_limits<std::uint64_t>::max(), 7}));
    EXPECT_EQ(place, (std::array<std::uint64_t, 4>{std::numeric_limits<std::uint64_t>::max(), 7, 3, 4}));
}

TEST_F(wide_swap, changes_nothing_where_either_word_is_another) {
    EXPECT_FALSE(swap({9, 2}, {5, 6}));
    EXPECT_FALSE(swap({1, 9}, {5, 6}));
    EXPECT_EQ(place, (std::array<std::uint64_t, 4>{1, 2, 3, 4}));
}

/// Words of our own, each loaded at once: what a thread reads may be half old and half new, and then the swap must refuse it.
TEST_F(wide_swap, loses_no_change_of_two_threads) {
    constexpr std::uint64_t rounds = 20'000;
    auto const add = [&] {
        for (std::uint64_t i = 0; i < rounds; ++i)
            for (;;) {
                std::array const seen{std::atomic_ref{place[0]}.load(), std::atomic_ref{place[1]}.load()};
                if (swap(seen, {seen[0] + 1, seen[1] + 2})) break;
            }
    };
    std::thread other{add};
    add();
    other.join();
    EXPECT_EQ(place, (std::array<std::uint64_t, 4>{1 + 2 * rounds, 2 + 4 * rounds, 3, 4}));
}

template <class T>
[[gnu::always_inline]] inline void add(T const* __restrict left, T* __restrict right, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) right[i] += left[i];
}
[[MPT_BY_32]] void add_by_32(double const* left, double* right, std::size_t n) noexcept { add(left, right, n); }
[[MPT_BY_64]] void add_by_64(double const* left, double* right, std::size_t n) noexcept { add(left, right, n); }

TEST(core_processor, functions_for_wider_vectors_give_what_the_loop_gives) {
    std::vector<double> left(1003), right(1003);
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = 0.1 * static_cast<double>(i), right[i] = 1.0 / (1.0 + left[i]);
    auto wanted = right, by_32 = right, by_64 = right;
    add(left.data(), wanted.data(), wanted.size());
    if (processor::has_vectors_of_32()) {
        add_by_32(left.data(), by_32.data(), by_32.size());
        EXPECT_EQ(by_32, wanted);
    }
    if (processor::likes_vectors_of_64()) {
        EXPECT_TRUE(processor::has_vectors_of_32()) << "what has the wider ones has the others";
        add_by_64(left.data(), by_64.data(), by_64.size());
        EXPECT_EQ(by_64, wanted);
    }
}

} // namespace
