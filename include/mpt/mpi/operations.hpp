/// mpi/operations - reduction operations: any callable of two elements, and which of them commute.
///
///   std::plus, multiplies, bit_and, bit_or, bit_xor, logical_and, logical_or and mpt::min, mpt::max commute on arithmetic types
///   (floating-point addition commutes, it does not associate: see docs/design.md on reproducibility). Anything else is taken
///   not to, and keeps rank order at every size; specialise commutes_v for one that does.
#pragma once
#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>

#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

struct min_of {
    template <class T> constexpr T operator()(T const& a, T const& b) const { return std::min(a, b); }
};
struct max_of {
    template <class T> constexpr T operator()(T const& a, T const& b) const { return std::max(a, b); }
};
inline constexpr min_of min{};
inline constexpr max_of max{};

namespace detail {
template <class Op> inline constexpr bool known_to_commute = false;
template <class T> inline constexpr bool known_to_commute<std::plus<T>> = true;
template <class T> inline constexpr bool known_to_commute<std::multiplies<T>> = true;
template <class T> inline constexpr bool known_to_commute<std::bit_and<T>> = true;
template <class T> inline constexpr bool known_to_commute<std::bit_or<T>> = true;
template <class T> inline constexpr bool known_to_commute<std::bit_xor<T>> = true;
template <class T> inline constexpr bool known_to_commute<std::logical_and<T>> = true;
template <class T> inline constexpr bool known_to_commute<std::logical_or<T>> = true;
template <> inline constexpr bool known_to_commute<min_of> = true;
template <> inline constexpr bool known_to_commute<max_of> = true;
} // namespace detail

/// Whether op(a, b) == op(b, a) for elements of T.
template <class Op, class T> inline constexpr bool commutes_v =
    std::is_arithmetic_v<T> && detail::known_to_commute<std::remove_cvref_t<Op>>;

namespace detail {
/// into[i] = op(left[i], right[i]). The bytes need not be aligned for T; into may be left or right.
template <class T, class Op>
void combine(std::span<std::byte const> left, std::span<std::byte const> right, std::span<std::byte> into, Op& op) {
    auto const n = into.size() / sizeof(T);
    for (std::size_t i = 0; i < n; ++i) {
        T a, b;
        std::memcpy(&a, left.data() + i * sizeof(T), sizeof(T));
        std::memcpy(&b, right.data() + i * sizeof(T), sizeof(T));
        T const c = op(a, b);
        std::memcpy(into.data() + i * sizeof(T), &c, sizeof(T));
    }
}
} // namespace detail
} // namespace mpt::inline v0
