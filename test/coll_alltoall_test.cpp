#include <deque>

#include "support/scattered.hpp"
#include "support/steps.hpp"
#include <mpt/coll/alltoall.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_alltoall = team_over<Stack>;
TYPED_TEST_SUITE(coll_alltoall, wires);

using pieces = std::deque<scattered>;
auto out_of(pieces const& p) {
    return [&p](std::int32_t r) { return p[static_cast<std::size_t>(r)].out(); };
}
auto into(pieces& p) {
    return [&p](std::int32_t r) { return p[static_cast<std::size_t>(r)].in(); };
}
auto both_of(pieces& p) {
    return [&p](std::int32_t r) { return p[static_cast<std::size_t>(r)].both(); };
}
template <class Team> void brought(Team const& team, unsigned seed, pieces& p) {
    for (int r = 0; r < team.size(); ++r) {
        auto& one = p[static_cast<std::size_t>(r)];
        one.fill(values_of(seed, team.me(), r, one.size()));
    }
}
template <class Team> void came(Team const& team, unsigned seed, pieces const& p) {
    for (int r = 0; r < team.size(); ++r) {
        auto const& got = p[static_cast<std::size_t>(r)];
        EXPECT_TRUE(got.packed() == values_of(seed, r, team.me(), got.size())) << got.size() << " bytes from " << r;
        EXPECT_TRUE(got.whole());
    }
}

TYPED_TEST(coll_alltoall, everybody_has_what_everybody_meant_for_it) {
    random_steps<TestFixture>(16, 15, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        auto const n = common.one_of<std::size_t>({0, 1, 8, 300, 1023, 1024, 1025, 20000});
        pieces mine, all;
        for (int r = 0; r < team.size(); ++r) mine.emplace_back(n, own), all.emplace_back(n, own);
        brought(team, seed, mine);
        either_way(team, common, [&](auto const& t) { coll::alltoall(t, out_of(mine), into(all)); });
        came(team, seed, all);
    });
}

/// How much rank r has for rank q.
std::size_t size_between(unsigned seed, int r, int q) {
    return dice{seed + static_cast<unsigned>(100 * r + q)}.one_of<std::size_t>({0, 0, 1, 30, 257, 4096, 20000});
}

TYPED_TEST(coll_alltoall, every_pair_may_have_a_size_and_layouts_of_its_own) {
    random_steps<TestFixture>(16, 15, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        pieces mine, all;
        for (int r = 0; r < team.size(); ++r)
            mine.emplace_back(size_between(seed, team.me(), r), own), all.emplace_back(size_between(seed, r, team.me()), own);
        brought(team, seed, mine);
        either_way(team, common, [&](auto const& t) { coll::alltoallv(t, out_of(mine), into(all)); });
        came(team, seed, all);
    });
}

/// More than alltoall_at_once by the even ranks.
std::size_t much_between(int r, int q) { return r % 2 == 0 ? 250'000 + static_cast<std::size_t>(q) : 5'000; }

TYPED_TEST(coll_alltoall, ranks_that_send_much_go_in_pairs_while_others_go_at_once) {
    random_steps<TestFixture>(5, 4, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        pieces mine, all;
        for (int r = 0; r < team.size(); ++r)
            mine.emplace_back(much_between(team.me(), r), own), all.emplace_back(much_between(r, team.me()), own);
        brought(team, seed, mine);
        either_way(team, common, [&](auto const& t) { coll::alltoallv(t, out_of(mine), into(all)); });
        came(team, seed, all);
    });
}

TYPED_TEST(coll_alltoall, large_pieces_of_one_size_go_in_pairs) {
    random_steps<TestFixture>(4, 3, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        pieces mine, all;
        for (int r = 0; r < team.size(); ++r) mine.emplace_back(300'000, own), all.emplace_back(300'000, own);
        brought(team, seed, mine);
        either_way(team, common, [&](auto const& t) { coll::alltoall(t, out_of(mine), into(all)); });
        came(team, seed, all);
    });
}

TYPED_TEST(coll_alltoall, in_place_what_came_takes_the_place_of_what_left) {
    random_steps<TestFixture>(16, 15, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        pieces all;
        for (int r = 0; r < team.size(); ++r)
            all.emplace_back(size_between(seed, std::min(r, team.me().value), std::max(r, team.me().value)), own);
        brought(team, seed, all);
        either_way(team, common, [&](auto const& t) { coll::alltoall_in_place(t, both_of(all)); });
        came(team, seed, all);
    });
}

TYPED_TEST(coll_alltoall, another_size_than_was_expected_is_a_sentence) {
    auto const said = this->failure_of_team(3, [](auto const& team, int me) {
        std::vector<int> const mine(9);
        std::vector<int> all(9);
        std::size_t const each = me == 1 ? 8 : 12;
        coll::alltoallv(team, coll::const_blocks{readable(mine), each}, coll::blocks{writable(all), each});
    });
    EXPECT_NE(said.find("called a collective with different sizes"), std::string::npos) << said;
}
} // namespace
