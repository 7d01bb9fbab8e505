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

/// What each rank says; nothing: it did not throw. Whoever threw does not go on.
inline std::vector<std::string> said(int n, config::values const& v, auto fn) {
    std::vector<std::string> all(static_cast<std::size_t>(n));
    watchdog const guard{"ranks that disagree"};
    try {
        together(n, v, [&](team_type const& team, int me) {
            coll::barrier(team);
            try {
                fn(team, me);
                coll::barrier(team); // who noticed nothing waits for those that did
            } catch (mpt::error const& e) {
                if (e.code() != errc::peer_gone) all[static_cast<std::size_t>(me)] = e.what();
                throw;
            }
        });
    } catch (mpt::error const&) {}
    return all;
}
inline bool any_says(std::vector<std::string> const& all, std::string_view what) {
    return std::any_of(all.begin(), all.end(), [&](auto const& s) { return s.find(what) != s.npos; });
}

} // namespace mpt::test
