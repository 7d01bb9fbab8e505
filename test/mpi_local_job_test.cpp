#include <atomic>
#include <stdexcept>

#include "support/wires.hpp"

namespace {
using namespace mpt;
template <class Stack> using mpi_local_job = test::over<Stack>;
TYPED_TEST_SUITE(mpi_local_job, test::wires);

TYPED_TEST(mpi_local_job, every_rank_runs_once) {
    for (int n : {1, 2, 7}) {
        std::vector<std::atomic<int>> ran(static_cast<std::size_t>(n));
        this->job(n, [&](auto world) {
            EXPECT_EQ(world.size(), n);
            ran[static_cast<std::size_t>(world.rank().value)].fetch_add(1, std::memory_order_relaxed);
        });
        for (auto const& r : ran) EXPECT_EQ(r.load(std::memory_order_relaxed), 1);
    }
}

TYPED_TEST(mpi_local_job, gives_the_environment_to_who_takes_it) {
    this->job(2, [](environment<TypeParam>& env) {
        EXPECT_EQ(env.world().rank(), env.rank());
        EXPECT_EQ(env.self().size(), 1);
    });
}

TYPED_TEST(mpi_local_job, no_ranks_are_a_sentence) {
    for (int n : {0, -3}) try {
            this->job(n, [](auto) { FAIL() << "ran"; });
            ADD_FAILURE() << "nothing was thrown";
        } catch (error const& e) {
            EXPECT_EQ(e.code(), errc::argument);
            EXPECT_NE(std::string{e.what()}.find(std::to_string(n)), std::string::npos) << e.what();
        }
}

/// What a job of n ranks throws when fn runs on each.
template <class Stack, class F> std::string thrown_by(int n, F&& fn) {
    try {
        local_job<Stack>(n, std::forward<F>(fn));
    } catch (std::exception const& e) { return e.what(); }
    return "nothing";
}

TYPED_TEST(mpi_local_job, what_the_first_rank_throws_is_thrown_whatever_the_others_wait_in) {
    auto const others_in = [](auto wait) {
        return thrown_by<TypeParam>(3, [&](auto world) {
            if (world.rank() == 2) throw std::runtime_error{"rank 2 gives up"};
            wait(world);
            ADD_FAILURE() << "rank " << world.rank() << " did not hear of it";
        });
    };
    EXPECT_EQ(others_in([](auto w) { w.template recv<int>(2); }), "rank 2 gives up");
    EXPECT_EQ(others_in([](auto w) { w.barrier(); }), "rank 2 gives up");
    EXPECT_EQ(others_in([](auto w) { w.probe(2); }), "rank 2 gives up");
    EXPECT_EQ(others_in([](auto w) { w.ssend(1, 2); }), "rank 2 gives up");
    EXPECT_EQ(others_in([](auto w) { w.allreduce(1); }), "rank 2 gives up");
}

TYPED_TEST(mpi_local_job, a_rank_that_only_asks_hears_of_the_end_too) {
    auto const asking = [](auto ask) {
        return thrown_by<TypeParam>(2, [&](auto world) {
            if (world.rank() == 1) throw std::runtime_error{"rank 1 gives up"};
            int x = 0;
            auto r = world.irecv(x, 1, 3);
            while (!ask(world, r)) world.native().run->world().yield();
        });
    };
    EXPECT_EQ(asking([](auto&, auto& r) { return r.test(); }), "rank 1 gives up");
    EXPECT_EQ(asking([](auto& w, auto&) { return w.iprobe(1).has_value(); }), "rank 1 gives up");
    EXPECT_EQ(asking([](auto& w, auto&) { return w.improbe(1).has_value(); }), "rank 1 gives up");
}

TYPED_TEST(mpi_local_job, an_exception_past_pending_requests_does_not_wait_for_messages_that_never_come) {
    EXPECT_EQ(thrown_by<TypeParam>(2,
                                   [](auto world) {
                                       int const other = 1 - world.rank();
                                       int x = 0;
                                       auto r = world.irecv(x, other, 1);
                                       auto f = world.template irecv<std::vector<int>>(other, 2);
                                       if (world.rank() == 0) throw std::runtime_error{"rank 0 gives up"};
                                       r.wait();
                                   }),
              "rank 0 gives up");
}

TYPED_TEST(mpi_local_job, a_message_that_was_taken_can_be_dropped_after_the_end) {
    EXPECT_EQ(thrown_by<TypeParam>(2,
                                   [](auto world) {
                                       std::vector<int> const large(300000);
                                       if (world.rank() == 0) {
                                           auto r = world.isend(large, 1);
                                           world.template recv<int>(1);
                                           r.wait();
                                       } else {
                                           auto m = world.mprobe(0);
                                           throw std::runtime_error{"rank 1 gives up"};
                                       }
                                   }),
              "rank 1 gives up");
}

TYPED_TEST(mpi_local_job, a_job_comes_after_a_failed_one) {
    EXPECT_NE(thrown_by<TypeParam>(2, [](auto world) { world.send(1, 5); }), "nothing");
    this->job(2, [](auto world) { EXPECT_EQ(world.allreduce(1), 2); });
}
} // namespace
