// Letters to an agent under every schedule: an origin that finds none under way sees what its own have done, also while others send,
// and each order of the count is needed.
#include <array>
#include <memory>

#include <gtest/gtest.h>
#include <mpt/rma/agent/letter.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;

/// Each origin sends `rounds` times a letter and looks `looks` times for its end. Where it finds that it does what the letter would have
/// done itself; else it goes on with the next one.
struct program {
    int origins, rounds, looks;

    struct origin {
        model_atomics::atomic<int> sent{0}; // the wire
        model_data<int> sum{0};             // of the target's memory, what this one changes
        int done = 0;                       // the agent's
    };
    struct state {
        mpt::rma::letters_under_way<model_atomics> letters;
        std::array<origin, 3> all;
        model_atomics::atomic<int> left{0};
    };
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        for (int o = 0; o < origins; ++o)
            x.thread([s, p = *this, o] {
                p.send(*s, s->all[static_cast<std::size_t>(o)]);
                s->left.fetch_add(1, std::memory_order_release);
            });
        x.thread([s, p = *this] {
            while (s->left.load(std::memory_order_acquire) != p.origins || !s->letters.none())
                if (!p.serve(*s)) model_atomics::pause();
        });
        x.finally([s] { require(s->letters.none(), "as many are done as were sent"); });
    }
    bool serve(state& s) const {
        bool found = false;
        for (int o = 0; o < origins; ++o) {
            auto& from = s.all[static_cast<std::size_t>(o)];
            if (from.sent.load(std::memory_order_acquire) == from.done) continue;
            ++from.done, found = true;
            from.sum.set(from.sum.get() + 1);
            s.letters.one_done();
        }
        return found;
    }
    void send(state& s, origin& own) const {
        int sent = 0, by_itself = 0;
        for (int i = 0; i < rounds; ++i) {
            s.letters.one_more();
            own.sent.store(++sent, std::memory_order_release);
            bool none = false;
            for (int k = 0; k < looks && !none; ++k) none = s.letters.none();
            if (!none) continue;
            require(own.sum.get() == sent + by_itself, "all of its own are done");
            own.sum.set(sent + ++by_itself);
        }
    }
};
constexpr unsigned schedules(unsigned n) { return MPT_THREAD_SANITIZER ? n / 10 : n; }

TEST(letters_model, are_done_where_none_is_under_way) {
    for (auto const& result :
         {check({.schedules = schedules(10'000)}, program{1, 4, 4}), check({.schedules = schedules(10'000)}, program{2, 3, 6}),
          check({.schedules = schedules(5000)}, program{3, 2, 8})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST(letters_model, need_every_order_of_their_header) {
    for (auto const& m : needless({.schedules = schedules(20'000)}, program{2, 3, 6}, "letter.hpp")) ADD_FAILURE() << m;
}
} // namespace
