/// datatype/operation - the predefined operations on the basic elements, as compiled loops over arrays.
///
///                        integers      real        complex   logical   byte   pairs
///        max min            x            x
///        sum prod           x            x            x
///        land lor lxor      x             x                     x
///        band bor bxor      x                                            x
///        minloc maxloc                                                           x
///        replace no_op      x            x            x         x        x       x
///
///   Programs count on truth values of all integers and of reals, and on MPI_CHAR as an integer; the standard's table has none of
///   these. A cell without a cross is not allowed: find_kernel() gives null, and the caller knows the names for a sentence. Other
///   text and MPI_PACKED have no operation but replace and no_op, which are of one-sided communication and no reductions.
///   Sums and products of integers wrap. A logical is true where it is not zero, and the results are 0 and 1.
///
///   Cost    loops that the compiler makes vectors of; elements need no alignment.
///   Limit   where the compiler has no type for a kind (REAL2, COMPLEX4 need _Float16, REAL16, COMPLEX32 __float128, INTEGER16,
///           LOGICAL16 __int128), the kind has no kernel. g++ 12 and clang 16 have all of them on x86-64.
///   Tests   test/datatype_operation_test.cpp: every kernel on random values against the operation written out.
///   Source  MPI-4.1 sections 6.9.2 to 6.9.4.
#pragma once
#include <mpt/datatype/element.hpp>

namespace mpt::inline v0 {

// g++ 12 takes an enumerator of a scoped enumeration for one of its namespace, where mpt::min and mpt::max are.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
enum class operation : std::uint8_t { max, min, sum, prod, land, band, lor, bor, lxor, bxor, minloc, maxloc, replace, no_op };
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
inline constexpr std::size_t operations = 14;

/// right[i] = left[i] op right[i], for n elements side by side, each as long as its extent. The arrays do not overlap.
using kernel = void (*)(std::byte const* left, std::byte* right, std::size_t n) noexcept;

/// result[i] = left[i] op right[i]. The arrays do not overlap.
using merger = void (*)(std::byte const* left, std::byte const* right, std::byte* result, std::size_t n) noexcept;

/// The fastest of this processor's. Null: the operation is not defined on these elements.
kernel find_kernel(operation op, element_kind kind) noexcept;
/// One that every processor has; its results are the same, bit by bit.
kernel find_plain_kernel(operation op, element_kind kind) noexcept;
/// Of the same results, into memory of their own. Null: there is none; copy, and combine.
merger find_merger(operation op, element_kind kind) noexcept;
/// Both. It stays where it is.
struct kernels {
    kernel combine = nullptr;
    merger merge = nullptr; // of those that are made of vectors
};
kernels const& find_kernels(operation op, element_kind kind) noexcept;

} // namespace mpt::inline v0
