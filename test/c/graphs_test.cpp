// Chapter 8 of the C interface: graphs, and the collectives of neighbours on every sort of topology against a serial oracle.
#include <algorithm>
#include <array>
#include <memory>

#include "../support/dice.hpp"
#include "../support/sanitized.hpp"
#include "shared.hpp"

namespace {

using mpt::c::test::dup_of;
using mpt::c::test::expect_failure;
using mpt::c::test::expect_ring;
using mpt::c::test::ranks;
using mpt::test::dice;

using list = std::vector<int>;
using table = std::vector<list>;

int size_of(list const& l) { return static_cast<int>(l.size()); }
std::size_t at(int i) { return static_cast<std::size_t>(i); }

template <class Program> void random_programs(unsigned how_many, Program program) {
    mpt::test::seeds const seeds{mpt::test::sanitized ? (how_many + 3) / 4 : how_many};
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !testing::Test::HasFailure(); ++seed)
        ranks(1 + static_cast<int>(seed % 5), [&](int me, int size) {
            dice common{seed}, own{seed + 7919u * static_cast<unsigned>(me + 1)};
            program(me, size, common, own);
            if (testing::Test::HasFailure()) ADD_FAILURE() << "replay with MPT_SEED=" << seed;
        });
}

// --- graphs that everybody tells in full ------------------------------------------------------------------------------------------

/// What of each node the graph says: any edges, or as many one way as the other.
table random_graph(int nodes, dice& d, bool symmetric) {
    table g(at(nodes));
    for (auto left = nodes > 0 ? d.below(static_cast<unsigned>(3 * nodes)) : 0; left > 0; --left) {
        int const a = static_cast<int>(d.below(static_cast<unsigned>(nodes)));
        int const b = static_cast<int>(d.below(static_cast<unsigned>(nodes)));
        g[at(a)].push_back(b);
        if (symmetric && a != b) g[at(b)].push_back(a);
    }
    return g;
}
MPI_Comm graph(table const& g, int* place = nullptr) {
    list index, edges;
    for (auto const& l : g) edges.insert(edges.end(), l.begin(), l.end()), index.push_back(size_of(edges));
    auto made = MPI_COMM_WORLD;
    int rank = -1;
    EXPECT_EQ(MPI_Graph_map(MPI_COMM_WORLD, size_of(index), index.data(), edges.data(), &rank), MPI_SUCCESS);
    EXPECT_EQ(MPI_Graph_create(MPI_COMM_WORLD, size_of(index), index.data(), edges.data(), 1, &made), MPI_SUCCESS);
    if (place) *place = rank;
    return made;
}
void expect_graph(MPI_Comm c, table const& g) {
    int status = 0, nodes = -1, edges = -1;
    EXPECT_EQ(MPI_Topo_test(c, &status), MPI_SUCCESS);
    EXPECT_EQ(status, MPI_GRAPH);
    EXPECT_EQ(MPI_Graphdims_get(c, &nodes, &edges), MPI_SUCCESS);
    ASSERT_EQ(nodes, static_cast<int>(g.size()));
    list index(at(nodes)), ends(at(edges)), found;
    EXPECT_EQ(MPI_Graph_get(c, nodes, edges, index.data(), ends.data()), MPI_SUCCESS);
    for (int r = 0; r < nodes; ++r) {
        int n = -1;
        EXPECT_EQ(MPI_Graph_neighbors_count(c, r, &n), MPI_SUCCESS);
        ASSERT_EQ(n, size_of(g[at(r)]));
        list near(at(n) + 1, -1);
        EXPECT_EQ(MPI_Graph_neighbors(c, r, n + 1, near.data()), MPI_SUCCESS);
        near.pop_back();
        EXPECT_EQ(near, g[at(r)]);
        found.insert(found.end(), near.begin(), near.end());
        EXPECT_EQ(index[at(r)], size_of(found));
    }
    EXPECT_EQ(ends, found);
}

