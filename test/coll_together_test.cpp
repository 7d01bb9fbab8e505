#include <algorithm>
#include <stdexcept>
#include <thread>

#include "support/any_collective.hpp"
#include "support/job_of.hpp"
#include "support/other_sizes.hpp"
#include "support/sanitized.hpp"
#include "support/team.hpp"

namespace {
using namespace mpt::test;
using mpt::errc;
namespace coll = mpt::coll;
namespace config = mpt::config;
using team_type = coll::team<mpt::local_stack>;
using any = any_collective<team_type>;

config::values from_the_first_call() { return config::values{}.set<"MPT_NODE_CALLS">("1"); }

/// fn(team, rank) on n ranks that share memory from their first collective on.
template <class F> void together(int n, config::values const& v, F fn) {
    over<mpt::local_stack>::job(n, v, [&](over<mpt::local_stack>::view world) {
        auto const& s = world.native();
        fn(team_type{s.wire, s.who, s.me, s.rooted_calls, &s.shared}, static_cast<int>(s.me));
        EXPECT_TRUE(n == 1 || s.shared.room) << "they went by messages";
    });
}
template <class F> void together(int n, F fn) { together(n, from_the_first_call(), fn); }

void random_programs(unsigned jobs, int steps, std::initializer_list<config::values> settings) {
    seeds const s{sanitized ? (jobs + 3) / 4 : jobs};
    for (unsigned seed = s.first; seed != s.first + s.count && !testing::Test::HasFailure(); ++seed) {
        dice first{seed};
        auto const n = static_cast<int>(1 + first.below(9));
        auto values = settings.begin()[first.below(static_cast<unsigned>(settings.size()))];
        values.set<"MPT_LANES">(first.coin() ? "1" : "3");
        together(n, values, [&](team_type const& team, int me) {
            dice common{seed}, own{seed + 7919u * static_cast<unsigned>(me + 1)};
            for (int i = 0; i < steps; ++i) any{team, common, own};
            coll::barrier(team);
        });
        if (testing::Test::HasFailure()) ADD_FAILURE() << n << " ranks; replay with MPT_SEED=" << seed;
    }
}

TEST(coll_together, gives_what_each_collective_must_give_whatever_comes_before_and_after_it) {
    random_programs(24, 25, {from_the_first_call(), from_the_first_call().set<"MPT_NODE_CHUNK">("48K")});
}

TEST(coll_together, mixes_with_messages_where_a_size_goes_by_those) {
    random_programs(8, 25,
                    {from_the_first_call().set<"MPT_NODE_MAX">("8K"), from_the_first_call().set<"MPT_NODE_FLAT">("0"),
                     from_the_first_call().set<"MPT_NODE_FLAT">("32K"), from_the_first_call().set<"MPT_NODE_PIECE">("0"),
                     from_the_first_call().set<"MPT_NODE_CALLS">("9")});
}

TEST(coll_together, mixes_with_collectives_that_variables_send_by_messages) {
    auto const off = [](std::string_view words) { return from_the_first_call().set<"MPT_COLL_OFF">(words); };
    random_programs(12, 25,
                    {off("mpi_bcast,mpi_alltoall,mpi_reduce"), off("mpi_allgather,mpi_gather,mpi_scatter"),
                     off("mpi_allgatherv,mpi_gatherv,mpi_scatterv").set<"MPT_GATHERV_AT_ONCE">("1G"),
                     from_the_first_call().set<"MPT_ALLREDUCE_NODE">("off").set<"MPT_BCAST_TREE">("on"),
                     from_the_first_call().set<"MPT_REDUCE_NODE">("off").set<"MPT_GATHERV_AT_ONCE">("8K"),
                     off("mpi_allreduce").set<"MPT_SCATTERV_AT_ONCE">("1G").set<"MPT_GATHERV_AT_ONCE">("1G")});
}

TEST(coll_together, what_variables_send_by_messages_shows_nothing) {
    together(3, from_the_first_call().set<"MPT_COLL_OFF">("mpi_bcast").set<"MPT_ALLREDUCE_NODE">("off"),
             [](team_type const& team, int me) {
                 coll::barrier(team);
                 using room = coll::node_room<mpt::local_stack::world_type>;
                 auto const& entries = *room::of(team);
                 auto const before = entries.shown();
                 int word = me == 0 ? 7 : 0;
                 coll::broadcast(team, std::as_writable_bytes(std::span{&word, 1}), 0);
                 EXPECT_EQ(word, 7);
                 EXPECT_EQ(entries.shown(), before);
                 coll::barrier(team);
                 EXPECT_EQ(entries.shown(), before + 1);
             });
}

TEST(coll_together, ranks_stay_in_step_after_sizes_that_differ) {
    watchdog const guard{"collectives with different sizes"};
    seeds const s{sanitized ? 6u : 24u};
    auto const values = {from_the_first_call(), from_the_first_call().set<"MPT_NODE_FLAT">("0"),
                         from_the_first_call().set<"MPT_NODE_PIECE">("0")};
    for (unsigned seed = s.first; seed != s.first + s.count && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        auto const n = dice{seed}.one_of<int>({2, 3, 4, 5, 8});
        together(n, values.begin()[seed % 3], [&](team_type const& team, int me) {
            dice common{seed};
            disagree(team, common, 30, [&](auto const& what, auto& data) { what.run(team, data); });
            for (int i = 0; i < 10; ++i) { // some in more chunks than are kept
                other_sizes const what{other_sizes::call::broadcast, {1, 10, 1000, 10'000, 40'000}, common, n};
                auto data = what.data(me);
                bool failed = false;
                try {
                    what.run(team, data);
                } catch (mpt::error const& e) { failed = e.code() == errc::truncate; }
                if (what.agree()) { EXPECT_FALSE(failed); }
                coll::barrier(team);
            }
        });
    }
}

TEST(coll_together, a_rank_that_sleeps_is_woken) {
    random_programs(6, 15, {from_the_first_call().set<"MPT_WAIT">("sleep").set<"MPT_NAP">("1000000")});
}

TEST(coll_together, nobody_leaves_a_barrier_before_everybody_came) {
    for (int n : {2, 5}) {
        std::vector<int> plain(static_cast<std::size_t>(n)); // no atomics: the barrier orders them
        together(n, [&](team_type const& team, int me) {
            for (int round = 1; round <= 200; ++round) {
                plain[static_cast<std::size_t>(me)] = round;
                coll::barrier(team);
                for (int v : plain) ASSERT_EQ(v, round);
                coll::barrier(team);
            }
        });
    }
}

TEST(coll_together, a_root_that_runs_ahead_waits_for_its_slowest_reader) {
    together(3, [](team_type const& team, int me) {
        for (int i = 0; i < 300; ++i) {
            std::vector<int> v(i % 3 == 0 ? 5000 : 2, me == 0 ? i : -1);
            coll::broadcast(team, writable(v), 0);
            ASSERT_EQ(v.front(), i);
            ASSERT_EQ(v.back(), i);
            if (me == 2 && i % 50 == 0) std::this_thread::yield();
        }
    });
}

TEST(coll_together, sums_of_floating_point_have_the_bits_that_they_have_by_messages) {
    for (int n : {2, 3, 5, 7})
        together(n, [n](team_type const& team, int me) {
            team_type const by_messages = team.among(team.who(), team.me());
            std::plus<> add;
            auto const op = mpt::detail::operand_of<double>(add);
            dice common{static_cast<unsigned>(n)};
            for (std::size_t len : {1u, 128u, 129u, 1024u, 1025u, 9000u}) {
                std::vector<double> mine(len), all(len), other(len);
                for (std::size_t i = 0; i < len; ++i) mine[i] = 1.0 / (1.0 + me * 7 + static_cast<double>(i % 1000));
                auto const root = static_cast<int>(common.below(static_cast<unsigned>(n)));
                auto const* const data = readable(mine).data();
                coll::allreduce(team, op, data, writable(all).data(), len);
                coll::allreduce(by_messages, op, data, writable(other).data(), len);
                ASSERT_EQ(all, other) << len;
                coll::reduce(team, op, data, writable(all).data(), len, root);
                coll::reduce(by_messages, op, data, writable(other).data(), len, root);
                if (me == root) { ASSERT_EQ(all, other) << len << " at " << root; }
            }
        });
}

TEST(coll_together, elements_too_large_for_a_chunk_go_by_messages) {
    struct block {
        long first;
        char rest[40000];
    };
    together(3, [](team_type const& team, int me) {
        for (int i = 0; i < 3; ++i) {
            std::vector<block> v(2);
            v[0].first = me, v[1].first = 10 * me;
            auto op = [](block a, block const& b) { return a.first += b.first, a; };
            auto const operand = mpt::detail::operand_of<block>(op);
            coll::allreduce(team, operand, nullptr, writable(v).data(), v.size());
            ASSERT_EQ(v[0].first, 3);
            ASSERT_EQ(v[1].first, 30);
            coll::barrier(team);
        }
    });
}

TEST(coll_together, other_requests_go_on_while_a_rank_waits) {
    over<mpt::local_stack>::job(2, from_the_first_call(), [](over<mpt::local_stack>::view world) {
        world.barrier();
        std::vector<char> large(1 << 20, static_cast<char>(world.rank() + 1)), got(large.size());
        if (world.rank() == 0) {
            auto r = world.isend(large, 1, 5);
            world.barrier(); // rank 1 comes to it only when it has the message, which needs us
            r.wait();
        } else {
            world.recv(got, 0, 5);
            EXPECT_EQ(got.back(), 1);
            world.barrier();
        }
    });
}

/// What each rank says; nothing: it did not throw. Whoever threw does not go on.
std::vector<std::string> said(int n, config::values const& v, auto fn) {
    std::vector<std::string> all(static_cast<std::size_t>(n));
    watchdog const guard{"ranks that disagree"};
    try {
        together(n, v, [&](team_type const& team, int me) {
            coll::barrier(team);
            try {
                fn(team, me);
                coll::barrier(team); // who noticed nothing waits for those that did
            } catch (mpt::error const& e) {
                if (e.code() != errc::peer_gone) all[static_cast<std::size_t>(me)] = e.what();
                throw;
            }
        });
    } catch (mpt::error const&) {}
    return all;
}
bool any_says(std::vector<std::string> const& all, std::string_view what) {
    return std::any_of(all.begin(), all.end(), [&](auto const& s) { return s.find(what) != s.npos; });
}

TEST(coll_together, other_sizes_roots_and_collectives_are_sentences) {
    auto const sum = [](team_type const& team, std::size_t n) {
        std::vector<long> v(n);
        std::plus<> add;
        coll::allreduce(team, mpt::detail::operand_of<long>(add), nullptr, writable(v).data(), n);
    };
    std::size_t const pairs[][2]{{1, 2}, {0, 3}, {100, 200}, {1000, 5000}, {20'000, 20'001}, {5, 50'000}};
    for (auto const& sizes : pairs) {
        auto const all = said(3, from_the_first_call(),
                              [&](team_type const& team, int me) { sum(team, sizes[static_cast<std::size_t>(me == 1)]); });
        EXPECT_TRUE(any_says(all, "called a collective with different sizes")) << sizes[0] << " and " << sizes[1];
    }
    auto const roots = said(3, from_the_first_call(), [](team_type const& team, int me) {
        std::vector<int> v(10);
        coll::broadcast(team, writable(v), me == 2 ? 1 : 0);
    });
    EXPECT_TRUE(any_says(roots, "with root 0") && any_says(roots, "with root 1"));
    auto const calls = said(2, from_the_first_call(), [&](team_type const& team, int me) {
        if (me == 0) sum(team, 4);
        else coll::barrier(team);
    });
    EXPECT_TRUE(any_says(calls, "called allreduce") && any_says(calls, "called barrier"));
}

TEST(coll_together, what_an_operation_throws_leaves_the_collective) {
    EXPECT_THROW(together(2,
                          [](team_type const& team, int) {
                              std::vector<int> v(10);
                              auto bad = [](int, int) -> int { throw std::runtime_error{"no"}; };
                              coll::allreduce(team, mpt::detail::operand_of<int>(bad), nullptr, writable(v).data(), v.size());
                          }),
                 std::runtime_error);
}

} // namespace
