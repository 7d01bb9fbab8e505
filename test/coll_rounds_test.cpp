#include <gtest/gtest.h>
#include <memory>
#include <mpt/coll/rounds.hpp>

#include "support/dice.hpp"

namespace {
using namespace mpt::test;
using rounds = mpt::coll::rounds<>;
constexpr std::uint64_t sets = 8;

struct group_of {
    std::vector<std::unique_ptr<rounds::entry[]>> memory;
    std::vector<rounds> ranks;
    explicit group_of(int n) {
        std::vector<rounds::entry*> of;
        for (int r = 0; r < n; ++r) of.push_back(memory.emplace_back(new rounds::entry[sets]{}).get());
        for (int r = 0; r < n; ++r) ranks.emplace_back(of, mpt::rank{r}, sets);
    }
    /// Have all others begun it?
    bool settled(int me, std::uint64_t number) {
        for (int q = 0; q < static_cast<int>(ranks.size()); ++q)
            if (q != me && !ranks[static_cast<std::size_t>(me)].has_begun(q, number)) return false;
        return true;
    }
};

TEST(coll_rounds, a_rank_may_be_seven_rounds_ahead_and_not_more) {
    group_of g{2};
    auto& root = g.ranks[0];
    for (std::uint64_t k = 1; k <= 8; ++k) {
        EXPECT_EQ(root.awaited(sets), 0u) << k;
        root.show(k, 0);
    }
    EXPECT_EQ(root.awaited(sets), 5u); // that the next looks are settled, too; 2 is the least
    EXPECT_FALSE(root.has_begun(1, 1));
    for (int k = 0; k < 5; ++k) g.ranks[1].show(0, 0);
    EXPECT_TRUE(root.has_begun(1, 5));
    EXPECT_FALSE(root.has_begun(1, 6));
    root.all_have_begun(5);
    for (std::uint64_t k = 9; k <= 12; ++k) {
        EXPECT_EQ(root.awaited(sets), 0u) << k;
        root.show(k, 0);
    }
    EXPECT_EQ(root.awaited(sets), 9u);
}

TEST(coll_rounds, what_a_rank_has_shown_stays_while_it_is_as_far_ahead_as_it_may_be) {
    group_of g{2};
    for (std::uint32_t k = 1; k <= sets; ++k) g.ranks[0].show(k, 10 * k, 100 * k);
    for (std::uint32_t k = 1; k <= sets; ++k) {
        g.ranks[1].show(k, 0);
        auto const& e = g.ranks[1].of(0);
        EXPECT_EQ(e.call, k);
        EXPECT_EQ(e.size, 10 * k);
        EXPECT_EQ(e.where, 100 * k);
    }
}

TEST(coll_rounds, memory_that_is_kept_for_fewer_rounds_is_waited_for_earlier) {
    group_of g{2};
    auto& root = g.ranks[0];
    for (std::uint64_t k = 1; k <= 4; ++k) {
        EXPECT_EQ(root.awaited(4), 0u) << k;
        root.show(k, 0);
    }
    EXPECT_EQ(root.awaited(4), 2u);
    root.all_have_begun(2);
    EXPECT_EQ(root.awaited(4), 0u);
    root.show(5, 0);
    EXPECT_EQ(root.awaited(4), 3u);
}

/// Whoever writes where the rule lets it never writes over what another has still to read: random turns against a plain record
/// of who reads what.
TEST(coll_rounds, nothing_is_overwritten_that_somebody_may_still_read) {
    seeds const s{50};
    for (unsigned seed = s.first; seed != s.first + s.count; ++seed) {
        dice d{seed};
        int const n = static_cast<int>(2 + d.below(4));
        auto const kept = d.one_of<std::uint64_t>({2, 3, 4, 8});
        group_of g{n};
        for (int turn = 0; turn < 2000; ++turn) {
            int const me = static_cast<int>(d.below(static_cast<unsigned>(n)));
            auto& mine = g.ranks[static_cast<std::size_t>(me)];
            auto const least = mine.awaited(kept);
            if (least != 0 && !g.settled(me, least)) continue;
            if (least != 0) mine.all_have_begun(least);
            // What was written `kept` rounds ago: everybody is in a later round.
            for (auto const& other : g.ranks)
                if (mine.next() > kept) { ASSERT_GT(other.last(), mine.next() - kept) << "MPT_SEED=" << seed; }
            mine.show(1, 2);
            if (d.coin() && g.settled(me, mine.last())) mine.all_have_begun(mine.last());
        }
    }
}

TEST(coll_rounds, an_entry_is_its_ranks_of_the_last_round) {
    group_of g{3};
    for (std::uint64_t k = 1; k <= 30; ++k) {
        for (std::size_t r = 0; r < 3; ++r) {
            g.ranks[r].own().data[0] = static_cast<std::byte>(k);
            g.ranks[r].show(k, 100 * r);
        }
        for (auto const& me : g.ranks)
            for (int q = 0; q < 3; ++q) {
                ASSERT_TRUE(me.has_begun(q, k));
                EXPECT_FALSE(me.has_begun(q, k + 1));
                EXPECT_EQ(me.of(q).call, k);
                EXPECT_EQ(me.of(q).size, 100u * static_cast<unsigned>(q));
                EXPECT_EQ(me.of(q).data[0], static_cast<std::byte>(k));
            }
    }
}

} // namespace
