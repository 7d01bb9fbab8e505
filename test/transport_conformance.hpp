/// transport_conformance - the laws of a transport (transport/transport.hpp), as tests. A new transport writes none of them:
///
///        using mine = testing::Types<mpt::transport::foo<>>;
///        INSTANTIATE_TYPED_TEST_SUITE_P(foo, transport_conformance, mine);
///
///   A transport that lends, reads, joins or notices also names transport_lending_conformance and its kin
///   (transport_memory_conformance.hpp). Ranks are threads of this process, so that ThreadSanitizer sees both sides.
#pragma once
#include <cstdio>

#include "support/transport_room.hpp"
#include "transport_stress.hpp"

template <class T> struct transport_conformance : testing::Test {
    using room_type = mpt::test::transport_room<T>;
    static constexpr std::size_t largest = T::facts.max_frame;
    mpt::test::watchdog guard{"a law of the transport"};

    /// A sender and a receiver: two ranks, or one that reaches nobody but itself.
    struct pair_type : room_type {
        explicit pair_type(int n = 2, unsigned lanes = 1) : room_type(n, lanes) {
            auto const reached = room_type::reached_by(0);
            EXPECT_FALSE(reached.empty()) << "rank 0 reaches nobody";
            to = reached.empty() ? 0 : reached.back();
        }
        int from = 0, to = 0;

        bool post(std::uint16_t op, std::size_t n, std::uint64_t seed) { return this->send_pattern(from, to, op, n, seed); }
        bool arrived(std::size_t n) { return this->receive(to, n); }
        auto& box() { return this->inbox(to); }
    };
};
TYPED_TEST_SUITE_P(transport_conformance);

TYPED_TEST_P(transport_conformance, facts_say_what_the_endpoint_models) {
    using endpoint = typename TestFixture::room_type::endpoint;
    static_assert(mpt::transport_endpoint<endpoint, mpt::world::threads>);
    static_assert(TypeParam::facts.lends == mpt::transport_lending<endpoint>);
    static_assert(TypeParam::facts.reads == mpt::transport_readable<endpoint>);
    static_assert(TypeParam::facts.joins == mpt::transport_joint<endpoint>);
    static_assert(TypeParam::facts.ordered, "the protocols of mpt ask for it");
    EXPECT_FALSE(std::string_view{TypeParam::name}.empty());
}

TYPED_TEST_P(transport_conformance, reaches_is_mutual_and_says_no_to_ranks_that_do_not_exist) {
    typename TestFixture::room_type room{3};
    for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) EXPECT_EQ(room.end(a).reaches(b), room.end(b).reaches(a)) << a << " and " << b;
        EXPECT_FALSE(room.end(a).reaches(3));
        EXPECT_FALSE(room.end(a).reaches(-1));
    }
}

TYPED_TEST_P(transport_conformance, a_frame_arrives_whole_and_once) {
    typename TestFixture::pair_type room;
    std::string_view const text = "hello";
    ASSERT_TRUE(room.send(room.from, room.to, 3, std::as_bytes(std::span{text})));
    ASSERT_TRUE(room.arrived(1));
    auto const& got = room.box().front();
    EXPECT_EQ(got.from, room.from);
    EXPECT_EQ(got.op, 3);
    ASSERT_EQ(got.payload.size(), text.size());
    EXPECT_EQ(std::memcmp(got.payload.data(), text.data(), text.size()), 0);
    room.pump_for_a_while();
    EXPECT_EQ(room.box().size(), 1u);
}

TYPED_TEST_P(transport_conformance, frames_of_every_size_up_to_the_largest_arrive_whole) {
    typename TestFixture::pair_type room;
    std::vector<std::size_t> sizes{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 40, 47, 48};
    for (auto n :
         {std::size_t{63}, std::size_t{64}, std::size_t{65}, std::size_t{1000}, TestFixture::largest - 1, TestFixture::largest})
        if (n <= TestFixture::largest) sizes.push_back(n);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        ASSERT_TRUE(room.post(static_cast<std::uint16_t>(i), sizes[i], i)) << "size " << sizes[i];
        ASSERT_TRUE(room.arrived(1)) << "size " << sizes[i];
        auto const got = std::move(room.box().front());
        room.box().pop_front();
        EXPECT_EQ(got.op, i);
        EXPECT_EQ(got.payload.size(), sizes[i]);
        EXPECT_TRUE(mpt::test::matches(got.payload, i)) << "size " << sizes[i];
    }
}

