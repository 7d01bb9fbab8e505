#include <atomic>
#include <thread>

#include "support/matrices.hpp"
#include "support/steps.hpp"
#include <mpt/coll/scan.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_scan = team_over<Stack>;
TYPED_TEST_SUITE(coll_scan, wires);

TYPED_TEST(coll_scan, everybody_has_the_combination_of_the_ranks_up_to_itself) {
    random_steps<TestFixture>(16, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        bool const commutes = common.coin(), in_place = common.coin();
        auto const n = common.one_of<std::size_t>({0, 1, 3, 100, 4000});
        matrices result{n, own};
        result.bring(seed, team.me());
        auto mine = result; // of the same type
        if (!in_place) result.bring(0, 0);
        either_way(team, common, [&](auto const& t) {
            coll::scan(t, result.either(commutes), in_place ? nullptr : mine.origin(), result.origin(), n);
        });
        for (std::size_t i = 0; i < n; ++i)
            if (result.get(i) != combined(commutes, seed, 0, team.me(), i)) {
                ADD_FAILURE() << "element " << i << " of " << n << (commutes ? ", commutes" : "");
                break;
            }
    });
}

TYPED_TEST(coll_scan, without_ones_own_and_rank_0_keeps_what_it_had) {
    random_steps<TestFixture>(16, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        bool const commutes = common.coin(), in_place = common.coin();
        auto const n = common.one_of<std::size_t>({0, 1, 3, 100, 4000});
        matrices result{n, own};
        result.bring(seed, team.me());
        auto mine = result;
        either_way(team, common, [&](auto const& t) {
            coll::exscan(t, result.either(commutes), in_place ? nullptr : mine.origin(), result.origin(), n);
        });
        for (std::size_t i = 0; i < n; ++i) {
            auto const expected = team.me() == 0 ? element_of(seed, 0, i) : combined(commutes, seed, 0, team.me() - 1, i);
            if (result.get(i) == expected) continue;
            ADD_FAILURE() << "element " << i << " of " << n << (commutes ? ", commutes" : "");
            break;
        }
    });
}

/// The last rank comes when all others are through.
TYPED_TEST(coll_scan, nobody_waits_for_a_rank_above_itself) {
    for (int const n : {2, 3, 4, 5, 7, 8}) {
        std::atomic<int> through{0};
        this->run_team(n, [&](auto const& team, int me) {
            dice d{1};
            matrices v{3, d};
            auto before = v; // of the same type
            for (bool last = me == n - 1; last && through < n - 1;) std::this_thread::yield();
            for (int i = 0; i < 4; ++i) {
                v.bring(5, team.me()), before.bring(0, 0);
                if (i % 2 == 0) coll::scan(team, v.sum(), nullptr, v.origin(), 3);
                else coll::exscan(team, v.sum(), v.origin(), before.origin(), 3);
                auto const below = i % 2 == 0 ? me : me - 1;
                auto& got = i % 2 == 0 ? v : before;
                for (std::size_t k = 0; below >= 0 && k < 3; ++k) EXPECT_EQ(got.get(k), combined(true, 5, 0, below, k));
            }
            ++through;
        });
    }
}

TYPED_TEST(coll_scan, other_sizes_on_other_ranks_are_a_sentence) {
    auto const said = this->failure_of_team(2, [](auto const& team, int me) {
        dice d{1};
        matrices v{5, d};
        coll::scan(team, v.sum(), nullptr, v.origin(), me == 0 ? 3 : 5);
    });
    EXPECT_NE(said.find("called a collective with different sizes"), std::string::npos) << said;
}
} // namespace
