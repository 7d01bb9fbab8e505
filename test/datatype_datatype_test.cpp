#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>
#include <optional>

#include <gtest/gtest.h>
#include <mpt/core/error.hpp>
#include <mpt/datatype/datatype.hpp>

#include "support/typemap.hpp"

namespace {
using mpt::datatype;
using mpt::element_kind;
using test::numbers;
using test::seed;

auto const int_ = datatype::named(element_kind::c_int);
auto const char_ = datatype::named(element_kind::c_char);
auto const double_ = datatype::named(element_kind::c_double);

/// The code of the error that a call throws; nothing: it throws none.
template <class F> std::optional<mpt::errc> thrown(F call) {
    try {
        call();
    } catch (mpt::error const& e) { return e.code(); }
    return std::nullopt;
}

TEST(datatype, of_a_random_tree_has_the_sizes_and_bounds_of_its_typemap) {
    test::random_types random{seed()};
    for (int i = 0; i < 4000; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 4)));
        SCOPED_TRACE(s.name);
        ASSERT_EQ(s.type.size(), s.map.size());
        ASSERT_EQ(s.type.elements(), std::ssize(s.map.basics()));
        ASSERT_EQ(s.type.lower_bound(), s.map.lower());
        ASSERT_EQ(s.type.upper_bound(), s.map.upper());
        ASSERT_EQ(s.type.extent(), s.map.extent());
        ASSERT_EQ(s.type.true_lower_bound(), s.map.true_lower());
        ASSERT_EQ(s.type.true_extent(), s.map.true_upper() - s.map.true_lower());
        std::int64_t external = 0;
        for (auto const& b : s.map.basics()) external += mpt::facts(b.kind).external;
        ASSERT_EQ(s.type.external_size(), external);
    }
}

/// What is computed for many blocks of one type at once is what a struct of as many types makes of them one by one.
TEST(datatype, of_many_blocks_is_as_a_struct_of_them) {
    test::random_types random{seed()};
    int in_one = 0;
    for (int i = 0; i < 4000; ++i) {
        auto const old = random.tree(static_cast<int>(random.number(0, 2)));
        auto const n = random.number(0, 12);
        numbers lengths, places;
        auto at = random.number(-40, 40);
        bool const is_dense = random.number(0, 1) != 0;
        for (int k = 0; k < n; ++k) {
            lengths.push_back(random.number(0, 3)), places.push_back(at);
            at += is_dense ? lengths.back() * old.type.extent() : random.number(-60, 60);
        }
        std::vector<datatype> const types(static_cast<std::size_t>(n), old.type);
        auto const a = datatype::hindexed(lengths, places, old.type), b = datatype::structure(lengths, places, types);
        SCOPED_TRACE(old.name + (is_dense ? ", dense" : ""));
        ASSERT_EQ(a.size(), b.size());
        ASSERT_EQ(a.elements(), b.elements());
        ASSERT_EQ(a.external_size(), b.external_size());
        ASSERT_EQ(a.lower_bound(), b.lower_bound());
        ASSERT_EQ(a.upper_bound(), b.upper_bound());
        ASSERT_EQ(a.true_lower_bound(), b.true_lower_bound());
        ASSERT_EQ(a.true_extent(), b.true_extent());
        ASSERT_EQ(a.signature(3), b.signature(3));
        ASSERT_EQ(a.element(), b.element());
        ASSERT_EQ(a.contiguous_run(2), b.contiguous_run(2));
        in_one += n > 4 && a.elements() > 0 && a.contiguous_run(1).has_value();
    }
    EXPECT_GT(in_one, 100);
}
TEST(datatype, of_many_blocks_too_large_for_64_bits_is_an_error) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    for (auto const& [lengths, places] : {std::pair{numbers{1, 1, most, 1, 1}, numbers{0, 8, 16, 24, 32}},
                                          {numbers{1, 1, 1, 1, 1}, numbers{0, 8, most - 3, 24, 32}},
                                          {numbers{most / 8, most / 8, most / 8, most / 8, most / 8}, numbers{0, 0, 0, 0, 0}},
                                          {numbers{1, 1, 1, 1, 1}, numbers{-most, 8, 16, 24, most - 8}}})
        EXPECT_EQ(thrown([&] { datatype::hindexed(lengths, places, double_); }), mpt::errc::argument);
}

