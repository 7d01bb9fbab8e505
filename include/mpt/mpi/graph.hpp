/// mpi/graph - graphs of processes, known in full or by everybody's own edges; and the topology of a communicator.
///
///        graph        every process knows all of it                    index 2 3 4 6, edges 1 3  0  3  0 2
///        dist_graph   a process knows its own edges, and no others     in from 1 3, out to 3 3 0, each with a weight or all without
///        topology     a grid (mpi/cartesian.hpp), one of these, or none, and who this process's neighbours are
///
///             0 <--> 1            neighbours(0) = 1 3: the edges of node r are those from index[r - 1] to index[r]
///             ^
///             v
///             3 <--> 2
///
///   All are values. Edges may occur more than once, and lead back to where they come from. Neighbours keep the order in which they
///   were told; it is that of the pieces of the neighbourhood collectives. Nobody is moved: rank r is node r.
///
///   Those collectives need a graph in which any two nodes have as many edges one way as the other (is_symmetric).
///
///   Cost    a graph: its edges are sorted once, where it is made. The rest: constant, or as long as what is told.
///   Limit   Errors are mpi_error: class arg, and rank for nodes that are not there.
///   Tests   test/mpi_graph_test.cpp
///   Source  MPI-4.1 sections 8.5.3 to 8.5.5 and 8.6
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <mpt/mpi/cartesian.hpp>

namespace mpt::inline v0 {

class graph {
    std::vector<std::int32_t> index_, edges_;
    bool symmetric_ = true;

public:
    graph() = default;
    /// index: how many edges the nodes up to each have. available: how many processes there are; the graph may leave some out.
    graph(std::span<std::int32_t const> index, std::span<std::int32_t const> edges, std::int32_t available);

    std::int32_t size() const noexcept { return static_cast<std::int32_t>(index_.size()); }
    std::span<std::int32_t const> index() const noexcept { return index_; }
    std::span<std::int32_t const> edges() const noexcept { return edges_; }
    bool is_symmetric() const noexcept { return symmetric_; }

    std::span<std::int32_t const> neighbours(rank r) const;
    /// MPI_Graph_map: the rank that suits process r; none for those whom the graph leaves out.
    std::optional<rank> place_of(rank r) const noexcept { return r < size() ? std::optional{r} : std::nullopt; }
};

/// The edges of one process in one direction. weights: one for each, or none where the graph has no weights.
struct edge_list {
    std::vector<rank> ranks;
    std::vector<std::int32_t> weights;
};

class dist_graph {
    edge_list in_, out_;
    bool weighted_ = false;

public:
    dist_graph() = default;
    /// available: how many processes there are.
    dist_graph(edge_list in, edge_list out, std::int32_t available, bool weighted = false);

    edge_list const& in() const noexcept { return in_; }
    edge_list const& out() const noexcept { return out_; }
    bool is_weighted() const noexcept { return weighted_; }
};

/// As one process sees it.
class topology {
    std::variant<std::monostate, cartesian, graph, dist_graph> shape_;
    std::vector<rank> sources_, destinations_;

public:
    topology() = default; // none
    topology(cartesian grid, rank me)
        : shape_{std::move(grid)}, sources_{std::get<cartesian>(shape_).neighbours(me)}, destinations_{sources_} {}
    topology(graph g, rank me);
    explicit topology(dist_graph g)
        : shape_{std::move(g)}, sources_{std::get<dist_graph>(shape_).in().ranks},
          destinations_{std::get<dist_graph>(shape_).out().ranks} {}

    /// cartesian, graph or dist_graph: nothing where it is none of that sort.
    template <class Shape> Shape const* as() const noexcept { return std::get_if<Shape>(&shape_); }
    bool is_none() const noexcept { return as<std::monostate>() != nullptr; }
    /// Whom this process receives from and sends to; proc_null where a grid ends.
    std::span<rank const> sources() const noexcept { return sources_; }
    std::span<rank const> destinations() const noexcept { return destinations_; }
    /// Throws where neighbours cannot exchange data: there is no topology, or a graph that is not symmetric.
    void require_neighbours(char const* call) const;
};

} // namespace mpt::inline v0
