// Barriers where a process has left a CPU before it registered: that CPU then takes its next thread there for the last one, and Linux leaves
// it out of other processes' barriers. A program of its own, for a process registers once.
#include <array>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/core/atomics.hpp>
#include <mpt/core/fences.hpp>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/watchdog.hpp"

namespace {

using fences = mpt::native_fences;
using word = mpt::native_atomics::atomic<std::uint32_t>;
constexpr auto sleeper = mpt::fence_mode::sleeper;
constexpr std::uint32_t rounds = 20'000, late = 64;

/// On the first, or the second, of the CPUs that this thread may use.
bool stay_on(int which) {
    static cpu_set_t const all = [] {
        cpu_set_t s;
        CPU_ZERO(&s);
        ::sched_getaffinity(0, sizeof s, &s);
        return s;
    }();
    int cpu = 0;
    for (; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &all) && which-- == 0) break;
    if (cpu == CPU_SETSIZE) return false;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return ::sched_setaffinity(0, sizeof one, &one) == 0;
}

/// Dekker, where the sender's stores are long under way: before them it stores to lines that the sleeper has just written.
struct meeting {
    struct alignas(mpt::line_pair) line {
        word at{0};
    };
    std::array<line, 40> lines{};
    line published, asleep, begun, ended;
    std::uint32_t sender_saw = 0;

    static void dawdle(std::uint32_t turns) {
        for (std::uint32_t i = 0; i < turns; ++i) mpt::native_atomics::pause();
    }
    static void await(word const& w, std::uint32_t i) {
        while (w.load(std::memory_order_acquire) != i) ::sched_yield();
    }
    void send() {
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            await(begun.at, i);
            for (auto& l : lines) l.at.store(i, std::memory_order_relaxed);
            published.at.store(i, std::memory_order_relaxed);
            fences::light(sleeper);
            sender_saw = asleep.at.load(std::memory_order_relaxed);
            ended.at.store(i, std::memory_order_release);
        }
    }
    /// How often both missed.
    template <class Heavy> unsigned sleep(Heavy heavy) {
        unsigned missed = 0;
        for (std::uint32_t i = 1; i <= rounds; ++i) {
            for (auto& l : lines) l.at.store(i, std::memory_order_relaxed);
            begun.at.store(i, std::memory_order_release);
            dawdle(i % late);
            asleep.at.store(i, std::memory_order_relaxed);
            heavy(sleeper);
            auto const saw = published.at.load(std::memory_order_relaxed);
            await(ended.at, i);
            missed += saw != i && sender_saw != i;
        }
        return missed;
    }
};

/// This process runs on its second CPU, and leaves it to nobody.
bool leave_a_cpu() {
    if (!stay_on(1)) return false;
    ::usleep(1000);
    stay_on(0);
    ::usleep(20'000);
    return true;
}

TEST(fences, reach_all_where_a_process_left_a_cpu_before_it_registered) {
    if (fences::invisible) GTEST_SKIP() << "ThreadSanitizer does not understand fences";
    mpt::test::watchdog const dog{"barriers beside a CPU that was left", std::chrono::seconds{200}};
    void* const memory = ::mmap(nullptr, 2 * sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* const between = new (memory) meeting;
    auto* const here = new (between + 1) meeting;
    std::array<int, 2> told{}, done{};
    ASSERT_EQ(::pipe(told.data()), 0);
    ASSERT_EQ(::pipe(done.data()), 0);
    char byte = 0;
    auto const other = ::fork();
    if (other == 0) { // the sleeper of another process
        stay_on(0);
        bool const ok = mpt::register_heavy() && ::read(told[0], &byte, 1) == 1;
        mpt::pass_every_cpu();
        bool const said = ::write(done[1], &byte, 1) == 1;
        auto const missed = between->sleep(fences::heavy);
        ::_exit(ok && said ? missed < 100 ? static_cast<int>(missed) : 100 : 101);
    }
    bool const left = leave_a_cpu(), registered = left && mpt::register_heavy();
    if (registered) {
        // Threads of one process need no more.
        std::thread sender{[&] {
            stay_on(1);
            here->send();
        }};
        EXPECT_EQ(here->sleep(fences::heavy_here), 0u);
        sender.join();
        mpt::pass_every_cpu();
        EXPECT_EQ(::write(told[1], &byte, 1), 1);
        EXPECT_EQ(::read(done[0], &byte, 1), 1);
        stay_on(1);
        between->send();
        int status = 0;
        ::waitpid(other, &status, 0);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 0) << "messages that neither saw; 101: it could not register";
    } else {
        ::kill(other, SIGKILL);
        ::waitpid(other, nullptr, 0);
    }
    for (int const f : {told[0], told[1], done[0], done[1]}) ::close(f);
    ::munmap(memory, 2 * sizeof(meeting));
    if (!left) GTEST_SKIP() << "one CPU";
    if (!registered) GTEST_SKIP() << "membarrier is refused here";
}

TEST(fences, who_passes_every_cpu_may_run_where_it_might_before) {
    cpu_set_t before, after;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    auto const passed = mpt::pass_every_cpu();
    EXPECT_NE(passed, 0u);
    EXPECT_EQ(passed, mpt::cpus_to_pass());
    ASSERT_EQ(::sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

} // namespace
