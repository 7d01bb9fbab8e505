// What is kept by its mark: found, taken, and lost when others come.
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "recent.hpp"

namespace {

using kept = std::optional<int>;
using mpt::c::recent;

auto is(int n) {
    return [n](kept const& k) { return k == n; };
}

TEST(CRecent, WhatIsKeptIsFoundByItsMarkAndByWhatItIs) {
    recent<kept> r;
    EXPECT_EQ(r.find(1, is(10)), kept{});
    r.keep(1, 10);
    r.keep(1, 11); // the same mark
    r.keep(2, 12);
    EXPECT_EQ(r.find(1, is(10)), 10);
    EXPECT_EQ(r.find(1, is(11)), 11);
    EXPECT_EQ(r.find(2, is(11)), kept{});
    EXPECT_EQ(r.find(1, is(10)), 10) << "it stays";
}

TEST(CRecent, WhatIsTakenIsKeptNoMore) {
    recent<kept> r;
    r.keep(1, 10);
    r.keep(1, 10); // twice
    EXPECT_EQ(r.take(1, is(10)), 10);
    EXPECT_EQ(r.take(1, is(10)), 10);
    EXPECT_EQ(r.take(1, is(10)), kept{});
}

TEST(CRecent, TheSixteenLastAreKeptAndNoneAfterClear) {
    recent<kept> r;
    for (int i = 0; i < 40; ++i) r.keep(static_cast<std::uint32_t>(i + 1), i);
    for (int i = 0; i < 40; ++i) EXPECT_EQ(r.find(static_cast<std::uint32_t>(i + 1), is(i)).has_value(), i >= 24) << i;
    r.clear();
    for (int i = 0; i < 40; ++i) EXPECT_EQ(r.find(static_cast<std::uint32_t>(i + 1), is(i)), kept{});
}

TEST(CRecent, WhatIsTakenAndKeptAgainIsTheLastToGo) {
    recent<kept> r;
    for (int i = 0; i < 16; ++i) r.keep(static_cast<std::uint32_t>(i + 1), i);
    EXPECT_EQ(r.take(1, is(0)), 0);
    r.keep(1, 0);
    for (int i = 16; i < 31; ++i) r.keep(static_cast<std::uint32_t>(i + 1), i);
    EXPECT_EQ(r.find(1, is(0)), 0);
    r.keep(40, 40);
    EXPECT_EQ(r.find(1, is(0)), kept{});
}

TEST(CRecent, MarksOfWordsThatDifferDifferAndAreNotZero) {
    std::array<std::uint64_t, 3> words{};
    EXPECT_NE(mpt::c::mark_of(words), 0u);
    auto const before = mpt::c::mark_of(words);
    for (auto& w : words) {
        w = 8;
        EXPECT_NE(mpt::c::mark_of(words), before);
        w = 0;
    }
    EXPECT_NE(mpt::c::mark_of<3>({1, 2, 3}), mpt::c::mark_of<3>({3, 2, 1}));
}

/// Each of a number of things is with one thread, or is kept, but is never with two.
TEST(CRecent, ThreadsTakeEachThingOnce) {
    recent<kept> r;
    for (int i = 0; i < 4; ++i) r.keep(7, i);
    std::array<std::atomic<int>, 4> holders{};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int round = 0; round < 20'000; ++round) {
                auto const got = r.take(7, [round](kept const& k) { return k == round % 4; });
                if (!got) continue;
                EXPECT_EQ(holders[static_cast<std::size_t>(*got)].fetch_add(1), 0);
                holders[static_cast<std::size_t>(*got)].fetch_sub(1);
                r.keep(7, *got);
            }
        });
    for (auto& t : threads) t.join();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(r.take(7, is(i)), i);
}

} // namespace
