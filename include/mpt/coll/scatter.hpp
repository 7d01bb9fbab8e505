/// coll/scatter - each rank its own piece of what the root has.
///
///   tree      a binomial tree: each place gets the pieces of those below it, and hands them on; ceil(log2 n) steps. For small
///             pieces of many ranks, whose price is the messages that the root sends, and which are packed on their way.
///
///        n = 6, root 0     0 -> 4: 4,5      0 -> 2: 2,3      0 -> 1, 2 -> 3, 4 -> 5
///
///   at once   a scatterv's root sends pieces of up to MPT_SCATTERV_AT_ONCE bytes without waiting in between, and the larger ones after
///             them: a slow receiver keeps nobody waiting.
///
///   linear    the root sends every piece from its place: each byte crosses one wire. For large pieces, and for pieces of
///             different sizes, because only the root knows those.
///
///   directly  large pieces of one size, where ranks share memory: each rank reads its own from the root (coll/direct.hpp).
///   Memory    tree: the packed pieces of the ranks below.    Source MPI-4.1 section 6.6.
///   Tests     test/coll_scatter_test.cpp
#pragma once
#include <algorithm>
#include <vector>

#include <mpt/coll/direct.hpp>
#include <mpt/coll/pieces.hpp>

namespace mpt::inline v0::coll {

/// Pieces up to MPT_SCATTER_SHORT go by the tree, from so many ranks on. origin: with 8 ranks on two cores the root sent them one by one in
/// no more time at any size; what it saves there it loses in one long queue where ranks are many.
inline constexpr std::int32_t scatter_tree_ranks = 16;

namespace detail {

template <team_type Team>
void scatter_tree(Team const& t, by_rank<source> all, std::optional<sink> const& mine, std::size_t size, std::int32_t root) {
    auto const n = t.size();
    auto const at = (t.me() - root + n) % n; // the root is place 0
    auto const who = [&](std::int32_t p) { return (p + root) % n; };
    auto const bytes = [&](std::int32_t places) { return static_cast<std::size_t>(places) * size; };
    std::int32_t const below = at == 0 ? n : std::min(at & -at, n - at); // places that this one provides for, itself among them
    auto const packed = t.memory(bytes(below));
    if (at != 0) t.recv(who(at & (at - 1)), speaker::scatter, packed.all());
    else
        for (std::int32_t p = 1; p < n; ++p) t.keep(all(who(p)), sink{packed.part(bytes(p), size)});
    std::int32_t step = 1;
    while (step < below) step *= 2;
    for (step /= 2; step > 0; step /= 2)
        t.send(who(at + step), speaker::scatter, source{packed.data() + bytes(step), bytes(std::min(step, below - step))});
    if (at != 0) t.move(source{packed.part(0, size)}, *mine);
}

template <team_type Team>
void scatter_linear(Team const& t, by_rank<source> all, std::optional<sink> const& mine, std::int32_t root) {
    if (t.me() != root) return t.recv(root, speaker::scatter, *mine);
    for (std::int32_t r = 0; r < t.size(); ++r)
        if (r != root) t.send(r, speaker::scatter, all(r));
}

/// The root alone knows the sizes, and chooses alone: the others receive either way.
template <team_type Team>
void scatter_at_once(Team const& t, by_rank<source> all, std::optional<sink> const& mine, std::int32_t root) {
    auto const most = is_off<"mpi_scatterv">(t) ? 0 : t.template limit<"MPT_SCATTERV_AT_ONCE">();
    if (t.me() != root || most == 0 || t.size() == 2) return scatter_linear(t, all, mine, root);
    std::vector<outgoing> small;
    for (std::int32_t r = 0; r < t.size(); ++r)
        if (auto const data = all(r); r != root && data.size() <= most) small.push_back({r, data});
    t.exchange_all({}, small, speaker::scatter);
    for (std::int32_t r = 0; r < t.size(); ++r)
        if (auto const data = all(r); r != root && data.size() > most) t.send(r, speaker::scatter, data);
}

} // namespace detail

/// Pieces of one size, which all ranks know. all: read at the root only. mine: at the root nothing says that it stays in its place.
template <team_type Team> void scatter(Team const& t, by_rank<source> all, std::optional<sink> const& mine, std::int32_t root) {
    auto const size = t.me() == root ? all(root).size() : mine->size();
    if constexpr (may_share<Team>)
        if (t.me() != root || !mine || mine->size() == size)
            if (detail::brief b{t, speaker::scatter, size, size * static_cast<std::size_t>(t.size() - 1), root}) {
                detail::scatter_in(b, all, mine, size, root);
                return t.me() == root && mine ? t.move(all(root), *mine) : void();
            }
    bool const by_tree = t.size() >= scatter_tree_ranks && size <= t.template limit<"MPT_SCATTER_SHORT">();
    to_the_end(t.rooted(speaker::scatter, root, by_tree ? way::other : way::usual), [&](auto const& rooted) {
        if (t.me() == root && mine) rooted.keep(all(root), *mine);
        if constexpr (may_share<Team>)
            if (detail::scatter_directly(rooted, all, mine, size, root) ||
                detail::scatter_together(rooted, all, mine, size, root))
                return;
        if (by_tree) detail::scatter_tree(rooted, all, mine, size, root);
        else detail::scatter_linear(rooted, all, mine, root);
    });
}

/// Pieces of any sizes.
template <team_type Team>
void scatterv(Team const& t, by_rank<source> all, std::optional<sink> const& mine, std::int32_t root) {
    to_the_end(t.rooted(speaker::scatter, root), [&](auto const& rooted) {
        if (t.me() == root && mine) rooted.keep(all(root), *mine);
        detail::scatter_at_once(rooted, all, mine, root);
    });
}

} // namespace mpt::inline v0::coll
