#include <deque>

#include "support/job_of.hpp"
#include "support/scattered.hpp"
#include "support/steps.hpp"
#include <mpt/coll/gather.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_gather = team_over<Stack>;
TYPED_TEST_SUITE(coll_gather, wires);

/// Every rank's piece at the root, from any layout to any other; the root's own in its place already, or not.
template <class Team, class Gather>
void gathered(Team const& team, unsigned seed, int root, std::vector<std::size_t> const& sizes, dice& own, Gather gather) {
    auto const me = static_cast<std::size_t>(team.me());
    bool const at_root = team.me() == root, in_place = at_root && own.coin();
    std::deque<scattered> all;
    for (auto n : sizes) all.emplace_back(n, own);
    scattered mine{sizes[me], own};
    mine.fill(values_of(seed, team.me(), root, sizes[me]));
    if (in_place) all[me].fill(mine.packed());
    auto const to = [&](std::int32_t r) { return all[static_cast<std::size_t>(r)].in(); };
    gather(in_place ? std::nullopt : std::optional{mine.out()},
           at_root ? coll::by_rank<mpt::sink>{to} : coll::by_rank<mpt::sink>{});
    for (int r = 0; at_root && r < team.size(); ++r) {
        auto const& got = all[static_cast<std::size_t>(r)];
        EXPECT_TRUE(got.packed() == values_of(seed, r, root, got.size()))
            << got.size() << " bytes from " << r << " to " << root;
        EXPECT_TRUE(got.whole());
    }
}

TYPED_TEST(coll_gather, the_root_has_every_piece_in_its_place) {
    random_steps<TestFixture>(
        16, 15,
        [](auto const& team, dice& common, dice& own) {
            auto const seed = common.seed();
            auto const root = static_cast<int>(common.below(static_cast<unsigned>(team.size())));
            auto const n = common.one_of<std::size_t>({0, 1, 8, 40, 1023, 1024, 1025, 5000, 70000});
            std::vector const sizes(static_cast<std::size_t>(team.size()), n);
            gathered(team, seed, root, sizes, own, [&](auto const& mine, auto all) {
                either_way(team, common, [&](auto const& t) { coll::gather(t, mine, all, root); });
            });
        },
        40); // on either side of the least number of ranks for the tree
}

TYPED_TEST(coll_gather, pieces_may_have_any_sizes_that_the_root_knows) {
    random_steps<TestFixture>(16, 15, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        auto const root = static_cast<int>(common.below(static_cast<unsigned>(team.size())));
        std::vector<std::size_t> sizes;
        for (int r = 0; r < team.size(); ++r) sizes.push_back(common.one_of<std::size_t>({0, 0, 1, 100, 1025, 30000}));
        gathered(team, seed, root, sizes, own, [&](auto const& mine, auto all) {
            either_way(team, common, [&](auto const& t) { coll::gatherv(t, mine, all, root); });
        });
    });
}

TYPED_TEST(coll_gather, another_size_than_the_root_expects_is_a_sentence) {
    for (std::size_t ints : {3u, 1000u}) {
        auto const said = this->failure_of_team(3, [&](auto const& team, int me) {
            std::vector<int> const mine(me == 2 ? ints + 1 : ints);
            std::vector<int> all(3 * ints);
            coll::gather(team, readable(mine), coll::blocks{writable(all), ints * 4}, 0);
        });
        EXPECT_NE(
            said.find("different sizes: " + std::to_string(4 * (ints + 1)) + " bytes came where " + std::to_string(4 * ints)),
            std::string::npos)
            << said;
    }
}

TYPED_TEST(coll_gather, what_the_root_sends_itself_has_the_size_of_its_place) {
    auto const said = this->failure_of_team(1, [](auto const& team, int) {
        std::vector<int> const mine(2);
        std::vector<int> all(3);
        coll::gatherv(team, readable(mine), coll::blocks{writable(all), 12}, 0);
    });
    EXPECT_NE(said.find("8 bytes came where 12 were expected, from rank 0"), std::string::npos) << said;
}

/// Rank 2's piece is too long to leave before the root asks for it, and rank 1 brings its own only when rank 2 has left.
TYPED_TEST(coll_gather, pieces_that_are_taken_at_once_do_not_wait_for_each_other) {
    watchdog const guard{"a gatherv at once"};
    this->job(3, mpt::config::values{}.set<"MPT_GATHERV_AT_ONCE">("1M"), [](typename TestFixture::view world) {
        auto const& s = world.native();
        coll::team<TypeParam> const team{s.wire, s.who, s.me, s.rooted_calls};
        auto const me = static_cast<int>(s.me);
        auto const size = [](std::int32_t r) { return r == 2 ? std::size_t{500'000} : std::size_t{8}; };
        std::vector<std::byte> const mine(size(me), std::byte(me + 1));
        std::vector<std::vector<std::byte>> all;
        for (int r = 0; r < 3; ++r) all.emplace_back(size(r));
        if (me == 1) world.template recv<int>(2);
        coll::gatherv(
            team, mpt::source{mine.data(), mine.size()},
            [&](std::int32_t r) { return mpt::sink{std::span{all[static_cast<std::size_t>(r)]}}; }, 0);
        if (me == 2) world.send(1, 1);
        for (int r = 0; me == 0 && r < 3; ++r)
            EXPECT_EQ(all[static_cast<std::size_t>(r)], std::vector(size(r), std::byte(r + 1))) << r;
    });
}
} // namespace
