/// coll/gather - everybody's piece to the root.
///
///   tree      a binomial tree: each place hands on what those below it brought, ceil(log2 n) steps at the root. For small
///             pieces of many ranks,
///             whose price is the messages that the root takes, and which are packed on their way.
///
///        n = 6, root 0     1 -> 0, 3 -> 2, 5 -> 4      2,3 -> 0      4,5 -> 0
///
///   beside    a gatherv's pieces of up to 1 KiB, where ranks share memory, each in its owner's; unless MPT_COLL_OFF names gather or gatherv.
///
///   at once   a gatherv's root takes pieces of up to MPT_GATHERV_AT_ONCE bytes as they come, and the larger ones after them.
///
///   linear    the root takes every piece from its owner into its place: each byte crosses one wire. For large pieces, and for
///             pieces of different sizes, because only the root knows those.
///
///   directly  large pieces of one size, where ranks share memory: each rank writes its own to the root (coll/direct.hpp).
///   Memory    tree: the packed pieces of the ranks below.    Source MPI-4.1 section 6.5.
///   Tests     test/coll_gather_test.cpp
#pragma once
#include <algorithm>
#include <vector>

#include <mpt/coll/direct.hpp>
#include <mpt/coll/pieces.hpp>

namespace mpt::inline v0::coll {

/// Pieces up to MPT_GATHER_SHORT go by the tree, from so many ranks on. origin: with 8 ranks on two cores the root took them one by one in
/// no more time at any size; what it saves there it loses in one long queue where ranks are many.
inline constexpr std::int32_t gather_tree_ranks = 16;

namespace detail {

template <team_type Team>
void gather_tree(Team const& t, std::optional<source> const& mine, by_rank<sink> all, std::size_t size, std::int32_t root) {
    auto const n = t.size();
    auto const at = (t.me() - root + n) % n; // the root is place 0
    auto const who = [&](std::int32_t p) { return (p + root) % n; };
    auto const bytes = [&](std::int32_t places) { return static_cast<std::size_t>(places) * size; };
    std::int32_t const below = at == 0 ? n : std::min(at & -at, n - at); // places that come together here
    auto const packed = t.memory(bytes(below));
    if (at != 0) t.move(*mine, packed.part(0, size));
    for (std::int32_t step = 1; step < below; step *= 2)
        t.recv(who(at + step), speaker::gather, packed.part(bytes(step), bytes(std::min(step, below - step))));
    if (at != 0) return t.send(who(at & (at - 1)), speaker::gather, source{packed.data(), bytes(below)});
    for (std::int32_t p = 1; p < n; ++p) t.keep(source{packed.data() + bytes(p), size}, all(who(p)));
}

template <team_type Team>
void gather_linear(Team const& t, std::optional<source> const& mine, by_rank<sink> all, std::int32_t root) {
    if (t.me() != root) return t.send(root, speaker::gather, *mine);
    for (std::int32_t r = 0; r < t.size(); ++r)
        if (r != root) t.recv(r, speaker::gather, all(r));
}

/// The root alone knows the sizes, and chooses alone: the others send either way.
template <team_type Team>
void gather_at_once(Team const& t, std::optional<source> const& mine, by_rank<sink> all, std::int32_t root) {
    auto const most = is_off<"mpi_gatherv">(t) ? 0 : t.template limit<"MPT_GATHERV_AT_ONCE">();
    if (t.me() != root || most == 0 || t.size() == 2) return gather_linear(t, mine, all, root);
    messages<incoming> small{t.size() - 1};
    for (std::int32_t r = 0; r < t.size(); ++r)
        if (auto const into = all(r); r != root && into.size() <= most) small.add({r, into});
    t.exchange_all(small, {}, speaker::gather);
    for (std::int32_t r = 0; r < t.size(); ++r)
        if (auto const into = all(r); r != root && into.size() > most) t.recv(r, speaker::gather, into);
}

/// From rank q on, some of which are not there yet, or bring more or other sizes. What comes by messages is taken as they say above.
template <class Stack> [[gnu::noinline]] void gatherv_on(brief<Stack> const& b, std::optional<source> const& mine,
                                                         by_rank<sink> all, std::int32_t q, std::int32_t root) {
    to_the_end(b.numbered(), [&](auto const& rooted) {
        if (mine) rooted.keep(*mine, all(root));
        auto const most = rooted.size() == 2 ? 0 : rooted.template limit<"MPT_GATHERV_AT_ONCE">();
        std::vector<incoming> at_once, in_turn;
        for (; q < rooted.size(); ++q) {
            if (q == root) continue;
            auto const into = all(q);
            auto const size = b.see_any(rooted, q);
            if (size > brief<Stack>::room_type::piece) (into.size() <= most ? at_once : in_turn).push_back({q, into});
            else if (rooted.fits(size, into.size(), q)) take(b, into, 0, b.of(q, into.size()), into.size());
        }
        rooted.exchange_all(at_once, {}, speaker::gather);
        for (auto const& m : in_turn) rooted.recv(m.from, speaker::gather, m.into);
    });
}
/// Where ranks share memory: a piece of up to 1 KiB lies beside its owner's flag, and a longer one comes as a message behind it. Each shows the
/// size of its own, which tells the root how it comes.
template <class Stack>
bool gatherv_together(team<Stack> const& t, std::optional<source> const& mine, by_rank<sink> all, std::int32_t root) {
    using room_type = node_room<typename Stack::world_type>;
    constexpr auto most = room_type::piece;
    if (is_off<"mpi_gatherv">(t) || by_messages(t, speaker::gather) || !room_type::of(t)) return false;
    auto const size = t.me() == root ? 0 : mine->size(), beside = size <= most ? size : 0;
    brief b{t, speaker::gather, size, beside, root};
    if (!b) return false;
    if (t.me() != root) {
        give(b, *mine, 0, b.begin(beside), beside);
        b.show();
        if (beside != size) b.numbered().send(root, speaker::gather, *mine);
        return true;
    }
    b.show_nothing();
    std::int32_t q = 0;
    for (; q < t.size(); ++q) {
        if (q == root) continue;
        auto const into = all(q);
        if (into.size() > most || !b.shows(q, into.size())) break;
        b.look_ahead(q, into.size(), 0, into.size());
        take(b, into, 0, b.of(q, into.size()), into.size());
    }
    if (q == t.size()) {
        if (mine) t.keep(*mine, all(root));
    } else gatherv_on(b, mine, all, q, root);
    return b.all_are_seen(), true;
}

} // namespace detail

/// Pieces of one size, which all ranks know. mine: at the root nothing says that it is in its place already. all: read at the
/// root only.
template <team_type Team> void gather(Team const& t, std::optional<source> const& mine, by_rank<sink> all, std::int32_t root) {
    auto const size = t.me() == root ? all(root).size() : mine->size();
    if constexpr (may_share<Team>)
        if (t.me() != root || !mine || mine->size() == size)
            if (detail::brief b{t, speaker::gather, size, size, root}) {
                detail::gather_in(b, mine, all, size, root);
                return t.me() == root && mine ? t.move(*mine, all(root)) : void();
            }
    bool const by_tree = t.size() >= gather_tree_ranks && size <= t.template limit<"MPT_GATHER_SHORT">();
    to_the_end(t.rooted(speaker::gather, root, by_tree ? way::other : way::usual), [&](auto const& rooted) {
        if (t.me() == root && mine) rooted.keep(*mine, all(root));
        if constexpr (may_share<Team>)
            if (detail::gather_directly(rooted, mine, all, size, root) ||
                detail::gather_together(rooted, mine, all, size, root))
                return;
        if (by_tree) detail::gather_tree(rooted, mine, all, size, root);
        else detail::gather_linear(rooted, mine, all, root);
    });
}

/// Pieces of any sizes.
template <team_type Team> void gatherv(Team const& t, std::optional<source> const& mine, by_rank<sink> all, std::int32_t root) {
    if constexpr (may_share<Team>)
        if (detail::gatherv_together(t, mine, all, root)) return;
    to_the_end(t.rooted(speaker::gather, root), [&](auto const& rooted) {
        if (t.me() == root && mine) rooted.keep(*mine, all(root));
        detail::gather_at_once(rooted, mine, all, root);
    });
}

} // namespace mpt::inline v0::coll
