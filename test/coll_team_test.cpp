#include "support/other_sizes.hpp"
#include "support/sanitized.hpp"
#include "support/team.hpp"
#include "support/watchdog.hpp"

namespace {
using namespace mpt::test;
using mpt::coll::speaker;

template <class Stack> using coll_team = team_over<Stack>;
TYPED_TEST_SUITE(coll_team, wires);

TYPED_TEST(coll_team, messages_go_by_the_ranks_of_the_group) {
    this->job(4, [](auto world) {
        if (world.rank() == 1) return;
        auto const odd_one_out = mpt::group::of({3, 0, 2}); // world ranks, by rank here
        auto const me = *odd_one_out.find(world.rank());
        typename TestFixture::team_type const team{world.native().wire, odd_one_out, me, world.native().rooted_calls};
        EXPECT_EQ(team.size(), 3);
        EXPECT_EQ(team.me(), me);
        std::vector<int> const mine{100 + me};
        std::vector<int> got(1);
        team.exchange((me + 1) % 3, readable(mine), (me + 2) % 3, writable(got), speaker::allgather);
        EXPECT_EQ(got[0], 100 + (me + 2) % 3);
    });
}

TYPED_TEST(coll_team, never_meets_messages_between_two_ranks) {
    this->job(2, [](auto world) {
        auto const& s = world.native();
        typename TestFixture::team_type const team{s.wire, s.who, s.me, s.rooted_calls};
        int const label = static_cast<int>(speaker::broadcast);
        std::vector<int> v{5};
        if (world.rank() == 0) {
            world.send(1, 1, label);
            team.send(1, speaker::broadcast, readable(v));
        } else {
            std::vector<int> got(1);
            team.recv(0, speaker::broadcast, writable(got));
            EXPECT_EQ(got[0], 5);
            EXPECT_EQ(world.template recv<int>(0, label), 1);
        }
    });
}

TYPED_TEST(coll_team, algorithms_that_differ_do_not_take_each_others_messages) {
    this->run_team(2, [](auto const& team, int me) {
        std::vector<int> const one{1}, two{2};
        std::vector<int> got(1);
        if (me == 0) {
            team.send(1, speaker::barrier, readable(one));
            team.send(1, speaker::allreduce, readable(two));
        } else {
            team.recv(0, speaker::allreduce, writable(got));
            EXPECT_EQ(got[0], 2);
            team.recv(0, speaker::barrier, writable(got));
            EXPECT_EQ(got[0], 1);
        }
    });
}

TYPED_TEST(coll_team, any_other_size_is_a_sentence_with_both_sizes) {
    for (std::size_t sent : {0u, 1u, 3u, 5000u, 100000u}) {
        auto const said = this->failure_of_team(2, [&](auto const& team, int me) {
            std::vector<int> out(sent), in(2);
            if (me == 0) team.send(1, speaker::broadcast, readable(out));
            else team.recv(0, speaker::broadcast, writable(in));
        });
        EXPECT_NE(said.find(std::to_string(sent * 4) + " bytes came where 8 were expected"), std::string::npos) << said;
    }
}

TYPED_TEST(coll_team, who_meets_another_size_takes_its_turns_to_the_end_and_the_team_goes_on) {
    watchdog const guard{"collectives with different sizes"};
    seeds const s{sanitized ? 4u : 20u};
    for (unsigned seed = s.first; seed != s.first + s.count && !this->HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        this->run_team(dice{seed}.one_of<int>({2, 3, 4, 5, 8, 17}), [seed](auto const& team, int) {
            dice common{seed};
            disagree(team, common, 30, [&](auto const& what, auto& data) { what.run(team, data); });
        });
    }
}

TYPED_TEST(coll_team, who_waits_is_told_of_a_size_that_takes_another_way) {
    watchdog const guard{"a broadcast that goes two ways"};
    seeds const s{sanitized ? 2u : 8u};
    for (unsigned seed = s.first; seed != s.first + s.count && !this->HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        this->run_team(5, [seed](auto const& team, int me) {
            dice common{seed};
            other_sizes const what{other_sizes::call::broadcast, {10, 100'000}, common, 5};
            auto data = what.data(me);
            bool failed = false;
            try {
                what.run(team, data);
            } catch (mpt::error const& e) {
                EXPECT_EQ(e.code(), mpt::errc::truncate) << e.what();
                failed = true;
            }
            if (what.agree()) { EXPECT_FALSE(failed); }
        });
    }
}

/// Two ways without a root, which no rank is told of: whoever has met another size does not wait for ever.
TYPED_TEST(coll_team, who_met_another_size_gives_up_where_nobody_comes) {
    watchdog const guard{"an exchange that half of the ranks have left"};
    this->run_team(2, [](auto const& team, int me) {
        std::vector<int> const one(1), two(2);
        std::vector<int> room(1);
        auto const called = [&] {
            mpt::coll::to_the_end(team, [&](auto const& t) {
                t.exchange(1 - me, readable(me == 0 ? one : two), 1 - me, writable(room), speaker::allgather);
                if (me == 0) t.recv(1, speaker::allgather, writable(room));
            });
        };
        if (me == 0) {
            EXPECT_THROW(called(), mpt::error);
        } else EXPECT_NO_THROW(called());
    });
}

TYPED_TEST(coll_team, many_at_once_meet_in_the_order_of_each_pair) {
    for (std::size_t n : {3u, 3000u, 100000u}) // larger ones wait for their receiver
        this->run_team(3, [n](auto const& team, int me) {
            std::vector<std::vector<int>> out, in(6, std::vector<int>(n));
            std::vector<mpt::coll::outgoing> leaving;
            std::vector<mpt::coll::incoming> coming;
            for (int i = 0; i < 6; ++i) out.push_back(counted(n, 100 * me + i)); // twice to each, and to itself
            for (int i = 0; i < 6; ++i) leaving.push_back({i % 3, mpt::source{readable(out[static_cast<std::size_t>(i)])}});
            for (int i = 0; i < 6; ++i) coming.push_back({i % 3, mpt::sink{writable(in[static_cast<std::size_t>(i)])}});
            team.exchange_all(coming, leaving, speaker::neighbor);
            for (int i = 0; i < 6; ++i)
                EXPECT_EQ(in[static_cast<std::size_t>(i)], counted(n, 100 * (i % 3) + (i < 3 ? me : me + 3)));
        });
}

TYPED_TEST(coll_team, a_rank_that_throws_leaves_nothing_of_its_messages_behind) {
    auto const said = this->failure_of_team(2, [](auto const& team, int me) {
        std::vector<int> out(2), in(2), more(50000), others(50000);
        std::vector<mpt::coll::incoming> const coming{{1 - me, mpt::sink{writable(in)}}, {1 - me, mpt::sink{writable(others)}}};
        std::vector<mpt::coll::outgoing> const leaving{{1 - me, mpt::source{readable(out).first(me == 0 ? 4 : 8)}},
                                                       {1 - me, mpt::source{readable(more)}}};
        team.exchange_all(coming, leaving, speaker::neighbor);
    });
    EXPECT_NE(said.find("4 bytes came where 8 were expected"), std::string::npos) << said;
}
} // namespace