TEST(datatype, is_one_run_exactly_where_packed_bytes_lie_side_by_side) {
    test::random_types random{seed()};
    int found = 0;
    for (int i = 0; i < 4000; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 3)));
        auto const count = random.number(0, 3);
        auto const bytes = s.map.bytes(count);
        auto gap = [](std::int64_t a, std::int64_t b) { return b != a + 1; };
        auto const whole = std::adjacent_find(bytes.begin(), bytes.end(), gap) == bytes.end();
        ASSERT_EQ(s.type.is_contiguous(count), whole) << s.name << " times " << count;
        if (!whole) continue;
        ++found;
        auto const expected = bytes.empty() ? mpt::data_run{} : mpt::data_run{bytes.front(), std::ssize(bytes)};
        ASSERT_EQ(*s.type.contiguous_run(count), expected) << s.name << " times " << count;
    }
    EXPECT_GT(found, 500);
}

TEST(datatype, names_its_element_where_it_is_an_array_of_it) {
    test::random_types random{seed()};
    int arrays = 0;
    for (int i = 0; i < 4000; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 2)));
        auto const& u = s.map.units;
        auto expected = u.empty() ? element_kind::mixed : u[0].kind;
        for (std::size_t k = 1; k < u.size(); ++k)
            if (u[k].kind != u[0].kind || u[k].at != u[k - 1].at + mpt::facts(u[0].kind).extent) expected = element_kind::mixed;
        ASSERT_EQ(s.type.element(), expected) << s.name;
        arrays += u.size() > 1 && expected != element_kind::mixed;
    }
    EXPECT_GT(arrays, 50);
}

TEST(datatype, counts_the_elements_in_any_number_of_bytes) {
    test::random_types random{seed()};
    for (int i = 0; i < 1000; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 3)));
        auto const all = s.map.basics();
        std::int64_t bytes = 0, elements = 0;
        for (int round = 0; round < 2; ++round)
            for (auto const& b : all) {
                for (int k = 0; k < mpt::facts(b.kind).size; ++k)
                    ASSERT_EQ(s.type.elements_in(bytes + k), (mpt::element_count{elements, k}))
                        << s.name << " in " << bytes + k;
                bytes += mpt::facts(b.kind).size;
                ++elements;
            }
    }
}

TEST(datatype, has_the_signature_of_its_sequence_of_elements_and_no_other) {
    test::random_types random{seed()};
    std::map<std::vector<element_kind>, mpt::type_signature> known;
    std::map<std::pair<std::int64_t, std::uint64_t>, std::vector<element_kind>> back;
    for (int i = 0; i < 5000; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(0, 3)));
        auto const count = random.number(0, 3);
        std::vector<element_kind> sequence;
        for (int k = 0; k < count; ++k)
            for (auto const& b : s.map.basics()) sequence.push_back(b.kind);
        auto const signature = s.type.signature(count);
        ASSERT_EQ(known.emplace(sequence, signature).first->second, signature) << s.name;
        ASSERT_EQ(back.emplace(std::pair{signature.elements, signature.hash}, sequence).first->second, sequence) << s.name;
    }
}

TEST(datatype, that_is_a_struct_is_padded_as_the_compiler_pads_it) {
    struct both {
        double d;
        char c;
    };
    auto const t =
        datatype::structure(numbers{1, 1}, numbers{offsetof(both, d), offsetof(both, c)}, std::array{double_, char_});
    EXPECT_EQ(t.size(), 9);
    EXPECT_EQ(t.extent(), static_cast<std::int64_t>(sizeof(both)));
    EXPECT_EQ(t.true_extent(), 9);
}

TEST(datatype, keeps_the_bounds_of_what_was_resized_inside) {
    // the standard's example of section 5.1.6: {(lb, -3), (int, 0), (ub, 6)}, twice
    auto const one = datatype::resized(int_, -3, 9);
    auto const two = datatype::contiguous(2, one);
    EXPECT_EQ(two.lower_bound(), -3);
    EXPECT_EQ(two.extent(), 18);
    EXPECT_EQ(two.true_lower_bound(), 0);
    EXPECT_EQ(two.true_extent(), 13);
    auto const beside = datatype::structure(numbers{1, 1}, numbers{0, 100}, std::array{one, int_});
    EXPECT_EQ(beside.lower_bound(), -3);
    EXPECT_EQ(beside.upper_bound(), 6);
    EXPECT_EQ(beside.true_extent(), 104);
}

TEST(datatype, without_elements_has_no_extent_unless_it_was_given_one) {
    auto const none = datatype::contiguous(0, int_);
    EXPECT_EQ(none.size(), 0);
    EXPECT_EQ(none.extent(), 0);
    EXPECT_TRUE(none.is_contiguous(5));
    auto const given = datatype::resized(none, 2, 16);
    EXPECT_EQ(datatype::contiguous(3, given).extent(), 48);
    EXPECT_EQ(datatype::contiguous(3, given).true_extent(), 0);
}

