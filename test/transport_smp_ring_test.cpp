#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include <mpt/transport/smp/ring.hpp>

namespace {
using namespace mpt;

struct ring {
    std::vector<smp::line<>> cells;
    native_atomics::atomic<std::uint32_t> consumed;
    smp::ring_writer<> out;
    smp::ring_reader<> in;
    std::uint64_t next = 2, expected = 2;

    ring(std::uint32_t lines, std::uint32_t first)
        : cells(lines), consumed{first}, out{cells.data(), consumed, lines, first}, in{cells.data(), consumed, lines, first} {}
    bool put() {
        auto* c = out.reserve();
        if (c) c->publish(0, 0, next), next += smp::number_step;
        return c != nullptr;
    }
    bool get() {
        if (!in.front().holds(expected)) return false;
        in.pop();
        expected += smp::number_step;
        return true;
    }
};

/// Puts a frame of n cells and takes one; the payload of the others says how many.
bool put_long(ring& r, std::uint32_t n) {
    auto const cells = r.out.reserve(n);
    if (!cells) return false;
    for (std::uint32_t i = 1; i < n; ++i) *cells[i].next_payload() = static_cast<std::byte>(n + i);
    cells[0].publish(static_cast<std::uint16_t>(n), 0, r.next);
    r.next += smp::number_step;
    return true;
}
std::uint32_t get_long(ring& r) {
    if (!r.in.front().holds(r.expected)) return 0;
    auto const cells = r.in.cells();
    EXPECT_EQ(&cells[0], &r.in.front());
    std::uint32_t const n = cells[0].size;
    for (std::uint32_t i = 1; i < n; ++i) EXPECT_EQ(*cells[i].next_payload(), static_cast<std::byte>(n + i));
    r.in.skip(n - 1);
    r.in.pop();
    r.expected += smp::number_step;
    return n;
}

class smp_ring : public testing::TestWithParam<std::uint32_t> {}; // what the counters start from
INSTANTIATE_TEST_SUITE_P(counters, smp_ring, testing::Values(0u, 0xfffffff0u, 0xffffffffu));

TEST_P(smp_ring, takes_as_many_frames_as_it_has_cells_and_then_none) {
    for (std::uint32_t const lines : {4u, 16u, 256u}) {
        ring r{lines, GetParam()};
        for (std::uint32_t i = 0; i < lines; ++i) EXPECT_TRUE(r.put());
        EXPECT_FALSE(r.put());
        EXPECT_FALSE(r.put());
    }
}

TEST_P(smp_ring, gives_frames_back_in_order_over_many_laps) {
    ring r{8, GetParam()};
    std::uint64_t in = 0, out = 0;
    for (int step = 0; step < 1000; ++step) {
        for (int k = 0; k < step % 9; ++k) out += r.put();
        for (int k = 0; k < step % 7; ++k) in += r.get();
        ASSERT_LE(out - in, 8u);
    }
    while (r.get()) ++in;
    EXPECT_EQ(in, out);
    EXPECT_GT(in, 500u);
}

TEST_P(smp_ring, frames_of_several_cells_take_as_many_and_give_them_back) {
    for (std::uint32_t const lines : {4u, 8u, 64u}) {
        ring r{lines, GetParam()};
        EXPECT_FALSE(r.out.reserve(lines + 1));
        std::mt19937 random{7};
        std::deque<std::uint32_t> under_way;
        std::uint32_t cells = 0, taken = 0;
        for (int step = 0; step < 5000; ++step) {
            auto const n = 1 + random() % std::min(lines, 6u);
            auto const before = cells;
            if (put_long(r, n)) under_way.push_back(n), cells += n;
            else EXPECT_GT(before + n + lines / 4, lines) << "what was taken and not yet told is a quarter at most";
            ASSERT_LE(cells, lines);
            if (random() % 2)
                if (auto const got = get_long(r); got != 0) {
                    ASSERT_EQ(got, under_way.front());
                    under_way.pop_front();
                    cells -= got;
                    ++taken;
                }
        }
        EXPECT_GT(taken, 1000u);
    }
}

TEST_P(smp_ring, an_empty_ring_gives_nothing) {
    ring r{4, GetParam()};
    EXPECT_FALSE(r.get());
    EXPECT_TRUE(r.put());
    EXPECT_TRUE(r.get());
    EXPECT_FALSE(r.get());
}

TEST_P(smp_ring, credit_returns_every_quarter_and_not_with_every_frame) {
    ring r{16, GetParam()};
    int told = 0;
    for (int i = 0; i < 16; ++i) ASSERT_TRUE(r.put());
    for (int i = 0; i < 16; ++i) {
        auto const before = r.consumed.load();
        ASSERT_TRUE(r.get());
        told += r.consumed.load() != before;
    }
    EXPECT_EQ(told, 4);
}

TEST(smp_ring_detached, a_writer_without_a_ring_has_no_room_and_a_reader_finds_nothing) {
    smp::ring_writer<> out;
    EXPECT_FALSE(out.attached());
    EXPECT_EQ(out.reserve(), nullptr);
    smp::line<> nothing{};
    smp::ring_reader<> in{nothing};
    EXPECT_FALSE(in.attached());
    EXPECT_FALSE(in.front().holds(2));
}

} // namespace
