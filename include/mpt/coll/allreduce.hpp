/// coll/allreduce - every rank gets the combination of all ranks' elements, always combined in rank order.
///
///   Two algorithms, by size (both keep rank order, so an operation need not commute):
///
///   doubling     after folding the ranks beyond a power of two into their neighbours, partners 1, 2, 4 ... apart exchange
///                everything and combine. ceil(log2 n) (+2) messages of the whole size: small data.
///   halving      partners 1, 2, 4 ... apart exchange halves of what they have and combine the half they keep, then gather the
///                halves back in reverse: each byte is combined once per step on half the data. Large data.
///                Needs an operation that commutes, because its blocks are not contiguous in rank order.
///
///        n = 5:  fold 1 into 0;  {0,2,3,4} run as 4 places;  1 gets the result from 0
///
///   Misuse    Ranks that bring different sizes get an error that names both, at one rank at least: both algorithms begin with
///             the same partners, and of two ranks that differ one sees another length than its own. Nothing is spent on it.
///             Not seen: a rank that brings nothing sends nothing, and the others wait for it; and a rank that has got what
///             it expected (a neighbour of ranks that differ) waits for the one that throws, until that one ends the job.
///   Memory    one buffer of the data's size.    Source MPI-4.1 section 6.9.6.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include <mpt/coll/team.hpp>

namespace mpt::inline v0::coll {

/// Up to here doubling, above it halving. origin: latency of a message against copying it, bench/coll_bench.
inline constexpr std::size_t doubling_most = 16 * 1024;

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

template <class Stack, class Combine> void doubling(team<Stack> const& t, places const& at, std::int32_t place,
                                                    std::span<std::byte> mine, std::span<std::byte> other,
                                                    Combine const& combine) {
    for (std::int32_t step = 1; step < at.count; step *= 2) {
        auto const partner = place ^ step;
        t.exchange(at.rank_at(partner), mine, at.rank_at(partner), other, speaker::allreduce);
        if (partner < place) combine(other, mine, mine);
        else combine(mine, other, mine);
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

template <class Stack, class Combine> void halving(team<Stack> const& t, places const& at, std::int32_t place,
                                                   std::span<std::byte> mine, std::span<std::byte> other, std::size_t element,
                                                   Combine const& combine) {
    auto const bytes_of = [&](std::span<std::byte> s, range r) { return s.subspan(r.first * element, r.count * element); };
    range have{0, mine.size() / element};
    std::array<range, 31> given; // to the partner of each step, who has it complete in the end
    int steps = 0;
    for (std::int32_t step = 1; step < at.count; step *= 2) { // reduce-scatter
        auto const partner = place ^ step;
        auto const part = halves(have);
        bool const upper = (place & step) != 0;
        have = part[upper];
        auto const give = given[static_cast<std::size_t>(steps++)] = part[!upper];
        t.exchange(at.rank_at(partner), bytes_of(mine, give), at.rank_at(partner), bytes_of(other, have), speaker::allreduce);
        combine(bytes_of(other, have), bytes_of(mine, have), bytes_of(mine, have));
    }
    for (std::int32_t step = at.count / 2; step > 0; step /= 2) { // allgather
        auto const partner = place ^ step;
        auto const want = given[static_cast<std::size_t>(--steps)];
        t.exchange(at.rank_at(partner), bytes_of(mine, have), at.rank_at(partner), bytes_of(mine, want), speaker::allreduce);
        have = {std::min(have.first, want.first), have.count + want.count};
    }
}

} // namespace detail

/// data: in, this rank's elements; out, the combination. element: bytes of one. combine(left, right, into): into[i] =
/// left[i] op right[i], where left comes from lower ranks; into may be either. commutes: whether order may be given up.
/// Throws mpt::error(truncate) where a rank is seen to bring another size; see Misuse above.
template <class Stack, class Combine> void allreduce(team<Stack> const& t, std::span<std::byte> data, std::size_t element,
                                                     bool commutes, Combine const& combine) try {
    auto const n = t.size();
    if (n == 1 || data.empty()) return;
    auto const scratch = std::make_unique_for_overwrite<std::byte[]>(data.size());
    std::span const other{scratch.get(), data.size()};
    detail::places const at{n};
    auto const place = at.of(t.me());
    bool const paired = t.me() < 2 * at.extra;
    if (place < 0) { // folded: hand over, and wait for the result
        t.send(t.me() - 1, speaker::allreduce, data);
        return t.recv(t.me() - 1, speaker::allreduce, data);
    }
    if (paired) {
        t.recv(t.me() + 1, speaker::allreduce, other);
        combine(data, other, data);
    }
    if (commutes && data.size() > doubling_most && data.size() / element >= static_cast<std::size_t>(at.count))
        detail::halving(t, at, place, data, other, element, combine);
    else detail::doubling(t, at, place, data, other, combine);
    if (paired) t.send(t.me() + 1, speaker::allreduce, data);
} catch (error const& e) {
    if (e.code() != errc::truncate) throw;
    throw error{errc::truncate,
                std::string{e.what()} + " (allreduce; this rank brings " + std::to_string(data.size()) + " bytes)"};
}

} // namespace mpt::inline v0::coll
