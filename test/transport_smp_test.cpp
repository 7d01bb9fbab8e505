#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "support/smp_pair.hpp"

namespace {
using namespace mpt;
using test::drain;
using test::send_text;
using test::send_value;
using test::smp_ranks;
using test::text_of;
using test::value_of;

using wrapping = transport::smp<0xfffffff0u>; // 32-bit counters wrap after 16 frames

TEST(transport_smp, models_every_refinement_that_it_claims) {
    using e = transport::smp<>::endpoint<world::native>;
    static_assert(transport_endpoint<e, world::native> && transport_lending<e> && transport_joint<e> && transport_belled<e>);
    static_assert(transport_stretching<e> && transport_answering<e> && transport_showing<e>);
    static_assert(transport_passing<e> && transport_copying<e>);
    static_assert(transport::smp<>::facts.lends && transport::smp<>::facts.reads && transport::smp<>::facts.joins);
    EXPECT_EQ(transport::smp<>::facts.max_frame, 52u);
    EXPECT_EQ(transport::smp<>::facts.max_stretch, 276u);
}

TEST(transport_smp, a_frame_arrives_whole_and_once_at_its_receiver_only) {
    smp_ranks all{3};
    ASSERT_TRUE(send_text(all[0], 2, "hello", 7));
    EXPECT_EQ(drain(all[1]), "");
    EXPECT_EQ(drain(all[2]), "0:7:hello ");
    EXPECT_EQ(drain(all[2]), "");
}

TEST(transport_smp, reaches_every_other_rank_and_not_itself) {
    smp_ranks all{2};
    EXPECT_TRUE(all[0].reaches(1));
    EXPECT_TRUE(all[1].reaches(0));
    EXPECT_FALSE(all[0].reaches(0));
    EXPECT_FALSE(all[0].reaches(2));
    EXPECT_FALSE(all[0].reaches(any_source));
}

TEST(transport_smp, carries_every_size_up_to_a_whole_frame_and_refuses_one_more) {
    smp_ranks all{2};
    std::string const text = "0123456789012345678901234567890123456789012345678901";
    for (std::size_t n = 0; n <= 52; ++n) {
        ASSERT_TRUE(send_text(all[1], 0, text.substr(0, n)));
        EXPECT_EQ(drain(all[0]), "1:1:" + text.substr(0, n) + ' ');
    }
    EXPECT_FALSE(all[1].reserve(0, 53));
}

TEST(transport_smp, poll_from_takes_one_frame_of_that_peer_only) {
    smp_ranks all{3};
    ASSERT_TRUE(send_text(all[0], 2, "a") && send_text(all[0], 2, "b") && send_text(all[1], 2, "c"));
    std::string got;
    auto sink = [&](frame const& f) { got += text_of(f); };
    EXPECT_EQ(all[2].poll_from(1, sink), 1u);
    EXPECT_EQ(all[2].poll_from(1, sink), 0u);
    EXPECT_EQ(all[2].poll_from(0, sink), 1u);
    EXPECT_EQ(got, "ca");
    EXPECT_EQ(drain(all[2]), "0:1:b ");
}

TEST(transport_smp, poll_respects_its_budget) {
    smp_ranks all{3};
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(send_value(all[0], 2, i) && send_value(all[1], 2, i));
    for (std::size_t const budget : {0u, 1u, 3u, 40u, 36u})
        EXPECT_EQ(all[2].poll([](frame const&) {}, budget), std::min<std::size_t>(budget, 32));
    std::size_t rest = 0;
    while (auto const n = all[2].poll([](frame const&) {}, 100)) rest += n;
    EXPECT_EQ(rest, 80u - 1 - 3 - 32 - 32);
}

TEST(transport_smp, one_busy_peer_does_not_starve_the_others) {
    smp_ranks all{4};
    int of_three = 0, of_zero = 0;
    auto sink = [&](frame const& f) { (f.from == 0 ? of_zero : of_three) += 1; };
    for (int round = 0; round < 100; ++round) {
        while (send_value(all[0], 2, round)) {}
        if (round == 0) { ASSERT_TRUE(send_value(all[3], 2, round)); }
        all[2].poll(sink, 4);
    }
    EXPECT_EQ(of_three, 1);
    EXPECT_GT(of_zero, 300);
}

template <class T> class transport_smp_counters : public testing::Test {};
using counters = testing::Types<transport::smp<>, wrapping>;
TYPED_TEST_SUITE(transport_smp_counters, counters);

TYPED_TEST(transport_smp_counters, a_full_ring_says_again_and_recovers) {
    smp_ranks<TypeParam> all{2};
    for (int round = 0; round < 5; ++round) {
        int sent = 0, got = 0;
        while (send_value(all[0], 1, sent)) ++sent;
        EXPECT_GE(sent, 192); // a quarter of the credit may still be on its way
        EXPECT_LE(sent, 257);
        while (all[1].poll([&](frame const& f) { EXPECT_EQ(value_of<int>(f), got++); }, 16)) {}
        EXPECT_EQ(got, sent);
    }
}

TYPED_TEST(transport_smp_counters, frames_keep_their_order_over_turn_line_and_ring) {
    smp_ranks<TypeParam> all{2, {.ring_lines = 8}};
    std::mt19937 random{20240611};
    std::uint64_t sent[2]{}, got[2]{};
    for (int step = 0; step < 200'000; ++step) {
        auto const who = random() % 2;
        if (random() % 2) {
            if (send_value(all[who], rank{1 - who}, sent[who])) ++sent[who];
        } else {
            auto sink = [&](frame const& f) { ASSERT_EQ(value_of<std::uint64_t>(f), got[who]++); };
            if (random() % 2) all[who].poll(sink, 1 + random() % 4);
            else all[who].poll_from(rank{1 - who}, sink);
        }
    }
    for (auto who : {0u, 1u})
        while (all[who].poll([&](frame const& f) { ASSERT_EQ(value_of<std::uint64_t>(f), got[who]++); }, 8)) {}
    EXPECT_EQ(got[0], sent[1]);
    EXPECT_EQ(got[1], sent[0]);
    EXPECT_GT(got[0], 10'000u);
}

TYPED_TEST(transport_smp_counters, an_abandoned_cell_never_stalls_the_pair) {
    smp_ranks<TypeParam> all{2, {.ring_lines = 4}};
    int got = 0;
    for (int i = 0; i < 100; ++i) {
        {
            auto dropped = all[1].reserve(0, 8);
            ASSERT_TRUE(dropped);
        }
        ASSERT_TRUE(send_value(all[1], 0, i));
        while (all[0].poll([&](frame const& f) { EXPECT_EQ(value_of<int>(f), got++); }, 4)) {}
        if (i % 2) { ASSERT_TRUE(send_value(all[0], 1, i)); } // gives the turn line back, now and then
        all[1].poll([](frame const&) {}, 4);
    }
    EXPECT_EQ(got, 100);
}

TYPED_TEST(transport_smp_counters, cells_open_at_once_go_out_in_the_order_they_were_reserved) {
    smp_ranks<TypeParam> all{2};
    for (int round = 0; round < 40; ++round) {
        auto first = all[1].reserve(0, 1);
        auto second = all[1].reserve(0, 1);
        auto third = all[1].reserve(0, 1);
        ASSERT_TRUE(first && second && third);
        second.payload()[0] = std::byte{'b'};
        all[1].commit(std::move(second), 1);
        EXPECT_EQ(drain(all[0]), "");
        { auto dropped = std::move(third); }
        first.payload()[0] = std::byte{'a'};
        all[1].commit(std::move(first), 1);
        EXPECT_EQ(drain(all[0]), "1:1:a 1:1:b ");
        ASSERT_TRUE(send_text(all[0], 1, "x"));
        EXPECT_EQ(drain(all[1]), "0:1:x ");
    }
}

TEST(transport_smp, a_sink_may_answer_at_once_without_touching_the_frame_it_reads) {
    smp_ranks all{2};
    ASSERT_TRUE(send_text(all[1], 0, "on the ring")); // the first one finds the pair
    EXPECT_EQ(drain(all[0]), "1:1:on the ring ");
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(send_text(all[1], 0, "question"));
        EXPECT_EQ(all[0].poll(
                      [&](frame const& f) {
                          ASSERT_TRUE(send_text(all[0], 1, "answer!!"));
                          EXPECT_EQ(text_of(f), "question");
                      },
                      1),
                  1u);
        EXPECT_EQ(drain(all[1]), "0:1:answer!! ");
    }
}

TEST(transport_smp, a_sender_with_a_full_ring_is_woken_when_there_is_room) {
    smp_ranks all{2, {.ring_lines = 8}};
    while (send_text(all[0], 1, "x")) {}
    world::threads const w;
    auto const seen = all[0].bell().arm(fence_mode::both);
    ASSERT_FALSE(send_text(all[0], 1, "x"));
    std::thread receiver{[&] {
        while (all[1].poll([](frame const&) {}, 8)) {}
    }};
    all[0].bell().sleep(w, seen, std::chrono::seconds{50}); // the suite's watchdog is shorter
    all[0].bell().disarm();
    EXPECT_TRUE(send_text(all[0], 1, "x"));
    receiver.join();
}

// --- many ranks: mailboxes on demand, the board ------------------------------------------------------------------------------

TYPED_TEST(transport_smp_counters, above_the_hot_limit_a_mailbox_is_made_when_the_first_sender_asks) {
    smp_ranks<TypeParam> all{5, {.hot_peers = 4}};
    EXPECT_FALSE(send_text(all[3], 1, "a")); // asks
    EXPECT_FALSE(send_text(all[3], 1, "a")); // and asks again
    EXPECT_EQ(drain(all[1]), "");            // makes it
    ASSERT_TRUE(send_text(all[3], 1, "b"));
    EXPECT_EQ(drain(all[1]), "3:1:b ");
}

TYPED_TEST(transport_smp_counters, a_peer_that_was_silent_for_long_is_heard_again) {
    smp_ranks<TypeParam> all{5, {.hot_peers = 2}};
    EXPECT_FALSE(send_text(all[4], 0, "first"));
    EXPECT_EQ(drain(all[0]), "");
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 5000; ++i) EXPECT_EQ(all[0].poll([](frame const&) {}, 4), 0u); // it cools
        ASSERT_TRUE(send_text(all[4], 0, "again"));
        EXPECT_EQ(drain(all[0]), "4:1:again ");
    }
}

