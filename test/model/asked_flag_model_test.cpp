// The flag that says which window was asked, under every schedule: a clerk that clears it finds the letters of all who have set it, and
// no letter is slept through.
#include <array>
#include <memory>

#include <gtest/gtest.h>
#include <mpt/core/types.hpp>
#include <mpt/rma/agent/asked_flag.hpp>
#include <mpt/world/bell.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
using mpt::fence_mode;
constexpr mpt::nanoseconds any_time{1};

/// Each origin sends a letter to the window origin % windows; one clerk, who looks only where it was asked.
struct program {
    fence_mode mode;
    std::size_t origins, windows;

    struct state {
        mpt::world::bell<model_world> bell;
        std::array<mpt::rma::asked_flag<model_atomics>, 2> rung{};
        std::array<model_data<int>, 3> letter{};
        std::array<model_atomics::atomic<int>, 3> sent{}; // the wire: it may be seen late, but for the flag
        std::array<bool, 3> taken{};
    };
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        for (std::size_t o = 0; o < origins; ++o)
            x.thread([s, o, p = *this] {
                s->letter[o].set(7);
                s->sent[o].store(1, std::memory_order_release);
                s->rung[o % p.windows].set();
                s->bell.ring(model_world{}, p.mode);
            });
        x.thread([s, p = *this] {
            for (std::size_t got = 0; got != p.origins;) {
                got += p.look(*s);
                if (got == p.origins) return;
                auto const armed = s->bell.arm(p.mode);
                if (auto const more = p.look(*s)) got += more;
                else s->bell.sleep(model_world{}, armed, any_time);
            }
        });
    }
    std::size_t look(state& s) const {
        std::size_t got = 0;
        for (std::size_t w = 0; w < windows; ++w) {
            if (!s.rung[w].clear()) continue;
            for (std::size_t o = w; o < origins; o += windows) {
                if (s.taken[o] || s.sent[o].load(std::memory_order_acquire) == 0) continue;
                require(s.letter[o].get() == 7, "the letter is there");
                s.taken[o] = true, ++got;
            }
        }
        return got;
    }
};
constexpr unsigned schedules(unsigned n) { return MPT_THREAD_SANITIZER ? n / 10 : n; }

TEST(asked_flag_model, no_letter_is_slept_through) {
    for (auto const mode : {fence_mode::both, fence_mode::sleeper})
        for (auto const& result : {check({.schedules = schedules(8000)}, program{mode, 1, 1}),
                                   check({.schedules = schedules(8000)}, program{mode, 2, 1}),
                                   check({.schedules = schedules(8000)}, program{mode, 2, 2}),
                                   check({.schedules = schedules(4000)}, program{mode, 3, 2})})
            EXPECT_TRUE(result.ok) << result.report;
}

TEST(asked_flag_model, needs_every_order_of_its_header) {
    for (auto const& m : needless({.schedules = schedules(20'000)}, program{fence_mode::both, 2, 1}, "asked_flag.hpp"))
        ADD_FAILURE() << m;
}
} // namespace
