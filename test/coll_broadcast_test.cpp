#include "support/team.hpp"
#include <mpt/coll/broadcast.hpp>

namespace {
using namespace mpt::test;

template <class Stack> using coll_broadcast = team_over<Stack>;
TYPED_TEST_SUITE(coll_broadcast, wires);

TYPED_TEST(coll_broadcast, everybody_has_what_the_root_had_whoever_the_root_is) {
    for (int n : sizes_of_teams)
        this->run_team(n, [n](auto const& team, int me) {
            for (int root = 0; root < n; ++root)
                for (std::size_t len : {1u, 10u, 1000u, 50000u}) {
                    auto v = me == root ? counted(len, root) : std::vector<int>(len, -1);
                    mpt::coll::broadcast(team, writable(v), root);
                    ASSERT_EQ(v, counted(len, root)) << "n " << n << " root " << root << " length " << len;
                }
        });
}

TYPED_TEST(coll_broadcast, of_nothing_is_nothing) {
    for (int n : sizes_of_teams)
        this->run_team(n, [](auto const& team, int) {
            for (int i = 0; i < 10; ++i) mpt::coll::broadcast(team, {}, 0);
        });
}

TYPED_TEST(coll_broadcast, broadcasts_in_a_row_keep_apart) {
    this->run_team(5, [](auto const& team, int me) {
        for (int i = 0; i < 200; ++i) {
            std::vector<int> v{me == i % 5 ? i : -1};
            mpt::coll::broadcast(team, writable(v), i % 5);
            ASSERT_EQ(v[0], i);
        }
    });
}

TYPED_TEST(coll_broadcast, other_sizes_on_other_ranks_are_a_sentence) {
    for (std::size_t root_has : {3u, 5u, 30000u}) {
        auto const said = this->failure_of_team(3, [&](auto const& team, int me) {
            std::vector<int> v(me == 0 ? root_has : 4);
            mpt::coll::broadcast(team, writable(v), 0);
        });
        EXPECT_NE(said.find("different sizes: " + std::to_string(root_has * 4) + " bytes came where 16"), std::string::npos)
            << said;
    }
}
} // namespace
