// Chapter 8 of the C interface: Cartesian grids.
#include <algorithm>

#include "shared.hpp"

namespace {

using mpt::c::test::dup_of;
using mpt::c::test::expect_failure;
using mpt::c::test::expect_ring;
using mpt::c::test::members;
using mpt::c::test::ranks;

using list = std::vector<int>;

int product(list const& dims) { return std::accumulate(dims.begin(), dims.end(), 1, std::multiplies{}); }
/// Counts through the grid, the last coordinate fastest.
list coords_of(list const& dims, int rank) {
    list at(dims.size());
    for (int r = 0; r < rank; ++r)
        for (auto i = dims.size(); i-- > 0;)
            if (++at[i] < dims[i]) break;
            else at[i] = 0;
    return at;
}
int rank_of(list const& dims, list const& coords) {
    for (int r = 0; r < product(dims); ++r)
        if (coords_of(dims, r) == coords) return r;
    return -1;
}
/// Whom a step along a dimension leads to.
int moved(list const& dims, list const& periods, list at, std::size_t d, int distance) {
    at[d] += distance;
    if (periods[d]) at[d] = ((at[d] % dims[d]) + dims[d]) % dims[d];
    return at[d] < 0 || at[d] >= dims[d] ? MPI_PROC_NULL : rank_of(dims, at);
}

MPI_Comm grid(list const& dims, list const& periods) {
    MPI_Comm c = MPI_COMM_WORLD;
    EXPECT_EQ(MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(dims.size()), dims.data(), periods.data(), 1, &c), MPI_SUCCESS);
    return c;
}

void expect_grid(MPI_Comm c, list const& dims, list const& periods) {
    int n = -1, me = -1, status = 0, rank = -1;
    auto const d = static_cast<int>(dims.size());
    EXPECT_EQ(MPI_Topo_test(c, &status), MPI_SUCCESS);
    EXPECT_EQ(status, MPI_CART);
    EXPECT_EQ(MPI_Cartdim_get(c, &n), MPI_SUCCESS);
    ASSERT_EQ(n, d);
    MPI_Comm_rank(c, &me);
    list got_dims(dims.size()), got_periods(dims.size()), at(dims.size());
    EXPECT_EQ(MPI_Cart_get(c, d, got_dims.data(), got_periods.data(), at.data()), MPI_SUCCESS);
    EXPECT_EQ(got_dims, dims);
    EXPECT_EQ(got_periods, periods);
    EXPECT_EQ(at, coords_of(dims, me));
    for (int r = 0; r < product(dims); ++r) {
        EXPECT_EQ(MPI_Cart_coords(c, r, d, at.data()), MPI_SUCCESS);
        EXPECT_EQ(at, coords_of(dims, r));
        EXPECT_EQ(MPI_Cart_rank(c, at.data(), &rank), MPI_SUCCESS);
        EXPECT_EQ(rank, r);
    }
    at = coords_of(dims, me);
    for (int i = 0; i < d; ++i)
        for (int distance = -3; distance <= 3; ++distance) {
            int from = 0, to = 0;
            EXPECT_EQ(MPI_Cart_shift(c, i, distance, &from, &to), MPI_SUCCESS);
            EXPECT_EQ(to, moved(dims, periods, at, static_cast<std::size_t>(i), distance));
            EXPECT_EQ(from, moved(dims, periods, at, static_cast<std::size_t>(i), -distance));
        }
}

/// The slices of a grid, and who is in mine.
void expect_slices(MPI_Comm c, list const& dims, list const& periods, list const& remain) {
    MPI_Comm slice = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Cart_sub(c, remain.data(), &slice), MPI_SUCCESS);
    int me = -1;
    MPI_Comm_rank(c, &me);
    auto const mine = coords_of(dims, me);
    list kept_dims, kept_periods, wanted;
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (remain[i]) kept_dims.push_back(dims[i]), kept_periods.push_back(periods[i]);
    for (int r = 0; r < product(dims); ++r) {
        auto const at = coords_of(dims, r);
        bool here = true;
        for (std::size_t i = 0; i < dims.size(); ++i) here = here && (remain[i] || at[i] == mine[i]);
        if (here) wanted.push_back(r);
    }
    EXPECT_EQ(members(slice), wanted);
    expect_grid(slice, kept_dims, kept_periods);
    expect_ring(slice);
    MPI_Comm_free(&slice);
}