TEST(transport_smp, poll_from_alone_makes_the_mailbox_and_hears_the_peer) {
    smp_ranks all{5, {.hot_peers = 2}};
    EXPECT_FALSE(send_text(all[4], 0, "x"));
    std::string got;
    auto sink = [&](frame const& f) { got += text_of(f); };
    EXPECT_EQ(all[0].poll_from(4, sink), 0u);
    ASSERT_TRUE(send_text(all[4], 0, "x"));
    EXPECT_EQ(all[0].poll_from(4, sink), 1u);
    EXPECT_EQ(got, "x");
}

TYPED_TEST(transport_smp_counters, every_frame_of_many_ranks_arrives_in_order) {
    constexpr std::size_t n = 7;
    smp_ranks<TypeParam> all{n, {.ring_lines = 4, .hot_peers = 2}};
    std::mt19937 random{7};
    std::uint32_t sent[n][n]{}, got[n][n]{};
    for (int step = 0; step < 100'000; ++step) {
        auto const who = random() % n, to = random() % n;
        if (who != to && send_value(all[who], rank{to}, sent[who][to])) ++sent[who][to];
        auto const at = random() % n;
        all[at].poll(
            [&](frame const& f) { ASSERT_EQ(value_of<std::uint32_t>(f), got[static_cast<std::size_t>(f.from)][at]++); }, 8);
    }
    for (std::size_t at = 0; at < n; ++at)
        for (int empty = 0; empty < 16;)
            empty +=
                all[at].poll(
                    [&](frame const& f) { ASSERT_EQ(value_of<std::uint32_t>(f), got[static_cast<std::size_t>(f.from)][at]++); },
                    8) == 0;
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b) EXPECT_EQ(sent[a][b], got[a][b]) << a << " to " << b;
}

