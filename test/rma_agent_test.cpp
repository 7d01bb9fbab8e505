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

TEST(rma_agent, how_what_lies_scattered_is_reached_follows_from_its_runs) {
    /// n runs of so many bytes, `apart` from one to the next.
    auto const looked_at = [](std::int64_t n, std::int64_t bytes, std::int64_t apart) {
        auto const type = mpt::datatype::hvector(n, bytes, apart, mpt::datatype::named(mpt::element_kind::byte));
        return scattering{mpt::typed_runs{1 << 20, 1, type}};
    };
    auto const span = [](std::int64_t n, std::int64_t bytes, std::int64_t apart) {
        return static_cast<std::uint64_t>((n - 1) * apart + bytes);
    };
    auto const is_close = [&](std::int64_t n, std::int64_t bytes, std::int64_t apart) {
        return looked_at(n, bytes, apart).is_close(span(n, bytes, apart));
    };
    EXPECT_TRUE(is_close(16, 8, 16));
    EXPECT_TRUE(is_close(1024, 8, 16));
    EXPECT_FALSE(is_close(64, 8, 2048)) << "a list of it is shorter than what lies between";
    EXPECT_FALSE(is_close(4096, 8, 512)) << "and so is a letter";
    EXPECT_TRUE(is_close(512, 512, 1024)) << "where the kernel would be called 512 times";
    EXPECT_FALSE(is_close(1025, 1000, 1024)) << "too much in all";
    EXPECT_FALSE(is_close(3, 1000, 100'000)) << "too much for each";
    EXPECT_FALSE(is_close(1, 1000, 1000)) << "nothing lies between";
    EXPECT_FALSE(looked_at(0, 8, 16).is_close(0));
    EXPECT_FALSE(looked_at(95, 8, 16).is_fine());
    EXPECT_TRUE(looked_at(96, 8, 16).is_fine());
    EXPECT_FALSE(looked_at(96, 512, 1024).is_fine());
    EXPECT_TRUE(looked_at(96, 2047, 4096).is_fine_to_put());
    EXPECT_FALSE(looked_at(96, 2048, 4096).is_fine_to_put());
    EXPECT_FALSE(looked_at(23, 8, 16).is_dear());
    EXPECT_TRUE(looked_at(24, 8, 16).is_dear());
    EXPECT_TRUE(looked_at(64, 512, 1024).is_list());
    EXPECT_FALSE(looked_at(3, 8, 16).is_list());
    EXPECT_FALSE(looked_at(512, 512, 1024).is_list());
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
