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

/// How many of 100 answers of 40 KB, by a thread of its own, are read while they are written.
std::uint64_t begun_answers(engine_limits const& limits) {
    mpt::test::engines<mpt::transport::recording<mpt::transport::smp<>>> all{2, limits};
    constexpr int rounds = 100;
    auto const data_of = [](int i) { return pattern(40'000, static_cast<unsigned>(i)); };
    std::thread sender{[&] {
        for (int i = 0; i < rounds; ++i) {
            auto const data = data_of(i);
            std::byte question{};
            while (!all[0].receive_now(1, here, i, &question, 1)) {}
            while (!all[0].send_now(1, here, i, data.data(), data.size())) all[0].progress();
        }
    }};
    for (int i = 0; i < rounds; ++i) {
        auto const data = data_of(i);
        std::vector<std::byte> into(data.size());
        auto* const r = start_receive(all[1], 0, i, into);
        EXPECT_TRUE(all[1].send_now(0, here, i, data.data(), 1));
        while (!r->complete) all[1].progress();
        EXPECT_EQ(into, data) << i;
        all[1].drop(*r);
    }
    sender.join();
    std::uint64_t begun = 0;
    all[0].wires().each([&](auto& wire) {
        if constexpr (requires { wire.sent(); }) begun += wire.sent().of(static_cast<std::uint16_t>(op::e1_begun));
    });
    return begun;
}

TEST(protocol_both_ends, answers_are_read_while_they_are_written_also_where_cpus_are_shared_while_nobody_takes_yields) {
    yields y;
    engine_limits l;
    l.scarce = true;
    l = l.asking(y);
    EXPECT_EQ(begun_answers(l), 0u);
    take(y, true);
    EXPECT_GT(begun_answers(l), 90u);
    take(y, false);
    EXPECT_EQ(begun_answers(l), 0u);
}
} // namespace