TEST(CTopologies, RandomGridsAgreeWithCountingThroughThem) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    ranks(8, [seed](int me, int size) {
        std::mt19937 random{seed};
        list const shapes[] = {{8}, {2, 4}, {3, 2}, {2, 2, 2}, {1, 7}, {5}, {2, 1, 3, 1}, {}};
        for (auto const& dims : shapes) {
            list periods, remain;
            for (std::size_t i = 0; i < dims.size(); ++i) {
                periods.push_back(static_cast<int>(random() % 2));
                remain.push_back(static_cast<int>(random() % 2));
            }
            int place = 0;
            EXPECT_EQ(MPI_Cart_map(MPI_COMM_WORLD, static_cast<int>(dims.size()), dims.data(), periods.data(), &place),
                      MPI_SUCCESS);
            EXPECT_EQ(place, me < product(dims) ? me : MPI_UNDEFINED);
            auto c = grid(dims, periods);
            EXPECT_EQ(c == MPI_COMM_NULL, me >= product(dims)) << "of " << size;
            if (c == MPI_COMM_NULL) continue;
            expect_grid(c, dims, periods);
            expect_ring(c);
            auto twin = dup_of(c); // a dup has the same grid
            expect_grid(twin, dims, periods);
            expect_slices(twin, dims, periods, remain);
            MPI_Comm part = MPI_COMM_NULL;
            int status = 0;
            MPI_Comm_split(c, 0, 0, &part); // a split has none
            MPI_Topo_test(part, &status);
            EXPECT_EQ(status, MPI_UNDEFINED);
            for (auto* x : {&c, &twin, &part}) MPI_Comm_free(x);
        }
    });
}

TEST(CTopologies, DimensionsAreBalanced) {
    ranks(1, [](int, int) {
        auto const dims = [](int nodes, list d) {
            EXPECT_EQ(MPI_Dims_create(nodes, static_cast<int>(d.size()), d.data()), MPI_SUCCESS);
            return d;
        };
        EXPECT_EQ(dims(6, {0, 0}), (list{3, 2}));
        EXPECT_EQ(dims(7, {0, 0}), (list{7, 1}));
        EXPECT_EQ(dims(6, {0, 3, 0}), (list{2, 3, 1}));
        EXPECT_EQ(dims(64, {0, 0, 0}), (list{4, 4, 4}));
        list bad{0, 3, 0};
        expect_failure(MPI_Dims_create(7, 3, bad.data()), MPI_ERR_DIMS, {"MPI_Dims_create", "7"});
        EXPECT_EQ(bad, (list{0, 3, 0}));
        expect_failure(MPI_Dims_create(7, 3, nullptr), MPI_ERR_ARG, {"dims is a null pointer"});
    });
}

TEST(CTopologies, PlacesThatAreNotThereAreRefused) {
    ranks(4, [](int, int) {
        int const wide[] = {2, 3}, none[] = {0, 2}, flat[] = {0, 0};
        MPI_Comm made = MPI_COMM_SELF; // what cannot be made is null
        expect_failure(MPI_Cart_create(MPI_COMM_WORLD, 2, wide, flat, 0, &made), MPI_ERR_DIMS, {"2 x 3", "4 processes"});
        EXPECT_EQ(made, MPI_COMM_NULL);
        expect_failure(MPI_Cart_create(MPI_COMM_WORLD, 2, none, flat, 0, &made), MPI_ERR_DIMS, {"0"});
        expect_failure(MPI_Cart_create(MPI_COMM_WORLD, -1, wide, flat, 0, &made), MPI_ERR_DIMS, {"ndims is -1"});
        expect_failure(MPI_Cart_create(MPI_COMM_WORLD, 2, nullptr, flat, 0, &made), MPI_ERR_ARG, {"dims is a null pointer"});
        EXPECT_EQ(made, MPI_COMM_NULL);
        int n = 0, from = 0, to = 0, out[] = {0, 0};
        int const beyond[] = {0, 2};
        expect_failure(MPI_Cartdim_get(MPI_COMM_WORLD, &n), MPI_ERR_TOPOLOGY, {"no Cartesian grid"});
        expect_failure(MPI_Cart_sub(MPI_COMM_WORLD, flat, &made), MPI_ERR_TOPOLOGY, {"no Cartesian grid"});
        auto c = grid({2, 2}, {1, 0});
        expect_failure(MPI_Cart_rank(c, beyond, &n), MPI_ERR_ARG, {"MPI_Cart_rank", "2"});
        expect_failure(MPI_Cart_coords(c, 4, 2, out), MPI_ERR_RANK, {"rank is 4"});
        expect_failure(MPI_Cart_coords(c, 0, 1, out), MPI_ERR_ARG, {"maxdims is 1", "at least 2"});
        expect_failure(MPI_Cart_shift(c, 2, 1, &from, &to), MPI_ERR_ARG, {"2"});
        int const round[] = {-1, 1}; // along a periodic dimension every coordinate is a place
        EXPECT_EQ(MPI_Cart_rank(c, round, &n), MPI_SUCCESS);
        EXPECT_EQ(n, 3);
        MPI_Comm_free(&c);
    });
}

} // namespace
