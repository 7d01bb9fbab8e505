#include <array>
#include <set>
#include <thread>

#include "support/job_of.hpp"
#include <gtest/gtest.h>
#include <mpt/mpi/environment.hpp>
#include <mpt/mpi/local_job.hpp>
#include <mpt/wait/cpus.hpp>

namespace {
using namespace mpt;
using local = environment<local_stack>;

TEST(stack_runtime, every_rank_is_reachable_when_the_constructor_returns) {
    local_job(5, [](local& env) {
        auto& rt = env.native();
        for (rank r = 0; r < rt.size(); r = r + 1) EXPECT_FALSE(rt.job().address(r, 1, 0).empty()) << r;
    });
}

TEST(stack_runtime, has_as_many_lanes_as_the_variable_says) {
    for (unsigned n : {1u, 3u, 16u})
        local_job(2, config::values{}.set<"MPT_LANES">(std::to_string(n)),
                  [n](local& env) { EXPECT_EQ(env.native().lanes(), n); });
}

TEST(stack_runtime, contexts_are_even_distinct_and_never_the_fixed_ones) {
    local_job(2, [](local& env) {
        std::set<context_id> drawn{runtime<local_stack>::world_context, runtime<local_stack>::self_context};
        EXPECT_EQ(drawn.size(), 2u);
        for (int i = 0; i < 1000; ++i) {
            auto const c = env.native().new_context();
            EXPECT_EQ(static_cast<std::uint64_t>(c) & (mpt::collective_bit | mpt::schedules_bit), 0u);
            EXPECT_TRUE(drawn.insert(c).second);
        }
    });
}

TEST(stack_runtime, a_context_has_the_same_lane_on_every_rank_and_on_both_its_sides) {
    local_job(3, config::values{}.set<"MPT_LANES">("3"), [](local& env) {
        auto& rt = env.native();
        auto const number_of = [&](lane<local_stack>& l) {
            for (unsigned i = 0;; ++i)
                if (&rt.lane_at(i) == &l) return i;
        };
        std::set<unsigned> used;
        for (std::uint64_t i = 0; i < 30; ++i) {
            auto context = rt.new_context();
            auto const world = env.world();
            world.broadcast(context);
            auto const mine = number_of(rt.lane_of(context));
            EXPECT_EQ(number_of(rt.lane_of(collective(context))), mine);
            for (auto theirs : world.allgather(mine)) EXPECT_EQ(theirs, mine);
            used.insert(mine);
        }
        EXPECT_GT(used.size(), 1u) << "contexts are spread over the lanes";
    });
}

TEST(stack_runtime, contexts_made_one_after_the_other_share_no_lane_while_there_are_lanes) {
    for (unsigned lanes : {2u, 3u, 7u, 16u})
        local_job(1, config::values{}.set<"MPT_LANES">(std::to_string(lanes)), [lanes](local& env) {
            auto& rt = env.native();
            std::set<context_id> drawn;
            for (int round = 0; round < 50; ++round) {
                std::set<lane<local_stack>*> used;
                for (unsigned i = 0; i < lanes; ++i) {
                    auto const c = rt.new_context();
                    EXPECT_EQ(static_cast<std::uint64_t>(c) & (collective_bit | schedules_bit), 0u);
                    EXPECT_TRUE(drawn.insert(c).second);
                    used.insert(&rt.lane_of(c));
                }
                EXPECT_EQ(used.size(), lanes);
            }
        });
}

TEST(stack_runtime, a_lock_for_each_object_has_many_lanes_unless_the_user_says_how_many) {
    using fine = environment<local_per_object_stack>;
    local_job<local_per_object_stack>(1, [](fine& env) { EXPECT_EQ(env.native().lanes(), lock::per_object::lanes); });
    for (int ranks : {2, 5}) // two lanes for each CPU of a rank's
        local_job<local_per_object_stack>(ranks, [ranks](fine& env) {
            auto const room = 2 * std::max(usable_cpus() / static_cast<unsigned>(ranks), 1u);
            EXPECT_EQ(env.native().lanes(), std::min(room, lock::per_object::lanes));
            EXPECT_EQ(env.native().configuration().template get<"MPT_LANES">(), env.native().lanes());
        });
    local_job<local_per_object_stack>(3, config::values{}.set<"MPT_LANES">("16"),
                                      [](fine& env) { EXPECT_EQ(env.native().lanes(), 16u); });
    local_job<local_per_object_stack>(2, config::values{}.set<"MPT_LANES">("1"),
                                      [](fine& env) { EXPECT_EQ(env.native().lanes(), 1u); });
}

TEST(stack_runtime, memory_is_whole_zeroed_and_in_the_slice) {
    local_job(2, [](local& env) {
        auto& rt = env.native();
        for (int round = 0; round < 3; ++round) {
            auto const m = rt.allocate(100_KiB);
            ASSERT_GE(m.size(), 100u << 10);
            EXPECT_TRUE(rt.heap().contains(m.data(), m.size()));
            EXPECT_EQ(std::count(m.begin(), m.end(), std::byte{0}), static_cast<std::ptrdiff_t>(m.size()));
            std::fill(m.begin(), m.end(), std::byte{1}); // the next round must not see it
            rt.deallocate(m);
        }
        EXPECT_TRUE(rt.allocate(0_B).empty());
    });
}

TEST(stack_runtime, more_than_there_is_is_an_error_with_numbers_and_leaves_it_working) {
    local_job(2, [](local& env) {
        auto& rt = env.native();
        auto const used = rt.heap().used();
        for (std::size_t n : {std::size_t{1} << 50, ~std::size_t{0}, rt.heap().whole().size() + 4096}) try {
                static_cast<void>(rt.allocate(bytes{n}));
                ADD_FAILURE() << n << " bytes were given";
            } catch (error const& e) {
                EXPECT_EQ(e.code(), errc::no_memory);
                EXPECT_NE(std::string{e.what()}.find_first_of("0123456789"), std::string::npos) << e.what();
            }
        EXPECT_EQ(rt.heap().used(), used);
        rt.deallocate(rt.allocate(8_KiB));
        EXPECT_THROW(static_cast<void>(env.allocate<double>(~std::size_t{0} / 2)), error);
    });
}

TEST(stack_runtime, threads_of_a_rank_may_take_memory_at_the_same_time) {
    local_job(1, [](local& env) {
        constexpr int threads = 4, each = 300;
        std::vector<std::pair<std::byte*, std::size_t>> taken[threads];
        std::vector<std::thread> all;
        for (int t = 0; t < threads; ++t)
            all.emplace_back([&, t] {
                for (int i = 0; i < each; ++i) {
                    auto const m = i % 2 ? env.native().heap().extent(4096) : env.native().allocate(4_KiB);
                    taken[t].emplace_back(m.data(), m.size());
                    if (i % 4 == 0) env.native().deallocate(m), taken[t].pop_back();
                }
            });
        for (auto& t : all) t.join();
        std::vector<std::pair<std::byte*, std::size_t>> sorted;
        for (auto const& t : taken) sorted.insert(sorted.end(), t.begin(), t.end());
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t i = 1; i < sorted.size(); ++i) ASSERT_LE(sorted[i - 1].first + sorted[i - 1].second, sorted[i].first);
    });
}

