#include <array>
#include <atomic>
#include <barrier>
#include <functional>
#include <set>
#include <thread>

#include "support/job_of.hpp"
#include <gtest/gtest.h>
#include <mpt/lock/none.hpp>
#include <mpt/lock/pthread.hpp>
#include <mpt/mpi/environment.hpp>
#include <mpt/mpi/local_job.hpp>
#include <mpt/transport/stream.hpp>
#include <mpt/wait/sleep.hpp>

namespace {
using namespace mpt;
using local = environment<local_stack>;

config::values with_lanes(int n) { return config::values{}.set<"MPT_LANES">(std::to_string(n)); }
/// Waits leave the spin at once and go to sleep.
config::values sleepy() { return config::values{}.set<"MPT_SPIN">("0").set<"MPT_YIELD">("0").set<"MPT_NAP">("1000"); }

/// A lock that remembers what it was made of.
struct curious_lock {
    using kind = mpt::kind::lock;
    static constexpr std::string_view name = "curious";
    static constexpr bool process_shared = true, recursive = true, fair = true;
    template <class World> struct type : lock::none::type<World> {
        fence_mode given;
        explicit type(World w = {}, fence_mode mode = fence_mode::both) : lock::none::type<World>{w, mode}, given{mode} {}
    };
};

TEST(stack_lane, its_lock_has_the_fence_mode_of_the_node) {
    using stack_type = stack<world::threads, curious_lock>;
    for (auto const mode : {fence_mode::sleeper, fence_mode::both})
        test::run_ranks(1, [mode](boot::job& job, mem::slice_heap& heap, int) {
            job.header().fences.store(mode, std::memory_order_relaxed); // order: nobody else is in this job
            memory_source const memory{[](void* h, std::size_t size, std::size_t align) noexcept -> void* {
                                           return static_cast<mem::slice_heap*>(h)->extent(size, align).data();
                                       },
                                       &heap};
            lane<stack_type> l{{world::threads{}, job, heap, 0, 0, 1, {}}, {}, {}, memory};
            EXPECT_EQ(l.lock().given, mode);
            job.meet();
        });
}

TEST(stack_lane, a_wait_ends_the_first_time_that_it_is_told_yes) {
    test::watchdog const guard{"a wait that was told yes"};
    for (auto const& v : {config::values{}, sleepy()})
        local_job(1, v, [](local& env) {
            auto& lane = env.native().lane_at(0);
            for (int yes = 1; yes <= 40; ++yes) { // spinning or about to sleep: yes counts, and is not asked for twice
                int asked = 0;
                lane.wait({wait_for::probe}, [&](auto&) { return ++asked == yes; });
                EXPECT_EQ(asked, yes);
            }
        });
}

TEST(stack_lane, a_long_wait_says_what_it_waits_for_and_is_silent_after_it) {
    local_job(1, sleepy(), [](local& env) {
        auto& rt = env.native();
        auto const& record = rt.job().record(rt.me()).waiting;
        wait_snapshot seen;
        int asked = 0;
        rt.lane_at(0).wait({wait_for::receive, context_id{1234}, 0, 77, 4096}, [&](auto&) {
            if (++asked < 10) return false;
            seen = read(record);
            return true;
        });
        EXPECT_EQ(seen.what, wait_for::receive);
        EXPECT_EQ(seen.context, context_id{1234});
        EXPECT_EQ(seen.peer, 0);
        EXPECT_EQ(seen.label, 77);
        EXPECT_EQ(seen.size, 4096u);
        EXPECT_GT(seen.since, 0);
        EXPECT_EQ(read(record).what, wait_for::nothing);
    });
}

/// In the order in which they came, as many as the record holds; and none when they were received.
TEST(stack_lane, a_rank_that_sleeps_shows_the_messages_it_has_not_asked_for) {
    local_job(2, sleepy(), [](local& env) {
        auto const world = env.world();
        auto const& kept = env.native().job().record(1).kept;
        int const most = static_cast<int>(kept.size()), sent = most + 3;
        if (env.rank() == 0) {
            for (int i = 0; i < sent; ++i) world.send(i, 1, 100 + i);
            while (read(kept.back()).what != wait_for::message) env.native().world().yield();
            world.send(0, 1, 1);
            world.recv<int>(1, 2);
            while (read(kept.front()).what != wait_for::nothing) env.native().world().yield();
            world.send(0, 1, 3);
            return;
        }
        world.recv<int>(0, 1); // sleeps over the others
        for (int i = 0; i < most; ++i) {
            auto const seen = read(kept[static_cast<std::size_t>(i)]);
            EXPECT_TRUE(seen.what == wait_for::message && seen.peer == 0 && seen.label == 100 + i && seen.size == sizeof(int))
                << i;
        }
        for (int i = 0; i < sent; ++i) EXPECT_EQ(world.recv<int>(0, 100 + i), i);
        world.send(0, 0, 2);
        world.recv<int>(0, 3); // sleeps, and keeps nothing
    });
}

TEST(stack_lane, a_wait_that_throws_is_silent_after_it) {
    test::watchdog const guard{"a wait in an ended job"};
    std::atomic<int> looked{0};
    EXPECT_THROW(
        local_job(
            2, sleepy(),
            [&](local& env) {
                auto& rt = env.native();
                auto const& record = rt.job().record(0).waiting;
                if (env.rank() == 1) {
                    while (read(record).what != wait_for::receive) rt.world().yield();
                    throw 42;
                }
                EXPECT_THROW(rt.lane_at(0).wait({wait_for::receive, context_id{1234}, 1}, [](auto&) { return false; }), error);
                EXPECT_EQ(read(record).what, wait_for::nothing);
                ++looked;
            }),
        int);
    EXPECT_EQ(looked, 1);
}

TEST(stack_lane, a_wait_that_ends_at_once_leaves_no_record) {
    local_job(1, sleepy(), [](local& env) {
        auto& rt = env.native();
        auto const& record = rt.job().record(rt.me()).waiting;
        auto const before = record.serial.load(std::memory_order_relaxed);
        rt.lane_at(0).wait({wait_for::receive}, [](auto&) { return true; });
        EXPECT_EQ(record.serial.load(std::memory_order_relaxed), before);
    });
}

TEST(stack_lane, the_record_names_the_peer_of_a_receive_and_of_a_synchronous_send) {
    local_job(2, sleepy(), [](local& env) {
        auto const world = env.world();
        auto& rt = env.native();
        auto const until_seen = [&](wait_for what, int label) { // the other rank is in its wait
            for (;;) {
                auto const seen = read(rt.job().record(1).waiting);
                if (seen.what == what && seen.peer == 0 && seen.label == label) return;
                rt.world().yield();
            }
        };
        int x = 5;
        if (env.rank() == 0) {
            until_seen(wait_for::receive, 8);
            world.send(x, 1, 8);
            until_seen(wait_for::pending_send, 9);
            world.recv<int>(1, 9);
        } else {
            world.recv<int>(0, 8);
            world.issend(x, 0, 9).wait();
        }
    });
}

TEST(stack_lane, a_rank_that_waits_on_one_lane_serves_its_others) {
    local_job(2, with_lanes(3), [](local& env) {
        auto& rt = env.native();
        int const other = 1 - env.rank();
        std::vector<std::byte> const out(300000, std::byte{7});
        std::vector<std::byte> in(out.size());
        channel<local_stack> const first{rt.lane_at(0), context_id{100}}, last{rt.lane_at(2), context_id{104}};
        // Each begins a large transfer on its last lane and waits on the first for a word that the other sends only when the
        // transfer is through.
        auto* receive = last.start_recv(other, 1, sink{in});
        auto* send = last.start_send(other, 1, source{out});
        if (env.rank() == 0) {
            last.finish(*receive, {});
            last.finish(*send, {}); // needs rank 1, who waits elsewhere
            first.send(other, 2, {});
        } else {
            first.recv(other, 2, {});
            last.finish(*receive, {});
            last.finish(*send, {});
        }
        EXPECT_EQ(in, out);
    });
}

TEST(stack_lane, alone_it_has_no_others_to_serve) {
    local_job(1, [](local& env) { EXPECT_EQ(env.native().lane_at(0).serve_others(), 0u); });
}

TEST(stack_lane, serving_passes_by_a_lane_that_somebody_is_in) {
    local_job(1, with_lanes(2), [](local& env) {
        auto& rt = env.native();
        rt.lane_at(1).enter([&](auto&) { EXPECT_EQ(rt.lane_at(0).serve_others(), 0u); }); // would wait for itself otherwise
    });
}

/// One rank ends the job; what the other's wait throws.
template <class Wait> void expect_thrown_by_the_end(config::values const& v, Wait&& wait) {
    std::atomic<bool> thrown{false};
    EXPECT_THROW(local_job(2, v,
                           [&](local& env) {
                               if (env.rank() == 1) throw 42;
                               try {
                                   wait(env);
                               } catch (error const& e) {
                                   EXPECT_EQ(e.code(), errc::peer_gone) << e.what();
                                   thrown.store(true, std::memory_order_relaxed);
                                   throw;
                               }
                           }),
                 int);
    EXPECT_TRUE(thrown.load(std::memory_order_relaxed));
}

TEST(stack_lane, a_wait_in_a_job_that_was_ended_throws) {
    test::watchdog const guard{"a wait in an ended job"};
    for (auto const& v : {config::values{}, sleepy(), with_lanes(3)})
        expect_thrown_by_the_end(
            v, [](local& env) { env.native().lane_at(0).wait({wait_for::probe}, [](auto&) { return false; }); });
}

TEST(stack_lane, nothing_arrives_any_more_after_a_wait_has_thrown) {
    test::watchdog const guard{"a wait in an ended job"};
    expect_thrown_by_the_end({}, [](local& env) {
        auto& rt = env.native();
        auto const world = env.world();
        int late = 0;
        auto r = world.irecv(late, 0, 5);
        try {
            world.recv<int>(1);
        } catch (error const&) {}
        // To oneself the wire is open for ever; yet the buffers of an ended job may be gone.
        rt.lane_at(0).enter([&](auto& engine) {
            int const one = 1;
            engine.send_now(rank{0}, world.context(), tag{5}, &one, sizeof one);
        });
        for (int i = 0; i < 3; ++i) EXPECT_THROW(rt.lane_at(0).wait({wait_for::probe}, [](auto&) { return false; }), error);
        EXPECT_THROW(r.test(), error);
        EXPECT_EQ(late, 0);
        r.wait();
    });
}

// --- several threads of one rank ------------------------------------------------------------------------------------------

/// Counts naps; while `patient`, a nap ends by a wake-up only: what nobody rings for hangs, and the watchdog says so.
struct counting_world : world::threads {
    static inline std::atomic<bool> patient{false};
    static inline std::atomic<int> naps{0};
    static inline std::atomic<std::int64_t> longest{0}; // wait for descriptors

