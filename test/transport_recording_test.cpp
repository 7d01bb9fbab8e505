// transport/recording.hpp: counts what it says, and is still the transport that it wraps.
#include "transport_memory_conformance.hpp"
#include <mpt/transport/recording.hpp>
#include <mpt/transport/self.hpp>
#include <mpt/transport/stream.hpp>

namespace {
using mpt::transport::recording;
using mpt::transport::self;
using mpt::transport::stream;
using mpt::transport::stream_kind;

TEST(transport_recording, counts_frames_and_bytes_by_op) {
    mpt::test::transport_room<recording<self<>>> room{1};
    for (std::uint16_t op : {3, 3, 5, 63, 64, 0xffff}) ASSERT_TRUE(room.send_pattern(0, 0, op, op == 5 ? 10 : 1, op));
    { auto dropped = room.end(0).reserve(0, 4); }
    auto const& sent = room.end(0).sent();
    EXPECT_EQ(sent.of(3), 2u);
    EXPECT_EQ(sent.of(5), 1u);
    EXPECT_EQ(sent.of(4), 0u);
    EXPECT_EQ(sent.of(63), 3u) << "and all above, together";
    EXPECT_EQ(sent.total(), 6u) << "an abandoned cell is no frame";
    EXPECT_EQ(sent.bytes, 15u);
    EXPECT_EQ(room.end(0).received().total(), 0u) << "nothing was polled";
    EXPECT_EQ(room.pump(0, 0, 2), 2u);
    EXPECT_EQ(room.end(0).received().of(3), 2u);
    EXPECT_EQ(room.end(0).poll_from(0, [](mpt::frame const& f) noexcept { EXPECT_EQ(f.op, 5); }), 1u);
    EXPECT_EQ(room.end(0).received().of(5), 1u);
    EXPECT_EQ(room.end(0).received().bytes, 12u);
}

TEST(transport_recording, offers_what_the_wrapped_transport_offers) {
    static_assert(mpt::transport_lending<recording<self<>>::endpoint<mpt::world::threads>>);
    static_assert(mpt::transport_readable<recording<self<>>::endpoint<mpt::world::threads>>);
    static_assert(!mpt::transport_lending<recording<stream<>>::endpoint<mpt::world::threads>>);
    static_assert(mpt::transport_noticing<recording<stream<>>::endpoint<mpt::world::threads>>);
    EXPECT_EQ(recording<self<>>::facts.max_frame, self<>::facts.max_frame);
}

using policies = testing::Types<recording<self<>>, recording<stream<stream_kind::local>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(recording, transport_conformance, policies);
using lenders = testing::Types<recording<self<>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(recording, transport_lending_conformance, lenders);
INSTANTIATE_TYPED_TEST_SUITE_P(recording, transport_readable_conformance, lenders);
} // namespace
