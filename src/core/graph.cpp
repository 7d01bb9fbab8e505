// Graphs of processes.
#include <mpt/mpi/graph.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace mpt::inline v0 {

namespace {

using numbers = std::span<std::int32_t const>;

[[noreturn]] void bad(std::string const& what) { throw mpi_error{error_class::arg, what}; }

void check_index(numbers index, std::size_t edges, std::int32_t available) {
    if (index.size() > static_cast<std::size_t>(available))
        bad(fmt::format("mpt: graph create: {} nodes are more than the {} processes there are", index.size(), available));
    std::int32_t before = 0;
    for (std::size_t i = 0; i < index.size(); before = index[i++])
        if (index[i] < before)
            bad(fmt::format("mpt: graph create: index {} is {}, less than the {} before it", i, index[i], before));
    if (static_cast<std::size_t>(before) != edges)
        bad(fmt::format("mpt: graph create: the index ends at {} edges, but there are {}", before, edges));
}

void check_nodes(char const* call, char const* what, auto const& nodes, std::int32_t size) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (nodes[i] < 0 || nodes[i] >= size)
            throw mpi_error{error_class::rank, fmt::format("mpt: {}: {} {} is {}; allowed: 0 to {}", call, what, i,
                                                           static_cast<std::int32_t>(nodes[i]), size - 1)};
}

/// Are there as many edges from a to b as from b to a, for all a and b?
bool is_symmetric(numbers index, numbers edges) {
    std::vector<std::pair<std::int32_t, std::int32_t>> there, back;
    for (std::int32_t node = 0, i = 0; node < static_cast<std::int32_t>(index.size()); ++node)
        for (; i < index[static_cast<std::size_t>(node)]; ++i) {
            auto const other = edges[static_cast<std::size_t>(i)];
            there.emplace_back(node, other), back.emplace_back(other, node);
        }
    std::ranges::sort(there), std::ranges::sort(back);
    return there == back;
}

void check_edges(char const* what, edge_list const& list, std::int32_t available, bool weighted) {
    check_nodes("dist graph create", what, list.ranks, available);
    if (list.weights.size() != (weighted ? list.ranks.size() : 0))
        bad(fmt::format("mpt: dist graph create: {} weights for the {} {}s of a graph {}", list.weights.size(),
                        list.ranks.size(), what, weighted ? "with weights" : "without"));
    for (std::size_t i = 0; i < list.weights.size(); ++i)
        if (list.weights[i] < 0)
            bad(fmt::format("mpt: dist graph create: the weight of {} {} is {}, which is negative", what, i, list.weights[i]));
}

} // namespace

graph::graph(std::span<std::int32_t const> index, std::span<std::int32_t const> edges, std::int32_t available) {
    check_index(index, edges.size(), available);
    check_nodes("graph create", "edge", edges, static_cast<std::int32_t>(index.size()));
    index_.assign(index.begin(), index.end());
    edges_.assign(edges.begin(), edges.end());
    symmetric_ = mpt::is_symmetric(index, edges);
}

std::span<std::int32_t const> graph::neighbours(rank r) const {
    if (r < 0 || r >= size())
        throw mpi_error{error_class::rank,
                        fmt::format("mpt: graph neighbors: rank {} is not in the graph of {} nodes", r.value, size())};
    auto const at = static_cast<std::size_t>(r.value);
    auto const first = at == 0 ? 0 : index_[at - 1];
    return edges().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(index_[at] - first));
}

dist_graph::dist_graph(edge_list in, edge_list out, std::int32_t available, bool weighted)
    : in_{std::move(in)}, out_{std::move(out)}, weighted_{weighted} {
    check_edges("source", in_, available, weighted);
    check_edges("destination", out_, available, weighted);
}

topology::topology(graph g, rank me) : shape_{std::move(g)} {
    auto const mine = std::get<graph>(shape_).neighbours(me);
    sources_.assign(mine.begin(), mine.end());
    destinations_ = sources_;
}

void topology::require_neighbours(char const* call) const {
    auto const no = [call](char const* why) {
        throw mpi_error{error_class::topology, fmt::format("mpt: {}: the communicator has {}", call, why)};
    };
    if (is_none()) no("no topology, so its processes have no neighbours");
    if (auto const* const g = as<graph>(); g && !g->is_symmetric())
        no("a graph in which two nodes have more edges one way than the other; neighbours exchange data both ways");
}

} // namespace mpt::inline v0
