#include <thread>

#include <gtest/gtest.h>
#include <mpt/wait/record.hpp>

#include "support/watchdog.hpp"

namespace {

using namespace mpt;

TEST(record, of_a_rank_that_never_waited_says_so) {
    wait_record r{};
    EXPECT_EQ(read(r).what, wait_for::nothing);
}

TEST(record, shows_the_last_wait_until_it_is_cleared) {
    wait_record r{};
    r.write(wait_for::receive, context_id{77}, rank{3}, tag{9}, 4096, 123);
    r.write(wait_for::send, context_id{0xffff'ffff'ffff'fffe}, any_source, any_tag, 1ull << 40, -5);
    auto const s = read(r);
    EXPECT_EQ(s.what, wait_for::send);
    EXPECT_EQ(s.context, context_id{0xffff'ffff'ffff'fffe});
    EXPECT_EQ(s.peer, any_source);
    EXPECT_EQ(s.label, any_tag);
    EXPECT_EQ(s.size, 1ull << 40);
    EXPECT_EQ(s.since, -5);
    r.clear();
    EXPECT_EQ(read(r).what, wait_for::nothing);
}

TEST(record, is_left_alone_by_a_second_thread_while_it_is_being_written) {
    wait_record r{};
    r.write(wait_for::probe, context_id{1}, rank{1}, tag{1}, 1, 1);
    r.serial.fetch_add(1, std::memory_order_relaxed); // another thread is in the middle of a write
    r.write(wait_for::send, context_id{2}, rank{2}, tag{2}, 2, 2);
    EXPECT_EQ(read(r).what, wait_for::nothing) << "a reader gives up on a write that does not end";
    r.serial.fetch_sub(1, std::memory_order_relaxed);
    EXPECT_EQ(read(r).what, wait_for::probe);
}

TEST(record, is_never_seen_torn) {
    test::watchdog const dog{"readers and writers of a record"};
    wait_record r{};
    std::atomic<bool> stop{false};
    auto const writer = [&](std::uint64_t start) {
        for (std::uint64_t i = start; !stop; i += 2) {
            auto const n = static_cast<std::int32_t>(i % 1'000'000);
            r.write(wait_for::send, context_id{static_cast<std::uint64_t>(n)}, rank{n}, tag{n}, static_cast<std::uint64_t>(n),
                    n);
            std::this_thread::yield();
        }
    };
    std::thread a{writer, 1}, b{writer, 2};
    int whole = 0;
    while (whole < 2'000) {
        auto const s = read(r);
        if (s.what == wait_for::nothing) {
            std::this_thread::yield(); // the writers may have this CPU, too
            continue;
        }
        ++whole;
        auto const n = s.since;
        ASSERT_TRUE(s.context == context_id{static_cast<std::uint64_t>(n)} && s.peer == n && s.label == n &&
                    s.size == static_cast<std::uint64_t>(n))
            << "torn";
    }
    stop = true;
    a.join(), b.join();
}

} // namespace
