/// mpi/group_algebra - groups made of groups: MPI's set operations, selections and comparisons.
///
///        a = {2 5 7}   b = {7 1 5}       union_of      {2 5 7 1}   a, then what only b has, in b's order
///                                        intersection  {5 7}       what both have, in a's order
///                                        difference    {2}         what only a has, in a's order
///
///   A selection names ranks of a group, by a list or by ranges (first, last, stride); incl keeps them in the order of the
///   list, excl keeps the others in the order of the group. A range ends with the last rank that does not pass `last`.
///
///   Cost    n log n in the sizes of the groups and lists.
///   Limit   A rank that is not in the group, or that a selection names twice, is an mpt::error of class rank_range; a range
///           whose stride is zero or leads away from its end, one of class argument.
///   Tests   test/mpi_group_algebra_test.cpp
///   Source  MPI-4.1 sections 7.3.1 and 7.3.2
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mpt/mpi/error_classes.hpp>
#include <mpt/stack/group.hpp>

namespace mpt::inline v0 {

/// MPI_UNDEFINED: no value, where a rank or a count would stand.
inline constexpr std::int32_t undefined = -32766;

/// How like two objects are, with the values of the binary interface.
enum class comparison : std::int32_t { ident = 201, congruent, similar, unequal };

namespace groups {

/// As C hands ranges over: first, last and stride of each.
using rank_ranges = std::span<std::int32_t const[3]>;

group union_of(group const& a, group const& b);
group intersection(group const& a, group const& b);
group difference(group const& a, group const& b);

group incl(group const& g, std::span<std::int32_t const> ranks);
group excl(group const& g, std::span<std::int32_t const> ranks);
group range_incl(group const& g, rank_ranges ranges);
group range_excl(group const& g, rank_ranges ranges);

/// into[i] is the rank in `to` of rank ranks[i] of `from`: undefined where it has none, proc_null for proc_null.
/// into.size() == ranks.size().
void translate_ranks(group const& from, std::span<std::int32_t const> ranks, group const& to, std::span<std::int32_t> into);

/// ident: the same processes in the same order; similar: in another one.
comparison compare(group const& a, group const& b);

} // namespace groups

namespace detail {

inline void require_subset(group const& who, group const& of) {
    for (std::int32_t i = 0; i < who.size(); ++i)
        if (!of.find(who.world(i)))
            throw mpi_error{error_class::group, "rank " + std::to_string(i) + " of group is not in comm, which has " +
                                                    std::to_string(of.size()) + " processes"};
}

/// What a process says of the communicator that it wants to be in.
struct color_vote {
    std::int32_t colored, color, key;
    context_id context; // the first one's of a color counts

    bool agrees_with(color_vote const& other) const noexcept {
        return colored != 0 && other.colored != 0 && color == other.color;
    }
};
/// Those ranks of a side that agree with `mine`, by rising key, then by rank. votes: of all processes, in the order of `all`.
inline group of_color(group const& side, group const& all, std::span<color_vote const> votes, color_vote const& mine) {
    auto const of = [&](std::int32_t r) -> color_vote const& {
        return votes[static_cast<std::size_t>(all.find(side.world(r))->value)];
    };
    std::vector<std::int32_t> ranks;
    for (std::int32_t r = 0; r < side.size(); ++r)
        if (of(r).agrees_with(mine)) ranks.push_back(r);
    std::ranges::stable_sort(ranks, {}, [&](std::int32_t r) { return of(r).key; });
    return groups::incl(side, ranks);
}
inline context_id context_of_color(std::span<color_vote const> votes, color_vote const& mine) noexcept {
    return std::ranges::find_if(votes, [&](color_vote const& v) { return v.agrees_with(mine); })->context;
}

} // namespace detail
} // namespace mpt::inline v0
