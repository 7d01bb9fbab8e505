#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "support/dice.hpp"
#include <mpt/datatype/operation.hpp>

namespace {
using namespace mpt::test;
using mpt::element_kind;
using mpt::operation;

/// The groups of MPI-4.1 section 6.9.2; MPI_CHAR is an integer to us, and all numbers but complex ones have a truth value.
enum class kin { integer, real, complex, logical, byte, pair, none };
kin kin_of(element_kind k) {
    auto const& f = mpt::facts(k);
    switch (f.values) {
    case mpt::element_class::raw: return k == element_kind::byte ? kin::byte : kin::none;
    case mpt::element_class::text: return k == element_kind::c_char ? kin::integer : kin::none;
    case mpt::element_class::signed_integer:
    case mpt::element_class::unsigned_integer: return kin::integer;
    case mpt::element_class::real: return kin::real;
    case mpt::element_class::complex: return kin::complex;
    case mpt::element_class::logical: return kin::logical;
    case mpt::element_class::pair: return kin::pair;
    }
    return kin::none;
}
bool allowed(operation op, kin k) {
    switch (op) {
    case operation::max:
    case operation::min: return k == kin::integer || k == kin::real;
    case operation::sum:
    case operation::prod: return k == kin::integer || k == kin::real || k == kin::complex;
    case operation::land:
    case operation::lor:
    case operation::lxor: return k == kin::integer || k == kin::real || k == kin::logical;
    case operation::band:
    case operation::bor:
    case operation::bxor: return k == kin::integer || k == kin::byte;
    case operation::minloc:
    case operation::maxloc: return k == kin::pair;
    case operation::replace:
    case operation::no_op: return true;
    }
    return false;
}

TEST(datatype_operation, is_defined_exactly_where_the_table_says) {
    for (std::size_t i = 0; i < mpt::element_kinds; ++i)
        for (std::size_t o = 0; o < mpt::operations; ++o) {
            auto const k = static_cast<element_kind>(i);
            auto const op = static_cast<operation>(o);
            EXPECT_EQ(mpt::find_kernel(op, k) != nullptr, allowed(op, kin_of(k))) << mpt::facts(k).name << ", operation " << o;
        }
    EXPECT_EQ(mpt::find_kernel(operation::sum, element_kind::mixed), nullptr);
}

/// The operation written out, in a type that holds every value of T.
template <class T> T expected(operation op, T l, T r) {
    __extension__ using wide = unsigned __int128;
    if constexpr (std::is_integral_v<T>) switch (op) {
        case operation::sum: return static_cast<T>(static_cast<wide>(l) + static_cast<wide>(r));
        case operation::prod: return static_cast<T>(static_cast<wide>(l) * static_cast<wide>(r));
        case operation::land: return static_cast<T>(l && r);
        case operation::lor: return static_cast<T>(l || r);
        case operation::lxor: return static_cast<T>(!l != !r);
        case operation::band: return static_cast<T>(l & r);
        case operation::bor: return static_cast<T>(l | r);
        case operation::bxor: return static_cast<T>(l ^ r);
        default: break;
        }
    if constexpr (std::is_floating_point_v<T>) {
        if (op == operation::sum) return l + r;
        if (op == operation::prod) return l * r;
        if (op == operation::land) return static_cast<T>(l != 0 && r != 0);
        if (op == operation::lor) return static_cast<T>(l != 0 || r != 0);
        if (op == operation::lxor) return static_cast<T>((l != 0) != (r != 0));
    }
    if (op == operation::max) return l > r ? l : r;
    if (op == operation::min) return l < r ? l : r;
    return op == operation::replace ? l : r;
}

template <class T> T random_value(dice& d) {
    if constexpr (std::is_floating_point_v<T>) return static_cast<T>(static_cast<int>(d.below(2001)) - 1000) / T{8};
    else if (d.below(4) == 0) return d.one_of<T>({T{0}, T{1}, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()});
    else return static_cast<T>((static_cast<std::uint64_t>(d.seed()) << 32) | d.seed());
}

/// Every kernel of a kind whose values are T, on arrays that are aligned for nothing.
template <class T> void all_operations(element_kind k, dice& d) {
    for (std::size_t o = 0; o < mpt::operations; ++o) {
        auto const op = static_cast<operation>(o);
        auto const f = mpt::find_kernel(op, k);
        if (!f) continue;
        auto const n = d.below(70);
        std::vector<T> l, r;
        for (unsigned i = 0; i < n; ++i) l.push_back(random_value<T>(d)), r.push_back(random_value<T>(d));
        std::vector<std::byte> left(n * sizeof(T) + 3), right(n * sizeof(T) + 2);
        if (n) std::memcpy(left.data() + 3, l.data(), n * sizeof(T)), std::memcpy(right.data() + 1, r.data(), n * sizeof(T));
        f(left.data() + 3, right.data() + 1, n);
        for (unsigned i = 0; i < n; ++i) {
            T got;
            std::memcpy(&got, right.data() + 1 + i * sizeof(T), sizeof(T));
            EXPECT_EQ(got, expected(op, l[i], r[i])) << mpt::facts(k).name << ", operation " << o << ", element " << i;
        }
        EXPECT_EQ(right.back(), std::byte{});
    }
}

TEST(datatype_operation, of_numbers_gives_what_the_operation_written_out_gives) {
    seeds const s{100};
    for (unsigned seed = s.first; seed != s.first + s.count && !HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        dice d{seed};
        all_operations<char>(element_kind::c_char, d);
        all_operations<signed char>(element_kind::c_signed_char, d);
        all_operations<unsigned char>(element_kind::c_unsigned_char, d);
        all_operations<short>(element_kind::c_short, d);
        all_operations<unsigned short>(element_kind::c_unsigned_short, d);
        all_operations<int>(element_kind::c_int, d);
        all_operations<unsigned>(element_kind::c_unsigned, d);
        all_operations<long>(element_kind::c_long, d);
        all_operations<unsigned long>(element_kind::c_unsigned_long, d);
        all_operations<long long>(element_kind::c_long_long, d);
        all_operations<unsigned long long>(element_kind::c_unsigned_long_long, d);
        all_operations<std::int8_t>(element_kind::int8, d);
        all_operations<std::uint64_t>(element_kind::uint64, d);
        all_operations<std::intptr_t>(element_kind::aint, d);
        all_operations<std::int64_t>(element_kind::offset, d);
        all_operations<std::int64_t>(element_kind::count, d);
        all_operations<std::int16_t>(element_kind::integer2, d);
        all_operations<float>(element_kind::c_float, d);
        all_operations<double>(element_kind::real8, d);
        all_operations<long double>(element_kind::c_long_double, d);
        all_operations<std::uint8_t>(element_kind::byte, d);
        all_operations<std::uint8_t>(element_kind::c_bool, d);
        all_operations<std::uint32_t>(element_kind::logical, d);
        all_operations<std::uint64_t>(element_kind::logical8, d);
    }
}

/// Of any length, from anywhere on: a vector's rest, and what lies around, too; and so long that lines are asked for ahead.
TEST(datatype_operation, of_this_processor_gives_what_any_gives_bit_by_bit) {
    dice d{std::random_device{}()};
    for (std::size_t o = 0; o < mpt::operations; ++o)
        for (std::size_t k = 0; k < mpt::element_kinds; ++k) {
            auto const op = static_cast<operation>(o);
            auto const kind = static_cast<element_kind>(k);
            auto const& f = mpt::facts(kind);
            auto const fast = mpt::find_kernel(op, kind), plain = mpt::find_plain_kernel(op, kind);
            ASSERT_EQ(fast == nullptr, plain == nullptr);
            bool const any_bits = f.values == mpt::element_class::signed_integer ||
                                  f.values == mpt::element_class::unsigned_integer || f.values == mpt::element_class::raw;
            bool const numbers = kind == element_kind::c_double || kind == element_kind::c_float;
            if (!fast || (!any_bits && !numbers) || f.extent > 16) continue;
            for (std::size_t n : {0u, 1u, 3u, 8u, 31u, 64u, 97u, 700u, 2061u}) {
                std::size_t const room = f.extent * (n + 8);
                std::vector<std::byte> left(room), right(room);
                for (auto* const data : {&left, &right}) {
                    for (auto& b : *data) b = static_cast<std::byte>(d.below(256));
                    if (!numbers) continue;
                    for (std::size_t i = 0; i + f.extent <= room; i += f.extent) {
                        double const x = static_cast<double>(d.below(2000)) / 7 - 100;
                        auto const y = static_cast<float>(x);
                        std::memcpy(data->data() + i, f.extent == 8 ? static_cast<void const*>(&x) : &y, f.extent);
                    }
                }
                auto const skip = f.extent * d.below(4);
                auto other = right;
                std::vector<std::byte> apart(room);
                if (auto const merge = mpt::find_merger(op, kind))
                    merge(left.data() + f.extent, right.data() + skip, apart.data() + f.extent, n);
                else apart.clear();
                fast(left.data() + f.extent, right.data() + skip, n);
                plain(left.data() + f.extent, other.data() + skip, n);
                ASSERT_EQ(right, other) << f.name << ", operation " << o << ", " << n << " elements";
                if (apart.empty()) continue;
                auto const* const merged = apart.data() + f.extent;
                ASSERT_EQ(std::memcmp(merged, right.data() + skip, n * f.extent), 0)
                    << f.name << ", operation " << o << ", " << n;
                ASSERT_EQ(merged[-1], std::byte{});
                ASSERT_EQ(merged[n * f.extent], std::byte{});
            }
        }
}

TEST(datatype_operation, of_complex_numbers) {
    using complex = std::complex<double>;
    complex const l[]{{1, 2}, {0, 1}}, r[]{{3, 4}, {0, 1}};
    complex sum[]{r[0], r[1]}, product[]{r[0], r[1]};
    auto const* left = reinterpret_cast<std::byte const*>(l);
    mpt::find_kernel(operation::sum, element_kind::c_double_complex)(left, reinterpret_cast<std::byte*>(sum), 2);
    mpt::find_kernel(operation::prod, element_kind::c_double_complex)(left, reinterpret_cast<std::byte*>(product), 2);
    EXPECT_EQ(std::to_array(sum), (std::array{l[0] + r[0], l[1] + r[1]}));
    EXPECT_EQ(std::to_array(product), (std::array{l[0] * r[0], l[1] * r[1]}));
}

template <class Value, class Index> struct both {
    Value value;
    Index index;
};
template <class Value, class Index> void best_of_pairs(element_kind k, dice& d) {
    using pair = both<Value, Index>;
    ASSERT_EQ(sizeof(pair), mpt::facts(k).extent);
    for (auto const op : {operation::minloc, operation::maxloc, operation::replace}) {
        std::vector<pair> l(50), r(50);
        for (auto* v : {&l, &r}) {
            std::memset(static_cast<void*>(v->data()), v == &l ? 0x11 : 0x22, 50 * sizeof(pair));
            for (auto& p : *v) p.value = static_cast<Value>(d.below(4)), p.index = static_cast<Index>(d.below(5));
        }
        auto got = r;
        std::memcpy(static_cast<void*>(got.data()), r.data(), 50 * sizeof(pair)); // with its gaps
        mpt::find_kernel(op, k)(reinterpret_cast<std::byte const*>(l.data()), reinterpret_cast<std::byte*>(got.data()), 50);
        for (std::size_t i = 0; i < 50; ++i) {
            auto const a = l[i], b = r[i];
            bool const left_wins = op == operation::minloc ? a.value < b.value : a.value > b.value;
            bool const tie = a.value == b.value;
            auto const& e = op == operation::replace || left_wins || (tie && a.index < b.index) ? a : b;
            EXPECT_EQ(got[i].value, e.value) << mpt::facts(k).name;
            EXPECT_EQ(got[i].index, e.index) << mpt::facts(k).name;
            std::size_t const end = offsetof(pair, index) + sizeof(Index);
            EXPECT_TRUE(end == sizeof(pair) || reinterpret_cast<unsigned char const*>(&got[i])[end] == 0x22)
                << "a gap was written to";
        }
    }
}

TEST(datatype_operation, of_pairs_takes_the_lower_index_of_equal_values_and_leaves_gaps_alone) {
    seeds const s{20};
    for (unsigned seed = s.first; seed != s.first + s.count; ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        dice d{seed};
        best_of_pairs<float, int>(element_kind::float_int, d);
        best_of_pairs<double, int>(element_kind::double_int, d);
        best_of_pairs<long, int>(element_kind::long_int, d);
        best_of_pairs<int, int>(element_kind::int_int, d);
        best_of_pairs<short, int>(element_kind::short_int, d);
        best_of_pairs<long double, int>(element_kind::long_double_int, d);
        best_of_pairs<float, float>(element_kind::two_real, d);
        best_of_pairs<double, double>(element_kind::two_double_precision, d);
        best_of_pairs<std::int32_t, std::int32_t>(element_kind::two_integer, d);
    }
}

#if defined(__SIZEOF_FLOAT128__) && defined(__FLT16_MANT_DIG__)
TEST(datatype_operation, of_the_short_and_the_wide_reals) {
    __extension__ using half = _Float16;
    __extension__ using quad = __float128;
    half const l{1.5};
    half r{2.25};
    mpt::find_kernel(operation::prod, element_kind::real2)(reinterpret_cast<std::byte const*>(&l),
                                                           reinterpret_cast<std::byte*>(&r), 1);
    EXPECT_EQ(static_cast<float>(r), 3.375F);
    quad const x = quad{1} / 3;
    quad y = 2;
    mpt::find_kernel(operation::sum, element_kind::real16)(reinterpret_cast<std::byte const*>(&x),
                                                           reinterpret_cast<std::byte*>(&y), 1);
    EXPECT_TRUE(y == x + 2);
}
#endif

} // namespace
