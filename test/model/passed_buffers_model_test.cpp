// Passed buffers: what one rank of a pair writes lies still until the other has read it, whatever goes by the rings meanwhile.
#include <array>
#include <memory>

#include <gtest/gtest.h>
#include <mpt/transport/smp/channel.hpp>
#include <mpt/transport/smp/passed_buffers.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
namespace smp = mpt::smp;
using smp::direction;
using line = smp::line<model_atomics>;
using passed = smp::passed_buffers<model_atomics>;

constexpr std::size_t watched = offsetof(line, number);
constexpr std::size_t buffer_bytes = passed::buffer::bytes_for(16);

/// Two ranks, each of which sends `messages` and receives as many: by a loan in a buffer that it has, of two pieces, the second written when
/// the frame is gone; else by a frame alone. Every `late`th loan is read only after the next frame was taken, or the last of all.
struct pair_program {
    unsigned messages;
    unsigned late = 0;
    bool waits = true;      // to have the buffer until it has read it
    std::size_t wanted = 2; // pieces of each
    bool awaits = true;     // the other piece, too
    static constexpr std::uint32_t lines = 4;

    struct side {
        smp::channel<model_atomics> c;
        passed all{2, 16, 0, 0x7ffffe};
        alignas(128) std::array<std::byte, 2 * buffer_bytes> memory{};
        side(line& nothing, direction out, direction in) : c{nothing, out, in, 0} {}
    };
    struct state {
        std::array<line, lines> to_lower{}, to_higher{};
        model_atomics::atomic<std::uint32_t> credit_lower{0}, credit_higher{0};
        std::array<std::array<passed::lent, 8>, 2> lent{}; // what a frame carries, by its sender and its place
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

    static void piece(passed::buffer& b, std::size_t at, unsigned k) {
        plain_write(b.data + at, 8);
        b.data[at] = static_cast<std::byte>(k);
    }
    void read(side& s, passed::lent const& l, unsigned k) const {
        for (std::size_t const at : {0u, 8u}) {
            if (at / 8 >= wanted && !awaits) break;
            while (at != 0 && l.at->shows(passed::generation_of(l.ref)) < at + 8) model_atomics::pause();
            if (at / 8 >= wanted) break;
            plain_read(l.at->data + at, 8);
            require(l.at->data[at] == static_cast<std::byte>(k), "the message that was sent");
        }
        if (waits) s.all.note(0, l.ref, *l.at);
    }
    void play(state& t, side& s, unsigned who) const {
        unsigned sent = 0, got = 0, waiting = ~0u;
        std::size_t used = 0;
        auto const extend = [&](std::size_t n) { return std::span{s.memory}.subspan(std::exchange(used, used + n), n); };
        auto const refer = [&](auto const& b) { return reinterpret_cast<std::byte const*>(&b) - s.memory.data() + 128; };
        auto const send = [&] {
            auto l = s.all.lend(0, 16, extend, refer);
            if (l.at) piece(*l.at, 0, sent), l.at->begin(passed::generation_of(l.ref));
            auto const slot = s.c.reserve();
            if (!slot.at) return l.at ? s.all.keep(0, l) : void(), false;
            plain_write(slot.at, watched);
            t.lent[who][sent] = l;
            slot.at->publish(static_cast<std::uint16_t>(sent), l.at ? 1 : 0, slot.number);
            if (l.at) piece(*l.at, 8, sent), l.at->show(passed::generation_of(l.ref), 16);
            return ++sent, true;
        };
        auto const use = [&](line& l) {
            plain_read(&l, watched);
            require(l.size == got, "the frame that comes next");
            if (l.op != 0) {
                if (auto const& lent = t.lent[1 - who][got]; !waits) s.all.note(0, lent.ref, *lent.at);
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

TEST(passed_buffers_model, a_loan_lies_still_until_it_is_read_at_once_or_late) {
    for (auto const& program : {pair_program{4}, pair_program{6}, pair_program{6, 1}, pair_program{6, 2}}) {
        auto const result = check({.schedules = 6000}, program);
        EXPECT_TRUE(result.ok) << result.report;
    }
}

TEST(passed_buffers_model, needs_every_order_of_the_line) {
    for (auto const& m : needless({.schedules = 4000}, pair_program{4}, "line.hpp")) ADD_FAILURE() << m;
}

TEST(passed_buffers_model, a_loan_of_which_little_is_wanted_is_awaited_all_the_same) {
    auto const result = check({.schedules = 6000}, pair_program{6, 0, true, 1});
    EXPECT_TRUE(result.ok) << result.report;
    EXPECT_FALSE(check({.schedules = 6000}, pair_program{6, 0, true, 1, false}).ok);
}

TEST(passed_buffers_model, would_lose_a_loan_that_is_read_late_if_its_buffer_were_the_readers_before) {
    auto const result = check({.schedules = 6000}, pair_program{6, 1, false});
    EXPECT_FALSE(result.ok);
}

} // namespace
