#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include <mpt/transport/smp/channel.hpp>

namespace {
using namespace mpt;
using smp::direction;

/// A pair of channels over memory of this process: the lower rank owns the turn line.
struct duplex {
    static constexpr std::uint32_t lines = 8;
    std::vector<smp::line<>> to_lower = std::vector<smp::line<>>(lines), to_higher = std::vector<smp::line<>>(lines);
    native_atomics::atomic<std::uint32_t> by_lower, by_higher;
    smp::line<> turn{}, nothing{};
    smp::channel<> lower, higher;
    int far = 0;

    explicit duplex(std::uint32_t first)
        : by_lower{first}, by_higher{first}, lower{nothing, direction::from_lower, direction::from_higher, first},
          higher{nothing, direction::from_higher, direction::from_lower, first} {
        lower.attach(smp::ring_reader<>{to_lower.data(), by_lower, lines, first});
        lower.attach(smp::turn_line<>{turn, false});
        lower.attach(smp::ring_writer<>{to_higher.data(), by_higher, lines, first});
        higher.attach(smp::ring_reader<>{to_higher.data(), by_higher, lines, first});
        higher.attach(smp::ring_writer<>{to_lower.data(), by_lower, lines, first});
        higher.attach(smp::turn_line<>{turn, true});
        lower.attach(&far);
        higher.attach(&far);
    }
};
bool put(smp::channel<>& c, std::uint16_t value) {
    auto const s = c.reserve();
    if (s.at) s.at->publish(0, value, s.number);
    return s.at != nullptr;
}
/// The value of the next frame, or -1.
int get(smp::channel<>& c) {
    int v = -1;
    c.take([&](smp::line<>& l) { v = l.op; }, [] {});
    return v;
}

class smp_channel : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(counters, smp_channel, testing::Values(0u, 0xfffffff8u));

TEST_P(smp_channel, an_answer_uses_the_turn_line_and_a_stream_uses_the_ring) {
    duplex d{GetParam()};
    ASSERT_EQ(d.higher.reserve().at, &d.turn) << "the higher rank begins";
    ASSERT_NE(d.higher.reserve().at, &d.turn) << "it is the other's turn now";
    duplex e{GetParam()};
    ASSERT_TRUE(put(e.lower, 1)); // the lower rank has no turn yet
    ASSERT_EQ(get(e.higher), 1);
    for (std::uint16_t i = 0; i < 100; ++i) {
        auto const question = e.higher.reserve();
        ASSERT_EQ(question.at, &e.turn);
        question.at->publish(0, i, question.number);
        ASSERT_EQ(get(e.lower), i);
        auto const answer = e.lower.reserve();
        ASSERT_EQ(answer.at, &e.turn);
        answer.at->publish(0, i, answer.number);
        ASSERT_EQ(get(e.higher), i);
    }
    EXPECT_EQ(get(e.higher), -1);
}

TEST_P(smp_channel, frames_come_in_order_whatever_line_they_took) {
    duplex d{GetParam()};
    std::mt19937 random{4};
    std::uint16_t sent[2]{}, got[2]{};
    for (int step = 0; step < 50'000; ++step) {
        auto const side = random() % 2;
        auto& c = side ? d.higher : d.lower;
        if (random() % 2) sent[side] = static_cast<std::uint16_t>(sent[side] + put(c, sent[side]));
        else if (auto const v = get(c); v >= 0) { ASSERT_EQ(v, got[1 - side]++); }
    }
    EXPECT_GT(got[0], 1000);
    EXPECT_GT(got[1], 1000);
}

TEST_P(smp_channel, room_is_called_when_credit_was_returned) {
    duplex d{GetParam()};
    int rooms = 0, frames = 0;
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(put(d.lower, 1));
    EXPECT_FALSE(put(d.lower, 1));
    while (d.higher.take([&](smp::line<>&) { ++frames; }, [&] { ++rooms; })) {}
    EXPECT_EQ(frames, 8);
    EXPECT_EQ(rooms, 4); // 8 cells: a quarter is 2
    EXPECT_TRUE(put(d.lower, 1));
}

TEST(smp_channel_alone, without_rings_it_sends_nothing_and_finds_nothing) {
    smp::line<> nothing{};
    smp::channel<> c{nothing, direction::from_lower, direction::from_higher, 0};
    EXPECT_FALSE(c.sends());
    EXPECT_FALSE(c.receives());
    EXPECT_FALSE(put(c, 1));
    EXPECT_EQ(get(c), -1);
}

TEST(smp_channel_alone, the_turn_is_not_used_before_the_peer_is_known) {
    smp::line<> nothing{}, turn{};
    smp::channel<> c{nothing, direction::from_lower, direction::from_higher, 0};
    c.attach(smp::turn_line<>{turn, true});
    EXPECT_EQ(c.reserve().at, nullptr);
    int far = 0;
    c.attach(&far);
    EXPECT_EQ(c.reserve().at, &turn);
}

TEST_P(smp_channel, a_frame_that_is_looked_at_stays_where_it_is) {
    duplex d{GetParam()};
    auto const seen = [](smp::channel<>& c, smp::look how) {
        int v = -1;
        bool const there = c.peek([&](smp::line<>& l) { v = l.op; }, how);
        EXPECT_EQ(there, v != -1);
        return v;
    };
    for (auto const how : {smp::look::loading, smp::look::owning}) {
        EXPECT_EQ(seen(d.lower, how), -1);
        ASSERT_TRUE(put(d.higher, 7)); // on the turn line the first time, then in the ring
        ASSERT_TRUE(put(d.higher, 8));
        for (int i = 0; i < 3; ++i) EXPECT_EQ(seen(d.lower, how), 7);
        EXPECT_EQ(get(d.lower), 7);
        EXPECT_EQ(seen(d.lower, how), 8);
        EXPECT_EQ(get(d.lower), 8);
        EXPECT_EQ(seen(d.lower, how), -1);
    }
    ASSERT_TRUE(put(d.lower, 9)); // its turn
    EXPECT_EQ(seen(d.higher, smp::look::owning), 9);
    EXPECT_EQ(get(d.higher), 9);
    for (std::uint16_t i = 10; i < 20; ++i) { // answers, each looked at once, right after what it answers
        ASSERT_TRUE(put(d.higher, i));
        EXPECT_EQ(get(d.lower), i);
        ASSERT_TRUE(put(d.lower, i));
        EXPECT_EQ(seen(d.higher, smp::look::owning), i) << "one look tells";
        EXPECT_EQ(get(d.higher), i);
    }
}

} // namespace
