#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/rma/access_log.hpp>

namespace {
using namespace mpt::rma;
using mpt::element_kind;
using mpt::operation;

mpt::rma::access made(touch what, std::uint64_t first, std::uint64_t bytes, int by = 0, std::uint64_t epoch = 2) {
    mpt::rma::access a;
    a.what = what, a.where = {first, bytes}, a.by = by, a.epoch = epoch;
    if (what != touch::get) a.op = operation::sum;
    if (what == touch::update || what == touch::swap) a.kind = element_kind::int64;
    return a;
}

TEST(rma_access_log, accesses_conflict_where_they_meet_and_one_writes) {
    auto const put = made(touch::put, 8, 8, 0);
    EXPECT_TRUE(conflict(put, made(touch::put, 15, 1, 1)));
    EXPECT_TRUE(conflict(put, made(touch::get, 0, 9, 1)));
    EXPECT_TRUE(conflict(put, made(touch::update, 8, 8, 1)));
    EXPECT_TRUE(conflict(put, made(touch::put, 8, 8, 0))); // of one origin, too
    EXPECT_FALSE(conflict(put, made(touch::put, 16, 8, 1)));
    EXPECT_FALSE(conflict(put, made(touch::put, 0, 8, 1)));
    EXPECT_FALSE(conflict(put, made(touch::put, 8, 8, 1, 4))); // another epoch
    EXPECT_FALSE(conflict(made(touch::get, 0, 8), made(touch::get, 0, 8, 1)));
    EXPECT_TRUE(conflict(made(touch::get, 0, 8), made(touch::update, 0, 8, 1)));
}

TEST(rma_access_log, updates_may_meet_by_one_operation_on_one_type) {
    auto const sum = made(touch::update, 0, 8, 0);
    auto other = made(touch::update, 0, 8, 1);
    EXPECT_FALSE(conflict(sum, other));
    other.op = operation::max;
    EXPECT_TRUE(conflict(sum, other));
    other.by = 0; // in its order
    EXPECT_FALSE(conflict(sum, other));
    other.by = 1, other.op = operation::no_op;
    EXPECT_FALSE(conflict(sum, other));
    EXPECT_FALSE(conflict(sum, made(touch::swap, 0, 8, 1)));
    other.kind = element_kind::c_double;
    EXPECT_TRUE(conflict(sum, other));
}

TEST(rma_access_log, what_only_fetches_reads) {
    auto const get = made(touch::get, 0, 8, 0);
    auto fetch = made(touch::update, 0, 8, 1);
    fetch.op = operation::no_op;
    EXPECT_FALSE(conflict(get, fetch));
    EXPECT_FALSE(conflict(fetch, get));
    auto as_another_type = fetch;
    as_another_type.by = 2, as_another_type.kind = element_kind::c_double;
    EXPECT_FALSE(conflict(fetch, as_another_type));
    EXPECT_TRUE(conflict(fetch, made(touch::put, 0, 8, 2)));
    EXPECT_TRUE(conflict(as_another_type, made(touch::update, 0, 8, 0)));
    EXPECT_TRUE(conflict(get, made(touch::swap, 0, 8, 1)));
}

TEST(rma_access_log, a_conflict_is_a_sentence) {
    EXPECT_EQ(
        told_conflict(made(touch::put, 4, 8, 0), made(touch::get, 0, 8, 2), 1),
        "bytes 4 to 8 of rank 1's part of the window are written by this call, and were read by rank 2 in the same epoch");
    auto other = made(touch::update, 0, 8, 2);
    other.op = operation::max;
    EXPECT_NE(told_conflict(made(touch::update, 0, 8, 0), other, 1).find("by another operation"), std::string::npos);
    other.kind = element_kind::c_double;
    EXPECT_NE(told_conflict(made(touch::update, 0, 8, 0), other, 1).find(", as "), std::string::npos);
}

TEST(rma_access_log, keeps_what_does_not_conflict_and_drops_what_is_over) {
    auto const log = std::make_unique<access_log<>>();
    EXPECT_FALSE(log->add(made(touch::put, 0, 8, 0, passive_epoch)));
    EXPECT_FALSE(log->add(made(touch::put, 8, 8, 1, fence_epoch(3))));
    EXPECT_FALSE(log->add(made(touch::put, 8, 8, 1, exposure_epoch(1))));
    auto const found = log->add(made(touch::get, 12, 8, 2, fence_epoch(3)));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->by, 1);
    EXPECT_EQ(log->kept().size(), 3u); // not what conflicts
    log->drop_before(fence_epoch(3));
    EXPECT_EQ(log->kept().size(), 3u);
    log->drop_before(fence_epoch(4)); // only what fences have ended
    EXPECT_EQ(log->kept().size(), 2u);
    log->drop_before(exposure_epoch(2));
    EXPECT_EQ(log->kept().size(), 1u);
    log->drop_before(passive_epoch);
    EXPECT_EQ(log->kept().size(), 1u);
    log->drop([](mpt::rma::access const& a) { return a.by == 0; });
    EXPECT_TRUE(log->kept().empty());
}

TEST(rma_access_log, compares_also_when_it_is_full) {
    auto const log = std::make_unique<access_log<>>();
    for (std::uint64_t i = 0; i < 5000; ++i) EXPECT_FALSE(log->add(made(touch::put, 8 * i, 8)));
    auto const kept = log->kept().size();
    EXPECT_GT(kept, 1000u);
    EXPECT_LT(kept, 5000u);
    EXPECT_TRUE(log->add(made(touch::get, 0, 1)));
    EXPECT_EQ(log->kept().size(), kept);
}

TEST(rma_access_log, of_two_threads_that_conflict_one_is_told) {
    auto const log = std::make_unique<access_log<>>();
    constexpr std::uint64_t n = 200;
    std::array<int, 4> told{};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < n; ++i) {
                while (!log->lock.try_exclusive()) std::this_thread::yield();
                told[static_cast<std::size_t>(t)] += log->add(made(touch::put, 8 * i, 8, t)).has_value();
                log->lock.release_exclusive();
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(told[0] + told[1] + told[2] + told[3], 3 * static_cast<int>(n));
    EXPECT_EQ(log->kept().size(), n);
}

} // namespace
