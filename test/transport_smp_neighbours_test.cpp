#include <gtest/gtest.h>

#include "support/job_of.hpp"
#include <mpt/transport/smp/neighbours.hpp>
#include <mpt/world/threads.hpp>

namespace {
using namespace mpt;
using neighbours = smp::neighbours<world::threads>;

/// How much of the heap's current run was handed out: extents lie one behind the other.
std::uint64_t mark(mem::slice_heap& heap) { return heap.refer(heap.extent(128).data()).offset; }

/// Each rank of n runs f(neighbours, me) after all have published and met; then all meet again.
template <class F> void with_neighbours(int n, smp::settings const& s, F f) {
    test::run_ranks(n, [&](boot::job& job, mem::slice_heap& heap, int me) {
        neighbours all{lane_context<world::threads>{{}, job, heap, 0, 0, 1, {}}, s, 0};
        job.meet();
        EXPECT_FALSE(all.find(rank{(me + 1) % n})) << "nobody has published an address yet";
        job.meet();
        auto const a = all.address();
        job.publish(0, 0, std::as_bytes(std::span{&a, 1}));
        job.meet();
        f(all, me, job, heap);
        job.meet();
    });
}

TEST(smp_neighbours, few_ranks_can_send_to_each_other_at_once) {
    with_neighbours(3, {}, [](neighbours& all, int me, boot::job&, mem::slice_heap&) {
        EXPECT_TRUE(all.dense());
        for (int p = 0; p < 3; ++p)
            if (p != me) {
                EXPECT_TRUE(all.find(rank{p}));
                EXPECT_TRUE(all.join(rank{p}));
                EXPECT_TRUE(all.channel_of(rank{p}).sends());
                EXPECT_TRUE(all.channel_of(rank{p}).receives());
                EXPECT_EQ(all.rank_of(all.channel_of(rank{p})), p);
            }
    });
}

TEST(smp_neighbours, with_many_ranks_a_mailbox_comes_of_a_knock_and_costs_nothing_before) {
    with_neighbours(4, {.hot_peers = 3}, [](neighbours& all, int me, boot::job& job, mem::slice_heap& heap) {
        EXPECT_FALSE(all.dense());
        auto const before = mark(heap);
        job.meet();
        if (me == 1) {
            EXPECT_TRUE(all.find(3));
            EXPECT_FALSE(all.join(3));
        }
        job.meet();
        if (me == 3) {
            std::string moved;
            all.counts().sweep([&](std::size_t i) { moved += std::to_string(i); });
            EXPECT_EQ(moved, "1");
            EXPECT_LT(mark(heap) - before, 512u);
            all.invite(1);
            all.invite(1); // once is enough
            EXPECT_GE(mark(heap) - before, smp::mailbox<>::bytes_for(256));
            EXPECT_LT(mark(heap) - before, 2 * smp::mailbox<>::bytes_for(256));
            EXPECT_TRUE(all.channel_of(1).receives());
        }
        job.meet();
        if (me == 1) { EXPECT_TRUE(all.join(3)); }
        if (me == 2) { EXPECT_FALSE(all.channel_of(3).sends()); }
    });
}

TEST(smp_neighbours, a_peer_of_this_process_is_reached_by_plain_loads) {
    with_neighbours(2, {}, [](neighbours& all, int me, boot::job&, mem::slice_heap&) {
        ASSERT_TRUE(all.find(rank{1 - me}));
        EXPECT_TRUE(all.memory_of(rank{1 - me}).same_process);
    });
}

TEST(smp_neighbours, single_copy_switched_off_is_a_refusal_known_beforehand) {
    with_neighbours(2, {.single_copy = false}, [](neighbours& all, int me, boot::job&, mem::slice_heap&) {
        ASSERT_TRUE(all.find(rank{1 - me}));
        EXPECT_EQ(all.memory_of(rank{1 - me}).cma, leave::refused);
    });
}

TEST(smp_neighbours, a_job_of_one_needs_no_mailbox) {
    test::run_ranks(1, [](boot::job& job, mem::slice_heap& heap, int) {
        auto const before = mark(heap);
        neighbours const all{lane_context<world::threads>{{}, job, heap, 0, 0, 1, {}}, smp::settings{}, 0};
        auto const tickets = smp::ticket_book::places * sizeof(smp::ticket_place<>);
        EXPECT_LT(mark(heap) - before, tickets + smp::mailbox<>::bytes_for(256));
    });
}

TEST(smp_neighbours, settings_come_from_the_configuration_and_ring_lines_become_a_power_of_two) {
    auto const s = smp::settings::of(config::values{});
    EXPECT_EQ(s.ring_lines, 256u);
    EXPECT_EQ(s.hot_peers, 16u);
    EXPECT_TRUE(s.single_copy);
    EXPECT_EQ(smp::settings::of(config::values{}.set<"MPT_RING_LINES">("100")).ring_lines, 128u);
    EXPECT_FALSE(smp::settings::of(config::values{}.set<"MPT_SINGLE_COPY">("off")).single_copy);
}

} // namespace
