// The engine, step by step in one thread: which way a message takes, and that memory stays bounded.
#include <algorithm>
#include <deque>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>
#include <mpt/datatype/typed.hpp>
#include <mpt/transport/recording.hpp>
#include <mpt/transport/stream.hpp>

#include "support/dice.hpp"
#include "support/engines.hpp"

namespace {
using namespace mpt::literals;
using namespace mpt::protocol;
using mpt::status;
using mpt::test::here;
using mpt::test::pattern;
using mpt::test::start_receive;
using mpt::test::start_send;

template <class Transport> struct protocol_engine : testing::Test {};
using transports = testing::Types<mpt::transport::smp<>, mpt::transport::stream<>>;
TYPED_TEST_SUITE(protocol_engine, transports);

TYPED_TEST(protocol_engine, every_size_arrives_expected_and_unexpected) {
    mpt::test::engines<TypeParam> all{2};
    for (std::size_t n : {0u, 1u, 40u, 41u, 8192u, 8193u, 16384u, 100000u, 3000000u})
        for (bool early : {true, false}) {
            auto const data = pattern(n, static_cast<unsigned>(n));
            std::vector<std::byte> into(n + 5);
            request* r = early ? start_receive(all[1], 0, 3, into) : nullptr;
            auto* s = start_send(all[0], 1, 3, data);
            if (!early) {
                all.settle();
                EXPECT_EQ(all[1].tables().arrivals(), 1u) << n;
                r = start_receive(all[1], mpt::any_source, mpt::any_tag, into);
            }
            ASSERT_TRUE(all.run([&] { return r->complete && s->complete; })) << n << early;
            EXPECT_EQ(r->result.bytes, n);
            EXPECT_EQ(r->result.how, status::ok);
            into.resize(n);
            EXPECT_EQ(into, data) << n;
            all[0].drop(*s), all[1].drop(*r);
            EXPECT_TRUE(all[1].quiet());
        }
}

TEST(protocol_engine_loans, a_blocking_send_and_receive_of_them_take_no_request) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    auto const requests = all[0].requests_alive() + all[1].requests_alive();
    std::uint64_t messages = 0, bytes = 0;
    for (std::size_t n :
         {std::size_t{265}, std::size_t{300}, std::size_t{4095}, std::size_t{4097}, std::size_t{8192}, std::size_t{16384}}) {
        auto const data = pattern(n, static_cast<unsigned>(n));
        for (std::size_t room : {n, n + 7, n - 1}) {
            std::vector<std::byte> into(room);
            ASSERT_TRUE(all[0].send_now(1, here, 3, data.data(), n));
            received got;
            for (int i = 0; i < 100 && !got; ++i) got = all[1].receive_now(0, here, 3, into.data(), room);
            ASSERT_EQ(got.bytes, static_cast<int>(n)) << "also where there is less room";
            EXPECT_EQ(got.label, 3);
            EXPECT_TRUE(std::equal(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(std::min(n, room)), data.begin()));
            EXPECT_TRUE(all[1].quiet());
            ++messages, bytes += n;
        }
    }
    EXPECT_EQ(all[0].counted().sent_by(way::loan).messages, messages);
    EXPECT_EQ(all[0].counted().sent_by(way::loan).bytes, bytes);
    EXPECT_EQ(all[0].counted().sent_by(way::frame).messages, 0u);
    EXPECT_EQ(all[1].counted().received_by(way::loan).messages, messages);
    EXPECT_EQ(all[1].counted().received_by(way::loan).bytes, bytes);
    EXPECT_EQ(all[0].requests_alive() + all[1].requests_alive(), requests);
    EXPECT_TRUE(all[0].drained());
    std::vector<std::byte> const more(4_MiB + 1);
    EXPECT_FALSE(all[0].send_now(1, here, 3, more.data(), more.size())) << "it is announced first";
}

/// Asked for, and sent by a thread of its own, so that it is read while it is written: expected and not, into enough room and too little, in one piece
/// and in many.
TEST(protocol_engine_loans, a_long_one_is_read_while_it_is_written) {
    mpt::test::engines<mpt::transport::recording<mpt::transport::smp<>>> all{2};
    constexpr int rounds = 400;
    auto const size_of = [](int i) { return 4096 + static_cast<std::size_t>(i) * 71; };
    std::thread sender{[&] {
        for (int i = 0; i < rounds; ++i) {
            auto const data = pattern(size_of(i), static_cast<unsigned>(i));
            std::byte question{};
            while (!all[0].receive_now(1, here, i, &question, 1)) {}
            while (!all[0].send_now(1, here, i, data.data(), data.size())) all[0].progress();
        }
    }};
    for (int i = 0; i < rounds; ++i) {
        auto const data = pattern(size_of(i), static_cast<unsigned>(i));
        EXPECT_TRUE(all[1].send_now(0, here, i, data.data(), 1));
        std::vector<std::byte> into(i % 3 == 2 ? data.size() / 3 : data.size());
        if (i % 2) {
            received got;
            while (!got) got = all[1].receive_now(0, here, i, into.data(), into.size());
            EXPECT_EQ(got.bytes, static_cast<int>(data.size()));
        } else {
            if (i % 4) // it comes before its receive
                while (all[1].tables().arrivals() == 0) all[1].progress();
            auto* const r = start_receive(all[1], 0, i, into);
            while (!r->complete) all[1].progress();
            EXPECT_EQ(r->result.bytes, data.size());
            all[1].drop(*r);
        }
        EXPECT_TRUE(std::equal(into.begin(), into.end(), data.begin())) << i;
        EXPECT_TRUE(all[1].quiet());
    }
    sender.join();
    EXPECT_EQ(all[1].counted().received_by(way::loan).messages, static_cast<std::uint64_t>(rounds));
    std::uint64_t begun = 0;
    all[0].wires().each([&](auto& wire) {
        if constexpr (requires { wire.sent(); }) begun += wire.sent().of(static_cast<std::uint16_t>(op::e1_begun));
    });
    EXPECT_GT(begun, rounds * 9 / 10u) << "they are answers";
}

