#include "support/scattered.hpp"
#include "support/steps.hpp"
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

TYPED_TEST(coll_broadcast, layouts_may_differ_from_rank_to_rank_at_every_size) {
    random_steps<TestFixture>(8, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        auto const root = static_cast<int>(common.below(static_cast<unsigned>(team.size())));
        auto const n = common.one_of<std::size_t>({0, 1, 5, 4000, 524287, 524288, 524289, 600001});
        scattered data{n, own};
        auto const expected = values_of(seed, root, 0, n);
        if (team.me() == root) data.fill(expected);
        either_way(team, common, [&](auto const& t) { mpt::coll::broadcast(t, data.both(), root); });
        EXPECT_TRUE(data.packed() == expected) << n << " bytes from " << root << " to " << team.me();
        EXPECT_TRUE(data.whole());
    });
}

TYPED_TEST(coll_broadcast, the_roots_memory_is_only_read) {
    std::vector<std::byte> const shared = values_of(1, 0, 0, 600'000); // ThreadSanitizer would see a write
    for (int n : {2, 4, 7})
        this->run_team(n, [&](auto const& team, int me) {
            std::vector<std::byte> mine(shared.size());
            if (me == 2 % n)
                mpt::coll::broadcast(team, {mpt::source{shared.data(), shared.size()}, mpt::sink{nullptr, shared.size()}}, me);
            else mpt::coll::broadcast(team, std::span{mine}, 2 % n);
            EXPECT_TRUE(me == 2 % n || mine == shared);
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
