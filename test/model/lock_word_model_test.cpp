// The lock word of a window under every schedule: who has it alone is alone, who shares it sees what was done before, who insists and who
// waits for a late sharer gets through, and each of its orders is needed.
#include <memory>

#include <gtest/gtest.h>
#include <mpt/rma/lock_word.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
using mpt::rma::lock_kind;

/// Thread t takes the word `rounds` times, by turns alone and shared, and insists after a try in vain.
struct program {
    unsigned threads;
    int rounds;

    struct state {
        mpt::rma::lock_word<model_atomics> word;
        model_data<int> value;
    };
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        for (unsigned t = 0; t < threads; ++t)
            x.thread([s, t, n = rounds] {
                for (int i = 0; i < n; ++i) pass(*s, (static_cast<int>(t) + i) % 2 == 0);
            });
        int alone = 0;
        for (unsigned t = 0; t < threads; ++t)
            for (int i = 0; i < rounds; ++i) alone += (static_cast<int>(t) + i) % 2 == 0;
        x.finally([s, alone] { require(s->value.get() == alone, "every change counted"); });
    }
    static void pass(state& s, bool alone) {
        auto const kind = alone ? lock_kind::exclusive : lock_kind::shared;
        while (!s.word.try_lock(kind) && !s.word.insist(kind)) model_world{}.yield();
        int const was = s.value.get();
        if (alone) s.value.set(was + 1);
        require(s.value.get() == was + alone, "nobody changes what is shared, or mine alone");
        s.word.unlock(kind);
    }
};

/// A thread that shares the word waits for another that comes to share it, while a third wants the whole and shuts the gate.
struct late_sharer {
    struct state {
        mpt::rma::lock_word<model_atomics> word;
        model_atomics::atomic<int> came{0};
    };
    static void take(state& s, lock_kind kind) {
        while (!s.word.try_lock(kind) && !s.word.insist(kind)) model_world{}.yield();
    }
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        require(s->word.try_shared(), "nobody has it");
        x.thread([s] {
            while (s->came.load(std::memory_order_relaxed) == 0) model_world{}.yield();
            s->word.release_shared();
        });
        x.thread([s] {
            take(*s, lock_kind::exclusive);
            require(s->came.load(std::memory_order_relaxed) == 1, "whom a sharer waits for came in before");
            s->word.release_exclusive();
        });
        x.thread([s] {
            take(*s, lock_kind::shared);
            s->came.store(1, std::memory_order_relaxed);
            s->word.release_shared();
        });
    }
};
constexpr unsigned schedules(unsigned n) { return MPT_THREAD_SANITIZER ? n / 10 : n; }

TEST(lock_word_model, keeps_who_is_alone_alone) {
    for (auto const& result :
         {check({.schedules = schedules(4000)}, program{2, 3}), check({.schedules = schedules(4000)}, program{3, 2})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST(lock_word_model, lets_a_late_sharer_in) {
    auto const result = check({.schedules = schedules(4000)}, late_sharer{});
    EXPECT_TRUE(result.ok) << result.report;
}

TEST(lock_word_model, needs_every_order_of_its_header) {
    for (auto const& m : needless({.schedules = schedules(6000)}, program{3, 2}, "lock_word.hpp")) ADD_FAILURE() << m;
}
} // namespace
