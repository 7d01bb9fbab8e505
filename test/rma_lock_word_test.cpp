#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/rma/lock_word.hpp>

namespace {
using mpt::rma::lock_kind;
using word = mpt::rma::lock_word<>;

TEST(rma_lock_word, is_shared_by_many_or_had_by_one) {
    word w;
    EXPECT_TRUE(w.try_shared());
    EXPECT_TRUE(w.try_lock(lock_kind::shared));
    EXPECT_FALSE(w.try_exclusive());
    w.release_shared();
    EXPECT_FALSE(w.try_exclusive());
    w.unlock(lock_kind::shared);
    EXPECT_TRUE(w.try_lock(lock_kind::exclusive));
    EXPECT_FALSE(w.try_exclusive());
    EXPECT_FALSE(w.try_shared());
    w.unlock(lock_kind::exclusive);
    EXPECT_TRUE(w.try_shared());
}

TEST(rma_lock_word, lets_who_insists_shut_the_gate_or_enter_by_it) {
    word w;
    EXPECT_FALSE(w.insist(lock_kind::exclusive)); // nobody shares it: nothing to shut
    EXPECT_TRUE(w.try_shared());
    EXPECT_FALSE(w.insist(lock_kind::exclusive));
    EXPECT_FALSE(w.insist(lock_kind::exclusive));
    EXPECT_FALSE(w.try_shared());
    EXPECT_FALSE(w.try_exclusive());
    EXPECT_TRUE(w.insist(lock_kind::shared));
    EXPECT_TRUE(w.try_shared()) << "the gate is open again";
    EXPECT_FALSE(w.insist(lock_kind::exclusive));
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(w.try_exclusive());
        w.release_shared();
    }
    EXPECT_FALSE(w.try_shared()) << "who shut it comes first";
    EXPECT_TRUE(w.try_exclusive());
    EXPECT_FALSE(w.insist(lock_kind::exclusive));
    EXPECT_FALSE(w.insist(lock_kind::shared));
    w.release_exclusive();
    EXPECT_TRUE(w.try_shared());
}

TEST(rma_lock_word, keeps_writers_from_readers_and_each_other) {
    word w;
    int a = 0, b = 0;
    auto const turn = [&](int t) {
        for (int i = 0; i < 2000; ++i) {
            auto const kind = (i + t) % 3 == 0 ? lock_kind::exclusive : lock_kind::shared;
            while (!w.try_lock(kind) && !(i % 2 == 0 && w.insist(kind))) std::this_thread::yield();
            if (kind == lock_kind::exclusive) ++a, ++b;
            EXPECT_EQ(a, b);
            w.unlock(kind);
        }
    };
    std::vector<std::thread> all;
    for (int t = 0; t < 3; ++t) all.emplace_back(turn, t);
    for (auto& t : all) t.join();
    EXPECT_EQ(a, 2000);
}
} // namespace
