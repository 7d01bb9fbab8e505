// Messages that are looked at before they are received, and what who polls does for others.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "support/wires.hpp"

namespace {
using namespace mpt;

constexpr auto pattern = test::numbered;
constexpr auto somewhere = test::on_channels<local_stack>::somewhere;

template <class Stack> using stack_probe = test::on_channels<Stack>;
TYPED_TEST_SUITE(stack_probe, test::wires);

/// To and fro, by each sort of probe, of a rank and of any; the receive that follows gets the very message.
TYPED_TEST(stack_probe, tells_of_the_message_that_the_next_receive_gets) {
    for (auto const& v : {config::values{}, config::values{}.set<"MPT_WAIT">("sleep"), config::values{}.set<"MPT_SPIN">("3")})
        this->on(2, v, [](auto const& w, int me) {
            unsigned turn = 0;
            for (std::size_t const n : {0u, 8u, 40u, 41u, 200u, 1000u, 5000u, 8193u, 70'000u, 1'500'000u})
                for (bool const asks : {false, true})
                    for (bool const any : {false, true}) {
                        auto const data = pattern(n, ++turn);
                        std::vector<std::byte> into(n);
                        if (me == 0) w.send(1, 3, data);
                        outcome seen;
                        if (asks)
                            while (!w.iprobe(any ? any_source : rank{1 - me}, any ? any_tag : tag{3}, seen)) {}
                        else seen = w.probe(any ? any_source : rank{1 - me}, any ? any_tag : tag{3});
                        EXPECT_EQ(seen.source, 1 - me);
                        EXPECT_EQ(seen.label, 3);
                        EXPECT_EQ(seen.bytes, n);
                        EXPECT_EQ(w.recv(seen.source, seen.label, into).bytes, n);
                        EXPECT_EQ(into, data);
                        if (me == 1) w.send(0, 3, data);
                    }
        });
}

TYPED_TEST(stack_probe, finds_the_first_that_fits_behind_others_and_leaves_them) {
    this->on(2, [](auto const& w, int me) {
        for (int i = 0; i < 20; ++i) {
            if (me == 0) {
                for (int const label : {1, 2, 2, 3}) w.send(1, label, pattern(static_cast<std::size_t>(10 * label + i), 1));
                w.recv(1, 4, {});
                continue;
            }
            std::vector<std::byte> into(100);
            EXPECT_EQ(w.probe(0, 2).bytes, 20u + static_cast<unsigned>(i));
            EXPECT_EQ(w.probe(any_source, 3).bytes, 30u + static_cast<unsigned>(i));
            EXPECT_EQ(w.probe(0, any_tag).label, 1) << "the earliest";
            for (int const label : {2, 3, 2, 1}) EXPECT_EQ(w.recv(0, label, into).bytes, static_cast<unsigned>(10 * label + i));
            outcome none;
            EXPECT_FALSE(w.iprobe(0, any_tag, none));
            EXPECT_FALSE(w.iprobe(any_source, any_tag, none));
            w.send(0, 4, {});
        }
    });
}

TYPED_TEST(stack_probe, of_one_question_finds_what_the_rank_sent_to_itself) {
    this->on(2, [](auto const& w, int me) {
        std::vector<std::byte> into(8);
        for (int i = 0; i < 50; ++i)
            for (int const from : {me, int{any_source}}) {
                outcome seen;
                EXPECT_FALSE(w.iprobe(from, any_tag, seen));
                w.send(me, 5, pattern(8, 1));
                EXPECT_TRUE(w.iprobe(from, any_tag, seen));
                EXPECT_EQ(seen.source, me);
                EXPECT_EQ(w.recv(me, 5, into).bytes, 8u);
            }
    });
}

TYPED_TEST(stack_probe, a_matched_probe_takes_its_message_away_from_everybody) {
    this->on(2, [](auto const& w, int me) {
        if (me == 0) return w.send(1, 1, pattern(5000, 1)), w.send(1, 1, pattern(3, 2));
        auto* taken = w.mprobe(0, 1);
        ASSERT_NE(taken, nullptr);
        EXPECT_EQ(taken->size, 5000u);
        EXPECT_EQ(w.probe(any_source, any_tag).bytes, 3u);
        std::vector<std::byte> small(3), large(5000);
        w.recv(0, 1, small);
        EXPECT_EQ(small, pattern(3, 2));
        w.recv(*taken, large);
        EXPECT_EQ(large, pattern(5000, 1));
        EXPECT_EQ(w.improbe(0, 1), nullptr);
    });
}

/// To and fro: the message is most often taken from its wire.
TYPED_TEST(stack_probe, a_matched_probe_waits_for_its_message) {
    for (auto const& v : {config::values{}, config::values{}.set<"MPT_WAIT">("sleep"), config::values{}.set<"MPT_SPIN">("3")})
        this->on(2, v, [](auto const& w, int me) {
            unsigned turn = 0;
            for (std::size_t const n : {0u, 8u, 40u, 41u, 200u, 1000u, 5000u, 8193u, 70'000u, 1'500'000u})
                for (auto const from : {rank{1 - me}, any_source})
                    for (auto const label : {tag{3}, any_tag}) {
                        auto const data = pattern(n, ++turn);
                        std::vector<std::byte> into(n);
                        if (me == 0) w.send(1, 3, data);
                        auto* const taken = w.mprobe(from, label);
                        EXPECT_EQ(taken->from, 1 - me);
                        EXPECT_EQ(taken->label, 3);
                        EXPECT_EQ(taken->size, n);
                        EXPECT_EQ(w.recv(*taken, into).bytes, n);
                        EXPECT_EQ(into, data);
                        if (me == 1) w.send(0, 3, data);
                    }
        });
}

// --- polls -----------------------------------------------------------------------------------------------------------------

struct yielding_world : world::threads {
    static inline std::atomic<int> yields{0};
    void yield() const noexcept { ++yields; } // takes no time, so that none is dear
};

TEST(stack_polls, in_vain_let_others_of_the_cpu_go_first_where_cpus_are_scarce) {
    using stack_type = stack<yielding_world>;
    auto const yields_of = [](config::values const& v, auto&& poll) {
        int yields = 0;
        local_job<stack_type>(1, v, [&](environment<stack_type>& env) {
            channel<stack_type> const w{env.native().lane_of(somewhere), somewhere};
            auto const before = yielding_world::yields.load();
            for (unsigned i = 0; i < 4 * wait::yields::vain_polls; ++i) poll(w);
            yields = yielding_world::yields - before;
        });
        return yields;
    };
    auto const scarce = config::values{}.set<"MPT_WAIT">("sleep");
    auto const asks = [](auto const& w) {
        outcome seen;
        EXPECT_FALSE(w.iprobe(any_source, any_tag, seen));
    };
    auto const takes = [](auto const& w) { EXPECT_EQ(w.improbe(0, any_tag), nullptr); };
    auto const tests = [](auto const& w) {
        auto* const r = w.start_recv(0, 1, sink{});
        EXPECT_FALSE(w.test(*r));
        w.abandon(*r, {});
    };
    EXPECT_EQ(yields_of(scarce, asks), 4);
    EXPECT_EQ(yields_of(scarce, takes), 4);
    EXPECT_GE(yields_of(scarce, tests), 4);
    auto const plenty = config::values{}.set<"MPT_WAIT">("spin");
    EXPECT_EQ(yields_of(plenty, asks), 0);
    EXPECT_EQ(yields_of(plenty, takes), 0);
    EXPECT_EQ(yields_of(plenty, tests), 0);
    EXPECT_EQ(yields_of(scarce,
                        [](auto const& w) {
                            outcome seen;
                            w.send(0, 1, {});
                            EXPECT_TRUE(w.iprobe(0, 1, seen));
                            w.recv(0, 1, {});
                        }),
              0)
        << "they find something";
}

/// One whose clock stands still but in yields: somebody takes those of a thread that tells, and the other rank sends meanwhile.
struct taken_world : world::threads {
    static constexpr int most = 3;
    static inline std::atomic<int> yields{0}, sent{0};
    static inline std::atomic<std::int64_t> clock{0};
    static inline thread_local bool tells = false;
    nanoseconds now() const noexcept { return nanoseconds{clock}; }
    void yield() const noexcept {
        if (!tells) return std::this_thread::yield();
        clock += 3 * wait::yields::in_vain.count();
        for (auto const n = std::min(++yields, most); sent < n;) std::this_thread::yield();
    }
};

TEST(stack_polls, yield_soon_where_somebody_took_the_last_yields) {
    using stack_type = stack<taken_world>;
    constexpr std::uint64_t spins = 1000;
    taken_world::yields = taken_world::sent = 0;
    local_job<stack_type>(2, config::values{}.set<"MPT_SPIN">("1000"), [&](environment<stack_type>& env) {
        auto& lane = env.native().lane_of(somewhere);
        channel<stack_type> const w{lane, somewhere};
        bool const scarce = lane.facts().scarce;                                        // then each wait yields at once
        auto const until = std::chrono::steady_clock::now() + std::chrono::seconds{20}; // or it has waited without a yield
        for (int i = 1; i <= taken_world::most; ++i) {
            if (env.rank() == 0) {
                while (taken_world::yields < i && std::chrono::steady_clock::now() < until) std::this_thread::yield();
                w.send(1, i, {});
                taken_world::sent = i;
                continue;
            }
            auto const before = lane.engine().counted().rounds;
            taken_world::tells = true;
            EXPECT_EQ(w.probe(any_source, i).label, i);
            taken_world::tells = false;
            auto const rounds = lane.engine().counted().rounds - before;
            if (i == 1 && !scarce) { EXPECT_GE(rounds, spins) << "the CPU is thought to be ours"; }
            if (i > 1) { EXPECT_LT(rounds, spins / 4) << i; }
            w.recv(0, i, {});
        }
    });
    EXPECT_EQ(taken_world::yields, taken_world::most);
}

} // namespace
