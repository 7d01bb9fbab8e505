/// test/support/two_sides - two groups of one job, as each of their ranks sees them, over every kind of wire:
///
///        template <class Stack> using coll_inter = sides_over<Stack>;
///        random_sides<TestFixture>(jobs, [](auto const& local, group const& others, int side, dice& common, dice& own) { ... });
///
///   Up to four ranks on each side, in any order; common is the same on all of them. The sides talk in one context, as those of an
///   intercommunicator do.
#pragma once
#include <algorithm>
#include <numeric>

#include "dice.hpp"
#include "sanitized.hpp"
#include "team.hpp"

namespace mpt::test {

/// The sides of a job of n + m ranks.
struct sides_of_job {
    std::vector<std::int32_t> of[2];

    sides_of_job(int n, int m, dice& d) {
        std::vector<std::int32_t> all(static_cast<std::size_t>(n + m));
        std::iota(all.begin(), all.end(), 0);
        for (auto i = all.size(); i > 1; --i) std::swap(all[i - 1], all[d.below(static_cast<unsigned>(i))]);
        of[0].assign(all.begin(), all.begin() + n);
        of[1].assign(all.begin() + n, all.end());
    }
    int side(rank world) const { return std::ranges::count(of[0], world.value) == 0; }
};

/// fn(channel, sides, common, own) on every rank.
template <class Suite, class F> void random_sides(unsigned jobs, F const& fn) {
    seeds const s{sanitized ? (jobs + 3) / 4 : jobs};
    for (unsigned seed = s.first; seed != s.first + s.count && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        dice first{seed};
        auto const n = static_cast<int>(1 + first.below(4)), m = static_cast<int>(1 + first.below(4));
        auto const lanes = config::values{}.template set<"MPT_LANES">(first.coin() ? "1" : "3");
        sides_of_job const sides{n, m, first};
        Suite::job(n + m, lanes, [&](typename Suite::view world) {
            dice common{seed}, own{seed + 7919u * static_cast<unsigned>(world.rank() + 1)};
            auto const context = drawn_context(seed * 0x9e3779b97f4a7c15u);
            fn(channel{world.native().run->lane_of(context), context}, world.rank(), sides, common, own);
        });
        if (testing::Test::HasFailure()) ADD_FAILURE() << n << " ranks and " << m << "; replay with MPT_SEED=" << seed;
    }
}

} // namespace mpt::test
