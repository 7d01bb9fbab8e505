#include <deque>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "support/matrices.hpp"
#include "support/other_sizes.hpp"
#include "support/sanitized.hpp"
#include "support/steps.hpp"
#include "support/watchdog.hpp"
#include <mpt/coll/allreduce.hpp>
#include <mpt/coll/alltoall.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/schedule.hpp>

// That each algorithm does as a schedule what it does as a blocking call: the tests of the algorithms (either_way()).
namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_schedule = team_over<Stack>;
TYPED_TEST_SUITE(coll_schedule, wires);

void add_longs(void*, std::byte const* left, std::byte* right, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        long l, r;
        std::memcpy(&l, left + i * sizeof l, sizeof l);
        std::memcpy(&r, right + i * sizeof r, sizeof r);
        r += l;
        std::memcpy(right + i * sizeof r, &r, sizeof r);
    }
}
constexpr auto sum = coll::operand::array(sizeof(long), true, nullptr, &add_longs);

/// An allreduce or a broadcast under way.
template <class Stack> struct pending {
    std::vector<long> data;
    std::vector<long> expected;
    std::optional<coll::schedule<Stack>> s;

    pending(coll::team<Stack> const& team, std::uint32_t number, std::size_t n) : data(n), expected(n) {
        long const ranks = team.size();
        auto const root = static_cast<std::int32_t>(number % static_cast<std::uint32_t>(ranks));
        bool const sums = number % 3 != 0;
        for (std::size_t i = 0; i < n; ++i) {
            auto const base = static_cast<long>(number + i);
            data[i] = sums ? base * (team.me() + 1) : team.me() == root ? base : -1;
            expected[i] = sums ? base * (ranks * (ranks + 1) / 2) : base;
        }
        s.emplace(team, number, [&](auto const& t) {
            if (sums) coll::allreduce(t, sum, nullptr, writable(data).data(), n);
            else coll::broadcast(t, writable(data), root);
        });
    }
};

TYPED_TEST(coll_schedule, a_thousand_are_under_way_and_end_in_any_order) {
    for (int n : {2, 3, 5})
        this->run_team(n, [](auto const& team, int me) {
            std::deque<pending<TypeParam>> all;
            for (std::uint32_t i = 0; i < 1000; ++i) {
                all.emplace_back(team, i, 1 + i % 50);
                all.back().s->start();
                if (i % 100 == 7) coll::barrier(team);
            }
            dice own{static_cast<unsigned>(me)};
            std::vector<std::size_t> order(all.size());
            std::iota(order.begin(), order.end(), 0u);
            for (std::size_t left = order.size(); left > 0; --left) {
                auto& p = all[std::exchange(order[own.below(static_cast<unsigned>(left))], order[left - 1])];
                p.s->finish();
                ASSERT_EQ(p.data, p.expected);
            }
        });
}

TYPED_TEST(coll_schedule, who_meets_another_size_takes_its_turns_to_the_end) {
    watchdog const guard{"schedules with different sizes"};
    seeds const s{sanitized ? 4u : 16u};
    for (unsigned seed = s.first; seed != s.first + s.count && !this->HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        this->run_team(dice{seed}.one_of<int>({2, 3, 4, 5, 8, 17}), [seed](auto const& team, int) {
            dice common{seed};
            std::uint32_t number = 0;
            disagree(team, common, 30, [&](auto const& what, auto& data) {
                coll::schedule<TypeParam> steps{team, ++number, [&](auto const& t) { what.run(t, data); }};
                steps.start();
                steps.finish();
            });
        });
    }
}

TYPED_TEST(coll_schedule, runs_again_and_again_on_new_data) {
    for (int n : {1, 2, 5, 6})
        this->run_team(n, [n](auto const& team, int me) {
            for (std::size_t len : {1u, 3000u}) {
                std::vector<long> v(len);
                coll::schedule s{team, 3, [&](auto const& t) { coll::allreduce(t, sum, nullptr, writable(v).data(), len); }};
                for (long round = 0; round < 50; ++round) {
                    std::fill(v.begin(), v.end(), round + me);
                    s.start();
                    while (round % 2 == 0 && !s.test()) std::this_thread::yield();
                    s.finish();
                    EXPECT_FALSE(s.is_active());
                    ASSERT_EQ(v, std::vector<long>(len, round * n + n * (n - 1) / 2));
                }
            }
        });
}

