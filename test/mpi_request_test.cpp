#include <atomic>
#include <optional>
#include <thread>

#include "support/job_of.hpp"
#include "support/wires.hpp"

namespace {
using namespace mpt;
template <class Stack> using mpi_request = test::over<Stack>;
TYPED_TEST_SUITE(mpi_request, test::wires);

using local_view = environment<local_stack>::view;
static_assert(!std::is_copy_constructible_v<local_view::request> && std::is_nothrow_move_constructible_v<local_view::request>);
static_assert(!std::is_copy_constructible_v<local_view::future<std::vector<int>>>);

std::vector<int> counted(std::size_t n, int from) {
    std::vector<int> v(n);
    for (auto& x : v) x = from++;
    return v;
}

TYPED_TEST(mpi_request, made_of_nothing_is_complete) {
    typename TestFixture::request r;
    EXPECT_FALSE(r.pending());
    EXPECT_TRUE(r.test());
    EXPECT_EQ(r.wait().source, proc_null);
    r.cancel();
    std::vector<typename TestFixture::request> none;
    EXPECT_TRUE(wait_all(none).empty());
    EXPECT_FALSE(wait_any(none));
    EXPECT_FALSE(test_any(none));
    EXPECT_TRUE(test_all(none));
    EXPECT_TRUE(wait_some(none).empty());
}

TYPED_TEST(mpi_request, its_destructor_waits) {
    this->job(2, [](auto world) {
        auto const data = counted(300000, 1);
        for (int i = 0; i < 5; ++i) {
            if (world.rank() == 0) {
                auto copy = data;
                { auto r = world.isend(copy, 1); }
                std::fill(copy.begin(), copy.end(), -1); // now it is ours
            } else {
                std::vector<int> got(data.size());
                { auto r = world.irecv(got, 0); }
                EXPECT_EQ(got, data);
            }
        }
    });
}

TYPED_TEST(mpi_request, waiting_twice_tells_the_same) {
    this->job(2, [](auto world) {
        if (world.rank() == 0) return world.send(5, 1, 8);
        int x = 0;
        auto r = world.irecv(x);
        auto const first = r.wait(), again = r.wait();
        EXPECT_EQ(again.source, 0);
        EXPECT_EQ(again.tag, 8);
        EXPECT_EQ(again.bytes, first.bytes);
        EXPECT_TRUE(r.test());
    });
}

TYPED_TEST(mpi_request, waiting_twice_throws_the_same) {
    this->job(2, [](auto world) {
        if (world.rank() == 0) return world.send(counted(10, 0), 1, 8);
        int x = -1;
        auto r = world.irecv(x, 0, 8);
        auto const sentence = [&]() -> std::string {
            try {
                auto const m = r.wait();
                ADD_FAILURE() << "told of a message from " << m.source;
                return {};
            } catch (error const& e) {
                EXPECT_EQ(e.code(), errc::truncate);
                return e.what();
            }
        };
        auto const first = sentence();
        EXPECT_NE(first.find("from rank 0 with tag 8 has 40 bytes"), std::string::npos) << first;
        EXPECT_EQ(sentence(), first);
        EXPECT_FALSE(r.pending());
        EXPECT_TRUE(r.test());
        auto moved = std::move(r);
        EXPECT_THROW(moved.wait(), error);
    });
}

TYPED_TEST(mpi_request, its_status_is_told_before_it_is_waited_for) {
    this->job(2, [](auto world) {
        if (world.rank() == 0) {
            EXPECT_EQ(world.template recv<int>(1), 1); // nothing is sent before
            world.rsend(counted(2, 1), 1, 8);          // both receives are posted
            auto const four = counted(4, 1);
            return void(world.irsend(four, 1, 9).wait());
        }
        std::vector<int> two(2), three(3);
        auto r = world.irecv(two, 0, 8), s = world.irecv(three, 0, 9);
        EXPECT_FALSE(r.get_status());
        world.send(1, 0);
        std::optional<message_info> seen;
        while (!seen) seen = r.get_status();
        EXPECT_EQ(seen->bytes, 2 * sizeof(int));
        EXPECT_EQ(seen->tag, 8);
        EXPECT_EQ(two, counted(2, 1));
        EXPECT_TRUE(r.pending());
        EXPECT_EQ(r.wait().bytes, seen->bytes);
        EXPECT_FALSE(r.pending());
        EXPECT_EQ(r.get_status()->tag, 8);
        while (!s.test()) {}
        EXPECT_THROW(static_cast<void>(s.get_status()), error) << "too long a message";
        EXPECT_TRUE(s.pending());
        EXPECT_THROW(s.wait(), error);
    });
}

TYPED_TEST(mpi_request, a_message_that_was_taken_is_received_while_others_go_on) {
    this->job(2, [](auto world) {
        for (std::size_t n : {3u, 300000u}) {
            if (world.rank() == 0) {
                auto const data = counted(n, 1);
                auto first = world.isend(data, 1, 5);
                auto second = world.isend(data, 1, 6);
                first.wait(), second.wait();
            } else {
                std::vector<int> got(n), all(n);
                auto taken = world.mprobe(0, 5);
                auto r = taken.irecv(got);
                EXPECT_EQ(world.recv(all, 0, 6).template count<int>(), n);
                std::vector<typename TestFixture::request> one;
                one.push_back(std::move(r));
                EXPECT_EQ(wait_any(one), 0u);
                auto const m = one[0].wait();
                EXPECT_EQ(m.tag, 5);
                EXPECT_EQ(m.template count<int>(), n);
                EXPECT_EQ(got, counted(n, 1));
                EXPECT_EQ(all, got);
                EXPECT_FALSE(taken.irecv(got).pending()) << "once";
            }
            world.barrier();
        }
    });
}

TYPED_TEST(mpi_request, a_wait_in_an_ended_job_says_so_every_time) {
    test::watchdog const guard{"a wait in an ended job"};
    EXPECT_THROW(this->job(2,
                           [](auto world) {
                               if (world.rank() == 1) throw 42;
                               int x = 0;
                               auto r = world.irecv(x, 1);
                               for (int i = 0; i < 2; ++i) try {
                                       r.wait();
                                       ADD_FAILURE() << "there was nothing to find";
                                   } catch (error const& e) { EXPECT_EQ(e.code(), errc::peer_gone) << e.what(); }
                           }),
                 int);
}

TYPED_TEST(mpi_request, moving_hands_the_operation_over_and_waits_for_the_one_replaced) {
    this->job(2, [](auto world) {
        if (world.rank() == 0) return world.send(1, 1, 1), world.send(2, 1, 2);
        int a = 0, b = 0;
        auto first = world.irecv(a, 0, 1);
        auto second = world.irecv(b, 0, 2);
        auto moved = std::move(second);
        EXPECT_FALSE(second.pending());
        EXPECT_TRUE(moved.pending());
        first = std::move(moved);
        EXPECT_EQ(a, 1) << "the receive that was there is complete";
        first.wait();
        EXPECT_EQ(b, 2);
    });
}

TYPED_TEST(mpi_request, an_exception_withdraws_what_nobody_has_met_and_the_message_goes_to_the_next) {
    test::watchdog const guard{"an exception past a pending receive"};
    this->job(2, [](auto world) {
        if (world.rank() == 0) {
            world.template recv<int>(1);
            return world.send(6, 1, 1);
        }
        int never = 0;
        EXPECT_THROW(
            {
                auto r = world.irecv(never, 0, 1);
                throw std::runtime_error{"out"};
            },
            std::runtime_error);
        world.send(1, 0);
        EXPECT_EQ(world.template recv<int>(0, 1), 6);
        EXPECT_EQ(never, 0);
    });
}

TYPED_TEST(mpi_request, an_exception_takes_back_a_send_that_no_receive_has_met) {
    test::watchdog const guard{"an exception past a pending send"};
    for (int lanes : {1, 3})
        this->job(2, config::values{}.set<"MPT_LANES">(std::to_string(lanes)), [](environment<TypeParam>& env) {
            auto const world = env.world();
            int round = 100;
            for (std::size_t n : {std::size_t{1}, std::size_t{700}, std::size_t{300'000}})
                for (bool probed : {false, true}) {
                    ++round; // the tag: rank 0 may be a round ahead
                    if (world.rank() == 1) {
                        if (probed) static_cast<void>(world.probe(0, round)); // it has been seen, and is still not matched
                        if (probed) world.send(1, 0, 7);
                        EXPECT_EQ(world.template recv<int>(0, 9), 6); // rank 0 waits for nobody
                        EXPECT_FALSE(world.iprobe(0, round)) << n;
                        continue;
                    }
                    try {
                        auto const data = counted(n, 0);
                        auto r = world.issend(data, 1, round);
                        if (probed) world.template recv<int>(1, 7);
                        throw std::runtime_error{"out"};
                    } catch (std::runtime_error const&) {}
                    world.send(6, 1, 9);
                }
        });
}

TYPED_TEST(mpi_request, an_exception_waits_for_no_peer_that_an_exception_has_taken_away) {
    test::watchdog const guard{"a pending send to a rank that is no more"};
    auto const members = boot::local_members(2);
    std::atomic<bool> gone{false};
    std::thread other{[&] {
        try {
            environment<TypeParam> env{members[1]};
            env.world().barrier();
            throw std::runtime_error{"out"};
        } catch (std::runtime_error const&) { gone = true; } // and the process lives on
    }};
    auto const data = counted(300'000, 0);
    EXPECT_THROW(
        {
            environment<TypeParam> env{members[0]};
            env.world().barrier();
            auto const large = env.world().isend(data, 1);
            auto const small = env.world().issend(data.front(), 1);
            while (!gone) std::this_thread::yield();
            throw std::runtime_error{"out, too"};
        },
        std::runtime_error);
    other.join();
}

TYPED_TEST(mpi_request, in_an_ended_job_nobody_reads_or_writes_a_buffer_that_its_owner_took_back) {
    test::watchdog const guard{"buffers in an ended job"};
    for (std::size_t n : {35'000u, 60'000u, 300'000u}) { // announced: one piece, several
        auto const ones = counted(n, 1);
        auto data = ones;
        std::vector<int> got(n, 7);
        std::atomic<bool> unwound{false};
        EXPECT_THROW(this->job(3,
                               [&](auto world) {
                                   int x = 0;
                                   if (world.rank() == 1) {
                                       world.recv(x, 0);
                                       throw 42;
                                   }
                                   if (world.rank() == 2) { // notices nothing until it asks
                                       while (!unwound) std::this_thread::yield();
                                       EXPECT_THROW(world.recv(got, 0, 1), error);
                                       EXPECT_EQ(got.front(), 7) << "read after it was taken back";
                                       return;
                                   }
                                   try {
                                       auto const r = world.issend(data, 2, 1);
                                       world.send(x, 1);
                                       world.recv(x, 1, 9); // never comes
                                   } catch (error const&) {
                                       std::fill(data.begin(), data.end(), -1);
                                       unwound = true;
                                       throw;
                                   }
                               }),
                     int);
    }
}

TYPED_TEST(mpi_request, a_bad_destination_of_both_at_once_eats_no_message) {
    test::watchdog const guard{"sendrecv to nobody"};
    this->job(2, [](auto world) {
        int const other = 1 - world.rank();
        int got = -1;
        world.send(40 + world.rank(), other, 3);
        EXPECT_THROW(world.sendrecv(1, 17, got, other), error);
        EXPECT_THROW(world.sendrecv(1, other, got, other, -5), error);
        EXPECT_EQ(got, -1);
        EXPECT_EQ(world.template recv<int>(other, 3), 40 + other);
    });
}

TYPED_TEST(mpi_request, one_that_is_complete_when_it_is_made_is_found_and_tells_the_same_wherever_it_lies) {
    this->job(2, [](auto world) {
        int const other = 1 - world.rank();
        long const out = 40 + world.rank();
        long in = 0, never = 0;
        std::vector<typename TestFixture::request> both;
        both.push_back(world.isend(out, other, 6));
        both.push_back(world.irecv(never, other, 7));
        EXPECT_EQ(wait_any(both), 0u);
        auto moved = std::move(both[0]);
        typename TestFixture::request assigned;
        assigned = std::move(moved);
        for (int twice = 0; twice < 2; ++twice) {
            auto const m = assigned.wait();
            EXPECT_EQ(m.source, other);
            EXPECT_EQ(m.tag, 6);
            EXPECT_EQ(m.bytes, sizeof out);
            EXPECT_FALSE(m.cancelled);
        }
        EXPECT_FALSE(assigned.pending());
        world.barrier(); // what the other has sent is here, or comes
        both[0] = world.irecv(in, other, 6);
        EXPECT_EQ(wait_any(both), 0u);
        auto const seen = both[0].get_status();
        ASSERT_TRUE(seen);
        EXPECT_EQ(seen->bytes, sizeof in);
        EXPECT_EQ(both[0].wait().source, other);
        EXPECT_EQ(in, 40 + other);
        world.send(out, other, 7);
        EXPECT_EQ(wait_any(both), 1u);
        both[1].wait();
    });
}

TYPED_TEST(mpi_request, wait_any_looks_at_every_lane) {
    test::watchdog const guard{"wait_any over several lanes"};
    this->job(2, config::values{}.set<"MPT_LANES">("3"), [](environment<TypeParam>& env) {
        auto const world = env.world(), self = env.self();
        ASSERT_NE(&world.native().wire.on(), &self.native().wire.on());
        int const other = 1 - world.rank();
        int never = 0, here = 0;
        auto const nothing = world.irecv(never, other, 1);
        std::vector<typename TestFixture::request> both;
        int mine = 0;
        both.push_back(self.irecv(mine, 0));
        both.push_back(world.irecv(here, other, 2));
        world.send(5, other, 2);
        EXPECT_EQ(wait_any(both), 1u);
        EXPECT_EQ(both[1].wait().source, other);
        EXPECT_EQ(here, 5);
        self.send(9, 0);
        EXPECT_EQ(wait_any(both), 0u);
        both[0].wait();
        EXPECT_EQ(mine, 9);
        EXPECT_FALSE(wait_any(both)) << "none is pending";
        world.send(0, other, 1);
    });
}

TYPED_TEST(mpi_request, wait_any_over_several_lanes_hears_that_the_job_was_ended) {
    test::watchdog const guard{"wait_any in an ended job"};
    EXPECT_THROW(this->job(2, config::values{}.set<"MPT_LANES">("3"),
                           [](environment<TypeParam>& env) {
                               if (env.rank() == 1) throw 42;
                               int a = 0, b = 0;
                               std::vector<typename TestFixture::request> both;
                               both.push_back(env.world().irecv(a, 1));
                               both.push_back(env.self().irecv(b, 0));
                               wait_any(both);
                               ADD_FAILURE() << "there was nothing to find";
                           }),
                 int);
}

TYPED_TEST(mpi_request, wait_some_gives_all_that_are_complete) {
    this->job(2, [](auto world) {
        int const other = 1 - world.rank();
        std::vector<int> in(6, -1);
        std::vector<typename TestFixture::request> all;
        for (std::size_t i = 0; i < in.size(); ++i) all.push_back(world.irecv(in[i], other, static_cast<int>(i)));
        EXPECT_TRUE(test_some(all).empty());
        world.barrier();
        for (int t : {4, 1}) world.send(t, other, t);
        world.barrier();
        std::vector<std::size_t> done;
        while (done.size() < 2)
            for (auto i : wait_some(all)) all[i].wait(), done.push_back(i);
        std::sort(done.begin(), done.end());
        EXPECT_EQ(done, (std::vector<std::size_t>{1, 4}));
        EXPECT_FALSE(test_all(all));
        world.barrier(); // the other has looked, too
        for (int t : {0, 2, 3, 5}) world.send(t, other, t);
        EXPECT_EQ(wait_all(all).size(), 6u);
        EXPECT_EQ(in, counted(6, 0));
    });
}

TYPED_TEST(mpi_request, a_future_gives_its_container_back) {
    this->job(2, [](auto world) {
        for (std::size_t n : {0u, 3u, 5000u, 300000u}) {
            if (world.rank() == 0) {
                auto f = world.isend(counted(n, 1), 1);
                auto moved = std::move(f);
                EXPECT_EQ(moved.wait(), counted(n, 1));
            } else {
                message_info info;
                auto f = world.template irecv<std::vector<int>>(0);
                EXPECT_EQ(f.wait(&info), counted(n, 1));
                EXPECT_EQ(info.count<int>(), n);
            }
        }
    });
}

TYPED_TEST(mpi_request, a_future_that_is_replaced_is_waited_for_before_its_container_goes) {
    this->job(2, [](auto world) {
        for (int i = 0; i < 20; ++i) {
            if (world.rank() == 0) {
                auto f = world.isend(counted(100000, i), 1, 1);
                f = world.isend(counted(100000, -i), 1, 2); // the first container is freed here
                f.wait();
            } else {
                EXPECT_EQ(world.template recv<std::vector<int>>(0, 1), counted(100000, i));
                EXPECT_EQ(world.template recv<std::vector<int>>(0, 2), counted(100000, -i));
            }
        }
    });
}

TYPED_TEST(mpi_request, part_of_an_element_is_an_error_of_the_future) {
    this->job(2, [](auto world) {
        if (world.rank() == 0) return world.send(std::string{"seven.."}, 1);
        auto f = world.template irecv<std::vector<int>>(0);
        EXPECT_THROW(f.wait(), error);
    });
}
} // namespace