TEST(CGraphs, WhatEverybodyTellsIsWhatEverybodyIsTold) {
    random_programs(16, [](int me, int size, dice& common, dice&) {
        int const nodes = static_cast<int>(common.below(static_cast<unsigned>(size) + 1));
        auto const g = random_graph(nodes, common, false);
        int place = -1;
        auto c = graph(g, &place);
        EXPECT_EQ(place, me < nodes ? me : MPI_UNDEFINED);
        EXPECT_EQ(c == MPI_COMM_NULL, me >= nodes);
        if (c == MPI_COMM_NULL) return;
        expect_graph(c, g);
        expect_ring(c);
        auto twin = dup_of(c);
        MPI_Comm later = MPI_COMM_NULL, part = MPI_COMM_NULL;
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Comm_idup(c, &later, &r), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        MPI_Comm_split(c, 0, 0, &part);
        MPI_Comm_free(&c);
        expect_graph(twin, g);
        expect_graph(later, g);
        int status = 0;
        MPI_Topo_test(part, &status);
        EXPECT_EQ(status, MPI_UNDEFINED);
        for (auto* x : {&twin, &later, &part}) MPI_Comm_free(x);
    });
}

// --- distributed graphs -----------------------------------------------------------------------------------------------------------

struct edge {
    int from, to, weight;
};
using edges = std::vector<edge>;

edges random_edges(int size, dice& d) {
    auto const n = static_cast<unsigned>(size);
    edges all;
    for (auto left = d.below(4 * n); left > 0; --left)
        all.push_back({static_cast<int>(d.below(n)), static_cast<int>(d.below(n)), static_cast<int>(d.below(9))});
    return all;
}
/// One process's edges in one direction.
struct ends {
    list ranks, weights;
    ends(edges const& all, int edge::*mine, int edge::*other, int me) {
        for (auto const& e : all)
            if (e.*mine == me) ranks.push_back(e.*other), weights.push_back(e.weight);
    }
};
struct known {
    ends in, out;
    known(edges const& all, int me) : in{all, &edge::to, &edge::from, me}, out{all, &edge::from, &edge::to, me} {}
};

