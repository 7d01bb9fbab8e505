/// datatype/element - the basic elements that data is made of: every named datatype of the MPI 5.0 binary interface.
///
///   A row of the table says all that the engine knows of a kind: name, what its values are, size, alignment, and its size in
///   external32, the form that all machines read (big-endian, two's complement, IEEE). A pair (for MINLOC and MAXLOC) lies in
///   memory as a C struct of its two parts and counts as two elements. Fortran's default kinds are those of compilers without
///   options: INTEGER, REAL and LOGICAL have four bytes.
///
///        kind         values            size align external
///        c_long       signed_integer       8     8        4      the standard fixes the last column
///        float_int    pair                 8     4        8      parts: c_float at 0, c_int at 4
///
///   Tests   test/datatype_element_test.cpp
///   Source  MPI-4.1 sections 3.2.2, 6.9.2, 6.9.4 and 15.5.2.
#pragma once
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mpt::inline v0 {

/// What an element is. `mixed`: no one kind.
enum class element_kind : std::uint8_t {
    // C and C++
    byte,
    packed,
    c_char,
    c_signed_char,
    c_unsigned_char,
    c_wchar,
    c_short,
    c_unsigned_short,
    c_int,
    c_unsigned,
    c_long,
    c_unsigned_long,
    c_long_long,
    c_unsigned_long_long,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    aint,
    count,
    offset,
    c_float,
    c_double,
    c_long_double,
    c_bool,
    cxx_bool,
    c_float_complex,
    c_double_complex,
    c_long_double_complex,
    cxx_float_complex,
    cxx_double_complex,
    cxx_long_double_complex,
    // pairs of C
    float_int,
    double_int,
    long_int,
    int_int,
    short_int,
    long_double_int,
    // Fortran
    logical,
    integer,
    real,
    complex,
    double_precision,
    double_complex,
    character,
    two_real,
    two_double_precision,
    two_integer,
    logical1,
    logical2,
    logical4,
    logical8,
    logical16,
    integer1,
    integer2,
    integer4,
    integer8,
    integer16,
    real2,
    real4,
    real8,
    real16,
    complex4,
    complex8,
    complex16,
    complex32,
    mixed,
};
/// How many kinds name a datatype.
inline constexpr std::size_t element_kinds = static_cast<std::size_t>(element_kind::mixed);

/// What an element's values are: which operations are defined on them, and how another machine's form is made.
enum class element_class : std::uint8_t { raw, text, signed_integer, unsigned_integer, real, complex, logical, pair };

struct element_facts {
    std::string_view name; // the standard's
    element_class values{};
    std::uint8_t size{}, alignment{}, external{};
    /// A pair's parts, the second one's place, and the bytes from one pair to the next. No pair: mixed, and the size.
    element_kind first = element_kind::mixed, second = element_kind::mixed;
    std::uint8_t second_at{}, extent = size;

    constexpr bool is_pair() const noexcept { return values == element_class::pair; }
};

namespace detail::elements {
using enum element_class;

template <class T> constexpr element_facts element(std::string_view name, element_class values, unsigned external = sizeof(T)) {
    return {name, values, sizeof(T), alignof(T), static_cast<std::uint8_t>(external)};
}
template <class First, class Second>
constexpr element_facts pair_of(std::string_view name, element_kind first, element_kind second, unsigned external) {
    struct both {
        First first;
        Second second;
    };
    constexpr auto second_at = sizeof(First) + (alignof(Second) - sizeof(First) % alignof(Second)) % alignof(Second);
    return {name,  pair,   sizeof(First) + sizeof(Second),       alignof(both), static_cast<std::uint8_t>(external),
            first, second, static_cast<std::uint8_t>(second_at), sizeof(both)};
}
/// A type that C++ may lack: Fortran's of a fixed size.
constexpr element_facts sized(std::string_view name, element_class values, std::uint8_t size) {
    auto const alignment = static_cast<std::uint8_t>(values == element_class::complex ? size / 2 : size);
    return {name, values, size, alignment, size};
}

// clang-format off
/// THE table: one row a kind, in the order of element_kind.
inline constexpr std::array<element_facts, element_kinds> table{
    element<std::byte>("MPI_BYTE", raw),
    element<std::byte>("MPI_PACKED", raw),
    element<char>("MPI_CHAR", text),
    element<signed char>("MPI_SIGNED_CHAR", signed_integer),
    element<unsigned char>("MPI_UNSIGNED_CHAR", unsigned_integer),
    element<wchar_t>("MPI_WCHAR", text, 2),
    element<short>("MPI_SHORT", signed_integer),
    element<unsigned short>("MPI_UNSIGNED_SHORT", unsigned_integer),
    element<int>("MPI_INT", signed_integer),
    element<unsigned>("MPI_UNSIGNED", unsigned_integer),
    element<long>("MPI_LONG", signed_integer, 4),
    element<unsigned long>("MPI_UNSIGNED_LONG", unsigned_integer, 4),
    element<long long>("MPI_LONG_LONG_INT", signed_integer),
    element<unsigned long long>("MPI_UNSIGNED_LONG_LONG", unsigned_integer),
    element<std::int8_t>("MPI_INT8_T", signed_integer),
    element<std::uint8_t>("MPI_UINT8_T", unsigned_integer),
    element<std::int16_t>("MPI_INT16_T", signed_integer),
    element<std::uint16_t>("MPI_UINT16_T", unsigned_integer),
    element<std::int32_t>("MPI_INT32_T", signed_integer),
    element<std::uint32_t>("MPI_UINT32_T", unsigned_integer),
    element<std::int64_t>("MPI_INT64_T", signed_integer),
    element<std::uint64_t>("MPI_UINT64_T", unsigned_integer),
    element<std::intptr_t>("MPI_AINT", signed_integer, 8),
    element<std::int64_t>("MPI_COUNT", signed_integer),
    element<std::int64_t>("MPI_OFFSET", signed_integer),
    element<float>("MPI_FLOAT", real),
    element<double>("MPI_DOUBLE", real),
    element<long double>("MPI_LONG_DOUBLE", real, 16),
    element<bool>("MPI_C_BOOL", logical),
    element<bool>("MPI_CXX_BOOL", logical),
    element<std::complex<float>>("MPI_C_COMPLEX", complex),
    element<std::complex<double>>("MPI_C_DOUBLE_COMPLEX", complex),
    element<std::complex<long double>>("MPI_C_LONG_DOUBLE_COMPLEX", complex, 32),
    element<std::complex<float>>("MPI_CXX_FLOAT_COMPLEX", complex),
    element<std::complex<double>>("MPI_CXX_DOUBLE_COMPLEX", complex),
    element<std::complex<long double>>("MPI_CXX_LONG_DOUBLE_COMPLEX", complex, 32),
    pair_of<float, int>("MPI_FLOAT_INT", element_kind::c_float, element_kind::c_int, 8),
    pair_of<double, int>("MPI_DOUBLE_INT", element_kind::c_double, element_kind::c_int, 12),
    pair_of<long, int>("MPI_LONG_INT", element_kind::c_long, element_kind::c_int, 8),
    pair_of<int, int>("MPI_2INT", element_kind::c_int, element_kind::c_int, 8),
    pair_of<short, int>("MPI_SHORT_INT", element_kind::c_short, element_kind::c_int, 6),
    pair_of<long double, int>("MPI_LONG_DOUBLE_INT", element_kind::c_long_double, element_kind::c_int, 20),
    element<std::int32_t>("MPI_LOGICAL", logical),
    element<std::int32_t>("MPI_INTEGER", signed_integer),
    element<float>("MPI_REAL", real),
    element<std::complex<float>>("MPI_COMPLEX", complex),
    element<double>("MPI_DOUBLE_PRECISION", real),
    element<std::complex<double>>("MPI_DOUBLE_COMPLEX", complex),
    element<char>("MPI_CHARACTER", text),
    pair_of<float, float>("MPI_2REAL", element_kind::real, element_kind::real, 8),
    pair_of<double, double>("MPI_2DOUBLE_PRECISION", element_kind::double_precision, element_kind::double_precision, 16),
    pair_of<std::int32_t, std::int32_t>("MPI_2INTEGER", element_kind::integer, element_kind::integer, 8),
    sized("MPI_LOGICAL1", logical, 1),
    sized("MPI_LOGICAL2", logical, 2),
    sized("MPI_LOGICAL4", logical, 4),
    sized("MPI_LOGICAL8", logical, 8),
    sized("MPI_LOGICAL16", logical, 16),
    sized("MPI_INTEGER1", signed_integer, 1),
    sized("MPI_INTEGER2", signed_integer, 2),
    sized("MPI_INTEGER4", signed_integer, 4),
    sized("MPI_INTEGER8", signed_integer, 8),
    sized("MPI_INTEGER16", signed_integer, 16),
    sized("MPI_REAL2", real, 2),
    sized("MPI_REAL4", real, 4),
    sized("MPI_REAL8", real, 8),
    sized("MPI_REAL16", real, 16),
    sized("MPI_COMPLEX4", complex, 4),
    sized("MPI_COMPLEX8", complex, 8),
    sized("MPI_COMPLEX16", complex, 16),
    sized("MPI_COMPLEX32", complex, 32),
};
// clang-format on
} // namespace detail::elements

/// Of any kind but mixed.
constexpr element_facts const& facts(element_kind k) noexcept { return detail::elements::table[static_cast<std::size_t>(k)]; }

/// Fortran's kind with values of this class and size, if there is one: integer, real, complex, logical.
constexpr std::optional<element_kind> match_size(element_class values, std::int64_t size) noexcept {
    for (auto k = element_kind::logical1; k != element_kind::mixed; k = static_cast<element_kind>(static_cast<int>(k) + 1))
        if (facts(k).values == values && facts(k).size == size) return k;
    return std::nullopt;
}

} // namespace mpt::inline v0