TYPED_TEST(coll_schedule, makes_its_way_while_the_rank_waits_for_something_else) {
    this->run_team(4, [](auto const& team, int) {
        std::vector<long> v{1};
        coll::schedule s{team, 0, [&](auto const& t) { coll::allreduce(t, sum, nullptr, writable(v).data(), 1); }};
        s.start();
        coll::schedule after{team, 1, [&](auto const& t) { coll::barrier(t); }};
        after.start();
        after.finish();
        for (int i = 0; i < 5; ++i) coll::barrier(team);
        s.finish();
        EXPECT_EQ(v[0], 4);
    });
}

TYPED_TEST(coll_schedule, while_it_waits_nothing_is_active_and_its_rank_may_sleep) {
    this->run_team(2, [](auto const& team, int me) {
        if (me == 0) {
            coll::schedule s{team, 0, [&](auto const& t) { coll::barrier(t); }};
            s.start();
            for (int i = 0; i < 3; ++i) EXPECT_FALSE(s.test());
            EXPECT_TRUE(team.wire().on().enter([](auto& engine) { return engine.can_sleep(); }));
            coll::barrier(team);
            s.finish();
        } else {
            coll::barrier(team);
            std::this_thread::sleep_for(std::chrono::milliseconds{20}); // the other one is asleep
            coll::schedule s{team, 0, [&](auto const& t) { coll::barrier(t); }};
            s.start();
            s.finish();
        }
    });
}

/// An operation that acts by its number of calls.
struct user {
    std::function<void()> act;
    static void combine(void* what, std::byte const* left, std::byte* right, std::size_t n) {
        static_cast<user*>(what)->act();
        add_longs(nullptr, left, right, n);
    }
    coll::operand operand() { return coll::operand::array(sizeof(long), true, this, &combine); }
};

TYPED_TEST(coll_schedule, what_an_operation_throws_comes_out_of_finish) {
    this->run_team(2, [](auto const& team, int) {
        user u{[] { throw std::domain_error{"no such sum"}; }};
        std::vector<long> v{1};
        coll::schedule s{team, 0, [&](auto const& t) { coll::allreduce(t, u.operand(), nullptr, writable(v).data(), 1); }};
        s.start();
        while (!s.test()) std::this_thread::yield();
        EXPECT_TRUE(s.failure());
        EXPECT_THROW(s.finish(), std::domain_error);
        EXPECT_FALSE(s.is_active());
        coll::barrier(team); // everything works after it
    });
}

TYPED_TEST(coll_schedule, an_operation_holds_no_lock_and_may_communicate) {
    this->run_team(3, [](auto const& team, int me) {
        auto const& wire = team.wire();
        user u{[&] {
            int out = 5, in = 0;
            auto* const r = wire.start_recv(team.who().world(me), 77, std::as_writable_bytes(std::span{&in, 1}));
            wire.send(team.who().world(me), 77, std::as_bytes(std::span{&out, 1}));
            wire.finish(*r, {});
            EXPECT_EQ(in, 5);
        }};
        std::vector<long> v{1};
        coll::schedule s{team, 0, [&](auto const& t) { coll::allreduce(t, u.operand(), nullptr, writable(v).data(), 1); }};
        s.start();
        s.finish();
        EXPECT_EQ(v[0], 3);
    });
}

/// An operation that is mpt's own runs where the messages come, be the elements few or many.
TYPED_TEST(coll_schedule, our_own_operations_need_no_errand) {
    auto ours = sum;
    ours.ours = true;
    this->run_team(3, [ours](auto const& team, int me) {
        for (std::uint32_t number = 0; std::size_t const n : {1u, 256u, 257u, 5000u}) {
            std::vector<long> v(n, me + 1);
            coll::schedule s{team, number++, [&](auto const& t) { coll::allreduce(t, ours, nullptr, writable(v).data(), n); }};
            for (int round = 0; round < 2; ++round) {
                s.start();
                while (!s.test()) std::this_thread::yield();
                s.finish();
            }
            EXPECT_EQ(v, std::vector<long>(n, 18));
        }
    });
}

