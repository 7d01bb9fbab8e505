/// coll/scan - each rank gets the combination of the elements of the ranks up to itself; without its own: exscan.
///
///   Doubling: partners 1, 2, 4 ... apart exchange the sums of their groups; what comes from a lower partner goes before the
///   own result, and the sum of the group grows on both sides. ceil(log2 n) messages of the whole size, in rank order.
///
///        n = 4, rank 2     result  x2    x2     x0 x1 x2
///                          sum     x2    x2 x3  x0 x1 x2 x3
///
///   Memory    two work buffers of the data's size.    Source MPI-4.1 section 6.11.
///   Tests     test/coll_scan_test.cpp
#pragma once
#include <mpt/coll/operand.hpp>

namespace mpt::inline v0::coll {

namespace detail {

/// result: the own elements where it `has` them, else nothing yet. sum: the own elements.
template <team_type Team>
void scan(reduction<Team> const& r, std::byte* sum, std::byte* other, std::byte* result, bool has, std::size_t n) {
    for (std::int32_t step = 1; step < r.size(); step *= 2) {
        auto const partner = r.me() ^ step;
        if (partner >= r.size()) continue; // nobody above needs our sum
        r.exchange(partner, sum, n, partner, other, n);
        if (partner < r.me() && has) r.combine(other, result, n);
        else if (partner < r.me()) r.copy(other, result, n);
        has = has || partner < r.me();
        r.join(sum, other, n, partner < r.me());
    }
}

} // namespace detail

/// n elements from each rank. mine: null where they are in `result` already.
template <team_type Team> void scan(Team const& t, operand const& op, std::byte const* mine, std::byte* result, std::size_t n) {
    to_the_end(t, [&](auto const& team) {
        reduction const r{team, op, speaker::scan};
        if (mine) r.copy(mine, result, n);
        if (n == 0 || t.size() == 1) return;
        auto const sum = r.work(n), other = r.work(n);
        r.copy(result, sum.origin(), n);
        detail::scan(r, sum.origin(), other.origin(), result, true, n);
    });
}

/// The same without the own elements; at rank 0 result is left as it is.
template <team_type Team>
void exscan(Team const& t, operand const& op, std::byte const* mine, std::byte* result, std::size_t n) {
    to_the_end(t, [&](auto const& team) {
        reduction const r{team, op, speaker::scan};
        if (n == 0 || t.size() == 1) return;
        auto const sum = r.work(n), other = r.work(n);
        r.copy(mine ? mine : result, sum.origin(), n);
        detail::scan(r, sum.origin(), other.origin(), result, false, n);
    });
}

} // namespace mpt::inline v0::coll
