// From the tree of a datatype to the steps that move its data.
#include <mpt/datatype/layout.hpp>

#include <memory>
#include <vector>

#include <fmt/format.h>
#include <mpt/core/error.hpp>
#include <mpt/datatype/typed.hpp>

#include "datatype_node.hpp"

namespace mpt::inline v0::detail {

namespace {
using form = step::form;

/// A small child is written out where it stands beside others: one search in place of two.
constexpr std::int64_t few = 8;

step run_of(std::int64_t at, std::int64_t length) { return {.shape = form::run, .size = length, .at = at, .length = length}; }
step strided_of(std::int64_t at, std::int64_t length, std::int64_t count, std::int64_t stride) {
    return {.shape = form::strided, .size = length * count, .at = at, .length = length, .count = count, .stride = stride};
}
/// Another one, `stride` bytes on, goes on where these end.
bool continues(step const& s, std::int64_t stride) {
    return static_cast<std::uint64_t>(s.stride) * static_cast<std::uint64_t>(s.count) == static_cast<std::uint64_t>(stride);
}
} // namespace

step repeated(step const& s, std::int64_t count, std::int64_t stride) {
    if (count == 1) return s;
    if (count == 0 || s.size == 0) return {};
    if (s.shape == form::run && stride == s.length) return run_of(s.at, s.length * count);
    if (s.shape == form::run) return strided_of(s.at, s.length, count, stride);
    if (s.shape == form::strided && continues(s, stride)) return strided_of(s.at, s.length, count * s.count, s.stride);
    if (s.shape == form::loop && continues(s, stride)) {
        auto longer = s;
        longer.count *= count;
        longer.size *= count;
        return longer;
    }
    return {.shape = form::loop, .size = s.size * count, .length = s.size, .count = count, .stride = stride, .child = &s};
}

/// The steps of one type, and the arrays that they refer to.
struct layout {
    step root;
    std::vector<step> children;
    std::vector<block> blocks;
};

namespace {
struct run {
    std::int64_t at, length;
};

/// Collects the parts of a type in their order: runs as long as there is nothing else.
class compiler {
    layout& out_;
    std::vector<run> runs_;
    std::vector<step> steps_; // from the first one that is no run

public:
    compiler(layout& out, std::size_t parts) : out_{out} { runs_.reserve(parts); }

    /// `old`: the child's layout, which stays.
    void add(part const& p, step const& old) {
        if (p.count == 0 || old.size == 0) return;
        if (old.shape == form::run && (p.count == 1 || p.stride == old.length))
            return add_run(old.at + p.at, old.length * p.count);
        auto s = repeated(old, p.count, p.stride);
        s.at += p.at;
        if (s.shape == form::run) add_run(s.at, s.size);
        else if (s.count <= few && s.shape == form::strided) write_out_strided(s);
        else if (s.count <= few && s.shape == form::blocks) write_out_blocks(s);
        else leave_runs(), steps_.push_back(s);
    }
    step finish() {
        if (!steps_.empty()) return steps_.size() == 1 ? steps_.front() : sequence();
        if (runs_.empty()) return {};
        if (runs_.size() == 1) return run_of(runs_[0].at, runs_[0].length);
        auto const stride = runs_[1].at - runs_[0].at;
        return regular(stride) ? strided_of(runs_[0].at, runs_[0].length, std::ssize(runs_), stride) : blocks();
    }

private:
    // Two numbers, and not a run: built in memory, that would be read before it is there.
    void add_run(std::int64_t at, std::int64_t length) {
        if (!steps_.empty()) {
            auto& last = steps_.back();
            if (last.shape == form::run && last.at + last.size == at) last.size = last.length += length;
            else steps_.push_back(run_of(at, length));
        } else if (!runs_.empty() && runs_.back().at + runs_.back().length == at) runs_.back().length += length;
        else runs_.emplace_back(at, length);
    }
    void write_out_strided(step const& s) {
        for (std::int64_t i = 0; i < s.count; ++i) add_run(s.at + i * s.stride, s.length);
    }
    void write_out_blocks(step const& s) {
        for (std::int64_t i = 0; i < s.count; ++i) {
            auto const end = i + 1 < s.count ? s.blocks[i + 1].start : s.size;
            add_run(s.at + s.blocks[i].at, end - s.blocks[i].start);
        }
    }
    void leave_runs() {
        for (auto const& r : runs_) steps_.push_back(run_of(r.at, r.length));
        runs_.clear();
    }
    bool regular(std::int64_t stride) const {
        for (std::size_t i = 1; i < runs_.size(); ++i)
            if (runs_[i].length != runs_[0].length || runs_[i].at - runs_[i - 1].at != stride) return false;
        return true;
    }
    step blocks() {
        step s{.shape = form::blocks, .length = runs_[0].length, .count = std::ssize(runs_)};
        out_.blocks.reserve(runs_.size());
        for (auto const& r : runs_) {
            out_.blocks.push_back({r.at, s.size});
            s.size += r.length;
            if (r.length != s.length) s.length = 0;
        }
        s.blocks = out_.blocks.data();
        return s;
    }
    step sequence() {
        step s{.shape = form::sequence, .count = std::ssize(steps_)};
        out_.children = std::move(steps_);
        out_.blocks.reserve(out_.children.size());
        for (auto const& c : out_.children) {
            out_.blocks.push_back({0, s.size});
            s.size += c.size;
        }
        s.blocks = out_.blocks.data();
        s.child = out_.children.data();
        return s;
    }
};

std::unique_ptr<layout const> flatten(type_node const& n) {
    auto out = std::make_unique<layout>();
    if (n.children().empty()) {
        out->root = run_of(0, n.size);
        return out;
    }
    if (n.parts.size() == 1) {
        auto const& p = n.parts[0];
        auto const& old = n.children()[p.child].layout();
        if (p.count == 0 || old.size == 0) return out;
        out->root = repeated(old, p.count, p.stride);
        out->root.at += p.at;
        return out;
    }
    compiler c{*out, n.parts.size()};
    auto const children = n.children();
    auto const* old = &children[0].layout();
    for (std::uint32_t of = 0; auto const& p : n.parts) {
        if (p.child != of) old = &children[of = p.child].layout();
        c.add(p, *old);
    }
    out->root = c.finish();
    return out;
}
} // namespace

type_node::~type_node() {
    delete flat.load(std::memory_order_acquire); // sync(datatype.layout): acquire
}

typed_data::typed_data(std::uintptr_t memory, std::int64_t count, datatype const& type) : type_{type}, memory_{memory} {
    check_type("typed", type);
    check_count("typed", "count", count);
    auto const run = type.contiguous_run(count);
    one_run_ = run.has_value();
    if (run) {
        all_ = {.size = run->bytes, .at = run->offset, .length = run->bytes};
        return;
    }
    product(count, type.size());
    product(count, type.extent());
    all_ = repeated(type.layout(), count, type.extent());
}

} // namespace mpt::inline v0::detail

namespace mpt::inline v0 {

detail::step const* datatype::built_layout() const noexcept {
    auto const* const l = node().flat.load(std::memory_order_acquire); // sync(datatype.layout): acquire
    return l ? &l->root : nullptr;
}

/// Whoever asks first builds it; of several at once, one wins.
detail::step const& datatype::layout() const {
    if (auto const* const built = built_layout()) return *built;
    auto& place = node().flat;
    detail::layout const* l = nullptr;
    auto made = detail::flatten(node());
    // sync(datatype.layout): acq_rel
    if (place.compare_exchange_strong(l, made.get(), std::memory_order_acq_rel)) l = made.release();
    return l->root;
}

} // namespace mpt::inline v0
