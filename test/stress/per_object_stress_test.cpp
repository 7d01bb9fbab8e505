// Threads of two ranks on one communicator and on many, all at once: a lock for each object. Messages are counted and compared, with
// and without wildcards and probes, of sizes that go by every protocol; requests are ended by other threads than began them, communicators
// and windows come and go meanwhile, and threads update what they share. Run under ThreadSanitizer too. As processes:
// test/c/threads_at_once.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <mpt/mpi/communicators.hpp>
#include <mpt/mpi/environment.hpp>
#include <mpt/mpi/local_job.hpp>
#include <mpt/mpi/request.hpp>
#include <mpt/mpi/window.hpp>
#include <mpt/stack/standard.hpp>

#include "support/watchdog.hpp"

namespace {
using namespace mpt;
using stack_type = local_per_object_stack;

double seconds() {
    auto const* given = std::getenv("MPT_STRESS_S");
    return given ? std::strtod(given, nullptr) : 2.0;
}

constexpr int teams = 6, most = 100'000;
int size_of(int round) {
    constexpr int sizes[] = {1, 2, 10, 40, 300, 5'000, most};
    return sizes[round % 7];
}

/// Both ranks do the same rounds, until rank 0 says in its message that it is the last.
void talk(communicator_view<stack_type> const& on, int tag, std::chrono::steady_clock::time_point end,
          std::atomic<long>& rounds) {
    std::vector<int> in(most), out(most);
    bool last = false;
    for (int round = 0; !last; ++round, rounds.fetch_add(1, std::memory_order_relaxed)) {
        auto const n = static_cast<std::size_t>(size_of(round + tag));
        std::span<int> const mine{out.data(), n}, theirs{in.data(), n};
        bool const ends = on.rank() == 0 && std::chrono::steady_clock::now() >= end;
        mine.front() = ends ? -1 : round;
        mine.back() = n > 1 ? round : mine.front();
        auto receive = on.irecv(theirs, 1 - on.rank(), tag);
        auto send = on.isend(mine, 1 - on.rank(), tag);
        if (round % 16 == 0) std::thread{[&] { send.wait(); }}.join(); // by another than began it
        else send.wait();
        receive.wait();
        last = ends || theirs.front() == -1;
        ASSERT_TRUE(last || theirs.front() == round) << "tag " << tag << ", round " << round << ": " << theirs.front();
        ASSERT_TRUE(n == 1 || theirs.back() == round) << "tag " << tag << ", round " << round << ": " << theirs.back();
        // rank 1 hears of the end when it has sent its part of this round: both have done as many rounds
    }
}

TEST(per_object_stress, threads_on_one_communicator_and_on_many_lose_and_mix_up_nothing) {
    auto const all = seconds();
    test::watchdog const dog{"threads with a lock for each object", std::chrono::seconds{60 + 10 * static_cast<int>(all)}};
    std::atomic<long> rounds{0};
    local_job<stack_type>(2, config::values{}.set<"MPT_LANES">("16"), [&](environment<stack_type>& env) {
        EXPECT_EQ(env.native().lanes(), lock::per_object::lanes);
        auto const one = env.world();
        std::vector<decltype(one.dup())> own;
        for (int i = 0; i < teams; ++i) own.push_back(one.dup());
        auto const end = std::chrono::steady_clock::now() +
                         std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>{all});
        std::vector<std::thread> threads;
        for (int i = 0; i < teams; ++i) {
            threads.emplace_back([&, i] { talk(own[static_cast<std::size_t>(i)], 1, end, rounds); });
            if (i < 3) threads.emplace_back([&, i] { talk(one, 100 + i, end, rounds); });
        }
        bool go_on = true; // communicators come and go
        while (go_on) {
            auto const young = one.dup();
            EXPECT_EQ(young.allreduce(1, std::plus{}), 2);
            young.send(young.rank(), 1 - young.rank(), 5);
            EXPECT_EQ(young.recv<int>(any_source, any_tag), 1 - young.rank());
            go_on = young.allreduce(std::chrono::steady_clock::now() < end ? 1 : 0, std::plus{}) == 2;
        }
        for (auto& t : threads) t.join();
    });
    std::printf("%ld rounds\n", rounds.load());
    EXPECT_GE(rounds.load(), 2 * (teams + 3));
}

// --- everything at once -----------------------------------------------------------------------------------------------------------------
using view = communicator_view<stack_type>;
constexpr int crew = 4;

/// A message that one thread has begun and another ends. The request goes first.
struct handed {
    std::vector<int> data;
    int expected; // all of it; of a send nothing is
    std::optional<view::request> request{};
};

class tray {
    std::mutex m_;
    std::list<handed> all_;

public:
    void put(std::list<handed>& made) {
        std::lock_guard const g{m_};
        all_.splice(all_.end(), made);
    }
    std::list<handed> take() {
        std::lock_guard const g{m_};
        return std::exchange(all_, {});
    }
};

/// A part: a sum, what is fetched, what is swapped; then a place for each thread of each rank.
constexpr std::size_t sum_at = 0, fetched_at = 1, swapped_at = 2, places_at = 3, part_size = places_at + 2 * crew;
using shared_window = window<std::int64_t, stack_type>;

struct everything {
    view common;
    shared_window& updated;
    tray trays[crew]{};
    std::atomic<int> found{0}; // messages of the other rank's
};

struct doer {
    everything& all;
    view own;
    int id;
    int me = own.rank(), other = 1 - me;
    std::list<handed> held{}; // to be ended here

