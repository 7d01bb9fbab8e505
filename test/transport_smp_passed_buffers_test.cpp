#include <gtest/gtest.h>

#include <vector>

#include <mpt/transport/smp/passed_buffers.hpp>

namespace {
using namespace mpt;
using namespace mpt::literals;
using passed = smp::passed_buffers<>;

struct alignas(line_pair) chunk {
    std::byte bytes[128]{};
};
/// A slice, and the passed buffers of the rank whose it is.
struct one {
    std::vector<chunk> memory;
    std::size_t used = 1;
    bool is_full = false;
    passed all;

    explicit one(std::uint32_t first, std::size_t longest = 5000)
        : memory(1000 + longest / 16), all{20, 1000, longest, first} {}
    passed::lent lend(std::size_t p, std::size_t n) {
        return all.lend(
            p, n,
            [this](std::size_t bytes) {
                auto const chunks = bytes / sizeof(chunk);
                if (is_full || used + chunks > memory.size()) return std::span<std::byte>{};
                used += chunks;
                return std::span{memory[used - chunks].bytes, bytes};
            },
            [this](auto const& b) { return reinterpret_cast<std::byte const*>(&b) - memory.data()->bytes; });
    }
    passed::buffer* at(smp::loan_ref r) {
        return passed::buffer::resolve(smp::slice_view{std::span{memory.data()->bytes, memory.size() * sizeof(chunk)}},
                                       r & ~passed::passed, 1);
    }
};
/// Reads a loan of rank `writer`'s, as its receiver does.
passed::buffer* read(one& to, one& from, passed::lent const& l, std::size_t writer = 0) {
    auto* b = passed::is_with_reader(l.ref) ? to.at(l.ref) : from.at(l.ref);
    if (b) to.all.note(writer, l.ref, *b);
    return b;
}

class smp_passed_buffers : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(counters, smp_passed_buffers, testing::Values(0u, 0x7ffffdu, 0xffffffffu));

TEST_P(smp_passed_buffers, the_answer_lies_where_the_question_lay) {
    one a{GetParam()}, b{GetParam()};
    std::uint32_t last = ~0u;
    passed::buffer* first = nullptr;
    for (int i = 0; i < 10; ++i) {
        auto const q = a.lend(1, 100);
        ASSERT_TRUE(q.at && passed::is_one(q.ref));
        EXPECT_FALSE(passed::is_with_reader(q.ref)) << "the first who had something to lend made it";
        EXPECT_EQ(read(b, a, q), q.at);
        auto const r = b.lend(0, 1000);
        EXPECT_EQ(r.at, q.at);
        EXPECT_TRUE(passed::is_with_reader(r.ref));
        EXPECT_EQ(read(a, b, r, 1), q.at);
        if (i == 0) first = q.at;
        EXPECT_EQ(q.at, first);
        auto const generation = passed::generation_of(q.ref);
        EXPECT_NE(generation, last);
        EXPECT_EQ(passed::generation_of(r.ref), (generation + 1) % passed::generations);
        last = generation;
    }
    EXPECT_EQ(b.used, 1u) << "nothing of the other's slice";
}

TEST_P(smp_passed_buffers, ranks_that_send_to_each_other_at_once_exchange_two) {
    one a{GetParam()}, b{GetParam()};
    auto const of_a = a.lend(1, 100).at;
    auto const of_b = b.lend(0, 100).at;
    a.all.note(1, passed::passed | passed::buffer::refer(128, 5), *of_b);
    b.all.note(0, passed::passed | passed::buffer::refer(128, 5), *of_a);
    for (int i = 0; i < 10; ++i) {
        auto const to_b = a.lend(1, 100), to_a = b.lend(0, 100);
        EXPECT_EQ(to_b.at, i % 2 == 0 ? of_b : of_a);
        EXPECT_EQ(to_a.at, i % 2 == 0 ? of_a : of_b);
        EXPECT_EQ(passed::is_with_reader(to_b.ref), i % 2 == 0);
        EXPECT_EQ(passed::is_with_reader(to_a.ref), i % 2 == 0);
        read(b, a, to_b);
        read(a, b, to_a, 1);
    }
}

TEST_P(smp_passed_buffers, who_only_sends_has_none_left_after_two_and_is_given_them_back_by_answers) {
    one a{GetParam()}, b{GetParam()};
    auto const first = a.lend(1, 100), second = a.lend(1, 100);
    ASSERT_TRUE(first.at && second.at && first.at != second.at);
    EXPECT_FALSE(a.lend(1, 100).at) << "not a third, be they read or not";
    read(b, a, first);
    read(b, a, second);
    EXPECT_FALSE(a.lend(1, 100).at);
    EXPECT_TRUE(a.lend(2, 100).at) << "another peer has its own";
    auto const answer = b.lend(0, 100);
    EXPECT_EQ(answer.at, second.at) << "what was read last is nearest";
    read(a, b, answer, 1);
    EXPECT_EQ(a.lend(1, 100).at, second.at);
    EXPECT_FALSE(a.lend(1, 100).at);
}

TEST_P(smp_passed_buffers, a_longer_loan_has_a_longer_buffer_and_a_short_one_takes_what_is_there) {
    one a{GetParam()}, b{GetParam()};
    auto const q = a.lend(1, 100);
    read(b, a, q);
    auto const r = b.lend(0, 1001);
    ASSERT_TRUE(r.at);
    EXPECT_NE(r.at, q.at);
    EXPECT_FALSE(passed::is_with_reader(r.ref));
    EXPECT_EQ(read(a, b, r, 1), r.at);
    auto const s = a.lend(1, 5000);
    EXPECT_EQ(s.at, r.at);
    EXPECT_TRUE(passed::is_with_reader(s.ref));
    EXPECT_EQ(read(b, a, s), r.at);
    EXPECT_TRUE(a.lend(1, 5000).at) << "one of its own";
    EXPECT_FALSE(a.lend(1, 5000).at);
    EXPECT_FALSE(a.lend(1, 5001).at) << "nothing is longer";
    EXPECT_EQ(b.lend(0, 100).at, q.at);
    auto const third = b.lend(0, 100), fourth = b.lend(0, 100), longer = b.lend(0, 100);
    EXPECT_TRUE(third.at && fourth.at && third.at != r.at && fourth.at != r.at) << "short ones are made first";
    EXPECT_EQ(longer.at, r.at);
}

TEST_P(smp_passed_buffers, very_long_ones_take_nothing_of_the_memory_for_long_ones) {
    one a{GetParam(), 1_MiB};
    EXPECT_EQ(a.all.most(), 1_MiB);
    auto const l = a.lend(1, 512_KiB), longest = a.lend(2, 512_KiB + 1);
    ASSERT_TRUE(l.at && longest.at);
    EXPECT_EQ(l.at->room, 512_KiB);
    EXPECT_EQ(longest.at->room, 1_MiB);
    EXPECT_TRUE(a.lend(3, 1_MiB).at && a.lend(0, 2000).at) << "each peer has its own";
    a.is_full = true;
    EXPECT_FALSE(a.lend(1, 512_KiB + 1).at);
}

TEST_P(smp_passed_buffers, there_are_sixteen_short_ones_for_all_peers) {
    one a{GetParam()};
    for (std::size_t p = 0; p < 8; ++p)
        for (int i = 0; i < 2; ++i) EXPECT_TRUE(a.lend(p, 10).at) << p;
    EXPECT_FALSE(a.lend(8, 10).at);
}

TEST_P(smp_passed_buffers, one_that_was_not_sent_is_lent_again) {
    one a{GetParam()}, b{GetParam()};
    auto const first = a.lend(1, 100);
    a.all.keep(1, first);
    auto const again = a.lend(1, 100);
    EXPECT_EQ(again.at, first.at);
    EXPECT_FALSE(passed::is_with_reader(again.ref));
    EXPECT_NE(passed::generation_of(again.ref), passed::generation_of(first.ref));
    read(b, a, again);
    auto const answer = b.lend(0, 100);
    b.all.keep(0, answer);
    EXPECT_TRUE(passed::is_with_reader(b.lend(0, 100).ref));
}

TEST_P(smp_passed_buffers, without_memory_there_is_none) {
    one a{GetParam()}, b{GetParam()};
    a.is_full = true;
    EXPECT_FALSE(a.lend(1, 10).at);
    a.is_full = false;
    passed::lent l;
    for (int i = 0; i < 1000 && !l.at; ++i) l = a.lend(1, 10); // it is not asked for each time
    ASSERT_TRUE(l.at);
    read(b, a, l);
    b.is_full = true;
    EXPECT_FALSE(b.lend(0, 2000).at) << "no longer one";
    EXPECT_EQ(b.lend(0, 20).at, l.at);
}

TEST(smp_passed_buffers, there_may_be_none_at_all) {
    passed none{2, 0, 0, 0};
    EXPECT_EQ(none.most(), 0u);
}

} // namespace
