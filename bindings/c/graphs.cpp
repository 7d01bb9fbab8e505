// Chapter 8: graphs that every process tells in full, and distributed ones.
#include <algorithm>

#include <mpt/mpi/neighborhood.hpp>

#include "collectives.hpp"
#include "entries.hpp"
#include "topologies.hpp"

namespace mpt::c {

namespace {

std::span<int const> list(int const* p, std::int64_t n) noexcept { return {p, static_cast<std::size_t>(n)}; }

template <class Shape> Shape const& shape_of(call& on, comm const& c, char const* sort) {
    auto const* const shape = c.shape.as<Shape>();
    if (!shape) on.fail(MPI_ERR_TOPOLOGY, std::string{"comm has no "} + sort);
    return *shape;
}
graph const& graph_of(call& on, comm const& c) { return shape_of<graph>(on, c, "graph"); }
dist_graph const& dist_graph_of(call& on, comm const& c) { return shape_of<dist_graph>(on, c, "distributed graph"); }

graph graph_told(call& on, comm const& c, int nnodes, int const* index, int const* edges) {
    require_one_side(on, c, "comm");
    auto const n = nnodes > 0 ? index[nnodes - 1] : 0;
    if (n > 0) on.not_null(edges, "edges");
    return {list(index, nnodes), list(edges, n), c.size()};
}

/// Weights where a call takes some: there are none of an unweighted graph, and none of no edges.
class weights {
    int const* at_;
    std::int64_t edges_;

public:
    weights(call const& on, int const* at, std::int64_t edges, char const* argument) : at_{at}, edges_{edges} {
        if (edges == 0 || at == MPI_UNWEIGHTED) return;
        on.not_null(at, argument);
        if (at == MPI_WEIGHTS_EMPTY)
            on.fail(MPI_ERR_ARG,
                    std::string{argument} + " is MPI_WEIGHTS_EMPTY, but there are " + std::to_string(edges) + " edges");
        on.each_at_least(at, edges, 0, argument, MPI_ERR_ARG);
    }
    bool none() const noexcept { return at_ == MPI_UNWEIGHTED; }
    /// Of an edge, where the graph has weights.
    std::int32_t operator[](std::int64_t i) const noexcept { return none() ? 1 : at_[i]; }
    /// Those of no edges say least.
    bool says_more_than(weights const& o) const noexcept { return (edges_ > 0) > (o.edges_ > 0); }
    std::vector<std::int32_t> of_edges(bool weighted) const {
        return weighted && edges_ > 0 ? std::vector<std::int32_t>{at_, at_ + edges_} : std::vector<std::int32_t>{};
    }
};

/// The edges that one call of MPI_Dist_graph_create tells.
std::vector<edge> edges_told(call& on, comm const& c, std::span<int const> sources, int const* degrees, int const* destinations,
                             weights const& w) {
    std::vector<edge> all;
    for (std::size_t i = 0; i < sources.size(); ++i)
        for (int left = degrees[i]; left > 0; --left) {
            auto const at = all.size();
            if (destinations[at] < 0 || destinations[at] >= c.size())
                on.rank(destinations[at], c.size(), ("destinations[" + std::to_string(at) + ']').c_str(), also::none);
            all.push_back({sources[i], destinations[at], w[static_cast<std::int64_t>(at)]});
        }
    return all;
}

MPI_Comm with_dist_graph(call& on, comm const& c, dist_graph shape) {
    return with_topology(on.of(), c, c.size(), [&](mpt::rank) { return topology{std::move(shape)}; });
}

/// As many as there is room for.
void copy_edges(edge_list const& edges, int room, int* ranks, int* weights) {
    auto const n = std::min<std::size_t>(edges.ranks.size(), static_cast<std::size_t>(room));
    std::copy_n(edges.ranks.begin(), n, ranks);
    if (!edges.weights.empty() && weights && weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY)
        std::copy_n(edges.weights.begin(), n, weights);
}

} // namespace

namespace impl {

void Graph_create(call& on, comm& c, int nnodes, int const* index, int const* edges, int, MPI_Comm& made) {
    auto shape = graph_told(on, c, nnodes, index, edges);
    made = with_topology(on.of(), c, nnodes, [&](mpt::rank me) { return topology{std::move(shape), me}; });
}
void Graph_map(call& on, comm& c, int nnodes, int const* index, int const* edges, int& rank) {
    auto const place = graph_told(on, c, nnodes, index, edges).place_of(c.me);
    rank = place ? place->value : MPI_UNDEFINED;
}
void Graphdims_get(call& on, comm& c, int& nnodes, int& nedges) {
    auto const& g = graph_of(on, c);
    nnodes = g.size(), nedges = static_cast<int>(g.edges().size());
}
void Graph_get(call& on, comm& c, int maxindex, int maxedges, int* index, int* edges) {
    auto const& g = graph_of(on, c);
    on.at_least(maxindex, g.size(), "maxindex", MPI_ERR_ARG);
    on.at_least(maxedges, static_cast<std::int64_t>(g.edges().size()), "maxedges", MPI_ERR_ARG);
    std::ranges::copy(g.index(), index);
    std::ranges::copy(g.edges(), edges);
}
void Graph_neighbors_count(call& on, comm& c, int rank, int& n) {
    n = static_cast<int>(graph_of(on, c).neighbours(mpt::rank{rank}).size());
}
void Graph_neighbors(call& on, comm& c, int rank, int room, int* neighbors) {
    auto const all = graph_of(on, c).neighbours(mpt::rank{rank});
    on.at_least(room, static_cast<std::int64_t>(all.size()), "maxneighbors", MPI_ERR_ARG);
    std::ranges::copy(all, neighbors);
}

void Dist_graph_create(call& on, comm& c, int n, int const* sources, int const* degrees, int const* destinations,
                       int const* told, info_object*, int, MPI_Comm& made) {
    require_one_side(on, c, "comm");
    std::int64_t edges = 0;
    for (int i = 0; i < n; ++i) edges += degrees[i];
    if (edges > 0) on.not_null(destinations, "destinations");
    weights const w{on, told, edges, "weights"};
    made =
        with_dist_graph(on, c, own_edges(team_of(c), edges_told(on, c, list(sources, n), degrees, destinations, w), !w.none()));
}
void Dist_graph_create_adjacent(call& on, comm& c, int indegree, int const* sources, int const* sourceweights, int outdegree,
                                int const* destinations, int const* destweights, info_object*, int, MPI_Comm& made) {
    require_one_side(on, c, "comm");
    weights const in{on, sourceweights, indegree, "sourceweights"}, out{on, destweights, outdegree, "destweights"};
    if (indegree > 0 && outdegree > 0 && in.none() != out.none())
        on.fail(MPI_ERR_ARG, std::string{in.none() ? "sourceweights" : "destweights"} + " is MPI_UNWEIGHTED, and " +
                                 (in.none() ? "destweights" : "sourceweights") + " is not");
    bool const weighted = in.says_more_than(out)   ? !in.none()
                          : out.says_more_than(in) ? !out.none()
                                                   : !in.none() && !out.none();
    auto const ranks = [](int const* p, int n) { return std::vector<mpt::rank>{p, p + n}; };
    made = with_dist_graph(on, c,
                           {{ranks(sources, indegree), in.of_edges(weighted)},
                            {ranks(destinations, outdegree), out.of_edges(weighted)},
                            c.size(),
                            weighted});
}
void Dist_graph_neighbors_count(call& on, comm& c, int& indegree, int& outdegree, int& weighted) {
    auto const& g = dist_graph_of(on, c);
    indegree = c.sources(), outdegree = c.destinations(), weighted = g.is_weighted();
}
void Dist_graph_neighbors(call& on, comm& c, int maxin, int* sources, int* sourceweights, int maxout, int* destinations,
                          int* destweights) {
    auto const& g = dist_graph_of(on, c);
    copy_edges(g.in(), maxin, sources, sourceweights);
    copy_edges(g.out(), maxout, destinations, destweights);
}

} // namespace impl
} // namespace mpt::c