TEST(transport_smp, the_poll_after_arming_the_bell_misses_nobody) {
    smp_ranks all{5, {.hot_peers = 2}};
    for (std::size_t const i : {1u, 2u, 3u}) {
        EXPECT_FALSE(send_text(all[i], 0, "x"));
        EXPECT_EQ(drain(all[0]), "");
    }
    for (int i = 0; i < 9000; ++i) { // 2 stays hot, the others cool
        ASSERT_TRUE(send_text(all[2], 0, "x"));
        EXPECT_EQ(all[0].poll([](frame const&) {}, 4), 1u);
    }
    ASSERT_TRUE(send_text(all[3], 0, "last"));
    all[0].bell().arm(fence_mode::both);
    EXPECT_EQ(all[0].poll([](frame const&) {}, 4), 1u);
    all[0].bell().disarm();
}

// --- loans -------------------------------------------------------------------------------------------------------------------

TEST(transport_smp, a_loan_is_read_in_place_and_comes_back) {
    smp_ranks all{2, {.loans = 2, .loan_bytes = 4096}};
    auto a = all[0].lend(1, 4096), b = all[0].lend(1, 10);
    ASSERT_TRUE(a && b);
    EXPECT_FALSE(all[0].lend(1, 1)) << "two loans are all there are";
    std::memset(a.memory().data(), 'a', a.memory().size());
    std::memset(b.memory().data(), 'b', b.memory().size());
    auto const seen = all[1].borrow(0, b.ref(), 10);
    ASSERT_EQ(seen.size(), 10u);
    EXPECT_EQ(static_cast<char>(seen[9]), 'b');
    EXPECT_EQ(static_cast<char>(all[1].borrow(0, a.ref(), 4096)[4095]), 'a');
    all[1].give_back(0, b.ref());
    auto c = all[0].lend(1, 4096);
    ASSERT_TRUE(c);
    EXPECT_NE(c.ref(), b.ref()) << "a reference names one loan, not one buffer";
    EXPECT_FALSE(all[0].lend(1, 1));
}

