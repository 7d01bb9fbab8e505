// The facade, over every stack whose ranks are threads: shared memory, byte streams, one lane and three.
#include <complex>
#include <cstdlib>
#include <numeric>

#include <gtest/gtest.h>
#include <mpt/lock/none.hpp>
#include <mpt/mpt.hpp>

namespace {
using namespace mpt::literals;

/// Each job with one lane and with three; without locks with one.
using stacks = testing::Types<mpt::local_stack, mpt::local_stream_stack, mpt::local_stack::with<mpt::lock::none>>;

template <class Stack> struct communicator : testing::Test {
    template <class F> static void on(int n, F&& fn) {
        for (auto const* const lanes : {"1", "3"})
            if (lanes[0] == '1' || !std::is_same_v<typename Stack::lock_policy_type, mpt::lock::none>)
                mpt::local_job<Stack>(n, mpt::config::values{}.set<"MPT_LANES">(lanes), fn);
    }
};
TYPED_TEST_SUITE(communicator, stacks);

std::vector<int> pattern(std::size_t n, int seed) {
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), seed);
    return v;
}

TYPED_TEST(communicator, a_value_crosses) {
    this->on(2, [](auto world) {
        if (world.rank() == 0) world.send(42, 1, 7);
        else {
            mpt::message_info info;
            EXPECT_EQ(world.template recv<int>(0, 7, &info), 42);
            EXPECT_EQ(info.source, 0);
            EXPECT_EQ(info.tag, 7);
            EXPECT_EQ(info.bytes, sizeof(int));
        }
    });
}

TYPED_TEST(communicator, every_size_crosses_both_ways) {
    this->on(2, [](auto world) {
        int const other = 1 - world.rank();
        for (std::size_t n : {0u, 1u, 2u, 9u, 10u, 11u, 12u, 100u, 1000u, 2048u, 2049u, 5000u, 20000u, 300000u, 1100000u}) {
            auto const mine = pattern(n, static_cast<int>(n) + world.rank());
            if (world.rank() == 0) world.send(mine, other);
            auto const got = world.template recv<std::vector<int>>(other);
            if (world.rank() == 1) world.send(mine, other);
            EXPECT_EQ(got, pattern(n, static_cast<int>(n) + other)) << n;
        }
    });
}

TYPED_TEST(communicator, messages_of_a_pair_keep_their_order_at_mixed_sizes) {
    this->on(2, [](auto world) {
        std::size_t const sizes[]{1, 5000, 10, 100000, 0, 2000, 12, 300000, 1, 1};
        if (world.rank() == 0) {
            std::vector<std::vector<int>> keep;
            std::vector<typename decltype(world)::request> sends;
            for (int i = 0; i < 200; ++i) keep.push_back(pattern(sizes[i % 10], i));
            for (auto const& v : keep) sends.push_back(world.isend(v, 1, 3));
            mpt::wait_all(sends);
        } else {
            for (int i = 0; i < 200; ++i)
                ASSERT_EQ(world.template recv<std::vector<int>>(0, 3), pattern(sizes[i % 10], i)) << i;
        }
    });
}

TYPED_TEST(communicator, unexpected_messages_wait_for_their_receive) {
    this->on(2, [](auto world) {
        if (world.rank() == 0)
            for (int t = 0; t < 50; ++t) world.send(pattern(static_cast<std::size_t>(t) * 7, t), 1, t);
        world.barrier();
        if (world.rank() == 1) {
            for (int t = 49; t >= 0; --t)
                EXPECT_EQ(world.template recv<std::vector<int>>(0, t), pattern(static_cast<std::size_t>(t) * 7, t));
        }
    });
}

TYPED_TEST(communicator, the_last_of_many_is_received_first_although_the_others_hold_every_buffer) {
    this->on(2, [](auto world) {
        constexpr std::size_t many = 150; // more than MPT_LOANS
        for (std::size_t const n : {1000u, 100000u}) {
            if (world.rank() == 0) {
                std::vector<std::vector<int>> keep;
                std::vector<typename decltype(world)::request> sends;
                for (std::size_t t = 0; t < many; ++t) keep.push_back(pattern(t + 1 < many ? 1000 : n, static_cast<int>(t)));
                for (std::size_t t = 0; t < many; ++t) sends.push_back(world.isend(keep[t], 1, static_cast<int>(t)));
                mpt::wait_all(sends);
            } else
                for (std::size_t t = many; t-- > 0;)
                    ASSERT_EQ(world.template recv<std::vector<int>>(0, static_cast<int>(t)),
                              pattern(t + 1 < many ? 1000 : n, static_cast<int>(t)));
            world.barrier();
        }
    });
}

