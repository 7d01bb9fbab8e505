#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/stack/wait_hooks.hpp>
#include <mpt/world/native.hpp>

namespace {
using hooks = mpt::wait_hooks<mpt::world::native>;

struct counted final : mpt::wait_hook {
    std::atomic<int> looks{0};
    std::size_t does = 1;
    std::size_t look() noexcept override { return ++looks, does; }
};

TEST(stack_wait_hooks, are_run_while_they_are_there) {
    hooks all;
    EXPECT_EQ(all.run(), 0u);
    counted one, two;
    two.does = 2;
    all.add(one), all.add(two);
    EXPECT_EQ(all.run(), 3u);
    all.remove(one);
    EXPECT_EQ(all.run(), 2u);
    all.remove(two);
    EXPECT_EQ(all.run(), 0u);
    EXPECT_EQ(one.looks, 1);
    EXPECT_EQ(two.looks, 2);
}

TEST(stack_wait_hooks, are_run_by_one_thread_at_a_time) {
    struct inside final : mpt::wait_hook {
        hooks& all;
        std::size_t also = 9;
        explicit inside(hooks& a) : all{a} {}
        std::size_t look() noexcept override {
            std::thread{[this] { also = all.run(); }}.join();
            return 1;
        }
    };
    hooks all;
    inside hook{all};
    all.add(hook);
    EXPECT_EQ(all.run(), 1u);
    EXPECT_EQ(hook.also, 0u) << "another thread was in it";
    all.remove(hook);
}

TEST(stack_wait_hooks, that_are_removed_are_run_no_more) {
    hooks all;
    std::atomic<bool> stop{false};
    std::thread waits{[&] {
        while (!stop) all.run();
    }};
    for (int i = 0; i < 2000; ++i) {
        struct gone final : mpt::wait_hook {
            std::atomic<bool> there{true};
            std::size_t look() noexcept override { return there ? 1 : (std::abort(), 0); }
        } hook;
        all.add(hook);
        all.remove(hook);
        hook.there = false;
    }
    stop = true;
    waits.join();
    EXPECT_EQ(all.run(), 0u);
}
} // namespace
