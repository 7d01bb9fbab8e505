#include <algorithm>
#include <numeric>

#include <mpt/mpi/neighborhood.hpp>

#include "support/dice.hpp"
#include "support/expect_error.hpp"
#include "support/sanitized.hpp"
#include "support/wires.hpp"

namespace {
using namespace mpt::test;
using mpt::proc_null;
using numbers = std::vector<std::int32_t>;

template <class Stack> using mpi_neighborhood = over<Stack>;
TYPED_TEST_SUITE(mpi_neighborhood, wires);

template <class Range> numbers list(Range const& r) { return {r.begin(), r.end()}; }

/// What the k-th edge from a to b carries.
int carried(int a, int b, int k) { return 100 * a + 10 * b + k; }

/// In the order in which they stand here: the k-th that has this peer.
template <class Near, class Peers, class Value> std::vector<int> by_edge(Near const& near, Peers const& peers, Value value) {
    std::vector<int> all, seen(static_cast<std::size_t>(near.size()));
    for (auto const p : peers) all.push_back(value(p, seen[static_cast<std::size_t>(p.value)]++));
    return all;
}

/// Everything that neighbours exchange, where no peer is nobody.
template <class Near> void expect_exchange(Near const& near) {
    int const me = near.rank();
    auto const out = by_edge(near, near.destinations(), [me](int p, int k) { return carried(me, p, k); });
    auto const in = by_edge(near, near.sources(), [me](int p, int k) { return carried(p, me, k); });
    std::vector<int> got(in.size()), who(in.size());
    near.neighbor_alltoall(out, got);
    EXPECT_EQ(got, in);
    near.neighbor_allgather(me, who);
    EXPECT_EQ(who, list(near.sources()));
    auto later = near.ineighbor_alltoall(out, std::vector<int>(in.size()));
    auto names = near.ineighbor_allgather(std::vector{me, -me}, std::vector<int>(2 * in.size()));
    auto const told = names.wait();
    EXPECT_EQ(later.wait(), in);
    for (std::size_t i = 0; i < in.size(); ++i) {
        EXPECT_EQ(told[2 * i], who[i]);
        EXPECT_EQ(told[2 * i + 1], -who[i]);
    }

    std::vector<std::vector<int>> pieces, wanted, all;
    for (auto const x : out) pieces.emplace_back(static_cast<std::size_t>(x % 7), x); // as many as its number says
    for (auto const x : in) wanted.emplace_back(static_cast<std::size_t>(x % 7), x);
    EXPECT_EQ(near.neighbor_alltoallv(pieces), wanted);
    for (auto const p : near.sources()) all.emplace_back(static_cast<std::size_t>(p.value), p.value);
    EXPECT_EQ(near.neighbor_allgatherv(std::vector<int>(static_cast<std::size_t>(me), me)), all);
}

TYPED_TEST(mpi_neighborhood, edges_that_anybody_tells_come_to_their_ends_and_carry_what_they_should) {
    seeds const s{sanitized ? 5u : 20u};
    for (unsigned seed = s.first; seed != s.first + s.count && !this->HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        auto const n = 1 + static_cast<int>(dice{seed}.below(6));
        bool const weighted = dice{seed + 1}.coin();
        std::vector<std::vector<mpt::edge>> told(static_cast<std::size_t>(n)); // by whom
        dice d{seed + 2};
        auto const any = [&] { return static_cast<int>(d.below(static_cast<unsigned>(n))); };
        for (auto left = d.below(20); left > 0; --left)
            told[static_cast<std::size_t>(any())].push_back({any(), any(), static_cast<int>(d.below(9))});
        this->job(n, [&](auto world) {
            mpt::edge_list in, out;
            for (auto const& list : told)
                for (auto const& e : list) {
                    if (e.destination == world.rank()) in.ranks.push_back(e.source), in.weights.push_back(e.weight);
                    if (e.source == world.rank()) out.ranks.push_back(e.destination), out.weights.push_back(e.weight);
                }
            auto const mine = mpt::own_edges(world, told[static_cast<std::size_t>(world.rank())], weighted);
            EXPECT_EQ(mine.is_weighted(), weighted);
            EXPECT_EQ(list(mine.in().ranks), list(in.ranks));
            EXPECT_EQ(list(mine.out().ranks), list(out.ranks));
            EXPECT_EQ(mine.in().weights, weighted ? in.weights : numbers{});
            EXPECT_EQ(mine.out().weights, weighted ? out.weights : numbers{});
            auto const near = mpt::with_topology(world, mine);
            expect_exchange(near);
            expect_exchange(near.dup());
        });
    }
}

TYPED_TEST(mpi_neighborhood, a_graph_leaves_out_who_is_no_node) {
    this->job(4, [](auto world) {
        mpt::graph const some{numbers{2, 5, 7}, numbers{1, 1, 0, 2, 0, 2, 1}, 4}; // an edge twice, and one to oneself
        auto const near = mpt::with_topology(world, some);
        EXPECT_EQ(near.has_value(), world.rank() < 3);
        if (!near) return;
        EXPECT_EQ(near->size(), 3);
        expect_exchange(*near);
    });
}

TYPED_TEST(mpi_neighborhood, where_a_grid_ends_nothing_is_read_or_written) {
    this->job(3, [](auto world) {
        int const me = world.rank();
        auto const line = mpt::with_topology(world, mpt::cartesian{numbers{3}, numbers{0}, 3});
        std::vector<int> const mine{10 * me, 10 * me + 1};
        std::vector<int> all{-1, -1};
        line->neighbor_alltoall(mine, all);
        EXPECT_EQ(all, (std::vector{me == 0 ? -1 : 10 * me - 9, me == 2 ? -1 : 10 * me + 10}));
        auto const lists = line->neighbor_allgatherv(mine);
        EXPECT_EQ(lists[0], me == 0 ? std::vector<int>{} : (std::vector{10 * me - 10, 10 * me - 9}));
        auto const pair = mpt::with_topology(world, mpt::cartesian{numbers{2, 1}, numbers{1, 1}, 3});
        EXPECT_EQ(pair.has_value(), me < 2);
        if (!pair) return;
        std::vector<int> const four{1000 * me, 1000 * me + 1, 1000 * me + 2, 1000 * me + 3};
        int const other = 1000 * (1 - me);
        auto later = pair->ineighbor_alltoall(four, std::vector<int>(4)); // up comes in from below
        EXPECT_EQ(later.wait(), (std::vector{other + 1, other, 1000 * me + 3, 1000 * me + 2}));
    });
}

TYPED_TEST(mpi_neighborhood, shares_that_do_not_fit_are_sentences_by_any_policy) {
    this->job(2, [](auto world) {
        auto const ring = mpt::with_topology(world, mpt::cartesian{numbers{2}, numbers{1}, 2});
        std::vector<int> three(3), four(4), two(2);
        expect_error(mpt::error_class::arg, {"neighbor_alltoall", "3 elements", "1 for each of 2 neighbours"},
                     [&] { ring->neighbor_alltoall(three, two); });
        expect_error(mpt::error_class::arg, {"neighbor_alltoall", "2 elements", "2 for each of 2 neighbours are 4"},
                     [&] { ring->neighbor_alltoall(four, two); });
        expect_error(mpt::error_class::arg, {"neighbor_allgather", "3 elements"}, [&] { ring->neighbor_allgather(1, three); });
        expect_error(mpt::error_class::arg, {"ineighbor_alltoall", "3 elements"},
                     [&] { static_cast<void>(ring->ineighbor_alltoall(three, two)); });
        auto const quiet = ring->template with<mpt::errors::returning>();
        EXPECT_FALSE(quiet.neighbor_alltoall(three, two).has_value());
        EXPECT_TRUE(quiet.neighbor_allgather(1, two).has_value());
        EXPECT_FALSE(mpt::with_topology(quiet, mpt::dist_graph{{{5}, {}}, {}, 6}).has_value());
        expect_error(mpt::error_class::arg, {"3 pieces for 2 ranks"}, [&] {
            static_cast<void>(mpt::with_topology(world, mpt::cartesian{numbers{3}, numbers{1}, 3}));
        });
        auto const one_way = mpt::with_topology(world, mpt::graph{numbers{1, 1}, numbers{1}, 2});
        expect_error(mpt::error_class::topology, {"neighbor_allgatherv", "more edges one way"},
                     [&] { static_cast<void>(one_way->neighbor_allgatherv(two)); });
        std::vector<mpt::edge> const loop{{world.rank(), world.rank()}};
        expect_error(mpt::error_class::arg, {"rank 0 tells edges with weights", "rank 1"},
                     [&] { static_cast<void>(mpt::own_edges(world, loop, world.rank() == 0)); });
        EXPECT_TRUE(
            mpt::own_edges(world, world.rank() == 0 ? loop : std::vector<mpt::edge>{}, world.rank() == 0).is_weighted());
        std::vector<mpt::edge> const nowhere{{0, 2}};
        expect_error(mpt::error_class::rank, {"rank 2"}, [&] { static_cast<void>(mpt::own_edges(world, nowhere)); });
    });
}
} // namespace