    void wait(native_atomics::atomic<std::uint32_t>& word, std::uint32_t seen, nanoseconds d) const noexcept {
        ++naps;
        world::threads::wait(word, seen, patient ? nanoseconds::max() : d);
    }
    void wait_readable(std::span<int const> fds, nanoseconds d) const noexcept {
        ++naps;
        if (d.count() > longest) longest = d.count();
        world::threads::wait_readable(fds, d);
    }
};

using locks = testing::Types<lock::ticket, lock::pthread>;
template <class Lock> struct stack_lane_threads : testing::Test {
    using stack_type = stack<counting_world, Lock, wait::sleep>;
    using environment_type = environment<stack_type>;

    /// Runs body(env) on each of n ranks while naps end by wake-ups only.
    template <class Body> static void without_time(int n, Body&& body) {
        test::watchdog const guard{"threads of one rank: a completion that nobody rang for"};
        std::barrier all{n};
        local_job<stack_type>(n, [&](environment_type& e) {
            e.world().barrier();
            all.arrive_and_wait();
            counting_world::patient = true;
            all.arrive_and_wait();
            body(e);
            all.arrive_and_wait();
            counting_world::patient = false;
        });
    }
    /// Until a thread has gone to sleep; then some more, so that it is really there.
    static void until_asleep(int naps_before) {
        while (counting_world::naps == naps_before) std::this_thread::yield();
        for (int i = 0; i < 200; ++i) std::this_thread::yield();
    }
    /// One thread waits, and once it sleeps another does what ends the wait, and no more.
    template <class Wait, class End> static void wait_and_end(Wait&& wait, End&& end) {
        auto const before = counting_world::naps.load();
        std::thread waiter{wait};
        until_asleep(before);
        end();
        waiter.join();
    }
};
TYPED_TEST_SUITE(stack_lane_threads, locks);

TYPED_TEST(stack_lane_threads, the_last_to_leave_wakes_those_that_wait_for_it) {
    test::watchdog const guard{"leaving: the last rings nobody"};
    std::barrier all{3};
    int naps = 0;
    local_job<typename TestFixture::stack_type>(3, [&](auto& env) {
        env.world().barrier();
        all.arrive_and_wait();
        if (env.world().rank() == 0) naps = counting_world::naps, counting_world::patient = true;
        all.arrive_and_wait();
        if (env.world().rank() == 0)
            while (counting_world::naps < naps + 2) std::this_thread::yield();
    });
    counting_world::patient = false;
}
TYPED_TEST(stack_lane_threads, a_message_to_oneself_wakes_the_thread_that_sleeps_over_it) {
    this->without_time(1, [this](auto& env) {
        auto const world = env.world();
        for (int i = 0; i < 20; ++i) {
            int got = 0;
            this->wait_and_end([&] { world.recv(got, 0, 1); }, [&] { world.send(i, 0, 1); });
            EXPECT_EQ(got, i);
            this->wait_and_end([&] { static_cast<void>(world.probe(0, 2)); }, [&] { world.send(i, 0, 2); });
            EXPECT_EQ(world.template recv<int>(0, 2), i);
            std::vector<int> const lent(300, i); // by a loan
            std::vector<int> room(300);
            this->wait_and_end([&] { world.recv(room, 0, 3); }, [&] { world.send(lent, 0, 3); });
            EXPECT_EQ(room, lent);
        }
    });
}

TYPED_TEST(stack_lane_threads, a_receive_wakes_the_thread_that_sleeps_over_the_send) {
    this->without_time(1, [this](auto& env) {
        auto const world = env.world();
        for (std::size_t n : {std::size_t{4}, std::size_t{3000}, std::size_t{300'000}})
            for (int i = 0; i < 5; ++i) {
                std::vector<char> const data(n, 'x');
                std::vector<char> got(n);
                this->wait_and_end([&] { world.ssend(data, 0, 1); }, [&] { world.recv(got, 0, 1); });
                EXPECT_EQ(got, data);
            }
    });
}

TYPED_TEST(stack_lane_threads, a_cancel_wakes_the_thread_that_sleeps_over_the_receive) {
    this->without_time(1, [this](auto& env) {
        auto const world = env.world();
        auto const& wire = world.native().wire;
        for (int i = 0; i < 20; ++i) {
            int never = 0;
            auto* r = wire.start_recv(0, 1, sink{std::as_writable_bytes(std::span{&never, 1})});
            outcome how;
            this->wait_and_end([&] { how = wire.finish(*r, {}); }, [&] { wire.cancel(*r); });
            EXPECT_EQ(how.how, status::cancelled);
        }
    });
}

/// Threads of two ranks, each with its partner: messages of all lengths, their order and their data checked.
template <class Environment> void talk(Environment& env, int threads, int rounds) {
    auto const world = env.world();
    int const other = 1 - env.rank();
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t)
        team.emplace_back([&, t] {
            std::uint32_t dice = static_cast<std::uint32_t>(t) + 1; // the same on both ranks
            for (int i = 0; i < rounds; ++i) {
                constexpr std::size_t sizes[]{1, 30, 100, 5000, 20'000, 200'000};
                dice = dice * 1664525 + 1013904223;
                std::vector<char> const out(sizes[(dice >> 16) % 6], static_cast<char>(i));
                std::vector<char> in(out.size());
                if ((dice >> 28) % 2 == 0) {
                    auto r = world.irecv(in, other, t);
                    world.ssend(out, other, t);
                    r.wait();
                } else {
                    auto s = world.isend(out, other, t);
                    world.recv(in, other, t);
                    s.wait();
                }
                ASSERT_EQ(in, out);
            }
        });
    for (auto& t : team) t.join();
}

TYPED_TEST(stack_lane_threads, no_completion_is_slept_through_where_two_ranks_talk_with_three_threads_each) {
    this->without_time(2, [](auto& env) { talk(env, 3, MPT_THREAD_SANITIZER ? 30 : 150); });
}

TEST(stack_lane, carries_the_messages_of_more_threads_than_cpus_by_tickets_and_by_the_systems_mutex) {
    test::watchdog const guard{"eight threads of each of two ranks"};
    for (auto const* tickets : {"on", "off"})
        for (auto const& v : {config::values{}, sleepy(), with_lanes(2)})
            local_job(2, config::values{v}.set<"MPT_TICKET">(tickets),
                      [](local& env) { talk(env, 8, MPT_THREAD_SANITIZER ? 5 : 10); });
}

TYPED_TEST(stack_lane_threads, a_thread_in_a_berth_is_up_when_nobody_else_looks) {
    std::atomic<int> next{0};
    this->without_time(2, [&](auto& env) {
        auto const world = env.world();
        for (int round = 1; round <= 5; ++round) {
            if (env.rank() == 1) {
                for (int const t : {1, 2}) {
                    while (next != 10 * round + t) std::this_thread::yield();
                    world.send(t, 0, t);
                }
                continue;
            }
            std::array<std::thread, 2> waiter;
            for (int const t : {1, 2}) {
                auto const before = counting_world::naps.load();
                waiter[static_cast<std::size_t>(t - 1)] = std::thread{[&, t] { EXPECT_EQ(world.template recv<int>(1, t), t); }};
                this->until_asleep(before);
            }
            auto const before = counting_world::naps.load();
            next = 10 * round + 1;
            waiter[0].join();
            this->until_asleep(before); // the other one, at the bell
            next = 10 * round + 2;
            waiter[1].join();
        }
    });
}

/// Whoever runs code of the program's looks at nothing meanwhile.
TYPED_TEST(stack_lane_threads, a_thread_in_a_berth_is_up_while_the_one_that_looked_runs_the_programs_code) {
    std::atomic<bool> combining{false}, received{false};
    static thread_local bool is_receiver = false; // who may come to run it, too, and would wait for itself
    this->without_time(2, [&](auto& env) {
        auto const world = env.world();
        if (env.rank() == 1) {
            static_cast<void>(world.template recv<int>(0, 1));
            EXPECT_EQ(world.iallreduce(2, std::plus{}).wait(), 3);
            while (!combining) std::this_thread::yield();
            world.send(5, 0, 2);
            return;
        }
        auto sum = world.iallreduce(1, [&](int a, int b) {
            combining = true;
            while (!received && !is_receiver) std::this_thread::yield();
            return a + b;
        });
        auto before = counting_world::naps.load();
        std::thread looks{[&] { EXPECT_EQ(sum.wait(), 3); }};
        this->until_asleep(before);
        before = counting_world::naps.load();
        std::thread lies{[&] {
            is_receiver = true;
            EXPECT_EQ(world.template recv<int>(1, 2), 5);
            received = true;
        }};
        this->until_asleep(before);
        world.send(1, 1, 1);
        looks.join(), lies.join();
    });
}

/// A lock that lets nobody in by trying, and remembers what was asked of it.
struct refusing_lock : curious_lock {
    template <class World> struct type : curious_lock::type<World> {
        using curious_lock::type<World>::type;
        int tries = 0, acquires = 0;
        bool mutex = false;
        void by_mutex() noexcept { mutex = true; }
        bool try_acquire(typename lock::none::type<World>::node&) noexcept { return ++tries, false; }
        void acquire(typename lock::none::type<World>::node&) noexcept { ++acquires; }
    };
};

TEST(stack_lane, a_thread_that_waits_gets_in_line_only_after_it_was_refused_often) {
    using stack_type = stack<world::threads, refusing_lock>;
    for (auto const* tickets : {"on", "off"})
        local_job<stack_type>(1, config::values{}.set<"MPT_TICKET">(tickets), [&](environment<stack_type>& env) {
            auto& lane = env.native().lane_at(0);
            auto& lock = lane.lock();
            EXPECT_EQ(lock.mutex, std::string_view{tickets} == "off");
            lock.tries = lock.acquires = 0;
            int asked = 0;
            lane.wait({wait_for::probe}, [&](auto&) { return ++asked == 5; });
            EXPECT_EQ(lock.acquires, 5);
            EXPECT_EQ(lock.tries, 1 + 5 * 32); // the looks that come first end with the first refusal
        });
}

/// Its clock goes on when it is asked only: however busy the machine is, a yield takes no time slice.
struct steady_world : world::threads {
    static inline std::atomic<std::int64_t> asked{0};
    nanoseconds now() const noexcept { return nanoseconds{++asked}; }
};

TEST(stack_lane, a_thread_that_waits_alone_spins_and_two_of_them_yield) {
    test::watchdog const guard{"threads that wait in company"};
    static std::atomic<int> yields;
    struct yielding_world : steady_world {
        void yield() const noexcept { ++yields, world::threads::yield(); }
    };
    using stack_type = stack<yielding_world>;
    local_job<stack_type>(1, config::values{}.set<"MPT_SPIN">("1000000000"), [](environment<stack_type>& env) {
        auto& lane = env.native().lane_at(0);
        std::atomic<bool> over{false};
        std::atomic<int> looks{0};
        auto const wait = [&] { lane.wait({wait_for::probe}, [&](auto&) { return ++looks, over.load(); }); };
        std::thread first{wait};
        while (looks < 10'000) std::this_thread::yield();
        EXPECT_EQ(yields, 0);
        EXPECT_TRUE(lane.is_waited_on());
        std::thread second{wait};
        while (yields < 1000) std::this_thread::yield();
        over = true;
        first.join(), second.join();
        EXPECT_FALSE(lane.is_waited_on());
    });
}

/// Whoever computes beside us on our CPU keeps it for a slice with each yield, and gives it back at once to who slept.
TEST(stack_lane, yields_that_take_time_slices_are_given_up_for_sleep_and_tried_again_now_and_then) {
    static std::int64_t slice;
    static int yields, naps;
    struct busy_world : steady_world {
        void yield() const noexcept { ++yields, asked += slice; }
        void wait(native_atomics::atomic<std::uint32_t>&, std::uint32_t, nanoseconds) const noexcept { ++naps; }
    };
    using stack_type = stack<busy_world>;
    for (bool const for_ever : {false, true}) {
        auto const v = for_ever ? config::values{}.set<"MPT_WAIT">("yield") : config::values{}.set<"MPT_SPIN">("10");
        local_job<stack_type>(1, v, [for_ever](environment<stack_type>& env) {
            auto& lane = env.native().lane_at(0);
            // How often a wait yields that ends at the third nap, or at the 1000th yield.
            auto const yields_of_wait = [&] {
                yields = naps = 0;
                lane.wait({wait_for::probe}, [](auto&) { return naps >= 3 || yields == 1000; });
                return yields;
            };
            slice = 0;
            auto const usual = for_ever ? 1000 : 200;
            EXPECT_EQ(yields_of_wait(), usual);
            EXPECT_TRUE(lane.may_yield());
            slice = 4'000'000;
            EXPECT_EQ(yields_of_wait(), for_ever ? usual : 2) << "the first may have been the turns of others";
            EXPECT_EQ(lane.may_yield(), for_ever);
            for (int i = 0; i < 8; ++i) EXPECT_EQ(yields_of_wait(), for_ever ? usual : 0);
            if (for_ever) return;
            EXPECT_EQ(yields_of_wait(), 1) << "after 8 waits one tells again";
            slice = 0;
            for (int i = 0; i < 24; ++i) EXPECT_EQ(yields_of_wait(), 0);
            EXPECT_EQ(yields_of_wait(), usual);
            slice = 4'000'000;
            EXPECT_EQ(yields_of_wait(), 2);
            for (int i = 0; i < 8; ++i) EXPECT_EQ(yields_of_wait(), 0) << "a short yield forgets";
        });
    }
}

/// Threads of a rank wait on a lane: one at its bell, until it leaves, one in a berth, and this one.
TEST(stack_lane, where_all_others_lie_in_berths_a_thread_yields_though_yields_were_dear) {
    test::watchdog const guard{"the last of three threads that wait"};
    static constexpr nanoseconds at_bell{1'000'000}, in_berth{16'000'000}; // naps; those of the lane's lock are longer
    static std::atomic<std::int64_t> slice;
    static thread_local bool is_last = false;
    static thread_local int yields, naps;
    struct busy_world : steady_world {
        void yield() const noexcept { ++yields, asked += slice; }
        void wait(native_atomics::atomic<std::uint32_t>& word, std::uint32_t seen, nanoseconds d) const noexcept {
            if (is_last && d == at_bell) return static_cast<void>(++naps);
            steady_world::wait(word, seen, d == in_berth ? nanoseconds::max() : d); // there until it is roused
        }
    };
    using stack_type = stack<busy_world>;
    /// The last one's, after its first look: the other one at the bell leaves.
    struct after_look final : wait_hook {
        std::function<void()> first_leaves;
        bool has_looked = false, is_over = false, was_late = false;
        std::size_t look() noexcept override {
            if (!is_last || !has_looked || std::exchange(is_over, true)) return 0;
            was_late = yields + naps != 0; // another thread was in the hooks until now
            first_leaves();
            yields = naps = 0;
            return 0;
        }
    };
    auto const v = config::values{}.set<"MPT_SPIN">("10").set<"MPT_NAP">("1000");
    for (std::int64_t const then : {0, 4'000'000}) {
        bool again = true;
        while (again)
            local_job<stack_type>(1, v, [&again, then](environment<stack_type>& env) {
                auto& lane = env.native().lane_at(0);
                slice = 4'000'000;
                std::atomic<bool> leaves{false};
                std::thread first{
                    [&] { lane.wait({wait_for::probe}, [&](auto&) { return leaves.load(); }); }}; // no request: at the bell
                while (lane.may_yield()) std::this_thread::yield();
                std::thread second{[&] { EXPECT_EQ(env.world().template recv<int>(0, 2), 2); }};
                while (!lane.enter([](auto& e) { return e.berths().is_alone_up(); })) std::this_thread::yield();
                after_look hook;
                hook.first_leaves = [&] { leaves = true, first.join(), slice = then; };
                env.native().hooks().add(hook);
                yields = naps = 0, is_last = true;
                lane.wait({wait_for::probe},
                          [&](auto&) { return hook.has_looked = true, hook.is_over && (naps >= 3 || yields > 1000); });
                is_last = false;
                env.native().hooks().remove(hook);
                again = hook.was_late;
                if (!again) { EXPECT_EQ(yields, then == 0 ? 200 : 1) << "until one takes a slice; then it sleeps"; }
                env.world().send(2, 0, 2);
                second.join();
            });
    }
}

/// In step with another CPU's threads, two partners might never run at once.
TEST(stack_lane, in_company_a_thread_yields_soon_and_not_always_after_as_many_looks) {
    test::watchdog const guard{"threads that wait in company"};
    static thread_local int looks, before_yield;
    struct yielding_world : steady_world {
        void yield() const noexcept {
            if (before_yield == 0) before_yield = looks;
            world::threads::yield();
        }
    };
    using stack_type = stack<yielding_world>;
    local_job<stack_type>(1, {}, [](environment<stack_type>& env) {
        auto& lane = env.native().lane_at(0);
        std::atomic<bool> over{false};
        std::thread other{[&] { lane.wait({wait_for::probe}, [&](auto&) { return over.load(); }); }};
        while (!lane.is_waited_on()) std::this_thread::yield();
        std::set<int> numbers;
        while (numbers.size() < 5) { // 128 numbers there are, and refusals count as looks
            looks = before_yield = 0;
            lane.wait({wait_for::probe}, [](auto&) { return ++looks, before_yield != 0; });
            EXPECT_LE(before_yield, 96 + 128);
            numbers.insert(before_yield);
        }
        over = true;
        other.join();
    });
}

TEST(stack_lane, without_a_bell_its_threads_look_every_millisecond_whatever_the_nap) {
    using stack_type = stack<counting_world, transport::stream<>, wait::sleep>;
    auto const before = counting_world::naps.load();
    counting_world::longest = 0;
    local_job<stack_type>(1, config::values{}.set<"MPT_NAP">("1000000"), [&](environment<stack_type>& env) {
        int got = 0;
        std::thread waiter{[&] { env.world().recv(got, 0, 1); }};
        while (counting_world::naps < before + 3) std::this_thread::yield();
        env.world().send(5, 0, 1);
        waiter.join();
        EXPECT_EQ(got, 5);
    });
    EXPECT_LE(counting_world::longest, 1'000'000);
}

TEST(stack_lane, a_wait_for_any_of_several_lanes_sleeps_between_its_looks) {
    test::watchdog const guard{"wait_any over several lanes: it does not sleep"};
    using stack_type = stack<counting_world, wait::sleep>;
    for (bool some : {false, true})
        local_job<stack_type>(1, with_lanes(3), [some](environment<stack_type>& env) {
            auto const world = env.world(), self = env.self();
            ASSERT_NE(&world.native().wire.on(), &self.native().wire.on());
            int a = 0, b = 0;
            std::vector<basic_request<stack_type>> both;
            both.push_back(world.irecv(a, 0, 1));
            both.push_back(self.irecv(b, 0, 1));
            auto const before = counting_world::naps.load();
            std::optional<std::size_t> found;
            std::thread waiter{[&] {
                if (!some) found = wait_any(both);
                else if (auto const all = wait_some(both); !all.empty()) found = all.front();
            }};
            while (counting_world::naps < before + 5) std::this_thread::yield();
            self.send(7, 0, 1);
            waiter.join();
            EXPECT_EQ(found, 1u);
            both[1].wait();
            EXPECT_EQ(b, 7);
            world.send(8, 0, 1);
            both[0].wait();
        });
}
} // namespace
