#include <array>
#include <cstring>

#include <gtest/gtest.h>
#include <mpt/protocol/wire.hpp>

namespace {
namespace wire = mpt::protocol::wire;

TEST(protocol_wire, a_label_keeps_all_64_bits_of_its_context) {
    for (std::uint64_t c : {0ull, 2ull, 0xfedcba9876543210ull, ~0ull}) {
        auto const l = wire::label::of(mpt::context_id{c}, 7);
        EXPECT_EQ(static_cast<std::uint64_t>(l.context()), c);
        EXPECT_EQ(l.tag, 7);
    }
}
TEST(protocol_wire, what_is_written_is_read_back) {
    std::array<std::byte, 48> frame{};
    wire::write<wire::rts>(frame, {wire::label::of(mpt::context_id{4}, 3), 9, 1ull << 40, 0x1234, 5, 6, 1, 1});
    auto const h = wire::read<wire::rts>(frame);
    ASSERT_TRUE(h);
    EXPECT_EQ(h->size, 1ull << 40);
    EXPECT_EQ(h->ticket, 9u);
    EXPECT_EQ(h->generation, 6u);
}
/// What is written member by member lies where the whole would.
template <class T> void expect_bytes_of(T const& h) {
    std::array<std::byte, sizeof(T) + 1> frame;
    frame.fill(std::byte{0xaa});
    wire::write(frame, h);
    EXPECT_EQ(std::memcmp(frame.data(), &h, sizeof h), 0);
    EXPECT_EQ(frame.back(), std::byte{0xaa});
}
TEST(protocol_wire, headers_of_small_messages_are_written_member_by_member_to_the_same_places) {
    auto const what = wire::label::of(mpt::context_id{0xfedcba9876543210ull}, 0x01020304);
    expect_bytes_of(wire::e0{what});
    expect_bytes_of(wire::e1{what, 0x21222324, 0x3132333435363738, 0x41424344, 0x51525354});
}
TEST(protocol_wire, a_frame_shorter_than_its_header_is_refused) {
    std::array<std::byte, 47> frame{};
    EXPECT_FALSE(wire::read<wire::rts>(frame));
    EXPECT_TRUE(wire::read<wire::cts>(frame));
    EXPECT_FALSE(wire::read<wire::fin>(std::span{frame}.first(7)));
}
} // namespace
