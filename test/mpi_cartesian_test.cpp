#include <algorithm>
#include <compare>
#include <functional>
#include <numeric>
#include <random>

#include <mpt/mpi/cartesian.hpp>

#include "support/expect_error.hpp"

namespace {
using mpt::cartesian;
using mpt::error_class;
using mpt::proc_null;
using mpt::test::expect_error;
using numbers = std::vector<std::int32_t>;

numbers created(std::int32_t nodes, numbers dims) {
    mpt::dims_create(nodes, dims);
    return dims;
}

/// How far apart: spread, sum, how far the largest lies below. The less the better.
struct apart {
    std::int64_t spread, sum, below;
    auto operator<=>(apart const&) const = default;
};
apart apart_of(numbers const& dims) {
    auto const [least, most] = std::ranges::minmax(dims);
    return {most - least, std::accumulate(dims.begin(), dims.end(), std::int64_t{0}), -most};
}

/// Looks at every way to write n as a product of `places` factors, each at most `most`.
void every_product(std::int32_t n, std::size_t places, std::int32_t most, numbers& now,
                   std::function<void(numbers const&)> const& f) {
    if (places == 0) {
        if (n == 1) f(now);
        return;
    }
    for (std::int32_t d = 1; d <= std::min(n, most); ++d) {
        if (n % d != 0) continue;
        now.push_back(d);
        every_product(n / d, places - 1, d, now, f);
        now.pop_back();
    }
}

TEST(mpi_cartesian, created_dimensions_are_as_close_as_any_search_finds_them) {
    for (std::int32_t n = 1; n <= 5000; ++n)
        for (std::size_t places = 1; places <= 5; ++places) {
            numbers best, now;
            every_product(n, places, n, now, [&](numbers const& dims) {
                if (best.empty() || apart_of(dims) < apart_of(best)) best = dims;
            });
            ASSERT_EQ(created(n, numbers(places, 0)), best) << n << " in " << places;
        }
}

TEST(mpi_cartesian, the_standards_examples_of_dimensions) {
    EXPECT_EQ(created(6, {0, 0}), (numbers{3, 2}));
    EXPECT_EQ(created(7, {0, 0}), (numbers{7, 1}));
    EXPECT_EQ(created(6, {0, 3, 0}), (numbers{2, 3, 1}));
    expect_error(error_class::dims, {"7 nodes", "0 x 3 x 0"}, [] { created(7, {0, 3, 0}); });
}

TEST(mpi_cartesian, given_dimensions_stay_and_the_others_fall) {
    for (unsigned seed = 1; seed <= 500; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        numbers given(1 + random() % 6);
        std::int32_t nodes = 1 + static_cast<std::int32_t>(random() % 200);
        for (auto& d : given)
            if (random() % 2 == 0) nodes *= d = 1 + static_cast<std::int32_t>(random() % 4);
        if (std::ranges::count(given, 0) == 0) given[0] = 0;
        auto const made = created(nodes, given);
        EXPECT_EQ(std::accumulate(made.begin(), made.end(), 1, std::multiplies{}), nodes);
        numbers free;
        for (std::size_t i = 0; i < given.size(); ++i) {
            if (given[i] == 0) free.push_back(made[i]);
            else EXPECT_EQ(made[i], given[i]);
        }
        EXPECT_TRUE(std::ranges::is_sorted(free, std::greater{}));
        auto const left = std::accumulate(free.begin(), free.end(), 1, std::multiplies{});
        EXPECT_EQ(free, created(left, numbers(free.size(), 0)));
    }
}

TEST(mpi_cartesian, large_numbers_with_many_divisors_and_many_dimensions_are_no_trouble) {
    EXPECT_EQ(created(2147483647, {0, 0, 0}), (numbers{2147483647, 1, 1}));
    EXPECT_EQ(created(1 << 30, numbers(5, 0)), numbers(5, 64));
    numbers const two(30, 2);
    EXPECT_EQ(created(1 << 30, numbers(30, 0)), two);
    auto longer = two;
    longer.resize(1000, 1);
    EXPECT_EQ(created(1 << 30, numbers(1000, 0)), longer);
    for (std::int32_t n : {735134400, 1102701600, 1396755360, 2095133040, 2123366400, 1 << 30, 1162261467})
        for (std::size_t places = 1; places <= 14; ++places) {
            auto const dims = created(n, numbers(places, 0));
            EXPECT_EQ(std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies{}), n);
            EXPECT_TRUE(std::ranges::is_sorted(dims, std::greater{}));
        }
}

