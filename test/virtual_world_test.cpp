#include <array>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/core/types.hpp>
#include <mpt/lock/ticket.hpp>
#include <mpt/wait/adaptive.hpp>
#include <mpt/wait/doorbell.hpp>
#include <unistd.h>

#include "support/virtual_world.hpp"

namespace {

using namespace mpt;
using namespace mpt::test;
constexpr nanoseconds us{1'000}, ms{1'000'000}, hour{3'600'000'000'000};

/// A mailbox of one plain message and the doorbell that goes with it: what a lane is, without its transport.
struct mailbox {
    int message = 0; // plain: one fibre runs at a time
    bool full = false;
    wait::doorbell<virtual_world> bell;

    void put(int m, nanoseconds flight) {
        virtual_world{}.sleep_for(flight);
        message = m;
        full = true;
        bell.ring(virtual_world{}, fence_mode::both);
    }
    int take() {
        wait::adaptive::type w{wait_facts{.scarce = true, .yields = 3, .nap = ms}};
        while (!full) {
            if (w.next() != wait_step::sleep) {
                virtual_world{}.yield();
                continue;
            }
            auto const armed = bell.arm(fence_mode::both);
            if (!full) bell.sleep(virtual_world{}, armed, w.nap());
            bell.disarm();
        }
        full = false;
        return message;
    }
};

struct ping_pong {
    nanoseconds took{};
    std::vector<nanoseconds> arrivals;
    bool operator==(ping_pong const&) const = default;
};

ping_pong play(int rounds, nanoseconds flight, std::uint64_t seed) {
    ping_pong result;
    virtual_machine machine{{.seed = seed}};
    std::array<mailbox, 2> box;
    machine.spawn([&] {
        for (int i = 0; i < rounds; ++i) {
            box[1].put(i, flight);
            EXPECT_EQ(box[0].take(), i + 1000);
            result.arrivals.push_back(machine.now());
        }
    });
    machine.spawn([&] {
        for (int i = 0; i < rounds; ++i) box[0].put(box[1].take() + 1000, flight);
    });
    machine.run();
    result.took = machine.now();
    return result;
}

TEST(virtual_world, lets_two_fibres_play_ping_pong_through_their_doorbells_in_virtual_time) {
    auto const game = play(100, 1000 * ms, 0);
    EXPECT_GE(game.took, 200 * 1000 * ms);
    EXPECT_LT(game.took, 200 * 1000 * ms + 100 * ms) << "waiting costs a few yields, and no nap goes on after the ring";
}

TEST(virtual_world, repeats_a_run_to_the_nanosecond) {
    for (std::uint64_t const seed : {0u, 1u, 2u, 77u}) EXPECT_EQ(play(50, 7 * us, seed), play(50, 7 * us, seed));
}

TEST(virtual_world, draws_another_order_for_another_seed) {
    auto const order = [](std::uint64_t seed) {
        virtual_machine machine{{.seed = seed}};
        std::vector<int> said;
        for (int f = 0; f < 8; ++f)
            machine.spawn([&said, f] {
                for (int i = 0; i < 4; ++i) said.push_back(f), virtual_world{}.yield();
            });
        machine.run();
        return said;
    };
    EXPECT_EQ(order(5), order(5));
    EXPECT_NE(order(5), order(6));
    EXPECT_EQ(order(0)[9], 1) << "first in, first out";
}

TEST(virtual_world, wakes_sleepers_in_the_order_of_their_deadlines) {
    virtual_machine machine;
    std::vector<std::pair<int, nanoseconds>> woken;
    for (int const n : {3, 1, 2})
        machine.spawn([&, n] {
            virtual_world{}.sleep_for(n * hour);
            woken.emplace_back(n, machine.now());
        });
    machine.run();
    EXPECT_EQ(woken, (std::vector<std::pair<int, nanoseconds>>{{1, hour}, {2, 2 * hour}, {3, 3 * hour}}));
}

TEST(virtual_world, ends_a_wait_by_its_time_and_not_by_another_words_wake) {
    virtual_machine machine;
    std::array<virtual_world::word, 2> words{};
    machine.spawn([&] {
        virtual_world{}.wait(words[0], 1, hour); // changed already
        EXPECT_EQ(machine.now(), nanoseconds{0});
        virtual_world{}.wait(words[0], 0, hour);
        EXPECT_EQ(machine.now(), hour);
    });
    machine.spawn([&] {
        virtual_world{}.sleep_for(ms);
        virtual_world{}.wake(words[1], 1);
    });
    machine.run();
}

TEST(virtual_world, wakes_as_many_as_it_is_asked_to) {
    virtual_machine machine;
    virtual_world::word word{0};
    int awake = 0;
    for (int i = 0; i < 3; ++i)
        machine.spawn([&] {
            virtual_world{}.wait(word, 0, hour);
            if (machine.now() < hour) ++awake;
        });
    machine.spawn([&] { virtual_world{}.wake(word, 2); });
    machine.run();
    EXPECT_EQ(awake, 2);
}

TEST(virtual_world, says_who_waits_for_ever) {
    virtual_machine machine;
    virtual_world::word word{0};
    machine.spawn([] {});
    machine.spawn([&] { virtual_world{}.wait(word, 0, nanoseconds::max()); });
    try {
        machine.run();
        FAIL() << "nobody could go on";
    } catch (std::runtime_error const& e) {
        EXPECT_NE(std::string{e.what()}.find("wake them: 1"), std::string::npos) << e.what();
    }
}

TEST(virtual_world, lets_out_what_a_fibre_throws) {
    virtual_machine machine;
    machine.spawn([] {
        virtual_world{}.sleep_for(ms);
        throw std::out_of_range{"thrown in a fibre"};
    });
    machine.spawn([] { virtual_world{}.sleep_for(hour); });
    EXPECT_THROW(machine.run(), std::out_of_range);
}

TEST(virtual_world, gives_each_fibre_a_number_so_that_a_recursive_lock_tells_them_apart) {
    virtual_machine machine;
    lock::ticket::type<virtual_world> lock;
    int inside = 0, passes = 0;
    for (int f = 0; f < 6; ++f)
        machine.spawn([&] {
            for (int i = 0; i < 20; ++i) {
                guard outer{lock};
                guard inner{lock};
                EXPECT_EQ(++inside, 1);
                virtual_world{}.sleep_for(us); // the others come, run out of yields and sleep on the lock
                --inside, ++passes;
            }
        });
    machine.run();
    EXPECT_EQ(passes, 120);
    EXPECT_NE(virtual_world{}.self(), 0u);
}

TEST(virtual_world, lets_time_pass_for_whoever_polls_and_yields) {
    virtual_machine machine;
    int polls = 0;
    machine.spawn([&] {
        auto const end = virtual_world{}.now() + ms;
        while (virtual_world{}.now() < end) ++polls, virtual_world{}.yield();
    });
    machine.run();
    EXPECT_GT(polls, 1000);
    EXPECT_GE(machine.now(), ms);
}

TEST(virtual_world, spawns_from_within_and_waits_for_real_descriptors) {
    virtual_machine machine;
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    bool read = false;
    machine.spawn([&] {
        machine.spawn([&] {
            virtual_world{}.sleep_for(10 * ms);
            EXPECT_EQ(::write(pipe[1], "x", 1), 1);
        });
        auto const end = virtual_world{}.now() + hour;
        char c = 0;
        while (!read && virtual_world{}.now() < end) {
            std::array const fds{pipe[0]};
            virtual_world{}.wait_readable(fds, hour);
            ::pollfd ready{.fd = pipe[0], .events = POLLIN, .revents = 0};
            if (::poll(&ready, 1, 0) == 1) read = ::read(pipe[0], &c, 1) == 1;
        }
    });
    machine.run();
    EXPECT_TRUE(read);
    EXPECT_LT(machine.now(), 20 * ms);
    ::close(pipe[0]), ::close(pipe[1]);
}

} // namespace
