#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/wait/calls.hpp>

namespace {

using namespace mpt;

constexpr context_id world{3}, self{5}, drawn{0x8123'4567'89ab'cdef};
constexpr std::uint64_t call(std::uint32_t number, std::uint32_t rest) { return std::uint64_t{rest} << 32 | number; }

TEST(calls, are_found_by_context_and_number) {
    call_log l{};
    EXPECT_EQ(l.find(world, 1), 0u);
    l.note(world, call(1, 70));
    EXPECT_EQ(l.find(world, 1), call(1, 70));
    EXPECT_EQ(l.find(self, 1), 0u);
    EXPECT_EQ(l.find(drawn, 1), 0u);
    EXPECT_EQ(l.find(world, 2), 0u);
    EXPECT_EQ(l.find(world, 9), 0u) << "the same place, another number";
    l.clear();
    EXPECT_EQ(l.find(world, 1), 0u);
}

TEST(calls, are_kept_until_eight_more_of_the_context_came) {
    for (auto const c : {world, drawn}) {
        call_log l{};
        for (std::uint32_t i = 1; i <= 1000; ++i) {
            l.note(c, call(i, i * 7));
            for (std::uint32_t back = 0; back < 8 && back < i; ++back)
                ASSERT_EQ(l.find(c, i - back), call(i - back, (i - back) * 7));
            if (i > 8) { ASSERT_EQ(l.find(c, i - 8), 0u); }
        }
    }
}

TEST(calls, of_a_later_number_with_the_same_low_bits_are_not_mistaken) {
    call_log l{};
    l.note(world, call(5 + (1u << 9), 1));
    EXPECT_EQ(l.find(world, 5), 0u);
    l.note(world, call(5 + (1u << 31), 1));
    EXPECT_EQ(l.find(world, 5), 0u);
}

/// Two threads write the same places for two contexts; what is found was noted for that context, or nothing is.
TEST(calls, of_several_threads_are_whole_or_not_there) {
    call_log l{};
    std::atomic<bool> stop{false};
    auto const writer = [&](context_id c, std::uint32_t rest) {
        for (std::uint32_t i = 1; !stop; i = i % 64 + 1) l.note(c, call(i, rest));
    };
    std::thread a{writer, world, 11}, b{writer, self, 13};
    int found = 0;
    for (std::uint32_t i = 0; found < 20'000; ++i) { // the writers begin when there is a CPU for them
        auto const n = i % 64 + 1;
        auto const of_a = l.find(world, n), of_b = l.find(self, n);
        found += (of_a != 0) + (of_b != 0);
        EXPECT_TRUE(of_a == 0 || of_a == call(n, 11));
        EXPECT_TRUE(of_b == 0 || of_b == call(n, 13));
    }
    stop = true;
    a.join(), b.join();
}

} // namespace
