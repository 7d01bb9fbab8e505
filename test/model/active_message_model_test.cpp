// Active messages under every schedule: what was begun is done once and answered, what was taken back is not done, and each order of the
// header is needed.
#include <memory>

#include <gtest/gtest.h>
#include <mpt/rma/active_message.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
using mpt::rma::answered;

/// Each origin asks `rounds` times by one line, looks `looks` times for an answer, and then takes its message back where it can. Of the
/// target, `waiting` threads do what they find.
struct program {
    int origins, waiting, rounds, looks;

    struct state {
        mpt::rma::active_line<model_atomics, model_data<int>> line;
        model_data<int> sum{0}; // the target's memory
        model_atomics::atomic<int> added{0}, left{0};
    };
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        for (int o = 0; o < origins; ++o)
            x.thread([s, p = *this, o] {
                for (int i = 0; i < p.rounds; ++i) p.ask(*s, 1 + o * p.rounds + i);
                s->left.fetch_add(1, std::memory_order_release);
            });
        for (int w = 0; w < waiting; ++w)
            x.thread([s, all = origins] {
                while (s->left.load(std::memory_order_acquire) != all)
                    if (!serve(*s)) model_atomics::pause();
            });
        x.finally(
            [s] { require(s->sum.get() == s->added.load(std::memory_order_relaxed), "what was answered was done, once"); });
    }
    static bool serve(state& s) {
        if (!s.line.try_begin()) return false;
        auto const more = s.line.message().get();
        s.sum.set(s.sum.get() + more);
        s.line.message().set(-more);
        s.line.end(more % 2 == 0);
        return true;
    }
    void ask(state& s, int more) const {
        while (!s.line.try_take()) model_atomics::pause();
        s.line.message().set(more);
        s.line.ask();
        auto got = answered::not_yet;
        for (int i = 0; i < looks && got == answered::not_yet; ++i) got = s.line.look();
        if (got == answered::not_yet && s.line.take_back()) return;
        for (; got == answered::not_yet; got = s.line.look()) model_atomics::pause();
        require(s.line.message().get() == -more, "the answer is there");
        require((got == answered::done) == (more % 2 == 0), "and is to what was asked");
        s.line.give_back();
        s.added.fetch_add(more, std::memory_order_relaxed);
    }
};
constexpr unsigned schedules(unsigned n) { return MPT_THREAD_SANITIZER ? n / 10 : n; }

TEST(active_message_model, what_is_answered_was_done_once) {
    for (auto const& result : {check({.schedules = schedules(10'000)}, program{1, 1, 4, 3}),
                               check({.schedules = schedules(10'000)}, program{2, 1, 3, 3}),
                               check({.schedules = schedules(10'000)}, program{2, 2, 3, 8}),
                               check({.schedules = schedules(5000)}, program{3, 1, 2, 4})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST(active_message_model, needs_every_order_of_its_header) {
    for (auto const& m : needless({.schedules = schedules(20'000)}, program{2, 2, 3, 4}, "active_message.hpp"))
        ADD_FAILURE() << m;
}
} // namespace
