/// coll/barrier - nobody leaves before everybody came.
///
///   Dissemination: in round k each rank tells the one 2^k after it and hears from the one 2^k before it; after ceil(log2 n)
///   rounds each has heard, directly or not, from all. No root, no rank waits for one slow place more than it must.
///
///        n = 4     round 0:  0->1 1->2 2->3 3->0        round 1:  0->2 1->3 2->0 3->1
///
///   Cost      ceil(log2 n) empty messages per rank.    Source MPI-4.1 section 6.3.
#pragma once
#include <mpt/coll/together.hpp>

namespace mpt::inline v0::coll {

template <team_type Team> void barrier(Team const& t) {
    if constexpr (may_share<Team>) {
        if (detail::brief b{t, speaker::barrier, 0, 0}) return detail::barrier_in(b);
        if (detail::barrier_together(t)) return;
    }
    auto const n = t.size();
    for (std::int32_t step = 1; step < n; step *= 2) t.nod((t.me() + step) % n, (t.me() - step + n) % n, speaker::barrier);
}

} // namespace mpt::inline v0::coll