TEST(transport_smp, short_loans_have_buffers_of_their_own_and_take_others_when_those_are_lent) {
    smp_ranks all{2, {.loans = 2, .loan_bytes = 8192}};
    EXPECT_EQ(all[0].max_loan(), 8192u);
    auto a = all[0].lend(1, 8192), b = all[0].lend(1, 1025);
    ASSERT_TRUE(a && b);
    EXPECT_FALSE(all[0].lend(1, 1025)) << "two long ones are all there are";
    auto c = all[0].lend(1, 1024), d = all[0].lend(1, 0);
    ASSERT_TRUE(c && d);
    EXPECT_FALSE(all[0].lend(1, 1)) << "and two short ones";
    std::memset(c.memory().data(), 'c', 1024);
    EXPECT_EQ(static_cast<char>(all[1].borrow(0, c.ref(), 1024)[1023]), 'c');
    all[0].revoke(std::move(a));
    auto e = all[0].lend(1, 1);
    ASSERT_TRUE(e) << "a long one";
    EXPECT_FALSE(all[0].lend(1, 1));
    all[1].give_back(0, c.ref());
    all[0].foresee(1);
    EXPECT_TRUE(all[0].lend(1, 1)) << "a short one again";
}

TEST(transport_smp, whole_messages_have_buffers_of_their_length_and_parts_of_longer_ones_the_longest) {
    smp_ranks all{2, {.loans = 1, .loan_bytes = 64_KiB}};
    std::vector<decltype(all[0].lend(1, 1))> lent;
    auto const lend_all = [&](std::size_t n) {
        std::size_t count = 0;
        for (auto l = all[0].lend(1, n); l; l = all[0].lend(1, n)) {
            EXPECT_EQ(l.memory().size(), n);
            std::memset(l.memory().data(), static_cast<int>(n % 251), n);
            lent.push_back(std::move(l)), ++count;
        }
        return count;
    };
    auto part = all[0].lend_part(1, 100);
    ASSERT_TRUE(part);
    EXPECT_FALSE(all[0].lend_part(1, 100)) << "there is one";
    EXPECT_EQ(lend_all(4096), 8u);
    EXPECT_EQ(lend_all(4097), 4u);
    EXPECT_EQ(lend_all(16_KiB + 1), 0u) << "the part has it";
    all[0].revoke(std::move(part));
    EXPECT_EQ(lend_all(1025), 1u) << "where there is none of the length";
    for (auto& l : lent) {
        auto const n = l.memory().size();
        auto const seen = all[1].borrow(0, l.ref(), n);
        ASSERT_EQ(seen.size(), n);
        EXPECT_TRUE(std::ranges::all_of(seen, [n](std::byte b) { return b == static_cast<std::byte>(n % 251); }));
    }
}

