#include <numeric>
#include <string>

#include "support/wires.hpp"

namespace {
using namespace mpt::test;

template <class Stack> using mpi_collectives = over<Stack>;
TYPED_TEST_SUITE(mpi_collectives, wires);

/// Rank r's list: r, r, ... r times.
std::vector<int> list_of(int r) { return std::vector<int>(static_cast<std::size_t>(r), r); }

TYPED_TEST(mpi_collectives, gather_values_and_ranges) {
    this->job(3, [](auto world) {
        int const me = world.rank();
        auto const values = world.gather(10 * me, 1);
        auto const ranges = world.gather(std::array{me, -me}, 2);
        auto const flags = world.gather(me != 1);
        if (me == 1) EXPECT_EQ(values, (std::vector{0, 10, 20}));
        else EXPECT_TRUE(values.empty());
        if (me == 2) { EXPECT_EQ(ranges, (std::vector{0, 0, 1, -1, 2, -2})); }
        if (me == 0) { EXPECT_EQ(flags, (std::vector<bool>{true, false, true})); }
    });
}

TYPED_TEST(mpi_collectives, lists_of_any_length_find_their_way) {
    this->job(4, [](auto world) {
        int const me = world.rank();
        auto const gathered = world.gatherv(list_of(me), 3);
        if (me == 3) EXPECT_EQ(gathered, (std::vector{list_of(0), list_of(1), list_of(2), list_of(3)}));
        else EXPECT_TRUE(gathered.empty());
        EXPECT_EQ(world.scatterv(gathered, 3), list_of(me));
        EXPECT_EQ(world.allgatherv(list_of(me)), (std::vector{list_of(0), list_of(1), list_of(2), list_of(3)}));
        std::vector<std::vector<int>> mine;
        for (int r = 0; r < 4; ++r) mine.push_back(list_of(me * r));
        auto const all = world.alltoallv(mine);
        for (int r = 0; r < 4; ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], list_of(me * r));
    });
}

TYPED_TEST(mpi_collectives, scatter_into_values_and_ranges) {
    this->job(3, [](auto world) {
        std::vector<int> all;
        if (world.rank() == 2) all = {1, 2, 3, 4, 5, 6};
        std::array<int, 2> two{};
        world.scatter(all, two, 2);
        EXPECT_EQ(two, (std::array{2 * world.rank() + 1, 2 * world.rank() + 2}));
        int one = 0;
        world.scatter(std::array{7, 8, 9}, one);
        EXPECT_EQ(one, 7 + world.rank());
    });
}

TYPED_TEST(mpi_collectives, everybody_to_everybody) {
    this->job(3, [](auto world) {
        int const me = world.rank();
        long value = me == 2 ? 17 : 0;
        world.broadcast(value, 2);
        EXPECT_EQ(value, 17);
        EXPECT_EQ(world.allgather(std::array{me, me}), (std::vector{0, 0, 1, 1, 2, 2}));
        EXPECT_EQ(world.alltoall(std::vector{10 * me, 10 * me + 1, 10 * me + 2}), (std::vector{me, 10 + me, 20 + me}));
    });
}

TYPED_TEST(mpi_collectives, reductions_of_values) {
    this->job(4, [](auto world) {
        int const me = world.rank();
        EXPECT_EQ(world.reduce(me + 1, std::multiplies{}, 2), me == 2 ? std::optional{24} : std::nullopt);
        EXPECT_EQ(world.scan(me), me * (me + 1) / 2);
        EXPECT_EQ(world.exscan(me, mpt::max), me == 0 ? std::nullopt : std::optional{me - 1});
        auto const last = [](int, int b) { return b; }; // does not commute
        EXPECT_EQ(world.reduce(me, last), me == 0 ? std::optional{3} : std::nullopt);
    });
}

TYPED_TEST(mpi_collectives, reductions_of_ranges) {
    this->job(3, [](auto world) {
        int const me = world.rank();
        std::vector v{me, 10 * me};
        world.reduce(v, std::plus{}, 1);
        EXPECT_EQ(v, me == 1 ? (std::vector{3, 30}) : (std::vector{me, 10 * me}));
        v = {me, 10 * me};
        world.scan(v);
        EXPECT_EQ(v, (std::vector{me * (me + 1) / 2, 5 * me * (me + 1)}));
        v = {me, 10 * me};
        world.exscan(v);
        EXPECT_EQ(v, (std::vector{me * (me - 1) / 2, 5 * me * (me - 1)}));
        EXPECT_EQ(world.reduce_scatter_block(std::vector{me, 1, me, 2, me, 3}), (std::vector{3, 3 * (me + 1)}));
        std::array const counts{1, 0, 2};
        EXPECT_EQ(world.reduce_scatter(std::vector{me, 1, me}, counts), me == 0   ? std::vector{3}
                                                                        : me == 1 ? std::vector<int>{}
                                                                                  : (std::vector{3, 3}));
    });
}

TYPED_TEST(mpi_collectives, arguments_that_do_not_fit_are_sentences_and_nothing_is_sent) {
    this->job(2, [](auto world) {
        auto quiet = world.template with<mpt::errors::returning>();
        auto const says = [](auto const& r, std::string_view what) {
            return !r.has_value() && std::string_view{r.error().what()}.find(what) != std::string_view::npos;
        };
        EXPECT_TRUE(says(quiet.alltoall(std::array{1, 2, 3}), "alltoall: 3 given, but 1 for each of 2 ranks are 2"));
        EXPECT_TRUE(says(quiet.alltoallv(std::vector<std::vector<int>>(3)), "alltoallv: 3 pieces for 2 ranks"));
        EXPECT_TRUE(says(quiet.reduce_scatter_block(std::array{1}), "reduce_scatter_block: 1 given"));
        EXPECT_TRUE(says(quiet.reduce_scatter(std::array{1, 2}, std::array{1, 2}), "reduce_scatter: 2 given"));
        EXPECT_TRUE(says(quiet.reduce_scatter(std::array{1, 2}, std::array{2}), "reduce_scatter: 1 pieces for 2 ranks"));
        EXPECT_TRUE(says(quiet.gather(1, 2), "gather: rank 2 is not in the communicator"));
        EXPECT_TRUE(says(quiet.reduce(1, std::plus{}, -1), "reduce: rank -1"));
        EXPECT_EQ(world.allreduce(1), 2);
    });
}

static_assert(sizeof(mpt::communicator_view<mpt::local_stack>) == sizeof(void*), "a view is one word");
static_assert(std::is_trivially_copyable_v<mpt::communicator_view<mpt::local_stack>>);
} // namespace
