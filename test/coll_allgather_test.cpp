#include "support/team.hpp"
#include <mpt/coll/allgather.hpp>

namespace {
using namespace mpt::test;

template <class Stack> using coll_allgather = team_over<Stack>;
TYPED_TEST_SUITE(coll_allgather, wires);

TYPED_TEST(coll_allgather, everybody_has_every_block_in_rank_order) {
    for (int n : sizes_of_teams)
        this->run_team(n, [n](auto const& team, int me) {
            for (std::size_t len : {1u, 13u, 2000u, 40000u}) {
                auto const mine = counted(len, me * 7);
                std::vector<int> all(len * static_cast<std::size_t>(n), -1);
                mpt::coll::allgather(team, readable(mine), writable(all));
                for (int r = 0; r < n; ++r)
                    for (std::size_t i : {std::size_t{0}, len / 2, len - 1})
                        ASSERT_EQ(all[static_cast<std::size_t>(r) * len + i], r * 7 + static_cast<int>(i)) << n << " " << len;
            }
        });
}

TYPED_TEST(coll_allgather, of_nothing_is_nothing) {
    for (int n : sizes_of_teams) this->run_team(n, [](auto const& team, int) { mpt::coll::allgather(team, {}, {}); });
}

TYPED_TEST(coll_allgather, the_own_block_may_already_be_in_its_place) {
    this->run_team(3, [](auto const& team, int me) {
        std::vector<int> all(3, -1);
        all[static_cast<std::size_t>(me)] = me;
        auto const bytes = writable(all);
        mpt::coll::allgather(team, bytes.subspan(static_cast<std::size_t>(me) * 4, 4), bytes);
        EXPECT_EQ(all, counted(3, 0));
    });
}

TYPED_TEST(coll_allgather, other_sizes_on_other_ranks_are_a_sentence) {
    auto const said = this->failure_of_team(3, [](auto const& team, int me) {
        std::vector<int> const mine(me == 1 ? 2 : 4);
        std::vector<int> all(mine.size() * 3);
        mpt::coll::allgather(team, readable(mine), writable(all));
    });
    EXPECT_NE(said.find("called a collective with different sizes"), std::string::npos) << said;
}

TYPED_TEST(coll_allgather, truth_values_are_gathered_too) {
    this->job(3, [](auto world) {
        auto const all = world.allgather(world.rank() != 1);
        EXPECT_EQ(all, (std::vector<bool>{true, false, true}));
    });
}
} // namespace
