#include <deque>

#include "support/job_of.hpp"
#include "support/scattered.hpp"
#include "support/steps.hpp"
#include <mpt/coll/scatter.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_scatter = team_over<Stack>;
TYPED_TEST_SUITE(coll_scatter, wires);

/// Every rank gets its piece, from any layout in any other; the root's own stays in its place, or not.
template <class Team, class Scatter> void scattered_out(Team const& team, unsigned seed, int root,
                                                        std::vector<std::size_t> const& sizes, dice& own, Scatter scatter) {
    auto const me = static_cast<std::size_t>(team.me());
    bool const at_root = team.me() == root, in_place = at_root && own.coin();
    std::deque<scattered> all;
    for (auto n : sizes) all.emplace_back(n, own);
    for (int r = 0; at_root && r < team.size(); ++r) {
        auto& one = all[static_cast<std::size_t>(r)];
        one.fill(values_of(seed, root, r, one.size()));
    }
    scattered mine{sizes[me], own};
    auto const from = [&](std::int32_t r) { return all[static_cast<std::size_t>(r)].out(); };
    scatter(at_root ? coll::by_rank<mpt::source>{from} : coll::by_rank<mpt::source>{},
            in_place ? std::nullopt : std::optional{mine.in()});
    auto const& got = in_place ? all[me] : mine;
    EXPECT_TRUE(got.packed() == values_of(seed, root, team.me(), got.size())) << got.size() << " bytes from " << root;
    EXPECT_TRUE(got.whole());
}

TYPED_TEST(coll_scatter, everybody_gets_the_piece_that_is_meant_for_it) {
    random_steps<TestFixture>(
        16, 15,
        [](auto const& team, dice& common, dice& own) {
            auto const seed = common.seed();
            auto const root = static_cast<int>(common.below(static_cast<unsigned>(team.size())));
            auto const n = common.one_of<std::size_t>({0, 1, 8, 40, 1023, 1024, 1025, 5000, 70000});
            std::vector const sizes(static_cast<std::size_t>(team.size()), n);
            scattered_out(team, seed, root, sizes, own, [&](auto all, auto const& mine) {
                either_way(team, common, [&](auto const& t) { coll::scatter(t, all, mine, root); });
            });
        },
        40); // on either side of the least number of ranks for the tree
}

TYPED_TEST(coll_scatter, pieces_may_have_any_sizes_that_the_root_knows) {
    random_steps<TestFixture>(16, 15, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        auto const root = static_cast<int>(common.below(static_cast<unsigned>(team.size())));
        std::vector<std::size_t> sizes;
        for (int r = 0; r < team.size(); ++r) sizes.push_back(common.one_of<std::size_t>({0, 0, 1, 100, 1025, 30000}));
        scattered_out(team, seed, root, sizes, own, [&](auto all, auto const& mine) {
            either_way(team, common, [&](auto const& t) { coll::scatterv(t, all, mine, root); });
        });
    });
}

TYPED_TEST(coll_scatter, another_size_than_the_root_sends_is_a_sentence) {
    auto const said = this->failure_of_team(3, [](auto const& team, int me) {
        std::vector<int> all(9), mine(me == 2 ? 2 : 3);
        coll::scatterv(team, coll::blocks{writable(all), 12}, writable(mine), 0);
    });
    EXPECT_NE(said.find("different sizes: 12 bytes came where 8 were expected"), std::string::npos) << said;
}

/// Rank 1's piece is too long to leave before rank 1 asks for it, which it does only when rank 2 has its own.
TYPED_TEST(coll_scatter, pieces_that_are_sent_at_once_do_not_wait_for_each_other) {
    watchdog const guard{"a scatterv at once"};
    this->job(3, mpt::config::values{}.set<"MPT_SCATTERV_AT_ONCE">("1M"), [](typename TestFixture::view world) {
        auto const& s = world.native();
        coll::team<TypeParam> const team{s.wire, s.who, s.me, s.rooted_calls};
        auto const me = static_cast<int>(s.me);
        auto const size = [](std::int32_t r) { return r == 1 ? std::size_t{500'000} : std::size_t{8}; };
        std::vector<std::vector<std::byte>> all;
        for (int r = 0; r < 3; ++r) all.emplace_back(size(r), std::byte(r + 1));
        std::vector<std::byte> mine(size(me));
        if (me == 1) world.template recv<int>(2);
        coll::scatterv(
            team,
            [&](std::int32_t r) -> mpt::source {
                auto const& one = all[static_cast<std::size_t>(r)];
                return {one.data(), one.size()};
            },
            mpt::sink{std::span{mine}}, 0);
        if (me == 2) world.send(1, 1);
        EXPECT_EQ(mine, all[static_cast<std::size_t>(me)]);
    });
}
} // namespace
