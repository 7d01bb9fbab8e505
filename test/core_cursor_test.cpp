#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/core/cursor.hpp>

#include "support/numbered.hpp"

namespace {

using mpt::test::bytes_of;
using mpt::test::numbered;

/// Every second byte of a buffer: the smallest layout that is not contiguous.
struct every_second {
    std::byte* base = nullptr;
    std::size_t n = 0;
    std::size_t size() const noexcept { return n; }
    void read(std::size_t offset, std::span<std::byte> into) const noexcept {
        for (std::size_t i = 0; i < into.size(); ++i) into[i] = base[2 * (offset + i)];
    }
    std::optional<std::span<std::byte const>> contiguous() const noexcept { return std::nullopt; }
};
struct into_every_second {
    std::byte* base = nullptr;
    std::size_t n = 0;
    std::size_t size() const noexcept { return n; }
    void write(std::size_t offset, std::span<std::byte const> from) const noexcept {
        for (std::size_t i = 0; i < from.size(); ++i) base[2 * (offset + i)] = from[i];
    }
    std::optional<std::span<std::byte>> contiguous() const noexcept { return std::nullopt; }
};
static_assert(mpt::byte_source<every_second> && mpt::byte_sink<into_every_second>);

TEST(source, that_is_contiguous_is_pointer_and_size) {
    static_assert(sizeof(mpt::source) == 3 * sizeof(void*) && std::is_trivially_copyable_v<mpt::source>);
    auto const data = numbered(100);
    mpt::source const s{data.data(), data.size()};
    EXPECT_EQ(s.size(), 100u);
    EXPECT_TRUE(s.is_contiguous());
    EXPECT_EQ(s.data(), data.data());
    ASSERT_TRUE(s.contiguous());
    EXPECT_EQ(s.contiguous()->data(), data.data());
    EXPECT_EQ(s.contiguous()->size(), 100u);
}

TEST(source, without_bytes_may_be_null) {
    mpt::source const s{};
    EXPECT_EQ(s.size(), 0u);
    s.read(0, {});
    EXPECT_TRUE(s.contiguous()->empty());
}

TEST(source, reads_any_piece_of_any_layout_in_any_order) {
    auto spread = numbered(2000);
    every_second const layout{spread.data(), 1000};
    auto const dense = numbered(1000, 9);
    std::mt19937 random{7}; // seed fixed: the pieces are the same in every run
    for (auto const& s : {mpt::source{std::span{dense}}, mpt::source::of(layout)}) {
        for (int i = 0; i < 500; ++i) {
            std::size_t const offset = random() % 1001, n = random() % (1001 - offset);
            bytes_of piece(n);
            s.read(offset, piece);
            for (std::size_t k = 0; k < n; ++k)
                ASSERT_EQ(piece[k], s.is_contiguous() ? dense[offset + k] : spread[2 * (offset + k)]);
        }
    }
    EXPECT_FALSE(mpt::source::of(layout).contiguous());
}

TEST(source, of_a_contiguous_layout_takes_the_short_way) {
    auto const data = numbered(10);
    mpt::contiguous_source const layout{data};
    EXPECT_TRUE(mpt::source::of(layout).is_contiguous());
    EXPECT_EQ(mpt::source::of(layout).data(), data.data());
}

TEST(sink, writes_any_piece_of_any_layout_in_any_order_and_nothing_beside) {
    auto const message = numbered(600);
    bytes_of spread(1202, std::byte{0xee}), dense(601, std::byte{0xee});
    into_every_second layout{spread.data(), 600};
    for (auto const& s : {mpt::sink{dense.data(), 600}, mpt::sink::of(layout)}) {
        for (std::size_t const offset : {400u, 0u, 200u}) s.write(offset, std::span{message}.subspan(offset, 200));
    }
    for (std::size_t i = 0; i < 600; ++i) {
        ASSERT_EQ(dense[i], message[i]);
        ASSERT_EQ(spread[2 * i], message[i]);
        ASSERT_EQ(spread[2 * i + 1], std::byte{0xee});
    }
    EXPECT_EQ(dense[600], std::byte{0xee});
    EXPECT_EQ(spread[1200], std::byte{0xee});
    EXPECT_FALSE(mpt::sink::of(layout).contiguous());
    EXPECT_TRUE((mpt::sink{dense.data(), 600}.contiguous()));
}

TEST(cursors, carry_a_message_from_layout_to_layout_in_uneven_pieces) {
    auto spread = numbered(600);
    every_second const from{spread.data(), 300};
    bytes_of target(600);
    into_every_second to{target.data(), 300};
    mpt::const_cursor out{mpt::source::of(from)};
    mpt::cursor in{mpt::sink::of(to)};
    std::array<std::byte, 64> cell;
    for (std::size_t n = 1; out.left() > 0; n = n % 59 + 5) {
        auto const now = std::min(n, out.left());
        out.copy_out(cell.data(), now);
        in.copy_in(cell.data(), now);
        EXPECT_EQ(in.position(), out.position());
    }
    EXPECT_EQ(in.left(), 0u);
    for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(target[2 * i], spread[2 * i]);
}

TEST(cursors, go_back_to_where_they_are_sent) {
    auto const data = numbered(32);
    mpt::const_cursor c{mpt::contiguous_source{data}};
    std::byte first{}, again{};
    c.copy_out(&first, 1);
    c.seek(0);
    c.copy_out(&again, 1);
    EXPECT_EQ(first, again);
    c.seek(32);
    EXPECT_EQ(c.left(), 0u);
    EXPECT_EQ(c.contiguous()->data(), data.data());
}

} // namespace
