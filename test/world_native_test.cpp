#include <array>
#include <cerrno>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/world/native.hpp>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/watchdog.hpp"

namespace {

using namespace mpt;
using word = native_atomics::atomic<std::uint32_t>;
constexpr nanoseconds ms{1'000'000};
world::native const world_{};

TEST(native, clock_only_goes_forward_and_counts_what_was_slept) {
    auto const a = world_.now();
    world_.sleep_for(5 * ms);
    auto const b = world_.now();
    EXPECT_GE(b - a, 5 * ms);
    world_.sleep_for(nanoseconds{-1});
    world_.yield();
    world_.pause();
    EXPECT_GE(world_.now(), b);
}

TEST(native, number_of_a_thread_is_its_own_and_never_0) {
    constexpr int threads = 16;
    std::array<std::uint64_t, threads> ids{};
    native_atomics::atomic<int> here{0};
    std::vector<std::thread> team;
    for (auto& id : ids)
        team.emplace_back([&id, &here] {
            id = world_.self();
            EXPECT_EQ(world_.self(), id);
            here.fetch_add(1);
            while (here.load() < threads) std::this_thread::yield(); // all live at the same time
        });
    for (auto& t : team) t.join();
    std::set<std::uint64_t> all{ids.begin(), ids.end()};
    all.insert(world_.self());
    EXPECT_EQ(all.size(), threads + 1u);
    EXPECT_FALSE(all.contains(0));
}

TEST(native, number_of_a_forked_childs_thread_differs_from_its_parents) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    auto const child = ::fork();
    if (child == 0) { // the same addresses, and still another thread
        auto const id = world_.self();
        ::_exit(::write(pipe[1], &id, sizeof id) == sizeof id ? 0 : 1);
    }
    std::uint64_t theirs = 0;
    ASSERT_EQ(::read(pipe[0], &theirs, sizeof theirs), static_cast<ssize_t>(sizeof theirs));
    int how = -1;
    ::waitpid(child, &how, 0);
    EXPECT_EQ(how, 0);
    EXPECT_NE(theirs, world_.self());
    EXPECT_NE(theirs, 0u);
    ::close(pipe[0]), ::close(pipe[1]);
}

TEST(native, random_numbers_do_not_repeat) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) seen.insert(world_.random());
    EXPECT_EQ(seen.size(), 1000u);
}

TEST(native, wait_returns_at_once_when_the_word_has_changed) {
    test::watchdog const dog{"wait on a changed word"};
    word w{1};
    world_.wait(w, 0, nanoseconds::max());
}

TEST(native, wait_returns_when_its_time_is_over) {
    test::watchdog const dog{"wait with a timeout"};
    word w{0};
    auto const before = world_.now();
    while (world_.now() - before < 5 * ms) world_.wait(w, 0, 5 * ms); // it may return early
    world_.wait(w, 0, nanoseconds{0});
    world_.wait(w, 0, nanoseconds{-5});
}

TEST(native, wake_reaches_a_thread_that_waits) {
    test::watchdog const dog{"wake of a thread"};
    word w{0};
    std::thread sleeper{[&w] {
        while (w.load(std::memory_order_acquire) == 0) world_.wait(w, 0, nanoseconds::max());
    }};
    world_.sleep_for(2 * ms);
    w.store(1, std::memory_order_release);
    world_.wake(w, 1);
    sleeper.join();
    world_.wake(w, 0);
}

TEST(native, wake_reaches_another_process_that_maps_the_word_elsewhere) {
    test::watchdog const dog{"wake of a process"};
    auto const fd = ::memfd_create("world_native_test", MFD_CLOEXEC);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::ftruncate(fd, 4096), 0);
    auto const map = [fd] { return static_cast<word*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)); };
    auto* const here = map();
    auto const child = ::fork();
    if (child == 0) {
        auto* const there = map(); // a second mapping: another address than the parent's
        if (there == here) ::_exit(2);
        while (there->load(std::memory_order_acquire) == 0) world_.wait(*there, 0, nanoseconds::max());
        ::_exit(0);
    }
    world_.sleep_for(5 * ms);
    here->store(1, std::memory_order_release);
    world_.wake(*here, 1);
    int how = -1;
    ::waitpid(child, &how, 0);
    EXPECT_EQ(how, 0);
    ::munmap(here, 4096);
    ::close(fd);
}

TEST(native, wait_readable_ends_with_the_first_byte_and_with_its_time) {
    test::watchdog const dog{"wait for a descriptor"};
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    std::array const fds{pipe[0]};
    auto const before = world_.now();
    world_.wait_readable(fds, 3 * ms);
    EXPECT_GE(world_.now() - before, 3 * ms);
    ASSERT_EQ(::write(pipe[1], "x", 1), 1);
    world_.wait_readable(fds, nanoseconds::max());
    std::vector<int> const many(1000, pipe[0]); // more than are looked at in one call
    world_.wait_readable(many, nanoseconds::max());
    world_.wait_readable({}, ms);
    ::close(pipe[0]), ::close(pipe[1]);
}

TEST(native, leaves_errno_alone) {
    word w{0};
    errno = 4711;
    world_.wait(w, 1, ms);
    world_.wait(w, 0, nanoseconds{1000});
    world_.wake(w, 1);
    std::array const not_open{-1};
    world_.wait_readable(not_open, nanoseconds{1000});
    (void)world_.random();
    (void)world_.now();
    world_.yield();
    world_.sleep_for(nanoseconds{1000});
    EXPECT_EQ(errno, 4711);
}

} // namespace
