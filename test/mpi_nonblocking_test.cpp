#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "support/wires.hpp"

namespace {
using namespace mpt::test;

template <class Stack> using mpi_nonblocking = over<Stack>;
TYPED_TEST_SUITE(mpi_nonblocking, wires);

TYPED_TEST(mpi_nonblocking, every_one_of_them_does_what_the_blocking_one_does) {
    for (int n : {1, 2, 3, 5})
        this->job(n, [n](auto world) {
            int const me = world.rank();
            for (int root = 0; root < n; ++root) {
                std::vector<int> const mine{me, 10 * me};
                std::vector<int> all(static_cast<std::size_t>(2 * n));
                std::iota(all.begin(), all.end(), 100 * me);
                auto met = world.ibarrier();
                auto cast = world.ibroadcast(me == root ? std::vector{7, 8} : std::vector{0, 0}, root);
                auto gathered = world.igather(mine, root);
                auto scattered = world.iscatter(all, std::vector<int>(2), root);
                auto allgathered = world.iallgather(me);
                auto swapped = world.ialltoall(all);
                auto reduced = world.ireduce(me + 1, std::plus{}, root);
                auto most = world.iallreduce(std::vector{me, -me}, [](int a, int b) { return a > b ? a : b; });
                auto upto = world.iscan(me + 1);
                auto below = world.iexscan(me + 1);
                auto part = world.ireduce_scatter_block(all);

                EXPECT_EQ(part.wait(), (world.reduce_scatter_block(all)));
                EXPECT_EQ(below.wait(), me == 0 ? 1 : me * (me + 1) / 2);
                EXPECT_EQ(upto.wait(), (me + 1) * (me + 2) / 2);
                EXPECT_EQ(most.wait(), (std::vector{n - 1, 0}));
                EXPECT_EQ(reduced.wait(), me == root ? n * (n + 1) / 2 : me + 1);
                EXPECT_EQ(swapped.wait(), world.alltoall(all));
                EXPECT_EQ(allgathered.wait(), world.allgather(me));
                EXPECT_EQ(scattered.wait(), (std::vector{100 * root + 2 * me, 100 * root + 2 * me + 1}));
                EXPECT_EQ(gathered.wait(), world.gather(mine, root));
                EXPECT_EQ(cast.wait(), (std::vector{7, 8}));
                met.wait();
            }
        });
}

TYPED_TEST(mpi_nonblocking, a_span_is_worked_on_in_place) {
    this->job(3, [](auto world) {
        std::vector<double> field(5000, 1.0 + world.rank());
        auto sum = world.iallreduce(std::span{field});
        while (!sum.test()) std::this_thread::yield();
        sum.wait();
        EXPECT_EQ(field, std::vector<double>(5000, 6.0));
    });
}

TYPED_TEST(mpi_nonblocking, a_request_that_is_dropped_waits) {
    this->job(3, [](auto world) {
        std::vector<int> v(3000, world.rank() == 1 ? 5 : 0);
        { auto const dropped = world.ibroadcast(std::span{v}, 1); }
        EXPECT_EQ(v, std::vector<int>(3000, 5));
        auto one = world.iallreduce(1);
        one = world.iallreduce(2); // waits for the first
        EXPECT_EQ(one.wait(), 6);
        EXPECT_FALSE(one.pending());
        EXPECT_THROW(static_cast<void>(one.wait()), mpt::error);
    });
}

TYPED_TEST(mpi_nonblocking, an_exception_that_unwinds_past_one_does_not_wait_for_ranks_that_never_come) {
    this->job(2, [](auto world) {
        if (world.rank() == 0) {
            try {
                auto const met = world.ibarrier();
                throw 5;
            } catch (int five) { EXPECT_EQ(five, 5); }
        }
        world.barrier();
    });
}

TYPED_TEST(mpi_nonblocking, what_an_operation_throws_comes_out_of_wait) {
    this->job(2, [](auto world) {
        auto sum = world.iallreduce(1, [](int, int) -> int { throw std::domain_error{"no such sum"}; });
        EXPECT_THROW(static_cast<void>(sum.wait()), std::domain_error);
        world.barrier();
    });
}

TYPED_TEST(mpi_nonblocking, a_root_that_is_not_there_is_refused_and_leaves_the_ranks_agreed) {
    this->job(2, [](auto world) {
        if (world.rank() == 0) { EXPECT_THROW(static_cast<void>(world.ibroadcast(1, 2)), mpt::error); }
        EXPECT_EQ(world.iallreduce(1).wait(), 2);
    });
}

TYPED_TEST(mpi_nonblocking, communicators_made_meanwhile_have_messages_and_names_of_their_own) {
    this->job(3, [](auto world) {
        int const me = world.rank(), right = (me + 1) % 3, left = (me + 2) % 3;
        auto first = world.idup(), second = world.idup();
        world.send(me, right, 1);
        auto const b = second.wait(), a = first.wait();
        EXPECT_EQ(a.rank(), me);
        EXPECT_EQ(a.size(), 3);
        EXPECT_TRUE(a.context() != b.context() && a.context() != world.context() && b.context() != world.context());
        a.send(10 + me, right, 1), b.send(20 + me, right, 1);
        EXPECT_EQ(b.template recv<int>(left, 1), 20 + left);
        EXPECT_EQ(a.template recv<int>(left, 1), 10 + left);
        EXPECT_EQ(world.template recv<int>(left, 1), left);
        EXPECT_EQ(a.allreduce(me), 3);
        a.set_name("halo");
        EXPECT_EQ(a.view().name(), "halo");
        EXPECT_EQ(a.dup().name() + b.name(), "");
    });
}
} // namespace