TYPED_TEST(communicator, wildcards_take_what_comes) {
    this->on(4, [](auto world) {
        if (world.rank() != 0) return world.send(world.rank().value * 10, 0, world.rank().value);
        int sum = 0;
        for (int i = 0; i < 3; ++i) {
            mpt::message_info info;
            int const v = world.template recv<int>(mpt::any_source, mpt::any_tag, &info);
            EXPECT_EQ(v, info.source * 10);
            EXPECT_EQ(info.tag.value, info.source.value);
            sum += v;
        }
        EXPECT_EQ(sum, 60);
    });
}

TYPED_TEST(communicator, a_synchronous_send_waits_for_its_receive) {
    this->on(2, [](auto world) {
        for (std::size_t n : {1u, 1000u, 100000u}) {
            if (world.rank() == 0) {
                auto const data = pattern(n, 5);
                auto r = world.issend(data, 1, 1);
                for (int i = 0; i < 50; ++i) EXPECT_FALSE(r.test());
                world.send(1, 1, 2); // now the other may receive
                r.wait();
            } else {
                world.template recv<int>(0, 2);
                EXPECT_EQ(world.template recv<std::vector<int>>(0, 1).size(), n);
            }
        }
    });
}

TYPED_TEST(communicator, a_message_longer_than_the_buffer_is_an_error_and_nothing_is_lost) {
    this->on(2, [](auto world) {
        for (std::size_t n : {20u, 3000u, 200000u}) {
            if (world.rank() == 0) world.send(pattern(n, 1), 1), world.send(99, 1);
            else {
                std::vector<int> small(10);
                try {
                    world.recv(small, 0);
                    ADD_FAILURE() << "no error at " << n;
                } catch (mpt::error const& e) {
                    EXPECT_EQ(e.code(), mpt::errc::truncate);
                    EXPECT_NE(std::string{e.what()}.find(std::to_string(n * sizeof(int))), std::string::npos) << e.what();
                }
                EXPECT_EQ(small, pattern(10, 1));
                EXPECT_EQ(world.template recv<int>(0), 99);
            }
        }
    });
}

TYPED_TEST(communicator, bad_arguments_are_sentences_and_leave_it_working) {
    this->on(2, [](auto world) {
        EXPECT_THROW(world.send(1, 2), mpt::error);
        EXPECT_THROW(world.send(1, -7), mpt::error);
        EXPECT_THROW(world.send(1, 0, -1), mpt::error);
        EXPECT_THROW(world.template recv<int>(5), mpt::error);
        auto const r = world.template with<mpt::errors::returning>().send(1, 9);
        ASSERT_FALSE(r);
        EXPECT_EQ(r.error().code(), mpt::errc::rank_range);
        EXPECT_NE(std::string{r.error().what()}.find("rank 9"), std::string::npos);
        int const other = 1 - world.rank();
        int got = 0;
        world.sendrecv(world.rank().value, other, got, other);
        EXPECT_EQ(got, other);
    });
}

TYPED_TEST(communicator, proc_null_is_nobody) {
    this->on(1, [](auto world) {
        world.send(1, mpt::proc_null);
        int x = 5;
        auto const info = world.recv(x, mpt::proc_null);
        EXPECT_EQ(x, 5);
        EXPECT_EQ(info.source, mpt::proc_null);
        EXPECT_EQ(info.bytes, 0u);
    });
}

TYPED_TEST(communicator, a_rank_talks_to_itself) {
    this->on(2, [](auto world) {
        for (std::size_t n : {1u, 1000u, 100000u}) {
            auto const data = pattern(n, 3);
            auto r = world.isend(data, world.rank(), 4);
            EXPECT_EQ(world.template recv<std::vector<int>>(world.rank(), 4), data);
            r.wait();
        }
    });
}

