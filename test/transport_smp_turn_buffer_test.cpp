#include <gtest/gtest.h>

#include <vector>

#include <mpt/transport/smp/turn_buffer.hpp>

namespace {
using namespace mpt;
using namespace mpt::literals;
using turns = smp::turn_buffers<>;

struct alignas(line_pair) chunk {
    std::byte bytes[128]{};
};
/// A slice, and the turn buffers of the rank whose it is.
struct one {
    std::vector<chunk> memory;
    std::size_t used = 1;
    bool is_full = false;
    turns all;

    explicit one(std::uint32_t first, std::size_t longest = 5000) : memory(1000 + longest / 16), all{4, 1000, longest, first} {}
    turns::lent lend(std::size_t p, std::size_t n) {
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
    turns::buffer* at(smp::loan_ref r) {
        return turns::buffer::resolve(smp::slice_view{std::span{memory.data()->bytes, memory.size() * sizeof(chunk)}},
                                      r & ~turns::by_turns, 1);
    }
};
/// Reads a loan of `from`, rank 0's: what its receiver does, as rank 1 or another.
turns::buffer* read(one& to, one& from, turns::lent const& l, std::size_t reader = 1, std::size_t writer = 0) {
    auto* b = turns::is_with_reader(l.ref) ? to.at(l.ref) : from.at(l.ref);
    (void)reader;
    if (b) to.all.note(writer, l.ref, *b, b->room);
    return b;
}

class smp_turn_buffer : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(counters, smp_turn_buffer, testing::Values(0u, 0x7ffffdu, 0xffffffffu));

TEST_P(smp_turn_buffer, the_answer_lies_where_the_question_lay) {
    one a{GetParam()}, b{GetParam()};
    std::uint32_t last = ~0u;
    turns::buffer* first = nullptr;
    for (int i = 0; i < 10; ++i) {
        auto const q = a.lend(1, 100);
        ASSERT_TRUE(q.at && turns::is_one(q.ref));
        EXPECT_FALSE(turns::is_with_reader(q.ref)) << "the first who had something to lend made it";
        EXPECT_EQ(read(b, a, q), q.at);
        auto const r = b.lend(0, 1000);
        EXPECT_EQ(r.at, q.at);
        EXPECT_TRUE(turns::is_with_reader(r.ref));
        EXPECT_EQ(read(a, b, r, 0, 1), q.at);
        if (i == 0) first = q.at;
        EXPECT_EQ(q.at, first);
        EXPECT_NE(q.generation, last);
        EXPECT_EQ(r.generation, (q.generation + 1) % turns::generations);
        EXPECT_EQ(turns::generation_of(r.ref), r.generation);
        last = r.generation;
    }
    EXPECT_EQ(b.used, 1u) << "nothing of the other's slice";
}

TEST_P(smp_turn_buffer, a_longer_loan_brings_a_longer_buffer_and_frees_the_short_one) {
    one a{GetParam()}, b{GetParam()};
    auto const q = a.lend(1, 100);
    read(b, a, q);
    auto const r = b.lend(0, 1001);
    ASSERT_TRUE(r.at);
    EXPECT_NE(r.at, q.at);
    EXPECT_FALSE(turns::is_with_reader(r.ref));
    EXPECT_EQ(read(a, b, r, 0, 1), r.at);
    auto const s = a.lend(1, 5000);
    EXPECT_EQ(s.at, r.at);
    EXPECT_TRUE(turns::is_with_reader(s.ref));
    EXPECT_EQ(read(b, a, s), r.at);
    auto const used = a.used;
    EXPECT_TRUE(a.lend(2, 100).at && a.lend(3, 100).at) << "one that was made with the first, and the first itself";
    EXPECT_EQ(a.used, used);
    EXPECT_FALSE(a.lend(1, 5001).at) << "nothing is longer";
    EXPECT_EQ(a.lend(1, 5000).at, r.at) << "and the pair still has its buffer";
}

TEST_P(smp_turn_buffer, very_long_ones_take_nothing_of_the_memory_for_long_ones) {
    one a{GetParam(), 1_MiB};
    EXPECT_EQ(a.all.most(), 1_MiB);
    auto const l = a.lend(1, 512_KiB), longest = a.lend(2, 512_KiB + 1);
    ASSERT_TRUE(l.at && longest.at);
    EXPECT_EQ(l.at->room, 512_KiB);
    EXPECT_EQ(longest.at->room, 1_MiB);
    a.is_full = true;
    EXPECT_TRUE(a.lend(3, 1_MiB).at && a.lend(0, 2000).at) << "two of each were made";
    EXPECT_FALSE(a.lend(1, 512_KiB + 1).at);
    EXPECT_EQ(a.lend(1, 512_KiB).at, l.at);
}

TEST_P(smp_turn_buffer, without_memory_there_is_none) {
    one a{GetParam()}, b{GetParam()};
    a.is_full = true;
    EXPECT_FALSE(a.lend(1, 10).at);
    a.is_full = false;
    turns::lent l;
    for (int i = 0; i < 1000 && !l.at; ++i) l = a.lend(1, 10); // it is not asked for each time
    ASSERT_TRUE(l.at);
    read(b, a, l);
    b.is_full = true;
    EXPECT_FALSE(b.lend(0, 2000).at) << "no longer one";
    EXPECT_EQ(b.lend(0, 20).at, l.at);
}

TEST(smp_turn_buffer, there_may_be_none_at_all) {
    turns none{2, 0, 0, 0};
    EXPECT_EQ(none.most(), 0u);
}

} // namespace