TEST(mpi_cartesian, impossible_dimensions_are_errors_with_their_numbers) {
    expect_error(error_class::dims, {"0 nodes"}, [] { created(0, {0}); });
    expect_error(error_class::dims, {"-4 nodes"}, [] { created(-4, {0}); });
    expect_error(error_class::dims, {"dimension 1 is -2"}, [] { created(4, {0, -2}); });
    expect_error(error_class::dims, {"make 6 nodes, not 12"}, [] { created(12, {2, 3}); });
    expect_error(error_class::dims, {"make 1 nodes, not 2"}, [] { created(2, {}); });
    EXPECT_EQ(created(1, {}), numbers{});
    EXPECT_EQ(created(6, {2, 3}), (numbers{2, 3}));
    expect_error(error_class::dims, {}, [] { created(1000000, {0x7fffffff, 0x7fffffff}); });
}

/// A grid beside plain loops: coordinates by counting, neighbours by adding to a coordinate.
struct grid {
    numbers dims, periods;
    std::vector<numbers> places; // coordinates by rank
    cartesian cart;

    explicit grid(std::mt19937& random) {
        auto const n = random() % 5;
        for (std::size_t i = 0; i < n; ++i) dims.push_back(1 + static_cast<int>(random() % 4)), periods.push_back(random() % 2);
        places.emplace_back();
        for (auto const d : dims) {
            std::vector<numbers> longer;
            for (auto const& p : places)
                for (int c = 0; c < d; ++c) longer.push_back(p), longer.back().push_back(c);
            places = longer;
        }
        cart = cartesian{dims, periods, static_cast<std::int32_t>(places.size() + random() % 3)};
    }
    std::int32_t at(numbers coords) const {
        for (std::size_t i = 0; i < dims.size(); ++i) {
            while (periods[i] != 0 && coords[i] < 0) coords[i] += dims[i];
            while (periods[i] != 0 && coords[i] >= dims[i]) coords[i] -= dims[i];
        }
        auto const it = std::ranges::find(places, coords);
        return it == places.end() ? proc_null.value : static_cast<std::int32_t>(it - places.begin());
    }
    std::int32_t from(std::int32_t r, std::size_t dimension, int distance) const {
        auto coords = places[static_cast<std::size_t>(r)];
        coords[dimension] += distance;
        return at(coords);
    }
};

TEST(mpi_cartesian, random_grids_agree_with_counting) {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        grid const g{random};
        ASSERT_EQ(g.cart.size(), std::ssize(g.places));
        for (std::int32_t r = 0; r < g.cart.size(); ++r) {
            numbers coords(g.dims.size());
            g.cart.coords_of(r, coords);
            ASSERT_EQ(coords, g.places[static_cast<std::size_t>(r)]);
            ASSERT_EQ(g.cart.rank_of(coords), r);
            std::vector<mpt::rank> neighbours;
            for (std::size_t d = 0; d < g.dims.size(); ++d) {
                neighbours.push_back(g.from(r, d, -1)), neighbours.push_back(g.from(r, d, 1));
                for (int distance : {-9, -2, -1, 0, 1, 3, 8}) {
                    auto const [source, destination] = g.cart.shift(r, static_cast<std::int32_t>(d), distance);
                    ASSERT_EQ(source, g.from(r, d, -distance));
                    ASSERT_EQ(destination, g.from(r, d, distance));
                }
            }
            ASSERT_EQ(g.cart.neighbours(r), neighbours);
        }
        for (int i = 0; i < 20; ++i) { // coordinates anywhere
            numbers coords;
            for (std::size_t d = 0; d < g.dims.size(); ++d) coords.push_back(static_cast<int>(random() % 13) - 5);
            if (auto const r = g.at(coords); r == proc_null) {
                EXPECT_THROW(g.cart.rank_of(coords), mpt::mpi_error);
            } else EXPECT_EQ(g.cart.rank_of(coords), r);
        }
    }
}

