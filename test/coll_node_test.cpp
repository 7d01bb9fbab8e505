#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/mpi/local_job.hpp>

#include "support/team.hpp"
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>

namespace {
using namespace mpt::test;
namespace config = mpt::config;
using view = mpt::environment<mpt::local_stack>::view;

template <class F> void job(int n, config::values const& v, F fn) { mpt::local_job<mpt::local_stack>(n, v, fn); }
config::values calls(std::string_view n) { return config::values{}.set<"MPT_NODE_CALLS">(n); }

TEST(coll_node, a_communicator_has_none_before_the_call_that_the_variable_names) {
    job(3, calls("4"), [](view world) {
        auto const& shared = world.native().shared;
        for (int i = 1; i <= 10; ++i) {
            world.barrier();
            EXPECT_EQ(shared.room != nullptr, i >= 4) << i;
        }
        auto const other = world.dup(); // which some collective of the parent made
        EXPECT_EQ(other.native().shared.room, nullptr);
    });
}

TEST(coll_node, none_is_made_where_the_variables_say_so) {
    job(3, calls("0"), [](view world) {
        for (int i = 0; i < 10; ++i) world.barrier();
        EXPECT_EQ(world.native().shared.room, nullptr);
    });
    job(3, calls("1").set<"MPT_NODE_RANKS">("2"), [](view world) {
        for (int i = 0; i < 10; ++i) world.barrier();
        EXPECT_EQ(world.native().shared.room, nullptr);
    });
}

TEST(coll_node, over_streams_there_is_none) {
    mpt::local_job<mpt::local_stream_stack>(3, calls("1"), [](mpt::environment<mpt::local_stream_stack>::view world) {
        for (int i = 0; i < 10; ++i) world.barrier();
        EXPECT_EQ(world.native().shared.room, nullptr);
        EXPECT_FALSE(world.native().shared.refused);
    });
}

TEST(coll_node, communicators_that_come_and_go_leave_their_memory) {
    job(3, calls("1"), [](view world) {
        std::uint64_t used = 0;
        for (int i = 0; i < 300; ++i) {
            auto const other = world.dup();
            std::vector<int> v(5000, world.rank());
            other.broadcast(v, i % 3);
            EXPECT_EQ(v.back(), i % 3);
            auto const now = world.native().run->heap().used();
            if (i == 30) used = now;
            // A rank may be behind in leaving by a few communicators.
            if (i > 30) { EXPECT_LE(now, 2 * used) << i; }
        }
    });
}

TEST(coll_node, ranks_without_memory_for_it_go_on_with_messages_all_of_them) {
    for (int poor : {0, 2})
        job(3, calls("1").set<"MPT_SLICE">("16M"), [poor](view world) {
            auto& heap = world.native().run->heap();
            if (world.rank() == poor) {
                while (!heap.extent(1 << 20).empty()) {} // takes all there is
                while (!heap.extent(4096).empty()) {}
                while (heap.object(4096, 64)) {}
            }
            for (int i = 0; i < 20; ++i) {
                std::vector<int> v(i % 2 ? 5 : 9000, world.rank() == i % 3 ? i : -1);
                world.broadcast(v, i % 3);
                EXPECT_EQ(v.back(), i);
                EXPECT_EQ(world.allreduce(1), 3);
            }
            EXPECT_EQ(world.native().shared.room, nullptr);
            EXPECT_TRUE(world.native().shared.refused);
        });
}

TEST(coll_node, a_communicator_may_outlive_its_environment) {
    std::vector<std::optional<mpt::communicator<mpt::local_stack>>> left(2);
    auto const members = mpt::boot::local_members(2);
    std::vector<std::thread> ranks;
    for (std::size_t r = 0; r < 2; ++r)
        ranks.emplace_back([&, r] {
            mpt::environment<mpt::local_stack> env{members[r], calls("1")};
            left[r].emplace(env.world().dup());
            left[r]->barrier();
            EXPECT_NE(left[r]->native().shared.room, nullptr);
        });
    for (auto& t : ranks) t.join();
    left.clear();
}

TEST(coll_node, sub_communicators_have_their_own) {
    job(5, calls("1"), [](view world) {
        auto const half = world.split(world.rank() % 2, -static_cast<int>(world.rank()));
        for (int i = 0; i < 30; ++i) {
            EXPECT_EQ(half->allreduce(static_cast<int>(world.rank())), world.rank() % 2 ? 4 : 6);
            EXPECT_EQ(world.allreduce(1), 5);
        }
    });
}

} // namespace
