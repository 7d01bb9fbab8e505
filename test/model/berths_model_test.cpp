// No schedule leaves a thread in its berth when what it waits for has happened, nor all of them when nobody looks any more.
#include <memory>

#include <gtest/gtest.h>
#include <mpt/lock/ticket.hpp>
#include <mpt/wait/berths.hpp>

#include "scheduler.hpp"

namespace {

using namespace mpt::model;
constexpr mpt::nanoseconds any_time{1};
constexpr unsigned schedules(unsigned n) { return MPT_THREAD_SANITIZER ? n / 10 : n; }

/// Threads wait on one lane, each for a request of its own; peers publish, and whoever looks takes what came and completes it, be it
/// another's.
template <class World> struct berths_program {
    unsigned waiters, peers;
    bool goes = true; // as it must

    struct state {
        typename mpt::lock::basic_ticket<1, 1, 2>::type<World> lock{World{}, mpt::fence_mode::both};
        mpt::wait::berths<World> all;
        std::array<typename World::word, 3> mail{}; // one a waiter
        std::array<model_data<int>, 3> complete{};  // under the lock
        std::array<std::uint32_t, 3> number{};
    };
    using node = typename mpt::lock::basic_ticket<1, 1, 2>::type<World>::node;

    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        for (unsigned p = 0; p < peers; ++p)
            x.thread([s, p, step = peers, n = waiters] {
                for (auto i = p; i < n; i += step) s->mail[i].store(1, std::memory_order_release);
            });
        for (unsigned i = 0; i < waiters; ++i) x.thread([s, i, me = *this] { me.wait(*s, i); });
    }

    void progress(state& s) const {
        for (unsigned i = 0; i < waiters; ++i) {
            if (s.complete[i].get() != 0 || s.mail[i].load(std::memory_order_acquire) == 0) continue;
            s.complete[i].set(1);
            if (s.number[i] != 0) s.all.rouse(World{}, s.number[i]);
        }
    }
    void wait(state& s, unsigned me) const {
        node mine;
        s.lock.acquire(mine);
        s.all.come();
        for (;;) {
            progress(s);
            if (s.complete[me].get() != 0) break;
            auto* const b = s.all.take(s.number[me]);
            s.lock.release(mine);
            if (b) b->sleep(World{}, any_time);
            else World{}.yield();
            s.lock.acquire(mine);
            if (b) s.all.leave(*b);
        }
        if (goes) s.all.go(World{});
        s.lock.release(mine);
    }
};

TEST(berths_model, wakes_everybody_whose_request_is_complete) {
    for (auto const& result : {check({.schedules = schedules(5000)}, berths_program<model_world>{2, 1}),
                               check({.schedules = schedules(5000)}, berths_program<model_world>{3, 1}),
                               check({.schedules = schedules(3000)}, berths_program<model_world>{3, 3})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST(berths_model, bears_sleepers_that_wake_early) {
    auto const result =
        check({.schedules = schedules(3000), .timeouts = true, .early_wakeups = true}, berths_program<model_world>{3, 2});
    EXPECT_TRUE(result.ok) << result.report;
}

TEST(berths_model, would_lose_a_thread_if_the_last_that_looks_roused_nobody) {
    auto const result = check({.schedules = schedules(5000)}, berths_program<model_world>{2, 2, false});
    EXPECT_FALSE(result.ok);
    EXPECT_NE(result.what.find("lost wake-up"), std::string::npos) << result.what;
}

} // namespace
