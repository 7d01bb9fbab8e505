/// coll/alltoall - from each rank another piece to each rank.
///
///   doubling  every piece travels by the binary digits of its way round the ring: step k moves all pieces whose distance has
///             bit k, in one message (Bruck): ceil(log2 n) messages of about n/2 pieces. For small pieces of one size.
///   pairwise  in step k a rank sends to the one k after it and receives from the one k before it, from place to place: n-1
///             messages, each byte crosses one wire. For large pieces; and where sizes or types differ by pair, because no rank
///             knows those of the others.
///   in place  in step k the ranks whose sum is k (mod n) are partners, and swap their pieces; the one that leaves is packed aside.
///
///        n = 4     k = 0: 1-3    k = 1: 0-1, 2-3    k = 2: 0-2    k = 3: 0-3, 1-2
///
///   Memory    doubling: two times all pieces of a rank, packed. in place: one piece.    Source MPI-4.1 section 6.8.
///   Tests     test/coll_alltoall_test.cpp
#pragma once
#include <algorithm>

#include <mpt/coll/pieces.hpp>
#include <mpt/coll/team.hpp>

namespace mpt::inline v0::coll {

/// Pieces up to this size, on at least so many ranks, by doubling: fewer ranks have as few messages without.
inline constexpr std::size_t alltoall_doubling_most = 256;
inline constexpr std::int32_t alltoall_doubling_ranks = 5;

namespace detail {

/// The pieces whose distance has the bit `step`, one after the other: f(distance, which of them).
template <class F> std::size_t each_with(std::int32_t step, std::int32_t n, F const& f) {
    std::size_t count = 0;
    for (auto i = step; i < n; ++i)
        if (i & step) f(static_cast<std::size_t>(i), count++);
    return count;
}

template <class Stack> void alltoall_doubling(team<Stack> const& t, std::size_t size, by_rank<source> mine, by_rank<sink> all) {
    auto const n = t.size(), me = t.me().value;
    auto const half = static_cast<std::size_t>(n + 1) / 2;
    scratch const packed{static_cast<std::size_t>(n) * size}, out{half * size}, in{half * size};
    auto const at = [&](scratch const& s, std::size_t i) { return s.part(i * size, size); };
    for (std::int32_t i = 1; i < n; ++i) mine((me + i) % n).read(0, at(packed, static_cast<std::size_t>(i)));
    for (std::int32_t step = 1; step < n; step *= 2) {
        auto const count =
            each_with(step, n, [&](std::size_t i, std::size_t k) { copy(source{at(packed, i)}, sink{at(out, k)}); });
        t.exchange((me + step) % n, source{out.data(), count * size}, (me - step + n) % n, sink{in.data(), count * size},
                   speaker::alltoall);
        each_with(step, n, [&](std::size_t i, std::size_t k) { copy(source{at(in, k)}, sink{at(packed, i)}); });
    }
    for (std::int32_t i = 1; i < n; ++i) all((me - i + n) % n).write(0, at(packed, static_cast<std::size_t>(i)));
}

} // namespace detail

/// Pieces of any sizes: what one rank has for another is as large as what that one expects of it.
template <class Stack> void alltoallv(team<Stack> const& t, by_rank<source> mine, by_rank<sink> all) {
    auto const n = t.size(), me = t.me().value;
    t.keep(mine(me), all(me));
    for (std::int32_t k = 1; k < n; ++k) {
        auto const to = (me + k) % n, from = (me - k + n) % n;
        t.exchange(to, mine(to), from, all(from), speaker::alltoall);
    }
}

/// Pieces of one size, which all ranks know.
template <class Stack> void alltoall(team<Stack> const& t, by_rank<source> mine, by_rank<sink> all) {
    auto const size = all(t.me()).size();
    if (size > alltoall_doubling_most || t.size() < alltoall_doubling_ranks) return alltoallv(t, mine, all);
    t.keep(mine(t.me()), all(t.me()));
    detail::alltoall_doubling(t, size, mine, all);
}

/// all(r): what rank r gets, then what came from it; as large there as here. For pieces of one size and of many.
template <class Stack> void alltoall_in_place(team<Stack> const& t, by_rank<place> all) {
    auto const n = t.size(), me = t.me().value;
    for (std::int32_t k = 0; k < n; ++k) {
        auto const partner = (k - me + n) % n;
        if (partner == me) continue;
        auto const here = all(partner);
        scratch const aside{here.out.size()};
        here.out.read(0, aside.all());
        t.exchange(partner, source{aside.all()}, partner, here.in, speaker::alltoall);
    }
}

} // namespace mpt::inline v0::coll
