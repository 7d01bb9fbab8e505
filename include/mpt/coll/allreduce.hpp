/// coll/allreduce - every rank gets the combination of all ranks' elements.
///
///   Two algorithms, by size (MPT_ALLREDUCE_SHORT, MPT_ALLREDUCE_HALVES):
///
///   doubling     after folding the ranks beyond a power of two into their neighbours, partners 1, 2, 4 ... apart exchange
///                everything and combine, in rank order. ceil(log2 n) (+2) messages of the whole size: small data, and operations
///                that do not commute.
///   halving      partners 1, 2, 4 ... apart exchange halves of what they have and combine the half they keep, then gather the
///                halves back in reverse: each byte is combined once per step on half the data. Large data.
///                Needs an operation that commutes, because its blocks are not contiguous in rank order.
///
///        n = 5:  fold 1 into 0;  {0,2,3,4} run as 4 places;  1 gets the result from 0
///
///   All ranks get the same bits: each element is combined by one rank, or by all in the same order.
///
///   Misuse    Ranks that bring different sizes get an error that names both, at one rank at least: both algorithms begin with
///             the same partners, and of two ranks that differ one sees another length than its own. Nothing is spent on it.
///             Not seen: a rank that brings nothing sends nothing, and the others wait for it; and a rank that has got what
///             it expected (a neighbour of ranks that differ) waits for the one that throws, until that one ends the job.
///   Memory    one work buffer of the data's size.    Source MPI-4.1 section 6.9.6.
///   Tests     test/coll_allreduce_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <bit>

#include <mpt/coll/combined.hpp>

namespace mpt::inline v0::coll {

namespace detail {

/// A power of two of places among n ranks: the first 2*extra ranks are paired, one place each pair.
struct places {
    std::int32_t count, extra;
    explicit places(std::int32_t n) noexcept
        : count{static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(n)))}, extra{n - count} {}
    /// The place of a rank; -1: folded into its left neighbour.
    std::int32_t of(std::int32_t r) const noexcept {
        if (r >= 2 * extra) return r - extra;
        return r % 2 == 0 ? r / 2 : -1;
    }
    std::int32_t rank_at(std::int32_t p) const noexcept { return p < extra ? 2 * p : p + extra; }
};

template <team_type Team> void doubling(reduction<Team> const& r, places const& at, std::int32_t place, std::byte*& have,
                                        std::byte*& other, std::size_t n) {
    for (std::int32_t step = 1; step < at.count; step *= 2) {
        auto const partner = place ^ step;
        r.exchange(at.rank_at(partner), have, n, at.rank_at(partner), other, n);
        r.join(have, other, n, partner < place);
    }
}

/// Elements [first, first + count).
struct range {
    std::size_t first, count;
};
/// The two parts of a range: never of the same size, so that a pair whose ranks were called with different sizes cannot send each
/// other exactly what the other expects, whichever algorithm each of them takes.
inline std::array<range, 2> halves(range r) noexcept {
    auto const low = r.count == 0 ? 0 : r.count / 2 + 1;
    return {range{r.first, low}, range{r.first + low, r.count - low}};
}

template <team_type Team>
void halving(reduction<Team> const& r, places const& at, std::int32_t place, std::byte* mine, std::byte* other, std::size_t n) {
    range have{0, n};
    std::array<range, 31> given; // to the partner of each step, who has it complete in the end
    int steps = 0;
    for (std::int32_t step = 1; step < at.count; step *= 2) { // reduce-scatter
        auto const partner = at.rank_at(place ^ step);
        auto const part = halves(have);
        bool const upper = (place & step) != 0;
        have = part[upper];
        auto const give = given[static_cast<std::size_t>(steps++)] = part[!upper];
        r.exchange(partner, r.at(mine, give.first), give.count, partner, r.at(other, have.first), have.count);
        r.combine(r.at(other, have.first), r.at(mine, have.first), have.count);
    }
    if (r.differs()) return; // so do the others: two that met and were content hear of it from a third by now
    for (std::int32_t step = at.count / 2; step > 0; step /= 2) { // allgather
        auto const partner = at.rank_at(place ^ step);
        auto const want = given[static_cast<std::size_t>(--steps)];
        r.exchange(partner, r.at(mine, have.first), have.count, partner, r.at(mine, want.first), want.count);
        have = {std::min(have.first, want.first), have.count + want.count};
    }
}

/// The combination of everybody's n > 0 elements; in `have`, which may have changed places with `other`.
template <team_type Team> void allreduce(reduction<Team> const& r, std::byte*& have, std::byte*& other, std::size_t n) {
    places const at{r.size()};
    auto const place = at.of(r.me());
    bool const paired = r.me() < 2 * at.extra;
    if (place < 0) { // folded: hand over, and wait for the result
        r.send(r.me() - 1, have, n);
        return r.recv(r.me() - 1, have, n);
    }
    if (paired) {
        r.recv(r.me() + 1, other, n);
        r.join(have, other, n, false);
    }
    bool const is_large =
        n * r.op().packed > r.template limit<"MPT_ALLREDUCE_SHORT">() && r.template limit<"MPT_ALLREDUCE_HALVES">() != 0;
    if (r.op().commutes && is_large && n >= static_cast<std::size_t>(at.count)) halving(r, at, place, have, other, n);
    else doubling(r, at, place, have, other, n);
    if (paired) r.send(r.me() + 1, have, n);
}

} // namespace detail

/// n elements from each rank. mine: null where they are in `all` already. all: the combination.
/// Throws mpt::error(truncate) where a rank is seen to bring another size; see Misuse above.
template <team_type Team>
void allreduce(Team const& t, operand const& op, std::byte const* mine, std::byte* all, std::size_t n) try {
    if constexpr (may_share<Team>)
        if (detail::brief b{t, speaker::allreduce, n * op.packed, n * op.packed})
            return detail::reduce_flat(b, op, fold_order::of_allreduce(t.size()), mine ? mine : all, all, n, true);
    to_the_end(t, [&](auto const& team) {
        if constexpr (may_share<Team>) {
            auto const order = fold_order::of_allreduce(t.size());
            if (detail::reduce_together(team, speaker::allreduce, op, order, mine ? mine : all, all, n)) return;
        }
        reduction const r{team, op, speaker::allreduce};
        if (mine) r.copy(mine, all, n);
        if (t.size() == 1 || n == 0) return;
        auto const work = r.work(n);
        auto* have = all;
        auto* other = work.origin();
        detail::allreduce(r, have, other, n);
        r.copy(have, all, n);
    });
} catch (error const& e) {
    if (e.code() != errc::truncate) throw;
    throw error{errc::truncate,
                std::string{e.what()} + " (allreduce; this rank brings " + std::to_string(n * op.packed) + " bytes)"};
}

} // namespace mpt::inline v0::coll
