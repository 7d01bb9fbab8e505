// The turn line alone, and a pair's whole channel: turn line and both rings, two ranks that send and receive as they like.
#include <array>
#include <memory>

#include <gtest/gtest.h>
#include <mpt/transport/smp/channel.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
namespace smp = mpt::smp;
using smp::direction;
using line = smp::line<model_atomics>;

constexpr std::size_t watched = offsetof(line, number);

/// Two ranks that answer each other on one line.
struct answers {
    unsigned turns;
    smp::look how = smp::look::loading;
    bool long_frames = false;
    struct state {
        alignas(mpt::line_pair) std::array<std::byte, mpt::cache_line> before{};
        line shared{};
        smp::turn_line<model_atomics> higher{shared, true}, lower{shared, false};
    };
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        auto const side = [s, n = turns, how = how, two = long_frames](smp::turn_line<model_atomics>& t, direction mine,
                                                                       direction theirs, bool begins) {
            auto out = smp::first_number(mine, 0), in = smp::first_number(theirs, 0);
            for (unsigned i = 0; i < n; ++i) {
                for (bool const send : {begins, !begins}) {
                    if (send) {
                        require(t.mine(), "it is my turn");
                        auto* l = t.claim();
                        plain_write(l, watched);
                        if (two) plain_write(l->long_front(), mpt::cache_line);
                        l->publish(static_cast<std::uint16_t>(i), 0, out);
                        out += smp::number_step;
                    } else {
                        while (!t.found(in, how)) model_atomics::pause();
                        plain_read(&t.front(), watched);
                        if (two) plain_read(t.front().long_front(), mpt::cache_line);
                        require(t.front().size == i, "the answer");
                        t.pop();
                        in += smp::number_step;
                    }
                }
            }
        };
        x.thread([s, side] { side(s->higher, direction::from_higher, direction::from_lower, true); });
        x.thread([s, side] { side(s->lower, direction::from_lower, direction::from_higher, false); });
    }
};

/// Two ranks, each of which sends `frames` and receives `frames`, by turns that the schedule decides.
struct pair_program {
    unsigned by_lower, by_higher;
    smp::look how = smp::look::loading;
    static constexpr std::uint32_t lines = 4;

    struct state {
        std::array<line, lines> to_lower{}, to_higher{};
        model_atomics::atomic<std::uint32_t> credit_lower{0}, credit_higher{0};
        line turn{}, nothing{};
        smp::channel<model_atomics> lower{nothing, direction::from_lower, direction::from_higher, 0};
        smp::channel<model_atomics> higher{nothing, direction::from_higher, direction::from_lower, 0};
        int far = 0;
        state() {
            lower.attach(smp::ring_reader<model_atomics>{to_lower.data(), credit_lower, lines, 0});
            lower.attach(smp::ring_writer<model_atomics>{to_higher.data(), credit_higher, lines, 0});
            lower.attach(smp::turn_line<model_atomics>{turn, false});
            higher.attach(smp::ring_reader<model_atomics>{to_higher.data(), credit_higher, lines, 0});
            higher.attach(smp::ring_writer<model_atomics>{to_lower.data(), credit_lower, lines, 0});
            higher.attach(smp::turn_line<model_atomics>{turn, true});
            lower.attach(&far);
            higher.attach(&far);
        }
    };
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        auto const play = [how = how](smp::channel<model_atomics>& c, unsigned send, unsigned receive) {
            unsigned sent = 0, got = 0;
            while (sent < send || got < receive) {
                bool moved = false;
                if (sent < send)
                    if (auto const slot = c.reserve(); slot.at) {
                        plain_write(slot.at, watched);
                        slot.at->publish(static_cast<std::uint16_t>(sent++), 0, slot.number);
                        moved = true;
                    }
                auto const use = [&](line& l) {
                    plain_read(&l, watched);
                    require(l.size == got, "the frame that comes next");
                    ++got;
                };
                moved = c.take(
                            use, [] {}, how) ||
                        moved;
                if (!moved) model_atomics::pause();
            }
        };
        x.thread([s, play, p = *this] { play(s->lower, p.by_lower, p.by_higher); });
        x.thread([s, play, p = *this] { play(s->higher, p.by_higher, p.by_lower); });
    }
};

TEST(turn_line_model, answers_come_one_after_the_other) {
    for (auto const how : {smp::look::loading, smp::look::owning})
        for (bool const long_frames : {false, true}) {
            answers const program{4, how, long_frames};
            auto const result = check({.schedules = 8000}, program);
            EXPECT_TRUE(result.ok) << result.report;
            for (auto const& m : needless({.schedules = 4000}, program, "line.hpp")) ADD_FAILURE() << m;
        }
}

TEST(turn_line_model, frames_keep_their_order_over_the_line_and_the_rings) {
    for (auto const& program : {pair_program{6, 6}, pair_program{8, 1}, pair_program{1, 8}, pair_program{7, 0},
                                pair_program{6, 6, smp::look::owning}, pair_program{1, 8, smp::look::owning}}) {
        auto const result = check({.schedules = 8000}, program);
        EXPECT_TRUE(result.ok) << result.report;
    }
}

TEST(turn_line_model, a_pair_needs_every_order_of_its_headers) {
    for (auto const* file : {"line.hpp", "ring.hpp"})
        for (auto const& m : needless({.schedules = 6000}, pair_program{8, 3}, file)) ADD_FAILURE() << m;
}

/// What the number in each line is for.
TEST(turn_line_model, would_lose_the_order_if_lines_carried_only_a_full_flag) {
    struct state {
        model_atomics::atomic<std::uint32_t> ring{0}, turn{0};
        model_data<int> at_ring, at_turn;
    };
    auto const result = check({.schedules = 4000}, [](execution& x) {
        auto s = std::make_shared<state>();
        x.thread([s] { // frame 1 by the ring, then the turn is ours and frame 2 goes by the turn line
            s->at_ring.set(1);
            s->ring.store(1, std::memory_order_release);
            s->at_turn.set(2);
            s->turn.store(1, std::memory_order_release);
        });
        x.thread([s] {
            int last = 0;
            for (bool a = false, b = false; !a || !b;) {
                if (!b && s->turn.load(std::memory_order_acquire) != 0)
                    require(s->at_turn.get() == last + 1, "in order"), ++last, b = true;
                if (!a && s->ring.load(std::memory_order_acquire) != 0)
                    require(s->at_ring.get() == last + 1, "in order"), ++last, a = true;
                model_atomics::pause();
            }
        });
    });
    EXPECT_FALSE(result.ok);
}

} // namespace
