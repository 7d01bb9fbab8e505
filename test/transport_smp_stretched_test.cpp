// Long frames: several cells of a ring, and two lines as an answer.
#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

#include <gtest/gtest.h>

#include "support/smp_pair.hpp"

namespace {
using namespace mpt;
using test::drain;
using test::send_text;
using test::send_value;
using test::smp_ranks;
using test::text_of;

TEST(smp_stretched, a_frame_takes_as_few_cells_as_hold_it) {
    struct {
        std::size_t bytes;
        std::uint32_t cells;
    } const known[] = {{53, 2}, {108, 2}, {109, 3}, {164, 3}, {165, 4}, {276, 5}};
    for (auto const& k : known) {
        EXPECT_EQ(smp::cells_for(k.bytes), k.cells);
        smp::line<> cells[5]{};
        std::size_t next = 0;
        smp::along_cells(std::span{cells}, k.bytes, [&](std::size_t at, std::span<std::byte> piece) {
            EXPECT_EQ(at, next);
            EXPECT_EQ(piece.data(), reinterpret_cast<std::byte*>(&cells[next == 0 ? 0 : 1 + (next - 52) / 56]));
            next += piece.size();
        });
        EXPECT_EQ(next, k.bytes);
    }
}

template <class Transport> struct smp_stretched_counters : testing::Test {};
using both = testing::Types<transport::smp<>, transport::smp<0xfffffff0u>>; // the latter's wrap soon
TYPED_TEST_SUITE(smp_stretched_counters, both);

/// A long frame of n bytes, written with whatever pieces it is asked for; false: it was not taken.
template <class All> bool stretch(All& all, std::size_t from, std::size_t n, std::string const& text) {
    std::size_t told = 0;
    bool const went = all[from].stretch(rank{1 - from}, n, 5, [&](std::size_t at, std::span<std::byte> room) {
        EXPECT_LE(at + room.size(), n);
        std::memcpy(room.data(), text.data() + at, room.size());
        told += room.size();
    });
    EXPECT_EQ(told, went ? n : 0);
    return went;
}
std::string letters(std::size_t n, std::size_t first = 0) {
    std::string text(n, ' ');
    for (std::size_t i = 0; i < n; ++i) text[i] = static_cast<char>('!' + (first + i) % 90);
    return text;
}

TYPED_TEST(smp_stretched_counters, long_frames_among_short_ones_come_whole_and_in_order_round_a_small_ring) {
    for (std::uint32_t const lines : {4u, 8u, 32u}) {
        smp_ranks<TypeParam> all{2, {.ring_lines = lines}};
        std::mt19937 random{20261127};
        ASSERT_TRUE(send_value(all[0], 1, 0)); // attached from here on
        ASSERT_EQ(drain(all[1]).substr(0, 4), "0:1:");
        std::deque<std::string> under_way;
        int longest = 0, refused = 0;
        auto const take = [&](std::size_t most) {
            return all[1].poll(
                [&](frame const& f) {
                    ASSERT_FALSE(under_way.empty());
                    EXPECT_EQ(text_of(f), under_way.front());
                    under_way.pop_front();
                },
                most);
        };
        for (int step = 0; step < 20'000; ++step) {
            auto const n = random() % 277;
            auto const text = letters(n, random() % 90);
            bool const went = n <= 52 ? send_text(all[0], 1, text) : stretch(all, 0, n, text);
            if (went) under_way.push_back(text), longest += n > 220;
            refused += !went;
            if (random() % 2) take(1 + random() % 3);
        }
        while (take(8)) {}
        EXPECT_TRUE(under_way.empty());
        EXPECT_EQ(longest > 1000, lines > 4) << "five cells";
        EXPECT_GT(refused, 100);
        for (std::size_t n : {0u, 52u, 277u, 1000u}) EXPECT_FALSE(stretch(all, 0, n, letters(n))) << n;
    }
}

/// A sink that takes long frames piece by piece.
struct piecewise {
    std::string all;
    void operator()(frame const& f) { all += 'f' + text_of(f) + ' '; }
    template <class Frame> void stretched(Frame const& f) {
        std::size_t const left = f.size - std::size_t{7};
        std::vector<std::byte> into(left + 1, std::byte{'#'});
        f.template copy<7>(into.data(), left); // all of it, and less
        EXPECT_EQ(into[left], std::byte{'#'});
        all += 's' + std::to_string(f.op) + std::string(reinterpret_cast<char const*>(f.front().data()), 7);
        all += std::string(reinterpret_cast<char const*>(into.data()), left) + ' ';
        for (std::size_t n = 0; n < left; n += 5) {
            std::ranges::fill(into, std::byte{'#'});
            f.template copy<7>(into.data(), n);
            EXPECT_EQ(std::memcmp(into.data(), letters(f.size).data() + 7, n), 0);
            EXPECT_EQ(into[n], std::byte{'#'});
        }
    }
};

TYPED_TEST(smp_stretched_counters, a_sink_that_asks_for_them_gets_long_frames_where_they_lie) {
    smp_ranks<TypeParam> all{2, {.ring_lines = 8}};
    ASSERT_TRUE(send_text(all[0], 1, "a"));
    EXPECT_EQ(drain(all[1]), "0:1:a ");
    for (std::size_t n = 53; n <= 276; ++n) {
        ASSERT_TRUE(stretch(all, 0, n, letters(n)) && send_text(all[0], 1, "b"));
        piecewise sink;
        while (all[1].poll(sink, 1)) {}
        EXPECT_EQ(sink.all, "s5" + letters(n) + " fb ");
    }
}

TEST(smp_stretched, the_first_frame_of_a_pair_may_be_a_long_one) {
    for (std::size_t from : {0u, 1u})
        for (std::size_t n : {53u, 116u, 276u}) {
            smp_ranks all{2};
            ASSERT_EQ(stretch(all, from, n, letters(n)), from == 0 || n <= 116) << "the higher rank has the first turn";
            EXPECT_EQ(drain(all[1 - from]), from == 0 || n <= 116 ? std::to_string(from) + ":5:" + letters(n) + ' ' : "");
        }
    smp_ranks all{1};
    EXPECT_FALSE(all[0].stretch(rank{0}, 64, 5, [](std::size_t, std::span<std::byte>) {})) << "to itself";
}

TEST(smp_stretched, a_long_answer_goes_on_the_turn_line_and_is_shorter_than_one_in_the_ring) {
    smp_ranks all{2};
    auto const text = letters(277);
    auto const answer = [&](std::size_t from, std::size_t n) { return stretch(all, from, n, text); };
    EXPECT_FALSE(answer(0, 117 + 160)) << "that long is none";
    ASSERT_TRUE(send_text(all[1], 0, "x") && send_text(all[1], 0, "y"));
    EXPECT_EQ(drain(all[0]), "1:1:x 1:1:y ");
    EXPECT_FALSE(all[0].our_turn(1)) << "the lower rank must look the other one up first";
    ASSERT_TRUE(send_text(all[0], 1, "z"));
    EXPECT_EQ(drain(all[1]), "0:1:z ");
    std::size_t who = 1;
    for (std::size_t n = 53; n <= 116; ++n, who = 1 - who) {
        ASSERT_TRUE(all[who].our_turn(rank{1 - who}));
        EXPECT_FALSE(answer(who, 117)) << "two lines";
        ASSERT_TRUE(answer(who, n));
        EXPECT_FALSE(all[who].our_turn(rank{1 - who}));
        std::span<std::byte const> where;
        ASSERT_EQ(all[1 - who].poll(
                      [&](frame const& f) {
                          where = f.payload;
                          EXPECT_EQ(text_of(f), text.substr(0, n));
                      },
                      1),
                  1u);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(where.data()) % mpt::line_pair, 0u)
            << "it lies in one piece, where the sender wrote it";
    }
    ASSERT_TRUE(answer(who, 70) && answer(who, 276) && send_text(all[who], rank{1 - who}, "by the ring"))
        << "frames after it keep their order";
    EXPECT_EQ(drain(all[1 - who]), std::to_string(who) + ":5:" + text.substr(0, 70) + ' ' + std::to_string(who) +
                                       ":5:" + text.substr(0, 276) + ' ' + std::to_string(who) + ":1:by the ring ");
}

} // namespace
