#include "support/matrices.hpp"
#include "support/steps.hpp"
#include <mpt/coll/reduce_scatter.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_reduce_scatter = team_over<Stack>;
TYPED_TEST_SUITE(coll_reduce_scatter, wires);

/// Elements first to first + n of the combination; what came from this rank lies in `from` where it is not in place.
template <class Team>
void is_part(Team const& team, matrices& part, bool commutes, unsigned seed, std::size_t first, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i)
        if (part.get(i) != combined(commutes, seed, 0, team.size() - 1, first + i)) {
            ADD_FAILURE() << "element " << i << " of " << n << ", of all " << first + i << (commutes ? ", commutes" : "");
            break;
        }
}

TYPED_TEST(coll_reduce_scatter, everybody_has_its_part_of_the_combination) {
    random_steps<TestFixture>(16, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        bool const commutes = common.coin(), in_place = common.coin();
        auto const most = common.one_of<unsigned>({1, 30, 60, 1000, 3000});
        std::vector<std::size_t> counts;
        std::size_t all = 0, first = 0;
        for (int r = 0; r < team.size(); ++r) {
            if (r == team.me()) first = all;
            counts.push_back(common.below(4) == 0 ? 0 : common.below(most + 1));
            all += counts.back();
        }
        matrices part{all, own};
        part.bring(seed, team.me());
        auto mine = part; // of the same type
        auto const count = [&](std::int32_t r) { return counts[static_cast<std::size_t>(r)]; };
        either_way(team, common, [&](auto const& t) {
            coll::reduce_scatter(t, part.either(commutes), in_place ? nullptr : mine.origin(), part.origin(), count);
        });
        is_part(team, part, commutes, seed, first, count(team.me()));
    });
}

TYPED_TEST(coll_reduce_scatter, in_blocks_of_one_size) {
    random_steps<TestFixture>(16, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        bool const commutes = common.coin(), in_place = common.coin();
        auto const n = common.one_of<std::size_t>({0, 1, 28, 29, 64, 256, 257, 2000});
        matrices part{n * static_cast<std::size_t>(team.size()), own};
        part.bring(seed, team.me());
        auto mine = part;
        either_way(team, common, [&](auto const& t) {
            coll::reduce_scatter_block(t, part.either(commutes), in_place ? nullptr : mine.origin(), part.origin(), n);
        });
        is_part(team, part, commutes, seed, n * static_cast<std::size_t>(team.me()), n);
    });
}

TYPED_TEST(coll_reduce_scatter, other_sizes_on_other_ranks_are_a_sentence) {
    auto const said = this->failure_of_team(2, [](auto const& team, int me) {
        dice d{1};
        matrices v{10, d};
        coll::reduce_scatter_block(team, v.sum(), nullptr, v.origin(), me == 0 ? 3 : 5);
    });
    EXPECT_NE(said.find("called a collective with different sizes"), std::string::npos) << said;
}
} // namespace
