// Messages that are too long for a frame of one line, and go in a long one (engine/stretched).
#include <algorithm>
#include <deque>

#include <gtest/gtest.h>

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

constexpr auto most_in_a_frame = std::size_t{mpt::transport::smp<>::facts.max_stretch} - sizeof(wire::e0);

/// Messages about the sizes that go in long frames: some expected, some not, more than the ring holds.
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

TEST(protocol_engine_stretched, messages_in_long_frames_keep_order_and_bytes_where_the_ring_is_short) {
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

TEST(protocol_engine_stretched, an_answer_goes_in_one_frame_and_takes_no_request) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    int who = 0;
    for (std::size_t n = 0; n <= mpt::smp::pair_room - sizeof(wire::e0); ++n, who = 1 - who) {
        auto const data = pattern(n, static_cast<unsigned>(n));
        std::vector<std::byte> into(n);
        ASSERT_TRUE(all[who].send_now(1 - who, here, 3, data.data(), n));
        received got;
        for (int i = 0; i < 100 && !got; ++i) got = all[1 - who].receive_now(who, here, 3, into.data(), n);
        ASSERT_EQ(got.bytes, static_cast<int>(n));
        EXPECT_EQ(into, data);
        EXPECT_EQ(all[who].counted().sent_by(way::loan).messages, 0u) << n;
    }
    auto const late = pattern(100, 1); // unexpected
    std::vector<std::byte> into(100);
    ASSERT_TRUE(all[who].send_now(1 - who, here, 3, late.data(), 100));
    all.settle();
    EXPECT_EQ(all[1 - who].tables().arrivals(), 1u);
    auto* const r = start_receive(all[1 - who], who, 3, into);
    EXPECT_TRUE(r->complete);
    EXPECT_EQ(into, late);
    all[1 - who].drop(*r);
}

TEST(protocol_engine_stretched, a_blocking_receive_takes_them_without_a_request) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    for (std::size_t n = 0; n <= most_in_a_frame; ++n) {
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
}

/// How a message comes to its receive.
enum class coming { posted, by_a_call, unexpected };

TEST(protocol_engine_stretched, a_receive_with_less_room_gets_what_fits_and_hears_of_the_rest) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    std::byte const mark{0xee};
    for (std::size_t n : {41u, 96u, 97u, 152u, 153u, 264u})
        for (std::size_t room : {std::size_t{0}, std::size_t{1}, std::size_t{39}, std::size_t{40}, std::size_t{41},
                                 std::size_t{95}, std::size_t{96}, std::size_t{97}, n - 1, n})
            for (auto const how : {coming::posted, coming::by_a_call, coming::unexpected}) {
                SCOPED_TRACE(testing::Message() << n << " bytes into " << room << ", way " << static_cast<int>(how));
                auto const data = pattern(n, static_cast<unsigned>(n + room));
                auto const fits = std::min(n, room);
                std::vector<std::byte> into(room + 1, mark);
                if (how == coming::by_a_call) {
                    ASSERT_TRUE(all[0].send_now(1, here, 3, data.data(), n));
                    received got;
                    for (int i = 0; i < 100 && !got; ++i) got = all[1].receive_now(0, here, 3, into.data(), room);
                    EXPECT_EQ(got.bytes, static_cast<int>(n));
                    EXPECT_EQ(got.label, 3);
                } else {
                    auto* const r = all[1].make();
                    r->into = mpt::sink{into.data(), room}, r->wanted = {here, 0, 3};
                    if (how == coming::posted) all[1].receive(*r);
                    ASSERT_TRUE(all[0].send_now(1, here, 3, data.data(), n));
                    all.settle();
                    if (how == coming::unexpected) {
                        EXPECT_EQ(all[1].tables().arrivals(), 1u);
                        all[1].receive(*r);
                    }
                    ASSERT_TRUE(r->complete);
                    EXPECT_EQ(r->result.bytes, n);
                    EXPECT_EQ(r->result.how, n > room ? status::truncated : status::ok);
                    EXPECT_EQ(r->result.source, mpt::rank{0});
                    EXPECT_EQ(r->result.label, mpt::tag{3});
                    all[1].drop(*r);
                }
                EXPECT_TRUE(std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(fits), into.begin()));
                EXPECT_EQ(into[fits], mark);
                EXPECT_TRUE(all[1].quiet());
            }
    EXPECT_EQ(all[0].counted().sent_by(way::loan).messages, 0u);
}