template <class F> std::string said_by(F const& f) {
    try {
        f();
    } catch (mpt::error const& e) { return e.what(); }
    return "nothing";
}

/// What is here before the schedule begins needs no request, and is compared all the same.
TYPED_TEST(coll_schedule, messages_that_came_before_are_taken_and_sizes_compared) {
    this->run_team(2, [](auto const& team, int me) {
        for (std::size_t const n : {8u, 4u}) {
            std::vector<std::byte> data(me == 0 ? 8 : n, std::byte(me == 0 ? 7 : 0));
            coll::schedule s{team, static_cast<std::uint32_t>(n),
                             [&](auto const& t) { coll::broadcast(t, coll::place{std::span{data}}, 0); }};
            auto const sent = [&] {
                return team.wire().on().enter([](auto& e) { return e.counted().sent_by(mpt::protocol::way::frame); });
            };
            if (me == 0) {
                auto const before = sent();
                s.start(), s.finish();
                EXPECT_EQ(sent().messages, before.messages + 1);
                EXPECT_EQ(sent().bytes, before.bytes + 8);
                coll::barrier(team);
            } else {
                coll::barrier(team); // it has come by now
                s.start();
                auto const said = said_by([&] { s.finish(); });
                if (n == 8) {
                    EXPECT_EQ(said, "nothing");
                    EXPECT_EQ(data[7], std::byte{7});
                } else EXPECT_NE(said.find("8 bytes came where 4 were expected"), std::string::npos) << said;
            }
        }
    });
}

TYPED_TEST(coll_schedule, other_sizes_on_other_ranks_are_a_sentence) {
    auto const said = this->failure_of_team(3, [](auto const& team, int me) {
        std::vector<int> v(me == 0 ? 5 : 4);
        coll::schedule s{team, 0, [&](auto const& t) { coll::broadcast(t, writable(v), 0); }};
        s.start();
        s.finish();
    });
    EXPECT_NE(said.find("different sizes: 20 bytes came where 16 were expected"), std::string::npos) << said;
}

TYPED_TEST(coll_schedule, that_is_abandoned_leaves_nothing_under_way) {
    this->run_team(3, [](auto const& team, int me) {
        std::vector<long> big(100'000, me);
        if (me != 2) { // which never comes
            coll::schedule s{team, 0,
                             [&](auto const& t) { coll::allreduce(t, sum, nullptr, writable(big).data(), big.size()); }};
            s.start();
            s.abandon();
            EXPECT_FALSE(s.is_active());
        }
        coll::barrier(team);
    });
}

TYPED_TEST(coll_schedule, threads_of_a_rank_run_schedules_of_two_communicators_at_once) {
    watchdog const guard{"schedules of several threads"};
    auto const lanes = mpt::config::values{}.template set<"MPT_LANES">("3");
    this->job(3, lanes, [](auto world) {
        auto const other = world.dup();
        auto const work = [](auto const& c, unsigned seed) {
            auto const& s = c.native();
            coll::team const team{s.wire, s.who, s.me, s.rooted_calls};
            dice common{seed};
            for (std::uint32_t round = 0; round < 20; ++round) {
                std::deque<pending<TypeParam>> all;
                for (std::uint32_t i = 0; i < 20; ++i)
                    all.emplace_back(team, round * 20 + i, common.one_of<std::size_t>({1, 5, 3000})).s->start();
                while (!all.empty()) {
                    auto& p = common.coin() ? all.front() : all.back();
                    p.s->finish();
                    EXPECT_EQ(p.data, p.expected);
                    if (&p == &all.front()) all.pop_front();
                    else all.pop_back();
                }
            }
        };
        std::thread second{[&] { work(other, 2); }};
        work(world, 1);
        second.join();
    });
}
} // namespace
