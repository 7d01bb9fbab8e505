#include <gtest/gtest.h>
#include <mpt/rma/watch.hpp>

#include "support/wires.hpp"

namespace {
using namespace mpt::test;
using mpt::datatype;
using mpt::element_kind;
using mpt::operation;
namespace rma = mpt::rma;

datatype const number = datatype::named(element_kind::int64);
constexpr rma::access puts{rma::touch::put, operation::replace};
constexpr rma::access gets{rma::touch::get, operation::no_op, element_kind::byte, true};
constexpr rma::access adds{rma::touch::update, operation::sum, element_kind::int64};

template <class Stack> struct rma_watch : over<Stack> {
    using view = typename over<Stack>::view;
    using watch = rma::watch<Stack>;

    /// fn(world, watch) on n ranks, which meet before the watches go.
    template <class F> static void on(int n, F&& fn) {
        over<Stack>::job(n, [&](view world) {
            auto const& s = world.native();
            watch w{*s.run, mpt::coll::team<Stack>{s.wire, s.who, s.me, s.rooted_calls}, 8};
            world.barrier();
            fn(world, w);
            world.barrier();
        });
    }
};
TYPED_TEST_SUITE(rma_watch, wires);

/// What is found where `n` numbers at a place of a target are touched.
rma::findings touched(auto& w, rma::access const& how, int target, int place, int n = 1) {
    return w.note({target, place, n, number}, how).second;
}
void expect_conflict(rma::findings const& f, char const* said) {
    ASSERT_TRUE(f);
    EXPECT_TRUE(f->conflicts);
    EXPECT_NE(f->what.find(said), std::string::npos) << f->what;
}
void expect_misuse(rma::findings const& f, char const* said) {
    ASSERT_TRUE(f);
    EXPECT_FALSE(f->conflicts);
    EXPECT_NE(f->what.find(said), std::string::npos) << f->what;
}
void fence(auto& world, auto& w, rma::promises p = {}) {
    EXPECT_FALSE(w.may_fence());
    EXPECT_FALSE(w.before_fence(p));
    world.barrier();
    EXPECT_FALSE(w.fenced());
}

TYPED_TEST(rma_watch, two_origins_that_write_one_place_conflict_until_the_next_fence) {
    this->on(3, [](auto world, auto& w) {
        fence(world, w);
        if (world.rank() == 1) { EXPECT_FALSE(touched(w, puts, 0, 3, 2)); }
        world.barrier();
        if (world.rank() == 2) {
            expect_conflict(touched(w, puts, 0, 4), "bytes 32 to 40 of rank 0's part");
            expect_conflict(touched(w, gets, 0, 2, 4), "written by rank 1");
            EXPECT_FALSE(touched(w, puts, 0, 5));
        }
        fence(world, w);
        if (world.rank() == 2) { EXPECT_FALSE(touched(w, puts, 0, 4)); }
        fence(world, w);
    });
}

TYPED_TEST(rma_watch, what_lies_between_anothers_elements_does_not_conflict) {
    this->on(2, [](auto world, auto& w) {
        auto const every_other = datatype::vector(4, 1, 2, number);
        fence(world, w);
        EXPECT_FALSE(w.note({0, world.rank().value, 1, every_other}, puts).second);
        fence(world, w);
        EXPECT_FALSE(w.note({0, 0, 1, every_other}, gets).second);
        fence(world, w);
    });
}

TYPED_TEST(rma_watch, a_passive_access_is_over_when_it_was_flushed_or_unlocked) {
    this->on(2, [](auto world, auto& w) {
        EXPECT_FALSE(w.locked(rma::lock_kind::shared, 0));
        if (world.rank() == 0) {
            EXPECT_FALSE(touched(w, puts, 0, 0));
            expect_conflict(touched(w, gets, 0, 0), "written by rank 0");
            w.flushed(0, true); // of this side alone
            expect_conflict(touched(w, gets, 0, 0), "written by rank 0");
            w.flushed(0);
            EXPECT_FALSE(touched(w, gets, 0, 0));
            w.flushed(0, true); // what was fetched is here
            EXPECT_FALSE(touched(w, puts, 0, 0));
        }
        world.barrier();
        if (world.rank() == 1) expect_conflict(touched(w, adds, 0, 0), "updated by this call");
        world.barrier();
        if (world.rank() == 0) w.unlocked(0);
        world.barrier();
        if (world.rank() == 1) {
            EXPECT_FALSE(touched(w, adds, 0, 0));
            w.unlocked(0);
        }
    });
}

TYPED_TEST(rma_watch, what_the_window_refused_is_dropped) {
    this->on(1, [](auto world, auto& w) {
        fence(world, w);
        auto const [number_of, found] = w.note({0, 0, 1, number}, puts);
        EXPECT_FALSE(found);
        w.drop(0, number_of);
        EXPECT_FALSE(touched(w, puts, 0, 0));
    });
}

TYPED_TEST(rma_watch, who_competes_against_a_promise_is_told) {
    this->on(2, [](auto world, auto& w) {
        if (world.rank() == 0) { EXPECT_FALSE(w.locked(rma::lock_kind::exclusive, 1)); }
        world.barrier();
        if (world.rank() == 1) {
            expect_misuse(w.locked(rma::lock_kind::shared, 1), "locked by rank 0");
            expect_misuse(w.locked(rma::lock_kind::exclusive, 1), "MPI_MODE_NOCHECK");
        }
        world.barrier();
        if (world.rank() == 0) w.unlocked(1);
        world.barrier();
        EXPECT_FALSE(w.locked(rma::lock_kind::shared, 1));
        world.barrier();
        w.unlocked(1);
        w.unlocked(1); // is nobody's
    });
}

TYPED_TEST(rma_watch, promises_of_fences_are_compared_with_what_was_done) {
    this->on(2, [](auto world, auto& w) {
        auto const me = world.rank().value;
        fence(world, w, {.no_put = me == 1}); // to the next one nobody changes rank 1's
        EXPECT_FALSE(touched(w, gets, 1, 0));
        expect_misuse(touched(w, puts, 1, 3), "MPI_MODE_NOPUT");
        expect_misuse(touched(w, adds, 1, 3), "rank 1's part");
        EXPECT_FALSE(touched(w, puts, 0, me));
        expect_misuse(w.before_fence({.no_precede = true}), "2 operations");
        fence(world, w);
        EXPECT_FALSE(w.before_fence({.no_precede = true}));
        EXPECT_FALSE(touched(w, puts, 1, me));
    });
}

TYPED_TEST(rma_watch, an_exposure_is_one_epoch_of_all_its_origins) {
    this->on(3, [](auto world, auto& w) {
        auto const me = world.rank().value;
        mpt::rank const first{0};
        std::span<mpt::rank const> const targets{&first, 1};
        if (me == 1) expect_misuse(w.before_start(targets, {.no_check = true}), "rank 0 of the window has not posted");
        world.barrier();
        for (int round = 0; round < 2; ++round) {
            if (me == 0) {
                EXPECT_FALSE(w.before_post({.no_check = true, .no_put = round == 1}));
                expect_misuse(w.may_fence(), "an exposure epoch is open");
            }
            world.barrier();
            if (me != 0) {
                EXPECT_FALSE(w.before_start(targets, {.no_check = true}));
                w.started();
            }
            if (me == 1 && round == 0) { EXPECT_FALSE(touched(w, puts, 0, 0)); }
            if (me == 1 && round == 1) expect_misuse(touched(w, puts, 0, 0), "MPI_MODE_NOPUT");
            world.barrier();
            if (me == 2 && round == 0) expect_conflict(touched(w, gets, 0, 0), "written by rank 1"); // who may be through
            if (me == 2 && round == 1) { EXPECT_FALSE(touched(w, gets, 0, 0)); }
            world.barrier();
            if (me == 0) w.waited();
        }
    });
}

TYPED_TEST(rma_watch, what_all_ranks_promise_to_a_fence_or_none_is_compared) {
    this->on(3, [](auto world, auto& w) {
        auto const me = world.rank().value;
        auto const meet = [&](rma::promises p) {
            EXPECT_FALSE(w.before_fence(p));
            world.barrier();
            return w.fenced();
        };
        EXPECT_FALSE(meet({.no_precede = true, .no_succeed = true}));
        auto const first = meet({.no_store = me == 0, .no_put = me == 1, .no_precede = me == 1});
        expect_misuse(first, me == 1 ? "MPI_MODE_NOPRECEDE is given to this fence by this rank and not by rank 0"
                                     : "MPI_MODE_NOPRECEDE is given to this fence by rank 1 of the window and not by this one");
        auto const second = meet({.no_succeed = me != 2});
        expect_misuse(second, me == 2 ? "MPI_MODE_NOSUCCEED is given to this fence by rank 0 of the window"
                                      : "MPI_MODE_NOSUCCEED is given to this fence by this rank and not by rank 2");
        EXPECT_FALSE(meet({}));
    });
}

TYPED_TEST(rma_watch, a_part_is_not_exposed_and_locked_at_once) {
    this->on(3, [](auto world, auto& w) {
        auto const me = world.rank().value;
        mpt::rank const first{0};
        if (me != 0) { EXPECT_FALSE(w.locked(rma::lock_kind::shared, 0)); }
        world.barrier();
        if (me == 0) expect_misuse(w.before_post({}), "rank 0's part of the window is locked by 2 ranks");
        world.barrier();
        if (me != 0) w.unlocked(0);
        world.barrier();
        if (me == 0) { EXPECT_FALSE(w.before_post({})); }
        world.barrier();
        if (me == 1) expect_misuse(w.before_start({&first, 1}, {.no_check = true}), "rank 0 of the window has posted without");
        if (me != 0) expect_misuse(w.locked(rma::lock_kind::shared, 0), "rank 0's part of the window is exposed");
        world.barrier();
        if (me == 0) w.waited();
        world.barrier();
        EXPECT_FALSE(w.locked(rma::lock_kind::shared, 0));
        w.unlocked(0);
    });
}

} // namespace