TEST(transport_smp, a_revoked_loan_is_free_again) {
    smp_ranks all{2, {.loans = 1, .loan_bytes = 4096}};
    for (int i = 0; i < 10; ++i) {
        auto a = all[0].lend(1, 100);
        ASSERT_TRUE(a);
        EXPECT_FALSE(all[0].lend(1, 100));
        all[0].revoke(std::move(a));
    }
}

TEST(transport_smp, a_loan_above_the_largest_is_refused) {
    smp_ranks all{2, {.loan_bytes = 4096}};
    EXPECT_EQ(all[0].max_loan(), 4096u);
    EXPECT_FALSE(all[0].lend(1, 4097));
}

/// A buffer of the pair's, with a text in it, on its way; its reference, 0 where there was none.
template <class E> std::uint64_t send_passed(E& e, rank to, std::string_view text, std::size_t n = 0) {
    auto l = e.lend_passed(to, std::max(n, text.size()));
    if (!l) return 0;
    e.copy_in(to, l, 0, reinterpret_cast<std::byte const*>(text.data()), text.size());
    auto const ref = l.ref();
    auto c = e.reserve(to, 4);
    if (!c) return 0;
    std::memcpy(c.payload().data(), "loan", 4);
    e.commit(std::move(c), 9);
    return ref;
}
template <class E> std::string borrowed(E& e, rank from, std::uint64_t ref, std::size_t n) {
    std::string text(n, '?');
    auto const data = e.borrow(from, ref, n);
    if (data.size() == n) E::copy_out(ref, reinterpret_cast<std::byte*>(text.data()), data.data(), n);
    return text;
}

/// A first frame each way: both have looked each other up, and rank 1 is to answer.
bool rank_1_has_the_turn(smp_ranks<>& all) {
    if (!send_text(all[1], 0, "x")) return false;
    drain(all[0]);
    if (!send_text(all[0], 1, "y")) return false;
    drain(all[1]);
    return all[1].our_turn(0);
}

TEST(transport_smp, ranks_that_answer_each_other_pass_one_buffer) {
    smp_ranks all{2, {.loans = 1, .loan_bytes = 4096, .long_loan = 64_KiB}};
    EXPECT_EQ(all[0].max_passed(), 64_KiB);
    EXPECT_FALSE(all[1].lend_passed(0, 64_KiB + 1));
    std::byte const* where = nullptr;
    for (std::size_t i = 0, who = 1; i < 10; ++i, who = 1 - who) {
        rank const to{1 - who}, from{who};
        auto const text = "message " + std::to_string(i);
        auto const ref = send_passed(all[who], to, text);
        ASSERT_NE(ref, 0u);
        auto own = all[who].lend(to, 10);
        EXPECT_TRUE(own) << "one of our own is lent all the same";
        all[who].revoke(std::move(own));
        EXPECT_EQ(drain(all[1 - who]), std::to_string(who) + ":9:loan ");
        auto const* const at = all[1 - who].borrow(from, ref, text.size()).data();
        if (i == 0) where = at;
        EXPECT_EQ(at, where);
        EXPECT_EQ(borrowed(all[1 - who], from, ref, text.size()), text);
        all[1 - who].give_back(from, ref);
    }
}

