#include <gtest/gtest.h>

#include <vector>

#include <mpt/transport/smp/layout.hpp>
#include <mpt/world/native.hpp>

namespace {
using namespace mpt;

struct alignas(line_pair) page {
    std::byte bytes[4096]{};
};

TEST(smp_layout, words_of_different_writers_lie_two_lines_apart) {
    using box = smp::mailbox<>;
    EXPECT_EQ(offsetof(box, consumed), 0u);
    EXPECT_EQ(offsetof(box, before_turn), 128u);
    EXPECT_EQ(offsetof(box, turn), 192u);
    EXPECT_EQ(offsetof(box, ring), 256u);
    EXPECT_EQ(sizeof(smp::lane_block<world::native>), 256u);
    EXPECT_EQ(offsetof(smp::lane_block<world::native>, nonce), 128u);
    EXPECT_EQ(sizeof(smp::lane_address), 40u);
}

TEST(smp_layout, a_mailbox_is_a_head_and_its_cells) {
    EXPECT_EQ(smp::mailbox<>::bytes_for(256), 256u + 256 * 64);
    EXPECT_EQ(smp::mailbox<>::bytes_for(4), 512u);
    page p;
    auto& m = smp::mailbox<>::make(p.bytes, 16, 77);
    EXPECT_EQ(m.lines, 16u);
    EXPECT_EQ(m.consumed.load(), 77u);
    EXPECT_EQ(reinterpret_cast<std::byte*>(m.ring), p.bytes + 256);
    EXPECT_EQ(m.turn.long_front(), m.before_turn.data());
}

TEST(smp_layout, a_slice_gives_no_object_that_does_not_lie_in_it) {
    page p;
    smp::slice_view const s{std::span{p.bytes}};
    using block = smp::lane_block<world::native>;
    EXPECT_NE(s.object<block>(0), nullptr);
    EXPECT_NE(s.object<block>(4096 - 256), nullptr);
    EXPECT_EQ(s.object<block>(4096 - 128), nullptr) << "it ends outside";
    EXPECT_EQ(s.object<block>(64), nullptr) << "not aligned";
    EXPECT_EQ(s.object<block>(~std::uint64_t{0} - 127), nullptr);
    EXPECT_EQ(s.object<std::uint64_t>(0, 513), nullptr);
    EXPECT_TRUE(s.holds(4096, 0));
    EXPECT_FALSE(s.holds(4096, 1));
    EXPECT_FALSE(s.holds(1, ~std::uint64_t{0}));
    EXPECT_FALSE(smp::slice_view{}.holds(0, 1));
}

TEST(smp_layout, a_directory_shows_nothing_until_a_mailbox_is_published) {
    page p;
    auto* e = reinterpret_cast<smp::directory_entry<>*>(p.bytes);
    EXPECT_EQ(e->look(), 0u);
    e->publish(4096);
    EXPECT_EQ(e->look(), 4096u);
}

} // namespace
