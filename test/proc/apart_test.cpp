// Ranks that the system has put on one CPU part when one of them waits for long; of four on two CPUs two do, and threads go to CPUs of
// their rank's. Run by mptrun.
#include <sched.h>

#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/mpi/environment.hpp>
#include <mpt/mpi/window.hpp>

namespace {

cpu_set_t allowed() {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}
int first_of(cpu_set_t const& set) {
    int cpu = 0;
    while (!CPU_ISSET(static_cast<std::size_t>(cpu), &set)) ++cpu;
    return cpu;
}
void allow(cpu_set_t const& set) { ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0); }
void pause_for(std::int64_t nanoseconds) {
    ::timespec const pause{0, nanoseconds};
    ::nanosleep(&pause, nullptr);
}

/// All come to it, and none sleeps meanwhile, for then it would be nowhere.
template <class Communicator> void meet_awake(Communicator& world) {
    auto met = world.ibarrier();
    while (!met.test()) std::this_thread::yield();
    met.wait();
}

TEST(apart, a_rank_that_waits_leaves_the_cpu_of_another_and_may_go_where_it_might_go_before) {
    mpt::environment<> env;
    auto world = env.world();
    auto& job = env.native().job();
    auto const all = allowed();
    if (CPU_COUNT(&all) < 2 || job.scarce()) GTEST_SKIP() << "fewer CPUs than ranks";
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(first_of(all)), &one);
    allow(one); // both
    meet_awake(world);
    if (world.rank() == 0) job.keep_apart(); // has been seen there, and has nowhere to go
    EXPECT_EQ(::sched_getcpu(), first_of(all));
    meet_awake(world);
    if (world.rank() == 1) {
        pause_for(2'000'000); // the waits may have looked just now
        auto& seen = job.record(mpt::rank{0}).cpu;
        EXPECT_EQ(static_cast<int>(seen.load(std::memory_order_relaxed)) - 1, first_of(all)); // order: a hint
        // Free to go again, and in the same breath it is asked to: the system itself has had no reason to move it.
        allow(all);
        job.keep_apart();
        EXPECT_NE(::sched_getcpu(), first_of(all));
        auto const now = allowed();
        EXPECT_TRUE(CPU_EQUAL(&now, &all));
    }
    meet_awake(world);
    allow(all);
}

/// Of as many CPUs for each of two ranks, in their order: whose it is.
int owner(cpu_set_t const& all, int cpu) {
    int before = 0;
    for (int c = 0; c < cpu; ++c) before += CPU_ISSET(static_cast<std::size_t>(c), &all) ? 1 : 0;
    return before * 2 / CPU_COUNT(&all);
}

TEST(apart, threads_that_wait_leave_the_cpus_of_another_rank_and_may_go_where_they_might_go_before) {
    mpt::environment<> env;
    auto world = env.world();
    auto& job = env.native().job();
    auto const all = allowed();
    if (CPU_COUNT(&all) < 2 || job.scarce()) GTEST_SKIP() << "fewer CPUs than ranks";
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(first_of(all)), &one);
    allow(one); // both, and their threads
    ASSERT_EQ(owner(all, first_of(all)), 0);
    if (world.rank() == 0) job.keep_together(); // is seen on a CPU of its own
    meet_awake(world);
    if (world.rank() == 1)
        for (int i = 0; i < 3; ++i) // each looks for itself, at once
            std::thread{[&] {
                EXPECT_EQ(::sched_getcpu(), first_of(all));
                allow(all);
                job.keep_together();
                EXPECT_EQ(owner(all, ::sched_getcpu()), 1);
                auto const now = allowed();
                EXPECT_TRUE(CPU_EQUAL(&now, &all));
            }}.join();
    meet_awake(world);
    allow(all);
}

/// Asks again and again for another CPU, where it may use them all.
void go_elsewhere(mpt::boot::job& job, cpu_set_t const& all) {
    auto const here = ::sched_getcpu();
    allow(all);
    for (int tries = 0; ::sched_getcpu() == here && tries < 1000; ++tries) {
        pause_for(1'000'000);
        for (int i = 0; i < 100 && ::sched_getcpu() == here; ++i) job.keep_apart();
    }
}

