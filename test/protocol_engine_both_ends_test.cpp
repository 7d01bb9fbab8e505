// Messages that both ranks copy at once: where each has a CPU, and where ranks share CPUs, while nobody else wants them.
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/transport/recording.hpp>

#include "support/engines.hpp"

namespace {
using namespace mpt::literals;
using namespace mpt::protocol;
using mpt::nanoseconds;
using mpt::test::here;
using mpt::test::pattern;
using mpt::test::start_receive;
using mpt::test::start_send;
using mpt::wait::yields;

void take(yields& y, bool in_vain) {
    for (unsigned i = 0; i < yields::row; ++i) y.took(in_vain ? nanoseconds{100} : nanoseconds{10'000});
}

TEST(protocol_both_ends, is_as_the_user_says_where_each_rank_has_a_cpu) {
    EXPECT_TRUE(engine_limits{}.from_both_ends(1_GiB));
    engine_limits off;
    off.both_ends = false;
    EXPECT_FALSE(off.from_both_ends(1_KiB));
}

TEST(protocol_both_ends, where_cpus_are_shared_is_for_short_ones_while_nobody_takes_yields) {
    yields y;
    engine_limits l;
    l.scarce = true;
    EXPECT_FALSE(l.from_both_ends(1_KiB)) << "who could know";
    l = l.asking(y);
    EXPECT_FALSE(l.from_both_ends(1_KiB)) << "nothing is known yet";
    take(y, true);
    EXPECT_TRUE(l.from_both_ends(512_KiB));
    EXPECT_FALSE(l.from_both_ends(512_KiB + 1));
    take(y, false);
    EXPECT_FALSE(l.from_both_ends(1_KiB));
    take(y, true);
    l.both_ends = false;
    EXPECT_FALSE(l.from_both_ends(1_KiB)) << "the user says so";
}

TEST(protocol_limits, what_lies_in_one_loan_goes_past_the_caches_at_half_the_length) {
    engine_limits l;
    l.cached_max = 1_MiB;
    EXPECT_FALSE(l.goes_past(512_KiB));
    EXPECT_TRUE(l.goes_past(512_KiB + 1));
    l.cached_max = 0;
    EXPECT_TRUE(l.goes_past(1));
}

TEST(protocol_both_ends, where_cpus_are_shared_a_loan_of_512_kib_goes_in_whole_and_what_is_longer_is_announced) {
    engine_limits l;
    l.scarce = true;
    mpt::test::engines<mpt::transport::smp<>> all{2, l};
    for (int i = 0; i < 10; ++i) { // to and fro: each passes the buffer on
        auto& from = all[i % 2];
        auto& to = all[1 - i % 2];
        auto const data = pattern(i < 4 ? 100'000 : 512 * 1024, static_cast<unsigned>(i));
        std::vector<std::byte> into(data.size());
        ASSERT_TRUE(from.send_now(1 - i % 2, here, i, data.data(), data.size())) << i;
        received got;
        while (!got) got = to.receive_now(i % 2, here, i, into.data(), into.size());
        EXPECT_EQ(into, data) << i;
    }
    auto const more = pattern(512 * 1024 + 1);
    EXPECT_FALSE(all[0].send_now(1, here, 3, more.data(), more.size()));
    all[0].tune({});
    EXPECT_TRUE(all[0].send_now(1, here, 3, more.data(), more.size())) << "where each has a CPU";
}

/// How many of 100 answers of 40 KB, by a thread of its own, go by such frames.
std::uint64_t answers_by(op kind, engine_limits const& limits) {
    mpt::test::engines<mpt::transport::recording<mpt::transport::smp<>>> all{2, limits};
    all[1].tune({}); // what its yields take is not to matter
    constexpr int rounds = 100;
    auto const data_of = [](int i) { return pattern(40'000, static_cast<unsigned>(i)); };
    std::thread sender{[&] {
        for (int i = 0; i < rounds; ++i) {
            auto const data = data_of(i);
            std::vector<std::byte> question(1);
            auto* const asked = start_receive(all[0], 1, i, question); // it may be kept already, so no receive_now
            while (!asked->complete)
                if (all[0].progress() == 0) std::this_thread::yield();
            all[0].drop(*asked);
            if (all[0].send_now(1, here, i, data.data(), data.size())) continue;
            auto* const s = start_send(all[0], 1, i, data);
            while (!s->complete)
                if (all[0].progress() == 0) std::this_thread::yield();
            all[0].drop(*s);
        }
    }};
    for (int i = 0; i < rounds; ++i) {
        auto const data = data_of(i);
        std::vector<std::byte> into(data.size());
        auto* const r = start_receive(all[1], 0, i, into);
        while (!all[1].send_now(0, here, i, data.data(), 1)) all[1].progress();
        while (!r->complete)
            if (all[1].progress() == 0) std::this_thread::yield();
        EXPECT_EQ(into, data) << i;
        all[1].drop(*r);
    }
    sender.join();
    std::uint64_t sent = 0;
    all[0].wires().each([&](auto& wire) {
        if constexpr (requires { wire.sent(); }) sent += wire.sent().of(static_cast<std::uint16_t>(kind));
    });
    return sent;
}

TEST(protocol_both_ends, answers_are_read_while_they_are_written_also_where_cpus_are_shared_while_nobody_takes_yields) {
    yields y;
    engine_limits l;
    l.scarce = true;
    l = l.asking(y);
    auto announced = l;
    announced.eager_max = 16_KiB;
    EXPECT_EQ(answers_by(op::e1_begun, l), 0u);
    EXPECT_EQ(answers_by(op::rts, announced), 100u);
    take(y, true);
    EXPECT_GT(answers_by(op::e1_begun, l), 90u);
    take(y, true);
    EXPECT_GT(answers_by(op::rts_begun, announced), 90u);
    take(y, false);
    EXPECT_EQ(answers_by(op::e1_begun, l), 0u);
    EXPECT_EQ(answers_by(op::rts, announced), 100u);
}
} // namespace