TYPED_TEST_P(transport_conformance, a_frame_above_the_largest_is_refused_and_harms_nothing) {
    typename TestFixture::pair_type room;
    ASSERT_TRUE(room.post(1, 1, 1)); // past any first contact
    EXPECT_FALSE(room.end(room.from).reserve(room.to, TestFixture::largest + 1));
    EXPECT_FALSE(room.end(room.from).reserve(room.to, ~std::size_t{0}));
    ASSERT_TRUE(room.post(2, TestFixture::largest, 2));
    ASSERT_TRUE(room.arrived(2));
    EXPECT_EQ(room.box()[1].op, 2);
}

TYPED_TEST_P(transport_conformance, any_op_is_carried) {
    typename TestFixture::pair_type room;
    for (unsigned op : {0u, 1u, 255u, 256u, 0x7fffu, 0x8000u, 0xffffu}) {
        ASSERT_TRUE(room.post(static_cast<std::uint16_t>(op), 4, op));
        ASSERT_TRUE(room.arrived(1));
        EXPECT_EQ(room.box().front().op, op);
        room.box().clear();
    }
}

TYPED_TEST_P(transport_conformance, frames_of_a_pair_arrive_in_order_over_seventy_thousand) {
    typename TestFixture::pair_type room; // more than 16 bits count
    std::uint64_t sent = 0, got = 0;
    while (got < 70'000) {
        for (int burst = 0; burst < 13 && sent < 70'000; ++burst) {
            auto c = room.end(room.from).reserve(room.to, sent % 41);
            if (!c) break;
            mpt::test::fill(c.payload(), sent);
            room.end(room.from).commit(std::move(c), static_cast<std::uint16_t>(sent));
            ++sent;
        }
        room.pump_all();
        for (auto const& l : room.box()) {
            ASSERT_EQ(l.op, static_cast<std::uint16_t>(got));
            ASSERT_EQ(l.payload.size(), got % 41);
            ASSERT_TRUE(mpt::test::matches(l.payload, got));
            ++got;
        }
        room.box().clear();
    }
    EXPECT_EQ(got, sent);
}

TYPED_TEST_P(transport_conformance, a_full_wire_says_again_and_recovers) {
    typename TestFixture::pair_type room;
    ASSERT_TRUE(room.post(0, 0, 0));
    ASSERT_TRUE(room.arrived(1));
    room.box().clear();
    for (int round = 0; round < 3; ++round) {
        std::size_t sent = 0;
        for (; sent < 1'000'000; ++sent) {
            auto c = room.end(room.from).reserve(room.to, TestFixture::largest);
            if (!c) break;
            mpt::test::fill(c.payload(), sent);
            room.end(room.from).commit(std::move(c), static_cast<std::uint16_t>(sent));
        }
        ASSERT_LT(sent, 1'000'000u) << "a transport must push back";
        ASSERT_GT(sent, 0u);
        ASSERT_TRUE(room.arrived(sent));
        EXPECT_EQ(room.box().size(), sent);
        for (std::size_t i = 0; i < sent; ++i) ASSERT_TRUE(mpt::test::matches(room.box()[i].payload, i)) << i << " of " << sent;
        room.box().clear();
        ASSERT_TRUE(room.post(7, 1, 7)) << "room again after the receiver took all";
        ASSERT_TRUE(room.arrived(1));
        room.box().clear();
    }
}