TEST(transport_smp, a_passed_loan_that_is_not_read_keeps_its_buffer_and_nothing_else) {
    smp_ranks all{2, {.loan_bytes = 4096}};
    ASSERT_TRUE(rank_1_has_the_turn(all));
    auto const ref = send_passed(all[1], 0, "question");
    ASSERT_NE(ref, 0u);
    EXPECT_EQ(drain(all[0]), "1:9:loan ");
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(all[0].our_turn(1));
        auto const other = send_passed(all[0], 1, "b" + std::to_string(i));
        EXPECT_EQ(drain(all[1]), "0:9:loan ");
        EXPECT_TRUE(all[1].our_turn(0));
        EXPECT_EQ(borrowed(all[1], 0, other, 2), "b" + std::to_string(i));
        all[1].give_back(0, other);
        auto const answer = send_passed(all[1], 0, "c" + std::to_string(i));
        EXPECT_EQ(drain(all[0]), "1:9:loan ");
        EXPECT_EQ(borrowed(all[0], 1, answer, 2), "c" + std::to_string(i));
        all[0].give_back(1, answer);
    }
    EXPECT_EQ(borrowed(all[0], 1, ref, 8), "question");
    all[0].give_back(1, ref);
    auto const answer = send_passed(all[0], 1, "the answer, which needs a longer buffer", 60000);
    ASSERT_NE(answer, 0u);
    EXPECT_EQ(drain(all[1]), "0:9:loan ");
    EXPECT_EQ(borrowed(all[1], 0, answer, 10), "the answer");
    all[1].give_back(0, answer);
}

TEST(transport_smp, who_only_sends_has_soon_passed_all_on) {
    smp_ranks all{2};
    std::vector<std::uint64_t> refs;
    while (auto const ref = send_passed(all[0], 1, "x")) {
        ASSERT_LT(refs.size(), 10u);
        refs.push_back(ref);
        drain(all[1]);
    }
    EXPECT_FALSE(refs.empty());
    for (auto const ref : refs) all[1].give_back(0, ref);
    EXPECT_EQ(send_passed(all[0], 1, "x"), 0u);
    EXPECT_NE(send_passed(all[1], 0, "y"), 0u);
}

TEST(transport_smp, what_is_passed_is_shown_in_pieces) {
    smp_ranks all{2};
    std::uint64_t before = 0;
    for (std::size_t i = 0, who = 1; i < 4; ++i, who = 1 - who) {
        auto l = all[who].lend_passed(rank{1 - who}, 300000);
        ASSERT_TRUE(l);
        EXPECT_NE(l.ref() | smp::passed_buffers<>::with_reader, before | smp::passed_buffers<>::with_reader);
        before = l.ref();
        all[who].begin(l);
        auto c = all[who].reserve(rank{1 - who}, 4);
        ASSERT_TRUE(c);
        all[who].commit(std::move(c), 9);
        EXPECT_EQ(all[1 - who].shown(rank{who}, l.ref()), 0u);
        all[who].show(l, 12345);
        EXPECT_EQ(all[1 - who].shown(rank{who}, l.ref()), 12345u);
        drain(all[1 - who]);
        all[1 - who].give_back(rank{who}, l.ref());
    }
}

TEST(transport_smp, a_passed_loan_that_was_not_sent_is_lent_again) {
    smp_ranks all{2};
    for (int i = 0; i < 10; ++i) {
        auto l = all[1].lend_passed(0, 10);
        ASSERT_TRUE(l);
        all[1].revoke(std::move(l));
    }
    EXPECT_NE(send_passed(all[1], 0, "z"), 0u);
}

