#include <string>

#include "support/steps.hpp"
#include "support/watchdog.hpp"
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/gather.hpp>
#include <mpt/coll/reduce.hpp>
#include <mpt/coll/scatter.hpp>

namespace {
using namespace mpt::test;
using mpt::errc;
using mpt::coll::rooted_call;
using mpt::coll::speaker;

TEST(rooted_call, carries_number_and_root_in_a_tag_that_is_allowed) {
    dice d{7};
    for (int i = 0; i < 10'000; ++i) {
        rooted_call const c{static_cast<speaker>(1 + d.below(10)), static_cast<std::int32_t>(d.below(1u << 18)), d.seed()};
        auto const t = c.label(c.what);
        ASSERT_GE(t.value, 0);
        EXPECT_EQ(t.value & 15, static_cast<std::int32_t>(c.what));
        EXPECT_EQ(t.value >> 4 & 0x3ffff, c.root);
        EXPECT_EQ(static_cast<std::uint32_t>(t.value) >> 22, c.number % 512);
        auto const again = rooted_call::of(c.word());
        EXPECT_TRUE(again.what == c.what && again.root == c.root && again.number == c.number);
    }
}
TEST(rooted_call, without_a_root_says_in_its_tag_who_speaks) {
    EXPECT_EQ(rooted_call{}.label(speaker::barrier).value, static_cast<std::int32_t>(speaker::barrier));
}

template <class Stack> using coll_rooted = team_over<Stack>;
TYPED_TEST_SUITE(coll_rooted, wires);

/// One call of one of the collectives; `n` ints from each rank, or to each.
template <class Team> void call(Team const& t, speaker what, int root, std::vector<int>& mine, std::vector<int>& all) {
    auto const bytes = mine.size() * sizeof(int);
    mpt::coll::blocks const places{writable(all), bytes};
    switch (what) {
    case speaker::broadcast: return mpt::coll::broadcast(t, writable(mine), root);
    case speaker::gather: return mpt::coll::gather(t, mpt::source{readable(mine)}, places, root);
    case speaker::scatter: return mpt::coll::scatter(t, places, mpt::sink{writable(mine)}, root);
    default: {
        auto const add = [](void*, std::byte const* left, std::byte* right, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) reinterpret_cast<int*>(right)[i] += reinterpret_cast<int const*>(left)[i];
        };
        auto const op = mpt::coll::operand::array(sizeof(int), true, nullptr, add);
        return mpt::coll::reduce(t, op, readable(mine).data(), writable(all).data(), mine.size(), root);
    }
    }
}

/// What is right after a call with one root: the root's data, everybody's, one's own part, the sum.
template <class Team> void expect_right(Team const& t, speaker what, int root, std::size_t n) {
    std::vector<int> mine(n, 100 + t.me()), all(n * static_cast<std::size_t>(t.size()));
    if (what == speaker::scatter)
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i / n) + 500;
    call(t, what, root, mine, all);
    auto const at = [&](int r) { return all[static_cast<std::size_t>(r) * n]; };
    auto const size = t.size();
    if (what == speaker::broadcast) { EXPECT_EQ(mine.back(), 100 + root); }
    if (what == speaker::scatter) { EXPECT_EQ(mine.back(), 500 + t.me()); }
    if (t.me() != root) return;
    for (int r = 0; what == speaker::gather && r < size; ++r) EXPECT_EQ(at(r), 100 + r);
    if (what == speaker::reduce) { EXPECT_EQ(all[n - 1], 100 * size + size * (size - 1) / 2); }
}

/// What a rank says of a call: nothing, or the sentence.
template <class Team> std::string sentence_of(Team const& t, speaker what, int root, std::size_t n) {
    std::vector<int> mine(n, 1), all(n * static_cast<std::size_t>(t.size()), 2);
    try {
        call(t, what, root, mine, all);
        return "";
    } catch (mpt::error const& e) {
        EXPECT_EQ(e.code(), errc::root) << e.what();
        return e.what();
    }
}

constexpr speaker with_roots[]{speaker::broadcast, speaker::gather, speaker::scatter, speaker::reduce};

/// Both wait for each other, or nobody waits: then nobody is told.
TYPED_TEST(coll_rooted, two_ranks_that_wait_for_each_other_are_both_told) {
    watchdog const dog{"two ranks with two roots"};
    this->run_team(2, [](auto const& team, int me) {
        for (std::size_t n : {1u, 1000u, 100'000u}) {
            for (auto const what : with_roots) {
                bool const root_waits = what == speaker::gather || what == speaker::reduce;
                auto const said = sentence_of(team, what, root_waits ? me : 1 - me, n);
                auto const roots = root_waits ? std::pair{"root 0", "root 1"} : std::pair{"root 1", "root 0"};
                auto const rank_0 = "rank 0 called a " + std::string{name_of(what)} + " with " + roots.first;
                auto const rank_1 = "rank 1 called a " + std::string{name_of(what)} + " with " + roots.second;
                EXPECT_NE(said.find(rank_0), std::string::npos) << said;
                EXPECT_NE(said.find(rank_1), std::string::npos) << said;
                mpt::coll::barrier(team);
            }
        }
    });
}

TYPED_TEST(coll_rooted, what_was_sent_for_another_root_never_arrives_later) {
    watchdog const dog{"two roots that only send"};
    this->run_team(2, [](auto const& team, int me) {
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(sentence_of(team, speaker::broadcast, me, 1), "");
            expect_right(team, speaker::broadcast, i % 2, 1);
        }
    });
}

TYPED_TEST(coll_rooted, another_collective_is_told_as_well) {
    watchdog const dog{"two collectives"};
    this->run_team(2, [](auto const& team, int me) {
        std::vector<int> mine(1), all(2);
        try {
            call(team, me == 0 ? speaker::gather : speaker::broadcast, 0, mine, all);
            ADD_FAILURE() << "rank " << me << " went on";
        } catch (mpt::error const& e) {
            EXPECT_EQ(e.code(), errc::usage);
            std::string const said = e.what();
            EXPECT_NE(said.find("rank 0 called a gather with root 0"), std::string::npos) << said;
            EXPECT_NE(said.find("rank 1 called a broadcast with root 0"), std::string::npos) << said;
        }
    });
}

/// Random roots: nobody hangs, whoever is told is told the truth, and the next calls are right.
TYPED_TEST(coll_rooted, any_mixture_of_roots_ends_with_true_sentences) {
    watchdog const dog{"random roots", std::chrono::seconds{50}};
    random_steps<TestFixture>(
        4, 12,
        [](auto const& team, dice& common, dice&) {
            auto const what = with_roots[common.below(4)];
            auto const n = common.one_of<std::size_t>({1, 7, 2000, 40'000, 200'000});
            std::vector<int> roots(static_cast<std::size_t>(team.size()), static_cast<int>(common.below(team.size())));
            for (auto& r : roots)
                if (common.below(3) == 0) r = static_cast<int>(common.below(team.size()));
            auto const root = [&](int r) { return roots[static_cast<std::size_t>(r)]; };
            auto const said = sentence_of(team, what, root(team.me()), n);
            bool true_one = said.empty();
            for (int r = 0; r < team.size(); ++r)
                true_one = true_one || (root(r) != root(team.me()) &&
                                        said.find("rank " + std::to_string(r) + " called a " + std::string{name_of(what)} +
                                                  " with root " + std::to_string(root(r))) != std::string::npos);
            EXPECT_TRUE(true_one) << said;
            mpt::coll::barrier(team);
            for (auto const next : with_roots) expect_right(team, next, static_cast<int>(common.below(team.size())), 3);
        },
        6);
}
} // namespace
