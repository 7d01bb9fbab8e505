/// coll/scatter - each rank its own piece of what the root has.
///
///   tree      a binomial tree: each place gets the pieces of those below it, and hands them on; ceil(log2 n) steps. For small
///             pieces of many ranks, whose price is the messages that the root sends, and which are packed on their way.
///
///        n = 6, root 0     0 -> 4: 4,5      0 -> 2: 2,3      0 -> 1, 2 -> 3, 4 -> 5
///
///   beside    a scatterv's pieces of up to 1 KiB, where ranks share memory that has room for all of them, in a row of the root's; unless
///             MPT_COLL_OFF names scatter or scatterv.
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
#include <cstring>
#include <string>
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
    messages<outgoing> small{t.size() - 1};
    for (std::int32_t r = 0; r < t.size(); ++r)
        if (auto const data = all(r); r != root && data.size() <= most) small.add({r, data});
    t.exchange_all({}, small, speaker::scatter);
    for (std::int32_t r = 0; r < t.size(); ++r)
        if (auto const data = all(r); r != root && data.size() > most) t.send(r, speaker::scatter, data);
}

/// Where a rank's piece lies in the row that a scatterv's root shows, counted from the row's beginning.
///
///        | of rank 0: at, size | of 1 | ... | of n - 1 | a piece | a piece | ...
///
/// What the root shows as its size is marked, so that who calls scatter finds another than its own, and who calls scatterv finds a scatter. The
/// mark alone, no row: the pieces come as messages.
struct place_in_list {
    std::uint32_t at, size;
};
/// Bytes of the row; 0: there is no room for all pieces.
template <class Room> std::size_t row_of_list(by_rank<source> all, std::int32_t ranks, std::int32_t root) {
    auto row = static_cast<std::size_t>(ranks) * sizeof(place_in_list);
    for (std::int32_t q = 0; q < ranks && row <= Room::longest; ++q)
        if (auto const size = q == root ? 0 : all(q).size(); size <= Room::piece) row += size;
        else return 0;
    return row <= Room::longest ? row : 0;
}
template <class Brief> void write_list(Brief& b, std::byte* row, by_rank<source> all, std::int32_t root) {
    auto at = static_cast<std::size_t>(b.ranks()) * sizeof(place_in_list);
    for (std::int32_t q = 0; q < b.ranks(); ++q) {
        auto const data = q == root ? source{} : all(q);
        place_in_list const p{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(data.size())};
        std::memcpy(row + static_cast<std::size_t>(q) * sizeof p, &p, sizeof p);
        give(b, data, 0, row + at, data.size());
        at += data.size();
    }
}
template <class Stack>
bool scatterv_together(team<Stack> const& t, by_rank<source> all, std::optional<sink> const& mine, std::int32_t root) {
    using room_type = node_room<typename Stack::world_type>;
    if (is_off<"mpi_scatterv">(t) || by_messages(t, speaker::scatter) || !room_type::of(t)) return false;
    if (t.me() == root) {
        auto const row = row_of_list<room_type>(all, t.size(), root);
        brief b{t, speaker::scatter, row | list_mark, row, root, room_type::longest};
        if (!b) return false;
        auto* const at = b.begin(row);
        if (row != 0) write_list(b, at, all, root);
        b.show();
        if (row == 0) scatter_at_once(b.numbered(), all, std::nullopt, root);
        if (mine) t.keep(all(root), *mine);
        return true;
    }
    brief b{t, speaker::scatter, 0, 0, root};
    if (!b) return false;
    b.show_nothing();
    auto const at_once = b.shown_size(root), shown = at_once != 0 ? at_once : b.see_any(b.numbered(), root);
    if (shown == list_mark) return b.numbered().recv(root, speaker::scatter, *mine), true;
    if ((shown & list_mark) == 0) [[unlikely]]
        throw error{errc::usage, "mpt: rank " + std::to_string(root) + " scatters equal pieces of " + std::to_string(shown) +
                                     " bytes (scatter), where this rank expects one of a list (scatterv)"};
    auto const* const row = b.of(root, std::min<std::size_t>(shown & ~list_mark, room_type::piece));
    place_in_list p{};
    std::memcpy(&p, row + static_cast<std::size_t>(t.me()) * sizeof p, sizeof p);
    if (p.size != mine->size()) [[unlikely]]
        sizes_differ(p.size, mine->size(), root);
    if (at_once != 0) b.look_ahead(root, shown & ~list_mark, p.at, p.size);
    return take(b, *mine, 0, row + p.at, p.size), true;
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
    if constexpr (may_share<Team>)
        if (detail::scatterv_together(t, all, mine, root)) return;
    to_the_end(t.rooted(speaker::scatter, root), [&](auto const& rooted) {
        if (t.me() == root && mine) rooted.keep(all(root), *mine);
        detail::scatter_at_once(rooted, all, mine, root);
    });
}

} // namespace mpt::inline v0::coll