/// Questions and answers that no usual buffer holds: expected and not, into enough room and too little, up to the longest and one byte more.
TEST(protocol_engine_loans, a_long_answer_goes_by_one_loan_and_needs_no_other) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    constexpr int rounds = 200;
    auto const size_of = [](int i) { return i == rounds - 1 ? 4_MiB + 1 : 32_KiB + 1 + static_cast<std::size_t>(i) * 21000; };
    static_assert(32_KiB + 1 + (rounds - 2) * 21000 <= 4_MiB);
    auto const finish = [](auto& engine, request* r) {
        while (!r->complete) engine.progress();
        engine.drop(*r);
    };
    std::thread sender{[&] {
        for (int i = 0; i < rounds; ++i) {
            auto const data = pattern(size_of(i), static_cast<unsigned>(i));
            std::vector<std::byte> question(i % 7 == 3 ? 10 : data.size());
            finish(all[0], start_receive(all[0], 1, i, question));
            EXPECT_TRUE(std::equal(question.begin(), question.end(), data.begin())) << i;
            if (i % 2 && i != rounds - 1) EXPECT_TRUE(all[0].send_now(1, here, i, data.data(), data.size())) << i;
            else finish(all[0], start_send(all[0], 1, i, data, send_mode::standard));
        }
    }};
    for (int i = 0; i < rounds; ++i) {
        auto const data = pattern(size_of(i), static_cast<unsigned>(i));
        finish(all[1], start_send(all[1], 0, i, data, send_mode::standard));
        std::vector<std::byte> into(i % 5 == 2 ? data.size() / 3 : data.size());
        if (i % 3 == 0) // it comes before its receive
            while (all[1].tables().arrivals() == 0) all[1].progress();
        auto* const r = start_receive(all[1], 0, i, into);
        while (!r->complete) all[1].progress();
        EXPECT_EQ(r->result.bytes, data.size());
        all[1].drop(*r);
        EXPECT_TRUE(std::equal(into.begin(), into.end(), data.begin())) << i;
    }
    sender.join();
    EXPECT_EQ(all[1].counted().received_by(way::loan).messages, rounds - 1u);
    EXPECT_EQ(all[1].counted().received_by(way::rendezvous).messages, 1u) << "the one that is too long for it";
}

TEST(protocol_engine_loans, a_long_one_is_announced_where_no_buffer_is_left_or_synchronous_or_rendezvous_is_wanted) {
    for (bool const lowered : {false, true}) {
        mpt::test::engines<mpt::transport::smp<>> all{2};
        auto const data = pattern(200000, 1);
        std::vector<std::byte> into(data.size());
        if (lowered) all[0].tune({.eager_max = 4_KiB});
        auto const exchange = [&](int from, send_mode mode) {
            auto &out = all[from], &in = all[1 - from];
            auto* const s = start_send(out, 1 - from, 3, data, mode);
            auto* const r = start_receive(in, from, 3, into);
            while (!s->complete || !r->complete) out.progress(), in.progress();
            EXPECT_EQ(into, data);
            out.drop(*s), in.drop(*r);
        };
        auto const by_loan = [&] { return all[0].counted().sent_by(way::loan).messages; };
        exchange(0, send_mode::synchronous);
        EXPECT_EQ(by_loan(), 0u);
        exchange(0, send_mode::standard);
        EXPECT_EQ(by_loan(), lowered ? 0u : 1u);
        exchange(0, send_mode::standard);
        EXPECT_EQ(by_loan(), lowered ? 0u : 1u) << "its buffer is the other's";
        exchange(1, send_mode::standard);
        exchange(0, send_mode::standard);
        EXPECT_EQ(by_loan(), lowered ? 0u : 2u) << "and has come back";
        EXPECT_EQ(all[0].counted().sent_by(way::rendezvous).messages, lowered ? 4u : 2u);
        EXPECT_EQ(all[0].counted().loanless, 0u) << "they are longer than a loan";
    }
}

