#include <algorithm>
#include <map>
#include <numeric>

#include <mpt/mpi/graph.hpp>

#include "support/dice.hpp"
#include "support/expect_error.hpp"

namespace {
using mpt::edge_list;
using mpt::error_class;
using mpt::proc_null;
using mpt::test::dice;
using mpt::test::expect_error;
using numbers = std::vector<std::int32_t>;
using ranks = std::vector<mpt::rank>;

template <class Range> numbers list(Range const& r) { return {r.begin(), r.end()}; }

TEST(mpi_graph, random_graphs_give_back_what_they_were_told) {
    mpt::test::seeds const seeds{200};
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        dice d{seed};
        auto const n = d.below(6);
        std::vector<numbers> told(n);
        numbers index, edges;
        std::map<std::pair<int, int>, int> balance; // of each pair: edges up, less edges down
        for (unsigned node = 0; node < n; ++node) {
            for (auto left = d.below(4); left > 0; --left) told[node].push_back(static_cast<int>(d.below(n)));
            for (auto const other : told[node]) {
                auto const me = static_cast<int>(node);
                balance[std::minmax(me, static_cast<int>(other))] += (me < other) - (me > other);
                edges.push_back(other);
            }
            index.push_back(static_cast<std::int32_t>(edges.size()));
        }
        mpt::graph const g{index, edges, static_cast<std::int32_t>(n + d.below(3))};
        EXPECT_EQ(g.size(), static_cast<std::int32_t>(n));
        EXPECT_EQ(list(g.index()), index);
        EXPECT_EQ(list(g.edges()), edges);
        for (unsigned node = 0; node < n; ++node) {
            EXPECT_EQ(list(g.neighbours(node)), told[node]);
            mpt::topology const t{g, node};
            EXPECT_EQ(list(t.sources()), told[node]);
            EXPECT_EQ(list(t.destinations()), told[node]);
        }
        EXPECT_EQ(g.is_symmetric(), std::ranges::all_of(balance, [](auto const& p) { return p.second == 0; }));
        EXPECT_EQ(g.place_of(n), std::nullopt);
    }
}

TEST(mpi_graph, nodes_and_edges_that_are_not_there_are_refused) {
    auto const made = [](numbers index, numbers edges) { return [=] { mpt::graph{index, edges, 4}; }; };
    expect_error(error_class::arg, {"5 nodes", "4 processes"}, made({0, 0, 0, 0, 0}, {}));
    expect_error(error_class::arg, {"index 1 is 1", "2 before it"}, made({2, 1}, {0}));
    expect_error(error_class::arg, {"ends at 2 edges", "there are 1"}, made({1, 2}, {0}));
    expect_error(error_class::rank, {"edge 1 is 2", "0 to 1"}, made({1, 2}, {0, 2}));
    expect_error(error_class::rank, {"edge 0 is -1"}, made({1, 2}, {-1, 0}));
    expect_error(error_class::rank, {"rank 0", "0 nodes"}, [] { mpt::graph{}.neighbours(0); });
}

TEST(mpi_graph, a_process_of_a_distributed_graph_knows_its_own_edges) {
    mpt::dist_graph const plain{{{1, 1, 0}, {}}, {{2}, {}}, 3}, heavy{{{1}, {0}}, {}, 3, true};
    EXPECT_FALSE(plain.is_weighted());
    EXPECT_TRUE(heavy.is_weighted());
    EXPECT_EQ(heavy.in().weights, numbers{0});
    mpt::topology const t{plain};
    EXPECT_EQ(list(t.sources()), (numbers{1, 1, 0}));
    EXPECT_EQ(list(t.destinations()), numbers{2});
    EXPECT_EQ(t.as<mpt::graph>(), nullptr);
    ASSERT_NE(t.as<mpt::dist_graph>(), nullptr);
    t.require_neighbours("here");

    auto const made = [](edge_list in, edge_list out, bool weighted) { return [=] { mpt::dist_graph{in, out, 3, weighted}; }; };
    expect_error(error_class::rank, {"source 1 is 3", "0 to 2"}, made({{0, 3}, {}}, {}, false));
    expect_error(error_class::rank, {"destination 0 is -3"}, made({}, {{proc_null}, {}}, false));
    expect_error(error_class::arg, {"1 weights for the 2 sources"}, made({{0, 1}, {5}}, {}, true));
    expect_error(error_class::arg, {"1 weights for the 1 destinations", "without"}, made({}, {{0}, {5}}, false));
    expect_error(error_class::arg, {"destination 1 is -6"}, made({}, {{0, 1}, {5, -6}}, true));
}

TEST(mpi_graph, a_topology_says_whether_there_are_neighbours_to_exchange_data_with) {
    mpt::topology const none;
    EXPECT_TRUE(none.is_none());
    expect_error(error_class::topology, {"neighbor alltoall", "no topology"},
                 [&] { none.require_neighbours("neighbor alltoall"); });
    mpt::topology const one_way{mpt::graph{numbers{1, 1}, numbers{1}, 2}, 0};
    EXPECT_FALSE(one_way.is_none());
    expect_error(error_class::topology, {"more edges one way"}, [&] { one_way.require_neighbours("x"); });
    mpt::topology const grid{mpt::cartesian{numbers{3}, numbers{0}, 3}, 0};
    grid.require_neighbours("x");
    EXPECT_EQ(list(grid.sources()), (numbers{proc_null, 1}));
    EXPECT_NE(grid.as<mpt::cartesian>(), nullptr);
}
} // namespace
