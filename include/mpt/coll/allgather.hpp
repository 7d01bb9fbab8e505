/// coll/allgather - everybody's piece to everybody.
///
///   doubling  partners 1, 2, 4 ... apart hand on all that they have (Bruck): ceil(log2 n) messages a rank, for any n; the pieces
///             travel packed, in the order in which they stand round the ring. For few bytes.
///
///        n = 5, rank 0 has     0      0 1      0 1 2 3      0 1 2 3 4
///
///   ring      in step k each rank hands the piece it got in step k-1 to its right neighbour, from place to place: n-1 steps,
///             every byte crosses each neighbour's wire once. For many bytes.
///
///   gathered  a binomial tree brings all pieces to rank 0, and another one hands them out: 2 ceil(log2 n) steps, of which most ranks take
///             part in few. Where messages between nodes are dear; up to MPT_ALLGATHER_VIA_ROOT a piece, MPT_UNEVEN_VIA_ROOT where pieces
///             differ in size.
///
///   Every rank knows the size of every piece, so pieces of one size and of many are the same algorithm, and the choice follows
///   from the sum of the sizes (MPT_ALLGATHER_SHORT): for few bytes copying them once more costs less than the n - 1 - log2 n
///   messages that the ring sends more.
///   Memory    doubling, gathered: all pieces, packed. ring: none.    Source MPI-4.1 section 6.7.
///   Tests     test/coll_allgather_test.cpp
#pragma once
#include <algorithm>
#include <vector>

#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/pieces.hpp>
#include <mpt/coll/together.hpp>

namespace mpt::inline v0::coll {

namespace detail {

/// ends[i]: packed bytes of the pieces of the ranks first, first + 1 ... first + i, round the ring.
inline std::vector<std::size_t> sizes_from(std::int32_t first, std::int32_t n, by_rank<place> all) {
    std::vector<std::size_t> ends(static_cast<std::size_t>(n));
    std::size_t sum = 0;
    for (std::int32_t i = 0; i < n; ++i) ends[static_cast<std::size_t>(i)] = sum += all((first + i) % n).in.size();
    return ends;
}

template <team_type Team> void allgather_doubling(Team const& t, by_rank<place> all, std::vector<std::size_t> const& ends) {
    auto const n = t.size(), me = t.me().value;
    auto const packed = t.memory(ends.back());
    auto const begin = [&](std::int32_t i) { return i == 0 ? 0 : ends[static_cast<std::size_t>(i - 1)]; };
    auto const part = [&](std::int32_t first, std::int32_t last) {
        return packed.part(begin(first), begin(last) - begin(first));
    };
    t.move(all(me).out, part(0, 1));
    for (std::int32_t have = 1; have < n; have *= 2) {
        auto const more = std::min(have, n - have);
        t.exchange((me - have + n) % n, source{part(0, more)}, (me + have) % n, sink{part(have, have + more)},
                   speaker::allgather);
    }
    for (std::int32_t i = 1; i < n; ++i) t.move(source{part(i, i + 1)}, all((me + i) % n).in);
}

template <team_type Team> void allgather_ring(Team const& t, by_rank<place> all) {
    auto const n = t.size();
    for (std::int32_t k = 0; k < n - 1; ++k)
        t.exchange((t.me() + 1) % n, all((t.me() - k + n) % n).out, (t.me() - 1 + n) % n, all((t.me() - k - 1 + n) % n).in,
                   speaker::allgather);
}

/// ends: from rank 0 on.
template <team_type Team> void allgather_gathered(Team const& t, by_rank<place> all, std::vector<std::size_t> const& ends) {
    auto const n = t.size(), me = t.me().value;
    auto const packed = t.memory(ends.back());
    auto const part = [&](std::int32_t first, std::int32_t last) {
        auto const begin = first == 0 ? 0 : ends[static_cast<std::size_t>(first - 1)];
        return packed.part(begin, ends[static_cast<std::size_t>(last - 1)] - begin);
    };
    t.move(all(me).out, part(me, me + 1));
    std::int32_t step = 1;
    for (; step < n && !(me & step); step *= 2)
        if (me + step < n) t.recv(me + step, speaker::allgather, part(me + step, std::min(me + 2 * step, n)));
    if (me != 0) t.send(me - step, speaker::allgather, source{part(me, std::min(me + step, n))});
    broadcast_tree(t, place{packed.all()}, 0, speaker::allgather);
    for (std::int32_t r = 0; r < n; ++r)
        if (r != me) t.move(source{part(r, r + 1)}, all(r).in);
}

/// Are the pieces of few enough bytes to be gathered by one?
template <team_type Team> bool is_gathered(Team const& t, by_rank<place> all) {
    auto const even = t.template limit<"MPT_ALLGATHER_VIA_ROOT">(), uneven = t.template limit<"MPT_UNEVEN_VIA_ROOT">();
    if (even == 0 && uneven == 0) return false;
    std::size_t largest = all(0).in.size(), smallest = largest;
    for (std::int32_t r = 1; r < t.size(); ++r) {
        auto const size = all(r).in.size();
        largest = std::max(largest, size), smallest = std::min(smallest, size);
    }
    if (largest == smallest) return !is_off<"mpi_allgather">(t) && largest <= even;
    return !is_off<"mpi_allgatherv">(t) && largest <= uneven;
}

/// This rank's piece is in its place.
template <team_type Team> void allgather_by_size(Team const& t, by_rank<place> all) {
    auto const n = t.size();
    if (n == 1) return;
    if constexpr (may_share<Team>)
        if (allgather_together(t, all)) return;
    if (is_gathered(t, all)) return allgather_gathered(t, all, sizes_from(0, n, all));
    auto const ends = sizes_from(t.me(), n, all);
    if (n > 2 && ends.back() <= t.template limit<"MPT_ALLGATHER_SHORT">()) allgather_doubling(t, all, ends);
    else allgather_ring(t, all);
}

} // namespace detail

/// Pieces of any sizes, which all ranks know. mine: nothing says that it is in its place already.
template <team_type Team> void allgather(Team const& t, std::optional<source> const& mine, by_rank<place> all) {
    if constexpr (may_share<Team>) {
        if (t.where() && t.where()->room && (!mine || mine->size() == all(t.me()).in.size())) {
            detail::piece_sizes const sizes{all, t.size()};
            if (detail::brief b{t, speaker::allgather, sizes.total,
                                sizes.are_even(t.size()) ? sizes.largest : sizes.too_much}) {
                if (mine) t.move(*mine, all(t.me()).in);
                return detail::allgather_in(b, all, sizes.largest);
            }
        }
    }
    to_the_end(t, [&](auto const& team) {
        if (mine) team.keep(*mine, all(t.me()));
        detail::allgather_by_size(team, all);
    });
}

} // namespace mpt::inline v0::coll
