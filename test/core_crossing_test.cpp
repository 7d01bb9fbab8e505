#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include <mpt/core/crossing.hpp>
#include <mpt/core/processor.hpp>

namespace {
using namespace mpt;

/// Copies [0, n) of a pattern by `copy` and looks at what came, and at what lies beside it.
template <class Copy> void expect_copies(std::size_t n, std::size_t shift_to, std::size_t shift_from, Copy copy) {
    std::vector<std::byte> from(n + 128), to(n + 256, std::byte{0xee});
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
    auto const start = (64 - reinterpret_cast<std::uintptr_t>(to.data()) % 64) % 64 + shift_to;
    copy(to.data() + start, from.data() + shift_from, n);
    ASSERT_EQ(std::memcmp(to.data() + start, from.data() + shift_from, n), 0) << n;
    for (std::size_t i = 0; i < to.size(); ++i)
        if (i < start || i >= start + n) { ASSERT_EQ(to[i], std::byte{0xee}) << n << " bytes, at " << i; }
}

TEST(core_crossing, copies_every_size_wherever_it_lies) {
    for (std::size_t n : {0u, 1u, 63u, 64u, 65u, 255u, 256u, 257u, 1023u, 1024u, 1025u, 1280u, 1281u, 4095u, 4096u, 4351u,
                          4352u, 5000u, 70000u})
        for (std::size_t shift : {0u, 1u, 16u, 63u}) {
            expect_copies(n, shift, 0, copy_ahead<false>);
            expect_copies(n, 0, shift, copy_ahead<true>);
            expect_copies(n, shift, 0, copy_around);
            expect_copies(n, 0, shift, copy_around);
            expect_copies(n, shift, 0, copy_past);
            expect_copies(n, 0, shift, copy_past);
            expect_copies(n, 0, shift, [](std::byte* to, std::byte const* from, std::size_t size) {
                crossing way;
                way.write(to, from, size);
                for (int i = 0; i < 3; ++i) way.took(size + 100, size);
                way.write(to, from, size);
            });
        }
}

/// As code that does not know the size.
[[gnu::noinline]] void write(crossing& way, std::byte* to, std::byte const* from, std::size_t n) { way.write(to, from, n); }

TEST(core_crossing, goes_around_the_caches_while_writes_take_long) {
    crossing way;
    std::vector<std::byte> a(8192), b(8192 + 64);
    auto* const to = b.data() + (64 - reinterpret_cast<std::uintptr_t>(b.data()) % 64) % 64;
    EXPECT_FALSE(way.is_far());
    for (unsigned i = 1; i < crossing::convinced; ++i) way.took(10000, 8192);
    EXPECT_FALSE(way.is_far()) << "once or twice may be chance";
    way.took(100, 8192);
    for (unsigned i = 1; i < crossing::convinced; ++i) way.took(10000, 8192);
    EXPECT_FALSE(way.is_far()) << "they must follow each other";
    way.took(10000, 8192);
    EXPECT_TRUE(way.is_far());
    if constexpr (!processor::has_ticks) return write(way, to, a.data(), 8192); // no write knows how long it took
    for (unsigned i = 0; i < crossing::spell; ++i) {
        EXPECT_TRUE(way.is_far());
        write(way, to, a.data(), 8192);
        write(way, to, a.data(), crossing::least - 1); // what is short does not count
    }
    EXPECT_FALSE(way.is_far()) << "then one is written the usual way";
    way.took(10000, 8192);
    EXPECT_TRUE(way.is_far()) << "and if that takes long, it is as before";
}

TEST(core_crossing, comes_back_when_a_write_is_fast_again) {
    crossing way;
    std::vector<std::byte> a(4096), b(4096 + 64);
    auto* const to = b.data() + (64 - reinterpret_cast<std::uintptr_t>(b.data()) % 64) % 64;
    for (unsigned i = 0; i < crossing::convinced; ++i) way.took(5000, 4096);
    for (unsigned i = 0; i < crossing::spell; ++i) write(way, to, a.data(), 4096);
    way.took(2048, 4096);
    for (unsigned i = 1; i < crossing::convinced; ++i) way.took(5000, 4096);
    EXPECT_FALSE(way.is_far());
}

} // namespace
