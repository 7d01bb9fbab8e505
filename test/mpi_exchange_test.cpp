#include <numeric>

#include "support/wires.hpp"
#include <mpt/mpi/exchange.hpp>

namespace {
using namespace mpt::test;

template <class Stack> using mpi_exchange = over<Stack>;
TYPED_TEST_SUITE(mpi_exchange, wires);

/// Round the ring, in all three ways, at sizes that go by every protocol.
TYPED_TEST(mpi_exchange, what_goes_to_the_right_comes_from_the_left) {
    for (std::size_t n : {1u, 60u, 3000u, 100'000u})
        this->job(3, [n](auto world) {
            int const me = world.rank(), right = (me + 1) % 3, left = (me + 2) % 3;
            std::vector<int> mine(n), theirs(n), expected(n);
            std::iota(mine.begin(), mine.end(), me), std::iota(expected.begin(), expected.end(), left);
            auto both = mpt::isendrecv(world, mine, right, theirs, left, 4, 4);
            EXPECT_TRUE(both.pending());
            auto const m = both.wait();
            EXPECT_EQ(m.source, left);
            EXPECT_EQ(m.template count<int>(), n);
            EXPECT_EQ(theirs, expected);
            auto block = mine;
            EXPECT_EQ(mpt::sendrecv_replace(world, block, right, left).source, left);
            EXPECT_EQ(block, expected);
            auto turn = mpt::isendrecv_replace(world, block, left, right); // and back
            while (!turn.test()) {}
            turn.wait();
            EXPECT_EQ(block, mine);
        });
}

TYPED_TEST(mpi_exchange, nobody_brings_nothing_and_mistakes_leave_no_receive) {
    this->job(2, [](auto world) {
        int x = 5, y = 6;
        auto none = mpt::isendrecv(world, x, mpt::proc_null, y, mpt::proc_null);
        EXPECT_EQ(none.wait().source, mpt::proc_null);
        EXPECT_EQ(y, 6);
        EXPECT_THROW(static_cast<void>(mpt::isendrecv(world, x, 2, y, 0)), mpt::error);
        EXPECT_THROW(mpt::sendrecv_replace(world, x, 0, 7), mpt::error);
        EXPECT_FALSE(mpt::sendrecv_replace(world.template with<mpt::errors::returning>(), x, 2, 0));
        x = world.rank();
        mpt::sendrecv_replace(world, x, 1 - x, 1 - x);
        EXPECT_EQ(x, 1 - world.rank());
    });
}
} // namespace
