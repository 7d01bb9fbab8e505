#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>

#include <mpt/transport/smp/board.hpp>

namespace {
using namespace mpt;
using word = smp::board<>::word;

struct counters {
    std::unique_ptr<word[]> words;
    smp::board<> board;
    counters(std::size_t n, std::uint32_t first) : words{std::make_unique<word[]>(n)} {
        for (std::size_t i = 0; i < n; ++i) words[i].store(first);
        board = smp::board<>{{words.get(), n}, first};
    }
    std::string moved() {
        std::string s;
        board.sweep([&](std::size_t i) { s += std::to_string(i) + ' '; });
        return s;
    }
};

TEST(smp_board, a_sweep_names_those_who_knocked_since_the_last_one) {
    counters c{40, 0xffffffff};
    EXPECT_EQ(c.moved(), "");
    c.board.knock(c.words[3], 0);
    c.board.knock(c.words[39], 0);
    EXPECT_EQ(c.moved(), "3 39 ");
    EXPECT_EQ(c.moved(), "");
    c.board.knock(c.words[39], 2);
    EXPECT_EQ(c.moved(), "39 ");
}

TEST(smp_board, a_look_at_one_counter_is_a_look) {
    counters c{4, 0};
    c.board.knock(c.words[1], 1);
    EXPECT_TRUE(c.board.look(1));
    EXPECT_FALSE(c.board.look(1));
    EXPECT_FALSE(c.board.look(2));
    EXPECT_EQ(c.moved(), "");
}

TEST(smp_hot_set, holds_what_was_put_in_and_not_taken_out) {
    smp::hot_set hot{20};
    std::set<std::uint32_t> oracle;
    std::mt19937 random{5};
    for (int i = 0; i < 5000; ++i) {
        auto const p = static_cast<std::uint32_t>(random() % 20);
        if (random() % 2) hot.insert(p), oracle.insert(p);
        else if (hot.contains(p)) hot.erase(p), oracle.erase(p);
        ASSERT_EQ((std::set<std::uint32_t>{hot.members().begin(), hot.members().end()}), oracle);
        ASSERT_EQ(hot.members().size(), oracle.size());
    }
}

TEST(smp_hot_set, a_member_cools_after_many_empty_polls_in_a_row) {
    smp::hot_set hot{3};
    hot.insert(2);
    for (int i = 0; i < 9; ++i) EXPECT_FALSE(hot.cooled(2, false, 10));
    EXPECT_FALSE(hot.cooled(2, true, 10));
    for (int i = 0; i < 9; ++i) EXPECT_FALSE(hot.cooled(2, false, 10));
    EXPECT_TRUE(hot.cooled(2, false, 10));
}

} // namespace
