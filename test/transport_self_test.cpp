// transport/self.hpp, by the laws of its contract and a few of its own.
#include "transport_memory_conformance.hpp"
#include <mpt/transport/self.hpp>

namespace {
using mpt::transport::self;
struct narrow : self<mpt::bytes{48}, 4, mpt::bytes{64}, 1> {}; // the least there can be
template <class T> using room_of = mpt::test::transport_room<T>;

TEST(transport_self, reaches_its_own_rank_and_nobody_else) {
    room_of<self<>> room{3};
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b) EXPECT_EQ(room.end(a).reaches(b), a == b);
    EXPECT_FALSE(room.end(0).reserve(1, 1));
    EXPECT_FALSE(room.end(0).lend(1, 1));
}

TEST(transport_self, holds_as_many_frames_as_it_says) {
    room_of<self<>> room{1};
    for (int i = 0; i < 16; ++i) {
        auto c = room.end(0).reserve(0, 1);
        ASSERT_TRUE(c);
        room.end(0).commit(std::move(c), 1);
    }
    EXPECT_FALSE(room.end(0).reserve(0, 1));
    EXPECT_EQ(room.pump(0, 0, 3), 3u);
    for (int i = 0; i < 3; ++i) {
        auto c = room.end(0).reserve(0, 1);
        ASSERT_TRUE(c);
        room.end(0).commit(std::move(c), 1);
    }
    EXPECT_FALSE(room.end(0).reserve(0, 1));
}

TEST(transport_self, a_slot_is_not_used_again_while_its_frame_is_read) {
    room_of<narrow> room{1};
    for (std::uint16_t i = 0; i < 4; ++i) ASSERT_TRUE(room.send_pattern(0, 0, i, 48, i));
    room.end(0).poll(
        [&](mpt::frame const& f) noexcept {
            EXPECT_FALSE(room.end(0).reserve(0, 48)) << "all slots are taken: one is being read";
            EXPECT_TRUE(mpt::test::matches(f.payload, f.op));
        },
        1);
    EXPECT_TRUE(room.end(0).reserve(0, 48));
}

using policies = testing::Types<self<>, narrow>;
INSTANTIATE_TYPED_TEST_SUITE_P(self, transport_conformance, policies);
INSTANTIATE_TYPED_TEST_SUITE_P(self, transport_lending_conformance, policies);
INSTANTIATE_TYPED_TEST_SUITE_P(self, transport_readable_conformance, policies);
} // namespace
