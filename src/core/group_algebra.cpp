// Groups made of groups.
#include <mpt/mpi/group_algebra.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace mpt::inline v0::groups {

namespace {
using rank_list = std::vector<std::int32_t>;

/// The world ranks of `g` that `wanted` accepts, behind what `world` has already.
template <class F> group selected(group const& g, F&& wanted, rank_list world = {}) {
    for (std::int32_t r = 0; r < g.size(); ++r)
        if (auto const w = g.world(r); wanted(r, w)) world.push_back(w);
    return group::of(std::move(world));
}

[[noreturn]] void not_in_group(char const* call, std::int32_t r, group const& g) {
    if (g.size() == 0) throw error{errc::rank_range, fmt::format("mpt: {}: rank {} of a group without ranks", call, r)};
    throw error{errc::rank_range,
                fmt::format("mpt: {}: rank {} is not in the group, whose ranks are 0 to {}", call, r, g.size() - 1)};
}

void check_rank(char const* call, group const& g, std::int32_t r) {
    if (r < 0 || r >= g.size()) not_in_group(call, r, g);
}

/// The ranks in rising order; all are in the group, and none is named twice.
rank_list sorted(char const* call, group const& g, std::span<std::int32_t const> ranks) {
    for (auto const r : ranks) check_rank(call, g, r);
    rank_list list{ranks.begin(), ranks.end()};
    std::ranges::sort(list);
    if (auto const twice = std::ranges::adjacent_find(list); twice != list.end())
        throw error{errc::rank_range, fmt::format("mpt: {}: rank {} is named twice", call, *twice)};
    return list;
}

/// The ranks that the ranges name, in their order.
rank_list listed(char const* call, group const& g, rank_ranges ranges) {
    rank_list list;
    for (auto const& [first, last, stride] : ranges) {
        if (stride == 0 || (first != last && (first < last) != (stride > 0)))
            throw error{errc::argument, fmt::format("mpt: {}: a stride of {} does not lead from rank {} to rank {}", call,
                                                    stride, first, last)};
        std::int64_t const steps = (std::int64_t{last} - first) / stride;
        check_rank(call, g, first);
        if (auto const end = first + steps * stride; end < 0 || end >= g.size())
            not_in_group(call, static_cast<std::int32_t>(end), g);
        for (std::int64_t i = 0; i <= steps; ++i) list.push_back(static_cast<std::int32_t>(first + i * stride));
        if (list.size() > static_cast<std::size_t>(g.size())) break; // some rank is named twice: no need to list them all
    }
    return list;
}

group included(char const* call, group const& g, std::span<std::int32_t const> ranks) {
    sorted(call, g, ranks);
    rank_list world;
    world.reserve(ranks.size());
    for (auto const r : ranks) world.push_back(g.world(r));
    return group::of(std::move(world));
}

group excluded(char const* call, group const& g, std::span<std::int32_t const> ranks) {
    auto const out = sorted(call, g, ranks);
    auto next = out.begin();
    return selected(g, [&](std::int32_t r, rank) {
        bool const goes = next != out.end() && *next == r;
        if (goes) ++next;
        return !goes;
    });
}

} // namespace

group union_of(group const& a, group const& b) {
    rank_list world;
    world.reserve(static_cast<std::size_t>(a.size()));
    for (std::int32_t r = 0; r < a.size(); ++r) world.push_back(a.world(r));
    return selected(
        b, [&](std::int32_t, rank w) { return !a.find(w); }, std::move(world));
}

group intersection(group const& a, group const& b) {
    return selected(a, [&](std::int32_t, rank w) { return b.find(w).has_value(); });
}

group difference(group const& a, group const& b) {
    return selected(a, [&](std::int32_t, rank w) { return !b.find(w); });
}

group incl(group const& g, std::span<std::int32_t const> ranks) { return included("group incl", g, ranks); }

group excl(group const& g, std::span<std::int32_t const> ranks) { return excluded("group excl", g, ranks); }

group range_incl(group const& g, rank_ranges ranges) {
    static constexpr auto call = "group range incl";
    return included(call, g, listed(call, g, ranges));
}

group range_excl(group const& g, rank_ranges ranges) {
    static constexpr auto call = "group range excl";
    return excluded(call, g, listed(call, g, ranges));
}

void translate_ranks(group const& from, std::span<std::int32_t const> ranks, group const& to, std::span<std::int32_t> into) {
    for (auto const r : ranks)
        if (r != proc_null) check_rank("group translate ranks", from, r);
    std::ranges::transform(ranks, into.begin(), [&](std::int32_t r) {
        if (r == proc_null) return r;
        auto const found = to.find(from.world(r));
        return found ? found->value : undefined;
    });
}

comparison compare(group const& a, group const& b) {
    if (a == b) return comparison::ident;
    if (a.size() != b.size()) return comparison::unequal;
    for (std::int32_t r = 0; r < a.size(); ++r)
        if (!b.find(a.world(r))) return comparison::unequal;
    return comparison::similar;
}

} // namespace mpt::inline v0::groups
