#include <deque>

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
} // namespace
