// A message copied from both ends: every piece once, done and refused seen by both, places used again only when nobody is in.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/transport/smp/joint.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
namespace smp = mpt::smp;
using mpt::joint_state;
using mpt::status;
using place = smp::ticket_place<model_atomics>;

constexpr std::uint64_t size = 96 << 10; // three pieces of 32 KiB
constexpr std::size_t pieces = 3;

enum class trouble { none, sender, receiver };

/// `messages` messages through one place to `receivers` ranks in turn, each three pieces; who copies marks the piece, and the
/// receiver reads all at the end.
struct joint_program {
    unsigned messages;
    trouble refused = trouble::none;
    unsigned receivers = 1;

    struct state {
        std::array<place, smp::ticket_book::places> table{};
        smp::ticket_book book{5};
        std::array<std::array<model_data<unsigned>, pieces>, 2> target{};
        std::array<model_data<unsigned>, pieces> source{};
        std::array<model_atomics::atomic<std::uint32_t>, 2> offered{0, 0};
        model_atomics::atomic<std::uint32_t> other_way{0};

        /// All places but one are taken: every message goes through the same.
        state() {
            for (unsigned i = 1; i < smp::ticket_book::places; ++i) book.open(table.data(), 1, nullptr);
        }
    };
    static status copy(state& s, unsigned to, smp::claim c) {
        for (auto i = c.first; i < c.first + c.count; ++i) s.target[to][i].set(s.source[i].get());
        return status::ok;
    }
    static void send(state& s, joint_program const& p) {
        for (unsigned k = 1; k <= p.messages; ++k) {
            for (auto& piece : s.source) piece.set(k);
            auto ticket = s.book.open(s.table.data(), 0, nullptr);
            for (; ticket == 0; ticket = s.book.open(s.table.data(), 0, nullptr)) model_atomics::pause();
            auto& t = s.table[smp::ticket_book::place_of(ticket)];
            plain_write(&t.source, sizeof t.source);
            t.source.size = size;
            t.given.reset();
            t.claims.reset(ticket);
            auto const to = k % p.receivers;
            s.offered[to].store(ticket, std::memory_order_release);
            auto state = joint_state::waiting;
            while (state != joint_state::done && state != joint_state::refused) {
                state = smp::step_sender(
                    t, ticket, [&] { return plain_read(&t.target, sizeof t.target), true; },
                    [&](auto const&, smp::claim c) { return p.refused == trouble::sender ? status::refused : copy(s, to, c); });
                if (state == joint_state::waiting) model_atomics::pause();
            }
            s.book.withdraw(ticket);
            if (state == joint_state::refused) // the next frame says that the receiver took another way
                while (s.other_way.load(std::memory_order_acquire) != k) model_atomics::pause();
        }
    }
    static void receive(state& s, joint_program const& p, unsigned me) {
        std::uint32_t last = 0;
        auto& target = s.target[me];
        for (unsigned k = 1; k <= p.messages; ++k) {
            if (k % p.receivers != me) continue;
            auto ticket = s.offered[me].load(std::memory_order_acquire);
            for (; ticket == last; ticket = s.offered[me].load(std::memory_order_acquire)) model_atomics::pause();
            last = ticket;
            auto& t = s.table[smp::ticket_book::place_of(ticket)];
            for (auto& piece : target) piece.set(0);
            plain_read(&t.source, sizeof t.source);
            plain_write(&t.target, sizeof t.target);
            t.target.size = size;
            t.taken.reset();
            t.join(ticket);
            bool const alone = k / 2 % 2 == 0; // of several messages
            auto state = joint_state::waiting;
            while (state != joint_state::done && state != joint_state::refused) {
                plain_read(&t.target, sizeof t.target);
                state = smp::step_receiver(t, ticket, alone, [&](auto const&, smp::claim c) {
                    plain_read(&t.source, sizeof t.source);
                    return p.refused == trouble::receiver ? status::refused : copy(s, me, c);
                });
                if (state == joint_state::waiting) model_atomics::pause();
            }
            if (state == joint_state::done)
                for (auto& piece : target) require(piece.get() == k, "every piece has arrived");
            else
                for (auto& piece : target) piece.set(k); // another way writes here in peace
            if (p.refused == trouble::none) require(state == joint_state::done, "nobody was refused");
            s.other_way.store(k, std::memory_order_release);
        }
    }
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        x.thread([s, p = *this] { send(*s, p); });
        for (unsigned r = 0; r < receivers; ++r) x.thread([s, r, p = *this] { receive(*s, p, r); });
    }
};

/// Each message goes one way, pushed or pulled, through a place that is used again at once. The receiver of a pushed message may
/// look at its claims when they are the next message's.
struct either_way_program {
    unsigned messages;

    struct state {
        place at;
        model_atomics::atomic<std::uint32_t> offered{0}, pushed{0}, pulled{0};
    };
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        x.thread([s, n = messages] {
            for (std::uint32_t k = 1; k <= n; ++k) {
                plain_write(&s->at.source, sizeof s->at.source);
                s->at.claims.reset(k);
                s->offered.store(k, std::memory_order_release);
                if (s->at.claims.push(k)) s->pushed.store(k, std::memory_order_release);
                else
                    while (s->pulled.load(std::memory_order_acquire) != k) model_atomics::pause();
            }
        });
        x.thread([s, n = messages] {
            std::uint32_t seen = 0;
            while (seen != n) {
                auto const k = s->offered.load(std::memory_order_acquire);
                if (k == seen) {
                    model_atomics::pause();
                    continue;
                }
                seen = k;
                if (s->at.claims.pull(k)) {
                    plain_read(&s->at.source, sizeof s->at.source);
                    plain_write(&s->at.target, sizeof s->at.target);
                    s->pulled.store(k, std::memory_order_release);
                } else
                    while (s->pushed.load(std::memory_order_acquire) < k) model_atomics::pause();
            }
        });
    }
};

TEST(joint_model, a_message_that_may_be_pushed_or_pulled_goes_one_way) {
    auto const result = check({.schedules = 6000}, either_way_program{4});
    EXPECT_TRUE(result.ok) << result.report;
}

TEST(joint_model, every_piece_arrives_once_and_both_sides_see_done) {
    for (auto const& program : {joint_program{1}, joint_program{3}, joint_program{3, trouble::none, 2}}) {
        auto const result = check({.schedules = 6000}, program);
        EXPECT_TRUE(result.ok) << result.report;
    }
}

TEST(joint_model, needs_the_orders_of_its_header) {
    auto missed = needless({.schedules = 3000}, joint_program{3}, "joint.hpp");
    for (auto const& program : {joint_program{3, trouble::sender}, joint_program{3, trouble::none, 2}}) {
        if (missed.empty()) break; // what none of these programs misses is needless
        auto const also = needless({.schedules = 3000}, program, "joint.hpp");
        std::erase_if(missed, [&](auto const& m) { return std::ranges::find(also, m) == also.end(); });
    }
    for (auto const& m : missed) ADD_FAILURE() << m;
}

TEST(joint_model, after_refused_nobody_writes_to_the_receivers_buffer) {
    for (auto const who : {trouble::sender, trouble::receiver}) {
        auto const result = check({.schedules = 6000}, joint_program{2, who});
        EXPECT_TRUE(result.ok) << result.report;
    }
}

} // namespace
