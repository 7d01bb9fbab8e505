/// test/support/steps - random collectives on random numbers of ranks: every rank throws the same dice for what is called, and its
/// own for what is its own business (layouts).
///
///        random_steps<TestFixture>(jobs, steps, [](auto const& team, dice& common, dice& own) { ... });
///
///   A step tells of faults by EXPECT_: a rank that went away would keep the others waiting.
#pragma once
#include "dice.hpp"
#include "sanitized.hpp"
#include "team.hpp"
#include <mpt/coll/schedule.hpp>

namespace mpt::test {

/// What `algorithm` does with a team, blocking or as a schedule.
template <class Team, class Algorithm> void either_way(Team const& team, dice& common, Algorithm const& algorithm) {
    if (common.coin()) return algorithm(team);
    coll::schedule s{team, common.seed(), algorithm};
    s.start();
    s.finish();
}

template <class Suite, class Step> void random_steps(unsigned jobs, int steps, Step step, unsigned most_ranks = 9) {
    seeds const s{sanitized ? (jobs + 3) / 4 : jobs}; // a sanitized job takes ten times as long
    for (unsigned seed = s.first; seed != s.first + s.count && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        dice first{seed};
        auto const n = static_cast<int>(1 + first.below(most_ranks));
        auto const lanes = config::values{}.template set<"MPT_LANES">(first.coin() ? "1" : "3");
        Suite::job(n, lanes, [&](typename Suite::view world) {
            auto const& state = world.native();
            typename Suite::team_type const team{state.wire, state.who, state.me, state.rooted_calls};
            dice common{seed}, own{seed + 7919u * static_cast<unsigned>(state.me + 1)};
            for (int i = 0; i < steps; ++i) step(team, common, own);
        });
        if (testing::Test::HasFailure()) ADD_FAILURE() << n << " ranks; replay with MPT_SEED=" << seed;
    }
}

} // namespace mpt::test
