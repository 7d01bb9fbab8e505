// The kernels of datatype/operation.hpp. What differs only by name shares one kernel: long and std::int64_t, REAL8 and double.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") // loops become vectors, as clang has them at every level
#endif
#include <mpt/core/processor/vectors.hpp>
#include <mpt/datatype/operation.hpp>

#include <array>
#include <cstring>
#include <type_traits>

namespace mpt::inline v0 {
namespace {

// Types that not every compiler has; void has no kernel.
#ifdef __SIZEOF_INT128__
__extension__ using wide_integer = __int128;
__extension__ using wide_unsigned = unsigned __int128;
#else
using wide_integer = void;
using wide_unsigned = void;
#endif
#ifdef __SIZEOF_FLOAT128__
__extension__ using wide_real = __float128;
#elif __LDBL_MANT_DIG__ == 113
using wide_real = long double;
#else
using wide_real = void;
#endif
using half_real = processor::half;

template <class T> struct complex_of {
    T re, im;
    friend complex_of operator+(complex_of a, complex_of b) { return {T(a.re + b.re), T(a.im + b.im)}; }
    friend complex_of operator*(complex_of a, complex_of b) {
        return {T(a.re * b.re - a.im * b.im), T(a.re * b.im + a.im * b.re)};
    }
};
template <> struct complex_of<void> {};

/// Whose arithmetic wraps, and is not promoted to int.
template <class T> constexpr auto arithmetic(T v) {
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(unsigned)) return static_cast<unsigned>(v);
    else return v;
}

// clang-format off
struct max_f  { template <class T> static T of(T a, T b) { return a < b ? b : a; } };
struct min_f  { template <class T> static T of(T a, T b) { return b < a ? b : a; } };
struct sum_f  { template <class T> static T of(T a, T b) { return static_cast<T>(arithmetic(a) + arithmetic(b)); } };
struct prod_f { template <class T> static T of(T a, T b) { return static_cast<T>(arithmetic(a) * arithmetic(b)); } };
struct land_f { template <class T> static T of(T a, T b) { return static_cast<T>(a != 0 && b != 0); } };
struct lor_f  { template <class T> static T of(T a, T b) { return static_cast<T>(a != 0 || b != 0); } };
struct lxor_f { template <class T> static T of(T a, T b) { return static_cast<T>((a != 0) != (b != 0)); } };
struct band_f { template <class T> static T of(T a, T b) { return static_cast<T>(a & b); } };
struct bor_f  { template <class T> static T of(T a, T b) { return static_cast<T>(a | b); } };
struct bxor_f { template <class T> static T of(T a, T b) { return static_cast<T>(a ^ b); } };
// clang-format on

/// Sums and products of long doubles are read and written in place: through copies, each of 16 bytes would be read before the 8 and 2 that were
/// stored there are. 64 KiB of sums 36 us so, and 16 in place (AMD EPYC, Zen 4); what only selects one of two is sooner copied.
template <class T, class F> inline constexpr bool is_in_place =
    (std::is_same_v<T, long double> || std::is_same_v<T, complex_of<long double>>)&&(std::is_same_v<F, sum_f> ||
                                                                                     std::is_same_v<F, prod_f>);
struct [[gnu::packed, gnu::may_alias]] long_double_anywhere {
    long double value;
};
inline void read(std::byte const* p, long double& value) noexcept {
    value = reinterpret_cast<long_double_anywhere const*>(p)->value;
}
inline void write(std::byte* p, long double value) noexcept { reinterpret_cast<long_double_anywhere*>(p)->value = value; }
inline void read(std::byte const* p, complex_of<long double>& value) noexcept {
    read(p, value.re), read(p + sizeof(long double), value.im);
}
inline void write(std::byte* p, complex_of<long double> const& value) noexcept {
    write(p, value.re), write(p + sizeof(long double), value.im);
}
/// *result = *left F *right, wherever they lie.
template <class T, class F>
[[gnu::always_inline]] inline void combine(std::byte const* left, std::byte const* right, std::byte* result) noexcept {
    T a, b;
    if constexpr (is_in_place<T, F>) {
        read(left, a), read(right, b);
        write(result, F::of(a, b));
    } else {
        std::memcpy(&a, left, sizeof(T));
        std::memcpy(&b, right, sizeof(T));
        T const c = F::of(a, b);
        std::memcpy(result, &c, sizeof(T));
    }
}

template <class T, class F>
[[gnu::always_inline]] inline void loop(std::byte const* __restrict left, std::byte* __restrict right, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) combine<T, F>(left + i * sizeof(T), right + i * sizeof(T), right + i * sizeof(T));
}

