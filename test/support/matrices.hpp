/// test/support/matrices - operands of reductions: 2 x 2 matrices of numbers that wrap, whose product associates and does not commute
/// and whose sum commutes, in an array or in a layout with gaps, an origin outside the data, and falling addresses.
///
///        matrices v{n, dice};    v.set(i, m);    v.get(i);    v.product() or v.sum() is the operand, v.origin() the buffer
#pragma once
#include <array>
#include <cstring>
#include <vector>

#include "dice.hpp"
#include <mpt/coll/operand.hpp>

namespace mpt::test {

using matrix = std::array<std::uint32_t, 4>;

inline matrix times(matrix const& a, matrix const& b) {
    return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
}
inline matrix plus(matrix const& a, matrix const& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]}; }
/// What rank r brings as its element i in a step.
inline matrix element_of(unsigned seed, int r, std::size_t i) {
    auto const x = seed + 977u * static_cast<unsigned>(r + 1) + 31u * static_cast<unsigned>(i);
    return {x | 1u, x * 7u, x * 13u + 5u, x * 29u + 2u};
}

/// Two halves of an element, `second` bytes apart; the first one `lowest` bytes after the origin.
struct matrix_layout {
    std::ptrdiff_t extent, lowest, second;
    bool is_array() const noexcept { return extent == 16 && lowest == 0 && second == 8; }

    template <class Byte> Byte* byte_at(Byte* origin, std::size_t packed) const noexcept {
        auto const i = static_cast<std::ptrdiff_t>(packed / 16), in = static_cast<std::ptrdiff_t>(packed % 16);
        return origin + i * extent + lowest + (in < 8 ? in : second + in - 8);
    }
    matrix load(std::byte const* origin, std::size_t i) const {
        matrix m;
        std::memcpy(m.data(), byte_at(origin, 16 * i), 8);
        std::memcpy(m.data() + 2, byte_at(origin, 16 * i + 8), 8);
        return m;
    }
    void store(std::byte* origin, std::size_t i, matrix const& m) const {
        std::memcpy(byte_at(origin, 16 * i), m.data(), 8);
        std::memcpy(byte_at(origin, 16 * i + 8), m.data() + 2, 8);
    }
    template <matrix (*Op)(matrix const&, matrix const&)>
    static void combine(void* what, std::byte const* left, std::byte* right, std::size_t n) {
        auto const& l = *static_cast<matrix_layout const*>(what);
        for (std::size_t i = 0; i < n; ++i) l.store(right, i, Op(l.load(left, i), l.load(right, i)));
    }
    static void read(void* what, std::byte const* origin, std::size_t offset, std::span<std::byte> into) noexcept {
        auto const& l = *static_cast<matrix_layout const*>(what);
        for (std::size_t k = 0; k < into.size(); ++k) into[k] = *l.byte_at(origin, offset + k);
    }
    static void write(void* what, std::byte* origin, std::size_t offset, std::span<std::byte const> from) noexcept {
        auto const& l = *static_cast<matrix_layout const*>(what);
        for (std::size_t k = 0; k < from.size(); ++k) *l.byte_at(origin, offset + k) = from[k];
    }
    coll::operand operand(coll::operand::combiner f, bool commutes) {
        if (is_array()) return coll::operand::array(16, commutes, this, f);
        return {16, extent, lowest, static_cast<std::size_t>(second + 8), commutes, this, f, &read, &write};
    }
};

class matrices {
    matrix_layout layout_;
    std::size_t n_;
    std::ptrdiff_t low_;
    std::vector<std::byte> memory_;

public:
    matrices(std::size_t n, dice& d)
        : layout_{d.one_of<matrix_layout>({{16, 0, 8}, {40, 8, 16}, {-40, -24, 16}, {16, 4, 8}})}, n_{n},
          low_{layout_.lowest + (layout_.extent < 0 && n > 0 ? static_cast<std::ptrdiff_t>(n - 1) * layout_.extent : 0)},
          memory_(n * 40 + 64) {}
    std::size_t size() const noexcept { return n_; }
    std::byte* origin() noexcept { return memory_.data() - low_; }
    void set(std::size_t i, matrix const& m) { layout_.store(origin(), i, m); }
    matrix get(std::size_t i) { return layout_.load(origin(), i); }
    void bring(unsigned seed, int r) {
        for (std::size_t i = 0; i < n_; ++i) set(i, element_of(seed, r, i));
    }
    coll::operand product() { return layout_.operand(&matrix_layout::combine<times>, false); }
    coll::operand sum() { return layout_.operand(&matrix_layout::combine<plus>, true); }
    coll::operand either(bool commutes) { return commutes ? sum() : product(); }
};

/// Element i of ranks first to last, combined in rank order. first <= last.
inline matrix combined(bool commutes, unsigned seed, int first, int last, std::size_t i) {
    auto all = element_of(seed, first, i);
    for (int r = first + 1; r <= last; ++r)
        all = commutes ? plus(all, element_of(seed, r, i)) : times(all, element_of(seed, r, i));
    return all;
}

} // namespace mpt::test