/// Each by a thread of its own, of lengths by chance, and now and then into too little room.
TEST(protocol_engine_loans, ranks_that_send_to_each_other_at_once_exchange_buffers) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    constexpr int rounds = 300;
    auto const play = [&](int me) {
        auto& engine = all[me];
        for (int i = 0; i < rounds; ++i) {
            auto const size_of = [i](int who) {
                return 500u + static_cast<unsigned>(i * 7919 + who * 104729) % (i % 9 == 0 ? 600'000u : 60'000u);
            };
            auto const mine = pattern(size_of(me), static_cast<unsigned>(i + me)),
                       theirs = pattern(size_of(1 - me), static_cast<unsigned>(i + 1 - me));
            std::vector<std::byte> into(i % 11 == 5 ? theirs.size() / 3 : theirs.size());
            auto* const r = start_receive(engine, 1 - me, 3, into);
            auto* const s = start_send(engine, 1 - me, 3, mine, send_mode::standard);
            while (!s->complete || !r->complete) engine.progress();
            EXPECT_EQ(r->result.bytes, theirs.size()) << i;
            EXPECT_TRUE(std::equal(into.begin(), into.end(), theirs.begin())) << i;
            engine.drop(*s), engine.drop(*r);
        }
    };
    std::thread other{[&] { play(1); }};
    play(0);
    other.join();
    for (int who : {0, 1}) EXPECT_GT(all[who].counted().sent_by(way::loan).messages, rounds * 9 / 10u);
}

TEST(protocol_engine_loans, one_that_is_not_wanted_is_kept_and_the_wanted_one_is_got) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    auto const other = pattern(1000, 1), wanted = pattern(1000, 2);
    std::vector<std::byte> into(1000), later(1000);
    ASSERT_TRUE(all[0].send_now(1, here, 4, other.data(), 1000));
    ASSERT_TRUE(all[0].send_now(1, here, 3, wanted.data(), 1000));
    EXPECT_FALSE(all[1].receive_now(0, here, 3, into.data(), 1000)) << "the other one came first";
    EXPECT_FALSE(all[1].quiet());
    auto* const r = start_receive(all[1], 0, 3, into);
    ASSERT_TRUE(all.run([&] { return r->complete; }));
    EXPECT_EQ(into, wanted);
    auto* const kept = start_receive(all[1], 0, 4, later);
    EXPECT_TRUE(kept->complete);
    EXPECT_EQ(later, other);
    all[1].drop(*r), all[1].drop(*kept);
}

TEST(protocol_engine_loans, a_send_that_finds_none_is_left_to_the_long_way) {
    mpt::test::engines<mpt::transport::smp<>> all{
        2, {}, mpt::config::values{}.set<"MPT_LOANS">("2").set<"MPT_LOAN_BYTES">("4K")};
    auto const data = pattern(1100);
    std::vector<std::byte> into(1100);
    constexpr int buffers = 2 + 2; // that the pair passes to and fro, and of its own
    for (int i = 0; i < buffers; ++i) EXPECT_TRUE(all[0].send_now(1, here, 3, data.data(), 1100));
    EXPECT_FALSE(all[0].send_now(1, here, 3, data.data(), 1100)) << "nobody has received one";
    auto* const s = start_send(all[0], 1, 3, data);
    for (int i = 0; i < buffers + 1; ++i) {
        auto* const r = start_receive(all[1], 0, 3, into);
        ASSERT_TRUE(all.run([&] { return r->complete; }));
        EXPECT_EQ(into, data);
        all[1].drop(*r);
    }
    ASSERT_TRUE(all.run([&] { return s->complete; }));
    all[0].drop(*s);
}

struct protocol_engine_pipeline : testing::Test {
    static constexpr std::size_t n = 300'000;
    mpt::test::engines<mpt::transport::smp<>> all{2};
    std::vector<std::byte> const data = pattern(n);
    std::vector<std::byte> into = std::vector<std::byte>(n);
    request *s = nullptr, *r = nullptr;

    protocol_engine_pipeline() {
        all[0].tune({.eager_max = 4_KiB}); // no long loans
        s = start_send(all[0], 1, 3, data);
        r = start_receive(all[1], 0, 3, into);
    }
    void receiver_loses_patience() {
        for (std::uint32_t i = 0; i < hope_rounds && !r->complete; ++i) all[1].progress();
    }
    void both_finish() {
        ASSERT_TRUE(all.run([&] { return s->complete && r->complete; }));
        EXPECT_EQ(into, data);
        EXPECT_EQ(r->result.how, status::ok);
        for (int i : {0, 1}) EXPECT_TRUE(all[i].can_sleep() && all[i].drained());
        all[0].drop(*s), all[1].drop(*r);
    }
};

TEST_F(protocol_engine_pipeline, a_sender_that_is_there_pushes) {
    all[1].progress();
    EXPECT_EQ(r->at, phase::hoping);
    EXPECT_FALSE(all[1].can_sleep());
    all[0].progress();
    EXPECT_EQ(s->at, phase::pushing);
    all[1].progress();
    EXPECT_EQ(r->at, phase::filling);
    both_finish();
}

TEST_F(protocol_engine_pipeline, a_sender_that_stays_away_is_read_and_its_late_look_at_the_ask_does_nothing) {
    all[1].progress();
    receiver_loses_patience();
    EXPECT_EQ(r->at, phase::pulling);
    for (int i = 0; i < 100 && !r->complete; ++i) all[1].progress();
    EXPECT_TRUE(r->complete) << "it needs nothing of the sender";
    both_finish();
}

TEST_F(protocol_engine_pipeline, an_ask_that_comes_when_the_send_is_over_is_forgotten) {
    all[1].progress();
    receiver_loses_patience();
    both_finish();
    auto* const next = start_send(all[0], 1, 3, data); // perhaps at the same place of the pool
    auto* const late = start_receive(all[1], 0, 3, into);
    EXPECT_TRUE(all.run([&] { return next->complete && late->complete; }));
    all[0].drop(*next), all[1].drop(*late);
}