TYPED_TEST_P(transport_conformance, an_abandoned_cell_never_stalls_the_pair) {
    typename TestFixture::pair_type room;
    for (int i = 0; i < 1000; ++i) {
        auto dropped = room.reserve(room.from, room.to, static_cast<std::size_t>(i % 9));
        ASSERT_TRUE(dropped) << "after " << i << " abandoned cells";
    }
    ASSERT_TRUE(room.post(9, 1, 9));
    ASSERT_TRUE(room.arrived(1));
    room.pump_for_a_while();
    ASSERT_EQ(room.box().size(), 1u) << "what was abandoned must not arrive";
    EXPECT_EQ(room.box().front().op, 9);
}

TYPED_TEST_P(transport_conformance, cells_open_together_arrive_in_the_order_of_reserve) {
    typename TestFixture::pair_type room;
    ASSERT_TRUE(room.post(0, 0, 0));
    ASSERT_TRUE(room.arrived(1));
    auto& end = room.end(room.from);
    for (std::uint16_t i = 1; i < 200; i += 4) {
        auto first = room.reserve(room.from, room.to, 5);
        auto second = room.reserve(room.from, room.to, 3);
        auto dropped = room.reserve(room.from, room.to, 11);
        auto third = room.reserve(room.from, room.to, 0);
        ASSERT_TRUE(first && second && dropped && third);
        EXPECT_EQ(first.payload().size(), 5u);
        mpt::test::fill(first.payload(), i);
        mpt::test::fill(second.payload(), i + 1u);
        end.commit(std::move(third), static_cast<std::uint16_t>(i + 2));
        end.commit(std::move(second), static_cast<std::uint16_t>(i + 1));
        room.pump_for_a_while();
        EXPECT_EQ(room.box().size(), 1u) << "nothing may overtake a cell that is still open";
        end.commit(std::move(first), i);
        { auto gone = std::move(dropped); }
        ASSERT_TRUE(room.arrived(4));
        EXPECT_EQ(room.box()[1].op, i);
        EXPECT_EQ(room.box()[2].op, i + 1);
        EXPECT_EQ(room.box()[3].op, i + 2);
        EXPECT_TRUE(mpt::test::matches(room.box()[1].payload, i));
        EXPECT_TRUE(mpt::test::matches(room.box()[2].payload, i + 1u));
        room.box().erase(room.box().begin() + 1, room.box().end());
    }
}

TYPED_TEST_P(transport_conformance, a_cell_that_was_moved_from_is_empty) {
    typename TestFixture::pair_type room;
    typename TestFixture::room_type::endpoint::cell none;
    EXPECT_FALSE(none);
    auto a = room.reserve(room.from, room.to, 4);
    ASSERT_TRUE(a);
    auto b = std::move(a);
    EXPECT_FALSE(a); // NOLINT(bugprone-use-after-move): it is the law under test
    ASSERT_TRUE(b);
    mpt::test::fill(b.payload(), 4);
    room.end(room.from).commit(std::move(b), 4);
    EXPECT_FALSE(b); // NOLINT(bugprone-use-after-move)
    ASSERT_TRUE(room.arrived(1));
    EXPECT_TRUE(mpt::test::matches(room.box().front().payload, 4));
}

TYPED_TEST_P(transport_conformance, poll_respects_its_budget) {
    typename TestFixture::pair_type room;
    std::size_t sent = 0;
    for (; sent < 12; ++sent) ASSERT_TRUE(room.post(static_cast<std::uint16_t>(sent), 3, sent));
    room.end(room.from).flush();
    auto got = room.box().size(); // what sending had to make room for
    EXPECT_EQ(room.end(room.to).poll([](mpt::frame const&) noexcept { ADD_FAILURE() << "a budget of 0"; }, 0), 0u);
    for (std::size_t budget = 1; got < sent; budget = budget % 3 + 1) {
        std::size_t seen = 0;
        auto const said = room.end(room.to).poll(
            [&](mpt::frame const& f) noexcept {
                EXPECT_EQ(f.op, got + seen);
                ++seen;
            },
            budget);
        ASSERT_EQ(said, seen);
        ASSERT_LE(seen, budget);
        got += seen;
    }
    EXPECT_EQ(got, sent);
}

