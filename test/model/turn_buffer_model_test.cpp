// Turn buffers: what one rank of a pair writes lies still until the other has read it, whatever goes by the rings meanwhile.
#include <array>
#include <memory>

#include <gtest/gtest.h>
#include <mpt/transport/smp/channel.hpp>
#include <mpt/transport/smp/turn_buffer.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
namespace smp = mpt::smp;
using smp::direction;
using line = smp::line<model_atomics>;
using turns = smp::turn_buffers<model_atomics>;

constexpr std::size_t watched = offsetof(line, number);
constexpr std::size_t buffer_bytes = turns::buffer::bytes_for(16);

/// Two ranks, each of which sends `messages` and receives as many: by a loan in the turn buffer when it has the turn, of two pieces, the
/// second written when the frame is gone; else by a frame of the ring. Every `late`th loan is read only after the next frame was taken, or
/// the last of all.
struct pair_program {
    unsigned messages;
    unsigned late = 0;
    bool holds = true;
    static constexpr std::uint32_t lines = 4;

    struct side {
        smp::channel<model_atomics> c;
        turns all{2, 16, 0, 0x7ffffe};
        alignas(128) std::array<std::byte, 2 * buffer_bytes> memory{};
        side(line& nothing, direction out, direction in) : c{nothing, out, in, 0} {}
    };
    struct state {
        std::array<line, lines> to_lower{}, to_higher{};
        model_atomics::atomic<std::uint32_t> credit_lower{0}, credit_higher{0};
        std::array<std::array<turns::lent, 8>, 2> lent{}; // what a frame carries, by its sender and its place
        line turn{}, nothing{};
        side lower{nothing, direction::from_lower, direction::from_higher};
        side higher{nothing, direction::from_higher, direction::from_lower};
        int far = 0;
        state() {
            lower.c.attach(smp::ring_reader<model_atomics>{to_lower.data(), credit_lower, lines, 0});
            lower.c.attach(smp::ring_writer<model_atomics>{to_higher.data(), credit_higher, lines, 0});
            lower.c.attach(smp::turn_line<model_atomics>{turn, false});
            higher.c.attach(smp::ring_reader<model_atomics>{to_higher.data(), credit_higher, lines, 0});
            higher.c.attach(smp::ring_writer<model_atomics>{to_lower.data(), credit_lower, lines, 0});
            higher.c.attach(smp::turn_line<model_atomics>{turn, true});
            lower.c.attach(&far);
            higher.c.attach(&far);
        }
    };

    static void piece(turns::buffer& b, std::size_t at, unsigned k) {
        plain_write(b.data + at, 8);
        b.data[at] = static_cast<std::byte>(k);
    }
    void read(side& s, turns::lent const& l, unsigned k) const {
        for (std::size_t const at : {0u, 8u}) {
            while (at != 0 && l.at->shows(l.generation) < at + 8) model_atomics::pause();
            plain_read(l.at->data + at, 8);
            require(l.at->data[at] == static_cast<std::byte>(k), "the message that was sent");
        }
        s.all.note(0, l.ref, *l.at, l.at->room);
        if (holds) s.c.let_go();
    }
    void play(state& t, side& s, unsigned who) const {
        unsigned sent = 0, got = 0, waiting = ~0u;
        auto const extend = [&](std::size_t n) { return n <= s.memory.size() ? std::span{s.memory} : std::span<std::byte>{}; };
        auto const refer = [&](auto const& b) { return reinterpret_cast<std::byte const*>(&b) - s.memory.data() + 128; };
        auto const send = [&] {
            auto l = s.c.our_turn() ? s.all.lend(0, 16, extend, refer) : turns::lent{};
            if (l.at) piece(*l.at, 0, sent), l.at->begin(l.generation);
            auto const slot = s.c.reserve();
            if (!slot.at) return false;
            plain_write(slot.at, watched);
            t.lent[who][sent] = l;
            slot.at->publish(static_cast<std::uint16_t>(sent), l.at ? 1 : 0, slot.number);
            if (l.at) piece(*l.at, 8, sent), l.at->show(l.generation, 16);
            return ++sent, true;
        };
        auto const use = [&](line& l) {
            plain_read(&l, watched);
            require(l.size == got, "the frame that comes next");
            if (l.op != 0) {
                if (holds) s.c.hold_back();
                if (late != 0 && got % late == 0) waiting = got;
                else read(s, t.lent[1 - who][got], got);
            }
            ++got;
        };
        while (sent < messages || got < messages || waiting != ~0u) {
            bool moved = sent < messages && send();
            auto const before = waiting;
            moved = s.c.take(
                        use, [] {}, smp::look::owning) ||
                    moved;
            if (before != ~0u && (moved || got == messages))
                read(s, t.lent[1 - who][before], before), waiting = ~0u, moved = true;
            if (!moved) model_atomics::pause();
        }
    }
    void operator()(execution& x) const {
        auto t = std::make_shared<state>();
        x.thread([t, p = *this] { p.play(*t, t->lower, 0); });
        x.thread([t, p = *this] { p.play(*t, t->higher, 1); });
    }
};

TEST(turn_buffer_model, a_loan_lies_still_until_it_is_read_at_once_or_late) {
    for (auto const& program : {pair_program{4}, pair_program{6}, pair_program{6, 1}, pair_program{6, 2}}) {
        auto const result = check({.schedules = 6000}, program);
        EXPECT_TRUE(result.ok) << result.report;
    }
}

TEST(turn_buffer_model, needs_every_order_of_the_line) {
    for (auto const& m : needless({.schedules = 4000}, pair_program{4}, "line.hpp")) ADD_FAILURE() << m;
}

/// What holding back is for: here the turn comes with the frame.
TEST(turn_buffer_model, would_lose_a_loan_that_is_read_late_if_the_turn_were_not_held_back) {
    auto const result = check({.schedules = 6000}, pair_program{6, 1, false});
    EXPECT_FALSE(result.ok);
}

} // namespace