TEST_F(protocol_engine_pipeline, patience_lasts_while_the_sender_pushes_something_else) {
    std::vector<std::byte> second(n);
    auto* const next = start_send(all[0], 1, 4, data);
    auto* const waits = start_receive(all[1], 0, 4, second);
    all[1].progress();
    for (std::uint32_t i = 0; i < 3 * hope_rounds; ++i) {
        if (i % 64 == 0) all[0].progress();
        all[1].progress();
        EXPECT_NE(waits->at, phase::pulling);
    }
    ASSERT_TRUE(all.run([&] { return next->complete && waits->complete; }));
    EXPECT_EQ(second, data);
    all[0].drop(*next), all[1].drop(*waits);
    both_finish();
}

TEST_F(protocol_engine_pipeline, the_first_bytes_come_with_an_announcement_that_is_alone) {
    auto const first = first_bytes;
    std::vector<std::byte> second(n);
    auto* const next = start_send(all[0], 1, 4, data);
    auto* const waits = start_receive(all[1], 0, 4, second);
    all[1].progress();
    EXPECT_EQ(r->at, phase::hoping);
    EXPECT_EQ(r->moved, first);
    EXPECT_TRUE(std::equal(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(first), data.begin()));
    EXPECT_EQ(waits->at, phase::hoping);
    EXPECT_EQ(waits->moved, 0u) << "the sender had something on offer";
    ASSERT_TRUE(all.run([&] { return next->complete && waits->complete; }));
    EXPECT_EQ(second, data);
    all[0].drop(*next), all[1].drop(*waits);
    both_finish();
}

TEST_F(protocol_engine_pipeline, a_receive_of_no_more_than_the_first_bytes_needs_no_others) {
    both_finish();
    for (std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{9000}, std::size_t{32768}, std::size_t{32769}})
        for (bool early : {true, false}) {
            std::vector<std::byte> less(room);
            auto* const late = early ? nullptr : start_send(all[0], 1, 3, data);
            if (late) all.settle();
            auto* const got = start_receive(all[1], 0, 3, less);
            auto* const sent = late ? late : start_send(all[0], 1, 3, data);
            ASSERT_TRUE(all.run([&] { return got->complete && sent->complete; })) << room;
            EXPECT_EQ(got->result.how, status::truncated);
            EXPECT_EQ(got->result.bytes, n);
            EXPECT_TRUE(std::equal(less.begin(), less.end(), data.begin()));
            all[0].drop(*sent), all[1].drop(*got);
        }
}

TEST_F(protocol_engine_pipeline, a_loan_of_first_bytes_comes_back_whatever_becomes_of_them) {
    both_finish();
    for (int i = 0; i < 200; ++i) { // three times as many as there are
        auto* const sent = start_send(all[0], 1, 3, data);
        if (i % 2) {
            ASSERT_FALSE(all[0].cancel(*sent));
            ASSERT_TRUE(all.run([&] { return sent->complete; }));
            EXPECT_EQ(sent->result.how, status::cancelled);
        } else {
            auto* const got = start_receive(all[1], 0, 3, into);
            all[1].progress();
            EXPECT_EQ(got->moved, first_bytes) << "loan " << i;
            ASSERT_TRUE(all.run([&] { return got->complete && sent->complete; }));
            EXPECT_EQ(into, data);
            all[1].drop(*got);
        }
        all[0].drop(*sent);
    }
    EXPECT_EQ(all[0].counted().loanless, 0u);
}

TEST_F(protocol_engine_pipeline, a_receive_that_is_forsaken_while_it_hopes_lets_the_rank_sleep) {
    all[1].progress();
    all[1].forsake(*r);
    EXPECT_EQ(r->result.how, status::peer_gone);
    EXPECT_TRUE(all[1].can_sleep());
    all[1].drop(*r);
}

// --- layouts: what the receiver reads run by run --------------------------------------------------------------------------

/// Runs as a list that anybody can follow: places in a buffer, in the order of the message.
struct placed {
    std::vector<std::int64_t> lengths, at;
    std::int64_t bytes = 0, hull = 0;

    std::size_t room() const { return static_cast<std::size_t>(hull); }
    mpt::datatype type() const { return mpt::datatype::hindexed(lengths, at, mpt::datatype::named(mpt::element_kind::byte)); }
    std::vector<std::byte> packed(std::vector<std::byte> const& memory) const {
        std::vector<std::byte> p;
        for (std::size_t i = 0; i < at.size(); ++i)
            p.insert(p.end(), memory.begin() + at[i], memory.begin() + at[i] + lengths[i]);
        return p;
    }
    void unpack(std::vector<std::byte> const& p, std::vector<std::byte>& memory) const {
        std::size_t k = 0;
        for (std::size_t i = 0; i < at.size(); ++i)
            for (std::int64_t b = 0; b < lengths[i] && k < p.size(); ++b) memory[static_cast<std::size_t>(at[i] + b)] = p[k++];
    }
};

