/// coll/broadcast - one rank's data to all.
///
///   tree      a binomial tree hands the whole on, ceil(log2 n) steps: below MPT_BCAST_LONG, and among fewer than four ranks; or
///             always (MPT_BCAST_TREE).
///
///        n = 8, root 0     0 -> 4      0 -> 2, 4 -> 6      0 -> 1, 2 -> 3, 4 -> 5, 6 -> 7
///
///   cut       the tree hands out n chunks, each to its own rank, and a ring brings every chunk to everybody (van de Geijn): each
///             rank receives the data once and sends it about once, the root only once, instead of the root sending all of it log2 n times.
///
///   The choice follows from the size and the number of ranks, which MPI makes the same everywhere. Chunks are cut from the packed
///   bytes, so that ranks with different layouts of the same data agree.    Source MPI-4.1 section 6.4.
///   Tests     test/coll_broadcast_test.cpp
#pragma once
#include <algorithm>

#include <mpt/coll/pieces.hpp>
#include <mpt/coll/together.hpp>

namespace mpt::inline v0::coll {

namespace detail {

/// The packed bytes of a place, in one chunk for each place of the tree; the last ones may be shorter, or empty.
struct chunks {
    place data;
    std::size_t size, each;

    chunks(place const& whole, std::int32_t n) noexcept
        : data{whole}, size{whole.in.size()}, each{(size + static_cast<std::size_t>(n) - 1) / static_cast<std::size_t>(n)} {}
    std::size_t begin(std::int32_t p) const noexcept { return std::min(size, static_cast<std::size_t>(p) * each); }
    source_part out(std::int32_t p, std::int32_t end) const noexcept { return {data.out, begin(p), begin(end) - begin(p)}; }
    sink_part in(std::int32_t p, std::int32_t end) const noexcept { return {data.in, begin(p), begin(end) - begin(p)}; }
};

template <team_type Team> void broadcast_tree(Team const& t, place const& data, std::int32_t root, speaker s) {
    auto const n = t.size();
    auto const place = (t.me() - root + n) % n; // the root is place 0
    auto const who = [&](std::int32_t p) { return (p + root) % n; };
    std::int32_t step = 1;
    for (; step < n; step *= 2)
        if (place & step) {
            t.recv(who(place - step), s, data.in);
            break;
        }
    for (step /= 2; step > 0; step /= 2)
        if (place + step < n) t.send(who(place + step), s, data.out);
}

/// How many chunks a place has after the tree: its own and those of the places below it.
inline std::int32_t has(std::int32_t place, std::int32_t n) noexcept {
    return place == 0 ? n : std::min(place & -place, n - place);
}

template <team_type Team> void broadcast_cut(Team const& t, place const& data, std::int32_t root, speaker s) {
    auto const n = t.size();
    auto const place = (t.me() - root + n) % n;
    auto const who = [&](std::int32_t p) { return (p + root) % n; };
    chunks const cut{data, n};
    std::int32_t step = 1;
    while (step < n && !(place & step)) step *= 2;
    if (place != 0) {
        auto const in = cut.in(place, place + has(place, n));
        t.recv(who(place - step), s, in);
    }
    for (step /= 2; step > 0; step /= 2)
        if (place + step < n) {
            auto const out = cut.out(place + step, place + step + has(place + step, n));
            t.send(who(place + step), s, out);
        }
    // The ring. What a place has already is the last that the ring would bring it.
    auto const right = (place + 1) % n;
    auto const takes = n - has(place, n), gives = n - has(right, n);
    for (std::int32_t k = 0; k < std::max(takes, gives); ++k) {
        auto const give = (place - k + n) % n, take = (place - k - 1 + n) % n;
        auto const out = cut.out(give, give + 1);
        auto const in = cut.in(take, take + 1);
        if (k < takes && k < gives) t.exchange(who(right), out, who((place - 1 + n) % n), in, s);
        else if (k < gives) t.send(who(right), s, out);
        else t.recv(who((place - 1 + n) % n), s, in);
    }
}

/// Three ranks have the same number of steps either way. origin of MPT_BCAST_LONG: 4 and 8 ranks on two cores, where the tree was twice
/// as fast at 128 KiB and no faster at 1 MiB.
template <team_type Team> bool is_cut(Team const& t, place const& data) noexcept {
    return t.size() >= 4 && data.in.size() >= t.template limit<"MPT_BCAST_LONG">() && t.template limit<"MPT_BCAST_TREE">() == 0;
}
/// Messages are those of the algorithm s.
template <team_type Team> void broadcast_by_size(Team const& t, place const& data, std::int32_t root, speaker s) {
    if (is_cut(t, data)) broadcast_cut(t, data, root, s);
    else broadcast_tree(t, data, root, s);
}

} // namespace detail

/// data: at the root what is sent, elsewhere room for it; of the same packed size on all ranks.
template <team_type Team> void broadcast(Team const& t, place const& data, std::int32_t root) {
    if constexpr (may_share<Team>)
        if (detail::brief b{t, speaker::broadcast, data.in.size(), data.in.size(), root})
            return detail::broadcast_in(b, data, root);
    auto const by = detail::is_cut(t, data) ? way::other : way::usual;
    to_the_end(t.rooted(speaker::broadcast, root, by), [&](auto const& rooted) {
        if constexpr (may_share<Team>)
            if (detail::broadcast_together(rooted, data, root)) return;
        detail::broadcast_by_size(rooted, data, root, speaker::broadcast);
    });
}

} // namespace mpt::inline v0::coll
