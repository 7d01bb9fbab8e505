#include <deque>
#include <string>

#include <gtest/gtest.h>
#include <mpt/coll/fold.hpp>

#include "support/matrices.hpp"

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;
using coll::fold_order;

/// An element that remembers how it came about.
struct word {
    char text[120]{};
};
std::string folded(fold_order const& order, int n) {
    std::vector<word> all(static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r) all[static_cast<std::size_t>(r)].text[0] = static_cast<char>('0' + r);
    auto const op =
        coll::operand::array(sizeof(word), false, nullptr, [](void*, std::byte const* l, std::byte* r, std::size_t) {
            auto const& left = *reinterpret_cast<word const*>(l);
            auto& right = *reinterpret_cast<word*>(r);
            auto const both = std::string{"("} + left.text + right.text + ")";
            both.copy(right.text, both.size());
        });
    word sum;
    coll::detail::fold(
        op, order, 1, [&](std::int32_t r) { return reinterpret_cast<std::byte const*>(&all[static_cast<std::size_t>(r)]); },
        reinterpret_cast<std::byte*>(&sum));
    return sum.text;
}

TEST(coll_fold, combines_as_allreduce_does_by_messages) {
    EXPECT_EQ(folded(fold_order::of_allreduce(2), 2), "(01)");
    EXPECT_EQ(folded(fold_order::of_allreduce(3), 3), "((01)2)");
    EXPECT_EQ(folded(fold_order::of_allreduce(4), 4), "((01)(23))");
    EXPECT_EQ(folded(fold_order::of_allreduce(5), 5), "(((01)2)(34))");
    EXPECT_EQ(folded(fold_order::of_allreduce(7), 7), "(((01)(23))((45)6))");
    EXPECT_EQ(folded(fold_order::of_allreduce(8), 8), "(((01)(23))((45)(67)))");
}
TEST(coll_fold, combines_as_reduce_does_by_messages) {
    EXPECT_EQ(folded(fold_order::of_reduce(5, 0), 5), "(((01)(23))4)");
    EXPECT_EQ(folded(fold_order::of_reduce(5, 3), 5), "(((34)(01))2)");
    EXPECT_EQ(folded(fold_order::of_reduce(6, 0), 6), "(((01)(23))(45))");
}
TEST(coll_fold, combines_as_scan_does_by_messages) {
    EXPECT_EQ(folded(fold_order::of_scan(1), 1), "0");
    EXPECT_EQ(folded(fold_order::of_scan(2), 2), "(01)");
    EXPECT_EQ(folded(fold_order::of_scan(3), 3), "(0(12))");
    EXPECT_EQ(folded(fold_order::of_scan(5), 5), "(0((12)(34)))");
    EXPECT_EQ(folded(fold_order::of_scan(6), 6), "((01)((23)(45)))");
    EXPECT_EQ(folded(fold_order::of_scan(7), 7), "((0(12))((34)(56)))");
    EXPECT_EQ(folded(fold_order::of_scan(8), 8), "(((01)(23))((45)(67)))");
}

TEST(coll_fold, elements_of_any_layout_and_number_keep_rank_order) {
    seeds const s{60};
    for (unsigned seed = s.first; seed != s.first + s.count; ++seed) {
        dice d{seed};
        auto const ranks = static_cast<int>(1 + d.below(20));
        auto const n = d.one_of<std::size_t>({0, 1, 2, 127, 128, 129, 1000});
        bool const commutes = d.coin();
        std::deque<std::vector<matrix>> all;
        for (int r = 0; r < ranks; ++r) {
            auto& v = all.emplace_back(n);
            for (std::size_t i = 0; i < n; ++i) v[i] = element_of(seed, r, i);
        }
        auto const at = [&](std::int32_t r) {
            return reinterpret_cast<std::byte const*>(all[static_cast<std::size_t>(r)].data());
        };
        matrices sum{n, d};
        auto const order = d.coin() ? fold_order::of_allreduce(ranks) : fold_order::of_reduce(ranks, 0);
        coll::detail::fold(sum.either(commutes), order, n, at, sum.origin());
        std::vector<matrix> packed(n);
        coll::detail::fold_packed(sum.either(commutes), order, n, at, reinterpret_cast<std::byte*>(packed.data()));
        for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(sum.get(i), combined(commutes, seed, 0, ranks - 1, i)) << "MPT_SEED=" << seed;
            ASSERT_EQ(packed[i], sum.get(i)) << "MPT_SEED=" << seed;
        }
    }
}

