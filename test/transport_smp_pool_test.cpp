#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>
#include <vector>

#include <mpt/transport/smp/pool.hpp>

namespace {
using namespace mpt;
using buffer = smp::loan_buffer<>;

struct alignas(line_pair) chunk {
    std::byte bytes[128]{};
};
/// Memory that grows as a slice does.
struct ground {
    std::vector<chunk> memory = std::vector<chunk>(1 << 12);
    std::size_t used = 1, asked = 0;
    std::span<std::byte> operator()(std::size_t n) {
        ++asked;
        auto const chunks = n / sizeof(chunk);
        if (used + chunks > memory.size()) return {};
        auto* at = memory[used].bytes;
        used += chunks;
        return {at, n};
    }
    smp::slice_view view() { return smp::slice_view{std::span{memory.data()->bytes, memory.size() * sizeof(chunk)}}; }
};

class smp_pool : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(counters, smp_pool, testing::Values(0u, 0xfffffdu, 0xffffffffu));

TEST_P(smp_pool, asks_for_memory_only_when_a_loan_needs_it) {
    ground g;
    smp::loan_pool<> pool{16, 1000, GetParam()};
    EXPECT_EQ(g.asked, 0u);
    auto const a = pool.lend(g);
    ASSERT_NE(a, pool.none);
    EXPECT_EQ(g.asked, 1u);
    pool.at(a).give_back(pool.generation(a));
    for (int i = 0; i < 100; ++i) {
        auto const b = pool.lend(g);
        ASSERT_NE(b, pool.none);
        pool.at(b).give_back(pool.generation(b));
    }
    EXPECT_EQ(g.asked, 1u) << "loans that came back are used again";
}

TEST_P(smp_pool, grows_to_a_lap_though_all_loans_come_back_and_then_takes_all_in_turn) {
    constexpr std::uint32_t lap = 11;
    ground g;
    smp::loan_pool<> pool{16, 1000, GetParam(), lap};
    auto const lend = [&] {
        auto const b = pool.lend(g);
        EXPECT_NE(b, pool.none);
        pool.at(b).give_back(pool.generation(b));
        return b;
    };
    EXPECT_EQ(lend(), 0u);
    EXPECT_EQ(lend(), 1u);
    for (std::uint32_t made = 2, i = 2; made < 16;
         made *= 2, i = made / 2 + 1) { // the first lap after growing is of what is new
        for (; i < made * pool.laps_before_more; ++i) lend();
        EXPECT_EQ(pool.made(), made) << "no more before each was lent so often";
        lend();
    }
    EXPECT_EQ(g.asked, 4u) << "2, 4, 8, 16";
    EXPECT_EQ(pool.made(), 16u);
    std::set<std::uint32_t> lent;
    for (int i = 0; i < 16; ++i) lent.insert(lend());
    EXPECT_EQ(lent.size(), 16u);
}

TEST_P(smp_pool, grows_to_a_lap_only_once_more_than_a_few_were_lent_at_a_time) {
    constexpr std::uint32_t few = 5, lap = 32;
    ground g;
    smp::loan_pool<> pool{lap, 300, GetParam(), lap, few};
    std::deque<std::uint32_t> lent;
    auto const run = [&](std::size_t at_once) { // as many loans as make several laps
        for (std::uint32_t i = 0; i < lap * 8 * pool.laps_before_more; ++i) {
            if (lent.size() >= at_once) {
                auto const b = lent.front();
                pool.at(b).give_back(pool.generation(b)), lent.pop_front();
            }
            lent.push_back(pool.lend(g));
            ASSERT_NE(lent.back(), pool.none);
        }
    };
    run(1);
    EXPECT_EQ(pool.made(), 2u);
    run(few);
    EXPECT_EQ(pool.made(), 8u) << "as many as are needed, by doubling";
    run(8);
    EXPECT_EQ(pool.made(), 8u) << "it may be that few were enough";
    run(9);
    EXPECT_EQ(pool.made(), lap) << "a window";
}

TEST_P(smp_pool, goes_on_with_what_it_has_where_there_is_no_memory_for_a_lap) {
    ground g;
    smp::loan_pool<> pool{16, 1000, GetParam(), 16};
    int refused = 0;
    auto const little = [&](std::size_t n) { return g.asked == 0 ? g(n) : (++refused, std::span<std::byte>{}); };
    for (std::uint32_t i = 0; i < 5 * pool.laps_before_more; ++i) {
        auto const b = pool.lend(little);
        ASSERT_NE(b, pool.none);
        pool.at(b).give_back(pool.generation(b));
    }
    EXPECT_EQ(pool.made(), 2u);
    EXPECT_EQ(refused, 1) << "asking is dear";
}

TEST_P(smp_pool, a_loan_shows_what_is_written_of_it_and_nothing_of_the_one_before) {
    ground g;
    smp::loan_pool<> pool{1, 1000, GetParam()};
    for (int i = 0; i < 3; ++i) {
        auto const a = pool.lend(g);
        ASSERT_NE(a, pool.none);
        auto const now = pool.generation(a);
        EXPECT_EQ(pool.at(a).shows(now), 0u);
        for (std::size_t n : {1u, 500u, 1000u}) {
            pool.at(a).show(now, n);
            EXPECT_EQ(pool.at(a).shows(now), n);
        }
        pool.at(a).give_back(now);
    }
}

TEST_P(smp_pool, a_loan_that_is_begun_shows_nothing_of_an_older_one_with_its_number) {
    ground g;
    smp::loan_pool<> pool{1, 1000, GetParam()};
    auto const a = pool.lend(g);
    ASSERT_NE(a, pool.none);
    auto& b = pool.at(a);
    for (auto const number : {pool.generation(a), 0u, buffer::generations - 1}) {
        b.show(number, 1000);
        b.begin(number); // all numbers were used since
        EXPECT_EQ(b.shows(number), 0u);
        b.show(number, 10);
        b.begin(number + 1);
        EXPECT_EQ(b.shows(number + 1), 0u);
    }
}

TEST_P(smp_pool, lends_every_buffer_once_and_then_none) {
    ground g;
    smp::loan_pool<> pool{21, 300, GetParam()};
    std::set<std::uint32_t> lent;
    for (int i = 0; i < 21; ++i) {
        auto const b = pool.lend(g);
        ASSERT_NE(b, pool.none);
        EXPECT_TRUE(lent.insert(b).second);
    }
    EXPECT_EQ(pool.made(), 21u);
    EXPECT_EQ(pool.lend(g), pool.none);
    EXPECT_EQ(pool.lend(g), pool.none);
}

TEST_P(smp_pool, a_buffer_that_came_back_is_found_among_many_that_did_not) {
    ground g;
    smp::loan_pool<> pool{40, 128, GetParam()};
    for (int i = 0; i < 40; ++i) ASSERT_NE(pool.lend(g), pool.none);
    pool.at(17).give_back(pool.generation(17));
    std::uint32_t found = pool.none;
    for (int tries = 0; tries < 10 && found == pool.none; ++tries) found = pool.lend(g);
    EXPECT_EQ(found, 17u);
}

TEST_P(smp_pool, random_loans_are_never_lent_twice_at_once) {
    ground g;
    smp::loan_pool<> pool{12, 256, GetParam()};
    std::mt19937 random{6};
    std::vector<std::uint32_t> out;
    for (int i = 0; i < 100'000; ++i) {
        if (random() % 2) {
            auto const b = pool.lend(g);
            if (b == pool.none) continue;
            ASSERT_EQ(std::count(out.begin(), out.end(), b), 0);
            out.push_back(b);
        } else if (!out.empty()) {
            auto const k = random() % out.size();
            if (random() % 4) pool.at(out[k]).give_back(pool.generation(out[k]));
            else pool.revoke(out[k]);
            out.erase(out.begin() + static_cast<std::ptrdiff_t>(k));
        }
    }
    EXPECT_LE(pool.made(), 12u);
}

TEST_P(smp_pool, a_late_give_back_of_an_older_loan_does_not_free_the_buffer) {
    ground g;
    smp::loan_pool<> pool{1, 64, GetParam()};
    auto const a = pool.lend(g);
    auto const old = pool.generation(a);
    pool.at(a).give_back(old);
    ASSERT_EQ(pool.lend(g), a);
    pool.at(a).give_back(old); // twice
    EXPECT_EQ(pool.lend(g), pool.none);
}

TEST(smp_loan_ref, says_where_a_buffer_is_and_which_loan_of_it) {
    for (std::uint64_t const offset : {std::uint64_t{128}, std::uint64_t{1} << 40})
        for (std::uint32_t const generation : {0u, 1u, 0xffffffu}) {
            auto const r = buffer::refer(offset, generation);
            EXPECT_EQ(buffer::offset_of(r), offset);
            EXPECT_EQ(buffer::generation_of(r), generation);
        }
}

TEST(smp_loan_ref, resolves_only_to_buffers_that_fit_the_slice) {
    ground g;
    auto const view = g.view();
    EXPECT_EQ(buffer::resolve(view, 0, 1), nullptr);
    EXPECT_NE(buffer::resolve(view, buffer::refer(128, 5), 1000), nullptr);
    EXPECT_EQ(buffer::resolve(view, buffer::refer(128, 5), view.size - 128), nullptr);
    EXPECT_EQ(buffer::resolve(view, buffer::refer(128, 5), ~std::size_t{0}), nullptr);
    EXPECT_EQ(buffer::resolve(view, buffer::refer(view.size, 5), 0), nullptr);
    EXPECT_EQ(buffer::resolve(view, ~std::uint64_t{0}, 1), nullptr);
}

TEST(smp_pool_memory, no_memory_means_no_loan_and_later_memory_means_one) {
    smp::loan_pool<> pool{4, 64, 0};
    int asked = 0;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(pool.lend([&](std::size_t) { return ++asked, std::span<std::byte>{}; }), pool.none);
    EXPECT_EQ(asked, 1); // asking is dear
    ground g;
    int tries = 1;
    while (tries < 1000 && pool.lend(g) == pool.none) ++tries;
    EXPECT_EQ(tries, 158);
}

} // namespace