TEST(datatype, too_large_for_64_bits_is_an_error) {
    auto const huge = datatype::contiguous(std::int64_t{1} << 61, char_);
    EXPECT_EQ(datatype::contiguous(3, huge).size(), 3 * (std::int64_t{1} << 61));
    EXPECT_EQ(thrown([&] { datatype::contiguous(4, huge); }), mpt::errc::argument);
    EXPECT_EQ(thrown([&] { datatype::vector(2, 1, std::int64_t{1} << 62, double_); }), mpt::errc::argument);
    EXPECT_EQ(thrown([&] { datatype::hindexed(numbers{1, 1}, numbers{INT64_MAX, 0}, int_); }), mpt::errc::argument);
    EXPECT_EQ(thrown([&] { datatype::hindexed(numbers{1, 1}, numbers{INT64_MAX - 8, INT64_MIN}, int_); }), mpt::errc::argument);
    EXPECT_EQ(thrown([&] { datatype::resized(int_, INT64_MAX, 1); }), mpt::errc::argument);
    EXPECT_EQ(thrown([&] {
                  datatype::subarray(numbers{INT64_MAX, 2}, numbers{1, 1}, numbers{0, 0}, mpt::array_order::c, int_);
              }),
              mpt::errc::argument);
}

TEST(datatype, refuses_arguments_that_the_standard_does_not_allow) {
    using enum mpt::array_order;
    auto const refused = [](auto call) { return thrown(call) == mpt::errc::argument; };
    EXPECT_TRUE(refused([] { datatype::contiguous(-1, int_); }));
    EXPECT_TRUE(refused([] { datatype::contiguous(1, datatype{}); }));
    EXPECT_TRUE(refused([] { datatype::vector(1, -1, 1, int_); }));
    EXPECT_TRUE(refused([] { datatype::indexed(numbers{1, -2}, numbers{0, 0}, int_); }));
    EXPECT_TRUE(refused([] { datatype::indexed(numbers{1}, numbers{0, 0}, int_); }));
    EXPECT_TRUE(refused([] { datatype::structure(numbers{1}, numbers{0}, std::span<datatype const>{}); }));
    EXPECT_TRUE(refused([] { datatype::subarray(numbers{3}, numbers{2}, numbers{2}, c, int_); }));
    EXPECT_TRUE(refused([] { datatype::subarray(numbers{}, numbers{}, numbers{}, c, int_); }));
    auto const dealt = [](std::int64_t n, std::int64_t size, mpt::distribution how, std::int64_t argument, std::int64_t grid) {
        datatype::darray(n, 0, numbers{size}, std::array{how}, numbers{argument}, numbers{grid}, c, int_);
    };
    using enum mpt::distribution;
    EXPECT_FALSE(refused([&] { dealt(2, 5, block, 3, 2); }));
    EXPECT_TRUE(refused([&] { dealt(2, 5, block, 2, 2); })) << "two blocks of 2 do not hold 5";
    EXPECT_TRUE(refused([&] { dealt(3, 5, block, 3, 2); })) << "the grid has other processes";
    EXPECT_TRUE(refused([&] { dealt(2, 5, none, 19, 2); }));
    EXPECT_TRUE(refused([&] { dealt(2, 5, cyclic, 0, 2); }));
}

TEST(datatype, is_a_value_that_outlives_what_it_was_made_of) {
    datatype t;
    EXPECT_FALSE(t);
    {
        auto const row = datatype::vector(3, 1, 2, int_);
        t = datatype::contiguous(2, row);
    }
    EXPECT_TRUE(t);
    EXPECT_EQ(t.contents().types[0].size(), 12);
    auto const again = t;
    EXPECT_EQ(again, t);
    EXPECT_NE(datatype::dup(t), t);
    EXPECT_EQ(datatype::named(element_kind::c_int), int_);
}

TEST(datatype, of_a_value_and_an_index_is_the_named_pair_or_a_struct) {
    EXPECT_EQ(datatype::value_index(element_kind::c_double, element_kind::c_int), datatype::named(element_kind::double_int));
    auto const t = datatype::value_index(element_kind::c_char, element_kind::int64);
    EXPECT_EQ(t.size(), 9);
    EXPECT_EQ(t.extent(), 16);
    EXPECT_EQ(t.contents().made_by, mpt::combiner::value_index);
}

} // namespace
