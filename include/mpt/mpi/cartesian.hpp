/// mpi/cartesian - Cartesian grids: balanced sizes, ranks and coordinates, shifts, slices, neighbours.
///
///        dims (2, 3), the second periodic           rank = row-major: the last coordinate runs fastest
///
///             0 -- 1 -- 2 -- (0)                    coords_of(4) = (1, 1)
///             |    |    |                           shift(4, 0, 1): from 1, to proc_null
///             3 -- 4 -- 5 -- (3)                    neighbours(4) = 1 proc_null 3 5
///
///   A grid is a value. Along a periodic dimension coordinates count round; beyond the edges of another one nobody is
///   (proc_null), and naming a place there is an error. A grid of no dimensions has one place, rank 0.
///
///   dims_create chooses the free dimensions "as close to each other as possible" in this sense: the difference of the
///   largest and the smallest is least; among those their sum is; among those no factor is smaller.
///
///   Cost    a rank, coordinates, a shift: a step for each dimension. dims_create: a search over divisors that lie closer
///           together than those of a first guess.
///   Limit   Errors are mpi_error: class dims for sizes of a grid, else rank and arg.
///   Tests   test/mpi_cartesian_test.cpp (dims_create against every factorization)
///   Source  MPI-4.1 sections 8.5 and 8.6
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <mpt/mpi/error_classes.hpp>

namespace mpt::inline v0 {

/// Fills in the dimensions that are 0, in falling order, so that the product of all is `nodes`.
void dims_create(std::int32_t nodes, std::span<std::int32_t> dims);

class cartesian {
    std::vector<std::int32_t> dims_;
    std::vector<bool> periodic_;
    std::int32_t size_ = 1;

public:
    cartesian() = default;
    /// periodic: zero or not, as C has it. available: how many processes there are; the grid may leave some out.
    cartesian(std::span<std::int32_t const> dims, std::span<std::int32_t const> periodic, std::int32_t available);

    std::int32_t size() const noexcept { return size_; }
    std::span<std::int32_t const> dims() const noexcept { return dims_; }
    bool periodic(std::size_t dimension) const noexcept { return periodic_[dimension]; }

    /// coords.size() >= dims().size(), here and below.
    rank rank_of(std::span<std::int32_t const> coords) const;
    void coords_of(rank r, std::span<std::int32_t> coords) const;

    struct ends {
        rank source, destination;
    };
    /// Whom r receives from and sends to when everything moves by `distance` along a dimension.
    ends shift(rank r, std::int32_t dimension, std::int32_t distance) const;

    /// The part of the grid that r is in when only some dimensions remain (non-zero in `remain`).
    struct part {
        std::int32_t which; // counts the parts
        rank me;            // r in it
    };
    part part_of(rank r, std::span<std::int32_t const> remain) const;
    /// The grid that each part is.
    cartesian slice(std::span<std::int32_t const> remain) const;

    /// MPI_Cart_map: the rank that suits process r; none for those whom the grid leaves out.
    std::optional<rank> place_of(rank r) const noexcept { return r < size_ ? std::optional{r} : std::nullopt; }

    /// For each dimension whoever is one place below, then one above: the order of the neighbourhood collectives.
    std::vector<rank> neighbours(rank r) const;

private:
    void check_rank(char const* call, rank r) const;
    void check_length(char const* call, std::size_t given) const;
    std::int32_t stride(std::size_t dimension) const noexcept;
    rank moved(rank r, std::size_t dimension, std::int64_t distance) const;
};

} // namespace mpt::inline v0