/// Of at least so many bytes: one run, regular ones (forwards or backwards), or any, in any order.
placed any_places(mpt::test::dice& random, std::int64_t bytes) {
    placed p;
    auto const pick = [&](std::int64_t n) { return static_cast<std::int64_t>(random.below(static_cast<unsigned>(n))); };
    auto const shape = pick(4);
    auto const most = shape == 0 ? bytes : std::int64_t{1} << (3 + pick(12));
    auto const fixed = 1 + pick(most), gap = 1 + pick(most);
    for (std::int64_t end = 0; p.bytes < bytes;) {
        auto const n = shape == 0 ? bytes : shape == 3 ? 1 + pick(most) : fixed;
        p.at.push_back(end), p.lengths.push_back(n);
        p.bytes += n, p.hull = end + n;
        end = p.hull + (shape == 3 ? pick(most) : gap);
    }
    if (shape == 2) std::ranges::reverse(p.at);
    if (shape == 3)
        for (auto i = p.at.size(); i > 1; --i) {
            auto const k = static_cast<std::size_t>(pick(static_cast<std::int64_t>(i)));
            std::swap(p.at[i - 1], p.at[k]), std::swap(p.lengths[i - 1], p.lengths[k]);
        }
    return p;
}

/// One message between two layouts, against the lists.
template <class Transport> struct laid_out_message {
    mpt::test::engines<Transport>& all;
    placed const mine, theirs;
    std::vector<std::byte> memory = pattern(mine.room(), 3), into = std::vector<std::byte>(theirs.room(), std::byte{0xee});
    mpt::typed_source from{memory.data(), 1, mine.type()};
    mpt::typed_sink room{into.data(), 1, theirs.type()};
    int sender = 0;
    request *s = nullptr, *r = nullptr;

    void send() {
        s = all[sender].make();
        s->from = mpt::source::of(from), s->peer = 1 - sender, s->wanted = {here, 1 - sender, 3};
        all[sender].send(*s);
    }
    void receive() {
        r = all[1 - sender].make();
        r->into = mpt::sink::of(room), r->wanted = {here, sender, 3};
        all[1 - sender].receive(*r);
    }
    void check() {
        ASSERT_TRUE(all.run([&] { return s->complete && r->complete; }));
        EXPECT_EQ(s->result.how, status::ok);
        EXPECT_EQ(r->result.how, theirs.bytes < mine.bytes ? status::truncated : status::ok);
        EXPECT_EQ(r->result.bytes, static_cast<std::uint64_t>(mine.bytes));
        std::vector<std::byte> wanted(theirs.room(), std::byte{0xee});
        theirs.unpack(mine.packed(memory), wanted);
        EXPECT_TRUE(into == wanted);
        all[sender].drop(*s), all[1 - sender].drop(*r);
        for (int i : {0, 1}) EXPECT_TRUE(all[i].can_sleep() && all[i].drained());
    }
};
placed regular_places(std::int64_t count, std::int64_t length, std::int64_t stride) {
    placed p;
    for (std::int64_t i = 0; i < count; ++i) p.at.push_back(i * stride), p.lengths.push_back(length);
    p.bytes = count * length, p.hull = (count - 1) * stride + length;
    return p;
}
placed one_place(std::int64_t bytes) { return regular_places(1, bytes, bytes); }
/// No two lengths, no two distances in a row are alike.
placed uneven_places(std::int64_t count, std::int64_t length) {
    placed p;
    for (std::int64_t i = 0; i < count; ++i) {
        p.at.push_back(p.hull), p.lengths.push_back(length + i % 3);
        p.bytes += length + i % 3, p.hull += 2 * length + i % 5 + 3;
    }
    return p;
}

TYPED_TEST(protocol_engine, random_layouts_arrive_whatever_the_other_side_has) {
    mpt::test::seeds const seeds{1};
    mpt::test::dice random{seeds.first};
    for (bool alone : {false, true}) { // the sender pushes, or is read
        engine_limits limits;
        if (alone) limits.pipeline_max = 0;
        mpt::test::engines<TypeParam> all{2, limits};
        for (int i = 0; i < 60; ++i) {
            SCOPED_TRACE(testing::Message() << "seed " << seeds.first << " message " << i << " alone " << alone);
            auto const n = 10'000 + static_cast<std::int64_t>(random.below(400'000));
            auto const wish = random.below(3) == 0 ? n / 2 : n;
            laid_out_message<TypeParam> m{.all = all, .mine = any_places(random, n), .theirs = any_places(random, wish)};
            m.sender = static_cast<int>(random.below(2));
            if (random.coin()) m.receive(), m.send();
            else m.send(), all.settle(), m.receive();
            m.check();
            if (this->HasFailure()) return;
        }
    }
}

struct protocol_engine_runs : testing::Test {
    using transport = mpt::transport::smp<>;
    using message = laid_out_message<transport>;
    static engine_limits alone() {
        engine_limits l;
        l.pipeline_max = 0;
        return l;
    }
    mpt::test::engines<transport> all{2, alone()};

    void copied(placed const& mine, placed const& theirs, bool once) {
        SCOPED_TRACE(testing::Message() << mine.at.size() << " runs to " << theirs.at.size());
        auto const pulled = all[1].counted().pulled, pushed = all[1].counted().pushed;
        auto const n = static_cast<std::uint64_t>(std::min(mine.bytes, theirs.bytes));
        message m{.all = all, .mine = mine, .theirs = theirs};
        m.receive(), m.send(), m.check();
        EXPECT_EQ(all[1].counted().pulled.bytes - pulled.bytes, once ? n : 0);
        EXPECT_EQ(all[1].counted().pushed.bytes - pushed.bytes, once ? 0 : n);
    }
};