template <class T, class F> void each(std::byte const* __restrict left, std::byte* __restrict right, std::size_t n) noexcept {
    loop<T, F>(left, right, n);
}
/// Of a long row, the elements before the first one from which on vectors are stored in their places: every second store would be two.
template <class T> std::size_t before_vectors(std::byte const* row, std::size_t n, std::size_t vector) noexcept {
    auto const bytes = (vector - reinterpret_cast<std::uintptr_t>(row) % vector) % vector;
    return n * sizeof(T) < 8 * vector || bytes % sizeof(T) != 0 ? 0 : bytes / sizeof(T);
}
/// The same by vectors of 32 bytes. Element by element, so the results are the same. Measured on an AMD EPYC of Zen 4, sums of doubles 16 bytes
/// behind a line, so and in place, and by 64 bytes with lines asked for: 4 KiB 55, 36, 71 ns, 64 KiB 1184, 1107, 1300, 1 MiB 23.3, 21.1, 26.8 us.
template <class T, class F>
[[MPT_BY_32]] void each_by_32(std::byte const* __restrict left, std::byte* __restrict right, std::size_t n) noexcept {
    constexpr std::size_t block = 256; // of a known length, which compilers unroll
    auto first = before_vectors<T>(right, n, 32);
    for (n -= first; first != 0; --first, left += sizeof(T), right += sizeof(T)) loop<T, F>(left, right, 1);
    for (; n * sizeof(T) >= block; n -= block / sizeof(T), left += block, right += block)
        loop<T, F>(left, right, block / sizeof(T));
    loop<T, F>(left, right, n);
}
/// By vectors of 64 bytes, lines asked for ahead of them. Measured on an AMD EPYC of Zen 5, sums of doubles by 32 and by 64 bytes: 4 KiB
/// 39 and 24 ns, 64 KiB 790 and 680, 1 MiB 18.3 and 16.1 us.
template <class T, class F>
[[MPT_BY_64]] void each_by_64(std::byte const* __restrict left, std::byte* __restrict right, std::size_t n) noexcept {
    constexpr std::size_t line = 64, block = 256, ahead = 1024;
    for (; n * sizeof(T) > ahead; n -= block / sizeof(T), left += block, right += block) {
        for (std::size_t i = 0; i < block; i += line)
            __builtin_prefetch(left + ahead + i), __builtin_prefetch(right + ahead + i, 1);
        loop<T, F>(left, right, block / sizeof(T));
    }
    loop<T, F>(left, right, n);
}

/// Into memory of its own, which is written without a copy before it: that would read as many bytes again, and write them twice.
template <class T, class F>
[[gnu::always_inline]] inline void merge_loop(std::byte const* __restrict left, std::byte const* __restrict right,
                                              std::byte* __restrict result, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) combine<T, F>(left + i * sizeof(T), right + i * sizeof(T), result + i * sizeof(T));
}
template <class T, class F> [[MPT_BY_32]] void merge_by_32(std::byte const* __restrict left, std::byte const* __restrict right,
                                                           std::byte* __restrict result, std::size_t n) noexcept {
    constexpr std::size_t block = 256;
    auto first = before_vectors<T>(result, n, 32);
    for (n -= first; first != 0; --first, left += sizeof(T), right += sizeof(T), result += sizeof(T))
        merge_loop<T, F>(left, right, result, 1);
    for (; n * sizeof(T) >= block; n -= block / sizeof(T), left += block, right += block, result += block)
        merge_loop<T, F>(left, right, result, block / sizeof(T));
    merge_loop<T, F>(left, right, result, n);
}
template <class T, class F> [[MPT_BY_64]] void merge_by_64(std::byte const* __restrict left, std::byte const* __restrict right,
                                                           std::byte* __restrict result, std::size_t n) noexcept {
    merge_loop<T, F>(left, right, result, n);
}

template <std::size_t Size> void take_left(std::byte const* left, std::byte* right, std::size_t n) noexcept {
    if (n != 0) std::memcpy(right, left, n * Size);
}
void take_right(std::byte const*, std::byte*, std::size_t) noexcept {}

/// A pair's two parts; the gap between pairs is nobody's.
template <class Value, class Index> struct pair_of {
    Value value;
    Index index;
    static pair_of load(std::byte const* p) noexcept {
        pair_of x;
        std::memcpy(&x.value, p + offsetof(pair_of, value), sizeof x.value);
        std::memcpy(&x.index, p + offsetof(pair_of, index), sizeof x.index);
        return x;
    }
    void store(std::byte* p) const noexcept {
        std::memcpy(p + offsetof(pair_of, value), &value, sizeof value);
        std::memcpy(p + offsetof(pair_of, index), &index, sizeof index);
    }
};

