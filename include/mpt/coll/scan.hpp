/// coll/scan - each rank gets the combination of the elements of the ranks up to itself; without its own: exscan.
///
///   By steps of 1, 2, 4 ...: a rank sends what it has to the rank so far above it, and puts what comes from the one so far below it before
///   what it has. ceil(log2 n) messages of the whole size, in rank order. Nobody asks a rank above itself for anything: of few data, the
///   lower ranks run ahead where all have to take turns on few CPUs, or call it again and again.
///
///        n = 4      rank 0      rank 1      rank 2      rank 3
///        step 1     x0 ------>  x1 ------>  x2 ------>  x3
///        step 2     x0          x0 x1       x1 x2       x2 x3
///                    `--------------------> |           |
///                                `--------------------> |
///                   x0          x0 x1       x0 x1 x2    x0 x1 x2 x3
///
///   Memory    a work buffer of the data's size; exscan: two.    Source MPI-4.1 section 6.11.
///   Tests     test/coll_scan_test.cpp
#pragma once
#include <mpt/coll/operand.hpp>

namespace mpt::inline v0::coll {

namespace detail {

/// upto: the own elements; in the end those of all ranks below stand before them, unless `below` gets those, and nobody asks for the whole.
template <team_type Team>
void scan(reduction<Team> const& r, std::byte* upto, std::byte* below, std::byte* other, std::size_t n) {
    bool has = false; // something is below
    for (std::int32_t step = 1; step < r.size(); step *= 2) {
        bool const sends = r.me() + step < r.size(), gets = r.me() >= step;
        if (sends && gets) r.exchange(r.me() + step, upto, n, r.me() - step, other, n);
        else if (sends) r.send(r.me() + step, upto, n);
        else if (gets) r.recv(r.me() - step, other, n);
        if (!gets) continue;
        if (below && has) r.combine(other, below, n);
        else if (below) r.copy(other, below, n);
        has = true;
        if (!below || r.me() + 2 * step < r.size()) r.combine(other, upto, n);
    }
}

} // namespace detail

/// n elements from each rank. mine: null where they are in `result` already.
template <team_type Team> void scan(Team const& t, operand const& op, std::byte const* mine, std::byte* result, std::size_t n) {
    to_the_end(t, [&](auto const& team) {
        reduction const r{team, op, speaker::scan};
        if (mine) r.copy(mine, result, n);
        if (n == 0 || t.size() == 1) return;
        detail::scan(r, result, nullptr, r.work(n).origin(), n);
    });
}

/// The same without the own elements; at rank 0 result is left as it is.
template <team_type Team>
void exscan(Team const& t, operand const& op, std::byte const* mine, std::byte* result, std::size_t n) {
    to_the_end(t, [&](auto const& team) {
        reduction const r{team, op, speaker::scan};
        if (n == 0 || t.size() == 1) return;
        auto const upto = r.work(n), other = r.work(n);
        r.copy(mine ? mine : result, upto.origin(), n);
        detail::scan(r, upto.origin(), t.me() == 0 ? nullptr : result, other.origin(), n);
    });
}

} // namespace mpt::inline v0::coll