TYPED_TEST(communicator, probe_finds_and_leaves_mprobe_takes) {
    this->on(2, [](auto world) {
        for (std::size_t n : {3u, 3000u, 300000u}) {
            if (world.rank() == 0) {
                auto const first = pattern(n, 1);
                auto r = world.isend(first, 1, 5); // a large one is received only after the second
                world.send(7, 1, 5);
                r.wait();
            } else {
                auto const info = world.probe(mpt::any_source, mpt::any_tag);
                EXPECT_EQ(info.template count<int>(), n);
                auto m = world.mprobe(0, 5);
                EXPECT_EQ(m.info().template count<int>(), n);
                EXPECT_EQ(world.template recv<int>(0, 5), 7); // the taken one cannot be matched any more
                EXPECT_EQ(m.template recv<std::vector<int>>(), pattern(n, 1));
                EXPECT_FALSE(world.iprobe(0, 5));
                EXPECT_FALSE(world.improbe());
            }
            world.barrier();
        }
    });
}

TYPED_TEST(communicator, futures_own_their_containers) {
    this->on(2, [](auto world) {
        if (world.rank() == 0) {
            auto f = world.isend(pattern(5000, 2), 1);
            EXPECT_EQ(f.wait(), pattern(5000, 2));
        } else {
            auto f = world.template irecv<std::vector<int>>(0);
            EXPECT_EQ(f.wait(), pattern(5000, 2));
        }
    });
}

TYPED_TEST(communicator, wait_and_test_families) {
    this->on(2, [](auto world) {
        int const other = 1 - world.rank();
        constexpr int n = 20;
        std::vector<int> in(n, -1), out = pattern(n, 0);
        std::vector<typename decltype(world)::request> recvs;
        for (int i = 0; i < n; ++i) recvs.push_back(world.irecv(in[static_cast<std::size_t>(i)], other, i));
        EXPECT_FALSE(mpt::test_all(recvs));
        world.barrier();
        for (int i = n - 1; i >= 0; --i) world.send(out[static_cast<std::size_t>(i)], other, i);
        int done = 0;
        while (auto const i = mpt::wait_any(recvs)) recvs[*i].wait(), ++done;
        EXPECT_EQ(done, n);
        EXPECT_EQ(in, out);
        EXPECT_TRUE(mpt::test_all(recvs));
        EXPECT_TRUE(mpt::wait_some(recvs).empty());
    });
}

TYPED_TEST(communicator, a_receive_can_be_cancelled) {
    this->on(2, [](auto world) {
        int x = 1;
        auto r = world.irecv(x, 1 - world.rank(), 99);
        r.cancel();
        EXPECT_TRUE(r.wait().cancelled);
    });
}

struct particle {
    double x, y;
    int id;
};
TYPED_TEST(communicator, structs_and_strings_travel) {
    this->on(2, [](auto world) {
        if (world.rank() == 0) {
            world.send(particle{1.5, 2.5, 7}, 1);
            world.send(std::string{"a longer greeting than one line of cache can hold, by some way"}, 1);
            world.send(std::complex<double>{1, 2}, 1);
        } else {
            auto const p = world.template recv<particle>(0);
            EXPECT_EQ(p.id, 7);
            EXPECT_EQ(world.template recv<std::string>(0), "a longer greeting than one line of cache can hold, by some way");
            EXPECT_EQ(world.template recv<std::complex<double>>(0), (std::complex<double>{1, 2}));
        }
    });
}

TYPED_TEST(communicator, allreduce_of_every_size_and_number_of_ranks) {
    for (int n : {1, 2, 3, 4, 5, 7, 8})
        this->on(n, [n](auto world) {
            EXPECT_EQ(world.allreduce(world.rank().value), n * (n - 1) / 2);
            EXPECT_EQ(world.allreduce(world.rank().value, mpt::max), n - 1);
            for (std::size_t len : {1u, 3u, 17u, 1000u, 5000u, 70001u}) {
                std::vector<long> v(len);
                for (std::size_t i = 0; i < len; ++i) v[i] = static_cast<long>(i) * (world.rank() + 1);
                world.allreduce(v);
                for (std::size_t i = 0; i < len; ++i)
                    ASSERT_EQ(v[i], static_cast<long>(i) * n * (n + 1) / 2) << len << " " << i;
            }
        });
}