/// Of two equal values the one with the smaller index; Better says which value wins.
template <class Pair, class Better> void best(std::byte const* left, std::byte* right, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
        auto const l = Pair::load(left + i * sizeof(Pair)), r = Pair::load(right + i * sizeof(Pair));
        if (Better::of(l.value, r.value) || (l.value == r.value && l.index < r.index)) l.store(right + i * sizeof(Pair));
    }
}
template <class Pair> void replace_pairs(std::byte const* left, std::byte* right, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) Pair::load(left + i * sizeof(Pair)).store(right + i * sizeof(Pair));
}
// clang-format off
struct less    { template <class T> static bool of(T a, T b) { return a < b; } };
struct greater { template <class T> static bool of(T a, T b) { return b < a; } };
// clang-format on

// --- which operation on which type --------------------------------------------------------------------------------------------
template <class T> kernel ordered(operation op) noexcept {
    if constexpr (!std::is_void_v<T>) {
        if (op == operation::max) return &each<T, max_f>;
        if (op == operation::min) return &each<T, min_f>;
    }
    return nullptr;
}
template <class T> kernel summed(operation op) noexcept {
    if constexpr (!std::is_void_v<T> && !std::is_same_v<T, complex_of<void>>) {
        if (op == operation::sum) return &each<T, sum_f>;
        if (op == operation::prod) return &each<T, prod_f>;
    }
    return nullptr;
}
template <class T> kernel logical(operation op) noexcept {
    if constexpr (!std::is_void_v<T>) {
        if (op == operation::land) return &each<T, land_f>;
        if (op == operation::lor) return &each<T, lor_f>;
        if (op == operation::lxor) return &each<T, lxor_f>;
    }
    return nullptr;
}
template <class T> kernel bitwise(operation op) noexcept {
    if constexpr (!std::is_void_v<T>) {
        if (op == operation::band) return &each<T, band_f>;
        if (op == operation::bor) return &each<T, bor_f>;
        if (op == operation::bxor) return &each<T, bxor_f>;
    }
    return nullptr;
}
kernel first_of(kernel a, kernel b) noexcept { return a ? a : b; }

/// T is signed or unsigned as its order is; the rest is done without a sign.
template <class T, class Unsigned> kernel integer(operation op) noexcept {
    return first_of(first_of(ordered<T>(op), summed<Unsigned>(op)), first_of(bitwise<Unsigned>(op), logical<Unsigned>(op)));
}
kernel signed_integer(operation op, std::size_t size) noexcept {
    switch (size) {
    case 1: return integer<std::int8_t, std::uint8_t>(op);
    case 2: return integer<std::int16_t, std::uint16_t>(op);
    case 4: return integer<std::int32_t, std::uint32_t>(op);
    case 8: return integer<std::int64_t, std::uint64_t>(op);
    case 16: return integer<wide_integer, wide_unsigned>(op);
    default: return nullptr;
    }
}
kernel unsigned_integer(operation op, std::size_t size) noexcept {
    switch (size) {
    case 1: return integer<std::uint8_t, std::uint8_t>(op);
    case 2: return integer<std::uint16_t, std::uint16_t>(op);
    case 4: return integer<std::uint32_t, std::uint32_t>(op);
    case 8: return integer<std::uint64_t, std::uint64_t>(op);
    default: return nullptr;
    }
}
template <class T> kernel real(operation op) noexcept {
    return first_of(first_of(ordered<T>(op), summed<T>(op)), logical<T>(op));
}
kernel real(operation op, element_kind kind, std::size_t size) noexcept {
    if (kind == element_kind::c_long_double) return real<long double>(op);
    switch (size) {
    case 2: return real<half_real>(op);
    case 4: return real<float>(op);
    case 8: return real<double>(op);
    case 16: return real<wide_real>(op);
    default: return nullptr;
    }
}
kernel complex(operation op, element_kind kind, std::size_t size) noexcept {
    if (kind == element_kind::c_long_double_complex || kind == element_kind::cxx_long_double_complex)
        return summed<complex_of<long double>>(op);
    switch (size) {
    case 4: return summed<complex_of<half_real>>(op);
    case 8: return summed<complex_of<float>>(op);
    case 16: return summed<complex_of<double>>(op);
    case 32: return summed<complex_of<wide_real>>(op);
    default: return nullptr;
    }
}
kernel logical(operation op, std::size_t size) noexcept {
    switch (size) {
    case 1: return logical<std::uint8_t>(op);
    case 2: return logical<std::uint16_t>(op);
    case 4: return logical<std::uint32_t>(op);
    case 8: return logical<std::uint64_t>(op);
    case 16: return logical<wide_unsigned>(op);
    default: return nullptr;
    }
}
template <class Value, class Index> kernel paired(operation op) noexcept {
    using pair = pair_of<Value, Index>;
    if (op == operation::minloc) return &best<pair, less>;
    if (op == operation::maxloc) return &best<pair, greater>;
    if (op == operation::replace) return &replace_pairs<pair>;
    return nullptr;
}
kernel paired(operation op, element_kind kind) noexcept {
    switch (kind) {
    case element_kind::float_int: return paired<float, int>(op);
    case element_kind::double_int: return paired<double, int>(op);
    case element_kind::long_int: return paired<long, int>(op);
    case element_kind::int_int: return paired<int, int>(op);
    case element_kind::short_int: return paired<short, int>(op);
    case element_kind::long_double_int: return paired<long double, int>(op);
    case element_kind::two_real: return paired<float, float>(op);
    case element_kind::two_double_precision: return paired<double, double>(op);
    case element_kind::two_integer: return paired<std::int32_t, std::int32_t>(op);
    default: return nullptr;
    }
}
kernel replaced(std::size_t size) noexcept {
    switch (size) {
    case 1: return &take_left<1>;
    case 2: return &take_left<2>;
    case 4: return &take_left<4>;
    case 8: return &take_left<8>;
    case 16: return &take_left<16>;
    case 32: return &take_left<32>;
    default: return nullptr;
    }
}

