#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include <mpt/transport/smp/joint.hpp>

namespace {
using namespace mpt;
using place = smp::ticket_place<>;

TEST(smp_piece_plan, pieces_cover_a_message_of_any_size_and_are_few) {
    for (std::uint64_t const n :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{32} << 10, (std::uint64_t{32} << 10) + 1, std::uint64_t{1} << 20,
          (std::uint64_t{1} << 24) - 7, std::uint64_t{1} << 36, std::uint64_t{1} << 44}) {
        auto const p = smp::piece_plan::of(n);
        EXPECT_LE(p.pieces, smp::piece_plan::most_pieces);
        EXPECT_GE(p.pieces * p.piece, n);
        if (p.pieces > 0) { EXPECT_LT((p.pieces - 1) * p.piece, n); }
        if (n <= std::uint64_t{1} << 24) { EXPECT_LE(p.pieces, 8u); }
    }
    for (std::uint64_t const n : {16, 32, 50, 64}) EXPECT_EQ(smp::piece_plan::of(n << 10).pieces, 2u);
    EXPECT_EQ(smp::piece_plan::of(8 << 10).pieces, 1u);
    EXPECT_EQ(smp::piece_plan::of(1 << 20).pieces, 8u);
}

TEST(smp_piece_plan, a_share_is_half_of_what_is_left_but_never_nothing_and_never_more_than_4_MiB) {
    auto const p = smp::piece_plan::of(1 << 20);
    EXPECT_EQ(p.share(8), 4u);
    EXPECT_EQ(p.share(3), 2u);
    EXPECT_EQ(p.share(1), 1u);
    EXPECT_EQ(p.share(8, true), 8u) << "or all of it";
    auto const large = smp::piece_plan::of(std::uint64_t{1} << 30);
    auto const huge = smp::piece_plan::of(std::uint64_t{1} << 44);
    for (bool const all : {false, true}) {
        EXPECT_LE(large.share(large.pieces, all) * large.piece, std::uint64_t{4} << 20);
        EXPECT_EQ(huge.share(huge.pieces, all), 1u);
    }
}

TEST(smp_claims, every_piece_is_claimed_once_from_either_end) {
    std::mt19937 random{8};
    for (int round = 0; round < 500; ++round) {
        auto const plan = smp::piece_plan::of(random() % (200u << 20));
        std::vector<int> claimed(plan.pieces, 0);
        place t{};
        t.claims.reset(5);
        while (auto const c = random() % 2 ? t.claims.from_front(plan, random() % 4 == 0) : t.claims.from_back(plan))
            for (std::uint32_t i = 0; i < c.count; ++i) ++claimed[c.first + i];
        for (auto const n : claimed) ASSERT_EQ(n, 1);
    }
}

TEST(smp_claims, after_closing_nothing_can_be_claimed) {
    auto const plan = smp::piece_plan::of(1 << 20);
    place t{};
    t.claims.reset(5);
    auto const c = t.claims.from_back(plan);
    EXPECT_EQ(t.claims.close(), c.count);
    EXPECT_FALSE(t.claims.from_front(plan));
    EXPECT_FALSE(t.claims.from_back(plan));
    EXPECT_EQ(t.claims.close(), c.count);
}

TEST(smp_claims, of_push_and_pull_the_first_wins_and_a_ticket_that_is_over_wins_nothing) {
    auto const plan = smp::piece_plan::of(1 << 20);
    place t{};
    t.claims.reset(5);
    EXPECT_TRUE(t.claims.push(5));
    EXPECT_FALSE(t.claims.pull(5));
    EXPECT_FALSE(t.claims.from_front(plan)) << "nothing is copied where it is pushed";
    t.claims.reset(37); // the place is used again
    EXPECT_FALSE(t.claims.pull(5)) << "late for a message that was pushed";
    EXPECT_TRUE(t.claims.pull(37));
    EXPECT_FALSE(t.claims.push(37));
    std::uint32_t claimed = 0;
    while (auto const c = t.claims.from_front(plan)) claimed += c.count;
    EXPECT_EQ(claimed, plan.pieces);
    t.claims.reset(69);
    EXPECT_TRUE(t.claims.from_back(plan)); // joined without asking
    EXPECT_FALSE(t.claims.push(69));
    EXPECT_FALSE(t.claims.pull(69));
}

/// One message with both steps, over copies that the test decides about.
struct exchange {
    std::unique_ptr<place> t = std::make_unique<place>();
    std::uint32_t ticket = 33;
    std::vector<int> copied;
    status give = status::ok, take = status::ok;
    bool alone;

    explicit exchange(std::uint64_t size, bool receiver_alone = false) : alone{receiver_alone} {
        t->source.size = size;
        t->given.reset();
        t->claims.reset(ticket);
        copied.resize(smp::piece_plan::of(size).pieces);
    }
    void join(std::uint64_t size) {
        t->target.size = size;
        t->taken.reset();
        t->join(ticket);
    }
    status mark(smp::claim c, status s) {
        if (s == status::ok)
            for (std::uint32_t i = 0; i < c.count; ++i) ++copied[c.first + i];
        return s;
    }
    joint_state sender(bool help = true) {
        return smp::step_sender(
            *t, ticket, [&] { return help; }, [&](auto const&, smp::claim c) { return mark(c, give); });
    }
    joint_state receiver() {
        return smp::step_receiver(*t, ticket, alone, [&](auto const&, smp::claim c) { return mark(c, take); });
    }
};

