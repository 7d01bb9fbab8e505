// The engine, step by step in one thread: which way a message takes, and that memory stays bounded.
#include <algorithm>
#include <deque>
#include <numeric>

#include <gtest/gtest.h>
#include <mpt/transport/stream.hpp>

#include "support/dice.hpp"
#include "support/engines.hpp"

namespace {
using namespace mpt::protocol;
using mpt::status;

constexpr mpt::context_id here{6};

std::vector<std::byte> pattern(std::size_t n, unsigned seed = 1) {
    std::vector<std::byte> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::byte>(i * 7 + seed);
    return v;
}

template <class Engine>
request* start_send(Engine& e, int to, int tag, std::vector<std::byte> const& data, send_mode mode = send_mode::standard) {
    auto* r = e.make();
    r->from = mpt::source{data}, r->peer = to, r->mode = mode, r->wanted = {here, to, tag};
    e.send(*r);
    return r;
}
template <class Engine> request* start_receive(Engine& e, int from, int tag, std::vector<std::byte>& into) {
    auto* r = e.make();
    r->into = mpt::sink{into}, r->wanted = {here, from, tag};
    e.receive(*r);
    return r;
}

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

/// Messages about the sizes that go in several frames: some expected, some not, more than the ring holds.
struct flow {
    struct message {
        std::vector<std::byte> data, into;
        request *sent = nullptr, *received = nullptr;
    };
    mpt::test::dice& random;
    mpt::test::engines<mpt::transport::smp<>>& all;
    int const from;
    std::deque<message> messages[3]; // by tag
    std::size_t next_send[3]{}, next_receive[3]{};

    message& at(unsigned tag, std::size_t i) {
        auto& of_tag = messages[tag];
        while (of_tag.size() <= i) of_tag.push_back({pattern(random.below(300), random.seed()), std::vector<std::byte>(300)});
        return of_tag[i];
    }
    void send() {
        auto const tag = random.below(3);
        auto& m = at(tag, next_send[tag]++);
        m.sent = start_send(all[from], 1 - from, static_cast<int>(tag), m.data);
    }
    void receive() {
        auto const tag = random.below(3);
        auto& m = at(tag, next_receive[tag]++);
        m.received = start_receive(all[1 - from], random.coin() ? from : -1, static_cast<int>(tag), m.into);
    }
    void even_out() {
        for (unsigned tag = 0; tag < 3; ++tag) {
            for (auto& n = next_send[tag]; n < next_receive[tag]; ++n) {
                auto& m = at(tag, n);
                m.sent = start_send(all[from], 1 - from, static_cast<int>(tag), m.data);
            }
            for (auto& n = next_receive[tag]; n < next_send[tag]; ++n) {
                auto& m = at(tag, n);
                m.received = start_receive(all[1 - from], from, static_cast<int>(tag), m.into);
            }
        }
    }
    bool done() const {
        return std::ranges::all_of(messages, [](auto const& of_tag) {
            return std::ranges::all_of(of_tag, [](message const& m) { return m.sent->complete && m.received->complete; });
        });
    }
    void check() {
        for (auto& of_tag : messages)
            for (auto& m : of_tag) {
                m.into.resize(m.data.size());
                ASSERT_EQ(m.received->result.bytes, m.data.size());
                ASSERT_EQ(m.into, m.data);
                all[from].drop(*m.sent), all[1 - from].drop(*m.received);
            }
    }
};

TEST(protocol_engine_parts, messages_of_a_few_frames_keep_order_and_bytes_where_the_ring_is_short) {
    mpt::test::seeds const seeds{40};
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        mpt::test::dice random{seed};
        auto const lines = random.one_of<char const*>({"16", "32", "256"});
        mpt::test::engines<mpt::transport::smp<>> all{2, {}, mpt::config::values{}.set<"MPT_RING_LINES">(lines)};
        flow flows[2]{{random, all, 0, {}}, {random, all, 1, {}}};
        for (int step = 0; step < 300; ++step) {
            auto& f = flows[random.below(2)];
            if (random.coin()) f.send();
            else f.receive();
            if (random.coin()) all[static_cast<int>(random.below(2))].progress();
        }
        for (auto& f : flows) f.even_out();
        ASSERT_TRUE(all.run([&] { return flows[0].done() && flows[1].done(); }));
        for (auto& f : flows) f.check();
        for (int i : {0, 1}) EXPECT_TRUE(all[i].quiet() && all[i].drained());
    }
}

TEST(protocol_engine_parts, a_blocking_receive_takes_them_without_a_request) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    for (std::size_t n = 0; n <= gathering::most; ++n) {
        auto const data = pattern(n, static_cast<unsigned>(n));
        std::vector<std::byte> into(n);
        ASSERT_TRUE(all[0].send_now(1, here, 3, data.data(), n));
        auto const before = all[1].counted().received_by(way::frame);
        received got;
        for (int i = 0; i < 100 && !got; ++i) got = all[1].receive_now(0, here, 3, into.data(), n);
        ASSERT_EQ(got.bytes, static_cast<int>(n));
        EXPECT_EQ(into, data);
        EXPECT_TRUE(all[1].quiet());
        EXPECT_EQ(all[1].counted().received_by(way::frame).bytes - before.bytes, n);
        EXPECT_EQ(all[0].counted().sent_by(way::frame).messages, n + 1);
    }
    std::vector<std::byte> const more(gathering::most + 1);
    EXPECT_FALSE(all[0].send_now(1, here, 3, more.data(), more.size()));
}

struct protocol_engine_pipeline : testing::Test {
    static constexpr std::size_t n = 300'000;
    mpt::test::engines<mpt::transport::smp<>> all{2};
    std::vector<std::byte> const data = pattern(n);
    std::vector<std::byte> into = std::vector<std::byte>(n);
    request* const s = start_send(all[0], 1, 3, data);
    request* const r = start_receive(all[1], 0, 3, into);

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

TEST_F(protocol_engine_pipeline, a_receive_that_is_forsaken_while_it_hopes_lets_the_rank_sleep) {
    all[1].progress();
    all[1].forsake(*r);
    EXPECT_EQ(r->result.how, status::peer_gone);
    EXPECT_TRUE(all[1].can_sleep());
    all[1].drop(*r);
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