TYPED_TEST_P(transport_conformance, a_sink_may_send) {
    typename TestFixture::pair_type room;
    constexpr std::size_t turns = 500; // each frame is answered from inside the sink, 500 times
    std::size_t seen = 0, owed = 0, answered = 0;
    auto answer = [&](int by, mpt::rank to, std::size_t n) noexcept {
        auto c = room.end(by).reserve(to, n);
        if (!c) return false;
        mpt::test::fill(c.payload(), n);
        room.end(by).commit(std::move(c), static_cast<std::uint16_t>(n));
        ++answered;
        return true;
    };
    ASSERT_TRUE(room.post(0, 0, 0));
    int turn = room.to, other = room.from;
    while (seen <= turns) {
        room.end(other).flush();
        room.end(turn).poll(
            [&](mpt::frame const& f) noexcept {
                EXPECT_EQ(f.op, f.payload.size());
                EXPECT_TRUE(mpt::test::matches(f.payload, f.op));
                ++seen;
                if (!answer(turn, f.from, (f.op + 1u) % 41)) ++owed;
            },
            1);
        if (owed && answer(turn, other, 1)) --owed;
        std::swap(turn, other);
    }
    EXPECT_EQ(seen, turns + 1);
    EXPECT_GE(answered + 1, turns) << "most answers went out from inside the sink";
    room.pump_for_a_while();
}

TYPED_TEST_P(transport_conformance, poll_from_hands_over_one_frame_of_that_peer_only) {
    typename TestFixture::pair_type room{3};
    auto const senders = room.reached_by(room.to);
    for (std::uint16_t i = 0; i < 4; ++i)
        for (int s : senders) ASSERT_TRUE(room.send_pattern(s, room.to, i, 6, i));
    std::vector<std::uint16_t> expected(3, 0);
    for (auto const& l : room.box()) ++expected[static_cast<std::size_t>(l.from)]; // what sending took along
    for (int s : senders) {
        auto& next = expected[static_cast<std::size_t>(s)];
        auto const ended = room.wait_until([&] {
            auto const n = room.end(room.to).poll_from(s, [&](mpt::frame const& f) noexcept {
                EXPECT_EQ(f.from, s);
                EXPECT_EQ(f.op, next++);
            });
            EXPECT_LE(n, 1u);
            for (int t : senders) room.end(t).flush();
            return next == 4;
        });
        ASSERT_TRUE(ended) << "frames of " << s;
        EXPECT_EQ(room.end(room.to).poll_from(s, [](mpt::frame const&) noexcept { ADD_FAILURE() << "one too many"; }), 0u);
    }
}

TYPED_TEST_P(transport_conformance, lanes_are_independent) {
    typename TestFixture::pair_type room{2, 3};
    for (unsigned lane = 0; lane < 3; ++lane) // lanes 0 and 1 are left alone until the end
        for (std::uint16_t i = 0; i < 8; ++i) ASSERT_TRUE(room.send_pattern(room.from, room.to, i, 9, 100 * lane + i, lane));
    for (unsigned lane : {2u, 0u, 1u}) {
        ASSERT_TRUE(room.receive(room.to, 8, lane));
        room.pump_for_a_while(lane);
        auto const& box = room.inbox(room.to, lane);
        ASSERT_EQ(box.size(), 8u);
        for (std::uint16_t i = 0; i < 8; ++i) {
            EXPECT_EQ(box[i].op, i);
            EXPECT_TRUE(mpt::test::matches(box[i].payload, 100 * lane + i));
        }
    }
}

TYPED_TEST_P(transport_conformance, flush_tells_when_nothing_is_left) {
    typename TestFixture::pair_type room;
    EXPECT_TRUE(room.end(room.from).flush()) << "nothing was sent";
    std::size_t sent = 0;
    for (; sent < 1'000'000; ++sent) {
        auto c = room.end(room.from).reserve(room.to, 16);
        if (!c && sent > 0) break;
        if (c) room.end(room.from).commit(std::move(c), 1);
        else room.pump_all();
    }
    ASSERT_TRUE(room.arrived(sent));
    EXPECT_TRUE(room.end(room.from).flush()) << "all of it has arrived";
}

