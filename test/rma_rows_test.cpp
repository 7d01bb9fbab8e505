// Windows whose rows a rank takes to itself (rma/rows.hpp): no change is lost, whoever changes rows and elements meanwhile.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/rma/window.hpp>

#include "support/dice.hpp"
#include "support/wires.hpp"

namespace {
using namespace mpt::test;
using mpt::datatype;
using mpt::element_kind;
using mpt::operation;
using mpt::rank;
namespace rma = mpt::rma;

datatype const number = datatype::named(element_kind::int64);

template <class Stack> struct rma_rows : over<Stack> {
    using view = typename over<Stack>::view;
    using window = rma::window<Stack>;
    using numbers = std::vector<std::int64_t>;
    static constexpr bool is_mapped =
        Stack::route_type::facts[1].reads;            // else agents change everything, or who waits in their place
    static constexpr int length = 300, ints = length; // then as many numbers of 4 bytes, which begin in the middle of a word

    /// fn(world, window of 600 numbers of each rank) on n ranks, to whom fences are the sleeper's: so that rows can be
    /// taken however many CPUs there are.
    template <class F> static void on(int n, std::uint64_t patience, F&& fn, bool locked = false) {
        ::setenv("MPT_FENCES", "sleeper", 1);
        over<Stack>::job(n, [&](view world) {
            auto const& s = world.native();
            rma::wanted wanted{.size = 2 * length * sizeof(std::int64_t), .unit = 8};
            wanted.patience = patience, wanted.rows_locked = locked;
            auto const w = rma::make_window(*s.run, mpt::coll::team<Stack>{s.wire, s.who, s.me, s.rooted_calls}, wanted);
            w->fence();
            fn(world, *w);
            w->fence();
            w->free();
        });
    }
    static std::int64_t* mine(window& w) { return reinterpret_cast<std::int64_t*>(w.own().base); }
    static void add(window& w, numbers const& to_add, rank target, std::int64_t at = 0) {
        auto const n = static_cast<std::int64_t>(to_add.size());
        w.accumulate({to_add.data(), n, number}, {target, at, n, number}, operation::sum);
    }
};
TYPED_TEST_SUITE(rma_rows, wires);

TYPED_TEST(rma_rows, are_changed_by_one_rank_as_elements_are) {
    for (std::uint64_t const patience : {std::uint64_t{0}, std::uint64_t{8 << 10}, ~std::uint64_t{0}})
        this->on(2, patience, [&](auto& world, auto& w) {
            using self = rma_rows<TypeParam>;
            rank const other{1 - world.rank().value};
            typename self::numbers ones(self::length, 1), was(self::length);
            for (int i = 0; i < 10; ++i) self::add(w, ones, other);
            w.get_accumulate({ones.data(), self::length, number}, {was.data(), self::length, number},
                             {other, 0, self::length, number}, operation::sum);
            for (auto const x : was) ASSERT_EQ(x, 10);
            w.get_accumulate({nullptr, 0, number}, {was.data(), self::length, number}, {other, 0, self::length, number},
                             operation::no_op);
            for (auto const x : was) ASSERT_EQ(x, 11);
            std::iota(ones.begin(), ones.end(), 5);
            w.accumulate({ones.data(), self::length, number}, {other, 0, self::length, number}, operation::replace);
            w.fence();
            for (int i = 0; i < self::length; ++i) ASSERT_EQ(self::mine(w)[i], 5 + i);
        });
}

/// Rows that begin in the middle of a word are not the processor's, and rows with holes are several runs.
TYPED_TEST(rma_rows, that_lie_anyhow_are_changed_too) {
    this->on(2, 0, [&](auto& world, auto& w) {
        using self = rma_rows<TypeParam>;
        rank const other{1 - world.rank().value};
        typename self::numbers ones(self::length / 2, 1);
        auto const holes = datatype::vector(self::length / 2, 1, 2, number);
        auto const shifted =
            datatype::hindexed(std::array<std::int64_t, 1>{self::length / 2}, std::array<std::int64_t, 1>{4}, number);
        for (int i = 0; i < 5; ++i) {
            w.accumulate({ones.data(), self::length / 2, number}, {other, 0, 1, holes}, operation::sum);
            w.accumulate({ones.data(), self::length / 2, number}, {other, self::ints, 1, shifted}, operation::sum);
        }
        w.fence();
        for (int i = 0; i < self::length; ++i) ASSERT_EQ(self::mine(w)[i], i % 2 == 0 ? 5 : 0);
        auto const* const bytes = w.own().base + self::ints * 8 + 4;
        for (int i = 0; i < self::length / 2; ++i) {
            std::int64_t x = 0;
            std::memcpy(&x, bytes + 8 * i, 8);
            ASSERT_EQ(x, 5);
        }
    });
}

/// Of 64 bytes. What an element's short way says shows whose the part is.
TYPED_TEST(rma_rows, that_are_short_make_a_part_their_threads_too) {
    this->on(2, 1 << 10, [&](auto& world, auto& w) {
        using self = rma_rows<TypeParam>;
        constexpr bool alone = self::is_mapped && !mpt::native_fences::invisible;
        rank const target{1};
        std::int64_t const one = 1;
        std::int64_t was = 0;
        auto const change = [&] { return w.try_change(&one, &was, element_kind::int64, target, 0, operation::sum); };
        if (world.rank() == 0)
            for (int i = 0; i < 20; ++i) self::add(w, typename self::numbers(8, 1), target);
        w.fence();
        if (world.rank() == 1) {
            bool const done = change();
            EXPECT_TRUE(!self::is_mapped || done == !alone)
                << "it is the other's"; // where agents change it may be this thread's, too
            if (!done) w.fetch_and_op(&one, &was, number, target, 0, operation::sum);
            EXPECT_EQ(was, 20);
            EXPECT_TRUE(change()) << "it is everybody's again";
            EXPECT_EQ(was, 21);
            EXPECT_EQ(self::mine(w)[7], 20);
        }
        w.fence();
    });
}

/// `turns` changes of anybody's rows and elements: by how much each of all numbers is to grow.
template <class Fixture, class Window> void change_at_random(Window& w, dice d, int turns, typename Fixture::numbers& added) {
    typename Fixture::numbers const row(Fixture::length, 1);
    std::int64_t const one = 1;
    for (int i = 0; i < turns; ++i) {
        rank const to{static_cast<std::int32_t>(d.below(static_cast<unsigned>(w.size())))};
        auto const at = d.below(Fixture::length - 2);
        auto* const sums = added.data() + static_cast<std::size_t>(to.value) * Fixture::length;
        std::int64_t was = 0;
        switch (d.below(5)) {
        case 0:
            Fixture::add(w, row, to);
            for (int k = 0; k < Fixture::length; ++k) ++sums[k];
            continue;
        case 1:
            Fixture::add(w, {1, 1, 1}, to, at);
            ++sums[at + 1], ++sums[at + 2];
            break;
        case 2: w.fetch_and_op(&one, &was, number, to, at, operation::sum); break;
        case 3:
            if (!w.try_change(&one, &was, element_kind::int64, to, at, operation::sum))
                w.fetch_and_op(&one, &was, number, to, at, operation::sum);
            break;
        default:
            for (std::int64_t seen = was;; seen = was) {
                std::int64_t const next = seen + 1;
                w.compare_and_swap(&next, &seen, &was, number, to, at);
                if (was == seen) break;
            }
        }
        ++sums[at];
    }
}

/// With as little patience as can be every part changes hands all the time.
template <class Fixture> void everybody_at_once(int ranks, int threads, std::uint64_t patience, bool locked = false) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Fixture::on(
        ranks, patience,
        [&](auto& world, auto& w) {
            std::vector<typename Fixture::numbers> by_thread(
                static_cast<std::size_t>(threads),
                typename Fixture::numbers(static_cast<std::size_t>(ranks) * Fixture::length, 0));
            std::vector<std::thread> others;
            auto const change = [&](int t) {
                dice const d{seed + static_cast<unsigned>(world.rank().value + ranks * t)};
                change_at_random<Fixture>(w, d, Fixture::is_mapped ? 10'000 / threads : 500,
                                          by_thread[static_cast<std::size_t>(t)]);
            };
            for (int t = 1; t < threads; ++t) others.emplace_back(change, t);
            change(0);
            for (auto& t : others) t.join();
            w.fence();
            auto& added = by_thread[0];
            for (int t = 1; t < threads; ++t)
                std::ranges::transform(added, by_thread[static_cast<std::size_t>(t)], added.begin(), std::plus{});
            world.allreduce(added);
            auto const* const mine = added.data() + static_cast<std::size_t>(world.rank().value) * Fixture::length;
            for (int k = 0; k < Fixture::length; ++k) ASSERT_EQ(Fixture::mine(w)[k], mine[k]) << "number " << k;
        },
        locked);
}
TYPED_TEST(rma_rows, lose_no_change_while_everybody_changes_rows_and_elements) {
    for (int const ranks : {2, 4})
        for (std::uint64_t const patience : {0, 4 << 10}) everybody_at_once<rma_rows<TypeParam>>(ranks, 1, patience);
}
TYPED_TEST(rma_rows, lose_no_change_where_all_go_under_the_parts_lock) {
    everybody_at_once<rma_rows<TypeParam>>(2, 1, 0, true);
    everybody_at_once<rma_rows<TypeParam>>(3, 2, 0, true);
}
TYPED_TEST(rma_rows, lose_no_change_of_threads_of_one_rank) {
    everybody_at_once<rma_rows<TypeParam>>(2, 3, 0);
    everybody_at_once<rma_rows<TypeParam>>(1, 20, 4 << 10); // more than have a place
}

} // namespace
