// What an engine counts: every message once, by its way.
#include <gtest/gtest.h>
#include <mpt/protocol/counts.hpp>

namespace {
using namespace mpt::protocol;

TEST(protocol_counts, what_the_fast_path_declined_was_not_sent_by_it) {
    counts c;
    c.tried = 10, c.declined = 3, c.sent_now_bytes = 70;
    c.sent[0].count(5);
    EXPECT_EQ(c.sent_by(way::frame).messages, 8u);
    EXPECT_EQ(c.sent_by(way::frame).bytes, 75u);
    EXPECT_EQ(c.sent_by(way::loan).messages, 0u);
}

TEST(protocol_counts, each_way_has_its_own_numbers) {
    counts c;
    for (unsigned w = 0; w < ways; ++w)
        for (unsigned i = 0; i <= w; ++i) c.sent[w].count(100 * w), c.received[w].count(1);
    c.taken_now.count(7);
    for (unsigned w = 0; w < ways; ++w) {
        EXPECT_EQ(c.sent_by(way{static_cast<std::uint8_t>(w)}).messages, w + 1);
        EXPECT_EQ(c.sent_by(way{static_cast<std::uint8_t>(w)}).bytes, (w + 1) * 100 * w);
    }
    EXPECT_EQ(c.received_by(way::frame).messages, 2u);
    EXPECT_EQ(c.received_by(way::frame).bytes, 8u);
    EXPECT_EQ(c.received_by(way::rendezvous).bytes, 3u);
}

} // namespace
