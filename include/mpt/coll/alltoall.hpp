/// coll/alltoall - from each rank another piece to each rank.
///
///   doubling  every piece travels by the binary digits of its way round the ring: step k moves all pieces whose distance has
///             bit k, in one message (Bruck): ceil(log2 n) messages of about n/2 pieces. For small pieces of one size.
///   pairwise  in step k a rank sends to the one k after it and receives from the one k before it, from place to place: n-1
///             messages, each byte crosses one wire. For large pieces; and where sizes or types differ by pair, because no rank
///             knows those of the others.
///   at once   the same messages, all under way together: of more than two ranks, as long as caches hold what a rank sends.
///   directly  large pieces of one size, where ranks share memory: each rank copies its own from the others (coll/direct.hpp).
///   in place  in step k the ranks whose sum is k (mod n) are partners, and swap their pieces; the one that leaves is packed aside.
///
///        n = 4     k = 0: 1-3    k = 1: 0-1, 2-3    k = 2: 0-2    k = 3: 0-3, 1-2
///
///   Memory    doubling: two times all pieces of a rank, packed. in place: the largest piece.    Source MPI-4.1 section 6.8.
///   Tests     test/coll_alltoall_test.cpp
#pragma once
#include <algorithm>
#include <vector>

#include <mpt/coll/direct.hpp>
#include <mpt/coll/pieces.hpp>

namespace mpt::inline v0::coll {

/// From so many ranks on, pieces up to MPT_ALLTOALL_SHORT go by doubling: fewer ranks have as few messages without. Its default: 8 ranks
/// on two cores, where doubling took half the time at 1 KiB and the same at 4 KiB.
inline constexpr std::int32_t alltoall_doubling_ranks = 4;

namespace detail {

/// The pieces whose distance has the bit `step`, one after the other: f(distance, which of them).
template <class F> std::size_t each_with(std::int32_t step, std::int32_t n, F const& f) {
    std::size_t count = 0;
    for (auto i = step; i < n; ++i)
        if (i & step) f(static_cast<std::size_t>(i), count++);
    return count;
}

template <team_type Team> void alltoall_doubling(Team const& t, std::size_t size, by_rank<source> mine, by_rank<sink> all) {
    auto const n = t.size(), me = t.me().value;
    auto const half = static_cast<std::size_t>(n + 1) / 2;
    auto const packed = t.memory(static_cast<std::size_t>(n) * size), out = t.memory(half * size), in = t.memory(half * size);
    auto const at = [&](scratch const& s, std::size_t i) { return s.part(i * size, size); };
    for (std::int32_t i = 1; i < n; ++i) t.move(mine((me + i) % n), at(packed, static_cast<std::size_t>(i)));
    for (std::int32_t step = 1; step < n; step *= 2) {
        auto const count = each_with(step, n, [&](std::size_t i, std::size_t k) { t.move(source{at(packed, i)}, at(out, k)); });
        t.exchange((me + step) % n, source{out.data(), count * size}, (me - step + n) % n, sink{in.data(), count * size},
                   speaker::alltoall);
        each_with(step, n, [&](std::size_t i, std::size_t k) { t.move(source{at(in, k)}, at(packed, i)); });
    }
    for (std::int32_t i = 1; i < n; ++i) t.move(source{at(packed, static_cast<std::size_t>(i))}, all((me - i + n) % n));
}

/// Up to so many bytes a rank sends all its pieces at once: what lies in the ranks' caches until all have come to it.
/// origin: at once / in pairs, AMD EPYC, Zen 4, two CPUs, us: 8 ranks, 32 KiB 74 / 102, 64 KiB 186 / 258; 12 ranks, 32 KiB 254 / 360; 16
/// ranks, 16 KiB 310 / 550, 32 KiB 1360 / 880
inline constexpr std::size_t alltoall_at_once = 448_KiB;

/// From place to place, at once or in pairs; not a rank's own piece. Ranks that send more than others may go in pairs while those go at once:
/// the messages are the same.
template <team_type Team> void alltoall_direct(Team const& t, by_rank<source> mine, by_rank<sink> all) {
    auto const n = t.size(), me = t.me().value;
    if (n > 2) {
        messages<incoming> in{n - 1};
        messages<outgoing> out{n - 1};
        std::size_t bytes = 0;
        for (std::int32_t k = 1; k < n && bytes <= alltoall_at_once; ++k) {
            auto const to = (me + k) % n, from = (me - k + n) % n;
            auto const data = mine(to);
            in.add({from, all(from)}), out.add({to, data});
            bytes += data.size();
        }
        if (bytes <= alltoall_at_once) return t.exchange_all(in, out, speaker::alltoall);
    }
    for (std::int32_t k = 1; k < n; ++k) {
        auto const to = (me + k) % n, from = (me - k + n) % n;
        t.exchange(to, mine(to), from, all(from), speaker::alltoall);
    }
}

} // namespace detail

/// Pieces of any sizes: what one rank has for another is as large as what that one expects of it.
template <team_type Team> void alltoallv(Team const& t, by_rank<source> mine, by_rank<sink> all) {
    to_the_end(t, [&](auto const& team) {
        team.keep(mine(t.me()), all(t.me()));
        detail::alltoall_direct(team, mine, all);
    });
}

/// Pieces of one size, which all ranks know.
template <team_type Team> void alltoall(Team const& t, by_rank<source> mine, by_rank<sink> all) {
    auto const size = all(t.me()).size();
    if constexpr (may_share<Team>)
        if (mine(t.me()).size() == size)
            if (detail::brief b{t, speaker::alltoall, size, size * static_cast<std::size_t>(t.size() - 1),
                                rooted_call::nobody}) {
                t.move(mine(t.me()), all(t.me()));
                return detail::alltoall_in(b, size, mine, all);
            }
    to_the_end(detail::counted(t, speaker::alltoall), [&](auto const& team) {
        team.keep(mine(t.me()), all(t.me()));
        if constexpr (may_share<Team>) {
            bool const at_once = size * static_cast<std::size_t>(t.size() - 1) <= detail::alltoall_at_once;
            auto const least = (at_once ? 2 : 1) * t.template limit<"MPT_NODE_DIRECT">();
            if (detail::alltoall_directly(team, size, least, mine, all) || detail::alltoall_together(team, size, mine, all))
                return;
        }
        if (size > t.template limit<"MPT_ALLTOALL_SHORT">() || t.size() < alltoall_doubling_ranks)
            detail::alltoall_direct(team, mine, all);
        else detail::alltoall_doubling(team, size, mine, all);
    });
}

/// all(r): what rank r gets, then what came from it; as large there as here. For pieces of one size and of many.
template <team_type Team> void alltoall_in_place(Team const& t, by_rank<place> all) {
    auto const n = t.size(), me = t.me().value;
    std::size_t largest = 0;
    for (std::int32_t r = 0; r < n; ++r)
        if (r != me) largest = std::max(largest, all(r).out.size());
    to_the_end(t, [&](auto const& team) {
        auto const aside = team.memory(largest);
        for (std::int32_t k = 0; k < n; ++k) {
            auto const partner = (k - me + n) % n;
            if (partner == me) continue;
            auto const here = all(partner);
            auto const leaving = aside.part(0, here.out.size());
            team.move(here.out, leaving);
            team.exchange(partner, source{leaving}, partner, here.in, speaker::alltoall);
        }
    });
}

} // namespace mpt::inline v0::coll
