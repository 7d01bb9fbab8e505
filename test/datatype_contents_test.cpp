#include <vector>

#include <gtest/gtest.h>
#include <mpt/datatype/typed.hpp>

#include "support/typemap.hpp"

namespace {
using mpt::combiner;
using mpt::count_form;
using mpt::datatype;
using mpt::datatype_contents;
using mpt::element_kind;
using test::numbers;

/// Takes what MPI_Type_get_contents tells, argument by argument.
class reader {
    datatype_contents const& c_;
    std::size_t integer_ = 0, address_ = 0, count_ = 0;

public:
    explicit reader(datatype_contents const& c) : c_{c} {}
    std::int64_t integer() { return c_.integers.at(integer_++); }
    std::int64_t count() { return c_.form == count_form::large ? c_.counts.at(count_++) : integer(); }
    std::int64_t address() { return c_.form == count_form::large ? c_.counts.at(count_++) : c_.addresses.at(address_++); }
    numbers integers(std::int64_t n) { return list(n, &reader::integer); }
    numbers counts(std::int64_t n) { return list(n, &reader::count); }
    numbers addresses(std::int64_t n) { return list(n, &reader::address); }
    bool at_end() const {
        return integer_ == c_.integers.size() && address_ == c_.addresses.size() && count_ == c_.counts.size();
    }

private:
    numbers list(std::int64_t n, std::int64_t (reader::*next)()) {
        numbers v;
        for (std::int64_t i = 0; i < n; ++i) v.push_back((this->*next)());
        return v;
    }
};

datatype rebuilt(datatype const& t);

datatype rebuilt_array(datatype_contents const& c, reader& r, datatype const& old) {
    using mpt::array_order;
    if (c.made_by == combiner::subarray) {
        auto const d = r.integer();
        auto const sizes = r.counts(d), part = r.counts(d), start = r.counts(d);
        return datatype::subarray(sizes, part, start, static_cast<array_order>(r.integer()), old, c.form);
    }
    auto const all = r.integer(), rank = r.integer(), d = r.integer();
    auto const sizes = r.counts(d);
    std::vector<mpt::distribution> how;
    for (auto const h : r.integers(d)) how.push_back(static_cast<mpt::distribution>(h));
    auto const argument = r.integers(d), grid = r.integers(d);
    return datatype::darray(all, rank, sizes, how, argument, grid, static_cast<array_order>(r.integer()), old, c.form);
}

datatype rebuilt_blocks(datatype_contents const& c, reader& r, datatype const& old) {
    auto const n = r.count();
    if (c.made_by == combiner::indexed) {
        auto const lengths = r.counts(n), at = r.counts(n);
        return datatype::indexed(lengths, at, old, c.form);
    }
    if (c.made_by == combiner::hindexed) {
        auto const lengths = r.counts(n), at = r.addresses(n);
        return datatype::hindexed(lengths, at, old, c.form);
    }
    auto const length = r.count();
    if (c.made_by == combiner::indexed_block) return datatype::indexed_block(length, r.counts(n), old, c.form);
    if (c.made_by == combiner::hindexed_block) return datatype::hindexed_block(length, r.addresses(n), old, c.form);
    auto const stride = c.made_by == combiner::vector ? r.count() : r.address();
    return c.made_by == combiner::vector ? datatype::vector(n, length, stride, old, c.form)
                                         : datatype::hvector(n, length, stride, old, c.form);
}

datatype rebuilt_struct(datatype_contents const& c, reader& r) {
    auto const n = r.count();
    auto const lengths = r.counts(n), at = r.addresses(n);
    std::vector<datatype> types;
    for (auto const& t : c.types) types.push_back(rebuilt(t));
    return datatype::structure(lengths, at, types, c.form);
}

datatype rebuilt_other(datatype_contents const& c, reader& r) {
    auto const old = rebuilt(c.types.at(0));
    switch (c.made_by) {
    case combiner::dup: return datatype::dup(old);
    case combiner::contiguous: return datatype::contiguous(r.count(), old, c.form);
    case combiner::resized: {
        auto const lower = r.address(), extent = r.address();
        return datatype::resized(old, lower, extent, c.form);
    }
    case combiner::subarray:
    case combiner::darray: return rebuilt_array(c, r, old);
    default: return rebuilt_blocks(c, r, old);
    }
}

datatype rebuilt(datatype const& t) {
    auto const& c = t.contents();
    if (c.made_by == combiner::named) return t;
    reader r{c};
    auto const result = c.made_by == combiner::structure ? rebuilt_struct(c, r) : rebuilt_other(c, r);
    EXPECT_TRUE(r.at_end()) << "combiner " << static_cast<int>(c.made_by);
    return result;
}

void same(datatype const& a, datatype const& b) {
    EXPECT_EQ(a.size(), b.size());
    EXPECT_EQ(a.lower_bound(), b.lower_bound());
    EXPECT_EQ(a.extent(), b.extent());
    EXPECT_EQ(a.true_lower_bound(), b.true_lower_bound());
    EXPECT_EQ(a.true_extent(), b.true_extent());
    EXPECT_TRUE(mpt::same_signature(a, 1, b, 1));
}

TEST(contents, rebuild_random_types) {
    test::random_types random{test::seed()};
    for (int i = 0; i < 2000; ++i) {
        auto const s = random.tree(static_cast<int>(random.number(1, 4)));
        SCOPED_TRACE(s.name);
        auto const again = rebuilt(s.type);
        same(s.type, again);
        std::vector<std::byte> memory(static_cast<std::size_t>(s.type.true_extent()));
        for (std::size_t k = 0; k < memory.size(); ++k) memory[k] = static_cast<std::byte>(random.number(0, 255));
        auto const buffer =
            reinterpret_cast<std::uintptr_t>(memory.data()) - static_cast<std::uintptr_t>(s.type.true_lower_bound());
        std::vector<std::byte> one(static_cast<std::size_t>(s.type.size())), two(one.size());
        mpt::typed_source{reinterpret_cast<void*>(buffer), 1, s.type}.read(0, one);
        mpt::typed_source{reinterpret_cast<void*>(buffer), 1, again}.read(0, two);
        ASSERT_EQ(one, two);
        if (HasFailure()) return;
    }
}

TEST(contents, of_a_small_call_are_integers_and_addresses) {
    auto const t = datatype::hvector(3, 2, 40, datatype::named(element_kind::c_int), count_form::small);
    auto const& c = t.contents();
    EXPECT_EQ(c.made_by, combiner::hvector);
    EXPECT_EQ(c.integers, (numbers{3, 2}));
    EXPECT_EQ(c.addresses, numbers{40});
    EXPECT_TRUE(c.counts.empty());
    ASSERT_EQ(c.types.size(), 1u);
    EXPECT_EQ(c.types[0], datatype::named(element_kind::c_int));
}

TEST(contents, of_a_large_call_are_counts) {
    auto const int_ = datatype::named(element_kind::c_int);
    auto const h = datatype::hvector(3, 2, 40, int_, count_form::large);
    EXPECT_EQ(h.contents().counts, (numbers{3, 2, 40}));
    EXPECT_TRUE(h.contents().integers.empty() && h.contents().addresses.empty());
    auto const s =
        datatype::subarray(numbers{4, 5}, numbers{2, 3}, numbers{1, 0}, mpt::array_order::fortran, int_, count_form::large);
    EXPECT_EQ(s.contents().integers, (numbers{2, 15}));
    EXPECT_EQ(s.contents().counts, (numbers{4, 5, 2, 3, 1, 0}));
    auto const small =
        datatype::subarray(numbers{4, 5}, numbers{2, 3}, numbers{1, 0}, mpt::array_order::c, int_, count_form::small);
    EXPECT_EQ(small.contents().integers, (numbers{2, 4, 5, 2, 3, 1, 0, 12}));
}

TEST(contents, of_a_named_type_say_that_it_is_named) {
    auto const& c = datatype::named(element_kind::double_int).contents();
    EXPECT_EQ(c.made_by, combiner::named);
    EXPECT_TRUE(c.types.empty());
}

TEST(contents, of_a_fortran_type_by_precision_tell_what_was_asked) {
    auto const t = datatype::selected(element_kind::real8, combiner::f90_real, numbers{12, 100});
    EXPECT_EQ(t.contents().made_by, combiner::f90_real);
    EXPECT_EQ(t.contents().integers, (numbers{12, 100}));
    EXPECT_EQ(t.element(), element_kind::real8);
    EXPECT_EQ(t.extent(), 8);
}

} // namespace