void expect_dist_graph(MPI_Comm c, known const& k, bool weighted) {
    int status = 0, in = -1, out = -1, flag = -1;
    EXPECT_EQ(MPI_Topo_test(c, &status), MPI_SUCCESS);
    EXPECT_EQ(status, MPI_DIST_GRAPH);
    EXPECT_EQ(MPI_Dist_graph_neighbors_count(c, &in, &out, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, weighted);
    ASSERT_EQ(in, size_of(k.in.ranks));
    ASSERT_EQ(out, size_of(k.out.ranks));
    list from(at(in) + 1, -5), to(at(out) + 1, -5), fw = from, tw = to;
    EXPECT_EQ(MPI_Dist_graph_neighbors(c, in + 1, from.data(), fw.data(), out + 1, to.data(), tw.data()), MPI_SUCCESS);
    auto const expected = [](list l, bool given) {
        if (!given) std::ranges::fill(l, -5);
        l.push_back(-5); // no more is written
        return l;
    };
    EXPECT_EQ(from, expected(k.in.ranks, true));
    EXPECT_EQ(to, expected(k.out.ranks, true));
    EXPECT_EQ(fw, expected(k.in.weights, weighted));
    EXPECT_EQ(tw, expected(k.out.weights, weighted));
    list first(1, -5); // where there is less room, the first of them
    EXPECT_EQ(MPI_Dist_graph_neighbors(c, std::min(in, 1), first.data(), MPI_UNWEIGHTED, 0, nullptr, MPI_WEIGHTS_EMPTY),
              MPI_SUCCESS);
    EXPECT_EQ(first[0], in ? k.in.ranks[0] : -5);
}

MPI_Comm adjacent(known const& k, bool weighted, dice& own) {
    auto made = MPI_COMM_NULL;
    auto const weights = [&](list const& l) {
        return !weighted ? MPI_UNWEIGHTED : !l.empty() ? l.data() : own.coin() ? MPI_WEIGHTS_EMPTY : nullptr;
    };
    EXPECT_EQ(MPI_Dist_graph_create_adjacent(
                  MPI_COMM_WORLD, size_of(k.in.ranks), k.in.ranks.empty() ? nullptr : k.in.ranks.data(), weights(k.in.weights),
                  size_of(k.out.ranks), k.out.ranks.data(), weights(k.out.weights), MPI_INFO_NULL, 0, &made),
              MPI_SUCCESS);
    return made;
}

TEST(CGraphs, EdgesComeToTheirEndsWhoeverTellsThem) {
    random_programs(24, [](int me, int size, dice& common, dice& own) {
        bool const weighted = common.coin();
        table sources(at(size)), degrees = sources, to = sources, weights = sources; // by who tells them
        edges all;
        for (int r = 0; r < size; ++r)
            for (auto left = common.below(4); left > 0; --left) {
                sources[at(r)].push_back(static_cast<int>(common.below(static_cast<unsigned>(size))));
                degrees[at(r)].push_back(static_cast<int>(common.below(4)));
                for (int i = 0; i < degrees[at(r)].back(); ++i) {
                    to[at(r)].push_back(static_cast<int>(common.below(static_cast<unsigned>(size))));
                    weights[at(r)].push_back(static_cast<int>(common.below(100)));
                    all.push_back({sources[at(r)].back(), to[at(r)].back(), weights[at(r)].back()});
                }
            }
        auto made = MPI_COMM_NULL;
        auto const& w = weights[at(me)];
        EXPECT_EQ(MPI_Dist_graph_create(MPI_COMM_WORLD, size_of(sources[at(me)]), sources[at(me)].data(),
                                        degrees[at(me)].data(), to[at(me)].empty() ? nullptr : to[at(me)].data(),
                                        !weighted   ? MPI_UNWEIGHTED
                                        : w.empty() ? MPI_WEIGHTS_EMPTY
                                                    : w.data(),
                                        MPI_INFO_NULL, 1, &made),
                  MPI_SUCCESS);
        known const mine{all, me};
        expect_dist_graph(made, mine, weighted);
        expect_ring(made);
        auto twin = dup_of(made), same = adjacent(mine, weighted, own);
        MPI_Comm_free(&made);
        expect_dist_graph(twin, mine, weighted);
        expect_dist_graph(same, mine, weighted);
        MPI_Comm_free(&twin), MPI_Comm_free(&same);
    });
}

// --- the collectives of neighbours --------------------------------------------------------------------------------------------------

int value(int from, int to, int k, int i) { return ((from * 10 + to) * 50 + k) * 1000 + i; }

/// A communicator, and of each place in a buffer: with whom, and the how-manieth of the pair it is. On a grid: the sender's place.
struct neighbourhood {
    MPI_Comm comm = MPI_COMM_NULL;
    list sources, destinations, in_numbers, out_numbers;

    static list numbers(list const& peers) {
        list seen(10), n;
        for (int const p : peers) n.push_back(seen[at(p)]++);
        return n;
    }
    void count_pairs() { in_numbers = numbers(sources), out_numbers = numbers(destinations); }
};
neighbourhood random_grid(int size, dice& d) {
    neighbourhood n;
    list dims(1 + d.below(3), 1), periods;
    dims[d.below(static_cast<unsigned>(dims.size()))] = size;
    if (size == 4 && dims.size() > 1 && d.coin()) dims[0] = dims[1] = 2, dims.resize(2);
    for (std::size_t i = 0; i < dims.size(); ++i) periods.push_back(d.coin());
    MPI_Cart_create(MPI_COMM_WORLD, size_of(dims), dims.data(), periods.data(), 0, &n.comm);
    for (int i = 0; i < size_of(dims); ++i) {
        int below = -1, above = -1;
        MPI_Cart_shift(n.comm, i, 1, &below, &above);
        for (int const p : {below, above}) n.sources.push_back(p), n.destinations.push_back(p);
        n.in_numbers.push_back(2 * i + 1), n.in_numbers.push_back(2 * i);
        n.out_numbers.push_back(2 * i), n.out_numbers.push_back(2 * i + 1);
    }
    return n;
}
neighbourhood random_neighbourhood(int me, int size, dice& common, dice& own) {
    neighbourhood n;
    switch (common.below(3)) {
    case 0: return random_grid(size, common);
    case 1: {
        auto const g = random_graph(size, common, true);
        n.comm = graph(g);
        n.sources = n.destinations = g[at(me)];
        break;
    }
    default: {
        known const k{random_edges(size, common), me};
        n.comm = adjacent(k, common.coin(), own);
        n.sources = k.in.ranks, n.destinations = k.out.ranks;
    }
    }
    n.count_pairs();
    return n;
}

/// Numbers that either form of a function takes.
struct both {
    list small;
    std::vector<MPI_Count> wide;
    void add(int n) { small.push_back(n), wide.push_back(n); }
    operator int const*() const { return small.data(); }
    operator MPI_Count const*() const { return wide.data(); }
};

enum kind { allgather, allgatherv, alltoall, alltoallv, alltoallw, kinds };
enum form { blocking, begun, persistent, forms };

/// A buffer with a part for each neighbour: elements that lie 1 or 2 ints apart; unless all are of one size, an int between the parts.
struct side {
    list amounts, starts, strides, ints;
    both counts, places, bytes;
    std::vector<MPI_Datatype> types;
    MPI_Datatype type = MPI_INT;

    void lay_out(kind what, list const& sizes, MPI_Datatype spaced, dice& own) {
        int const gap = what == allgather || what == alltoall ? 0 : 1;
        int stride = 1 + static_cast<int>(own.below(2)), elements = 0, end = 0;
        type = stride == 1 ? MPI_INT : spaced;
        for (int const n : amounts = sizes) {
            if (what == alltoallw) stride = 1 + static_cast<int>(own.below(2));
            starts.push_back(what == alltoallw ? end : elements * stride), strides.push_back(stride);
            counts.add(n), places.add(elements), bytes.add(4 * starts.back());
            types.push_back(stride == 1 ? MPI_INT : spaced);
            elements += n + gap, end = starts.back() + n * stride + gap;
        }
        ints.assign(at(elements * 2 + end + 2), -7);
    }
    void put(list& into, int part, std::array<int, 3> const& what) const {
        for (int i = 0; i < amounts[at(part)]; ++i)
            into[at(starts[at(part)] + i * strides[at(part)])] = value(what[0], what[1], what[2], i);
    }
};

#define EITHER(small, wide, ...) (large_ ? wide(__VA_ARGS__) : small(__VA_ARGS__))
#define FORMS(now, now_c, later, later_c, init, init_c, ...)                                                                   \
    (how_ == blocking ? EITHER(now, now_c, __VA_ARGS__)                                                                        \
     : how_ == begun  ? EITHER(later, later_c, __VA_ARGS__, &request)                                                          \
                      : EITHER(init, init_c, __VA_ARGS__, MPI_INFO_NULL, &request))

/// One collective of neighbours, its buffers, and what must be in them in the end.
class exchange {
    neighbourhood const& near_;
    int me_;
    kind what_;
    form how_;
    bool large_;
    int even_;
    unsigned seed_;
    MPI_Datatype spaced_ = MPI_DATATYPE_NULL;
    side out_, in_;
    list expected_;

    bool gathers() const { return what_ == allgather || what_ == allgatherv; }
    int amount(int from, int to, int k) const {
        if (what_ == allgather || what_ == alltoall) return even_;
        if (from == MPI_PROC_NULL || to == MPI_PROC_NULL) return 3;
        auto const key = static_cast<unsigned>(gathers() ? from : from * 500 + to * 50 + k);
        return static_cast<int>(dice{seed_ + key}.one_of({0, 1, 2, 30, 5000}));
    }
    std::array<int, 3> name(int from, int to, int k, int round) const {
        return gathers() ? std::array{from, 0, round} : std::array{from, to, k + 20 * round};
    }

public:
    MPI_Request request = MPI_REQUEST_NULL;

    exchange(neighbourhood const& near, int me, dice& common, dice& own)
        : near_{near}, me_{me}, what_{static_cast<kind>(common.below(kinds))}, how_{static_cast<form>(common.below(forms))},
          large_{own.coin()}, even_{common.one_of({0, 1, 5, 3000})}, seed_{common.seed()} {
        MPI_Type_create_resized(MPI_INT, 0, 8, &spaced_);
        MPI_Type_commit(&spaced_);
        list leaving, coming;
        for (std::size_t i = 0; i < near.destinations.size(); ++i)
            leaving.push_back(amount(me, near.destinations[i], near.out_numbers[i]));
        for (std::size_t i = 0; i < near.sources.size(); ++i) coming.push_back(amount(near.sources[i], me, near.in_numbers[i]));
        out_.lay_out(what_, gathers() ? list{amount(me, me, 0)} : leaving, spaced_, own);
        in_.lay_out(what_, coming, spaced_, own);
    }
    exchange(exchange const&) = delete;
    bool again() const { return how_ == persistent; }
    void bring(int round) {
        std::ranges::fill(in_.ints, -7);
        expected_ = in_.ints;
        if (gathers()) out_.put(out_.ints, 0, name(me_, 0, 0, round));
        for (int i = 0; !gathers() && i < size_of(near_.destinations); ++i)
            out_.put(out_.ints, i, name(me_, near_.destinations[at(i)], near_.out_numbers[at(i)], round));
        for (int i = 0; i < size_of(near_.sources); ++i)
            if (near_.sources[at(i)] != MPI_PROC_NULL)
                in_.put(expected_, i, name(near_.sources[at(i)], me_, near_.in_numbers[at(i)], round));
    }
    int begin() {
        auto const* const from = out_.ints.data();
        auto* const to = in_.ints.data();
        auto const c = near_.comm;
        switch (what_) {
        case allgather:
            return FORMS(MPI_Neighbor_allgather, MPI_Neighbor_allgather_c, MPI_Ineighbor_allgather, MPI_Ineighbor_allgather_c,
                         MPI_Neighbor_allgather_init, MPI_Neighbor_allgather_init_c, from, even_, out_.type, to, even_,
                         in_.type, c);
        case allgatherv:
            return FORMS(MPI_Neighbor_allgatherv, MPI_Neighbor_allgatherv_c, MPI_Ineighbor_allgatherv,
                         MPI_Ineighbor_allgatherv_c, MPI_Neighbor_allgatherv_init, MPI_Neighbor_allgatherv_init_c, from,
                         out_.amounts[0], out_.type, to, in_.counts, in_.places, in_.type, c);
        case alltoall:
            return FORMS(MPI_Neighbor_alltoall, MPI_Neighbor_alltoall_c, MPI_Ineighbor_alltoall, MPI_Ineighbor_alltoall_c,
                         MPI_Neighbor_alltoall_init, MPI_Neighbor_alltoall_init_c, from, even_, out_.type, to, even_, in_.type,
                         c);
        case alltoallv:
            return FORMS(MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallv_c, MPI_Ineighbor_alltoallv, MPI_Ineighbor_alltoallv_c,
                         MPI_Neighbor_alltoallv_init, MPI_Neighbor_alltoallv_init_c, from, out_.counts, out_.places, out_.type,
                         to, in_.counts, in_.places, in_.type, c);
        case alltoallw:
            return FORMS(MPI_Neighbor_alltoallw, MPI_Neighbor_alltoallw_c, MPI_Ineighbor_alltoallw, MPI_Ineighbor_alltoallw_c,
                         MPI_Neighbor_alltoallw_init, MPI_Neighbor_alltoallw_init_c, from, out_.counts, out_.bytes,
                         out_.types.data(), to, in_.counts, in_.bytes, in_.types.data(), c);
        case kinds: break;
        }
        return MPI_ERR_OTHER;
    }
    void forget() { MPI_Type_free(&spaced_); } // what is under way goes on
    void expect_right() const { EXPECT_TRUE(in_.ints == expected_) << "kind " << what_ << ", form " << how_; }
};

TEST(CGraphs, NeighboursGetWhatNeighboursMeantForThem) {
    random_programs(40, [](int me, int size, dice& common, dice& own) {
        auto const near = random_neighbourhood(me, size, common, own);
        std::vector<std::unique_ptr<exchange>> all;
        for (auto n = 1 + common.below(12); n > 0; --n) {
            auto& x = *all.emplace_back(std::make_unique<exchange>(near, me, common, own));
            x.bring(0);
            EXPECT_EQ(x.begin(), MPI_SUCCESS);
            x.forget();
        }
        auto gone = near.comm;
        MPI_Comm_free(&gone);
        for (auto const& x : all)
            if (x->again()) { EXPECT_EQ(MPI_Start(&x->request), MPI_SUCCESS); }
        for (auto const& x : all) {
            EXPECT_EQ(MPI_Wait(&x->request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            x->expect_right();
            if (!x->again()) continue;
            x->bring(1);
            MPI_Start(&x->request), MPI_Wait(&x->request, MPI_STATUS_IGNORE);
            x->expect_right();
            EXPECT_EQ(MPI_Request_free(&x->request), MPI_SUCCESS);
        }
    });
}

TEST(CGraphs, WhoHasNoNeighboursNeedsNoBuffers) {
    ranks(2, [](int me, int) {
        int const zero = 0, one = 1;
        MPI_Comm c = MPI_COMM_NULL;
        int got = -1;
        EXPECT_EQ(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, me, &zero, MPI_UNWEIGHTED, 1 - me, &one, MPI_UNWEIGHTED,
                                                 MPI_INFO_NULL, 0, &c),
                  MPI_SUCCESS); // 0 -> 1
        EXPECT_EQ(MPI_Neighbor_alltoall(me == 0 ? &one : nullptr, 1, MPI_INT, me == 1 ? &got : nullptr, 1, MPI_INT, c),
                  MPI_SUCCESS);
        EXPECT_EQ(got, me == 1 ? 1 : -1);
        EXPECT_EQ(MPI_Neighbor_alltoallv(&one, me == 0 ? &one : nullptr, me == 0 ? &zero : nullptr, MPI_INT, &got,
                                         me == 1 ? &one : nullptr, me == 1 ? &zero : nullptr, MPI_INT, c),
                  MPI_SUCCESS);
        MPI_Comm_free(&c);
        EXPECT_EQ(MPI_Graph_create(MPI_COMM_WORLD, 0, nullptr, nullptr, 0, &c), MPI_SUCCESS);
        EXPECT_EQ(c, MPI_COMM_NULL);
    });
}

// --- what is wrong ------------------------------------------------------------------------------------------------------------------

TEST(CGraphs, GraphsThatAreNoneAreRefused) {
    ranks(3, [](int, int) {
        list const index{1, 2}, falling{2, 1}, long_index{0, 0, 0, 0}, pair{1, 0}, beyond{1, 2};
        MPI_Comm c = MPI_COMM_NULL;
        int n = 0;
        auto const create = [&](list const& i, int const* e) {
            return MPI_Graph_create(MPI_COMM_WORLD, size_of(i), i.data(), e, 0, &c);
        };
        expect_failure(create(long_index, nullptr), MPI_ERR_ARG, {"4 nodes", "3 processes"});
        expect_failure(create(falling, pair.data()), MPI_ERR_ARG, {"index 1 is 1"});
        expect_failure(create(index, beyond.data()), MPI_ERR_RANK, {"edge 1 is 2"});
        expect_failure(create(index, nullptr), MPI_ERR_ARG, {"edges is a null pointer"});
        expect_failure(MPI_Graph_map(MPI_COMM_WORLD, 2, falling.data(), pair.data(), &n), MPI_ERR_ARG, {"MPI_Graph_map"});
        expect_failure(MPI_Graph_create(MPI_COMM_WORLD, -1, nullptr, nullptr, 0, &c), MPI_ERR_ARG, {"nnodes is -1"});
        expect_failure(MPI_Graphdims_get(MPI_COMM_WORLD, &n, &n), MPI_ERR_TOPOLOGY, {"comm has no graph"});
        expect_failure(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &n, &n, &n), MPI_ERR_TOPOLOGY, {"no distributed graph"});
        EXPECT_EQ(c, MPI_COMM_NULL);
        auto const g = graph({{1, 1}, {0}, {}});
        int out[3] = {};
        expect_failure(MPI_Graph_get(g, 2, 3, out, out), MPI_ERR_ARG, {"maxindex is 2", "at least 3"});
        expect_failure(MPI_Graph_get(g, 3, 2, out, out), MPI_ERR_ARG, {"maxedges is 2", "at least 3"});
        expect_failure(MPI_Graph_neighbors(g, 0, 1, out), MPI_ERR_ARG, {"maxneighbors is 1"});
        expect_failure(MPI_Graph_neighbors(g, 3, 1, out), MPI_ERR_RANK, {"rank is 3"});
        expect_failure(MPI_Cart_get(g, 1, out, out, out), MPI_ERR_TOPOLOGY, {"no Cartesian grid"});
        expect_failure(MPI_Neighbor_allgather(out, 1, MPI_INT, out + 1, 1, MPI_INT, g), MPI_ERR_TOPOLOGY,
                       {"more edges one way"});
        auto gone = g;
        MPI_Comm_free(&gone);
    });
}

TEST(CGraphs, EdgesThatAreNoneAreRefused) {
    ranks(2, [](int me, int) {
        int const zero = 0, one = 1, two = 2, minus = -1;
        MPI_Comm c = MPI_COMM_NULL;
        auto const create = [&](int const* source, int const* degree, int const* to, int const* weights) {
            return MPI_Dist_graph_create(MPI_COMM_WORLD, 1, source, degree, to, weights, MPI_INFO_NULL, 0, &c);
        };
        expect_failure(create(&two, &one, &zero, MPI_UNWEIGHTED), MPI_ERR_RANK, {"sources is 2", "0 to 1"});
        expect_failure(create(&zero, &one, &two, MPI_UNWEIGHTED), MPI_ERR_RANK, {"destinations[0] is 2"});
        expect_failure(create(&zero, &minus, &zero, MPI_UNWEIGHTED), MPI_ERR_ARG, {"degrees[0] is -1"});
        expect_failure(create(&zero, &one, nullptr, MPI_UNWEIGHTED), MPI_ERR_ARG, {"destinations is a null pointer"});
        expect_failure(create(&zero, &one, &one, &minus), MPI_ERR_ARG, {"weights[0] is -1"});
        expect_failure(create(&zero, &one, &one, MPI_WEIGHTS_EMPTY), MPI_ERR_ARG, {"MPI_WEIGHTS_EMPTY", "1 edges"});
        expect_failure(create(&zero, &one, &one, nullptr), MPI_ERR_ARG, {"weights is a null pointer"});
        expect_failure(create(&zero, &one, &one, me == 0 ? &one : MPI_UNWEIGHTED), MPI_ERR_ARG,
                       {"rank 0 tells edges with weights, and rank 1"});
        auto const adjacent = [&](int const* source, int const* in, int const* to, int const* out) {
            return MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, source, in, 1, to, out, MPI_INFO_NULL, 0, &c);
        };
        expect_failure(adjacent(&two, MPI_UNWEIGHTED, &one, MPI_UNWEIGHTED), MPI_ERR_RANK, {"sources is 2"});
        expect_failure(adjacent(&one, MPI_UNWEIGHTED, nullptr, MPI_UNWEIGHTED), MPI_ERR_ARG, {"destinations is a null"});
        expect_failure(adjacent(&one, &one, &one, &minus), MPI_ERR_ARG, {"destweights[0] is -1"});
        expect_failure(adjacent(&one, MPI_UNWEIGHTED, &one, &one), MPI_ERR_ARG, {"sourceweights is MPI_UNWEIGHTED"});
        EXPECT_EQ(c, MPI_COMM_NULL);
    });
}

