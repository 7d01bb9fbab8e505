/// coll/fold - all ranks' elements, which lie packed in memory, combined by one of them: in the order in which messages combine them.
///
///        allreduce      n = 5     ((0 1) 2) (3 4)        ranks beyond a power of two in pairs, then halves   coll/allreduce.hpp
///        reduce         n = 5     ((0 1) (2 3)) 4        the binomial tree, from its first place on          coll/reduce.hpp
///        scan           n = 5     0 ((1 2) (3 4))        of the last ones a power of two                     coll/scan.hpp
///
///   So a sum of floating-point numbers has the same bits whether it came by messages or was made in shared memory, on all ranks.
///
///   How       right = left op right: what is right of a node is made in the result, what is left of it lies where its rank put it
///             or is made aside, 2 KiB of the elements at a time: the whole stays in the first cache.
///   Limit     4096 ranks. The operation may be the user's, and throw.
///   Tests     test/coll_fold_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include <mpt/coll/operand.hpp>
#include <mpt/core/crossing.hpp>

namespace mpt::inline v0::coll {

/// Which ranks are combined first: places in a row, of which the first few are two ranks each.
class fold_order {
    std::int32_t ranks_, places_, first_;
    bool last_whole_;
    constexpr fold_order(std::int32_t ranks, std::int32_t places, std::int32_t first, bool last_whole = false) noexcept
        : ranks_{ranks}, places_{places}, first_{first}, last_whole_{last_whole} {}

public:
    static constexpr fold_order of_allreduce(std::int32_t n) noexcept {
        return {n, static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(n))), 0};
    }
    /// top: the rank that is the tree's first place.
    static constexpr fold_order of_reduce(std::int32_t n, std::int32_t top) noexcept { return {n, n, top}; }
    /// What the last of n ranks gets.
    static constexpr fold_order of_scan(std::int32_t n) noexcept { return {n, n, 0, true}; }

    constexpr std::int32_t ranks() const noexcept { return ranks_; }
    constexpr std::int32_t places() const noexcept { return places_; }
    constexpr bool is_pair(std::int32_t place) const noexcept { return place < ranks_ - places_; }
    /// How many of so many places in a row, two at least, stand on the left: or as many on the right, a power of two.
    constexpr std::int32_t left_of(std::int32_t count) const noexcept {
        auto const whole = static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(count - 1)));
        return last_whole_ ? count - whole : whole;
    }
    /// The rank, or the first of two.
    constexpr std::int32_t rank_at(std::int32_t place) const noexcept {
        auto const r = is_pair(place) ? 2 * place : place + ranks_ - places_;
        return (r + first_) % ranks_;
    }
};

