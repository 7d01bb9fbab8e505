// Parts of arrays: a rectangle in an array, and what a process has of an array that is dealt to many.
#include <algorithm>

#include <fmt/format.h>
#include <mpt/core/error.hpp>

#include "datatype_node.hpp"

namespace mpt::inline v0 {

namespace {
using detail::part;
using detail::product;
using detail::recorder;
using detail::sum;
using detail::type_node;

/// The dimensions from the contiguous one outwards.
std::vector<std::size_t> inside_out(std::size_t dimensions, array_order order) {
    std::vector<std::size_t> d(dimensions);
    for (std::size_t i = 0; i < dimensions; ++i) d[i] = order == array_order::c ? dimensions - 1 - i : i;
    return d;
}

void check_dimensions(char const* call, std::size_t wanted, std::initializer_list<std::size_t> others, datatype const& old,
                      array_order order) {
    detail::check_type(call, old);
    if (wanted == 0) throw error{errc::argument, fmt::format("mpt: datatype::{}: an array has at least one dimension", call)};
    for (auto const n : others)
        if (n != wanted)
            throw error{errc::argument, fmt::format("mpt: datatype::{}: an array of {} dimensions was described by {} values",
                                                    call, wanted, n)};
    if (order != array_order::c && order != array_order::fortran)
        throw error{errc::argument, fmt::format("mpt: datatype::{}: {} is no order", call, static_cast<int>(order))};
}

void check_range(std::size_t d, std::int64_t size, std::int64_t subsize, std::int64_t start) {
    if (size < 1 || subsize < 1 || subsize > size || start < 0 || start > size - subsize)
        throw error{errc::argument,
                    fmt::format("mpt: datatype::subarray: dimension {}: {} elements from {} on do not lie in {}", d, subsize,
                                start, size)};
}

/// A dimension dealt out: blocks of `block` to each of `places` in turn.
struct deal {
    std::int64_t size, block, places, place;

    std::int64_t first() const { return product(place, block); }
    std::int64_t round() const { return product(places, block); }
    /// How many blocks are whole, and how long the last one is (0: there is none).
    std::int64_t whole() const {
        if (first() >= size) return 0;
        auto const left = size - first();
        return left / round() + (left % round() >= block ? 1 : 0);
    }
    std::int64_t rest() const {
        auto const at = sum(first(), product(whole(), round()));
        return at < size ? std::min(block, size - at) : 0;
    }
};

deal deal_of(std::size_t d, std::int64_t size, distribution how, std::int64_t argument, std::int64_t places,
             std::int64_t place) {
    auto const refuse = [&](char const* why) {
        throw error{errc::argument, fmt::format("mpt: datatype::darray: dimension {} of {} elements for {} processes: {} "
                                                "(distribution {}, argument {})",
                                                d, size, places, why, static_cast<int>(how), argument)};
    };
    auto const by_default = argument == default_distribution;
    if (size < 1) refuse("there must be an element");
    if (how == distribution::none) {
        if (places != 1) refuse("what is not distributed has one process");
        return {size, size, 1, 0};
    }
    if (how != distribution::block && how != distribution::cyclic) refuse("no such distribution");
    if (!by_default && argument < 1) refuse("a block has at least one element");
    auto const even = size / places + (size % places != 0 ? 1 : 0);
    auto const block = !by_default ? argument : how == distribution::block ? even : 1;
    if (how == distribution::block && block < even) refuse("the blocks do not reach the end");
    return {size, block, places, place};
}

/// One dimension around what lies inside: elements are `stride` bytes apart.
datatype dealt(deal const& d, std::int64_t stride, datatype const& inner) {
    auto const block = type_node::make({{0, d.block, stride, 0}}, {inner}, {});
    auto const at = product(d.first(), stride), whole = d.whole();
    part const many{at, whole, product(d.round(), stride), 0};
    part const last{sum(at, product(product(whole, d.round()), stride)), d.rest(), stride, 1};
    return type_node::make({many, last}, {block, inner}, {});
}

/// The place of `rank` in the grid, C's order.
std::vector<std::int64_t> places_of(std::int64_t processes, std::int64_t rank, datatype::values grid) {
    std::int64_t all = 1;
    for (auto const n : grid) {
        if (n < 1) throw error{errc::argument, fmt::format("mpt: datatype::darray: {} processes in a dimension", n)};
        all = product(all, n);
    }
    if (all != processes || rank < 0 || rank >= processes)
        throw error{errc::argument, fmt::format("mpt: datatype::darray: process {} of {} does not stand in a grid of {}", rank,
                                                processes, all)};
    std::vector<std::int64_t> at(grid.size());
    for (auto d = grid.size(); d-- > 0; rank /= grid[d]) at[d] = rank % grid[d];
    return at;
}
} // namespace

datatype datatype::subarray(values sizes, values subsizes, values starts, array_order order, datatype const& old,
                            count_form f) {
    check_dimensions("subarray", sizes.size(), {subsizes.size(), starts.size()}, old, order);
    auto inner = old;
    std::int64_t stride = old.extent(), at = 0;
    for (auto const d : inside_out(sizes.size(), order)) {
        check_range(d, sizes[d], subsizes[d], starts[d]);
        inner = type_node::make({{0, subsizes[d], stride, 0}}, {inner}, {});
        at = sum(at, product(starts[d], stride));
        stride = product(stride, sizes[d]);
    }
    recorder how{combiner::subarray, f};
    how.integer(static_cast<std::int64_t>(sizes.size())).counts(sizes).counts(subsizes).counts(starts);
    how.integer(static_cast<std::int64_t>(order)).type(old);
    return type_node::make_resized({{at, 1, 0, 0}}, {inner}, how.take(), 0, stride);
}

datatype datatype::darray(std::int64_t processes, std::int64_t rank, values sizes, std::span<distribution const> how,
                          values arguments, values grid, array_order order, datatype const& old, count_form f) {
    check_dimensions("darray", sizes.size(), {how.size(), arguments.size(), grid.size()}, old, order);
    auto const place = places_of(processes, rank, grid);
    auto inner = old;
    auto stride = old.extent();
    for (auto const d : inside_out(sizes.size(), order)) {
        inner = dealt(deal_of(d, sizes[d], how[d], arguments[d], grid[d], place[d]), stride, inner);
        stride = product(stride, sizes[d]);
    }
    recorder r{combiner::darray, f};
    r.integer(processes).integer(rank).integer(static_cast<std::int64_t>(sizes.size())).counts(sizes);
    for (auto const h : how) r.integer(static_cast<std::int64_t>(h));
    r.integers(arguments).integers(grid).integer(static_cast<std::int64_t>(order)).type(old);
    return type_node::make_resized({{0, 1, 0, 0}}, {inner}, r.take(), 0, stride);
}

} // namespace mpt::inline v0
