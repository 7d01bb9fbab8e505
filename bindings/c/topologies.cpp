// Chapter 8: Cartesian grids. Graphs: graphs.cpp.
#include "topologies.hpp"
#include "entries.hpp"

namespace mpt::c {

namespace {

std::span<int const> list(int const* p, int n) noexcept { return {p, static_cast<std::size_t>(n)}; }

cartesian const& grid_of(call& on, comm const& c) {
    auto const* const grid = c.shape.as<cartesian>();
    if (!grid) on.fail(MPI_ERR_TOPOLOGY, "comm has no Cartesian grid");
    return *grid;
}
void check_room(call& on, int maxdims, comm const& c) { on.at_least(maxdims, c.dims(), "maxdims", MPI_ERR_ARG); }

} // namespace

namespace impl {

/// Ranks stay in their order, whatever `reorder` says.
void Cart_create(call& on, comm& c, int ndims, int const* dims, int const* periods, int, MPI_Comm& made) {
    require_one_side(on, c, "comm");
    cartesian grid{list(dims, ndims), list(periods, ndims), c.size()};
    auto const size = grid.size();
    made = with_topology(on.of(), c, size, [&](mpt::rank me) { return topology{std::move(grid), me}; });
}
void Cart_sub(call& on, comm& c, int const* remain, MPI_Comm& made) {
    auto const& grid = grid_of(on, c);
    auto const kept = list(remain, c.dims());
    auto const part = grid.part_of(c.me, kept);
    auto const slice = split(on.of(), c, part.which, part.me);
    slice->shape = {grid.slice(kept), slice->me};
    made = publish(on.of(), slice);
}

void Topo_test(call&, comm& c, int& status) {
    status = c.shape.as<cartesian>()    ? int{MPI_CART}
             : c.shape.as<graph>()      ? int{MPI_GRAPH}
             : c.shape.as<dist_graph>() ? int{MPI_DIST_GRAPH}
                                        : int{MPI_UNDEFINED};
}
void Cartdim_get(call& on, comm& c, int& ndims) { ndims = static_cast<int>(grid_of(on, c).dims().size()); }
void Cart_get(call& on, comm& c, int maxdims, int* dims, int* periods, int* coords) {
    auto const& grid = grid_of(on, c);
    check_room(on, maxdims, c);
    std::ranges::copy(grid.dims(), dims);
    for (std::size_t i = 0; i < grid.dims().size(); ++i) periods[i] = grid.periodic(i);
    grid.coords_of(c.me, {coords, grid.dims().size()});
}
void Cart_rank(call& on, comm& c, int const* coords, int& rank) { rank = grid_of(on, c).rank_of(list(coords, c.dims())); }
void Cart_coords(call& on, comm& c, int rank, int maxdims, int* coords) {
    auto const& grid = grid_of(on, c);
    check_room(on, maxdims, c);
    grid.coords_of(mpt::rank{rank}, {coords, grid.dims().size()});
}
void Cart_shift(call& on, comm& c, int direction, int disp, int& source, int& destination) {
    auto const ends = grid_of(on, c).shift(c.me, direction, disp);
    source = ends.source, destination = ends.destination;
}
void Cart_map(call& on, comm& c, int ndims, int const* dims, int const* periods, int& rank) {
    require_one_side(on, c, "comm");
    auto const place = cartesian{list(dims, ndims), list(periods, ndims), c.size()}.place_of(c.me);
    rank = place ? place->value : MPI_UNDEFINED;
}
void Dims_create(call&, int nodes, int ndims, int* dims) { dims_create(nodes, {dims, static_cast<std::size_t>(ndims)}); }

} // namespace impl
} // namespace mpt::c