TEST(apart, where_cpus_are_scarce_ranks_spread_until_none_has_two_less) {
    mpt::environment<> env;
    auto world = env.world();
    auto& job = env.native().job();
    auto const all = allowed();
    if (CPU_COUNT(&all) != 2 || world.size() != 4) GTEST_SKIP() << "for four ranks on two CPUs";
    ASSERT_TRUE(job.scarce());
    auto const first = first_of(all);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(first), &one);
    allow(one);                                     // all of them
    for (int i = 0; i < 100; ++i) job.keep_apart(); // each is seen there, whatever the waits have done
    meet_awake(world);
    for (auto const who : {3, 2}) { // from 4 and 0 to 3 and 1, and to 2 and 2
        if (world.rank() == who) {
            go_elsewhere(job, all);
            EXPECT_NE(::sched_getcpu(), first);
            auto const now = allowed();
            EXPECT_TRUE(CPU_EQUAL(&now, &all));
        }
        meet_awake(world);
    }
    if (world.rank() == 1) {
        allow(all);
        for (int i = 0; i < 1000; ++i) {
            if (i % 100 == 0) pause_for(1'000'000);
            auto const here = ::sched_getcpu();
            int near = 1; // the system may have moved some of us
            for (auto const r : {0, 2, 3})
                near +=
                    static_cast<int>(job.record(mpt::rank{r}).cpu.load(std::memory_order_relaxed)) == here + 1; // order: a hint
            job.keep_apart();
            if (near < 3) { EXPECT_EQ(::sched_getcpu(), here) << near << " of four are here"; }
        }
    }
    meet_awake(world);
    allow(all);
}

TEST(apart, a_rank_that_sleeps_is_in_nobodys_way) {
    mpt::environment<> env;
    auto world = env.world();
    auto& job = env.native().job();
    auto const all = allowed();
    if (CPU_COUNT(&all) != 2 || world.size() != 4) GTEST_SKIP() << "for four ranks on two CPUs";
    auto const first = first_of(all);
    int second = first + 1;
    while (!CPU_ISSET(static_cast<std::size_t>(second), &all)) ++second;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(world.rank() < 2 ? first : second), &one);
    allow(one);
    for (int i = 0; i < 100; ++i) job.keep_apart(); // two are seen on each
    meet_awake(world);
    if (world.rank() == 1) { // 2 and 3 wait for it, and sleep soon; 0 asks
        go_elsewhere(job, all);
        EXPECT_NE(::sched_getcpu(), first) << "the others' CPU is free";
    }
    auto met = world.ibarrier();
    while (world.rank() < 2 && !met.test()) std::this_thread::yield();
    met.wait();
    allow(all);
}

/// Whoever shares that CPU must hear of it, too, or both stay: a rank that puts never waits.
TEST(apart, a_rank_whose_puts_nobody_answers_says_on_which_cpu_it_is) {
    constexpr long puts = 100; // of some in a row one asks
    mpt::environment<> env;
    auto world = env.world();
    auto& job = env.native().job();
    if (job.scarce()) GTEST_SKIP() << "fewer CPUs than ranks";
    std::array<long, 1> own{};
    mpt::window memory{world, mpt::exposed(own)};
    world.barrier();
    auto const seen = [&own] { return std::atomic_ref{own[0]}.load(std::memory_order_relaxed); }; // order: the value alone
    if (world.rank() == 1)
        while (seen() != puts) pause_for(1'000'000); // outside of mpt
    else if (world.rank() == 0) {
        auto const here = ::sched_getcpu();
        cpu_set_t const all = allowed();
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<std::size_t>(here), &one);
        allow(one);
        job.fall_asleep(); // is nowhere
        auto const l = memory.lock_all();
        for (long i = 1; i <= puts; ++i) memory.put(i, mpt::rank{1});
        memory.flush(mpt::rank{1});
        EXPECT_EQ(static_cast<int>(job.record(mpt::rank{0}).cpu.load(std::memory_order_relaxed)) - 1, here); // order: a hint
        allow(all);
    }
    world.barrier();
}

} // namespace
