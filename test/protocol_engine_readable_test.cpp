// Messages that fit a lent buffer and whose receiver could read them where they lie: which way they take (MPT_EAGER_READABLE).
#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/datatype/typed.hpp>
#include <mpt/transport/recording.hpp>

#include "support/engines.hpp"

namespace {
using namespace mpt::literals;
using namespace mpt::protocol;
using mpt::context_id;
using mpt::test::here;
using mpt::test::pattern;
using mpt::test::start_receive;
using mpt::test::start_send;

/// Above 4 KiB what may be read is; nothing is pushed that could be.
constexpr engine_limits read_from_4k() {
    engine_limits l;
    l.eager_readable = 4_KiB, l.single_copy_min = 1_KiB, l.pipeline_max = 0;
    return l;
}

struct protocol_engine_readable : testing::Test {
    using engines = mpt::test::engines<mpt::transport::smp<>>;
    engines all{3, read_from_4k()};
    std::vector<std::byte> const data = pattern(20'000, 3);
    std::vector<std::byte> into = std::vector<std::byte>(data.size());

    std::uint64_t sent(way w, int from = 0) { return all[from].counted().sent_by(w).messages; }
    void expect(std::uint64_t loans, std::uint64_t rendezvous) {
        EXPECT_EQ(sent(way::loan), loans);
        EXPECT_EQ(sent(way::rendezvous), rendezvous);
    }
    void finish(request* s, int to, request* r) {
        ASSERT_TRUE(all.run([&] { return s->complete && r->complete; }));
        all[0].drop(*s), all[to].drop(*r);
    }
    /// From 0, as its facades do: at once, or by a request.
    void send(int to, std::vector<std::byte> const& what, context_id context = here) {
        std::vector<std::byte> got(what.size());
        auto* const r = all[to].make();
        r->into = mpt::sink{got}, r->wanted = {context, mpt::rank{0}, mpt::tag{3}};
        all[to].receive(*r);
        auto* s = all[0].make();
        s->from = mpt::source{what}, s->peer = to, s->wanted = {context, mpt::rank{to}, mpt::tag{3}};
        if (all[0].send_now(to, context, 3, what.data(), what.size())) s->complete = true;
        else all[0].send(*s);
        finish(s, to, r);
        EXPECT_EQ(got, what);
    }
};

TEST_F(protocol_engine_readable, what_lies_in_one_piece_is_read_from_a_size_on) {
    send(1, pattern(4096));
    expect(1, 0);
    send(1, pattern(4097));
    expect(1, 1);
    EXPECT_EQ(all[1].counted().pulled.messages, 1u) << "too short for both ends";
    send(1, data);
    expect(1, 2);
    EXPECT_EQ(all[1].counted().joined.messages, 1u) << "by both ends, as the receiver counts it";
    auto* const s = start_send(all[0], 1, 3, data, send_mode::synchronous);
    finish(s, 1, start_receive(all[1], 0, 3, into));
    expect(1, 3);
    EXPECT_EQ(into, data);
}

TEST_F(protocol_engine_readable, what_cannot_or_need_not_be_read_goes_through_a_buffer) {
    send(1, data, mpt::collective(here));
    expect(1, 0);
    auto lower = read_from_4k();
    lower.eager_readable = 1_KiB;
    all[0].tune(lower);
    send(0, pattern(3000));
    expect(2, 0); // to ourselves nobody may be there to read it
    for (auto const& [off, sizes] : {std::pair{true, 0_B}, std::pair{false, 1_MiB}}) {
        auto limits = read_from_4k();
        limits.single_copy = !off;
        if (!off) limits.single_copy_min = sizes;
        all[0].tune(limits);
        send(1, data);
    }
    expect(4, 0);
}

/// Messages that cannot be read are announced where senders are throttled, or no loan is left: what answers those says nothing of the others.
TEST_F(protocol_engine_readable, a_push_of_what_could_not_be_read_changes_nothing) {
    auto limits = read_from_4k();
    limits.eager_max = 64;
    all[0].tune(limits); // of a frame's length and more: announced
    send(1, pattern(900));
    expect(0, 1);
    EXPECT_EQ(all[1].counted().pushed.messages, 1u) << "too short to be read";
    all[0].tune(read_from_4k());
    send(1, data);
    expect(0, 2);
}

TEST_F(protocol_engine_readable, a_peer_that_would_not_read_is_asked_again_after_a_while) {
    auto limits = read_from_4k();
    limits.single_copy = false; // at the receiver
    all[1].tune(limits);
    send(1, data);
    expect(0, 1);
    EXPECT_EQ(all[1].counted().pushed.messages, 1u);
    for (int i = 0; i < 64; ++i) send(1, data);
    expect(64, 1);
    send(2, data);
    expect(64, 2); // the other peer reads
    all[1].tune(read_from_4k());
    send(1, data);
    send(1, data);
    expect(64, 4);
}

TEST_F(protocol_engine_readable, where_ranks_share_CPUs_who_sends_to_one_after_the_other_does_not_wait_for_them) {
    auto limits = read_from_4k();
    limits.both_ends = false;
    all[0].tune(limits);
    for (int i = 0; i < 4; ++i) send(1 + i % 2, data);
    expect(4, 0);
    send(0, pattern(10)); // to whom none has gone
    send(2, data);
    send(2, data);
    expect(4, 2);
    send(1, data);
    expect(5, 2);
}

/// A send is counted once, however often it is tried: rank 1 takes nothing until its ring is full.
TEST_F(protocol_engine_readable, a_send_that_waits_for_room_goes_the_way_of_its_first_try) {
    auto limits = read_from_4k();
    limits.both_ends = false;
    all[0].tune(limits);
    std::byte const small{};
    int filled = 0;
    while (all[0].send_now(1, here, 4, &small, 1)) ++filled;
    auto* const s = start_send(all[0], 1, 3, data);
    EXPECT_EQ(s->at, phase::waiting);
    for (int i = 0; i < 5; ++i) all[0].progress();
    for (int i = 0; i < filled; ++i) {
        std::vector<std::byte> one(1);
        auto* const r = start_receive(all[1], 0, 4, one);
        ASSERT_TRUE(all.run([&] { return r->complete; }));
        all[1].drop(*r);
    }
    finish(s, 1, start_receive(all[1], 0, 3, into));
    EXPECT_EQ(into, data);
    expect(1, 0);
}

TEST_F(protocol_engine_readable, what_would_be_copied_anyway_goes_through_a_buffer_and_in_order) {
    auto const second = pattern(30'000, 9);
    std::vector<std::byte> more(second.size());
    auto* const s = start_send(all[0], 1, 3, data); // announced, and not received yet
    ASSERT_TRUE(all[0].lend_now(1, here, 3, mpt::source{second}));
    expect(1, 1);
    auto* const r = start_receive(all[1], 0, 3, into);
    auto* const next = start_receive(all[1], 0, 3, more);
    finish(s, 1, r);
    ASSERT_TRUE(all.run([&] { return next->complete; }));
    all[1].drop(*next);
    EXPECT_EQ(into, data);
    EXPECT_EQ(more, second);
    // In many runs, in a frame and through a buffer.
    for (std::int64_t const n : {4, 3000}) {
        std::vector<int> const from(static_cast<std::size_t>(2 * n), 7);
        std::vector<int> got(static_cast<std::size_t>(n));
        mpt::typed_source const every_second{from.data(), 1,
                                             mpt::datatype::vector(n, 1, 2, mpt::datatype::named(mpt::element_kind::c_int))};
        auto const frames = sent(way::frame), loans = sent(way::loan);
        ASSERT_TRUE(all[0].lend_now(1, here, 5, mpt::source::of(every_second)));
        EXPECT_EQ(sent(way::frame) - frames, n == 4 ? 1u : 0u);
        EXPECT_EQ(sent(way::loan) - loans, n == 4 ? 0u : 1u);
        auto* const in = all[1].make();
        in->into = mpt::sink{std::as_writable_bytes(std::span{got})}, in->wanted = {here, mpt::rank{0}, mpt::tag{5}};
        all[1].receive(*in);
        ASSERT_TRUE(all.run([&] { return in->complete; }));
        all[1].drop(*in);
        EXPECT_EQ(got, std::vector<int>(static_cast<std::size_t>(n), 7));
    }
    // Longer than a loan: where it may be pushed, through a buffer that the pair passes on.
    std::vector<std::byte> const longest(2_MiB);
    EXPECT_FALSE(all[2].lend_now(1, here, 6, mpt::source{longest}));
    auto limits = read_from_4k();
    limits.pipeline_max = 1_GiB;
    all[2].tune(limits);
    EXPECT_TRUE(all[2].lend_now(1, here, 6, mpt::source{longest}));
    EXPECT_FALSE(all[2].lend_now(1, here, 6, mpt::source{longest})) << "one is at hand";
}

/// What a frame holds waits for one, and takes no buffer.
TEST_F(protocol_engine_readable, what_is_small_goes_in_a_frame_or_not_at_all) {
    std::byte const small{};
    while (all[0].send_now(1, here, 4, &small, 1)) {}
    std::array<int, 8> const ints{};
    mpt::typed_source const every_second{ints.data(), 1,
                                         mpt::datatype::vector(4, 1, 2, mpt::datatype::named(mpt::element_kind::c_int))};
    EXPECT_FALSE(all[0].lend_now(1, here, 4, mpt::source{std::span{&small, 1}}));
    EXPECT_FALSE(all[0].lend_now(1, here, 4, mpt::source{std::span{&small, 0}}));
    EXPECT_FALSE(all[0].lend_now(1, here, 4, mpt::source::of(every_second)));
    expect(0, 0);
    all.settle(); // they are kept at 1
    EXPECT_TRUE(all[0].lend_now(1, here, 4, mpt::source::of(every_second)));
    EXPECT_FALSE(all[0].lend_now(1, here, 4, mpt::source{std::span{&small, 1}})) << "send_now() has tried";
    expect(0, 0);
}

/// Two that send to each other: each copies all of its own at once. One that has nothing to send leaves half for the sender.
TEST_F(protocol_engine_readable, who_has_a_message_on_offer_to_the_sender_does_not_wait_for_its_help) {
    for (bool const both : {true, false}) {
        auto const long_one = pattern(1_MiB, 5);
        std::vector<std::byte> there(long_one.size()), back(long_one.size());
        auto* const s = start_send(all[0], 1, 3, long_one);
        auto* const answer = both ? start_send(all[1], 0, 3, long_one) : nullptr;
        auto* const r = start_receive(all[1], 0, 3, there);
        for (int i = 0; i < 2; ++i) all[1].progress(); // the announcement comes and is read; all of it is there
        EXPECT_EQ(r->complete, both);
        EXPECT_EQ(there == long_one, both);
        finish(s, 1, r);
        EXPECT_EQ(there, long_one);
        if (!answer) continue;
        auto* const got = start_receive(all[0], 1, 3, back);
        ASSERT_TRUE(all.run([&] { return answer->complete && got->complete; }));
        all[1].drop(*answer), all[0].drop(*got);
        EXPECT_EQ(back, long_one);
    }
}

/// What is not pushed later is not begun: its receiver would give the loan back unread.
TEST(protocol_engine_unread, nothing_goes_with_an_announcement_that_nobody_pushes) {
    for (bool const pushed : {true, false}) {
        auto limits = read_from_4k();
        if (pushed) limits.pipeline_max = 1_GiB;
        mpt::test::engines<mpt::transport::recording<mpt::transport::smp<>>> all{2, limits};
        auto const data = pattern(200'000);
        std::vector<std::byte> into(data.size());
        auto* const s = start_send(all[0], 1, 3, data);
        auto* const r = start_receive(all[1], 0, 3, into);
        ASSERT_TRUE(all.run([&] { return s->complete && r->complete; }));
        EXPECT_EQ(into, data);
        std::uint64_t begun = 0;
        all[0].wires().each([&](auto& wire) {
            if constexpr (requires { wire.sent(); }) begun += wire.sent().of(static_cast<std::uint16_t>(op::rts_begun));
        });
        EXPECT_EQ(begun, pushed ? 1u : 0u);
        all[0].drop(*s), all[1].drop(*r);
    }
}

} // namespace
