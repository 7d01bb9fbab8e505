// Rows of a window's part under every schedule: no change of an element is lost between those who change elements and who owns the
// rows, and each order of the header is needed.
#include <array>
#include <memory>

#include <gtest/gtest.h>
#include <mpt/rma/rows.hpp>

#include "scheduler.hpp"

namespace {
using namespace mpt::model;
using mpt::rma::turn;

/// Each of `threads` threads changes the part `rounds` times. They are of `ranks` ranks in turn; of each, the first that comes has a
/// place. By turns a thread would have the part to itself, if it is among the first `greedy`.
struct program {
    int threads, ranks, rounds, greedy;

    static constexpr unsigned places = 1;
    struct state {
        mpt::rma::rows<model_world, places> rows;
        std::array<mpt::rma::stays<model_world, places>, 4> stays;
        model_atomics::atomic<int> element{0};
        model_data<int> row;
    };
    void operator()(execution& x) const {
        auto s = std::make_shared<state>();
        for (int t = 0; t < threads; ++t)
            x.thread([s, p = *this, t] {
                for (int i = 0; i < p.rounds; ++i) p.pass(*s, t % p.ranks, t + 1u, t < p.greedy && (t + i) % 2 == 0);
            });
        x.finally([s, all = threads * rounds] {
            require(s->element.load(std::memory_order_relaxed) == all, "every change counted");
        });
    }
    void pass(state& s, int me, std::uint64_t thread, bool takes) const {
        auto& mine = s.stays[static_cast<std::size_t>(me)];
        auto const of = [&s](std::int32_t r) -> auto& { return s.stays[static_cast<std::size_t>(r)]; };
        for (;;) {
            auto const visit = s.rows.enter(mine, me, thread);
            if (visit.may == turn::nothing) {
                s.rows.give_to_all(model_world{}, ranks, of);
                continue;
            }
            if (visit.may == turn::rows) {
                auto const was = s.element.load(std::memory_order_relaxed);
                s.row.set(was);
                s.element.store(was + 1, std::memory_order_relaxed); // nobody else is at it
                return mine.end(visit.place);
            }
            if (!std::exchange(takes, false)) {
                static_cast<void>(s.row.get()); // what an owner did is there
                s.element.fetch_add(1, std::memory_order_relaxed);
                return mine.end(visit.place);
            }
            mine.end(visit.place);
            s.rows.take(model_world{}, me, visit.place, ranks, of);
        }
    }
};
constexpr unsigned schedules(unsigned n) { return MPT_THREAD_SANITIZER ? n / 10 : n; }

TEST(rows_model, lose_no_change_while_their_owner_changes) {
    for (auto const& result : {check({.schedules = schedules(10'000)}, program{2, 2, 4, 1}),
                               check({.schedules = schedules(10'000)}, program{2, 2, 4, 2}),
                               check({.schedules = schedules(10'000)}, program{3, 3, 3, 1}),
                               check({.schedules = schedules(10'000)}, program{3, 3, 3, 3})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST(rows_model, lose_no_change_of_threads_of_one_rank) {
    for (auto const& result : {check({.schedules = schedules(10'000)}, program{2, 1, 4, 2}),
                               check({.schedules = schedules(10'000)}, program{3, 2, 3, 3}),
                               check({.schedules = schedules(5000)}, program{4, 2, 2, 4}),
                               check({.schedules = schedules(5000)}, program{4, 1, 2, 4})})
        EXPECT_TRUE(result.ok) << result.report;
}

TEST(rows_model, need_every_order_of_their_header) {
    for (auto const& m : needless({.schedules = schedules(20'000)}, program{4, 2, 3, 4}, "rows.hpp")) ADD_FAILURE() << m;
}
} // namespace
