// The places of a datatype's data, listed, and the kind of its elements.
#include <algorithm>

#include <mpt/datatype/runs.hpp>

#include "datatype_node.hpp"

namespace mpt::inline v0 {

namespace {
using detail::step;

/// Where a list is filled: it is full when no run is left, or no byte may be told any more.
class list_of_runs {
    std::span<memory_run> into_;
    std::int64_t left_;
    listed_runs so_far_{};

public:
    list_of_runs(std::span<memory_run> into, std::size_t most) noexcept : into_{into}, left_{static_cast<std::int64_t>(most)} {}

    listed_runs const& so_far() const noexcept { return so_far_; }
    /// False: the list is full. Runs that touch become one.
    bool add(std::uint64_t at, std::int64_t bytes) noexcept {
        auto const n = static_cast<std::uint64_t>(std::min(bytes, left_));
        if (n == 0) return left_ != 0;
        auto* const last = so_far_.runs == 0 ? nullptr : &into_[so_far_.runs - 1];
        if (last && last->at + last->bytes == at) last->bytes += n;
        else if (so_far_.runs == into_.size()) return false;
        else into_[so_far_.runs++] = {at, n};
        so_far_.bytes += n;
        left_ -= static_cast<std::int64_t>(n);
        return left_ != 0;
    }
};

constexpr std::uint64_t moved(std::uint64_t memory, std::int64_t by) noexcept {
    return memory + static_cast<std::uint64_t>(by);
}

bool walk(step const& s, std::uint64_t memory, std::int64_t offset, list_of_runs& all) noexcept;

/// Parts of equal size: part(i, from) walks part i from its byte `from` on.
template <class Part> bool walk_equal(step const& s, std::int64_t offset, Part part) noexcept {
    auto from = offset % s.length;
    for (auto i = offset / s.length; i < s.count; ++i, from = 0)
        if (!part(i, from)) return false;
    return true;
}
/// Parts whose beginnings are listed.
template <class Part> bool walk_listed(step const& s, std::int64_t offset, Part part) noexcept {
    auto const after = [](std::int64_t o, detail::block const& b) { return o < b.start; };
    auto i = std::upper_bound(s.blocks, s.blocks + s.count, offset, after) - s.blocks - 1;
    for (auto from = offset - s.blocks[i].start; i < s.count; ++i, from = 0)
        if (!part(i, from)) return false;
    return true;
}

bool walk_blocks(step const& s, std::uint64_t memory, std::int64_t offset, list_of_runs& all) noexcept {
    auto const end_of = [&](std::int64_t i) { return i + 1 < s.count ? s.blocks[i + 1].start : s.size; };
    return walk_listed(s, offset, [&](std::int64_t i, std::int64_t from) {
        return all.add(moved(memory, s.blocks[i].at + from), end_of(i) - s.blocks[i].start - from);
    });
}

bool walk(step const& s, std::uint64_t memory, std::int64_t offset, list_of_runs& all) noexcept {
    if (offset >= s.size) return true;
    memory = moved(memory, s.at);
    switch (s.shape) {
    case step::form::run: return all.add(moved(memory, offset), s.size - offset);
    case step::form::strided:
        return walk_equal(s, offset, [&](std::int64_t i, std::int64_t from) {
            return all.add(moved(memory, i * s.stride + from), s.length - from);
        });
    case step::form::blocks: return walk_blocks(s, memory, offset, all);
    case step::form::loop:
        return walk_equal(s, offset, [&](std::int64_t i, std::int64_t from) {
            return walk(*s.child, moved(memory, i * s.stride), from, all);
        });
    case step::form::sequence:
        return walk_listed(s, offset, [&](std::int64_t i, std::int64_t from) { return walk(s.child[i], memory, from, all); });
    }
    return true;
}

} // namespace

listed_runs detail::typed_data::list(std::size_t offset, std::size_t most, std::span<memory_run> into) const noexcept {
    list_of_runs found{into, most};
    walk(all(), memory(), static_cast<std::int64_t>(offset), found);
    return found.so_far();
}

element_kind uniform_element(datatype const& t) {
    if (t.elements() == 0) return element_kind::mixed;
    if (t.element() != element_kind::mixed) return t.element();
    auto const& inside = t.node();
    auto kind = element_kind::mixed;
    for (auto const& p : inside.parts) {
        auto const& child = inside.children()[p.child];
        if (p.count == 0 || child.elements() == 0) continue;
        auto const found = uniform_element(child);
        if (found == element_kind::mixed || (kind != element_kind::mixed && found != kind)) return element_kind::mixed;
        kind = found;
    }
    return kind;
}

} // namespace mpt::inline v0