TEST(smp_joint, both_sides_see_done_when_every_piece_was_copied_once) {
    for (bool const alone : {false, true}) {
        exchange x{16 << 20, alone};
        EXPECT_EQ(x.sender(), joint_state::waiting);
        x.join(16 << 20);
        while (x.sender() == joint_state::copying && x.receiver() == joint_state::copying) {}
        EXPECT_EQ(x.receiver(), joint_state::done);
        EXPECT_EQ(x.sender(), joint_state::done);
        for (auto const n : x.copied) EXPECT_EQ(n, 1);
    }
}

TEST(smp_joint, a_receiver_that_is_alone_leaves_the_sender_nothing_of_a_message_of_one_claim) {
    exchange x{1 << 20, true};
    x.join(1 << 20);
    EXPECT_EQ(x.receiver(), joint_state::copying);
    EXPECT_EQ(x.sender(), joint_state::done);
    EXPECT_EQ(x.receiver(), joint_state::done);
    for (auto const n : x.copied) EXPECT_EQ(n, 1);
}

TEST(smp_joint, an_empty_message_is_done_at_once) {
    exchange x{0};
    x.join(0);
    EXPECT_EQ(x.receiver(), joint_state::done);
    EXPECT_EQ(x.sender(), joint_state::done);
}

TEST(smp_joint, a_sender_that_may_not_write_only_watches) {
    exchange x{1 << 20};
    x.join(1 << 20);
    EXPECT_EQ(x.sender(false), joint_state::waiting);
    while (x.receiver() == joint_state::copying) {}
    EXPECT_EQ(x.sender(false), joint_state::done);
    for (auto const n : x.copied) EXPECT_EQ(n, 1);
}

TEST(smp_joint, a_receiver_that_is_refused_tells_both_sides) {
    for (bool const alone : {false, true}) {
        exchange x{1 << 20, alone};
        x.join(1 << 20);
        x.take = status::refused;
        while (x.receiver() == joint_state::copying) {}
        EXPECT_EQ(x.receiver(), joint_state::refused);
        EXPECT_EQ(x.sender(), joint_state::refused);
        EXPECT_TRUE(x.t->is_left(x.ticket));
    }
}

TEST(smp_joint, a_sender_that_is_refused_tells_both_sides) {
    exchange x{1 << 20};
    x.join(1 << 20);
    x.give = status::refused;
    EXPECT_EQ(x.sender(), joint_state::refused);
    EXPECT_EQ(x.receiver(), joint_state::refused);
    EXPECT_EQ(x.sender(), joint_state::refused);
}

TEST(smp_joint, the_receiver_waits_for_a_piece_that_the_sender_still_writes_before_it_reports_refused) {
    exchange x{1 << 20};
    x.join(1 << 20);
    auto const plan = smp::piece_plan::of(1 << 20);
    auto const c = x.t->claims.from_back(plan); // the sender is inside its copy
    ASSERT_TRUE(c);
    x.take = status::refused;
    EXPECT_EQ(x.receiver(), joint_state::copying); // tried, and was refused
    EXPECT_EQ(x.receiver(), joint_state::waiting);
    EXPECT_EQ(x.receiver(), joint_state::waiting);
    EXPECT_FALSE(x.t->claims.from_back(plan)) << "nothing new may start";
    x.t->given.add(c.count); // it is out
    EXPECT_EQ(x.receiver(), joint_state::refused);
}

TEST(smp_joint, done_waits_for_the_other_sides_last_piece) {
    exchange x{1 << 20};
    x.join(1 << 20);
    auto const c = x.t->claims.from_back(smp::piece_plan::of(1 << 20));
    while (x.receiver() == joint_state::copying) {}
    EXPECT_EQ(x.receiver(), joint_state::waiting);
    x.t->given.add(c.count);
    EXPECT_EQ(x.receiver(), joint_state::done);
}

class smp_ticket_book : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(counters, smp_ticket_book, testing::Values(0u, 0x7fffff0u, 0x7ffffffu, 0xffffffffu));

TEST_P(smp_ticket_book, numbers_are_never_zero_and_a_place_is_not_reused_while_its_receiver_is_in) {
    auto const table = std::make_unique<place[]>(smp::ticket_book::places);
    smp::ticket_book book{GetParam()};
    std::mt19937 random{9};
    struct open {
        std::uint32_t ticket;
        bool joined, withdrawn;
    };
    std::vector<open> all;
    for (int step = 0; step < 20'000; ++step) {
        if (random() % 2) {
            auto const t = book.open(table.get(), 1, nullptr);
            if (t == 0) {
                ASSERT_EQ(all.size(), 128u);
                continue;
            }
            EXPECT_TRUE(book.holds(t));
            for (auto const& o : all) ASSERT_NE(book.place_of(o.ticket), book.place_of(t));
            all.push_back({t, false, false});
        } else if (!all.empty()) {
            auto const k = random() % all.size();
            auto& o = all[k];
            if (!o.joined && !o.withdrawn && random() % 2) table[book.place_of(o.ticket)].join(o.ticket), o.joined = true;
            else if (!o.withdrawn) book.withdraw(o.ticket), o.withdrawn = true;
            else if (o.joined) table[book.place_of(o.ticket)].leave_it(o.ticket), o.joined = false;
            if (o.withdrawn && !o.joined) all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
        }
    }
}

} // namespace