TEST(coll_fold, elements_larger_than_a_block_keep_whole) {
    struct large {
        long first;
        char rest[5000];
        long last;
    };
    std::vector<large> all(6);
    for (int r = 0; r < 3; ++r)
        all[static_cast<std::size_t>(2 * r)] = all[static_cast<std::size_t>(2 * r + 1)] = {r, {}, 10 * r};
    auto const op =
        coll::operand::array(sizeof(large), true, nullptr, [](void*, std::byte const* l, std::byte* r, std::size_t n) {
            for (std::size_t i = 0; i < n; ++i) {
                auto const& left = reinterpret_cast<large const*>(l)[i];
                auto& right = reinterpret_cast<large*>(r)[i];
                right.first += left.first, right.last += left.last;
            }
        });
    std::vector<large> sum(2);
    coll::detail::fold(
        op, fold_order::of_allreduce(3), 2,
        [&](std::int32_t r) { return reinterpret_cast<std::byte const*>(&all[static_cast<std::size_t>(2 * r)]); },
        reinterpret_cast<std::byte*>(sum.data()));
    for (auto const& x : sum) EXPECT_TRUE(x.first == 3 && x.last == 30);
}

/// Into memory of its own where the operation can, and by way of a copy where it cannot; a rank's own may be the result.
TEST(coll_fold, an_operation_that_merges_gives_what_one_that_combines_gives) {
    using number = std::uint32_t;
    static int merged = 0;
    auto const combine = [](void*, std::byte const* l, std::byte* r, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) reinterpret_cast<number*>(r)[i] += 3 * reinterpret_cast<number const*>(l)[i];
    };
    auto const merge = [](void*, std::byte const* l, std::byte const* r, std::byte* to, std::size_t n) {
        ++merged;
        for (std::size_t i = 0; i < n; ++i)
            reinterpret_cast<number*>(to)[i] =
                reinterpret_cast<number const*>(r)[i] + 3 * reinterpret_cast<number const*>(l)[i];
    };
    auto const by_copy = coll::operand::array(sizeof(number), false, nullptr, combine);
    auto const apart = coll::operand::array(sizeof(number), false, nullptr, combine, merge);
    for (int ranks = 2; ranks <= 9; ++ranks)
        for (std::size_t n : {1u, 511u, 512u, 513u, 3000u}) {
            std::vector<std::vector<number>> all(static_cast<std::size_t>(ranks), std::vector<number>(n));
            for (auto& v : all)
                for (auto& x : v) x = static_cast<number>(&x - v.data()) * 17 + static_cast<number>(&v - all.data());
            auto const at = [&](std::int32_t r) {
                return reinterpret_cast<std::byte const*>(all[static_cast<std::size_t>(r)].data());
            };
            auto const sum = [&](coll::operand const& op, std::vector<number>& into) {
                coll::detail::fold(op, fold_order::of_allreduce(ranks), n, at, reinterpret_cast<std::byte*>(into.data()));
            };
            std::vector<number> one(n), other(n);
            sum(by_copy, one), sum(apart, other);
            ASSERT_EQ(one, other) << ranks << " ranks, " << n;
            if (ranks > 2) continue;
            sum(apart, all[1]);
            ASSERT_EQ(one, all[1]) << "in place, " << n;
        }
    EXPECT_GT(merged, 0);
}

} // namespace
