/// coll/reduce - the root gets the combination of all ranks' elements.
///
///   tree      a binomial tree; each place combines what comes from those above it, the nearest first, and hands the sum on:
///             ceil(log2 n) steps of the whole size. An operation that commutes makes the root the tree's first place; any other
///             keeps rank order: rank 0 is the first place, and sends the result to the root.
///
///        n = 6     1 -> 0, 3 -> 2, 5 -> 4      (2,3) -> 0      (4,5) -> 0
///
///   cut       each rank combines one part of everybody's (coll/reduce_scatter, pairwise), and the root gathers the parts: each
///             byte is combined once on each rank instead of log2 n times at the root. For large data, in any order: from
///             MPT_REDUCE_LONG on, and with at least four ranks, for on fewer the tree combines no oftener. Its default: 4 and 8 ranks on
///             two cores, where the tree took two thirds of the time at 128 KiB and a quarter more at 1 MiB.
///
///   Memory    tree: none at a leaf, else one or two work buffers. cut: three times a part.    Source MPI-4.1 section 6.9.1.
///   Tests     test/coll_reduce_test.cpp
#pragma once
#include <mpt/coll/combined.hpp>
#include <mpt/coll/reduce_scatter.hpp>

namespace mpt::inline v0::coll {

namespace detail {

/// The sum of the places from ours on up to those below us in the tree; null where it was handed on. It lies in `mine`, `one` or
/// `two`, which are work buffers for as many steps as we have (children()).
template <team_type Team, class Who> std::byte const* reduce_tree(reduction<Team> const& r, std::int32_t place, Who const& who,
                                                                  std::byte const* mine, std::byte* one, std::byte* two,
                                                                  std::size_t n) {
    auto const* have = mine;
    for (std::int32_t step = 1; step < r.size(); step *= 2) {
        if (place & step) {
            r.send(who(place - step), have, n);
            return nullptr;
        }
        if (place + step >= r.size()) continue;
        auto* next = have == one ? two : one;
        r.recv(who(place + step), next, n);
        r.combine(have, next, n);
        have = next;
    }
    return have;
}

/// How many places send to this one.
inline int children(std::int32_t place, std::int32_t n) noexcept {
    int count = 0;
    for (std::int32_t step = 1; step < n && !(place & step); step *= 2) count += place + step < n;
    return count;
}

template <team_type Team>
void reduce_by_tree(reduction<Team> const& r, std::byte const* mine, std::byte* result, std::size_t n, std::int32_t root) {
    auto const top = r.op().commutes ? root : 0;
    auto const place = (r.me() - top + r.size()) % r.size();
    auto const below = children(place, r.size());
    auto const one = r.work(below > 0 ? n : 0), two = r.work(below > 1 ? n : 0);
    auto const who = [&](std::int32_t p) { return (p + top) % r.size(); };
    auto const* sum = reduce_tree(r, place, who, mine, one.origin(), two.origin(), n);
    if (r.me() == root && sum) r.copy(sum, result, n);
    else if (r.me() == root) r.recv(top, result, n);
    else if (sum) r.send(root, sum, n);
}

template <team_type Team>
void reduce_cut(reduction<Team> const& r, std::byte const* mine, std::byte* result, std::size_t n, std::int32_t root) {
    auto const ranks = static_cast<std::size_t>(r.size());
    auto const part = [&](std::int32_t q) { return n / ranks + (static_cast<std::size_t>(q) < n % ranks); };
    auto const firsts = firsts_of(r.size(), part);
    auto const first = [&](std::int32_t q) { return firsts[static_cast<std::size_t>(q)]; };
    pairwise work{r, part(r.me())};
    auto const* own = work.run(mine, firsts);
    if (r.me() != root) return r.send(root, own, part(r.me()));
    r.copy(own, r.at(result, first(root)), part(root));
    for (std::int32_t q = 0; q < r.size(); ++q)
        if (q != root) r.recv(q, r.at(result, first(q)), part(q));
}

/// Who: a team or a reduction.
template <class Who> bool is_cut(Who const& who, operand const& op, std::size_t n) noexcept {
    return who.size() >= 4 && n * op.packed >= who.template limit<"MPT_REDUCE_LONG">() &&
           n >= static_cast<std::size_t>(who.size());
}
/// n > 0.
template <team_type Team>
void reduce_by_size(reduction<Team> const& r, std::byte const* mine, std::byte* result, std::size_t n, std::int32_t root) {
    if (is_cut(r, r.op(), n)) reduce_cut(r, mine, result, n, root);
    else reduce_by_tree(r, mine, result, n, root);
}

} // namespace detail

/// n elements from each rank. mine: at the root null where they are in `result` already. result: used at the root only.
template <team_type Team>
void reduce(Team const& t, operand const& op, std::byte const* mine, std::byte* result, std::size_t n, std::int32_t root) {
    if constexpr (may_share<Team>)
        if (detail::brief b{t, speaker::reduce, n * op.packed, n * op.packed, root})
            return detail::reduce_flat(b, op, fold_order::of_reduce(t.size(), op.commutes ? root : 0), mine ? mine : result,
                                       t.me() == root ? result : nullptr, n, false);
    auto const by = n == 0 ? way::none : detail::is_cut(t, op, n) ? way::other : way::usual;
    to_the_end(t.rooted(speaker::reduce, root, by), [&](auto const& rooted) {
        if constexpr (may_share<Team>) {
            auto const order = fold_order::of_reduce(t.size(), op.commutes ? root : 0);
            auto* const wanted = t.me() == root ? result : nullptr;
            if (detail::reduce_together(rooted, speaker::reduce, op, order, mine ? mine : result, wanted, n)) return;
        }
        reduction const r{rooted, op, speaker::reduce};
        if (n == 0) return;
        detail::reduce_by_size(r, mine ? mine : result, result, n, root);
    });
}

} // namespace mpt::inline v0::coll
