// transport::staged over a wire that takes one frame at a time, and none while it is told so.
#include <mpt/transport/staged.hpp>

#include <deque>

#include <gtest/gtest.h>

#include "support/job_of.hpp"
#include <mpt/world/threads.hpp>

namespace {
using namespace mpt;

struct wire_of_one {
    struct address {};
    struct sent {
        rank to;
        std::uint16_t op;
        std::vector<std::byte> bytes;
    };
    std::size_t room = 0;
    std::deque<sent> on_it;

    explicit wire_of_one(lane_context<world::threads> const&) {}
    address local() const noexcept { return {}; }
    bool reaches(rank p) const noexcept { return p != 2; }
    bool put(rank p, std::uint16_t op, std::span<std::byte const> bytes) noexcept {
        if (room == 0) return false;
        --room;
        on_it.push_back({p, op, {bytes.begin(), bytes.end()}});
        return true;
    }
    template <class Sink> bool take(rank p, Sink& sink) noexcept {
        if (on_it.empty() || on_it.front().to != p) return false;
        sink(frame{p, on_it.front().op, on_it.front().bytes});
        on_it.pop_front();
        return true;
    }
};

class staged : public testing::Test {
protected:
    std::vector<boot::membership> members_ = test::job_of(3);
    boot::job job_{members_[0], 1, "staged"};
    mem::slice_heap heap_{job_.share_arena(), job_.me(), job_.arena().own_limit()};
    transport::staged<wire_of_one, 64_B> end_{lane_context<world::threads>{{}, job_, heap_}};

    void say(rank p, std::uint16_t op) {
        auto c = end_.reserve(p, 1);
        ASSERT_TRUE(c);
        c.payload()[0] = static_cast<std::byte>(op);
        end_.commit(std::move(c), op);
    }
    std::vector<std::uint16_t> wire() {
        std::vector<std::uint16_t> ops;
        for (auto const& s : end_.wire().on_it) ops.push_back(s.op);
        return ops;
    }
};

using ops = std::vector<std::uint16_t>;

TEST_F(staged, keeps_what_the_wire_does_not_take_and_offers_it_again_in_order) {
    for (std::uint16_t i = 1; i <= 3; ++i) say(1, i);
    EXPECT_TRUE(wire().empty());
    EXPECT_FALSE(end_.flush());
    end_.wire().room = 2;
    EXPECT_FALSE(end_.flush());
    EXPECT_EQ(wire(), (ops{1, 2}));
    end_.wire().room = 1;
    end_.poll([](frame const&) noexcept {}, 0);
    EXPECT_EQ(wire(), (ops{1, 2, 3})) << "who only receives sends as well";
    end_.wire().room = 9;
    say(1, 4);
    EXPECT_EQ(wire(), (ops{1, 2, 3, 4}));
    EXPECT_TRUE(end_.flush());
}

TEST_F(staged, sends_open_cells_in_the_order_of_reserve_and_passes_over_abandoned_ones) {
    end_.wire().room = 9;
    auto first = end_.reserve(1, 1), second = end_.reserve(1, 2), third = end_.reserve(1, 3);
    end_.commit(std::move(third), 3);
    EXPECT_TRUE(wire().empty()) << "two cells before it are open";
    first = {};
    EXPECT_TRUE(wire().empty());
    end_.commit(std::move(second), 2);
    EXPECT_EQ(wire(), (ops{2, 3}));
    EXPECT_EQ(end_.wire().on_it.back().bytes.size(), 3u);
}

TEST_F(staged, is_full_when_its_slots_are_and_recovers) {
    int n = 0;
    for (; n < 1000; ++n) {
        auto c = end_.reserve(1, 1);
        if (!c) break;
        end_.commit(std::move(c), 7);
    }
    EXPECT_LT(n, 1000);
    EXPECT_TRUE(end_.reserve(0, 1)) << "another peer's slots are free";
    end_.wire().room = 1;
    EXPECT_TRUE(end_.reserve(1, 1)) << "asking makes the wire take one";
    EXPECT_EQ(wire().size(), 1u);
}

TEST_F(staged, refuses_what_cannot_go) {
    EXPECT_FALSE(end_.reserve(1, 65));
    EXPECT_TRUE(end_.reserve(1, 64));
    for (rank const p : {rank{-1}, rank{2}, rank{3}}) {
        EXPECT_FALSE(end_.reaches(p)) << p;
        EXPECT_FALSE(end_.reserve(p, 1)) << p;
    }
}

TEST_F(staged, gives_every_peer_its_turn_within_the_budget) {
    end_.wire().room = 9;
    for (auto const p : {1, 1, 0, 1}) say(rank{p}, static_cast<std::uint16_t>(p));
    std::vector<int> from;
    auto const sink = [&](frame const& f) noexcept { from.push_back(f.from.value); };
    EXPECT_EQ(end_.poll(sink, 3), 3u);
    EXPECT_EQ(end_.poll(sink, 3), 1u);
    EXPECT_EQ(end_.poll(sink, 3), 0u);
    EXPECT_EQ(from, (std::vector<int>{1, 1, 0, 1}));
}

static_assert(!transport_belled<transport::staged<wire_of_one, 64_B>>, "a wire without a bell has none");
} // namespace
