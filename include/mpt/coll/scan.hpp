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
///   Where ranks share memory, what has room in one round of it - of more than 1 KiB for up to eight ranks - each shows there, and combines by
///   itself what those below it have, in the order in which messages bring it together. Still nobody waits for a rank above itself, but
///   where memory for so much is agreed on: once.
///
///   Misuse    As in coll/allreduce.hpp; in shared memory who finds another size below itself is told.
///   Memory    a work buffer of the data's size; exscan: two.    Source MPI-4.1 section 6.11.
///   Tests     test/coll_scan_test.cpp
#pragma once
#include <algorithm>
#include <memory>

#include <mpt/coll/combined.hpp>

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

/// Shows the own elements to those above, and waits for those below; what they have lies at j.of(q) then.
template <class J> void show_upwards(J& j, operand const& op, std::byte const* mine, std::size_t n, bool keeps) {
    if (keeps && j.me() + 1 == j.ranks()) j.show_nothing();
    else show_packed(j, op, mine, n);
    for (std::int32_t q = 0; q < j.me(); ++q) j.see_ahead(q, 0, n * op.packed);
}
template <class J> void scan_in(J& j, operand const& op, std::byte const* mine, std::byte* result, std::size_t n) {
    bool const keeps = op.is_contiguous() && mine != result;
    show_upwards(j, op, mine, n, keeps);
    if (j.me() == 0 && op.is_contiguous()) return keeps ? copy_bytes(result, mine, n * op.packed) : void();
    auto const lies_at = [&](std::int32_t q) { return keeps && q == j.me() ? mine : j.of(q); };
    fold(op, fold_order::of_scan(j.me() + 1), n, lies_at, result);
}
/// The nearest one below, and before it what two, four ... have from there on.
template <class J> void exscan_in(J& j, operand const& op, std::byte const* mine, std::byte* result, std::size_t n) {
    show_upwards(j, op, mine, n, true);
    if (j.me() == 0) return;
    unpack(op, j.of(j.me() - 1), n, result);
    std::unique_ptr<work_buffer> aside;
    for (std::int32_t step = 2; step <= j.me(); step *= 2) {
        auto const last = j.me() - step, count = std::min(step, last + 1);
        if (count == 1 && op.is_contiguous()) {
            op.combine(op.what, j.of(last), result, n);
            continue;
        }
        if (!aside) aside = buffer_for(op, n);
        auto const lies_at = [&](std::int32_t q) { return j.of(last + 1 - count + q); };
        fold(op, fold_order::of_scan(count), n, lies_at, aside->origin());
        op.combine(op.what, aside->origin(), result, n);
    }
}

/// Each rank reads what all below have: of more than 1 KiB that is too much where they are many. In one round, so that ranks whose sizes differ
/// are in step after it.
inline constexpr std::int32_t most_to_scan = 8;

/// scan: of who shows what each has; messages(reduction): where none of them does.
template <team_type Team, class Scan, class Messages>
void scan_either_way(Team const& t, operand const& op, std::size_t n, Scan const& scan, Messages const& messages) {
    auto const size = n * op.packed;
    if constexpr (may_share<Team>)
        if (brief b{t, speaker::scan, size, size, rooted_call::nobody}) return scan(b);
    to_the_end(counted(t, speaker::scan), [&](auto const& team) {
        if constexpr (may_share<Team>)
            if (joint j{team, speaker::scan, size}; j.takes(size, t.size() <= most_to_scan && size <= chunk_bytes(t)))
                return scan(j);
        messages(reduction{team, op, speaker::scan});
    });
}

} // namespace detail

/// n elements from each rank. mine: null where they are in `result` already.
template <team_type Team> void scan(Team const& t, operand const& op, std::byte const* mine, std::byte* result, std::size_t n) {
    detail::scan_either_way(
        t, op, n, [&](auto& j) { detail::scan_in(j, op, mine ? mine : result, result, n); },
        [&](auto const& r) {
            if (mine) r.copy(mine, result, n);
            if (n == 0 || t.size() == 1) return;
            detail::scan(r, result, nullptr, r.work(n).origin(), n);
        });
}

/// The same without the own elements; at rank 0 result is left as it is.
template <team_type Team>
void exscan(Team const& t, operand const& op, std::byte const* mine, std::byte* result, std::size_t n) {
    detail::scan_either_way(
        t, op, n, [&](auto& j) { detail::exscan_in(j, op, mine ? mine : result, result, n); },
        [&](auto const& r) {
            if (n == 0 || t.size() == 1) return;
            auto const upto = r.work(n), other = r.work(n);
            r.copy(mine ? mine : result, upto.origin(), n);
            detail::scan(r, upto.origin(), t.me() == 0 ? nullptr : result, other.origin(), n);
        });
}

} // namespace mpt::inline v0::coll
