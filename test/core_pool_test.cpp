#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/memory_ration.hpp"
#include <mpt/core/pool.hpp>

namespace {

using mpt::test::memory_ration;

struct node {
    std::uint64_t a = 1, b = 2, c = 3;
};
struct alignas(64) line {
    int value = 0;
};
struct with_destructor {
    int* deaths;
    std::string text = "long enough to live on the heap and be missed there";
    explicit with_destructor(int* d) : deaths{d} {}
    with_destructor(with_destructor const&) = delete;
    ~with_destructor() { ++*deaths; }
};

TEST(core_pool_slab, objects_are_initialised_and_do_not_overlap) {
    memory_ration memory;
    mpt::slab<node> nodes{memory.source()};
    std::vector<node*> all;
    for (int i = 0; i < 1000; ++i) {
        all.push_back(nodes.create());
        ASSERT_NE(all.back(), nullptr);
        EXPECT_EQ(all.back()->c, 3u);
        *all.back() = {std::uint64_t(i), std::uint64_t(i), std::uint64_t(i)};
    }
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(all[i]->a + all[i]->b + all[i]->c, 3u * i);
}

TEST(core_pool_slab, freed_objects_are_used_again_before_new_memory) {
    memory_ration memory;
    mpt::slab<node> nodes{memory.source()};
    std::vector<node*> all;
    for (int i = 0; i < 500; ++i) all.push_back(nodes.create());
    auto const given = memory.given;
    for (int round = 0; round < 100; ++round) {
        for (auto* n : all) nodes.destroy(n);
        for (auto*& n : all) n = nodes.create();
    }
    EXPECT_EQ(memory.given, given);
    EXPECT_EQ(std::set<node*>(all.begin(), all.end()).size(), all.size());
}

TEST(core_pool_slab, without_memory_it_says_so_and_goes_on_with_what_it_has) {
    memory_ration memory{4096};
    mpt::slab<node> nodes{memory.source()};
    std::vector<node*> all;
    while (auto* n = nodes.create()) all.push_back(n);
    EXPECT_GE(all.size(), 4096 / sizeof(node));
    EXPECT_EQ(nodes.create(), nullptr);
    nodes.destroy(all[7]);
    EXPECT_EQ(nodes.create(), all[7]);
    EXPECT_EQ(nodes.create(), nullptr);
}

TEST(core_pool, an_index_leads_back_to_its_object) {
    memory_ration memory;
    mpt::pool<node> nodes{memory.source()};
    std::vector<node*> all;
    for (std::uint32_t i = 0; i < 5000; ++i) {
        all.push_back(nodes.create());
        ASSERT_NE(all.back(), nullptr);
        EXPECT_EQ(nodes.index_of(all.back()), i);
    }
    for (std::uint32_t i = 0; i < 5000; ++i) EXPECT_EQ(nodes.at(i), all[i]);
    EXPECT_EQ(nodes.alive(), 5000u);
}

TEST(core_pool, an_index_that_names_nothing_gives_nothing) {
    memory_ration memory;
    mpt::pool<node> nodes{memory.source()};
    EXPECT_EQ(nodes.at(0), nullptr);
    auto* n = nodes.create();
    EXPECT_EQ(nodes.at(0), n);
    for (std::uint32_t i : {1u, 2u, 7u, 255u, 1u << 20, 1u << 31, ~0u - 1, ~0u}) {
        EXPECT_EQ(nodes.at(i), nullptr) << i;
        EXPECT_EQ(nodes.at(i, nodes.generation_of(n)), nullptr) << i;
    }
    nodes.destroy(n);
    EXPECT_EQ(nodes.at(0), nullptr);
}

TEST(core_pool, an_old_generation_does_not_name_the_new_object_in_its_place) {
    memory_ration memory;
    mpt::pool<node> nodes{memory.source()};
    auto* first = nodes.create();
    auto const index = nodes.index_of(first);
    auto const old = nodes.generation_of(first);
    EXPECT_EQ(nodes.at(index, old), first);
    nodes.destroy(first);
    EXPECT_EQ(nodes.at(index, old), nullptr);
    EXPECT_EQ(nodes.at(index, old + 1), nullptr) << "the generation of a free slot names nothing";
    auto* second = nodes.create();
    ASSERT_EQ(nodes.index_of(second), index) << "the slot just freed is the next to be used";
    EXPECT_EQ(nodes.at(index, old), nullptr);
    EXPECT_EQ(nodes.at(index, nodes.generation_of(second)), second);
}

TEST(core_pool, alignment_of_the_object_is_kept) {
    memory_ration memory;
    mpt::pool<line> lines{memory.source()};
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lines.create()) % 64, 0u);
}

TEST(core_pool, objects_that_live_are_destroyed_with_the_pool_and_only_once) {
    memory_ration memory;
    int deaths = 0;
    {
        mpt::pool<with_destructor> things{memory.source()};
        auto* a = things.create(&deaths);
        things.create(&deaths);
        things.create(&deaths);
        things.destroy(a);
        EXPECT_EQ(deaths, 1);
    }
    EXPECT_EQ(deaths, 3);
}

TEST(core_pool, no_more_than_most_live_at_a_time) {
    memory_ration memory;
    mpt::pool<node> nodes{memory.source(), 10};
    std::vector<node*> all;
    for (int i = 0; i < 10; ++i) all.push_back(nodes.create());
    EXPECT_EQ(nodes.create(), nullptr);
    nodes.destroy(all[3]);
    EXPECT_EQ(nodes.create(), all[3]);
    EXPECT_EQ(nodes.create(), nullptr);
}

TEST(core_pool, wherever_memory_ends_the_pool_stays_whole) {
    for (std::size_t limit = 0; limit < 200'000; limit += 1000) {
        memory_ration memory{limit};
        mpt::pool<node, mpt::bytes{512}> nodes{memory.source()};
        std::vector<node*> all;
        while (auto* n = nodes.create()) all.push_back(n);
        ASSERT_EQ(nodes.alive(), all.size());
        ASSERT_GE(memory.refusals, 1u);
        for (auto* n : all) ASSERT_EQ(nodes.at(nodes.index_of(n)), n);
        for (auto* n : all) nodes.destroy(n);
        for (std::size_t i = 0; i < all.size(); ++i) ASSERT_NE(nodes.create(), nullptr);
        ASSERT_EQ(nodes.create(), nullptr);
    }
}

TEST(core_pool, each_visits_what_lives_and_nothing_else) {
    memory_ration memory;
    mpt::pool<node> nodes{memory.source()};
    std::set<node*> alive;
    std::mt19937 random{7};
    for (int i = 0; i < 20'000; ++i) {
        if (random() % 3 && !alive.empty()) {
            auto it = alive.begin();
            nodes.destroy(*it);
            alive.erase(it);
        } else alive.insert(nodes.create());
    }
    std::set<node*> seen;
    nodes.each([&](node& n) { EXPECT_TRUE(seen.insert(&n).second); });
    EXPECT_EQ(seen, alive);
    EXPECT_EQ(nodes.alive(), alive.size());
}

#if MPT_ASSERT_LEVEL > 0
TEST(core_pool_death, destroying_twice_is_caught) {
    memory_ration memory;
    mpt::pool<node> nodes{memory.source()};
    auto* n = nodes.create();
    nodes.create();
    nodes.destroy(n);
    EXPECT_DEATH(nodes.destroy(n), "generation");
}
#endif

} // namespace