TEST(protocol_engine_stretched, one_that_a_call_does_not_want_is_kept_or_goes_to_its_receive) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    auto const other = pattern(200, 1), wanted = pattern(200, 2);
    std::vector<std::byte> into(200), later(200);
    ASSERT_TRUE(all[0].send_now(1, here, 4, other.data(), 200));
    ASSERT_TRUE(all[0].send_now(1, here, 3, wanted.data(), 200));
    EXPECT_FALSE(all[1].receive_now(0, here, 3, into.data(), 200)) << "the other one came first";
    EXPECT_EQ(all[1].tables().arrivals(), 1u);
    auto* const r = start_receive(all[1], 0, 3, into);
    ASSERT_TRUE(all.run([&] { return r->complete; }));
    EXPECT_EQ(into, wanted);
    auto* const kept = start_receive(all[1], 0, 4, later);
    EXPECT_TRUE(kept->complete);
    EXPECT_EQ(later, other);
    all[1].drop(*r), all[1].drop(*kept);
}

TEST(protocol_engine_stretched, a_receive_of_unknown_size_is_asked_for_its_room) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    auto const data = pattern(250);
    std::vector<std::byte> room;
    auto* const r = all[1].make();
    r->wanted = {here, 0, 3};
    r->user = &room;
    r->provide = [](request& q, std::uint64_t bytes) {
        auto& v = *static_cast<std::vector<std::byte>*>(q.user);
        v.resize(bytes);
        q.into = mpt::sink{v};
        return status::ok;
    };
    all[1].receive(*r);
    ASSERT_TRUE(all[0].send_now(1, here, 3, data.data(), data.size()));
    ASSERT_TRUE(all.run([&] { return r->complete; }));
    EXPECT_EQ(room, data);
    EXPECT_EQ(all[1].counted().received_by(way::frame).messages, 1u);
    all[1].drop(*r);
}

TEST(protocol_engine_stretched, above_the_largest_eager_message_nothing_goes_so) {
    mpt::test::engines<mpt::transport::smp<>> all{2, {.eager_max = 100}};
    auto const data = pattern(101);
    std::vector<std::byte> into(101);
    EXPECT_TRUE(all[0].send_now(1, here, 3, data.data(), 100));
    EXPECT_FALSE(all[0].send_now(1, here, 3, data.data(), 101));
    auto* const first = start_receive(all[1], 0, 3, into);
    ASSERT_TRUE(all.run([&] { return first->complete; }));
    auto* const s = start_send(all[0], 1, 3, data);
    auto* const r = start_receive(all[1], 0, 3, into);
    ASSERT_TRUE(all.run([&] { return r->complete && s->complete; }));
    EXPECT_EQ(into, data);
    EXPECT_EQ(all[0].counted().sent_by(way::rendezvous).messages, 1u);
    all[0].drop(*s), all[1].drop(*first), all[1].drop(*r);
}

/// Synchronous ones do not go so: in a usual frame, or in a loan. Who waits for one takes it at once, as any other, and answers.
TEST(protocol_engine_stretched, a_synchronous_one_that_is_waited_for_is_taken_at_once_and_answered) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    for (std::size_t n : {0u, 8u, 36u, 200u, 1000u, 8000u})
        for (std::size_t const room : {n, n + 5, n / 2}) {
            auto const data = pattern(n, static_cast<unsigned>(n));
            auto* const s = start_send(all[0], 1, 3, data, send_mode::synchronous);
            EXPECT_EQ(s->awaited(), 1);
            std::vector<std::byte> into(room);
            received got;
            for (int i = 0; i < 100 && !got; ++i) got = all[1].receive_now(0, here, 3, into.data(), room);
            ASSERT_EQ(got.bytes, static_cast<int>(n));
            EXPECT_EQ(got.label, 3);
            EXPECT_TRUE(std::equal(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(std::min(n, room)), data.begin()));
            EXPECT_TRUE(all[1].quiet()) << "it was never kept";
            ASSERT_TRUE(all.run([&] { return s->complete; }));
            all[0].drop(*s);
        }
    EXPECT_EQ(all[1].counted().kept.messages, 0u);
}

TEST(protocol_engine_stretched, a_synchronous_one_that_is_not_wanted_is_kept_and_not_answered) {
    mpt::test::engines<mpt::transport::smp<>> all{2};
    for (std::size_t n : {8u, 1000u}) {
        auto const data = pattern(n, 1);
        auto* const s = start_send(all[0], 1, 4, data, send_mode::synchronous);
        std::vector<std::byte> into(n), later(n);
        for (int i = 0; i < 100; ++i) EXPECT_FALSE(all[1].receive_now(0, here, 3, into.data(), n));
        all.settle();
        EXPECT_FALSE(s->complete);
        auto* const r = start_receive(all[1], 0, 4, later);
        ASSERT_TRUE(all.run([&] { return s->complete && r->complete; }));
        EXPECT_EQ(later, data);
        all[0].drop(*s), all[1].drop(*r);
    }
}

} // namespace
