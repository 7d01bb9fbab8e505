// The constructors of datatypes, all but those of arrays: each becomes a list of parts.
#include <algorithm>

#include <fmt/format.h>
#include <mpt/core/error.hpp>

#include "datatype_node.hpp"

namespace mpt::inline v0 {

namespace {
using detail::part;
using detail::part_list;
using detail::product;
using detail::recorder;
using detail::type_node;

/// A block of `length` elements side by side.
part block(std::int64_t at, std::int64_t length, datatype const& of, std::uint32_t child = 0) {
    return {at, length, of.extent(), child};
}

void check_lengths(char const* call, datatype::values lengths, std::size_t displacements) {
    if (lengths.size() != displacements)
        throw error{errc::argument, fmt::format("mpt: datatype::{}: {} block lengths do not fit {} displacements", call,
                                                lengths.size(), displacements)};
    for (auto const n : lengths) detail::check_count(call, "block length", n);
}

/// `count` blocks of `length`, `stride` bytes apart.
datatype lattice(std::int64_t count, std::int64_t length, std::int64_t stride, datatype const& old, datatype_contents&& how) {
    if (length == 1) return type_node::make({{0, count, stride, 0}}, std::move(how));
    auto row = type_node::make({block(0, length, old)}, {old}, {});
    return type_node::make({{0, count, stride, 0}}, {std::move(row)}, std::move(how));
}

/// Blocks wherever they are: displacements in units of `unit` bytes.
datatype scatter(datatype::values lengths, datatype::values displacements, std::int64_t unit, datatype const& old,
                 datatype_contents how) {
    part_list parts(lengths.size());
    auto const extent = old.extent();
    for (std::size_t i = 0; i < lengths.size(); ++i) parts[i] = {product(displacements[i], unit), lengths[i], extent, 0};
    return type_node::make(std::move(parts), std::move(how));
}
datatype scatter(std::int64_t length, datatype::values displacements, std::int64_t unit, datatype const& old,
                 datatype_contents how) {
    part_list parts(displacements.size());
    auto const extent = old.extent();
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = {product(displacements[i], unit), length, extent, 0};
    return type_node::make(std::move(parts), std::move(how));
}

void check_lattice(char const* call, std::int64_t count, std::int64_t length, datatype const& old) {
    detail::check_type(call, old);
    detail::check_count(call, "count", count);
    detail::check_count(call, "block length", length);
}

std::int64_t length_of(datatype::values v) { return static_cast<std::int64_t>(v.size()); }
} // namespace

datatype datatype::dup(datatype const& old) {
    detail::check_type("dup", old);
    return type_node::make({{0, 1, 0, 0}}, recorder{combiner::dup, count_form::small}.type(old).take());
}

datatype datatype::selected(element_kind k, combiner made_by, values integers) {
    return type_node::make({{0, 1, 0, 0}}, {named(k)}, recorder{made_by, count_form::small}.integers(integers).take());
}

datatype datatype::value_index(element_kind value, element_kind index) {
    for (std::size_t i = 0; i < element_kinds; ++i) {
        auto const& f = facts(static_cast<element_kind>(i));
        if (f.is_pair() && f.first == value && f.second == index) return named(static_cast<element_kind>(i));
    }
    auto const a = named(value), b = named(index);
    auto const alignment = facts(index).alignment;
    auto const at = (a.size() + alignment - 1) / alignment * alignment;
    return type_node::make({{0, 1, 0, 0}, {at, 1, 0, 1}},
                           recorder{combiner::value_index, count_form::small}.type(a).type(b).take());
}

datatype datatype::contiguous(std::int64_t count, datatype const& old, count_form f) {
    detail::check_type("contiguous", old);
    detail::check_count("contiguous", "count", count);
    return type_node::make({block(0, count, old)}, recorder{combiner::contiguous, f}.count(count).type(old).take());
}

datatype datatype::vector(std::int64_t count, std::int64_t length, std::int64_t stride, datatype const& old, count_form f) {
    check_lattice("vector", count, length, old);
    return lattice(count, length, product(stride, old.extent()), old,
                   recorder{combiner::vector, f}.expect(3).count(count).count(length).count(stride).type(old).take());
}
datatype datatype::hvector(std::int64_t count, std::int64_t length, std::int64_t stride, datatype const& old, count_form f) {
    check_lattice("hvector", count, length, old);
    return lattice(count, length, stride, old,
                   recorder{combiner::hvector, f}.expect(3).count(count).count(length).address(stride).type(old).take());
}

datatype datatype::indexed(values lengths, values displacements, datatype const& old, count_form f) {
    detail::check_type("indexed", old);
    check_lengths("indexed", lengths, displacements.size());
    recorder how{combiner::indexed, f};
    how.expect(2 * lengths.size() + 1).count(length_of(lengths)).counts(lengths).counts(displacements).type(old);
    return scatter(lengths, displacements, old.extent(), old, how.take());
}
datatype datatype::hindexed(values lengths, values displacements, datatype const& old, count_form f) {
    detail::check_type("hindexed", old);
    check_lengths("hindexed", lengths, displacements.size());
    recorder how{combiner::hindexed, f};
    how.expect(2 * lengths.size() + 1).count(length_of(lengths)).counts(lengths).addresses(displacements).type(old);
    return scatter(lengths, displacements, 1, old, how.take());
}

datatype datatype::indexed_block(std::int64_t length, values displacements, datatype const& old, count_form f) {
    check_lattice("indexed_block", 0, length, old);
    recorder how{combiner::indexed_block, f};
    how.count(length_of(displacements)).count(length).counts(displacements).type(old);
    return scatter(length, displacements, old.extent(), old, how.take());
}
datatype datatype::hindexed_block(std::int64_t length, values displacements, datatype const& old, count_form f) {
    check_lattice("hindexed_block", 0, length, old);
    recorder how{combiner::hindexed_block, f};
    how.count(length_of(displacements)).count(length).addresses(displacements).type(old);
    return scatter(length, displacements, 1, old, how.take());
}

datatype datatype::structure(values lengths, values displacements, std::span<datatype const> types, count_form f) {
    check_lengths("structure", lengths, displacements.size());
    if (types.size() != lengths.size())
        throw error{errc::argument,
                    fmt::format("mpt: datatype::structure: {} types do not fit {} blocks", types.size(), lengths.size())};
    for (auto const& t : types) detail::check_type("structure", t);
    recorder how{combiner::structure, f};
    how.count(length_of(lengths)).counts(lengths).addresses(displacements).types(types);
    part_list parts;
    parts.reserve(lengths.size());
    for (std::size_t i = 0; i < lengths.size(); ++i)
        parts.push_back(block(displacements[i], lengths[i], types[i], static_cast<std::uint32_t>(i)));
    return type_node::make(std::move(parts), how.take());
}

datatype datatype::resized(datatype const& old, std::int64_t lower, std::int64_t extent, count_form f) {
    detail::check_type("resized", old);
    recorder how{combiner::resized, f};
    how.address(lower).address(extent).type(old);
    return type_node::make_resized({{0, 1, 0, 0}}, {}, how.take(), lower, extent);
}

} // namespace mpt::inline v0