namespace detail {

/// Elements that lie packed, and elements in their own layout.
inline void pack(operand const& op, std::byte const* from, std::size_t n, std::byte* packed) noexcept {
    elements_out const out{op, from, n};
    if (op.is_contiguous()) return copy_string(packed, from, out.size());
    source::of(out).read(0, {packed, out.size()});
}
inline void unpack(operand const& op, std::byte const* packed, std::size_t n, std::byte* into) noexcept {
    elements_in const in{op, into, n};
    if (op.is_contiguous() && in.size() >= least_ahead) return copy_ahead<false>(into, packed, in.size());
    sink::of(in).write(0, {packed, in.size()});
}
inline std::unique_ptr<work_buffer> buffer_for(operand const& op, std::size_t n) {
    return std::make_unique<work_buffer>(op, n, [](std::size_t bytes) { return scratch{bytes}; });
}

/// At: at(rank) is where a rank's elements lie packed.
template <class At> class folding {
    static constexpr std::size_t block = 2048, levels = 13;

    operand const& op_;
    fold_order order_;
    At const& at_;
    std::size_t first_ = 0, n_ = 0; // the elements at work
    alignas(cache_line) std::array<std::byte, levels * block> near_;
    std::vector<std::unique_ptr<work_buffer>> far_; // where the layout has gaps, or an element is larger than a block

public:
    folding(operand const& op, fold_order const& order, At const& at) noexcept : op_{op}, order_{order}, at_{at} {}

    void run(std::size_t n, std::byte* result) {
        auto const step = is_near() ? std::max<std::size_t>(1, block / std::max<std::size_t>(op_.packed, 1)) : n;
        for (first_ = 0; first_ < n; first_ += step) {
            n_ = std::min(step, n - first_);
            if (is_near() && first_ + step < n) fetch(first_ + step, std::min(step, n - first_ - step));
            combine(0, order_.places(), 0, op_.at(result, first_));
        }
    }

private:
    bool is_near() const noexcept { return op_.is_contiguous() && op_.packed <= block; }
    /// The elements at work next, of all ranks.
    void fetch(std::size_t first, std::size_t n) const noexcept {
        for (std::int32_t q = 0; q < order_.ranks(); ++q) fetch_ahead(at_(q) + first * op_.packed, n * op_.packed);
    }
    std::byte* aside(std::size_t level) {
        if (is_near()) return near_.data() + level * block;
        while (far_.size() <= level) far_.push_back(buffer_for(op_, n_));
        return far_[level]->origin();
    }
    std::byte const* packed(std::int32_t rank) const noexcept { return at_(rank) + first_ * op_.packed; }
    /// A rank's elements, to stand on the left.
    std::byte const* left(std::int32_t rank, std::size_t level) {
        if (op_.is_contiguous()) return packed(rank);
        auto* const here = aside(level);
        unpack(op_, packed(rank), n_, here);
        return here;
    }
    void join(std::byte const* l, std::byte* r) const { op_.combine(op_.what, l, r, n_); }
    /// Two ranks' elements, that of the right one first asked for.
    void join(std::int32_t l, std::int32_t r, std::size_t level, std::byte* out) {
        if (op_.is_contiguous()) return op_.combine_into(packed(l), packed(r), out, n_);
        unpack(op_, packed(r), n_, out);
        join(left(l, level), out);
    }
    /// The places [first, first + count), into `out`; memory aside is free from this level on.
    void combine(std::int32_t first, std::int32_t count, std::size_t level, std::byte* out) {
        auto const r = order_.rank_at(first);
        if (count == 1) return order_.is_pair(first) ? join(r, r + 1, level, out) : unpack(op_, packed(r), n_, out);
        auto const half = order_.left_of(count);
        if (count == 2 && !order_.is_pair(first) && !order_.is_pair(first + 1))
            return join(r, order_.rank_at(first + 1), level, out);
        combine(first + half, count - half, level, out);
        if (half == 1 && !order_.is_pair(first)) return join(left(r, level), out);
        combine(first, half, level + 1, aside(level));
        join(aside(level), out);
    }
};

/// Two arrays, a piece after the other: the next is asked for while the one is combined.
inline void fold_two(operand const& op, std::size_t n, std::byte const* left, std::byte const* right, std::byte* result) {
    constexpr std::size_t piece = 2048;
    auto const each = std::max<std::size_t>(1, piece / std::max<std::size_t>(op.packed, 1));
    for (std::size_t at = 0; at < n; at += each) {
        auto const now = std::min(each, n - at), skip = at * op.packed;
        if (auto const next = std::min(each, n - at - now); next != 0 && op.packed <= piece)
            for (auto const* from : {left, right}) fetch_ahead(from + skip + now * op.packed, next * op.packed);
        op.combine_into(left + skip, right + skip, result + skip, now);
    }
}

/// n elements of all ranks, in their layout.
template <class At> void fold(operand const& op, fold_order const& order, std::size_t n, At const& at, std::byte* result) {
    if (n == 0) return;
    if (order.ranks() == 2 && op.is_contiguous()) return fold_two(op, n, at(order.rank_at(0)), at(order.rank_at(1)), result);
    folding<At>{op, order, at}.run(n, result);
}
/// The same, packed.
template <class At>
void fold_packed(operand const& op, fold_order const& order, std::size_t n, At const& at, std::byte* packed) {
    if (op.is_contiguous()) return fold(op, order, n, at, packed);
    auto const sum = buffer_for(op, n);
    fold(op, order, n, at, sum->origin());
    pack(op, sum->origin(), n, packed);
}

} // namespace detail
} // namespace mpt::inline v0::coll
