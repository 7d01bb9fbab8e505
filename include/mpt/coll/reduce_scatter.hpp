/// coll/reduce_scatter - all ranks' elements combined, and each rank a part of the result.
///
///   pairwise  in step k a rank sends the k-th rank after it what that one keeps, and combines what comes from the k-th before it:
///             n-1 messages, each rank combines its own part only. Pieces come from the ranks below in falling order, then from
///             those above in falling order, so two sums, one for each side, keep rank order: no operation needs to commute.
///
///        rank 2 of 5:   x2    x1 + x2    x0 + x1 + x2     and     x4    x3 + x4     then the two
///
///   doubling  everybody gets all (coll/allreduce) and keeps a part: ceil(log2 n) (+2) messages. For few bytes.
///
///   Every rank knows how many elements each one keeps, so the choice follows from their sum.
///   Memory    pairwise: three times the own part; doubling: twice everything.    Source MPI-4.1 section 6.10.
///   Tests     test/coll_reduce_scatter_test.cpp
#pragma once
#include <vector>

#include <mpt/coll/allreduce.hpp>

namespace mpt::inline v0::coll {

/// Up to so many bytes in all, on more than two ranks, everybody combines everything.
inline constexpr std::size_t reduce_scatter_doubling_most = 4 * 1024;

namespace detail {

/// firsts[r]: the first element that rank r keeps; firsts[n]: how many there are.
inline std::vector<std::size_t> firsts_of(std::int32_t n, by_rank<std::size_t> counts) {
    std::vector<std::size_t> firsts(static_cast<std::size_t>(n) + 1);
    for (std::int32_t i = 0; i < n; ++i)
        firsts[static_cast<std::size_t>(i) + 1] = firsts[static_cast<std::size_t>(i)] + counts(i);
    return firsts;
}

/// The own part of a result, combined in rank order.
template <team_type Team> class pairwise {
    reduction<Team> const& r_;
    std::size_t count_;
    work_buffer lower_work_, upper_work_, got_work_;
    std::byte *lower_, *upper_, *got_; // the sums of either side, and what came

    /// Pieces come from r.me() - 1 down to 0, then from r.me() + 1 ... in falling order, the highest first.
    void take(std::int32_t from) {
        if (from < r_.me() || r_.op().commutes) r_.combine(got_, lower_, count_);
        else if (from == r_.size() - 1) std::swap(got_, upper_);
        else r_.combine(got_, upper_, count_);
    }

public:
    pairwise(reduction<Team> const& r, std::size_t count)
        : r_{r}, count_{count}, lower_work_{r.work(count)}, upper_work_{r.work(r.op().commutes ? 0 : count)},
          got_work_{r.work(count)}, lower_{lower_work_.origin()}, upper_{upper_work_.origin()}, got_{got_work_.origin()} {}

    /// Everybody's elements from `mine`; the own part, which lives as long as this object.
    std::byte const* run(std::byte const* mine, std::vector<std::size_t> const& firsts) {
        auto const n = r_.size(), me = r_.me();
        auto const first = [&](std::int32_t q) { return firsts[static_cast<std::size_t>(q)]; };
        r_.copy(r_.at(mine, first(me)), lower_, count_);
        for (std::int32_t k = 1; k < n; ++k) {
            auto const to = (me + k) % n, from = (me - k + n) % n;
            r_.exchange(to, r_.at(mine, first(to)), first(to + 1) - first(to), from, got_, count_);
            take(from);
        }
        if (r_.op().commutes || me == n - 1) return lower_;
        r_.combine(lower_, upper_, count_);
        return upper_;
    }
};

/// By doubling: everything combined everywhere, the own part copied.
template <team_type Team> void reduce_scatter_small(reduction<Team> const& r, std::byte const* mine, std::byte* part,
                                                    std::size_t first, std::size_t count, std::size_t n) {
    auto const one = r.work(n), two = r.work(n);
    auto* have = one.origin();
    auto* other = two.origin();
    r.copy(mine, have, n);
    allreduce(r, have, other, n);
    r.copy(r.at(have, first), part, count);
}

} // namespace detail

/// counts(r): how many elements rank r keeps, the same on all ranks. mine: the sum of those; null where they are in `part`. part: the
/// own part of the combination.
template <team_type Team>
void reduce_scatter(Team const& t, operand const& op, std::byte const* mine, std::byte* part, by_rank<std::size_t> counts) {
    auto const firsts = detail::firsts_of(t.size(), counts);
    auto const me = static_cast<std::size_t>(t.me());
    auto const all = firsts.back(), first = firsts[me], count = firsts[me + 1] - first;
    if (!mine) mine = part;
    if (all == 0) return;
    to_the_end(t, [&](auto const& team) {
        reduction const r{team, op, speaker::reduce_scatter};
        if (t.size() == 1) return r.copy(mine, part, count);
        if (t.size() > 2 && all * op.packed <= reduce_scatter_doubling_most)
            return detail::reduce_scatter_small(r, mine, part, first, count, all);
        detail::pairwise work{r, count};
        r.copy(work.run(mine, firsts), part, count);
    });
}

/// The same number of elements for each rank.
template <team_type Team>
void reduce_scatter_block(Team const& t, operand const& op, std::byte const* mine, std::byte* part, std::size_t count) {
    reduce_scatter(t, op, mine, part, [count](std::int32_t) { return count; });
}

} // namespace mpt::inline v0::coll
