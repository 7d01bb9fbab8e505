/// test/support/together - ranks as threads that share memory from their communicator's first collective on.
#pragma once
#include <gtest/gtest.h>

#include "job_of.hpp"
#include "team.hpp"

namespace mpt::test {
namespace coll = mpt::coll;
namespace config = mpt::config;
using team_type = coll::team<mpt::local_stack>;

inline config::values from_the_first_call() { return config::values{}.set<"MPT_NODE_CALLS">("1"); }

/// fn(team, rank) on n ranks that share memory from their first collective on.
template <class F> void together(int n, config::values const& v, F fn) {
    over<mpt::local_stack>::job(n, v, [&](over<mpt::local_stack>::view world) {
        auto const& s = world.native();
        fn(team_type{s.wire, s.who, s.me, s.rooted_calls, &s.shared}, static_cast<int>(s.me));
        EXPECT_TRUE(n == 1 || s.shared.room) << "they went by messages";
    });
}
template <class F> void together(int n, F fn) { together(n, from_the_first_call(), fn); }

} // namespace mpt::test
