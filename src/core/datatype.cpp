// What every datatype knows of itself: sums over the tree, and questions that walk it.
#include "datatype_node.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <mpt/core/error.hpp>

namespace mpt::inline v0 {
namespace detail {

void too_large(std::int64_t a, char by, std::int64_t b) {
    throw error{errc::argument, fmt::format("mpt: a datatype's size or displacement is too large: {} {} {}", a, by, b)};
}

void check_type(char const* call, datatype const& old) {
    if (!old) throw error{errc::argument, fmt::format("mpt: datatype::{}: what should be a datatype is none", call)};
}
void is_negative(char const* call, char const* what, std::int64_t n) {
    throw error{errc::argument, fmt::format("mpt: datatype::{}: a {} of {} is negative", call, what, n)};
}

// The hash of a sequence is a polynomial in `base`, so that hashes of parts give that of the whole. Odd: no power is 0.
namespace {
constexpr std::uint64_t base = 0x9e3779b97f4a7c15;

std::uint64_t power(std::int64_t n) noexcept {
    std::uint64_t result = 1;
    for (auto square = base; n > 0; n >>= 1, square *= square)
        if (n & 1) result *= square;
    return result;
}
/// A kind's digit: its number, spread over 64 bits (a step of splitmix64).
std::uint64_t digit(element_kind k) noexcept {
    auto x = (static_cast<std::uint64_t>(k) + 1) * base;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}
} // namespace

type_signature append(type_signature a, type_signature b) noexcept {
    return {a.elements + b.elements, a.hash * power(b.elements) + b.hash};
}
type_signature repeat(type_signature a, std::int64_t count) noexcept {
    if (count == 1) return a;
    type_signature result;
    for (auto shift = power(a.elements); count > 0; count >>= 1, shift *= shift) { // by as many elements as a has
        if (count & 1) result = {result.elements + a.elements, result.hash * shift + a.hash};
        if (count > 1) a = {a.elements + a.elements, a.hash * shift + a.hash};
    }
    return result;
}

type_node::type_node(part_list&& p, std::vector<datatype>&& c, datatype_contents&& how)
    : parts{std::move(p)}, inner{std::move(c)}, made{std::move(how)} {
    if (parts.size() < many || !take_all())
        for (auto const& one : parts) take(one);
    close();
}

/// Many parts of one child, whose facts are looked at once. False: nothing was taken, it is too large or has another form.
bool type_node::take_all() {
    auto const& child = children().front().node();
    if (children().size() != 1 || child.elements == 0) return false;
    bool const is_one_kind = child.element != element_kind::mixed;
    auto const& f = facts(is_one_kind ? child.element : element_kind::byte);
    std::int64_t const of_kind = child.elements / (f.is_pair() ? 2 : 1) * f.extent;
    constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
    std::int64_t count = 0, lowest = most, highest = least, origin = 0;
    bool over = false, run = child.one_run, same = is_one_kind;
    for (auto const& p : parts) {
        if (p.count == 0) continue;
        std::int64_t last = 0, first = 0, end = 0;
        over |= __builtin_mul_overflow(p.count - 1, p.stride, &last);
        over |= __builtin_add_overflow(p.at, std::min<std::int64_t>(last, 0), &first);
        over |= __builtin_add_overflow(p.at, std::max<std::int64_t>(last, 0), &end);
        lowest = std::min(lowest, first), highest = std::max(highest, end);
        if (count == 0) origin = p.at;
        auto const before = static_cast<std::uint64_t>(count);
        auto const from_start = static_cast<std::uint64_t>(p.at) - static_cast<std::uint64_t>(origin);
        run &= from_start == before * static_cast<std::uint64_t>(child.size) && (p.count == 1 || p.stride == child.size);
        same &= from_start == before * static_cast<std::uint64_t>(of_kind) && (p.count == 1 || p.stride == of_kind);
        over |= __builtin_add_overflow(count, p.count, &count);
    }
    type_facts sums;
    std::int64_t low = 0, high = 0, marked_low = 0, marked_high = 0;
    over |= __builtin_mul_overflow(count, child.size, &sums.size);
    over |= __builtin_mul_overflow(count, child.external, &sums.external);
    over |= __builtin_mul_overflow(count, child.elements, &sums.elements);
    over |= __builtin_add_overflow(lowest, child.true_lower, &low) || __builtin_add_overflow(highest, child.true_upper, &high);
    over |= child.marked && (__builtin_add_overflow(lowest, child.marked_lower, &marked_low) ||
                             __builtin_add_overflow(highest, child.marked_upper, &marked_high));
    if (over || count == 0) return false;
    true_lower = low, true_upper = high;
    if ((marked = child.marked)) marked_lower = marked_low, marked_upper = marked_high;
    size = sums.size, external = sums.external;
    signature = repeat({child.elements, child.signature}, count).hash, elements = sums.elements;
    start = static_cast<std::int64_t>(static_cast<std::uint64_t>(origin) + static_cast<std::uint64_t>(child.start));
    one_run = run;
    element = same ? child.element : element_kind::mixed;
    alignment = std::max(alignment, child.alignment);
    return true;
}

void type_node::take(part const& p) {
    auto const& child = children()[p.child].node();
    if (p.count == 0 || (child.elements == 0 && !child.marked)) return;
    take_bounds(p, child);
    if (child.elements == 0) return;
    take_order(p, child);
    size = sum(size, product(p.count, child.size));
    external = sum(external, product(p.count, child.external));
    auto const s = append({elements, signature}, repeat({child.elements, child.signature}, p.count));
    elements = s.elements;
    signature = s.hash;
    alignment = std::max(alignment, child.alignment);
}

void type_node::take_bounds(part const& p, type_node const& child) {
    auto const last = product(p.count - 1, p.stride);
    auto const first = sum(p.at, std::min<std::int64_t>(last, 0)), end = sum(p.at, std::max<std::int64_t>(last, 0));
    if (child.marked) {
        auto const low = sum(first, child.marked_lower), high = sum(end, child.marked_upper);
        marked_lower = marked ? std::min(marked_lower, low) : low;
        marked_upper = marked ? std::max(marked_upper, high) : high;
        marked = true;
    }
    if (child.elements > 0) {
        auto const low = sum(first, child.true_lower), high = sum(end, child.true_upper);
        true_lower = elements > 0 ? std::min(true_lower, low) : low;
        true_upper = elements > 0 ? std::max(true_upper, high) : high;
    }
}

/// Does the part go on where the others ended: as bytes, and as elements of one kind?
void type_node::take_order(part const& p, type_node const& child) {
    auto const at = p.at + child.start;
    if (elements == 0) start = at;
    auto const from_start = static_cast<std::int64_t>(static_cast<std::uint64_t>(at) - static_cast<std::uint64_t>(start));
    one_run = one_run && child.one_run && from_start == size && (p.count == 1 || p.stride == child.size);
    auto const kind = elements == 0 ? child.element : element;
    element = element_kind::mixed;
    if (kind == element_kind::mixed || child.element != kind) return;
    auto const& f = facts(kind);
    auto const extent = f.extent, each = static_cast<std::uint8_t>(f.is_pair() ? 2 : 1);
    if (from_start == elements / each * extent && (p.count == 1 || p.stride == child.elements / each * extent)) element = kind;
}

void type_node::close() {
    lower = marked ? marked_lower : true_lower;
    auto const end = marked ? marked_upper : true_upper;
    std::int64_t reach = 0;
    if (__builtin_sub_overflow(end, lower, &reach))
        throw error{errc::argument, fmt::format("mpt: a datatype reaches too far: from {} to {}", lower, end)};
    auto const gap = marked ? 0 : (alignment - reach % alignment) % alignment;
    upper = sum(lower, sum(reach, gap));
}

datatype type_node::make(part_list&& parts, std::vector<datatype>&& children, datatype_contents&& how) {
    return datatype{std::make_shared<type_node const>(std::move(parts), std::move(children), std::move(how))};
}
datatype type_node::make_resized(part_list&& parts, std::vector<datatype>&& children, datatype_contents&& how,
                                 std::int64_t lower, std::int64_t extent) {
    auto node = std::make_shared<type_node>(std::move(parts), std::move(children), std::move(how));
    node->marked = true;
    node->lower = node->marked_lower = lower;
    node->upper = node->marked_upper = sum(lower, extent);
    return datatype{std::move(node)};
}
datatype type_node::share(type_node const& forever) noexcept {
    return datatype{std::shared_ptr<type_facts const>{std::shared_ptr<void>{}, &forever}};
}

namespace {
using named_nodes = std::array<type_node*, element_kinds>;

type_node* basic(element_kind k) {
    auto const& f = facts(k);
    auto* n = new type_node;
    n->size = n->true_upper = n->upper = f.size;
    n->external = f.external;
    n->elements = 1;
    n->signature = digit(k);
    n->alignment = f.alignment;
    return n;
}
type_node* pair(element_kind k, named_nodes const& nodes) {
    auto const& f = facts(k);
    auto const part_of = [&](element_kind p) { return type_node::share(*nodes[static_cast<std::size_t>(p)]); };
    return new type_node{{{0, 1, 0, 0}, {f.second_at, 1, 0, 1}}, {part_of(f.first), part_of(f.second)}, {}};
}
/// Never destroyed: a program may ask for a type while it ends.
named_nodes make_named() {
    named_nodes nodes{};
    for (std::size_t i = 0; i < element_kinds; ++i) {
        auto const k = static_cast<element_kind>(i);
        nodes[i] = facts(k).is_pair() ? pair(k, nodes) : basic(k);
        nodes[i]->named = nodes[i]->element = k;
    }
    return nodes;
}

/// Of fewer bytes than the node has.
element_count first_elements(type_node const& n, std::int64_t bytes) noexcept {
    element_count got{0, bytes};
    for (auto const& p : n.parts) {
        auto const& child = n.children()[p.child].node();
        if (child.size == 0) continue;
        auto const whole = std::min(p.count, got.rest / child.size);
        got = {got.elements + whole * child.elements, got.rest - whole * child.size};
        if (whole == p.count) continue;
        auto const cut = first_elements(child, got.rest);
        return {got.elements + cut.elements, cut.rest};
    }
    return got;
}
} // namespace
} // namespace detail

datatype datatype::named(element_kind k) noexcept {
    static auto const nodes = detail::make_named();
    return detail::type_node::share(*nodes[static_cast<std::size_t>(k)]);
}

detail::type_node const& datatype::node() const noexcept { return static_cast<detail::type_node const&>(*facts_); }
datatype_contents const& datatype::contents() const noexcept { return node().made; }

type_signature datatype::signature(std::int64_t count) const noexcept {
    return detail::repeat({facts_->elements, facts_->signature}, count);
}

element_count datatype::elements_in(std::int64_t bytes) const noexcept {
    if (size() == 0) return {0, bytes};
    auto const whole = bytes / size();
    auto const cut = detail::first_elements(node(), bytes % size());
    return {whole * elements() + cut.elements, cut.rest};
}

} // namespace mpt::inline v0
