#include <numeric>

#include "support/wires.hpp"
#include <mpt/datatype/typed.hpp>
#include <mpt/mpi/persistent.hpp>

namespace {
using namespace mpt::test;

template <class Stack> using mpi_persistent = over<Stack>;
TYPED_TEST_SUITE(mpi_persistent, wires);

TYPED_TEST(mpi_persistent, each_run_brings_what_the_data_are_then) {
    for (std::size_t n : {1u, 50u, 40'000u})
        this->job(2, [n](auto world) {
            int const other = 1 - world.rank();
            std::vector<int> mine(n), theirs(n);
            auto out = mpt::persistent_send(world, mine, other, 5);
            auto sync = mpt::persistent_send(world, mine, other, 6, mpt::send_mode::synchronous);
            auto in = mpt::persistent_recv(world, theirs, other, 5);
            EXPECT_TRUE(out.test());
            for (int run = 0; run < 5; ++run) {
                std::iota(mine.begin(), mine.end(), 1000 * world.rank() + run);
                in.start(), out.start();
                EXPECT_TRUE(in.pending());
                EXPECT_THROW(in.start(), mpt::error);
                auto const m = in.wait();
                out.wait();
                EXPECT_FALSE(in.pending());
                EXPECT_EQ(m.source, other);
                EXPECT_EQ(m.template count<int>(), n);
                EXPECT_EQ(theirs.front(), 1000 * other + run);
                EXPECT_EQ(theirs.back(), 1000 * other + run + static_cast<int>(n) - 1);
                sync.start(); // meets any receive
                EXPECT_EQ(world.template recv<std::vector<int>>(other, 6), theirs);
                sync.wait();
            }
        });
}

TYPED_TEST(mpi_persistent, a_ready_one_meets_the_receive_that_was_started_before) {
    this->job(2, [](auto world) {
        int const other = 1 - world.rank();
        std::vector<int> mine(3000), theirs(3000);
        auto in = mpt::persistent_recv(world, theirs, other, 4);
        auto out = mpt::persistent_rsend(world, mine, other, 4);
        for (int run = 0; run < 3; ++run) {
            std::ranges::fill(mine, 10 * run + world.rank());
            in.start();
            world.barrier();
            out.start(), out.wait();
            EXPECT_EQ(in.wait().template count<int>(), 3000u);
            EXPECT_EQ(theirs, std::vector<int>(3000, 10 * run + other));
        }
    });
}

TYPED_TEST(mpi_persistent, one_that_waits_for_nothing_is_withdrawn_and_others_are_refused) {
    this->job(1, [](auto world) {
        int x = 0;
        auto in = mpt::persistent_recv(world, x);
        in.start();
        in.cancel();
        EXPECT_TRUE(in.wait().cancelled);
        EXPECT_EQ(in.wait().bytes, 0u) << "nothing was started";
        EXPECT_THROW(static_cast<void>(mpt::persistent_send(world, x, 1)), mpt::error);
        EXPECT_THROW(static_cast<void>(mpt::persistent_recv(world, x, 1)), mpt::error);
        EXPECT_THROW(static_cast<void>(mpt::persistent_send(world, x, 0, -1)), mpt::error);
        std::vector<int> every_other(6, 1);
        auto const gaps = mpt::datatype::vector(3, 1, 2, mpt::datatype::named(mpt::element_kind::c_int));
        mpt::typed_source const from{every_other.data(), 1, gaps};
        auto out = mpt::persistent_send(world, from, 0);
        for (int run = 0; run < 3; ++run) {
            every_other = {run, -1, run + 1, -1, run + 2, -1};
            out.start();
            EXPECT_EQ(world.template recv<std::vector<int>>(0), (std::vector{run, run + 1, run + 2}));
            out.wait();
        }
    });
}
} // namespace
