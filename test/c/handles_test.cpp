// The table of a chapter's objects (bindings/c/handles.hpp): threads that take out, retire and revive what is in it.
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "handles.hpp"

namespace {
struct shelved {
    int times = 0;
};
} // namespace
template <> inline constexpr std::uint32_t mpt::c::shelves_of<shelved> = 8;
namespace {

TEST(CHandles, WhatOneThreadBeginsAndAnotherEndsIsThereForTheFirstAgain) {
    mpt::c::handle_table<shelved> table;
    std::array<shelved, 20> objects{};
    std::size_t made = 0;
    std::vector<std::uintptr_t> begun;
    std::uintptr_t word = 0;
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 10; ++i) {
            if (!table.revive(word)) {
                ASSERT_LT(made, objects.size()) << "round " << round << ": what was retired is not found again";
                word = table.add(&objects[made++]);
            }
            ASSERT_NE(table.find(word), nullptr);
            ++table.find(word)->times;
            begun.push_back(word);
        }
        EXPECT_EQ(table.alive(), 10u);
        std::thread{[&] {
            mpt::c::handle_table<shelved>::retirement together{table};
            for (auto const handle : begun) round % 2 == 0 ? table.retire(handle) : together.add(handle);
        }}.join();
        begun.clear();
        EXPECT_EQ(table.alive(), 0u);
    }
    EXPECT_EQ(made, 10u);
    std::thread{[&] { // another shelf, or the same: on lines of its own, or with what lies there
        if (!table.revive(word)) word = table.add(&objects[made++]);
        table.retire(word);
    }}
        .join();
    std::size_t seen = 0;
    table.each_retired([&](shelved const& o) {
        ++seen;
        EXPECT_TRUE(o.times == 100 || &o == &objects[10]);
    });
    EXPECT_EQ(seen, made);
    EXPECT_EQ(table.revive(word), nullptr);
}

TEST(CHandles, ThreadsThatReviveAndRetireNeverShareAnObject) {
    mpt::c::handle_table<std::atomic<int>> table;
    std::array<std::atomic<int>, 4> objects{}; // one for each thread
    for (auto& o : objects) table.retire(table.add(&o));
    std::atomic<int> revived{0};
    auto const work = [&](bool together) {
        for (int i = 0; i < 20'000; ++i) {
            std::uintptr_t word = 0;
            auto* const o = table.revive(word);
            ASSERT_NE(o, nullptr);
            ++revived;
            EXPECT_EQ(o->exchange(1), 0);
            EXPECT_EQ(table.find(word), o);
            o->store(0);
            if (together) mpt::c::handle_table<std::atomic<int>>::retirement{table}.add(word);
            else table.retire(word);
            EXPECT_EQ(table.find(word), nullptr) << "the handle is dead, whoever has the object now";
        }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back(work, t % 2 == 0);
    for (auto& t : threads) t.join();
    EXPECT_EQ(revived, 4 * 20'000);
    EXPECT_EQ(table.alive(), 0u);
}

} // namespace