TEST(stack_runtime, leaving_finishes_what_was_sent_and_not_waited_for) {
    test::watchdog const guard{"leaving with sends under way"};
    for (int lanes : {1, 3})
        local_job(3, config::values{}.set<"MPT_LANES">(std::to_string(lanes)), [](local& env) {
            auto& rt = env.native();
            channel<local_stack> const wire{rt.lane_at(rt.lanes() - 1), context_id{4000}};
            // Rank 0 leaves at once; its data lives in memory that outlives the environment.
            static std::vector<std::byte> const data(5000000, std::byte{9});
            if (env.rank() == 0) {
                static_cast<void>(wire.start_send(1, 1, source{data}));
                static_cast<void>(wire.start_send(2, 1, source{data}));
                return;
            }
            rt.world().sleep_for(nanoseconds{20'000'000});
            std::vector<std::byte> got(data.size());
            EXPECT_EQ(wire.recv(0, 1, got).bytes, data.size());
            EXPECT_EQ(got, data);
        });
}

TEST(stack_runtime, leaving_twice_is_leaving_once) {
    local_job(2, [](local& env) {
        env.world().barrier();
        env.native().leave();
        env.native().leave();
    });
}

TEST(stack_runtime, a_rank_that_begins_alone_waits_for_those_it_names_and_meets_the_others_when_they_do) {
    auto const members = boot::local_members(3);
    auto const values = config::values::of_process();
    std::vector<std::thread> ranks;
    for (auto const& m : members)
        ranks.emplace_back([&values, m] {
            runtime<local_stack> rt{m, values, beginning::alone};
            channel<local_stack> const wire{rt.lane_of(rt.world_context), rt.world_context};
            auto const pass = [&](rank to, rank from, int what) {
                int got = -1;
                wire.sendrecv(to, 1, std::as_bytes(std::span{&what, 1}), from, 1, std::as_writable_bytes(std::span{&got, 1}));
                return got;
            };
            if (m.me != 1) {
                rank const peer{2 - m.me.value};
                rt.await(group::of({peer.value}));
                EXPECT_EQ(pass(peer, peer, m.me.value), peer.value);
            }
            rt.meet();
            rank const right{(m.me.value + 1) % 3}, left{(m.me.value + 2) % 3};
            EXPECT_EQ(pass(right, left, m.me.value), left.value);
            rt.leave();
            rt.job().come_back();
            rt.depart();
        });
    for (auto& t : ranks) t.join();
}

