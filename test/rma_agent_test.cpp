#include <cstring>

#include <gtest/gtest.h>
#include <mpt/rma/agent.hpp>

#include "support/dice.hpp"
#include "support/expect_error.hpp"

namespace {
using namespace mpt::test;
using mpt::memory_run;
using namespace mpt::rma;

std::vector<std::byte> all_of(mpt::byte_source auto const& s, std::size_t piece) {
    std::vector<std::byte> all(s.size());
    for (std::size_t at = 0; at < all.size(); at += piece)
        s.read(at, std::span{all}.subspan(at, std::min(piece, all.size() - at)));
    return all;
}

TEST(rma_agent, a_letter_arrives_as_it_was_written_however_it_is_cut) {
    seeds const s{1};
    dice d{s.first};
    for (int i = 0; i < 200; ++i) {
        std::vector<memory_run> runs(d.below(5));
        std::size_t bytes = 0;
        for (auto& r : runs) r = {d.below(1000), d.below(50)}, bytes += r.bytes;
        std::vector<std::byte> data(d.coin() ? bytes : 0);
        for (auto& b : data) b = std::byte(d.below(256));
        letter const l{{.what = request::update, .op = mpt::operation::max, .kind = mpt::element_kind::int8, .answer = 77},
                       runs,
                       mpt::source{data.data(), data.size()}};
        auto const message = all_of(l, 1 + d.below(60));
        opened_letter const o{message};
        EXPECT_EQ(o.head.what, request::update);
        EXPECT_EQ(o.head.op, mpt::operation::max);
        EXPECT_EQ(o.head.answer, 77);
        EXPECT_TRUE(std::ranges::equal(o.runs(), runs));
        EXPECT_TRUE(std::ranges::equal(o.data, data));
        EXPECT_EQ(o.bytes_of_runs(), bytes);
    }
}

TEST(rma_agent, what_is_no_letter_is_refused) {
    memory_run const run{0, 4};
    std::byte const data[4]{};
    auto const good = all_of(letter{{.what = request::put}, {&run, 1}, mpt::source{data, 4}}, 100);
    auto const refused = [](std::vector<std::byte> m) {
        expect_error(mpt::error_class::intern, {"no letter"}, [&] { opened_letter const o{m}; });
    };
    refused({});
    refused({good.begin(), good.end() - 1});
    auto longer = good;
    longer.push_back({});
    refused(longer);
    auto many = good;
    many[4] = std::byte{255};
    refused(many);
    auto large = good;
    large[sizeof(letter_head) + 8 + 4] = std::byte{1}; // a run of 2^32 bytes
    refused(large);
}

TEST(rma_agent, knows_which_memory_is_exposed) {
    exposed_memory m;
    EXPECT_TRUE(m.add(100, 50));
    EXPECT_TRUE(m.add(150, 10));
    EXPECT_FALSE(m.add(149, 1));
    EXPECT_FALSE(m.add(90, 11));
    EXPECT_FALSE(m.add(90, 100));
    EXPECT_TRUE(m.has(100, 60)) << "parts that touch count as one";
    EXPECT_TRUE(m.has(120, 5));
    EXPECT_FALSE(m.has(99, 2));
    EXPECT_FALSE(m.has(155, 6));
    EXPECT_TRUE(m.has(0, 0));
    EXPECT_FALSE(m.remove(120));
    EXPECT_TRUE(m.remove(100));
    EXPECT_FALSE(m.has(120, 5));
    EXPECT_TRUE(m.has(150, 10));
    EXPECT_TRUE(m.add(100, 50));
}
} // namespace
