#include <random>
#include <thread>

#include "support/dice.hpp"
#include "support/wires.hpp"
#include <mpt/mpi/generalized.hpp>

namespace {
using namespace mpt::test;

template <class Stack> using mpi_generalized = over<Stack>;
TYPED_TEST_SUITE(mpi_generalized, wires);

/// Operations of helpers and messages, of one list: each comes once, in whatever order, with what was told of it.
TYPED_TEST(mpi_generalized, a_helpers_operation_is_waited_for_among_messages) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    this->job(2, [seed](auto world) {
        int const me = world.rank(), other = 1 - me;
        dice d{seed + static_cast<unsigned>(me)};
        for (int round = 0; round < 50; ++round) {
            int came = -1;
            std::vector<typename decltype(world)::request> all;
            mpt::generalized first{world}, second{world};
            all.push_back(first.request()), all.push_back(world.irecv(came, other, 3)), all.push_back(second.request());
            auto const bytes = std::size_t{d.below(1000)};
            std::thread helper{[&] {
                first.complete({.source = other, .tag = 7, .bytes = bytes});
                second.complete();
            }};
            world.send(round, other, 3);
            std::vector<bool> seen(3);
            while (auto const which = mpt::wait_any(all)) {
                EXPECT_FALSE(seen[*which]);
                seen[*which] = true;
                auto const m = all[*which].wait();
                EXPECT_FALSE(m.cancelled);
                auto const from = *which == 2 ? mpt::rank{mpt::any_source} : mpt::rank{other};
                EXPECT_EQ(m.source, from);
                EXPECT_EQ(m.tag, mpt::tag{*which == 0 ? 7 : *which == 1 ? 3 : mpt::any_tag.value});
                EXPECT_EQ(m.bytes, *which == 0 ? bytes : *which == 1 ? sizeof came : 0);
                if (*which == 1) { EXPECT_EQ(came, round); }
            }
            helper.join();
            EXPECT_EQ(seen, std::vector<bool>(3, true));
        }
    });
}

TYPED_TEST(mpi_generalized, is_complete_when_it_was_completed_and_not_before) {
    this->job(1, [](auto world) {
        mpt::generalized work{world};
        auto r = work.request();
        EXPECT_THROW(static_cast<void>(work.request()), mpt::error);
        EXPECT_FALSE(r.test());
        r.cancel(); // asks nobody
        EXPECT_FALSE(r.test());
        EXPECT_THROW(work.complete({.source = 1}), mpt::error); // no such rank: nothing has happened
        EXPECT_FALSE(r.test());
        work.complete({.source = 0, .tag = 1, .bytes = 8});
        EXPECT_TRUE(r.test());
        EXPECT_EQ(r.wait().template count<double>(), 1u);
        EXPECT_THROW(work.complete(), mpt::error);
    });
}

TYPED_TEST(mpi_generalized, one_that_goes_uncompleted_was_cancelled) {
    this->job(1, [](auto world) {
        auto r = mpt::generalized{world}.request();
        EXPECT_TRUE(r.test());
        EXPECT_TRUE(r.wait().cancelled);
        mpt::generalized const unused{world};
    });
}

TYPED_TEST(mpi_generalized, tells_what_its_query_says_and_is_freed_once) {
    this->job(1, [](auto world) {
        int asked = 0, freed = 0;
        std::vector<bool> cancelled;
        mpt::generalized_callbacks const call{.query = [&]() -> mpt::message_info {
                                                  return {0, 3, 10u + static_cast<unsigned>(++asked)};
                                              },
                                              .free = [&] { ++freed; },
                                              .cancel = [&](bool complete) { cancelled.push_back(complete); }};
        {
            mpt::generalized work{world, call};
            auto r = work.request();
            EXPECT_FALSE(r.get_status());
            r.cancel();
            EXPECT_EQ(asked, 0);
            work.complete({.bytes = 5});
            r.cancel();
            EXPECT_EQ(cancelled, (std::vector{false, true}));
            EXPECT_EQ(r.get_status()->bytes, 11u); // asked each time
            EXPECT_TRUE(r.pending());
            EXPECT_EQ(freed, 0);
            EXPECT_EQ(r.wait().bytes, 12u);
            EXPECT_EQ(freed, 1);
            EXPECT_EQ(r.wait().bytes, 12u) << "what it told";
            EXPECT_EQ(r.get_status()->tag, 3);
            EXPECT_EQ(asked, 2);
        }
        { mpt::generalized{world, call}.complete(); } // waited for by nobody
        EXPECT_EQ(freed, 2);
        EXPECT_EQ(asked, 2);
    });
}

TYPED_TEST(mpi_generalized, ends_with_the_error_that_it_failed_by) {
    this->job(1, [](auto world) {
        int freed = 0;
        mpt::generalized work{world, {.free = [&] { ++freed; }}};
        auto r = work.request();
        work.fail(mpt::error{mpt::errc::usage, "the disk is full"});
        EXPECT_TRUE(r.test());
        for (int i = 0; i < 2; ++i) try {
                static_cast<void>(r.wait());
                ADD_FAILURE() << "it failed";
            } catch (mpt::error const& e) { EXPECT_STREQ(e.what(), "the disk is full"); }
        EXPECT_EQ(freed, 1);
        EXPECT_THROW(work.fail(mpt::error{mpt::errc::usage, "again"}), mpt::error);
    });
}
} // namespace