    /// Both ranks' threads of this number do as many rounds.
    int run(std::chrono::steady_clock::time_point end) {
        int round = 0;
        do {
            probe(round), hand_on(round), find(round), collect(round), update(round), end_some();
            if (round % 16 == id) come_and_go(round);
            ++round;
        } while (own.allreduce(std::chrono::steady_clock::now() < end ? 1 : 0, std::plus{}) == 2);
        return round;
    }
    static int word(int rank, int thread, int round) { return (round * crew + thread) * 2 + rank; }

    void probe(int round) {
        auto const n = static_cast<std::size_t>(size_of(round));
        std::vector<int> const out(n, word(me, id, round));
        auto sent = own.isend(out, other, round % 5);
        auto found = own.mprobe(any_source, any_tag);
        ASSERT_EQ(found.info().tag, tag{round % 5});
        auto const got = found.recv<std::vector<int>>();
        ASSERT_EQ(got.size(), n);
        ASSERT_EQ(std::ranges::count(got, word(other, id, round)), static_cast<std::ptrdiff_t>(n)) << "round " << round;
        sent.wait();
    }
    /// A receive and a send for the next thread to end.
    void hand_on(int round) {
        auto const n = static_cast<std::size_t>(size_of(round + 3));
        std::list<handed> made;
        auto& in = made.emplace_back(std::vector<int>(n, -1), word(other, id, round));
        in.request.emplace(all.common.irecv(in.data, other, 100 + id));
        auto& out = made.emplace_back(std::vector<int>(n, word(me, id, round)), word(me, id, round));
        out.request.emplace(all.common.isend(out.data, other, 100 + id));
        all.trays[(id + 1) % crew].put(made);
    }
    static void check(handed& h) {
        h.request->wait();
        ASSERT_EQ(std::ranges::count(h.data, h.expected), std::ssize(h.data)) << h.expected;
    }
    /// Waits for nothing: who sends to us may wait for what we send.
    void end_some() {
        auto more = all.trays[id].take();
        held.splice(held.end(), more);
        for (auto h = held.begin(); h != held.end();)
            if (h->request->test()) check(*h), h = held.erase(h);
            else ++h;
    }
    void end_all() {
        auto more = all.trays[id].take();
        held.splice(held.end(), more);
        for (auto& h : held) check(h);
        held.clear();
    }
    /// Each thread sends one and takes one of anybody's.
    void find(int round) {
        all.common.send(word(me, id, round), other, 7);
        for (;;)
            if (auto found = all.common.improbe(any_source, 7)) {
                int got = -1;
                found->recv(got);
                ASSERT_EQ(got % 2, other);
                all.found.fetch_add(1, std::memory_order_relaxed);
                return;
            }
    }
    void collect(int round) {
        ASSERT_EQ(own.allreduce(word(me, id, round), std::plus{}), word(0, id, round) + word(1, id, round));
        ASSERT_EQ(own.allgather(word(me, id, round)), (std::vector{word(0, id, round), word(1, id, round)}));
        own.barrier();
    }
    void update(int round) {
        auto& w = all.updated;
        rank const target = (round + id) % 2;
        w.accumulate(std::int64_t{1}, target, sum_at);
        auto const was = w.fetch_and_op(1, 0, fetched_at);
        w.flush(0);
        ASSERT_GT(w.fetch_and_op(1, 0, fetched_at), was);
        for (auto expected = w.fetch(target, swapped_at);;) {
            auto const seen = w.compare_and_swap(expected, expected + 1, target, swapped_at);
            if (seen == expected) break;
            expected = seen;
        }
        auto const place = places_at + static_cast<std::size_t>(me * crew + id);
        w.put(std::int64_t{word(me, id, round)}, target, place);
        w.flush(target);
        ASSERT_EQ(w.value(target, place), word(me, id, round));
    }
    void come_and_go(int round) {
        auto const young = own.dup();
        std::vector<int> mine(2);
        window w{young, exposed(mine)};
        w.fence();
        w.put(word(me, id, round), other, 1);
        w.fence({.no_succeed = true});
        ASSERT_EQ(mine[1], word(other, id, round));
    }
};

TEST(per_object_stress, probes_collectives_windows_and_handed_requests_of_several_threads_are_right) {
    auto const all = seconds();
    test::watchdog const dog{"threads that do everything", std::chrono::seconds{60 + 10 * static_cast<int>(all)}};
    std::atomic<long> rounds{0};
    local_job<stack_type>(2, [&](environment<stack_type>& env) {
        auto const world = env.world();
        auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>{all};
        shared_window updated{world, allocated<std::int64_t>(part_size)};
        std::ranges::fill(updated.local(), 0);
        world.barrier();
        std::vector<decltype(world.dup())> own;
        for (int i = 0; i < crew; ++i) own.push_back(world.dup());
        auto const common = world.dup();
        everything shared{common, updated};
        std::int64_t turns = 0;
        {
            auto const held = updated.lock_all();
            std::vector<doer> doers;
            for (int i = 0; i < crew; ++i) doers.push_back({shared, own[static_cast<std::size_t>(i)], i});
            std::vector<int> done(crew);
            std::vector<std::thread> threads;
            for (std::size_t i = 0; i < crew; ++i)
                threads.emplace_back(
                    [&, i] { done[i] = doers[i].run(std::chrono::time_point_cast<std::chrono::steady_clock::duration>(end)); });
            for (auto& t : threads) t.join();
            threads.clear(); // all of it was begun, here and there
            for (std::size_t i = 0; i < crew; ++i) threads.emplace_back([&, i] { doers[i].end_all(); });
            for (auto& t : threads) t.join();
            for (int const n : done) turns += n;
        }
        EXPECT_EQ(shared.found, turns);
        world.barrier();
        std::vector<std::int64_t> totals(updated.local().begin(), updated.local().begin() + places_at);
        world.allreduce(totals);
        EXPECT_EQ(totals, (std::vector{2 * turns, 4 * turns, 2 * turns}));
        rounds += turns;
        world.barrier();
    });
    std::printf("%ld rounds\n", rounds.load());
    EXPECT_GE(rounds.load(), 2 * crew);
}
} // namespace