TEST_F(protocol_engine_runs, two_layouts_are_copied_once_where_their_runs_are_long) {
    constexpr std::int64_t n = 400'000;
    placed const all_shapes[]{one_place(n), regular_places(100, 4000, 9000), regular_places(600, 600, 601),
                              uneven_places(300, 1333)};
    for (auto const& mine : all_shapes)
        for (auto const& theirs : all_shapes)
            if (mine.at.size() > 1 || theirs.at.size() > 1) copied(mine, theirs, true);
}

TEST_F(protocol_engine_runs, short_runs_on_either_side_are_brought_in_pieces) {
    constexpr std::int64_t n = 160'000;
    copied(regular_places(n / 16, 16, 40), one_place(n), false);
    copied(one_place(n), regular_places(n / 16, 16, 40), false);
    copied(uneven_places(n / 20, 19), regular_places(16, n / 16, n), false);
    copied(regular_places(16, n / 16, n), uneven_places(n / 20, 19), false);
}

TEST_F(protocol_engine_runs, a_layout_is_read_though_its_sender_stays_away) {
    mpt::test::engines<transport> both{2};
    for (auto const& mine : {regular_places(100, 4000, 9000), uneven_places(300, 1333)}) {
        message m{.all = both, .mine = mine, .theirs = uneven_places(400, 1111)};
        m.send(), m.receive();
        for (std::uint32_t i = 0; i < hope_rounds + 200 && !m.r->complete; ++i) both[1].progress();
        EXPECT_TRUE(m.r->complete) << "it needs nothing of the sender";
        EXPECT_FALSE(m.s->complete) << "its memory is still the message's";
        m.check();
    }
    EXPECT_EQ(both[1].counted().pulled.messages, 2u);
}

TEST_F(protocol_engine_runs, what_only_a_lost_peer_could_end_is_given_up_with_its_table) {
    mpt::test::engines<transport> both{2};
    message m{.all = both, .mine = uneven_places(300, 1333), .theirs = uneven_places(300, 1333)};
    m.send(), m.receive();
    both[1].progress();
    EXPECT_EQ(m.r->at, phase::hoping);
    both[1].forsake(*m.r), both[0].forsake(*m.s);
    EXPECT_EQ(m.r->result.how, status::peer_gone);
    EXPECT_EQ(m.s->result.how, status::peer_gone);
    EXPECT_FALSE(m.r->by_runs || m.s->by_runs);
    both[0].drop(*m.s), both[1].drop(*m.r);
}

TEST_F(protocol_engine_runs, memory_of_the_arena_is_read_as_any_other) {
    for (auto const& mine : {regular_places(100, 4000, 9000), uneven_places(300, 1333), regular_places(800, 520, 521)}) {
        auto const theirs = one_place(mine.bytes);
        auto const there = all.heap(0).extent(mine.room());
        ASSERT_EQ(there.size(), mine.room());
        auto const memory = pattern(mine.room());
        std::ranges::copy(memory, there.begin());
        std::vector<std::byte> into(theirs.room());
        mpt::typed_source const from{there.data(), 1, mine.type()};
        auto* const s = all[0].make();
        s->from = mpt::source::of(from), s->peer = 1, s->wanted = {here, 1, 3};
        all[0].send(*s);
        auto* const r = start_receive(all[1], 0, 3, into);
        ASSERT_TRUE(all.run([&] { return s->complete && r->complete; }));
        EXPECT_TRUE(into == mine.packed(memory));
        all[0].drop(*s), all[1].drop(*r);
    }
    EXPECT_EQ(all[1].counted().pulled.messages, 3u);
}

TEST_F(protocol_engine_runs, a_message_to_oneself_is_copied_once_too) {
    auto const mine = uneven_places(300, 1333), theirs = regular_places(300, 1500, 1600);
    std::vector<std::byte> const memory = pattern(mine.room());
    std::vector<std::byte> into(theirs.room()), wanted(theirs.room());
    mpt::typed_source const from{memory.data(), 1, mine.type()};
    mpt::typed_sink room{into.data(), 1, theirs.type()};
    auto* const s = all[0].make();
    auto* const r = all[0].make();
    s->from = mpt::source::of(from), s->peer = 0, s->wanted = {here, 0, 3};
    r->into = mpt::sink::of(room), r->wanted = {here, 0, 3};
    all[0].send(*s), all[0].receive(*r);
    ASSERT_TRUE(all.run([&] { return s->complete && r->complete; }));
    theirs.unpack(mine.packed(memory), wanted);
    EXPECT_TRUE(into == wanted);
    EXPECT_EQ(all[0].counted().pulled.messages, 1u);
    all[0].drop(*s), all[0].drop(*r);
}

