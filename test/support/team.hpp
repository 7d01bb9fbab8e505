/// test/support/team - collectives tested below the facade: fn(team, rank) on each of n ranks that are threads.
#pragma once
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/coll/team.hpp>
#include <mpt/mpi/environment.hpp>
#include <mpt/mpi/local_job.hpp>

namespace mpt::test {

inline constexpr int sizes_of_teams[]{1, 2, 3, 5, 8};

template <class F> void run_team(int n, F&& fn) {
    local_job<local_stack>(n, [&](auto world) {
        auto const& s = world.native();
        fn(coll::team<local_stack>{s.wire, s.who, s.me}, static_cast<int>(s.me));
    });
}

/// The sentence that the first rank to fail throws.
template <class F> std::string failure_of_team(int n, F&& fn) {
    try {
        run_team(n, std::forward<F>(fn));
    } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::truncate) << e.what();
        return e.what();
    }
    return "nothing was thrown";
}

template <class T> std::span<std::byte> writable(std::vector<T>& v) { return std::as_writable_bytes(std::span{v}); }
template <class T> std::span<std::byte const> readable(std::vector<T> const& v) { return std::as_bytes(std::span{v}); }

inline std::vector<int> counted(std::size_t n, int from) {
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), from);
    return v;
}

} // namespace mpt::test