TEST(CGraphs, AnIntercommunicatorHasNeitherAGraphNorNeighbours) {
    ranks(2, [](int me, int) {
        MPI_Comm inter = MPI_COMM_NULL, c = MPI_COMM_NULL;
        int const zero = 0, one = 1;
        int got = 0;
        EXPECT_EQ(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - me, 3, &inter), MPI_SUCCESS);
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        auto const refused = {"intercommunicator"};
        expect_failure(MPI_Graph_create(inter, 1, &one, &zero, 0, &c), MPI_ERR_COMM, refused);
        expect_failure(MPI_Graph_map(inter, 1, &one, &zero, &got), MPI_ERR_COMM, refused);
        expect_failure(MPI_Dist_graph_create(inter, 1, &zero, &one, &zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c), MPI_ERR_COMM,
                       refused);
        expect_failure(
            MPI_Dist_graph_create_adjacent(inter, 1, &zero, MPI_UNWEIGHTED, 1, &zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c),
            MPI_ERR_COMM, refused);
        expect_failure(MPI_Neighbor_alltoall(&one, 1, MPI_INT, &got, 1, MPI_INT, inter), MPI_ERR_COMM, refused);
        EXPECT_EQ(c, MPI_COMM_NULL);
        MPI_Comm_free(&inter);
    });
}

