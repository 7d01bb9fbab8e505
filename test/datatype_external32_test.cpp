#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/core/error.hpp>
#include <mpt/datatype/external32.hpp>

#include "support/typemap.hpp"

namespace {
using mpt::datatype;
using mpt::element_class;
using mpt::element_kind;
using test::numbers;

std::vector<int> bytes_of(std::vector<std::byte> const& v) {
    std::vector<int> n;
    for (auto const b : v) n.push_back(std::to_integer<int>(b));
    return n;
}
template <class T> std::vector<int> packed(T const& value, element_kind k) {
    auto const t = datatype::named(k);
    std::vector<std::byte> out(static_cast<std::size_t>(t.external_size()));
    mpt::pack_external32(&value, 1, t, out);
    return bytes_of(out);
}

TEST(external32, is_big_endian) {
    EXPECT_EQ(packed(0x01020304, element_kind::c_int), (std::vector{1, 2, 3, 4}));
    EXPECT_EQ(packed(short{-2}, element_kind::c_short), (std::vector{255, 254}));
    EXPECT_EQ(packed(1.5, element_kind::c_double), (std::vector{0x3f, 0xf8, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(packed(std::complex<float>{1, -2}, element_kind::c_float_complex),
              (std::vector{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}));
    EXPECT_EQ(packed('x', element_kind::c_char), std::vector<int>{'x'});
}

TEST(external32, has_smaller_longs_and_wide_characters) {
    EXPECT_EQ(packed(-3l, element_kind::c_long), (std::vector{255, 255, 255, 253}));
    EXPECT_EQ(packed(0xfffffffful, element_kind::c_unsigned_long), (std::vector{255, 255, 255, 255}));
    EXPECT_EQ(packed(L'\u20ac', element_kind::c_wchar), (std::vector{0x20, 0xac}));
    EXPECT_EQ(packed(7ll, element_kind::c_long_long), (std::vector{0, 0, 0, 0, 0, 0, 0, 7}));
}

TEST(external32, refuses_numbers_that_do_not_fit) {
    EXPECT_THROW(packed(0x80000000l, element_kind::c_long), mpt::error);
    EXPECT_THROW(packed(-0x80000001l, element_kind::c_long), mpt::error);
    EXPECT_THROW(packed(0x100000000ul, element_kind::c_unsigned_long), mpt::error);
    EXPECT_THROW(packed(L'\U0001f600', element_kind::c_wchar), mpt::error);
    EXPECT_EQ(packed(0x7fffffffl, element_kind::c_long), (std::vector{127, 255, 255, 255}));
    EXPECT_EQ(packed(-0x80000000l, element_kind::c_long), (std::vector{128, 0, 0, 0}));
}

TEST(external32, has_long_doubles_of_binary128) {
    EXPECT_EQ(packed(1.0l, element_kind::c_long_double), (std::vector{0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(packed(-1.5l, element_kind::c_long_double),
              (std::vector{0xbf, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(external32, refuses_a_buffer_that_is_too_small) {
    std::array<int, 3> v{};
    std::vector<std::byte> out(11);
    EXPECT_THROW(mpt::pack_external32(v.data(), 3, datatype::named(element_kind::c_int), out), mpt::error);
    EXPECT_THROW(mpt::unpack_external32(out, v.data(), 3, datatype::named(element_kind::c_int)), mpt::error);
}

/// A value that the outside holds, whatever the kind: small, with sign where there is one.
void fill(std::byte* at, element_kind k, test::random_types& random) {
    auto const v = random.number(-100, 100);
    if (k == element_kind::c_long || k == element_kind::c_unsigned_long) {
        long const l = k == element_kind::c_long ? v : std::abs(v);
        std::memcpy(at, &l, sizeof l);
    } else if (k == element_kind::c_wchar) {
        auto const w = static_cast<wchar_t>(std::abs(v));
        std::memcpy(at, &w, sizeof w);
    } else if (k == element_kind::c_long_double || k == element_kind::c_long_double_complex ||
               k == element_kind::cxx_long_double_complex) {
        std::array<long double, 2> const l{static_cast<long double>(v) / 7, static_cast<long double>(-v)};
        std::memcpy(at, l.data(), mpt::facts(k).size);
    } else
        for (int i = 0; i < mpt::facts(k).size; ++i) at[i] = static_cast<std::byte>(random.number(0, 255));
}

/// What an element's bytes mean: the padding of a long double (x87) is none of them.
std::vector<std::byte> meaning(std::byte const* at, element_kind k) {
    auto const size = static_cast<std::size_t>(mpt::facts(k).size);
    std::vector<std::byte> v(at, at + size);
    if (mpt::facts(k).external % 16 == 0 && __LDBL_MANT_DIG__ == 64 &&
        mpt::facts(k).name.find("LONG_DOUBLE") != std::string_view::npos)
        for (std::size_t i = 0; i < size; ++i)
            if (i % 16 >= 10) v[i] = {};
    return v;
}

TEST(external32, brings_random_types_back) {
    test::random_types random{test::seed()};
    for (int i = 0; i < 1500; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 3)));
        auto const count = random.number(0, 3);
        SCOPED_TRACE(s.name + " times " + std::to_string(count));
        auto const places = s.map.bytes(count);
        auto const [low, high] = std::minmax_element(places.begin(), places.end());
        auto const shift = places.empty() ? 0 : -*low;
        std::vector<std::byte> from(places.empty() ? 1 : static_cast<std::size_t>(*high + shift + 1)), to(from.size());
        auto const each = [&](auto what) {
            for (std::int64_t k = 0; k < count; ++k)
                for (auto const& b : s.map.basics()) what(static_cast<std::size_t>(b.at + k * s.map.extent() + shift), b.kind);
        };
        std::vector<int> taken(from.size());
        bool overlap = false;
        each([&](std::size_t at, element_kind k) {
            for (int b = 0; b < mpt::facts(k).size; ++b) overlap |= ++taken[at + static_cast<std::size_t>(b)] > 1;
        });
        if (overlap) continue;
        each([&](std::size_t at, element_kind k) { fill(&from[at], k, random); });
        std::vector<std::byte> out(static_cast<std::size_t>(count * s.type.external_size()) + 8, std::byte{0xee});
        auto const address = [&](std::vector<std::byte>& v) {
            return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(v.data()) + static_cast<std::uintptr_t>(shift));
        };
        mpt::pack_external32(address(from), count, s.type, out);
        for (std::size_t k = out.size() - 8; k < out.size(); ++k) ASSERT_EQ(out[k], std::byte{0xee});
        mpt::unpack_external32(out, address(to), count, s.type);
        each([&](std::size_t at, element_kind k) {
            ASSERT_EQ(meaning(&to[at], k), meaning(&from[at], k)) << mpt::facts(k).name;
            for (int b = 0; b < mpt::facts(k).size; ++b) to[at + static_cast<std::size_t>(b)] = {};
        });
        for (auto const b : to) ASSERT_EQ(b, std::byte{0}) << "written beside the elements";
    }
}

} // namespace
