// A probe's look at a wire, step by step in one thread: what it says, and that the message stays where it is.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/transport/recording.hpp>
#include <mpt/transport/stream.hpp>

#include "support/engines.hpp"

namespace {
using namespace mpt::literals;
using namespace mpt::protocol;
using mpt::any_source;
using mpt::any_tag;
using mpt::context_id;
using mpt::sight;
using mpt::status;
using mpt::test::here;
using mpt::test::pattern;
using mpt::test::start_receive;
using mpt::test::start_send;
using engines = mpt::test::engines<mpt::transport::smp<>>;

template <class Engine> sight look(Engine& e, int from, int label, outcome& out, context_id in = here) {
    return e.peek({in, from, label}, out);
}

TEST(protocol_peek, tells_of_a_message_of_every_kind_and_the_receive_that_follows_takes_it_from_its_wire) {
    engines all{2};
    for (auto const mode : {send_mode::standard, send_mode::synchronous})
        for (std::size_t const n : {0u, 1u, 32u, 40u, 41u, 200u, 264u, 265u, 4096u, 16384u, 16385u, 100'000u, 3'000'000u})
            for (int const from : {0, int{any_source}}) {
                auto const data = pattern(n, static_cast<unsigned>(n));
                std::vector<std::byte> into(n);
                outcome out;
                EXPECT_EQ(look(all[1], from, 3, out), sight::nothing);
                auto* const s = start_send(all[0], 1, 3, data, mode);
                for (int const label : {3, int{any_tag}})
                    for (int again = 0; again < 2; ++again) {
                        auto seen = look(all[1], from, label, out);
                        if (seen == sight::unsure) seen = look(all[1], from, label, out); // turns_of_one
                        ASSERT_EQ(seen, sight::frame) << n;
                        EXPECT_EQ(out.bytes, n);
                        EXPECT_EQ(out.source, 0);
                        EXPECT_EQ(out.label, 3);
                        EXPECT_EQ(out.how, status::ok);
                        EXPECT_TRUE(all[1].quiet()) << "nothing is kept";
                    }
                if (mode == send_mode::synchronous) { EXPECT_FALSE(s->complete) << n << ": a look is no receive"; }
                auto* const r = start_receive(all[1], 0, 3, into);
                ASSERT_TRUE(all.run([&] { return r->complete && s->complete; })) << n;
                EXPECT_EQ(into, data) << n;
                all[0].drop(*s), all[1].drop(*r);
            }
    EXPECT_EQ(all[1].counted().kept.messages, 0u);
}

TEST(protocol_peek, leaves_what_it_was_not_asked_for_to_a_round) {
    engines all{2};
    auto const data = pattern(8);
    std::vector<std::byte> into(8);
    outcome out;
    auto* const s = start_send(all[0], 1, 3, data);
    EXPECT_EQ(look(all[1], 0, 4, out), sight::unsure) << "another tag";
    EXPECT_EQ(look(all[1], 0, 3, out, context_id{8}), sight::unsure) << "another communicator";
    EXPECT_EQ(look(all[1], any_source, 4, out), sight::unsure);
    EXPECT_EQ(look(all[1], 1, 3, out), sight::unsure) << "of itself: its wire cannot be looked at";
    EXPECT_EQ(look(all[1], 0, 3, out), sight::frame);
    all.settle(); // keeps it
    EXPECT_EQ(look(all[1], 0, 3, out), sight::unsure) << "what is kept comes first";
    ASSERT_NE(all[1].find({here, 0, 3}), nullptr);
    auto* const r = start_receive(all[1], 0, 3, into);
    EXPECT_TRUE(r->complete);
    all[0].drop(*s), all[1].drop(*r);
}

TEST(protocol_peek, is_for_who_has_nothing_posted) {
    engines all{2};
    auto const data = pattern(8);
    std::vector<std::byte> into(8);
    outcome out;
    auto* const r = start_receive(all[1], 0, 3, into);
    auto* const s = start_send(all[0], 1, 3, data);
    EXPECT_EQ(look(all[1], 0, 3, out), sight::unsure) << "the message is the receive's";
    ASSERT_TRUE(all.run([&] { return r->complete; }));
    EXPECT_EQ(look(all[1], 0, 3, out), sight::nothing);
    all[0].drop(*s), all[1].drop(*r);
}

TEST(protocol_peek, of_any_source_finds_what_a_rank_sends_to_itself) {
    engines all{2};
    auto const data = pattern(8);
    std::vector<std::byte> into(8);
    outcome out;
    auto* const s = start_send(all[1], 1, 3, data);
    EXPECT_EQ(look(all[1], any_source, 3, out), sight::unsure);
    EXPECT_NE(all[1].find({here, any_source, any_tag}), nullptr);
    auto* const r = start_receive(all[1], any_source, any_tag, into);
    EXPECT_TRUE(r->complete);
    all[1].drop(*s), all[1].drop(*r);
}

TEST(protocol_peek, of_any_source_finds_the_message_of_any_peer) {
    engines all{4};
    auto const data = pattern(8);
    std::vector<std::byte> into(8);
    outcome out;
    for (int const from : {0, 1, 3, 0}) {
        auto* const s = start_send(all[from], 2, 3, data);
        auto seen = look(all[2], any_source, any_tag, out);
        EXPECT_EQ(seen, sight::frame);
        EXPECT_EQ(out.source, from);
        auto* const r = start_receive(all[2], from, 3, into);
        ASSERT_TRUE(all.run([&] { return r->complete; }));
        all[from].drop(*s), all[2].drop(*r);
    }
}

TEST(protocol_peek, says_whether_others_have_something) {
    engines all{3};
    auto const data = pattern(8);
    std::vector<std::byte> into(8);
    outcome out;
    EXPECT_EQ(look(all[2], 0, 3, out), sight::nothing);
    EXPECT_TRUE(all[2].idle_beside(0));
    auto* const s = start_send(all[1], 2, 3, data);
    EXPECT_EQ(look(all[2], 0, 3, out), sight::nothing);
    EXPECT_FALSE(all[2].idle_beside(0));
    auto* const r = start_receive(all[2], 1, 3, into);
    ASSERT_TRUE(all.run([&] { return r->complete; }));
    EXPECT_TRUE(all[2].idle_beside(0));
    all[1].drop(*s), all[2].drop(*r);
}

/// By looks, and rounds where they are not sure, as MPI_Iprobe makes them.
TEST(protocol_peek, finds_the_first_message_of_a_peer_that_is_not_polled_all_the_time) {
    for (int const asked : {int{any_source}, 1}) {
        engines all{3, {}, mpt::config::values{}.set<"MPT_HOT_PEERS">("1")};
        auto const data = pattern(8);
        std::vector<std::byte> into(8);
        outcome out;
        auto* const r = start_receive(all[2], 0, 3, into); // rank 0 is polled from here on, and silent
        auto* const s = start_send(all[0], 2, 3, data);
        ASSERT_TRUE(all.run([&] { return r->complete && s->complete; }));
        auto* const first = start_send(all[1], 2, 3, data);
        bool found = false;
        for (int i = 0; i < 40 && !found; ++i) {
            all[1].progress();
            auto const seen = look(all[2], asked, 3, out);
            found = seen == sight::frame;
            if (found || (seen == sight::nothing && all[2].idle_beside(asked))) continue;
            all[2].progress();
            found = all[2].find({here, 1, 3}) != nullptr;
        }
        EXPECT_TRUE(found) << asked;
        auto* const last = start_receive(all[2], 1, 3, into);
        ASSERT_TRUE(all.run([&] { return last->complete && first->complete; }));
        all[0].drop(*s), all[1].drop(*first), all[2].drop(*r), all[2].drop(*last);
    }
}

/// A peer that sends and sends keeps no other from being found.
TEST(protocol_peek, of_any_source_gives_all_peers_their_turns) {
    engines all{3};
    auto const data = pattern(8);
    std::vector<std::byte> into(8);
    outcome out;
    auto* const other = start_send(all[1], 2, 4, data);
    bool found = false;
    int sent = 0;
    for (; sent < 300 && !found; ++sent) {
        ASSERT_TRUE(all[0].send_now(2, here, 3, data.data(), data.size()));
        auto const seen = look(all[2], any_source, any_tag, out);
        if (seen == sight::unsure) all[2].progress();
        found = seen == sight::frame ? out.source == 1 : all[2].find({here, 1, 4}) != nullptr;
        if (seen != sight::frame || found) continue;
        auto* const r = start_receive(all[2], out.source, out.label, into);
        ASSERT_TRUE(all.run([&] { return r->complete; }));
        all[2].drop(*r);
    }
    EXPECT_TRUE(found);
    EXPECT_LT(sent, 100);
    all[1].drop(*other);
}

TEST(protocol_peek, of_a_long_answer_sees_its_whole_size) {
    engines all{2, engine_limits{.both_ends = true}};
    for (auto const mode : {send_mode::standard, send_mode::synchronous})
        for (std::size_t const n : {5'000u, 16'000u}) {
            auto const data = pattern(n, 5), word = pattern(8);
            std::vector<std::byte> into(n), small(8);
            outcome out;
            auto* const q = start_send(all[1], 0, 1, word); // so that what follows is awaited
            auto* const a = start_receive(all[0], 1, 1, small);
            ASSERT_TRUE(all.run([&] { return a->complete && q->complete; }));
            auto* const s = start_send(all[0], 1, 3, data, mode);
            ASSERT_EQ(look(all[1], 0, 3, out), sight::frame);
            EXPECT_EQ(out.bytes, n);
            EXPECT_EQ(s->complete, mode == send_mode::standard) << "nobody has received it";
            auto* const r = start_receive(all[1], 0, 3, into);
            ASSERT_TRUE(all.run([&] { return r->complete && s->complete; }));
            EXPECT_EQ(into, data);
            all[0].drop(*a), all[0].drop(*s), all[1].drop(*q), all[1].drop(*r);
        }
}

TEST(protocol_peek, on_a_transport_that_shows_nothing_is_never_sure) {
    mpt::test::engines<mpt::transport::stream<>> all{2};
    auto const data = pattern(8);
    outcome out;
    EXPECT_EQ(look(all[1], any_source, 3, out), sight::unsure) << "it is left to a round";
    auto* const s = start_send(all[0], 1, 3, data);
    EXPECT_EQ(look(all[1], 0, 3, out), sight::unsure);
    all.settle();
    EXPECT_NE(all[1].find({here, 0, 3}), nullptr);
    all[0].drop(*s);
}

// --- matched probes ------------------------------------------------------------------------------------------------------------

/// From rank 0, tag 3; nullptr: it is not the next one there.
template <class Engines> arrival* take_now(Engines& all) {
    arrival* a = nullptr;
    for (int i = 0; i < 100 && !a && all[1].quiet(); ++i) {
        a = all[1].take_now({here, 0, 3});
        all[0].progress();
    }
    return a;
}
/// The receive of a message that was taken.
template <class Engine> request* receive_taken(Engine& e, arrival& a, std::vector<std::byte>& into) {
    auto* const r = e.make();
    r->into = {into.data(), into.size()}, r->wanted = {a.context, a.from, a.label};
    e.receive(*r, a);
    return r;
}

TEST(protocol_take_now, gives_an_entry_to_a_message_of_every_kind_which_the_tables_do_not_see) {
    engines all{2};
    for (auto const mode : {send_mode::standard, send_mode::synchronous})
        for (std::size_t const n : {0u, 1u, 40u, 41u, 250u, 5'000u, 16'385u, 100'000u, 3'000'000u})
            for (std::size_t const room : {n, n / 2}) {
                auto const data = pattern(n, static_cast<unsigned>(n));
                std::vector<std::byte> into(room);
                EXPECT_EQ(all[1].take_now({here, 0, 3}), nullptr) << "there is none";
                auto* const s = start_send(all[0], 1, 3, data, mode);
                auto* const a = take_now(all);
                ASSERT_NE(a, nullptr) << n;
                EXPECT_EQ(a->from, 0);
                EXPECT_EQ(a->label, 3);
                EXPECT_EQ(a->size, n);
                EXPECT_TRUE(all[1].quiet()) << "no other receive finds it";
                if (n <= 1) { EXPECT_GT(all[1].unexpected_bytes(), 0u) << n; }
                all.settle();
                if (mode == send_mode::synchronous) { EXPECT_FALSE(s->complete) << n << ": a probe is no receive"; }
                auto* const r = receive_taken(all[1], *a, into);
                ASSERT_TRUE(all.run([&] { return r->complete && s->complete; })) << n;
                EXPECT_EQ(r->result.bytes, n);
                EXPECT_EQ(r->result.how, room < n ? status::truncated : status::ok);
                EXPECT_TRUE(std::equal(into.begin(), into.end(), data.begin())) << n;
                all[0].drop(*s), all[1].drop(*r);
            }
    EXPECT_EQ(all[1].unexpected_bytes(), 0u);
    EXPECT_TRUE(all[0].drained());
}

TEST(protocol_take_now, files_what_comes_before_it_and_then_the_tables_have_the_first_say) {
    engines all{2};
    auto const other = pattern(8, 1), data = pattern(8, 2);
    std::vector<std::byte> into(8);
    auto* const first = start_send(all[0], 1, 4, other);
    auto* const second = start_send(all[0], 1, 3, data);
    EXPECT_EQ(take_now(all), nullptr);
    ASSERT_NE(all[1].find({here, 0, 4}), nullptr);
    all.settle();
    auto* const a = all[1].take({here, 0, 3});
    ASSERT_NE(a, nullptr);
    auto* const r = receive_taken(all[1], *a, into);
    EXPECT_TRUE(r->complete);
    EXPECT_EQ(into, data);
    auto* const q = start_receive(all[1], 0, 4, into);
    EXPECT_TRUE(q->complete);
    EXPECT_EQ(into, other);
    all[0].drop(*first), all[0].drop(*second), all[1].drop(*r), all[1].drop(*q);
}

TEST(protocol_take_now, counts_what_it_holds_so_that_senders_are_throttled_and_relieved) {
    engines all{2, engine_limits{.unexpected_max = 1000}};
    auto const data = pattern(30);
    std::vector<std::byte> into(30);
    std::vector<request*> sent;
    std::vector<arrival*> held;
    for (int i = 0; i < 8; ++i) {
        sent.push_back(start_send(all[0], 1, 3, data));
        held.push_back(take_now(all));
        ASSERT_NE(held.back(), nullptr) << i;
        all.settle();
    }
    EXPECT_EQ(all[1].counted().throttles, 1u);
    EXPECT_EQ(all[0].counted().throttled, 1u);
    for (auto* const a : held) {
        auto* const r = receive_taken(all[1], *a, into);
        ASSERT_TRUE(all.run([&] { return r->complete; }));
        EXPECT_EQ(into, data);
        all[1].drop(*r);
    }
    EXPECT_EQ(all[1].unexpected_bytes(), 0u);
    all.settle();
    EXPECT_TRUE(all[0].send_now(1, here, 3, data.data(), data.size())) << "it is relieved";
    ASSERT_TRUE(all.run([&] { return all[1].tables().arrivals() == 1; }));
    for (auto* const s : sent) {
        ASSERT_TRUE(all.run([&] { return s->complete; }));
        all[0].drop(*s);
    }
}

TEST(protocol_take_now, keeps_a_message_from_its_sender_who_would_have_it_back) {
    engines all{2};
    for (std::size_t const n : {8u, 5'000u, 100'000u}) {
        auto const data = pattern(n);
        std::vector<std::byte> into(n);
        auto* const s = start_send(all[0], 1, 3, data, send_mode::synchronous);
        auto* const a = take_now(all);
        ASSERT_NE(a, nullptr) << n;
        EXPECT_FALSE(all[0].cancel(*s));
        all.settle();
        EXPECT_FALSE(s->complete) << n;
        auto* const r = receive_taken(all[1], *a, into);
        ASSERT_TRUE(all.run([&] { return r->complete && s->complete; }));
        EXPECT_EQ(s->result.how, status::ok);
        EXPECT_EQ(into, data);
        all[0].drop(*s), all[1].drop(*r);
    }
}

// --- synchronous sends of which the first piece goes while the rest is written ------------------------------------------------

struct protocol_begun : testing::Test {
    mpt::test::engines<mpt::transport::recording<mpt::transport::smp<>>> all{2, engine_limits{.both_ends = true}};

    /// Rank 1 asks, so that what rank 0 sends then is an answer.
    request* answer(std::vector<std::byte> const& data) {
        auto const word = pattern(8);
        std::vector<std::byte> small(8);
        auto* const q = start_send(all[1], 0, 1, word);
        auto* const a = start_receive(all[0], 1, 1, small);
        EXPECT_TRUE(all.run([&] { return a->complete && q->complete; }));
        auto const before = begun();
        auto* const s = start_send(all[0], 1, 3, data, send_mode::synchronous);
        EXPECT_EQ(begun(), before + 1);
        EXPECT_FALSE(s->complete);
        all[0].drop(*a), all[1].drop(*q);
        return s;
    }
    std::uint64_t begun(int by = 0) {
        std::uint64_t n = 0;
        all[by].wires().each([&](auto& wire) {
            if constexpr (requires { wire.sent(); }) n += wire.sent().of(static_cast<std::uint16_t>(op::e1_begun));
        });
        return n;
    }
    void keep() {
        ASSERT_TRUE(all.run([&] { return all[1].tables().arrivals() == 1; }));
    }
};

TEST_F(protocol_begun, ones_complete_when_they_are_received_whole_or_not) {
    for (std::size_t const n : {5'000u, 16'000u})
        for (bool const kept : {false, true})
            for (std::size_t const room : {n, n / 3, std::size_t{0}})
                for (int i = 0; i < 10; ++i) {
                    auto const data = pattern(n, static_cast<unsigned>(i));
                    std::vector<std::byte> into(room);
                    auto* const s = answer(data);
                    if (kept) keep();
                    EXPECT_FALSE(s->complete);
                    auto* const r = start_receive(all[1], 0, 3, into);
                    ASSERT_TRUE(all.run([&] { return r->complete && s->complete; }));
                    EXPECT_EQ(r->result.bytes, n);
                    EXPECT_EQ(r->result.how, room < n ? status::truncated : status::ok);
                    EXPECT_EQ(s->result.how, status::ok);
                    EXPECT_TRUE(std::equal(into.begin(), into.end(), data.begin()));
                    all[0].drop(*s), all[1].drop(*r);
                }
}

TEST_F(protocol_begun, ones_go_straight_to_a_receive_that_looks_for_them) {
    for (int i = 0; i < 50; ++i) {
        auto const data = pattern(9'000, static_cast<unsigned>(i));
        std::vector<std::byte> into(data.size());
        auto* const s = answer(data);
        received got;
        for (int k = 0; k < 1000 && !got; ++k) got = all[1].receive_now(0, here, 3, into.data(), into.size());
        EXPECT_EQ(got.bytes, 9'000);
        EXPECT_EQ(into, data);
        ASSERT_TRUE(all.run([&] { return s->complete; }));
        all[0].drop(*s);
    }
}

TEST_F(protocol_begun, ones_follow_an_acknowledgement_which_took_the_turn) {
    for (int i = 0; i < 20; ++i) {
        auto const data = pattern(9'000, static_cast<unsigned>(i));
        for (int const from : {0, 1}) {
            std::vector<std::byte> into(data.size());
            auto const before = begun(from);
            auto* const r = start_receive(all[1 - from], from, 3, into);
            auto* const s = start_send(all[from], 1 - from, 3, data, send_mode::synchronous);
            EXPECT_EQ(begun(from), before + (i == 0 && from == 0 ? 0 : 1)) << i << from;
            ASSERT_TRUE(all.run([&] { return r->complete && s->complete; }));
            EXPECT_EQ(into, data);
            all[from].drop(*s), all[1 - from].drop(*r);
        }
    }
    EXPECT_EQ(begun(0) + begun(1), 39u);
}

TEST_F(protocol_begun, ones_are_taken_back_where_nobody_has_received_them) {
    for (bool const kept : {false, true})
        for (int i = 0; i < 40; ++i) { // more than there are loans
            auto const data = pattern(9'000, static_cast<unsigned>(i));
            outcome out;
            auto* const s = answer(data);
            if (kept) keep();
            else
                for (int k = 0; k < 3; ++k) look(all[1], 0, 3, out); // which is no receive
            EXPECT_FALSE(all[0].cancel(*s)) << "only the receiver knows";
            ASSERT_TRUE(all.run([&] { return s->complete; }));
            EXPECT_EQ(s->result.how, status::cancelled);
            EXPECT_TRUE(all[1].quiet());
            all[0].drop(*s);
        }
    EXPECT_TRUE(all[0].drained());
}

} // namespace
