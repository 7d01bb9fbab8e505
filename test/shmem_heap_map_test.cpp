#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/shmem/heap_map.hpp>

#include "support/dice.hpp"

namespace {
using mpt::shmem::heap_map;
using mpt::test::dice;
constexpr auto grain = heap_map::grain;

/// What is taken, grain by grain.
struct naive {
    std::vector<int> owner; // 0: free
    std::uint64_t grains(std::uint64_t n) const { return std::max<std::uint64_t>(1, (n + grain - 1) / grain); }
    bool is_free(std::uint64_t at, std::uint64_t n) const {
        if (at + n > owner.size()) return false;
        return std::all_of(owner.begin() + static_cast<long>(at), owner.begin() + static_cast<long>(at + n),
                           [](int o) { return o == 0; });
    }
    /// The lowest place for n grains at a multiple of `align` grains, of a map that begins `base` grains in; owner.size(): none.
    std::uint64_t lowest(std::uint64_t n, std::uint64_t align, std::uint64_t base) const {
        std::uint64_t at = 0;
        while (at < owner.size() && ((base + at) % align != 0 || !is_free(at, n))) ++at;
        return at < owner.size() ? at : owner.size();
    }
    void mark(std::uint64_t at, std::uint64_t n, int who) { std::fill_n(owner.begin() + static_cast<long>(at), n, who); }
};

struct block {
    std::uint64_t at, grains, asked;
};

/// What is said of a byte.
void expect_around(heap_map const& map, std::vector<block> const& blocks, std::uint64_t offset) {
    auto const b = std::find_if(blocks.begin(), blocks.end(), [=](block const& x) { return offset / grain - x.at < x.grains; });
    auto const got = map.around(offset);
    ASSERT_EQ(got.has_value(), b != blocks.end()) << offset;
    if (got) { ASSERT_EQ(std::pair(got->at, got->bytes), std::pair(b->at * grain, b->asked)) << offset; }
}

void random_calls(unsigned seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    dice d{seed};
    heap_map map{100 * grain + 7};
    naive model{std::vector<int>(100)};
    auto const base = d.coin() ? 0 : d.below(100); // where the map begins
    std::vector<block> blocks;
    for (int step = 0; step < 400; ++step) {
        if (blocks.empty() || d.below(5) < 3) {
            auto const n = 1 + d.below(d.coin() ? 300 : 2000), align = 1u << d.below(10);
            auto const g = model.grains(n), want = model.lowest(g, std::max<std::uint64_t>(1, align / grain), base);
            auto const got = map.take(n, align, base * grain);
            ASSERT_EQ(got.has_value(), want < 100) << n << " at " << align;
            if (!got) continue;
            ASSERT_EQ(*got, want * grain);
            model.mark(want, g, 1);
            blocks.push_back({want, g, n});
        } else {
            auto const i = d.below(static_cast<unsigned>(blocks.size()));
            auto& b = blocks[i];
            if (d.coin()) {
                auto const n = 1 + d.below(1500);
                auto const g = model.grains(n);
                bool const fits = g <= b.grains || model.is_free(b.at + b.grains, g - b.grains);
                ASSERT_EQ(map.resize(b.at * grain, n), fits);
                if (!fits) continue;
                model.mark(b.at, b.grains, 0);
                model.mark(b.at, b.grains = g, 1);
                b.asked = n;
                ASSERT_EQ(map.size_of(b.at * grain), g * grain);
            } else {
                ASSERT_TRUE(map.give(b.at * grain));
                model.mark(b.at, b.grains, 0);
                blocks.erase(blocks.begin() + static_cast<long>(i));
            }
        }
        expect_around(map, blocks, d.below(110 * grain));
        ASSERT_EQ(map.used(), static_cast<std::uint64_t>(std::count(model.owner.begin(), model.owner.end(), 1)) * grain);
    }
}

TEST(shmem_heap_map, takes_the_lowest_place_that_fits_as_a_row_of_grains_does) {
    mpt::test::seeds const all{200};
    for (unsigned i = 0; i < all.count; ++i) random_calls(all.first + i);
}

TEST(shmem_heap_map, what_is_no_block_is_not_given_back) {
    heap_map map{1 << 20};
    auto const a = map.take(100);
    ASSERT_TRUE(a);
    EXPECT_FALSE(map.give(*a + grain));
    EXPECT_FALSE(map.resize(*a + grain, 1));
    EXPECT_EQ(map.size_of(*a + grain), 0u);
    EXPECT_TRUE(map.give(*a));
    EXPECT_FALSE(map.give(*a));
    EXPECT_EQ(map.largest_free(), 1u << 20);
}

TEST(shmem_heap_map, sizes_beyond_all_are_refused) {
    heap_map map{1 << 20};
    EXPECT_FALSE(map.take(~std::uint64_t{0}));
    EXPECT_FALSE(map.take((1 << 20) + 1));
    EXPECT_FALSE(map.take(1, std::uint64_t{1} << 40));
    EXPECT_TRUE(map.take(1 << 20));
    EXPECT_FALSE(map.take(1));
}

} // namespace