TYPED_TEST(protocol_engine, a_sleeping_receiver_keeps_no_more_than_its_cap_and_nothing_is_lost) {
    engine_limits limits;
    limits.unexpected_max = 256 * 1024;
    mpt::test::engines<TypeParam> all{2, limits};
    constexpr int n = 20000;
    std::vector<std::vector<std::byte>> data;
    for (int i = 0; i < 16; ++i) data.push_back(pattern(20, static_cast<unsigned>(i)));
    std::vector<request*> sends;
    for (int i = 0; i < n; ++i) {
        sends.push_back(start_send(all[0], 1, i % 3, data[static_cast<std::size_t>(i % 16)]));
        all[0].progress();
        all[1].progress(); // polls, but receives nothing: the messages are unexpected
    }
    all.settle();
    EXPECT_LT(all[1].unexpected_high_water(), limits.unexpected_max + 1024 * sizeof(arrival));
    std::vector<std::byte> into(20);
    for (int i = 0; i < n; ++i) {
        auto* r = start_receive(all[1], 0, i % 3, into);
        ASSERT_TRUE(all.run([&] { return r->complete; })) << i;
        ASSERT_EQ(into, data[static_cast<std::size_t>(i % 16)]) << "order lost at " << i;
        all[1].drop(*r);
    }
    ASSERT_TRUE(all.run([&] { return std::ranges::all_of(sends, [](auto* s) { return s->complete; }); }));
    all.settle();
    EXPECT_EQ(all[1].unexpected_bytes(), 0u);
    auto* s = start_send(all[0], 1, 9, data[0]); // the throttle is off again: eager
    EXPECT_TRUE(s->complete);
}

TYPED_TEST(protocol_engine, more_eager_messages_than_buffers_go_on_by_rendezvous) {
    mpt::test::engines<TypeParam> all{2};
    auto const data = pattern(4000);
    std::vector<request*> sends;
    for (int i = 0; i < 300; ++i) sends.push_back(start_send(all[0], 1, 1, data));
    all.settle();
    std::vector<std::byte> into(4000);
    for (int i = 0; i < 300; ++i) {
        auto* r = start_receive(all[1], 0, 1, into);
        ASSERT_TRUE(all.run([&] { return r->complete; })) << i;
        ASSERT_EQ(into, data);
        into.assign(4000, std::byte{0});
        all[1].drop(*r);
    }
    ASSERT_TRUE(all.run([&] { return std::ranges::all_of(sends, [](auto* s) { return s->complete; }); }));
}

TYPED_TEST(protocol_engine, a_synchronous_send_completes_only_when_it_is_matched) {
    mpt::test::engines<TypeParam> all{2};
    for (std::size_t n : {4u, 4000u, 50000u}) {
        auto const data = pattern(n);
        auto* s = start_send(all[0], 1, 1, data, send_mode::synchronous);
        all.settle();
        EXPECT_FALSE(s->complete);
        EXPECT_FALSE(all[0].drained());
        std::vector<std::byte> into(n);
        auto* r = start_receive(all[1], 0, 1, into);
        ASSERT_TRUE(all.run([&] { return s->complete && r->complete; }));
        EXPECT_EQ(into, data);
    }
    EXPECT_TRUE(all[0].drained());
}

TYPED_TEST(protocol_engine, without_single_copy_large_messages_are_pushed) {
    engine_limits limits;
    limits.single_copy = false;
    mpt::test::engines<TypeParam> all{2, limits};
    auto const data = pattern(5000001);
    auto* s = start_send(all[0], 1, 1, data);
    std::vector<std::byte> into(5000001);
    auto* r = start_receive(all[1], 0, 1, into);
    ASSERT_TRUE(all.run([&] { return s->complete && r->complete; }));
    EXPECT_EQ(into, data);
}

TYPED_TEST(protocol_engine, a_shorter_buffer_gets_what_fits_and_the_sender_is_released) {
    mpt::test::engines<TypeParam> all{2};
    for (std::size_t n : {30u, 5000u, 100000u, 2000000u})
        for (std::size_t room : {0u, 7u, 29u, 4999u, 70000u}) {
            if (room >= n) continue;
            auto const data = pattern(n);
            auto* s = start_send(all[0], 1, 1, data);
            std::vector<std::byte> into(room);
            auto* r = start_receive(all[1], 0, 1, into);
            ASSERT_TRUE(all.run([&] { return s->complete && r->complete; })) << n << " " << room;
            EXPECT_EQ(r->result.how, status::truncated);
            EXPECT_EQ(r->result.bytes, n);
            EXPECT_TRUE(std::equal(into.begin(), into.end(), data.begin()));
        }
}

TYPED_TEST(protocol_engine, what_is_not_matched_can_be_cancelled_and_what_is_matched_goes_on) {
    mpt::test::engines<TypeParam> all{2};
    std::vector<std::byte> into(8);
    auto* r = start_receive(all[1], 0, 1, into);
    EXPECT_TRUE(all[1].cancel(*r));
    EXPECT_TRUE(r->complete);
    EXPECT_EQ(r->result.how, status::cancelled);
    EXPECT_TRUE(all[1].quiet());
    auto const data = pattern(100000);
    auto* s = start_send(all[0], 1, 1, data);
    all.settle();
    EXPECT_FALSE(all[0].cancel(*s));
}

