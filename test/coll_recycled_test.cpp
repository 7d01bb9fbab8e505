// Memory that goes with rounds: against a list of all parts that were ever shown.
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/coll/recycled.hpp>

namespace {
using recycled = mpt::coll::recycled<128>;
constexpr std::size_t rounds = 64;

struct shown {
    std::uint64_t round;
    std::size_t begin, end;
};

TEST(recycled, parts_follow_each_other_and_come_again) {
    recycled memory{4096, rounds};
    for (std::uint64_t k = 1; k <= 4; ++k) {
        auto const part = memory.take(1024, k);
        EXPECT_EQ(part.at, (k - 1) * 1024);
        EXPECT_EQ(part.used, 0u);
    }
    auto const again = memory.take(1000, 5);
    EXPECT_EQ(again.at, 0u);
    EXPECT_EQ(again.used, 1u);
    EXPECT_EQ(memory.take(1, 6).used, 2u); // the line pair after it
}

TEST(recycled, small_parts_make_short_laps) {
    recycled memory{512 * 1024, rounds};
    std::size_t most = 0;
    for (std::uint64_t k = 1; k <= 1000; ++k) most = std::max(most, memory.take(256, k).at);
    EXPECT_LT(most, 32u * 256u);
    EXPECT_GT(most, 16u * 256u);
}

TEST(recycled, a_lap_may_be_all_there_is) {
    recycled memory{512 * 1024, rounds, recycled::whole};
    for (std::uint64_t k = 0; k < 2048; ++k) ASSERT_EQ(memory.take(256, k + 1).at, k * 256);
    EXPECT_EQ(memory.take(256, 2049).at, 0u);
}

TEST(recycled, a_lap_may_end_after_so_many_bytes) {
    recycled memory{512 * 1024, rounds, recycled::whole};
    std::vector<std::size_t> at;
    for (std::uint64_t k = 1; k <= 6; ++k) at.push_back(memory.take(1024, k, 3000).at);
    EXPECT_EQ(at, (std::vector<std::size_t>{0, 1024, 2048, 0, 1024, 2048}));
    recycled other{512 * 1024, rounds, recycled::whole};
    for (std::uint64_t k = 1; k <= 4; ++k) at[k] = other.take(1024, k, 1).at; // never where the part of the round before lies
    EXPECT_EQ(at[1], at[3]);
    EXPECT_NE(at[1], at[2]);
}

TEST(recycled, no_part_lies_where_one_does_that_may_be_looked_at) {
    std::mt19937_64 draw{20261124};
    for (int program = 0; program < 200; ++program) {
        std::size_t const size = 128u << draw() % 12 << 2;
        std::size_t const kept = 16u << program % 4; // rounds; up to as many as it has room for
        recycled memory = program % 3 == 0 ? recycled{size, kept} : recycled{size, kept, recycled::whole};
        std::vector<shown> all;
        std::uint64_t round = 1, waited_for = 0;
        std::size_t most = size / 4; // of the sizes that this stretch of the program asks for
        for (int k = 0; k < 2000; ++k) {
            if (draw() % 50 == 0) most = std::max<std::size_t>(1, size / 4 >> draw() % 8);
            auto const bytes = 1 + draw() % most;
            round += 1 + (draw() % 4 == 0 ? draw() % 40 : 0); // rounds between that bring nothing
            auto const lap = draw() % 2 == 0 ? ~std::size_t{0} : 1 + draw() % size;
            auto const foreseen = memory.next(bytes, lap), part = memory.take(bytes, round, lap);
            ASSERT_EQ(foreseen.at, part.at);
            ASSERT_EQ(foreseen.used, part.used);
            ASSERT_LE(part.at + bytes, size);
            ASSERT_EQ(part.at % 128, 0u);
            if (part.used != 0) { ASSERT_LT(part.used, round - 1) << "who waits for that waits for whoever waits for us"; }
            waited_for = std::max(waited_for, part.used);
            for (auto const& s : all) {
                if (s.round <= waited_for || s.round + kept <= round) continue;
                ASSERT_TRUE(s.end <= part.at || part.at + bytes <= s.begin)
                    << "program " << program << ", part " << k << " of round " << round << ": round " << s.round;
            }
            all.push_back({round, part.at, part.at + bytes});
            if (all.size() > 150) all.erase(all.begin());
        }
    }
}

} // namespace