TYPED_TEST_P(transport_conformance, all_to_all_loses_nothing_and_doubles_nothing) {
    for (int n : {1, 2, 3, 5}) {
        typename TestFixture::room_type room{n};
        constexpr std::uint64_t each = 60;
        for (std::uint64_t i = 0; i < each; ++i)
            for (int a = 0; a < n; ++a)
                for (int b : room.reached_by(a))
                    ASSERT_TRUE(room.send_pattern(a, b, static_cast<std::uint16_t>(i), (i * 37) % (TestFixture::largest + 1),
                                                  i * 100 + static_cast<std::uint64_t>(a * 10 + b)));
        for (int b = 0; b < n; ++b) {
            auto const expected = room.reached_by(b).size() * each; // reaching is mutual
            ASSERT_TRUE(room.receive(b, expected));
            room.pump_for_a_while();
            ASSERT_EQ(room.inbox(b).size(), expected);
            std::vector<std::uint64_t> next(static_cast<std::size_t>(n), 0);
            for (auto const& l : room.inbox(b)) {
                auto const i = next[static_cast<std::size_t>(l.from)]++;
                ASSERT_EQ(l.op, i);
                ASSERT_EQ(l.payload.size(), (i * 37) % (TestFixture::largest + 1));
                ASSERT_TRUE(mpt::test::matches(l.payload, i * 100 + static_cast<std::uint64_t>(l.from * 10 + b)));
            }
        }
    }
}

TYPED_TEST_P(transport_conformance, a_lane_that_sleeps_can_be_woken) {
    using endpoint = typename TestFixture::room_type::endpoint;
    typename TestFixture::pair_type room;
    auto const fds = room.end(room.to).descriptors();
    if (fds.empty()) {
        EXPECT_TRUE(mpt::transport_belled<endpoint> || room.reached_by(0) == std::vector<int>{0})
            << "neither a descriptor nor a bell, and others may send";
        return;
    }
    ASSERT_TRUE(room.post(1, 1, 1));
    EXPECT_TRUE(mpt::test::becomes_readable(fds)) << "the first frame of a pair";
    ASSERT_TRUE(room.arrived(1));
    EXPECT_TRUE(mpt::test::is_quiet(fds)) << "all is taken: a sleeper would never sleep";
    ASSERT_TRUE(room.post(2, 1, 2));
    EXPECT_TRUE(mpt::test::becomes_readable(fds)) << "the second";
}

TYPED_TEST_P(transport_conformance, ranks_in_threads_of_their_own_lose_nothing) {
    for (int n : {2, 3}) mpt::test::transport_stress<TypeParam>{n}.run(mpt::test::stress_seconds() / 2);
}

REGISTER_TYPED_TEST_SUITE_P(transport_conformance, facts_say_what_the_endpoint_models,
                            reaches_is_mutual_and_says_no_to_ranks_that_do_not_exist, a_frame_arrives_whole_and_once,
                            frames_of_every_size_up_to_the_largest_arrive_whole,
                            a_frame_above_the_largest_is_refused_and_harms_nothing, any_op_is_carried,
                            frames_of_a_pair_arrive_in_order_over_seventy_thousand, a_full_wire_says_again_and_recovers,
                            an_abandoned_cell_never_stalls_the_pair, cells_open_together_arrive_in_the_order_of_reserve,
                            a_cell_that_was_moved_from_is_empty, poll_respects_its_budget, a_sink_may_send,
                            poll_from_hands_over_one_frame_of_that_peer_only, lanes_are_independent,
                            flush_tells_when_nothing_is_left, all_to_all_loses_nothing_and_doubles_nothing,
                            a_lane_that_sleeps_can_be_woken, ranks_in_threads_of_their_own_lose_nothing);