TYPED_TEST(protocol_engine, a_send_that_waits_for_its_receiver_is_taken_back_unless_it_is_matched) {
    mpt::test::engines<TypeParam> all{2};
    all[0].tune({.eager_max = 4_KiB}); // what is longer is announced
    for (auto const mode : {send_mode::standard, send_mode::synchronous})
        for (std::size_t n : {4u, 3000u, 100'000u})
            for (bool kept : {true, false})
                for (int i = 0; i < 40; ++i) {                                // more than there are loans, and tickets
                    if (n < 100'000 && mode == send_mode::standard) continue; // leaves at once
                    auto const data = pattern(n);
                    auto* s = start_send(all[0], 1, 1, data, mode);
                    if (kept) {
                        ASSERT_TRUE(all.run([&] { return all[1].tables().arrivals() == 1; }));
                    }
                    EXPECT_FALSE(all[0].cancel(*s)) << "only the receiver knows";
                    EXPECT_FALSE(all[0].cancel(*s)) << "asked once is enough";
                    ASSERT_TRUE(all.run([&] { return s->complete; })) << n << kept;
                    EXPECT_EQ(s->result.how, status::cancelled);
                    all.settle();
                    EXPECT_TRUE(all[1].quiet());
                    EXPECT_EQ(all[1].unexpected_bytes(), 0u);
                    all[0].drop(*s);
                }
    EXPECT_TRUE(all[0].drained());
    // Matched: it goes on, and the answer to the question is its end.
    for (auto const mode : {send_mode::standard, send_mode::synchronous})
        for (std::size_t n : {4u, 3000u, 100'000u})
            for (bool taken : {true, false}) {
                auto const data = pattern(n);
                std::vector<std::byte> into(n);
                auto* r = taken ? nullptr : start_receive(all[1], 0, 1, into);
                auto* s = start_send(all[0], 1, 1, data, mode);
                if (taken) { // a matched probe has it
                    arrival* a = nullptr;
                    ASSERT_TRUE(all.run([&] { return (a = all[1].take({here, 0, 1})) != nullptr; }));
                    all[0].cancel(*s);
                    all.settle();
                    r = all[1].make();
                    r->into = mpt::sink{into};
                    all[1].receive(*r, *a);
                } else all[0].cancel(*s);
                ASSERT_TRUE(all.run([&] { return s->complete && r->complete; })) << n << taken;
                EXPECT_EQ(s->result.how, status::ok);
                EXPECT_EQ(into, data);
                all[0].drop(*s), all[1].drop(*r);
                all.settle();
            }
}

TYPED_TEST(protocol_engine, what_only_a_lost_peer_could_end_is_given_up) {
    mpt::test::engines<TypeParam> all{2};
    all[0].tune({.eager_max = 4_KiB}); // no long loans
    auto const small = pattern(4), large = pattern(500'000);
    std::vector<std::byte> into(large.size());
    auto* acking = start_send(all[0], 1, 1, small, send_mode::synchronous);
    auto* offered = start_send(all[0], 1, 2, large);
    auto* posted = start_receive(all[0], 1, 3, into);
    for (auto* r : {acking, offered, posted}) {
        EXPECT_FALSE(r->complete);
        all[0].forsake(*r);
        EXPECT_TRUE(r->complete);
        EXPECT_NE(r->result.how, status::ok);
        all[0].drop(*r);
    }
    EXPECT_TRUE(all[0].quiet());
    EXPECT_TRUE(all[0].can_sleep());
    EXPECT_TRUE(all[0].drained());
    // A push that the wire does not take any more, and a receive that waits for one.
    engine_limits limits;
    limits.single_copy = false;
    mpt::test::engines<TypeParam> pushing{2, limits};
    auto const huge = pattern(50'000'000);
    into.resize(huge.size());
    auto* s = start_send(pushing[0], 1, 1, huge);
    auto* r = start_receive(pushing[1], 0, 1, into);
    for (int i = 0; i < 20; ++i) pushing[1].progress(), pushing[0].progress();
    ASSERT_EQ(s->at, phase::pushing);
    ASSERT_EQ(r->at, phase::filling);
    pushing[0].forsake(*s), pushing[1].forsake(*r);
    EXPECT_EQ(s->result.how, status::peer_gone);
    EXPECT_EQ(r->result.how, status::peer_gone);
    EXPECT_TRUE(pushing[0].can_sleep());
    pushing[0].drop(*s), pushing[1].drop(*r);
}

TYPED_TEST(protocol_engine, probes_see_the_size_and_taking_hides_the_message) {
    mpt::test::engines<TypeParam> all{2};
    for (std::size_t n : {4u, 4000u, 400000u}) {
        auto const data = pattern(n);
        auto* s = start_send(all[0], 1, 5, data);
        all.settle();
        envelope const wanted{here, mpt::any_source, 5};
        auto* a = all[1].find(wanted);
        ASSERT_NE(a, nullptr);
        EXPECT_EQ(a->size, n);
        EXPECT_EQ(all[1].take(wanted), a);
        EXPECT_EQ(all[1].find(wanted), nullptr);
        std::vector<std::byte> into(n);
        auto* r = all[1].make();
        r->into = mpt::sink{into};
        all[1].receive(*r, *a);
        ASSERT_TRUE(all.run([&] { return s->complete && r->complete; }));
        EXPECT_EQ(into, data);
    }
}

TYPED_TEST(protocol_engine, tasks_run_at_every_progress_until_they_finish) {
    mpt::test::engines<TypeParam> all{1};
    struct counter {
        decltype(all)* engines;
        int steps = 0;
    } count{&all};
    auto* r = all[0].make();
    r->user = &count;
    r->advance = [](request& t) noexcept {
        auto& c = *static_cast<counter*>(t.user);
        if (++c.steps == 5) (*c.engines)[0].finish(t, status::ok);
        return true;
    };
    all[0].start_task(*r);
    EXPECT_FALSE(all[0].can_sleep());
    EXPECT_TRUE(all.run([&] { return r->complete; }));
    EXPECT_EQ(count.steps, 5);
    EXPECT_TRUE(all[0].can_sleep());
}

} // namespace