TEST(transport_smp, a_frame_of_a_size_that_none_has_is_passed_over) {
    smp_ranks all{2};
    ASSERT_TRUE(rank_1_has_the_turn(all));
    for (std::uint16_t const size :
         {117, 0x2000, 0x2000 + 52, 0x2000 + 53, 0x2000 + 276, 0x2000 + 277, 0x3fff, 0x4000 + 53, 0x8000}) {
        auto* const line = all[1].reserve(0, 1).payload().data(); // abandoned: padding
        ASSERT_NE(line, nullptr);
        std::memcpy(line + 52, &size, sizeof size); // of the line: behind its payload
        EXPECT_EQ(drain(all[0]), "") << size;
        ASSERT_TRUE(send_text(all[0], 1, "y"));
        EXPECT_EQ(drain(all[1]), "0:1:y ");
    }
    ASSERT_TRUE(send_text(all[1], 0, "turn") && send_text(all[1], 0, "ring"));
    EXPECT_EQ(drain(all[0]), "1:1:turn 1:1:ring ") << "the ring has not gone out of step";
}

TEST(transport_smp, there_may_be_no_long_loans) {
    smp_ranks all{2, {.loan_bytes = 4096, .long_loan = 0}};
    EXPECT_EQ(all[0].max_passed(), 4096u);
}

TEST(transport_smp, a_reference_outside_the_slice_borrows_nothing) {
    smp_ranks all{2};
    EXPECT_TRUE(all[0].borrow(1, 0, 8).empty());
    EXPECT_TRUE(all[0].borrow(1, ~std::uint64_t{0}, 8).empty());
    auto a = all[1].lend(0, 8);
    ASSERT_TRUE(a);
    EXPECT_TRUE(all[0].borrow(1, a.ref(), ~std::size_t{0} - 64).empty());
    all[0].give_back(1, ~std::uint64_t{0}); // ignored
}

// --- one copy ----------------------------------------------------------------------------------------------------------------

std::vector<std::byte> pattern(std::size_t n, unsigned seed) {
    std::vector<std::byte> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>((i * 131 + seed) >> 3);
    return v;
}

