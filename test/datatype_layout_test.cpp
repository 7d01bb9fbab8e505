#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/datatype/layout.hpp>

#include "support/typemap.hpp"

namespace {
using mpt::datatype;
using mpt::element_kind;
using test::numbers;
using form = mpt::detail::step::form;

auto const int_ = datatype::named(element_kind::c_int);
auto const char_ = datatype::named(element_kind::c_char);
auto const double_ = datatype::named(element_kind::c_double);

TEST(layout, of_a_million_blocks_that_are_regular_is_one_step) {
    auto const t = datatype::vector(1000000, 1, 2, double_);
    EXPECT_EQ(t.layout().shape, form::strided);
    EXPECT_EQ(t.layout().count, 1000000);
    EXPECT_EQ(t.layout().stride, 16);
    EXPECT_EQ(t.layout().length, 8);
    auto const plane = datatype::hvector(1000000, 1, 1 << 30, t);
    EXPECT_EQ(plane.layout().shape, form::loop);
    EXPECT_EQ(plane.layout().child, &t.layout());
}

TEST(layout, merges_blocks_that_touch_in_their_order_only) {
    EXPECT_EQ(datatype::indexed(numbers{2, 3, 1}, numbers{4, 6, 9}, int_).layout().shape, form::run);
    EXPECT_EQ(datatype::indexed(numbers{1, 1, 1}, numbers{3, 2, 0}, int_).layout().shape, form::blocks);
    EXPECT_EQ(datatype::indexed(numbers{1, 1, 1}, numbers{2, 1, 0}, int_).layout().shape, form::strided);
    auto const t = datatype::structure(numbers{3, 1, 1}, numbers{0, 12, 24}, std::array{int_, int_, double_});
    EXPECT_EQ(t.layout().shape, form::blocks);
    EXPECT_EQ(t.layout().count, 2);
}

TEST(layout, sees_that_an_irregular_constructor_was_called_regularly) {
    numbers at(1000);
    std::iota(at.begin(), at.end(), 0);
    for (auto& a : at) a *= 4;
    EXPECT_EQ(datatype::indexed_block(1, at, int_).layout().shape, form::strided);
    at[500] += 1;
    auto const& s = datatype::indexed_block(2, at, char_);
    EXPECT_EQ(s.layout().shape, form::blocks);
    EXPECT_EQ(s.layout().length, 2) << "blocks of one length are found by division";
}

TEST(layout, of_nested_loops_that_go_on_is_one_loop) {
    auto const row = datatype::resized(datatype::vector(4, 1, 2, int_), 0, 32);
    auto const t = datatype::contiguous(5, row);
    EXPECT_EQ(t.layout().shape, form::strided);
    EXPECT_EQ(t.layout().count, 20);
    auto const pair = datatype::resized(datatype::indexed(numbers{1, 2}, numbers{0, 3}, int_), 0, 32);
    EXPECT_EQ(datatype::contiguous(3, datatype::contiguous(4, pair)).layout().count, 12);
}

TEST(layout, of_different_parts_is_a_sequence_of_steps) {
    auto const many = datatype::vector(100, 1, 2, int_);
    auto const t = datatype::structure(numbers{1, 1, 1}, numbers{0, 8, 2000}, std::array{double_, many, double_});
    ASSERT_EQ(t.layout().shape, form::sequence);
    EXPECT_EQ(t.layout().count, 3);
    EXPECT_EQ(t.layout().child[1].shape, form::strided);
    EXPECT_EQ(t.layout().blocks[2].start, 408);
}

TEST(layout, of_random_trees_has_every_form) {
    test::random_types random{test::seed()};
    std::array<int, 5> found{};
    for (int i = 0; i < 3000; ++i) ++found[static_cast<std::size_t>(random.tree(4).type.layout().shape)];
    for (auto const n : found) EXPECT_GT(n, 30) << "the tests of datatype/typed go through these trees";
}

TEST(layout, is_built_once_whoever_asks) {
    for (int i = 0; i < 50; ++i) {
        numbers at(300);
        std::iota(at.begin(), at.end(), 0);
        for (auto& a : at) a *= a;
        auto const t = datatype::indexed_block(1, at, int_);
        EXPECT_EQ(t.built_layout(), nullptr);
        std::vector<mpt::detail::step const*> seen(4);
        std::vector<std::thread> threads;
        for (auto& s : seen) threads.emplace_back([&s, &t] { s = &t.layout(); });
        for (auto& thread : threads) thread.join();
        for (auto const* s : seen) EXPECT_EQ(s, seen[0]);
        EXPECT_EQ(t.built_layout(), seen[0]);
    }
}

TEST(layout, moves_blocks_of_every_length) {
    for (std::int64_t length = 1; length <= 100; ++length) {
        auto const t = datatype::hvector(9, length, length + 3, char_);
        std::vector<std::byte> from(2000), packed(static_cast<std::size_t>(t.size())), to(2000);
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
        mpt::detail::gather(t.layout(), reinterpret_cast<std::uintptr_t>(from.data()), 0, packed);
        mpt::detail::scatter(t.layout(), reinterpret_cast<std::uintptr_t>(to.data()), 0, packed);
        for (std::int64_t i = 0; i < 2000; ++i) {
            auto const inside = i < 9 * (length + 3) && i % (length + 3) < length;
            auto const k = static_cast<std::size_t>(i);
            ASSERT_EQ(to[k], inside ? from[k] : std::byte{0}) << "length " << length << " at " << i;
        }
    }
}

/// Bytes of one element, and how far the next one is.
struct shape {
    datatype type;
    numbers bytes;
};

void expect_moves(shape const& s, std::int64_t count) {
    auto const all = datatype::contiguous(count, s.type);
    auto const room = static_cast<std::size_t>(count * s.type.extent());
    std::vector<std::byte> from(room), packed(static_cast<std::size_t>(all.size())), wanted, to(room), back(room);
    for (std::size_t i = 0; i < room; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256 + 1);
    for (std::int64_t i = 0; i < count; ++i)
        for (auto const b : s.bytes) {
            auto const at = static_cast<std::size_t>(i * s.type.extent() + b);
            wanted.push_back(from[at]);
            back[at] = from[at];
        }
    mpt::detail::gather(all.layout(), reinterpret_cast<std::uintptr_t>(from.data()), 0, packed);
    ASSERT_EQ(packed, wanted) << count;
    mpt::detail::scatter(all.layout(), reinterpret_cast<std::uintptr_t>(to.data()), 0, packed);
    ASSERT_EQ(to, back) << count;
}

TEST(layout, moves_blocks_of_every_length_at_irregular_places) {
    numbers const factors{0, 1, 2, 4, 5, 7, 8, 9, 11};
    for (std::int64_t length = 1; length <= 100; ++length) {
        numbers places, bytes;
        for (auto const f : factors) {
            places.push_back(f * (length + 2));
            for (std::int64_t b = 0; b < length; ++b) bytes.push_back(places.back() + b);
        }
        auto const t = datatype::resized(datatype::hindexed_block(length, places, char_), 0, 12 * (length + 2));
        EXPECT_EQ(t.layout().shape, form::blocks);
        for (std::int64_t const count : {1, 2}) expect_moves({t, bytes}, count);
    }
}

TEST(layout, moves_records_and_rows_of_every_number) {
    auto const record = datatype::structure(numbers{1, 1, 1}, numbers{0, 8, 16}, std::array{int_, double_, char_});
    auto const row = datatype::resized(datatype::hvector(3, 2, 5, char_), 0, 20);
    shape const records{record, {0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16}}, rows{row, {0, 1, 5, 6, 10, 11}};
    EXPECT_EQ(datatype::contiguous(3, record).layout().child->shape, form::blocks);
    EXPECT_EQ(datatype::contiguous(3, row).layout().child->shape, form::strided);
    for (std::int64_t const count : {1, 2, 3, 4, 5, 7, 63, 64, 65, 66, 255, 256, 257, 259, 600})
        for (auto const& s : {records, rows}) expect_moves(s, count);
}

} // namespace