struct affine { // x -> a x + b; composition does not commute
    long a, b;
};
TYPED_TEST(communicator, allreduce_keeps_rank_order_for_operations_that_do_not_commute) {
    for (int n : {2, 3, 5, 6, 8})
        this->on(n, [n](auto world) {
            auto const compose = [](affine f, affine g) { return affine{f.a * g.a % 1009, (f.a * g.b + f.b) % 1009}; };
            std::vector<affine> mine(3000, affine{world.rank() + 2, world.rank() + 1});
            world.allreduce(mine, compose);
            affine all{2, 1};
            for (int r = 1; r < n; ++r) all = compose(all, affine{r + 2, r + 1});
            EXPECT_EQ(mine[0].a, all.a);
            EXPECT_EQ(mine[2999].b, all.b);
        });
}

TYPED_TEST(communicator, barrier_holds_everybody_back) {
    std::vector<std::atomic<int>> came(5);
    this->on(5, [&](auto world) {
        for (int round = 1; round <= 200; ++round) {
            came[static_cast<std::size_t>(world.rank().value)].store(round, std::memory_order_relaxed);
            world.barrier();
            for (auto& c : came) ASSERT_GE(c.load(std::memory_order_relaxed), round);
        }
    });
}

TYPED_TEST(communicator, dup_keeps_messages_apart) {
    this->on(2, [](auto world) {
        auto twin = world.dup();
        EXPECT_NE(twin.context(), world.context());
        int const other = 1 - world.rank();
        world.send(1, other, 5);
        twin.send(2, other, 5);
        EXPECT_EQ(twin.template recv<int>(other, 5), 2);
        EXPECT_EQ(world.template recv<int>(other, 5), 1);
    });
}

TYPED_TEST(communicator, split_by_color_and_key) {
    this->on(7, [](auto world) {
        int const me = world.rank();
        auto none = world.split(me == 6 ? std::nullopt : std::optional<int>{me % 2}, -me);
        if (me == 6) {
            EXPECT_FALSE(none);
            return;
        }
        ASSERT_TRUE(none);
        auto& half = *none;
        EXPECT_EQ(half.size(), 3);
        EXPECT_EQ(half.rank(), 2 - me / 2); // keys turn the order round
        EXPECT_EQ(half.allreduce(me), me % 2 == 0 ? 0 + 2 + 4 : 1 + 3 + 5);
        auto again = half.split(0);
        EXPECT_EQ(again->rank(), half.rank());
        int const next = (half.rank() + 1) % 3, before = (half.rank() + 2) % 3;
        int got = -1;
        auto const info = half.sendrecv(me, next, got, before);
        EXPECT_EQ(info.source, before);
        EXPECT_EQ(got, half.members().world(before).value);
    });
}

TYPED_TEST(communicator, many_communicators_come_and_go) {
    this->on(3, [](auto world) {
        for (int i = 0; i < 100; ++i) {
            auto c = world.dup();
            EXPECT_EQ(c.allreduce(1), 3);
        }
    });
}

TYPED_TEST(communicator, everybody_talks_to_everybody_at_once) {
    this->on(5, [](auto world) {
        int const n = world.size(), me = world.rank();
        for (std::size_t len : {1u, 500u, 40000u}) {
            std::vector<std::vector<int>> in(static_cast<std::size_t>(n), std::vector<int>(len)), out;
            std::vector<typename decltype(world)::request> all;
            for (int r = 0; r < n; ++r) out.push_back(pattern(len, me * 100 + r));
            for (int r = 0; r < n; ++r) all.push_back(world.irecv(in[static_cast<std::size_t>(r)], r, 1));
            for (int r = 0; r < n; ++r) all.push_back(world.isend(out[static_cast<std::size_t>(r)], r, 1));
            mpt::wait_all(all);
            for (int r = 0; r < n; ++r) EXPECT_EQ(in[static_cast<std::size_t>(r)], pattern(len, r * 100 + me));
        }
    });
}

TYPED_TEST(communicator, a_rank_that_throws_ends_the_job_and_says_why) {
    try {
        this->on(3, [](auto world) {
            if (world.rank() == 1) throw std::runtime_error{"rank 1 gives up"};
            world.template recv<int>(1); // never sent
        });
        ADD_FAILURE() << "nothing was thrown";
    } catch (std::runtime_error const& e) { EXPECT_STREQ(e.what(), "rank 1 gives up"); }
}

} // namespace
