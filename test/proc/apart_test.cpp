// Two ranks that the system has put on one CPU part when one of them waits for long; threads go to CPUs of their rank's. Run by mptrun.
#include <sched.h>

#include <thread>

#include <gtest/gtest.h>
#include <mpt/mpi/environment.hpp>

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
    world.barrier();
    if (world.rank() == 0) job.keep_apart(); // has been seen there, and has nowhere to go
    EXPECT_EQ(::sched_getcpu(), first_of(all));
    world.barrier();
    if (world.rank() == 1) {
        ::timespec const pause{0, 2'000'000}; // the barriers' waits may have looked just now
        ::nanosleep(&pause, nullptr);
        auto& seen = job.record(mpt::rank{0}).cpu;
        EXPECT_EQ(static_cast<int>(seen.load(std::memory_order_relaxed)) - 1, first_of(all)); // order: a hint
        // Free to go again, and in the same breath it is asked to: the system itself has had no reason to move it.
        allow(all);
        job.keep_apart();
        EXPECT_NE(::sched_getcpu(), first_of(all));
        auto const now = allowed();
        EXPECT_TRUE(CPU_EQUAL(&now, &all));
    }
    world.barrier();
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
    world.barrier();
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
    world.barrier();
    allow(all);
}

} // namespace
