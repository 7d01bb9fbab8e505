#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/core/copying.hpp>

#include "support/numbered.hpp"

namespace {

using mpt::test::bytes_of;
using mpt::test::numbered;

TEST(copy_small, moves_every_length_exactly_from_and_to_every_alignment) {
    for (std::size_t n = 0; n <= mpt::small_copy; ++n) {
        for (std::size_t shift = 0; shift < 16; ++shift) {
            auto const from = numbered(128);
            bytes_of to(128, std::byte{0xee});
            mpt::copy_small(to.data() + 16 + shift, from.data() + (shift * 5) % 16, n);
            for (std::size_t i = 0; i < to.size(); ++i) {
                bool const inside = i >= 16 + shift && i < 16 + shift + n;
                auto const expected = inside ? from[(shift * 5) % 16 + i - 16 - shift] : std::byte{0xee};
                ASSERT_EQ(to[i], expected) << "length " << n << ", shift " << shift << ", at " << i;
            }
        }
    }
}

/// Two runs of n bytes whose addresses are `ahead` apart but for the page, and bytes around the first.
struct aliased_runs {
    static constexpr std::size_t page = 4096, around = 64;
    std::vector<std::byte> to_memory, from_memory;
    std::byte *to, *from;
    aliased_runs(std::size_t n, std::size_t ahead) : to_memory(n + 4 * page, std::byte{0xee}), from_memory(n + 4 * page) {
        for (std::size_t i = 0; i < from_memory.size(); ++i) from_memory[i] = static_cast<std::byte>(i * 7 % 251);
        auto const up = [](std::byte* p) { return p + (page - reinterpret_cast<std::uintptr_t>(p) % page) + around; };
        to = up(to_memory.data()) + ahead, from = up(from_memory.data());
    }
    bool is_exact(std::size_t n) const {
        return std::equal(to, to + n, from) && std::all_of(to - around, to, [](std::byte b) { return b == std::byte{0xee}; }) &&
               std::all_of(to + n, to + n + around, [](std::byte b) { return b == std::byte{0xee}; });
    }
};

TEST(copy_bytes, moves_exactly_what_lies_just_behind_but_for_the_page) {
    using copies = void(std::byte*, std::byte const*, std::size_t) noexcept;
    for (copies* const copy : {&mpt::copy_bytes, &mpt::copy_string, &mpt::copy_each_once})
        for (std::size_t const n : {1535, 1536, 4095, 4096, 4097, 4223, 8191, 8192, 12'345, 70'001})
            for (std::size_t ahead = 0; ahead < 40; ++ahead) {
                aliased_runs const r{n, ahead};
                EXPECT_EQ(mpt::detail::aliases(r.to, r.from), ahead >= 1 && ahead < 32);
                copy(r.to, r.from, n);
                ASSERT_TRUE(r.is_exact(n)) << n << " bytes, " << ahead << " ahead";
            }
}

/// Whole vectors in their places and what is before and behind them; more than a cache holds; from and to every alignment.
TEST(copy_bytes, moves_long_runs_exactly_from_and_to_every_alignment) {
    constexpr std::size_t around = 64;
    for (std::size_t const n : {1536, 1537, 1600, 2047, 3000, 4096, 8191, 16'384, 32'767, 32'768, 32'769, 40'000})
        for (std::size_t shift = 0; shift < around; shift += n < 5000 ? 1 : 7) {
            auto const from = numbered(n + 2 * around);
            bytes_of to(n + 3 * around, std::byte{0xee});
            auto* const at = to.data() + around + shift;
            auto const* const first = from.data() + shift * 5 % around;
            mpt::copy_bytes(at, first, n);
            ASSERT_TRUE(std::equal(at, at + n, first)) << n << " bytes, shift " << shift;
            ASSERT_TRUE(std::all_of(to.data(), at, [](std::byte b) { return b == std::byte{0xee}; })) << n << ", " << shift;
            ASSERT_TRUE(std::all_of(at + n, to.data() + to.size(), [](std::byte b) { return b == std::byte{0xee}; })) << n;
        }
}

TEST(copy_each_once, moves_every_length_exactly_from_and_to_every_alignment_and_within_itself) {
    for (std::size_t n = 0; n <= 200; ++n)
        for (std::size_t shift = 0; shift < 16; ++shift) {
            auto const from = numbered(256);
            bytes_of to(256);
            mpt::copy_each_once(to.data() + 16 + shift, from.data() + (shift * 5) % 16, n);
            for (std::size_t i = 0; i < to.size(); ++i) {
                bool const inside = i >= 16 + shift && i < 16 + shift + n;
                ASSERT_EQ(to[i], inside ? from[i - 16 - shift + (shift * 5) % 16] : std::byte{}) << n << " bytes, " << shift;
            }
            auto here = numbered(256);
            mpt::copy_each_once(here.data() + 16, here.data() + 16 + shift, n);
            for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(here[16 + i], from[16 + shift + i]) << n << " bytes, " << shift;
        }
}

TEST(copy_small, survives_overlap_in_both_directions) {
    for (std::size_t n = 1; n <= mpt::small_copy; ++n) {
        for (int const by : {-17, -3, 3, 17}) {
            auto here = numbered(160);
            auto expected = here;
            std::memmove(expected.data() + 40 + by, expected.data() + 40, n);
            mpt::copy_small(here.data() + 40 + by, here.data() + 40, n);
            ASSERT_EQ(here, expected) << n << " bytes moved by " << by;
        }
    }
}

TEST(copy_bytes, copies_the_lengths_around_each_change_of_way_and_nothing_from_null) {
    for (auto const copy : {&mpt::copy_bytes, &mpt::copy_string}) {
        for (std::size_t const n :
             {63u, 64u, 65u, 66u, 1000u, 1535u, 1536u, 4095u, 4096u, 4097u, 6145u, 8191u, 8192u, 40000u}) {
            auto const from = numbered(n);
            bytes_of to(n + 1, std::byte{0xee});
            copy(to.data(), from.data(), n);
            EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin()));
            EXPECT_EQ(to[n], std::byte{0xee});
        }
        copy(nullptr, nullptr, 0);
    }
}

} // namespace