TEST(mpi_cartesian, random_parts_have_the_ranks_that_share_the_dropped_coordinates) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random{seed};
        grid const g{random};
        numbers remain, kept_dims;
        for (std::size_t d = 0; d < g.dims.size(); ++d) {
            remain.push_back(random() % 2);
            if (remain[d] != 0) kept_dims.push_back(g.dims[d]);
        }
        auto const slice = g.cart.slice(remain);
        ASSERT_TRUE(std::ranges::equal(slice.dims(), kept_dims));
        std::vector<numbers> dropped; // by part
        for (std::int32_t r = 0; r < g.cart.size(); ++r) {
            numbers kept, gone;
            for (std::size_t d = 0; d < g.dims.size(); ++d)
                (remain[d] != 0 ? kept : gone).push_back(g.places[static_cast<std::size_t>(r)][d]);
            auto const [which, me] = g.cart.part_of(r, remain);
            ASSERT_EQ(slice.rank_of(kept), me);
            if (which == std::ssize(dropped)) dropped.push_back(gone);
            ASSERT_LT(which, std::ssize(dropped));
            ASSERT_EQ(dropped[static_cast<std::size_t>(which)], gone);
        }
        ASSERT_EQ(std::ssize(dropped) * slice.size(), g.cart.size());
        std::size_t d = 0;
        for (std::size_t i = 0; i < g.dims.size(); ++i)
            if (remain[i] != 0) { EXPECT_EQ(slice.periodic(d++), g.periods[i] != 0); }
    }
}

TEST(mpi_cartesian, a_grid_without_dimensions_has_one_place) {
    cartesian const none{{}, {}, 5};
    EXPECT_EQ(none.size(), 1);
    EXPECT_EQ(none.rank_of({}), 0);
    EXPECT_EQ(none.rank_of(numbers{7, 8}), 0) << "coordinates are not looked at";
    EXPECT_TRUE(none.neighbours(0).empty());
    EXPECT_EQ(none.place_of(0), mpt::rank{0});
    EXPECT_EQ(none.place_of(1), std::nullopt);
    EXPECT_EQ(none.slice({}).size(), 1);
    expect_error(error_class::arg, {"dimension 0", "has 0"}, [&] { none.shift(0, 0, 1); });
}

TEST(mpi_cartesian, a_place_in_a_grid_is_for_as_many_processes_as_it_has) {
    cartesian const g{numbers{2, 3}, numbers{0, 1}, 8};
    EXPECT_EQ(g.place_of(5), mpt::rank{5});
    EXPECT_EQ(g.place_of(6), std::nullopt);
}

TEST(mpi_cartesian, wrong_arguments_are_errors_with_their_values) {
    numbers const flat{0, 0};
    auto const make = [&](numbers dims, std::int32_t available) { return cartesian{dims, flat, available}; };
    expect_error(error_class::dims, {"dimension 1 is 0"}, [&] { make({2, 0}, 8); });
    expect_error(error_class::dims, {"dimension 0 is -1"}, [&] { make({-1, 2}, 8); });
    expect_error(error_class::dims, {"3 x 3", "8 processes"}, [&] { make({3, 3}, 8); });
    expect_error(error_class::dims, {"65536 x 65536"}, [&] { make({65536, 65536}, 0x7fffffff); });
    expect_error(error_class::arg, {"3 dimensions", "2 periods"}, [&] { make({1, 1, 1}, 8); });
    auto const g = make({2, 3}, 6);
    numbers room(1);
    expect_error(error_class::rank, {"rank 6", "0 to 5"}, [&] { g.neighbours(6); });
    expect_error(error_class::rank, {"cart coords", "rank -1"}, [&] { g.coords_of(-1, room); });
    expect_error(error_class::rank, {"cart shift", "rank -3"}, [&] { g.shift(proc_null, 0, 1); });
    expect_error(error_class::arg, {"room for 1", "has 2"}, [&] { g.coords_of(1, room); });
    expect_error(error_class::arg, {"room for 1"}, [&] { g.rank_of(room); });
    expect_error(error_class::arg, {"room for 1"}, [&] { g.part_of(0, room); });
    expect_error(error_class::arg, {"room for 1"}, [&] { g.slice(room); });
    expect_error(error_class::arg, {"coordinate 1 is 3", "ends at 2"}, [&] { g.rank_of(numbers{0, 3}); });
    for (int d : {-1, 2}) expect_error(error_class::arg, {std::to_string(d).c_str()}, [&] { g.shift(0, d, 1); });
}

TEST(mpi_cartesian, the_farthest_shifts_and_coordinates_do_not_overflow) {
    numbers const dims{0x7fffffff}, round{1};
    cartesian const g{dims, round, 0x7fffffff};
    constexpr std::int32_t least = -0x7fffffff - 1, most = 0x7fffffff;
    EXPECT_EQ(g.shift(0, 0, least).destination, most - 1); // one round and one more
    EXPECT_EQ(g.shift(0, 0, least).source, 1);
    EXPECT_EQ(g.shift(most - 1, 0, most).destination, most - 1);
    EXPECT_EQ(g.rank_of(numbers{most}), 0);
    EXPECT_EQ(g.rank_of(numbers{least}), most - 1);
    EXPECT_EQ(g.rank_of(numbers{most - 1}), most - 1);
}
} // namespace
