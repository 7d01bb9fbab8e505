#include <deque>

#include "support/scattered.hpp"
#include "support/steps.hpp"
#include <mpt/coll/allgather.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_allgather = team_over<Stack>;
TYPED_TEST_SUITE(coll_allgather, wires);

TYPED_TEST(coll_allgather, everybody_has_every_block_in_rank_order) {
    for (int n : sizes_of_teams)
        this->run_team(n, [n](auto const& team, int me) {
            for (std::size_t len : {1u, 13u, 2000u, 40000u}) {
                auto const mine = counted(len, me * 7);
                std::vector<int> all(len * static_cast<std::size_t>(n), -1);
                coll::allgather(team, readable(mine), coll::blocks{writable(all), mine.size() * sizeof(int)});
                for (int r = 0; r < n; ++r)
                    for (std::size_t i : {std::size_t{0}, len / 2, len - 1})
                        ASSERT_EQ(all[static_cast<std::size_t>(r) * len + i], r * 7 + static_cast<int>(i)) << n << " " << len;
            }
        });
}

TYPED_TEST(coll_allgather, pieces_of_any_sizes_and_layouts_also_in_place) {
    random_steps<TestFixture>(16, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        bool const in_place = common.coin(), equal = common.coin();
        auto const most = common.one_of<unsigned>({1, 40, 4000, 20000});
        std::vector<std::size_t> sizes;
        for (int r = 0; r < team.size(); ++r) sizes.push_back(equal && r > 0 ? sizes[0] : common.below(most + 1));
        std::deque<scattered> all;
        for (auto n : sizes) all.emplace_back(n, own);
        auto const me = static_cast<std::size_t>(team.me());
        scattered mine{sizes[me], own};
        auto const bytes = values_of(seed, team.me(), 0, sizes[me]);
        mine.fill(bytes);
        if (in_place) all[me].fill(bytes);
        either_way(team, common, [&](auto const& t) {
            coll::allgather(t, in_place ? std::nullopt : std::optional{mine.out()},
                            [&](std::int32_t r) { return all[static_cast<std::size_t>(r)].both(); });
        });
        for (int r = 0; r < team.size(); ++r) {
            auto const& got = all[static_cast<std::size_t>(r)];
            EXPECT_TRUE(got.packed() == values_of(seed, r, 0, got.size())) << got.size() << " bytes from " << r;
            EXPECT_TRUE(got.whole());
        }
    });
}

TYPED_TEST(coll_allgather, of_nothing_is_nothing) {
    for (int n : sizes_of_teams)
        this->run_team(n, [](auto const& team, int) { coll::allgather(team, coll::in_place, coll::blocks{{}, 0}); });
}

TYPED_TEST(coll_allgather, the_own_block_may_already_be_in_its_place) {
    this->run_team(3, [](auto const& team, int me) {
        std::vector<int> all(3, -1);
        all[static_cast<std::size_t>(me)] = me;
        auto const bytes = writable(all);
        coll::allgather(team, coll::blocks{bytes, 4}(me).out, coll::blocks{bytes, 4});
        EXPECT_EQ(all, counted(3, 0));
    });
}

TYPED_TEST(coll_allgather, other_sizes_on_other_ranks_are_a_sentence) {
    auto const said = this->failure_of_team(3, [](auto const& team, int me) {
        std::vector<int> const mine(me == 1 ? 2 : 4);
        std::vector<int> all(mine.size() * 3);
        coll::allgather(team, readable(mine), coll::blocks{writable(all), mine.size() * sizeof(int)});
    });
    EXPECT_NE(said.find("called a collective with different sizes"), std::string::npos) << said;
}

TYPED_TEST(coll_allgather, truth_values_are_gathered_too) {
    this->job(3, [](auto world) {
        auto const all = world.allgather(world.rank() != 1);
        EXPECT_EQ(all, (std::vector<bool>{true, false, true}));
    });
}

TYPED_TEST(coll_allgather, by_one_rank_who_gathers_and_broadcasts_gives_the_same) {
    auto const settings =
        mpt::config::values{}.set<"MPT_ALLGATHER_VIA_ROOT">("1K").set<"MPT_UNEVEN_VIA_ROOT">("1K").set<"MPT_NODE_CALLS">("0");
    for (int n : sizes_of_teams)
        this->job(n, settings, [n](typename TestFixture::view world) {
            auto const& s = world.native();
            mpt::coll::team<TypeParam> const team{s.wire, s.who, s.me, s.rooted_calls};
            for (std::size_t const more : {0u, 1u, 300u}) { // rank r has some bytes, and r times as many more
                auto const size = [more](std::int32_t r) { return 7 + more * static_cast<std::size_t>(r); };
                std::vector<std::vector<std::byte>> all;
                for (int r = 0; r < n; ++r) all.emplace_back(size(r), std::byte(r == static_cast<int>(s.me) ? r + 1 : 0));
                mpt::coll::allgather(team, std::nullopt, [&](std::int32_t r) -> mpt::coll::place {
                    return std::span{all[static_cast<std::size_t>(r)]};
                });
                for (int r = 0; r < n; ++r)
                    EXPECT_EQ(all[static_cast<std::size_t>(r)], std::vector(size(r), std::byte(r + 1))) << r << " of " << n;
            }
        });
}
} // namespace