/// What counts is how many there are, be they the user's choice or follow from the CPUs.
TEST(stack_runtime, ranks_may_have_come_to_the_same_number_of_lanes_in_different_ways_and_no_others) {
    auto const by_cpus = std::min(2 * std::max(usable_cpus() / 2, 1u), lock::per_object::lanes);
    auto const begin = [](std::string const& lanes) { // the first rank's; the other one is told nothing
        auto const members = boot::local_members(2);
        std::array<std::string, 2> said;
        std::vector<std::thread> ranks;
        for (std::size_t i : {0u, 1u})
            ranks.emplace_back([&, i] {
                try {
                    auto const values = i == 0 ? config::values{}.set<"MPT_LANES">(lanes) : config::values{};
                    runtime<local_per_object_stack> rt{members[i], values};
                    EXPECT_EQ(rt.lanes(), std::stoul(lanes));
                } catch (error const& e) {
                    said[i] = e.what();
                    boot::end_local_job(members[i]);
                }
            });
        for (auto& t : ranks) t.join();
        return said[0] + said[1];
    };
    EXPECT_EQ(begin(std::to_string(by_cpus)), "");
    EXPECT_NE(begin(std::to_string(by_cpus == 16 ? 15 : 16)).find("MPT_LANES"), std::string::npos);
}

TEST(stack_runtime, a_configuration_that_differs_between_ranks_is_refused_by_name) {
    auto const members = boot::local_members(2);
    std::string said[2];
    std::vector<std::thread> ranks;
    for (std::size_t i : {0u, 1u})
        ranks.emplace_back([&, i] {
            try {
                runtime<local_stack> rt{members[i], config::values{}.set<"MPT_LANES">(i == 0 ? "1" : "2")};
            } catch (error const& e) {
                said[i] = e.what();
                boot::end_local_job(members[i]);
            }
        });
    for (auto& t : ranks) t.join();
    EXPECT_NE((said[0] + said[1]).find("MPT_LANES"), std::string::npos) << said[0] << said[1];
}
} // namespace
