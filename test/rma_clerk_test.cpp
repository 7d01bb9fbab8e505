#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/rma/clerk.hpp>
#include <mpt/rma/window.hpp>

#include "support/wires.hpp"

namespace {
using namespace mpt::test;
namespace rma = mpt::rma;

mpt::datatype const number = mpt::datatype::named(mpt::element_kind::int64);

/// Windows over streams, of memory that only agents reach.
struct rma_clerk : over<mpt::local_stream_stack> {
    using window = rma::window<mpt::local_stream_stack>;

    static std::unique_ptr<window> fresh(view const& world, std::vector<std::int64_t>& own) {
        auto const& s = world.native();
        rma::wanted const w{rma::flavor::create, std::as_writable_bytes(std::span{own}), own.size() * 8, 8};
        return rma::make_window(*s.run, mpt::coll::team<mpt::local_stream_stack>{s.wire, s.who, s.me, s.rooted_calls}, w);
    }
    /// Each adds one to the other's number, who does nothing for it.
    static void use(view const& world, window& w, std::vector<std::int64_t> const& own) {
        std::int64_t const one = 1;
        w.lock(rma::lock_kind::shared, 1 - world.rank());
        w.accumulate({&one, 1, number}, {1 - world.rank(), 0, 1, number}, mpt::operation::sum);
        w.unlock(1 - world.rank());
        world.barrier();
        EXPECT_EQ(own[0], 1);
    }
};

/// All that there are.
template <class Runtime> auto clerks_of(Runtime& run) {
    return run.with_clerks([](auto places) {
        std::vector<std::remove_cvref_t<decltype(places[0])>> all;
        for (auto const& c : places)
            if (c) all.push_back(c);
        return all;
    });
}

TEST_F(rma_clerk, one_serves_window_after_window) {
    job(2, [](view world) {
        auto& run = *world.native().run;
        EXPECT_TRUE(clerks_of(run).empty());
        for (int i = 0; i < 20; ++i) {
            std::vector<std::int64_t> own(3);
            auto const w = fresh(world, own);
            use(world, *w, own);
            auto const all = clerks_of(run);
            ASSERT_EQ(all.size(), 1u);
            EXPECT_EQ(all[0]->served(), 1u);
            w->free();
            EXPECT_EQ(all[0]->served(), 0u);
        }
        run.leave();
        EXPECT_TRUE(clerks_of(run).empty()) << "no thread of ours outlives the rank's leave";
    });
}
TEST_F(rma_clerk, many_windows_share_a_few) {
    job(2, [](view world) {
        auto& run = *world.native().run;
        constexpr std::size_t n = 60;
        std::vector<std::vector<std::int64_t>> own(n, std::vector<std::int64_t>(3));
        std::vector<std::unique_ptr<window>> all(n);
        for (std::size_t i = 0; i < n; ++i) all[i] = fresh(world, own[i]);
        auto const clerks = clerks_of(run);
        ASSERT_EQ(clerks.size(), 4u);
        for (auto const& c : clerks) EXPECT_EQ(c->served(), n / 4);
        for (std::size_t i = 0; i < n; ++i) use(world, *all[i], own[i]);
        // Every third goes, and comes again: it takes the place of one that has gone.
        for (std::size_t i = 0; i < n; i += 3) all[i]->free(), own[i].assign(3, 0);
        for (std::size_t i = 0; i < n; i += 3) all[i] = fresh(world, own[i]);
        for (std::size_t i = 0; i < n; i += 3) use(world, *all[i], own[i]);
        for (auto const& w : all) w->free();
        for (auto const& c : clerks) EXPECT_EQ(c->served(), 0u);
    });
}

/// Counts the looks for it, and waits in each as long as it is told to.
struct counted final : rma::duty {
    std::atomic<int> looks{0}, at_all{0}, inside{0};
    std::atomic<bool> holds{false};
    bool do_next(bool all) override {
        ++looks, at_all += all, ++inside;
        while (holds) std::this_thread::yield();
        return --inside, false;
    }
};
/// Deadlines are ten times what is allowed, the longest nap.
template <class F> bool comes(F const& what) {
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (!what())
        if (std::chrono::steady_clock::now() > end) return false;
        else std::this_thread::yield();
    return true;
}
/// While it is there, who is served; in the end it holds nobody up, and has left.
template <class Clerk> struct served {
    Clerk& by;
    counted& who;
    bool is_left = false;
    served(Clerk& c, counted& d) : by{c}, who{d} { c.serve(d); }
    ~served() {
        who.holds = false;
        leave();
    }
    served(served const&) = delete;
    void leave() {
        if (!std::exchange(is_left, true)) by.leave(who);
    }
};
struct rma_clerk_alone : rma_clerk {
    template <class F> static void with_clerk(F f) {
        job(1, [&](view world) {
            mpt::world::bell<mpt::world::threads> bell;
            rma::clerk<mpt::local_stream_stack> c{*world.native().run, bell};
            f(c);
        });
    }
};

TEST_F(rma_clerk_alone, of_one_window_looks_at_all) {
    with_clerk([](auto& c) {
        counted one;
        c.serve(one);
        EXPECT_TRUE(comes([&] { return one.looks > 100; })) << "it looks for a while, then after each nap";
        c.leave(one);
        EXPECT_EQ(one.at_all, one.looks);
    });
}
TEST_F(rma_clerk_alone, of_several_looks_at_all_after_a_nap_that_nobody_has_ended) {
    with_clerk([](auto& c) {
        counted one, other;
        c.serve(one), c.serve(other);
        EXPECT_TRUE(comes([&] { return one.at_all > 2 && other.at_all > 2; }));
        EXPECT_LT(other.at_all, other.looks) << "all other looks ask who has rung";
        c.leave(one), c.leave(other);
    });
}
TEST_F(rma_clerk_alone, that_is_busy_with_one_window_lets_another_go) {
    with_clerk([](auto& c) {
        counted busy, gone, later;
        busy.holds = true;
        served const first{c, busy};
        served second{c, gone};
        ASSERT_TRUE(comes([&] { return busy.inside == 1; }));
        second.leave();
        EXPECT_EQ(c.served(), 1u);
        served const third{c, later};
        EXPECT_EQ(busy.inside, 1) << "and all that did not wait for it";
        busy.holds = false;
        EXPECT_TRUE(comes([&] { return later.looks > 0; }));
        int const seen = gone.looks;
        EXPECT_TRUE(comes([&] { return later.looks > 10; }));
        EXPECT_EQ(gone.looks, seen) << "who has gone is not looked for";
    });
}
TEST_F(rma_clerk_alone, has_done_with_whom_it_is_told_to_leave) {
    with_clerk([](auto& c) {
        counted one;
        one.holds = true;
        served it{c, one};
        ASSERT_TRUE(comes([&] { return one.inside == 1; }));
        std::thread frees{[&] { it.leave(); }};
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        EXPECT_EQ(c.served(), 1u) << "leave() waits";
        one.holds = false;
        frees.join();
        EXPECT_EQ(one.inside, 0);
        EXPECT_EQ(c.served(), 0u);
    });
}
} // namespace
