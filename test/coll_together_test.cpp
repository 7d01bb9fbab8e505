#include <algorithm>
#include <array>
#include <stdexcept>
#include <thread>

#include "support/any_collective.hpp"
#include "support/job_of.hpp"
#include "support/other_sizes.hpp"
#include "support/sanitized.hpp"
#include "support/team.hpp"
#include "support/together.hpp"

namespace {
using namespace mpt::test;
using mpt::errc;
namespace coll = mpt::coll;
namespace config = mpt::config;
using any = any_collective<team_type>;

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
            auto const called = [&](other_sizes const& what) {
                auto data = what.data(me);
                bool failed = false;
                try {
                    what.run(team, data);
                } catch (mpt::error const& e) { failed = e.code() == errc::truncate; }
                if (what.agree()) { EXPECT_FALSE(failed); }
                coll::barrier(team);
            };
            using call = other_sizes::call;
            for (int i = 0; i < 10; ++i) { // some in more chunks than are kept; scans in a piece, in a chunk, and by messages
                called({call::broadcast, {1, 10, 1000, 10'000, 40'000}, common, n});
                called({common.coin() ? call::scan : call::exscan, {100, 200, 3000, 20'000}, common, n});
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

/// Large exchanges of two ranks: each byte that arrives is looked at, whatever went before and lies in the same memory.
class pair_of_ranks {
    team_type const& team_;
    unsigned me_, round_ = 0;

public:
    pair_of_ranks(team_type const& team, int me) : team_{team}, me_{static_cast<unsigned>(me)} {}
    unsigned value(unsigned rank, std::size_t i) const {
        return round_ * 77'777u + rank * 1'000'003u + static_cast<unsigned>(i);
    }
    std::vector<unsigned> data(std::size_t n, unsigned salt = 0) const {
        std::vector<unsigned> v(n);
        for (std::size_t i = 0; i < n; ++i) v[i] = value(me_ + salt, i);
        return v;
    }
    void run(unsigned what, std::size_t n) {
        ++round_;
        if (what == 0) sum(n);
        else if (what == 1) all_to_all(n);
        else if (what == 2) from_all(n);
        else if (what == 3) from_root(n);
        else coll::barrier(team_);
    }

private:
    void sum(std::size_t n) const {
        auto v = data(n);
        std::plus<> add;
        coll::allreduce(team_, mpt::detail::operand_of<unsigned>(add), nullptr, writable(v).data(), n);
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(v[i], value(0, i) + value(1, i)) << i << " of " << n;
    }
    void all_to_all(std::size_t n) const {
        auto mine = data(2 * n);
        std::vector<unsigned> all(2 * n);
        auto const size = n * sizeof(unsigned);
        coll::alltoall(team_, coll::const_blocks{std::as_bytes(std::span{mine}), size}, coll::blocks{writable(all), size});
        for (std::size_t i = 0; i < 2 * n; ++i)
            ASSERT_EQ(all[i], value(static_cast<unsigned>(i / n), me_ * n + i % n)) << i << " of " << 2 * n;
    }
    void from_all(std::size_t n) const {
        std::vector<unsigned> all(2 * n);
        std::ranges::copy(data(n), all.begin() + static_cast<std::ptrdiff_t>(me_ * n));
        coll::allgather(team_, coll::in_place, coll::blocks{writable(all), n * sizeof(unsigned)});
        for (std::size_t i = 0; i < 2 * n; ++i)
            ASSERT_EQ(all[i], value(static_cast<unsigned>(i / n), i % n)) << i << " of " << 2 * n;
    }
    void from_root(std::size_t n) const {
        auto v = data(n);
        coll::broadcast(team_, writable(v), static_cast<std::int32_t>(round_ % 2));
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(v[i], value(round_ % 2, i)) << i << " of " << n;
    }
};

TEST(coll_together, two_ranks_exchange_in_the_memory_that_they_have_read_last) {
    seeds const s{sanitized ? 3u : 12u};
    for (unsigned seed = s.first; seed != s.first + s.count && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        auto const chunk = dice{seed}.coin() ? "32K" : "128K";
        together(2, from_the_first_call().set<"MPT_NODE_CHUNK">(chunk), [&](team_type const& team, int me) {
            pair_of_ranks both{team, me};
            dice common{seed};
            for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
                auto const n = common.one_of<std::size_t>({100, 4'001, 8'191, 16'384, 16'385, 50'001, 131'072, 200'003});
                both.run(common.below(5), n);
            }
        });
    }
}

TEST(coll_together, two_ranks_exchange_after_an_error_as_before_it) {
    together(2, [](team_type const& team, int me) {
        pair_of_ranks both{team, me};
        std::plus<> add;
        auto const sum = mpt::detail::operand_of<long>(add);
        for (unsigned i = 0; i < 40 && !testing::Test::HasFailure(); ++i) {
            for (unsigned k = 0; k <= i % 9; ++k) both.run((i + k) % 3, 20'000);
            std::vector<long> v(10'000 + (me == 1 ? 1000 * (i % 5 + 1) : 0));
            EXPECT_THROW(coll::allreduce(team, sum, nullptr, writable(v).data(), v.size()), mpt::error);
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

/// Pieces drawn by all alike: beside the flag, in a piece, and by messages; one of them of another size, now and then, than the root expects.
TEST(coll_together, a_gatherv_takes_each_piece_the_way_that_its_size_goes) {
    watchdog const guard{"gathervs"};
    for (int n : {2, 3, 5})
        together(n, [n](team_type const& team, int me) {
            coll::barrier(team);
            dice common{static_cast<unsigned>(n)};
            for (int i = 0; i < 300; ++i) {
                auto const any_rank = [&] { return common.below(static_cast<unsigned>(n)); };
                auto const root = static_cast<int>(any_rank());
                std::vector<std::size_t> sent;
                for (int q = 0; q < n; ++q) sent.push_back(common.one_of<std::size_t>({0, 1, 24, 25, 256, 257, 3000, 20'000}));
                std::vector<std::vector<int>> all;
                for (auto const size : sent) all.emplace_back(size, -1);
                auto const wrong = any_rank();
                if (common.below(4) == 0) sent[wrong] = common.one_of<std::size_t>({2, 24, 256, 257, 5000});
                std::vector<int> const mine(sent[static_cast<std::size_t>(me)], 1000 * i + me);
                auto const into = [&](std::int32_t q) { return coll::place{writable(all[static_cast<std::size_t>(q)])}.in; };
                bool failed = false;
                try {
                    coll::gatherv(team, mpt::source{readable(mine)}, into, root);
                } catch (mpt::error const& e) { failed = e.code() == errc::truncate; }
                EXPECT_EQ(failed, me == root && sent[wrong] != all[wrong].size()) << sent[wrong] << " of " << all[wrong].size();
                for (std::size_t q = 0; me == root && q < all.size(); ++q)
                    if (sent[q] == all[q].size()) { EXPECT_EQ(all[q], std::vector(sent[q], 1000 * i + static_cast<int>(q))); }
                coll::barrier(team);
            }
        });
}

TEST(coll_together, a_gatherv_whose_sizes_differ_is_a_sentence_at_the_root) {
    for (std::size_t const sent : {2u, 200u, 2000u})
        for (std::size_t const expected : {3u, 300u, 3000u}) {
            auto const all = said(3, from_the_first_call(), [&](team_type const& team, int me) {
                std::vector<int> mine(me == 1 ? sent : expected), got(3 * expected);
                auto const into = [&](std::int32_t q) {
                    return mpt::sink{
                        writable(got).subspan(static_cast<std::size_t>(q) * expected * sizeof(int), expected * sizeof(int))};
                };
                coll::gatherv(team, mpt::source{readable(mine)}, into, 0);
            });
            EXPECT_TRUE(all[0].find("called a collective with different sizes") != std::string::npos)
                << sent << " of " << expected;
        }
}

TEST(coll_together, an_alltoall_by_messages_that_another_rank_does_not_call_is_told_to_all_that_wait) {
    for (bool const same_size : {true, false}) {
        std::array<std::string, 3> heard;
        watchdog const guard{"ranks that disagree"};
        together(3, from_the_first_call(), [&](team_type const& team, int me) {
            constexpr std::size_t size = 20'000; // not in the memory that they share
            std::vector<std::byte> out(3 * size), in(out.size());
            std::vector<long> v(size / sizeof(long));
            std::plus<> add;
            coll::barrier(team);
            try {
                if (me != 2) coll::alltoall(team, coll::const_blocks{readable(out), size}, coll::blocks{writable(in), size});
                else if (same_size)
                    coll::allreduce(team, mpt::detail::operand_of<long>(add), nullptr, writable(v).data(), v.size());
                else coll::barrier(team);
            } catch (mpt::error const& e) {
                EXPECT_EQ(e.code(), errc::usage);
                heard[static_cast<std::size_t>(me)] = e.what();
            }
        });
        for (auto const& what : heard)
            EXPECT_TRUE(what.find("called alltoall") != what.npos &&
                        what.find(same_size ? "called allreduce" : "called barrier") != what.npos)
                << what;
    }
}

} // namespace
