// Many senders, a board of counters, mailboxes on demand, and an owner that polls only those who are hot: nobody is forgotten.
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/transport/smp/board.hpp>
#include <mpt/transport/smp/layout.hpp>
#include <mpt/transport/smp/ring.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
namespace smp = mpt::smp;
using line = smp::line<model_atomics>;
using box = smp::mailbox<model_atomics>;

constexpr std::size_t watched = offsetof(line, number);
constexpr std::uint32_t lines = 4;

/// `senders` threads ask for a mailbox and send `frames` each; the owner makes the mailboxes and hears everybody.
struct board_program {
    unsigned senders, frames;
    std::uint32_t first;
    std::uint32_t patience = 2; // empty polls before a peer is cold again

    struct state {
        alignas(128) std::array<std::array<std::byte, 1024>, 3> memory{};
        std::array<smp::directory_entry<model_atomics>, 3> directory{};
        std::array<model_atomics::atomic<std::uint32_t>, 3> counts;
        smp::board<model_atomics> board;
        smp::hot_set hot{3};
        std::array<smp::ring_reader<model_atomics>, 3> in{};
        line nothing{};

        explicit state(std::uint32_t first) : counts{first, first, first}, board{{counts.data(), counts.size()}, first} {
            in.fill(smp::ring_reader<model_atomics>{nothing});
        }
        box& at(std::size_t i) { return *reinterpret_cast<box*>(memory[i].data()); }
    };

    static std::uint64_t number(std::uint32_t first, unsigned i) {
        return smp::first_number(smp::direction::from_lower, first) + i * smp::number_step;
    }
    static void send(state& s, std::size_t me, unsigned frames, std::uint32_t first) {
        s.board.knock(s.counts[me], smp::count_of(number(first, 0)));
        while (s.directory[me].look() == 0) model_atomics::pause();
        plain_read(&s.at(me).lines, sizeof s.at(me).lines);
        smp::ring_writer<model_atomics> out{s.at(me).ring, s.at(me).consumed, s.at(me).lines, first};
        for (unsigned i = 0; i < frames; ++i) {
            auto* c = out.reserve();
            for (; c == nullptr; c = out.reserve()) model_atomics::pause();
            plain_write(c, watched);
            c->publish(static_cast<std::uint16_t>(i), 0, number(first, i));
            s.board.knock(s.counts[me], smp::count_of(number(first, i)) + 1);
        }
    }
    static void invite(state& s, std::size_t i, std::uint32_t first) {
        if (s.in[i].attached()) return;
        plain_write(&s.at(i).lines, sizeof s.at(i).lines);
        auto& m = box::make(s.memory[i], lines, first);
        s.in[i] = {m.ring, m.consumed, lines, first};
        s.directory[i].publish(1);
    }
    static unsigned poll(state& s, std::array<unsigned, 3>& got, std::size_t i, std::uint32_t first) {
        unsigned n = 0;
        while (s.in[i].front().holds(number(first, got[i]))) {
            plain_read(&s.in[i].front(), watched);
            require(s.in[i].front().size == got[i], "the frame that comes next");
            s.in[i].pop();
            ++got[i];
            ++n;
        }
        return n;
    }
    void operator()(execution& x) const {
        auto s = std::make_shared<state>(first);
        for (unsigned p = 0; p < senders; ++p) x.thread([s, p, me = *this] { send(*s, p, me.frames, me.first); });
        x.thread([s, me = *this] {
            std::array<unsigned, 3> got{};
            for (unsigned all = 0; all < me.senders * me.frames;) {
                unsigned found = 0;
                std::vector<std::uint32_t> cold;
                for (auto const p : s->hot.members()) {
                    auto const n = poll(*s, got, p, me.first);
                    found += n;
                    if (s->hot.cooled(p, n != 0, me.patience)) cold.push_back(p);
                }
                for (auto const p : cold) s->hot.erase(p);
                s->board.sweep([&](std::size_t p) {
                    invite(*s, p, me.first);
                    s->hot.insert(p);
                });
                all += found;
                if (found == 0) model_atomics::pause();
            }
        });
    }
};

TEST(board_model, nobody_who_knocked_is_forgotten) {
    for (auto const& program : {board_program{1, 6, 0}, board_program{2, 3, 0}, board_program{2, 3, 0xfffffffe, 1}}) {
        auto const result = check({.schedules = 6000}, program);
        EXPECT_TRUE(result.ok) << result.report;
    }
}

TEST(board_model, needs_every_order_of_its_headers) {
    for (auto const* file : {"board.hpp", "layout.hpp"})
        for (auto const& m : needless({.schedules = 4000}, board_program{1, 3, 0}, file)) ADD_FAILURE() << m;
}

} // namespace
