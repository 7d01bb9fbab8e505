// Threads of two ranks on one communicator and on many, all at once: a lock for each object. Messages are counted and compared, with
// and without wildcards, of sizes that go by every protocol; requests are ended by other threads than began them, and communicators
// come and go meanwhile. Run under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <mpt/mpi/communicators.hpp>
#include <mpt/mpi/environment.hpp>
#include <mpt/mpi/local_job.hpp>
#include <mpt/mpi/request.hpp>
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
    local_job<stack_type>(2, [&](environment<stack_type>& env) {
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
} // namespace
