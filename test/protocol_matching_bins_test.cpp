#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "support/memory_ration.hpp"
#include <mpt/protocol/matching.hpp>
#include <mpt/protocol/matching/bins.hpp>

namespace {

using mpt::context_id;
using mpt::protocol::bin;
using mpt::protocol::bin_table;
using mpt::protocol::envelope;
using mpt::test::memory_ration;

envelope of(std::uint64_t context, int source, int label) { return {context_id{context}, source, label}; }

/// Something that keeps a bin in use.
struct entry : mpt::list_node {};

TEST(protocol_matching_bins, a_key_has_one_bin_which_is_found_again) {
    memory_ration memory;
    bin_table t{memory.source()};
    EXPECT_EQ(t.find(of(1, 2, 3)), nullptr);
    auto* const b = t.make(of(1, 2, 3));
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(b->key, of(1, 2, 3));
    EXPECT_TRUE(b->unused());
    auto* const other = t.make(of(1, 2, 4));
    EXPECT_NE(other, b);
    EXPECT_EQ(t.find(of(1, 2, 3)), b);
    EXPECT_EQ(t.make(of(1, 2, 3)), b);
    EXPECT_EQ(t.bins(), 2u);
}

TEST(protocol_matching_bins, while_it_grows_bucket_by_bucket_every_bin_stays_where_it_can_be_found) {
    memory_ration memory;
    bin_table t{memory.source()};
    std::vector<bin*> bins;
    std::vector<entry> entries(20'000);
    for (int i = 0; i < 20'000; ++i) {
        auto* const b = t.make(of(5, i, i % 3));
        ASSERT_NE(b, nullptr);
        entries[i].insert_before(b->posted);
        bins.push_back(b);
        EXPECT_LE(t.bins(), t.buckets());
        auto const k = i / 2;
        ASSERT_EQ(t.find(of(5, k, k % 3)), bins[k]);
    }
    for (int i = 0; i < 20'000; ++i) ASSERT_EQ(t.find(of(5, i, i % 3)), bins[i]);
    EXPECT_EQ(t.find(of(5, 20'000, 0)), nullptr);
    std::set<bin const*> seen;
    t.each([&](bin const& b) { seen.insert(&b); }, mpt::protocol::in_place{});
    EXPECT_EQ(seen, std::set<bin const*>(bins.begin(), bins.end()));
}

TEST(protocol_matching_bins, a_bin_in_use_is_never_taken_away) {
    memory_ration memory;
    bin_table t{memory.source()};
    entry e[100];
    bin* kept[100];
    for (int i = 0; i < 100; ++i) e[i].insert_before((kept[i] = t.make(of(1, i, 0)))->arrivals);
    for (int i = 0; i < 100'000; ++i) ASSERT_NE(t.make(of(2, 0, i)), nullptr);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(t.find(of(1, i, 0)), kept[i]);
}

TEST(protocol_matching_bins, some_hundred_keys_that_come_and_go_keep_their_bins) {
    memory_ration memory;
    bin_table t{memory.source()};
    std::vector<bin*> bins;
    for (int i = 0; i < 500; ++i) bins.push_back(t.make(of(1, i, 0)));
    auto const given = memory.given;
    for (int round = 0; round < 10; ++round)
        for (int i = 0; i < 500; ++i) ASSERT_EQ(t.make(of(1, i, 0)), bins[i]);
    EXPECT_EQ(memory.given, given);
}

TEST(protocol_matching_bins, unused_bins_are_used_again_instead_of_new_memory) {
    memory_ration memory;
    bin_table t{memory.source()};
    for (int i = 0; i < 10'000; ++i) t.make(of(1, 0, i));
    auto const given = memory.given;
    for (int i = 10'000; i < 1'000'000; ++i) t.make(of(1, 0, i));
    EXPECT_LE(memory.given, 2 * given);
    EXPECT_LE(t.bins(), 4096u);
}

TEST(protocol_matching_bins, without_memory_an_unused_bin_is_found_wherever_it_is) {
    memory_ration memory{4096};
    bin_table t{memory.source()};
    entry e[64];
    for (int i = 0; i < 64; ++i) {
        auto* const b = t.make(of(1, i, 0));
        ASSERT_NE(b, nullptr);
        e[i].insert_before(b->posted);
    }
    EXPECT_EQ(t.make(of(1, 64, 0)), nullptr);
    for (int i = 0; i < 64; ++i) {
        e[i].unlink();
        auto* const b = t.make(of(2, i, 0));
        ASSERT_NE(b, nullptr) << i;
        EXPECT_EQ(t.find(of(1, i, 0)), nullptr);
        e[i].insert_before(b->posted);
        EXPECT_EQ(t.make(of(3, 0, 0)), nullptr);
    }
    EXPECT_EQ(t.bins(), 64u);
}

/// Memory for bins but none for buckets.
TEST(protocol_matching_bins, without_memory_for_buckets_chains_grow_and_nothing_is_lost) {
    memory_ration memory;
    auto const source = mpt::memory_source{[](void* self, std::size_t n, std::size_t align) noexcept -> void* {
                                               return n == 4096 ? static_cast<memory_ration*>(self)->source()(n, align)
                                                                : nullptr; // a chunk of bins
                                           },
                                           &memory};
    bin_table t{source};
    std::vector<bin*> bins;
    std::vector<entry> entries(1000);
    for (int i = 0; i < 1000; ++i) {
        bins.push_back(t.make(of(1, i, 0)));
        ASSERT_NE(bins.back(), nullptr);
        entries[i].insert_before(bins[i]->posted);
    }
    EXPECT_EQ(t.buckets(), 64u);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(t.find(of(1, i, 0)), bins[i]);
}

/// Keys as programs have them: each pattern's longest chain is that of random keys, or shorter.
TEST(protocol_matching_bins, keys_in_steps_are_spread_as_random_ones_are) {
    auto longest = [](auto&& key) {
        std::map<std::uint32_t, int> load;
        int most = 0;
        for (int i = 0; i < 4096; ++i) most = std::max(most, ++load[bin_table::hash_of(key(i)) & 4095]);
        return most;
    };
    std::mt19937_64 random{1};
    for (int trial = 0; trial < 20; ++trial) {
        auto const context = trial ? random() : 0;
        for (int step : {1, 2, 3, 8, 10, 64, 100, 128, 1000, 1024, 4096, 65536, 100'000}) {
            EXPECT_LE(longest([&](int i) { return of(context, i * step, 0); }), 12) << "sources, step " << step;
            EXPECT_LE(longest([&](int i) { return of(context, 0, i * step); }), 12) << "tags, step " << step;
            EXPECT_LE(longest([&](int i) { return of(context, i % 64 * step, i / 64); }), 12) << "grid, step " << step;
            EXPECT_LE(longest([&](int i) { return of(context, i * step, i); }), 12) << "diagonal, step " << step;
        }
        EXPECT_LE(longest([&](int i) { return of(context + static_cast<unsigned>(i) * 2, 0, 0); }), 12) << "contexts";
    }
}

} // namespace
