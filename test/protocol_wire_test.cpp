#include <array>

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
TEST(protocol_wire, a_frame_shorter_than_its_header_is_refused) {
    std::array<std::byte, 47> frame{};
    EXPECT_FALSE(wire::read<wire::rts>(frame));
    EXPECT_TRUE(wire::read<wire::cts>(frame));
    EXPECT_FALSE(wire::read<wire::fin>(std::span{frame}.first(7)));
}
} // namespace
