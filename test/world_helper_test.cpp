#include <atomic>
#include <csignal>

#include <gtest/gtest.h>
#include <mpt/world/helper.hpp>
#include <pthread.h>

namespace {

TEST(world_helper, runs_beside_its_maker_and_is_joined) {
    std::atomic<int> steps{0};
    {
        mpt::world::helper const h{[&] {
            while (steps.load() == 0) sched_yield();
            steps = 2;
        }};
        steps = 1;
    }
    EXPECT_EQ(steps.load(), 2);
}

TEST(world_helper, takes_no_signal_of_the_programs) {
    sigset_t there;
    sigemptyset(&there);
    {
        mpt::world::helper const h{[&] { pthread_sigmask(SIG_SETMASK, nullptr, &there); }};
    }
    for (int s : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) EXPECT_EQ(sigismember(&there, s), 1) << s;
    sigset_t here;
    pthread_sigmask(SIG_SETMASK, nullptr, &here);
    EXPECT_EQ(sigismember(&here, SIGUSR1), 0);
}
} // namespace
