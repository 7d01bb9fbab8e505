/// test/support/team - collectives tested below the facade, over every kind of wire: fn(team, rank) on each of n ranks that are
/// threads.
///
///        template <class Stack> using coll_barrier = team_over<Stack>;
///        TYPED_TEST_SUITE(coll_barrier, wires);
#pragma once
#include <numeric>
#include <vector>

#include "wires.hpp"
#include <mpt/coll/team.hpp>

namespace mpt::test {

inline constexpr int sizes_of_teams[]{1, 2, 3, 5, 8};

template <class Stack> struct team_over : over<Stack> {
    using team_type = coll::team<Stack>;

    template <class F> static void run_team(int n, F&& fn) {
        over<Stack>::job(n, [&](typename over<Stack>::view world) {
            auto const& s = world.native();
            fn(team_type{s.wire, s.who, s.me, s.rooted_calls}, static_cast<int>(s.me));
        });
    }
    /// The sentence that the first rank to fail throws.
    template <class F> static std::string failure_of_team(int n, F&& fn) {
        try {
            run_team(n, std::forward<F>(fn));
        } catch (error const& e) {
            EXPECT_EQ(e.code(), errc::truncate) << e.what();
            return e.what();
        }
        return "nothing was thrown";
    }
};

template <class T> std::span<std::byte> writable(std::vector<T>& v) { return std::as_writable_bytes(std::span{v}); }
template <class T> std::span<std::byte const> readable(std::vector<T> const& v) { return std::as_bytes(std::span{v}); }

inline std::vector<int> counted(std::size_t n, int from) {
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), from);
    return v;
}

} // namespace mpt::test