TEST(transport_smp, get_reads_private_memory_and_arena_memory_from_any_offset) {
    smp_ranks all{2};
    auto const source = pattern(100'000, 3);
    auto const pages = all[0].expose(source);
    EXPECT_EQ(pages.in_slice, 0u);
    auto const arena = all.heap(0).allocate(source.size());
    std::memcpy(arena.data(), source.data(), source.size());
    auto const shared = all[0].expose(arena);
    EXPECT_EQ(shared.in_slice, 1u);
    for (auto const& from : {pages, shared})
        for (std::size_t const offset : {0u, 1u, 4095u, 99'999u}) {
            std::vector<std::byte> into(std::min<std::size_t>(5000, source.size() - offset));
            ASSERT_EQ(all[1].get(0, into, from, offset), status::ok);
            EXPECT_EQ(std::memcmp(into.data(), source.data() + offset, into.size()), 0);
        }
}

TEST(transport_smp, get_of_bytes_outside_the_peers_slice_is_an_error_not_a_crash) {
    smp_ranks all{2};
    std::vector<std::byte> into(64);
    EXPECT_EQ(all[1].get(0, into, {~std::uint64_t{0} - 128, 64, 1, 0}, 0), status::bad_address);
    EXPECT_EQ(all[1].get(0, into, {4096, 64, 1, 0}, 1), status::bad_address);
}

/// Both sides advance by turns drawn from `random`; returns how many steps were copies of the sender's.
template <class R> int finish_together(R& all, std::uint32_t ticket, std::mt19937& random, bool sender_helps) {
    int helped = 0;
    joint_state s = joint_state::waiting, r = joint_state::waiting;
    for (int steps = 0; steps < 10'000 && (s != joint_state::done || r != joint_state::done); ++steps) {
        if (r != joint_state::done && (random() % 2 || s == joint_state::done)) r = all[1].advance_accept(0, ticket);
        else if (s != joint_state::done && (sender_helps || r == joint_state::done)) {
            s = all[0].advance_offer(ticket);
            helped += s == joint_state::copying;
        }
    }
    EXPECT_EQ(s, joint_state::done);
    EXPECT_EQ(r, joint_state::done);
    return helped;
}

TEST(transport_smp, both_ends_copy_one_message_of_any_size) {
    smp_ranks all{2};
    std::mt19937 random{11};
    for (std::size_t const n : {0u, 1u, 32'768u, 65'536u, 65'537u, 1'000'003u, 9'000'000u}) {
        auto const source = pattern(n, static_cast<unsigned>(n));
        std::vector<std::byte> into(n);
        auto const ticket = all[0].offer(1, source);
        ASSERT_NE(ticket, 0u);
        EXPECT_EQ(all[0].advance_offer(ticket), joint_state::waiting) << "nobody has joined";
        all[1].accept(0, ticket, into);
        auto const helped = finish_together(all, ticket, random, true);
        if (n > 65'536) { EXPECT_GT(helped, 0); }
        all[0].withdraw(ticket);
        EXPECT_EQ(into, source);
    }
}

TEST(transport_smp, the_receiver_finishes_alone_when_the_sender_does_not_come) {
    smp_ranks all{2};
    std::mt19937 random{12};
    auto const source = pattern(3'000'000, 5);
    std::vector<std::byte> into(source.size());
    auto const ticket = all[0].offer(1, source);
    all[1].accept(0, ticket, into);
    EXPECT_EQ(finish_together(all, ticket, random, false), 0);
    EXPECT_EQ(into, source);
}

TEST(transport_smp, a_shorter_receive_buffer_gets_the_front_of_the_message) {
    smp_ranks all{2};
    std::mt19937 random{13};
    auto const source = pattern(1'000'000, 6);
    std::vector<std::byte> into(700'001 + 64, std::byte{0xee});
    auto const ticket = all[0].offer(1, source);
    all[1].accept(0, ticket, std::span{into}.first(700'001));
    finish_together(all, ticket, random, true);
    EXPECT_EQ(std::memcmp(into.data(), source.data(), 700'001), 0);
    for (std::size_t i = 700'001; i < into.size(); ++i) EXPECT_EQ(into[i], std::byte{0xee});
}

TEST(transport_smp, tickets_run_out_and_come_back_only_when_the_receiver_has_left) {
    smp_ranks all{2};
    auto const source = pattern(100, 1);
    std::vector<std::byte> into(100);
    std::vector<std::uint32_t> open;
    while (auto const t = all[0].offer(1, source)) open.push_back(t);
    EXPECT_EQ(open.size(), 128u);
    // one joined, copied, and withdrawn before its receiver has looked again
    all[1].accept(0, open[3], into);
    while (all[0].advance_offer(open[3]) != joint_state::done) {}
    all[0].withdraw(open[3]);
    EXPECT_EQ(all[0].offer(1, source), 0u);
    EXPECT_EQ(all[1].advance_accept(0, open[3]), joint_state::done);
    auto const next = all[0].offer(1, source);
    EXPECT_NE(next, 0u);
    EXPECT_NE(next, open[3]);
    EXPECT_EQ(all[0].offer(1, source), 0u);
    // one that nobody joined
    all[0].withdraw(open[7]);
    EXPECT_NE(all[0].offer(1, source), 0u);
    EXPECT_EQ(all[0].advance_offer(open[7]), joint_state::refused) << "it was withdrawn, and its place is taken";
}

TEST(transport_smp, lanes_do_not_hear_each_other) {
    // Two lanes of two ranks, over one job: endpoints are told apart by the lane they publish under.
    test::run_ranks(2, [](boot::job& job, mem::slice_heap& heap, int me) {
        using end = transport::smp<>::endpoint<world::threads>;
        end a{lane_context<world::threads>{{}, job, heap, 0, 0, 2, {}}},
            b{lane_context<world::threads>{{}, job, heap, 0, 1, 2, {}}};
        auto const at_a = a.local(), at_b = b.local();
        job.publish(0, 0, std::as_bytes(std::span{&at_a, 1}));
        job.publish(0, 1, std::as_bytes(std::span{&at_b, 1}));
        job.meet();
        auto const other = rank{1 - me};
        ASSERT_TRUE(send_text(a, other, "on a"));
        ASSERT_TRUE(send_text(b, other, "on b"));
        job.meet();
        EXPECT_EQ(drain(b), std::to_string(other) + ":1:on b ");
        EXPECT_EQ(drain(a), std::to_string(other) + ":1:on a ");
        job.meet();
    });
}

} // namespace