TEST(CGraphs, BuffersAndCountsOfNeighboursAreChecked) {
    ranks(2, [](int, int) {
        list const two{2}, round{1}, counts{1, -1}, places{0, 1};
        list out(4), in(4);
        MPI_Comm c = MPI_COMM_NULL;
        MPI_Request r = MPI_REQUEST_NULL;
        auto const gather = [&](void const* from, int n, void* to, MPI_Comm comm) {
            return MPI_Neighbor_allgather(from, n, MPI_INT, to, n, MPI_INT, comm);
        };
        expect_failure(gather(out.data(), 1, in.data(), MPI_COMM_WORLD), MPI_ERR_TOPOLOGY, {"no topology", "neighbours"});
        MPI_Cart_create(MPI_COMM_WORLD, 1, two.data(), round.data(), 0, &c);
        expect_failure(gather(MPI_IN_PLACE, 1, in.data(), c), MPI_ERR_BUFFER, {"sendbuf is MPI_IN_PLACE"});
        expect_failure(gather(out.data(), 1, MPI_IN_PLACE, c), MPI_ERR_BUFFER, {"recvbuf is MPI_IN_PLACE"});
        expect_failure(gather(nullptr, 1, in.data(), c), MPI_ERR_BUFFER, {"sendbuf is a null pointer"});
        expect_failure(gather(in.data() + 1, 1, in.data(), c), MPI_ERR_BUFFER, {"the same memory"});
        expect_failure(gather(out.data(), -1, in.data(), c), MPI_ERR_COUNT, {"sendcount is -1"});
        expect_failure(MPI_Ineighbor_alltoallv(out.data(), counts.data(), places.data(), MPI_INT, in.data(), places.data(),
                                               places.data(), MPI_INT, c, &r),
                       MPI_ERR_COUNT, {"sendcounts[1] is -1"});
        expect_failure(MPI_Neighbor_allgatherv(out.data(), 1, MPI_INT, in.data(), places.data(), nullptr, MPI_INT, c),
                       MPI_ERR_ARG, {"displs is a null pointer"});
        MPI_Datatype made = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(1, MPI_INT, &made);
        MPI_Aint const bytes[] = {0, 4};
        MPI_Datatype const good[] = {MPI_INT, MPI_INT}, bad[] = {MPI_INT, made}, none[] = {MPI_INT, MPI_DATATYPE_NULL};
        auto const swap = [&](MPI_Datatype const* from, MPI_Datatype const* to) {
            return MPI_Neighbor_alltoallw_init(out.data(), places.data(), bytes, from, in.data(), places.data(), bytes, to, c,
                                               MPI_INFO_NULL, &r);
        };
        expect_failure(swap(bad, good), MPI_ERR_TYPE, {"sendtypes[1] is not committed"});
        expect_failure(swap(good, none), MPI_ERR_TYPE, {"recvtypes[1]", "MPI_DATATYPE_NULL"});
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        MPI_Type_free(&made);
        MPI_Comm_free(&c);
    });
}

} // namespace
