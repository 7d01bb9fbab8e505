// Notices: what is wanted, in order, and what finds no room.
#include <deque>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/protocol/notices.hpp>

namespace {
using namespace mpt::protocol;
using mpt::nanoseconds;

notice of(notice_kind k, std::uint64_t bytes, std::int64_t when = 0) { return {k, {}, 0, 0, bytes, nanoseconds{when}}; }

TEST(protocol_notices, only_what_is_wanted_is_kept) {
    notice_queue q;
    notice n;
    q.post(of(notice_kind::sent, 1));
    EXPECT_FALSE(q.waiting());
    q.want(bit_of(notice_kind::sent));
    EXPECT_TRUE(q.wants(notice_kind::sent));
    q.post(of(notice_kind::sent, 2));
    q.post(of(notice_kind::received, 3));
    EXPECT_TRUE(q.waiting());
    q.want(0);
    q.post(of(notice_kind::sent, 4));
    ASSERT_TRUE(q.take(n)); // what was there stays
    EXPECT_EQ(n.bytes, 2u);
    EXPECT_FALSE(q.take(n));
    EXPECT_FALSE(q.waiting());
}

TEST(protocol_notices, a_random_program_agrees_with_a_queue_that_has_an_end) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    notice_queue q;
    q.want(bit_of(notice_kind::sent) | bit_of(notice_kind::offered));
    std::deque<notice> model;
    std::uint64_t lost[2]{};
    nanoseconds latest{};
    for (std::uint64_t i = 0; i < 50'000; ++i) {
        if (random() % 1000 < 550) {
            auto const kind = random() % 2 ? notice_kind::sent : notice_kind::offered;
            auto n = of(kind, i, static_cast<std::int64_t>(i) - static_cast<std::int64_t>(random() % 3));
            q.post(n);
            if (model.size() == notice_queue::room) ++lost[kind == notice_kind::sent];
            else n.when = latest = std::max(latest, n.when), model.push_back(n);
        } else {
            notice n;
            ASSERT_EQ(q.take(n), !model.empty());
            if (model.empty()) continue;
            EXPECT_EQ(n.bytes, model.front().bytes);
            EXPECT_EQ(n.when, model.front().when);
            model.pop_front();
        }
        if (i % 5000 == 0) {
            EXPECT_EQ(q.take_lost(notice_kind::sent), std::exchange(lost[1], 0));
            EXPECT_EQ(q.take_lost(notice_kind::offered), std::exchange(lost[0], 0));
        }
    }
}

TEST(protocol_notices, threads_that_post_and_one_that_takes_lose_nothing_unsaid) {
    notice_queue q;
    q.want(bit_of(notice_kind::sent));
    constexpr std::uint64_t each = 20'000;
    std::vector<std::thread> all;
    for (int i = 0; i < 3; ++i)
        all.emplace_back([&] {
            for (std::uint64_t k = 0; k < each; ++k) q.post(of(notice_kind::sent, k, static_cast<std::int64_t>(k)));
        });
    std::uint64_t got = 0, lost = 0;
    nanoseconds last{};
    for (notice n; got + lost < 3 * each; lost += q.take_lost(notice_kind::sent))
        while (q.take(n)) {
            ++got;
            EXPECT_LE(last, n.when);
            last = n.when;
        }
    for (auto& t : all) t.join();
    EXPECT_EQ(got + lost, 3 * each);
}

} // namespace
