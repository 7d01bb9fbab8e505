#include <atomic>

#include "support/team.hpp"
#include <mpt/coll/barrier.hpp>

namespace {
using namespace mpt::test;

template <class Stack> using coll_barrier = team_over<Stack>;
TYPED_TEST_SUITE(coll_barrier, wires);

TYPED_TEST(coll_barrier, nobody_leaves_before_everybody_came) {
    for (int n : sizes_of_teams) {
        std::vector<std::atomic<int>> came(static_cast<std::size_t>(n));
        this->run_team(n, [&](auto const& team, int me) {
            for (int round = 1; round <= 100; ++round) {
                came[static_cast<std::size_t>(me)].store(round, std::memory_order_relaxed);
                mpt::coll::barrier(team);
                for (auto const& c : came) ASSERT_GE(c.load(std::memory_order_relaxed), round);
            }
        });
    }
}

TYPED_TEST(coll_barrier, comes_to_an_end_where_every_sender_is_throttled) {
    auto const values = mpt::config::values{}.set<"MPT_UNEXPECTED_MAX">("0");
    this->job(4, values, [](auto world) {
        int const n = world.size(), me = world.rank();
        for (int i = 0; i < 20; ++i) world.send(i, (me + 1) % n, 7); // unexpected: the receivers ask for announcements
        for (int round = 0; round < 50; ++round) world.barrier();
        for (int i = 0; i < 20; ++i) EXPECT_EQ(world.template recv<int>((me - 1 + n) % n, 7), i);
    });
}

TYPED_TEST(coll_barrier, what_was_written_before_it_is_seen_after_it) {
    for (int n : {2, 5}) {
        std::vector<int> plain(static_cast<std::size_t>(n)); // no atomics: the barrier orders them
        this->run_team(n, [&](auto const& team, int me) {
            for (int round = 1; round <= 50; ++round) {
                plain[static_cast<std::size_t>(me)] = round;
                mpt::coll::barrier(team);
                for (int v : plain) ASSERT_EQ(v, round);
                mpt::coll::barrier(team);
            }
        });
    }
}

TYPED_TEST(coll_barrier, is_not_met_by_messages_of_other_contexts) {
    this->job(3, [](auto world) {
        int const next = (world.rank() + 1) % 3;
        world.send(7, next, static_cast<int>(mpt::coll::speaker::barrier));
        for (int i = 0; i < 20; ++i) world.barrier();
        EXPECT_EQ(world.template recv<int>(), 7);
    });
}
} // namespace