// --- for this processor ---------------------------------------------------------------------------------------------------------
bool likes_64() noexcept {
    static bool const does = processor::likes_vectors_of_64();
    return does;
}
template <class T, class... Fs> void widen(kernels& f) noexcept {
    auto const wide = [&]<class F> {
        if (f.combine != &each<T, F>) return false;
        f = likes_64() ? kernels{&each_by_64<T, F>, &merge_by_64<T, F>} : kernels{&each_by_32<T, F>, &merge_by_32<T, F>};
        return true;
    };
    static_cast<void>((wide.template operator()<Fs>() || ...));
}
template <class... Ts> void widen_integers(kernels& f) noexcept {
    (widen<Ts, max_f, min_f, sum_f, prod_f, band_f, bor_f, bxor_f>(f), ...);
}
kernels fastest(kernel k) noexcept {
    kernels f{k, nullptr};
    if (!k || !processor::has_vectors_of_32()) return f;
    widen_integers<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t>(f);
    widen_integers<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(f);
    widen<float, max_f, min_f, sum_f, prod_f>(f);
    widen<double, max_f, min_f, sum_f, prod_f>(f);
    return f;
}

using function_table = std::array<std::array<kernels, element_kinds>, operations>;
function_table fastest_functions() noexcept {
    function_table all{};
    for (std::size_t o = 0; o < operations; ++o)
        for (std::size_t k = 0; k < element_kinds; ++k)
            all[o][k] = fastest(find_plain_kernel(static_cast<operation>(o), static_cast<element_kind>(k)));
    return all;
}

} // namespace

kernels const& find_kernels(operation op, element_kind kind) noexcept {
    static auto const table = fastest_functions();
    static constexpr kernels none;
    if (kind == element_kind::mixed) return none;
    return table[static_cast<std::size_t>(op)][static_cast<std::size_t>(kind)];
}
kernel find_kernel(operation op, element_kind kind) noexcept { return find_kernels(op, kind).combine; }
merger find_merger(operation op, element_kind kind) noexcept { return find_kernels(op, kind).merge; }

kernel find_plain_kernel(operation op, element_kind kind) noexcept {
    if (kind == element_kind::mixed) return nullptr;
    auto const& of = facts(kind);
    if (op == operation::no_op) return &take_right;
    if (op == operation::replace && !of.is_pair()) return replaced(of.size);
    switch (of.values) {
    case element_class::raw: return kind == element_kind::byte ? bitwise<std::uint8_t>(op) : nullptr;
    case element_class::text:
        if (kind != element_kind::c_char) return nullptr;
        return std::is_signed_v<char> ? signed_integer(op, 1) : unsigned_integer(op, 1);
    case element_class::signed_integer: return signed_integer(op, of.size);
    case element_class::unsigned_integer: return unsigned_integer(op, of.size);
    case element_class::real: return real(op, kind, of.size);
    case element_class::complex: return complex(op, kind, of.size);
    case element_class::logical: return logical(op, of.size);
    case element_class::pair: return paired(op, kind);
    }
    return nullptr;
}

} // namespace mpt::inline v0
