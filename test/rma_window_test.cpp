#include <array>
#include <atomic>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <mpt/rma/window.hpp>

#include "support/expect_error.hpp"
#include "support/wires.hpp"

namespace {
using namespace mpt::test;
using mpt::datatype;
using mpt::element_kind;
using mpt::error_class;
using mpt::operation;
namespace rma = mpt::rma;

datatype const number = datatype::named(element_kind::int64);

template <class Stack> struct rma_window : over<Stack> {
    using view = typename over<Stack>::view;
    using window = rma::window<Stack>;

    static std::unique_ptr<window> make(view const& world, rma::wanted const& w) {
        auto const& s = world.native();
        return rma::make_window(*s.run, mpt::coll::team<Stack>{s.wire, s.who, s.me, s.rooted_calls}, w);
    }
    /// fn(world, window of 8 numbers of each rank) on n ranks; the window is freed after it.
    template <class F> static void on(int n, F&& fn, rma::flavor how = rma::flavor::allocate) {
        over<Stack>::job(n, [&](view world) {
            std::vector<std::int64_t> own(8);
            auto const w = make(world, {how, std::as_writable_bytes(std::span{own}), 64, 8});
            fn(world, *w);
            w->free();
        });
    }
};
TYPED_TEST_SUITE(rma_window, wires);

std::int64_t& at(auto& window, int i) { return reinterpret_cast<std::int64_t*>(window.own().base)[i]; }
void put(auto& w, std::int64_t x, int target, int place) { w.put({&x, 1, number}, {target, place, 1, number}); }
std::int64_t get(auto& w, int target, int place) {
    std::int64_t x = -1;
    w.get({&x, 1, number}, {target, place, 1, number});
    return x;
}

TYPED_TEST(rma_window, a_fence_completes_on_both_sides) {
    for (auto const how : {rma::flavor::create, rma::flavor::allocate, rma::flavor::shared})
        this->on(
            3,
            [](auto world, auto& w) {
                int const me = world.rank(), next = (me + 1) % 3;
                EXPECT_EQ(w.size(), 3);
                EXPECT_EQ(w.me(), me);
                EXPECT_EQ(w.own().size, 64u);
                w.fence();
                put(w, 10 + me, next, 2);
                w.fence();
                EXPECT_EQ(at(w, 2), 10 + (me + 2) % 3);
                EXPECT_EQ(get(w, next, 2), 10 + me);
                w.fence({.no_succeed = true});
            },
            how);
}

/// The target does nothing but compute until it sees what came.
TYPED_TEST(rma_window, passive_targets_do_nothing_for_it) {
    for (auto const how : {rma::flavor::create, rma::flavor::allocate})
        this->on(
            2,
            [](auto world, auto& w) {
                if (world.rank() == 0) {
                    w.lock(rma::lock_kind::shared, 1);
                    put(w, 7, 1, 0);
                    w.flush(1);
                    std::int64_t const one = 1;
                    w.accumulate({&one, 1, number}, {1, 1, 1, number}, operation::replace);
                    w.unlock(1);
                    return;
                }
                w.lock(rma::lock_kind::shared, 1);
                // No call of mpt's: its own memory, read as whoever computes may.
                while (std::atomic_ref{at(w, 1)}.load() == 0) std::this_thread::yield();
                EXPECT_EQ(at(w, 0), 7);
                w.unlock(1);
            },
            how);
}

TYPED_TEST(rma_window, post_and_start_meet_complete_and_wait_too) {
    this->on(3, [](auto world, auto& w) {
        int const me = world.rank();
        auto const some = [](std::vector<std::int32_t> r) { return mpt::group::of(std::move(r)); };
        for (int round = 0; round < 20; ++round) {
            if (me == 0) { // the origin of both
                w.start(some({1, 2}));
                put(w, round, 1, 0), put(w, 100 + round, 2, 1);
                w.complete();
            } else {
                w.post(some({0}));
                if (round % 2 == 0) w.wait();
                else
                    while (!w.test()) std::this_thread::yield();
                EXPECT_EQ(at(w, me - 1), me == 1 ? round : 100 + round);
            }
        }
    });
}

TYPED_TEST(rma_window, who_locks_alone_is_alone) {
    for (int const n : {3, 11}) // of so many some find no place in line
        this->on(n, [n](auto world, auto& w) {
            for (int i = 0; i < 150 / n; ++i) {
                w.lock(rma::lock_kind::exclusive, 0);
                auto const x = get(w, 0, 3);
                w.flush(0);
                put(w, x + 1, 0, 3);
                w.unlock(0);
            }
            world.barrier();
            w.lock(rma::lock_kind::shared, 0);
            EXPECT_EQ(get(w, 0, 3), 150 / n * n);
            w.unlock(0);
        });
}

TYPED_TEST(rma_window, all_are_locked_at_once_or_none) {
    this->on(3, [](auto world, auto& w) {
        int const me = world.rank();
        if (me == 1) w.lock(rma::lock_kind::exclusive, 2);
        world.barrier();
        if (me == 0) { EXPECT_FALSE(w.try_lock_all()); }
        world.barrier();
        if (me == 1) { // what rank 0 had of it, it has given back
            EXPECT_TRUE(w.try_lock(rma::lock_kind::exclusive, 0));
            w.unlock(0), w.unlock(2);
        }
        world.barrier();
        EXPECT_TRUE(w.try_lock_all());
        EXPECT_FALSE(w.try_lock_all());
        put(w, 10 + me, (me + 1) % 3, 2);
        if (!w.try_unlock_all()) w.unlock_all();
        EXPECT_FALSE(w.try_unlock_all());
        world.barrier();
        EXPECT_EQ(at(w, 2), 10 + (me + 2) % 3);
    });
}

/// Two who share leave when the other has come, or has not for long.
TYPED_TEST(rma_window, who_share_and_relieve_each_other_keep_nobody_out) {
    constexpr int most = 20'000;
    std::atomic<int> entered{0};
    std::atomic<bool> done{false};
    this->on(3, [&](auto world, auto& w) {
        if (world.rank() == 0) {
            while (entered == 0) std::this_thread::yield();
            w.lock(rma::lock_kind::exclusive, 0);
            done = true;
            w.unlock(0);
            return;
        }
        while (!done && entered < most) {
            w.lock(rma::lock_kind::shared, 0);
            auto const mine = ++entered;
            auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds{4};
            while (entered == mine && std::chrono::steady_clock::now() < end) std::this_thread::yield();
            w.unlock(0);
        }
    });
    EXPECT_LT(entered, most);
}

TYPED_TEST(rma_window, who_shares_may_wait_for_one_that_comes_after_a_writer) {
    std::atomic<bool> shared{false}, came{false};
    this->on(3, [&](auto world, auto& w) {
        if (world.rank() == 1) {
            w.lock(rma::lock_kind::shared, 0);
            shared = true;
            while (!came) std::this_thread::yield();
            w.unlock(0);
            return;
        }
        while (!shared) std::this_thread::yield();
        if (world.rank() == 0) {
            w.lock(rma::lock_kind::exclusive, 0);
            EXPECT_TRUE(came);
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds{5}); // the writer has most likely come
            w.lock(rma::lock_kind::shared, 0);
            came = true;
        }
        w.unlock(0);
    });
}

TYPED_TEST(rma_window, fetches_of_one_number_give_every_value_once) {
    for (auto const how : {rma::flavor::create, rma::flavor::allocate})
        this->on(
            3,
            [](auto world, auto& w) {
                std::vector<std::int64_t> mine(40);
                w.lock_all();
                for (auto& x : mine) {
                    std::int64_t const one = 1;
                    w.fetch_and_op(&one, &x, number, 1, 5, operation::sum);
                }
                w.unlock_all();
                auto all = world.allgather(mine);
                std::ranges::sort(all);
                for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<std::int64_t>(i));
            },
            how);
}

/// Those that nobody asks about come before what the same rank fetches later.
TYPED_TEST(rma_window, one_element_changes_with_and_without_a_word_of_what_it_was) {
    for (auto const how : {rma::flavor::create, rma::flavor::allocate})
        this->on(
            3,
            [](auto world, auto& w) {
                std::int64_t const one = 1;
                std::int64_t was = -1;
                w.lock_all();
                for (int i = 0; i < 20; ++i) w.fetch_and_op(&one, nullptr, number, 1, 5, operation::sum);
                w.flush(1);
                world.barrier();
                w.fetch_and_op(nullptr, &was, number, 1, 5, operation::no_op);
                EXPECT_EQ(was, 60);
                world.barrier();
                for (std::int64_t i = 0; i < 20; ++i) {
                    w.fetch_and_op(&i, nullptr, number, 1, world.rank(), operation::replace);
                    w.fetch_and_op(&one, nullptr, number, 1, world.rank(), operation::sum);
                    w.fetch_and_op(&one, &was, number, 1, world.rank(), operation::sum);
                    EXPECT_EQ(was, i + 1);
                }
                expect_error(error_class::rma_range, {"fetch_and_op", "bytes 64 to 72", "rank 1"},
                             [&] { w.fetch_and_op(&one, nullptr, number, 1, 8, operation::sum); });
                expect_error(error_class::arg, {"fetch_and_op", "not defined"}, [&] {
                    w.fetch_and_op(&one, nullptr, datatype::named(element_kind::c_wchar), 1, 0, operation::sum);
                });
                w.unlock_all();
                world.barrier();
                if (world.rank() == 1) { EXPECT_EQ(at(w, 0) + at(w, 1) + at(w, 2), 3 * 21); }
            },
            how);
}

/// More than a letter holds, and than a message takes at once; in one piece and scattered.
TYPED_TEST(rma_window, large_data_go_whole) {
    this->job(2, [](auto world) {
        std::int64_t const n = 60'000;
        std::vector<std::int64_t> own(static_cast<std::size_t>(2 * n), 1), data(static_cast<std::size_t>(n)), back(data.size());
        auto const w = rma_window<TypeParam>::make(
            world, {.how = rma::flavor::create, .memory = std::as_writable_bytes(std::span{own}), .unit = 8});
        for (auto const& apart :
             {datatype::contiguous(n, number), datatype::vector(n, 1, 2, number), datatype::vector(n / 3, 3, 5, number)}) {
            for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::int64_t>(i) + world.rank();
            auto const peer = 1 - world.rank();
            w->fence();
            w->put({data.data(), n, number}, {peer, 0, 1, apart});
            w->fence();
            w->accumulate({data.data(), n, number}, {peer, 0, 1, apart}, operation::sum);
            w->fence();
            w->get_accumulate({data.data(), n, number}, {back.data(), n, number}, {peer, 0, 1, apart}, operation::max);
            for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], 2 * data[i]);
            w->get({back.data(), n, number}, {peer, 0, 1, apart});
            w->fence({.no_succeed = true});
            for (std::size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], 2 * data[i]) << i;
        }
        w->free();
    });
}

TYPED_TEST(rma_window, a_swap_is_won_by_one) {
    this->on(4, [](auto world, auto& w) {
        std::int64_t const me = world.rank() + 1, nobody = 0;
        std::int64_t was = -1;
        w.lock_all();
        w.compare_and_swap(&me, &nobody, &was, number, 2, 0);
        w.unlock_all();
        auto const won = world.allreduce(was == 0 ? 1 : 0);
        EXPECT_EQ(won, 1);
        world.barrier();
        w.lock_all();
        auto const winner = get(w, 2, 0);
        w.unlock_all();
        EXPECT_EQ(was, was == 0 ? 0 : winner);
        EXPECT_EQ(winner == me, was == 0);
    });
}

TYPED_TEST(rma_window, shared_parts_follow_each_other) {
    this->job(3, [](auto world) {
        int const me = world.rank();
        auto const w = rma_window<TypeParam>::make(
            world, {.how = rma::flavor::shared, .size = me == 0 ? 0u : 24u * static_cast<unsigned>(me), .unit = 8});
        auto const first = w->shared(mpt::proc_null), second = w->shared(2);
        EXPECT_EQ(first.size, 24u);
        EXPECT_EQ(first.base, w->shared(1).base);
        EXPECT_EQ(second.base, first.base + 24);
        EXPECT_EQ(w->own().base, w->shared(me).base);
        w->lock_all();
        if (me != 0) at(*w, 0) = me;
        w->sync();
        world.barrier();
        w->sync();
        EXPECT_EQ(*reinterpret_cast<std::int64_t*>(second.base), 2);
        EXPECT_EQ(get(*w, 1, 0), 1);
        w->unlock_all();
        w->free();
        auto const apart =
            rma_window<TypeParam>::make(world, {.how = rma::flavor::shared, .size = 24, .unit = 8, .contiguous = false});
        apart->fence();
        put(*apart, 5, (me + 1) % 3, 2);
        apart->fence();
        EXPECT_EQ(at(*apart, 2), 5);
        EXPECT_EQ(reinterpret_cast<std::int64_t*>(apart->shared(me).base)[2], 5);
        apart->free();
    });
}

TYPED_TEST(rma_window, memory_comes_to_a_dynamic_window_and_goes) {
    this->job(2, [](auto world) {
        auto const w = rma_window<TypeParam>::make(world, {.how = rma::flavor::dynamic});
        std::vector<std::int64_t> a(4), b(4);
        w->attach(std::as_writable_bytes(std::span{a}));
        expect_error(error_class::rma_attach, {"32", "overlap"}, [&] { w->attach(std::as_writable_bytes(std::span{a})); });
        expect_error(error_class::rma_attach, {"no attached memory"}, [&] { w->detach(&a[1]); });
        w->attach(std::as_writable_bytes(std::span{b}));
        auto const theirs = world.allgather(reinterpret_cast<std::uint64_t>(a.data()))[world.rank() == 0 ? 1u : 0u];
        std::int64_t const x = 40 + world.rank();
        w->fence();
        w->put({&x, 1, number}, {1 - world.rank(), static_cast<std::int64_t>(theirs + 8), 1, number});
        w->fence();
        EXPECT_EQ(a[1], 41 - world.rank());
        w->attach({}), w->attach(std::as_writable_bytes(std::span{a}).subspan(8, 0));
        w->detach(nullptr), w->detach(&a[1]);
        expect_error(error_class::rma_attach, {"no attached memory"}, [&] { w->detach(&a[1]); });
        w->detach(a.data());
        expect_error(error_class::rma_flavor, {"dynamic"}, [&] { w->shared(0); });
        w->detach(b.data());
        w->free();
    });
}

/// Whatever way the memory is reached by, and on any side of it.
TYPED_TEST(rma_window, what_is_not_attached_is_not_touched) {
    this->job(2, [](auto world) {
        auto const w = rma_window<TypeParam>::make(world, {.how = rma::flavor::dynamic});
        std::vector<std::int64_t> own(4, 3);
        auto const peer = 1 - world.rank();
        auto const all = world.allgather(reinterpret_cast<std::uint64_t>(own.data()));
        std::int64_t x = 9;
        auto const refused = [&](mpt::rank r, int from) {
            auto const where = static_cast<std::int64_t>(all[static_cast<std::size_t>(r.value)]) + 8 * from;
            auto const at = "address " + std::to_string(where);
            auto const no = [&](auto&& f) { expect_error(error_class::rma_range, {at.c_str(), "not attached"}, f); };
            no([&] { w->put({&x, 1, number}, {r, where, 1, number}); });
            no([&] { w->get({&x, 1, number}, {r, where, 1, number}); });
            no([&] { w->accumulate({&x, 1, number}, {r, where, 1, number}, operation::sum); });
            no([&] { w->fetch_and_op(&x, &x, number, r, where, operation::sum); });
            no([&] { w->compare_and_swap(&x, &x, &x, number, r, where); });
        };
        w->lock_all();
        refused(peer, 0), refused(world.rank(), 0);
        w->attach(std::as_writable_bytes(std::span{own}).subspan(8, 8));
        w->attach(std::as_writable_bytes(std::span{own}).subspan(16, 8));
        world.barrier();
        refused(peer, 0), refused(peer, 3);
        std::int64_t const two[]{5, 6};
        w->put({two, 2, number}, {peer, static_cast<std::int64_t>(all[static_cast<std::size_t>(peer)]) + 8, 2, number});
        w->unlock_all();
        world.barrier();
        EXPECT_EQ(own, (std::vector<std::int64_t>{3, 5, 6, 3}));
        w->detach(&own[1]);
        world.barrier();
        w->lock_all();
        refused(peer, 1);
        w->unlock_all();
        w->free();
    });
}

/// Rows go at a kernel's speed where an epoch is one rank's alone, and where the window was made so: single elements too, then.
TYPED_TEST(rma_window, threads_of_one_rank_update_the_same_elements) {
    this->job(2, [](auto world) {
        for (bool const rows : {false, true}) {
            auto const w = rma_window<TypeParam>::make(
                world, {.how = rma::flavor::allocate, .size = 8 * 64, .unit = 8, .rows_locked = rows});
            std::fill_n(reinterpret_cast<std::int64_t*>(w->own().base), 64, 0);
            world.barrier();
            if (rows) w->lock_all();
            else w->lock(rma::lock_kind::exclusive, 0);
            auto const work = [&](bool row) {
                std::vector<std::int64_t> const ones(64, 1);
                for (int i = 0; i < 300; ++i) {
                    std::int64_t was = 0;
                    if (row) w->accumulate({ones.data(), 64, number}, {0, 0, 64, number}, operation::sum);
                    else w->fetch_and_op(ones.data(), &was, number, 0, i % 64, operation::sum);
                    std::int64_t seen = 0;
                    do {
                        auto const expected = was, next = was + 1;
                        w->compare_and_swap(&next, &expected, &was, number, 0, 63);
                        seen = expected;
                    } while (was != seen);
                }
            };
            std::thread other{[&] { work(false); }};
            work(true);
            other.join();
            if (rows) w->unlock_all();
            else w->unlock(0);
            world.barrier();
            if (world.rank() == 0)
                for (int i = 0; i < 64; ++i) {
                    auto const singles = 300 / 64 + (i < 300 % 64), swaps = i == 63 ? 600 : 0;
                    EXPECT_EQ(at(*w, i), 2 * (300 + singles + swaps)) << i; // of both ranks
                }
            w->free();
        }
    });
}

/// What the short ways of the C interface ask for.
TYPED_TEST(rma_window, rows_that_are_mapped_change_at_once_or_not_at_all) {
    for (bool const rows : {false, true})
        this->job(2, [rows](auto world) {
            auto const w =
                rma_window<TypeParam>::make(world, {.how = rma::flavor::shared, .size = 64, .unit = 8, .rows_locked = rows});
            std::fill_n(&at(*w, 0), 8, 10);
            world.barrier();
            std::array<std::int64_t, 8> const with{1, 2, 3, 4, 5, 6, 7, 8};
            std::array<std::int64_t, 8> was{};
            auto const change = [&](std::size_t n, element_kind kind, std::int64_t place, operation op) {
                return w->try_change_row(with.data(), was.data(), n, kind, 0, place, op);
            };
            auto const swap = [&](std::int64_t expected, std::int64_t next) {
                std::int64_t seen = -1;
                EXPECT_TRUE(w->try_swap(&next, &expected, &seen, sizeof next, 0, 0));
                return seen;
            };
            EXPECT_FALSE(change(24, element_kind::int64, 2, operation::sum)) << "no epoch is open";
            std::int64_t fetched = 0;
            for (auto const kind : {rma::lock_kind::shared, rma::lock_kind::exclusive}) {
                w->lock(kind, 0);
                EXPECT_TRUE(change(24, element_kind::int64, 2, operation::sum));
                for (std::size_t i = 0; i < 3; ++i) fetched += was[i];
                EXPECT_FALSE(change(24, element_kind::int64, 6, operation::sum)) << "8 bytes are outside";
                EXPECT_FALSE(change(8, element_kind::c_wchar, 2, operation::sum)) << "it is not defined";
                EXPECT_FALSE(change(8, element_kind::int_int, 2, operation::replace)) << "a pair";
                EXPECT_TRUE(change(8, element_kind::int64, 5, operation::no_op));
                EXPECT_EQ(was[0], 10) << "and nothing was done";
                for (std::int64_t seen = 10, next = 0; seen != next;) next = std::exchange(seen, swap(seen, seen + 1));
                w->unlock(0);
            }
            world.barrier();
            // Four times: what was there is 10, and what was added before.
            EXPECT_EQ(world.allreduce(fetched), 3 * 4 * 10 + (0 + 1 + 2 + 3) * (1 + 2 + 3));
            if (world.rank() == 0) {
                EXPECT_EQ(at(*w, 0), 14) << "swaps of those that expected what was there";
                for (int i = 0; i < 3; ++i) EXPECT_EQ(at(*w, 2 + i), 10 + 4 * (i + 1));
            }
            w->free();
        });
}

TYPED_TEST(rma_window, parts_that_loads_reach_are_told) {
    this->on(2, [](auto world, auto& w) {
        int const me = world.rank();
        at(w, 2) = 20 + me;
        w.fence();
        auto const theirs = w.shared(1 - me), mine = w.shared(me);
        EXPECT_EQ(mine.base, w.own().base);
        EXPECT_EQ(mine.size, 64u);
        EXPECT_EQ(theirs.unit, 8);
        if (std::is_same_v<TypeParam, mpt::local_stack>) {
            ASSERT_EQ(theirs.size, 64u);
            EXPECT_EQ(reinterpret_cast<std::int64_t*>(theirs.base)[2], 21 - me);
        } else EXPECT_EQ(theirs.size, 0u);
        EXPECT_EQ(w.shared(mpt::proc_null).base, w.shared(0).base);
        w.fence({.no_succeed = true});
    });
}

TYPED_TEST(rma_window, memory_begins_where_the_program_wants_it) {
    constexpr std::size_t page = 1 << 16;
    auto const is_aligned = [](rma::part const& p) { return reinterpret_cast<std::uintptr_t>(p.base) % page == 0; };
    this->job(3, [&](auto world) {
        int const me = world.rank(), next = (me + 1) % 3;
        for (auto const how : {rma::flavor::allocate, rma::flavor::shared})
            for (bool const contiguous : {false, true}) {
                if (how == rma::flavor::shared && !std::is_same_v<TypeParam, mpt::local_stack>) continue;
                auto const w = rma_window<TypeParam>::make(
                    world, {.how = how, .size = 24, .unit = 8, .contiguous = contiguous, .alignment = page});
                if (how == rma::flavor::allocate || !contiguous) EXPECT_TRUE(is_aligned(w->own()));
                else EXPECT_TRUE(is_aligned(w->shared(0)));
                at(*w, 2) = 3;
                w->fence();
                put(*w, 7 + me, next, 1);
                w->fence();
                EXPECT_EQ(at(*w, 1), 7 + (me + 2) % 3);
                EXPECT_EQ(get(*w, next, 2), 3);
                expect_error(error_class::rma_range, {"24 bytes"}, [&] { put(*w, 1, next, 3); });
                w->fence();
                w->free();
            }
    });
}

TYPED_TEST(rma_window, an_operation_without_an_epoch_or_outside_its_memory_is_a_sentence) {
    this->on(2, [](auto world, auto& w) {
        expect_error(error_class::rma_sync, {"put", "rank 1"}, [&] { put(w, 1, 1, 0); });
        w.lock(rma::lock_kind::shared, 0);
        expect_error(error_class::rma_sync, {"get", "rank 1"}, [&] { get(w, 1, 0); });
        expect_error(error_class::rma_range, {"bytes 64 to 72", "rank 0", "64 bytes"}, [&] { put(w, 1, 0, 8); });
        expect_error(error_class::rma_range, {"rank 0"}, [&] { get(w, 0, -1); });
        expect_error(error_class::rma_range, {"get"}, [&] { get(w, 0, 1 << 30); });
        std::int64_t x[4]{};
        auto const apart = datatype::vector(2, 1, 8, number);
        expect_error(error_class::rma_range, {"accumulate"}, [&] {
            w.accumulate({x, 2, number}, {0, 0, 1, apart}, operation::sum);
        });
        expect_error(error_class::arg, {"8 bytes here", "16 bytes"}, [&] { w.put({x, 1, number}, {0, 0, 2, number}); });
        auto const all_of_it = std::int64_t{1} << 61;
        expect_error(error_class::rma_range, {"2305843009213693952 elements of 8 bytes", "rank 0", "64 bytes"}, [&] {
            w.accumulate({x, 1, number}, {0, 0, all_of_it, number}, operation::sum);
        });
        std::int64_t const one[]{1}, behind[]{9};
        auto const late = datatype::hindexed(one, behind, number);
        auto const before = at(w, 1);
        for (auto const far : {all_of_it, all_of_it / 2, -all_of_it}) { // times the unit: more than an address can count
            auto const no = [&](char const* call, auto&& f) {
                expect_error(error_class::rma_range, {call, "1 elements of 8 bytes at displacement ", "rank 0"}, f);
            };
            no("put", [&] { w.put({x, 1, number}, {0, far, 1, late}); });
            no("get", [&] { w.get({x, 1, number}, {0, far, 1, late}); });
            no("accumulate", [&] { w.accumulate({x, 1, number}, {0, far, 1, late}, operation::replace); });
            no("get_accumulate", [&] { w.get_accumulate({x, 1, number}, {x, 1, number}, {0, far, 1, late}, operation::sum); });
            no("fetch_and_op", [&] { w.fetch_and_op(x, x, number, 0, far, operation::sum); });
            no("compare_and_swap", [&] { w.compare_and_swap(x, x, x, number, 0, far); });
            EXPECT_FALSE(w.try_put(reinterpret_cast<std::byte const*>(x), 8, 0, far, 9));
            EXPECT_FALSE(w.try_change(x, nullptr, element_kind::int64, 0, far, operation::sum));
        }
        EXPECT_EQ(at(w, 1), before);
        expect_error(error_class::arg, {"8 bytes here", "0 bytes"}, [&] {
            w.accumulate({x, 1, number}, {0, 0, 0, number}, operation::sum);
        });
        auto const text = datatype::named(element_kind::c_wchar);
        expect_error(error_class::arg, {"not defined", "MPI_WCHAR"}, [&] {
            w.accumulate({x, 1, text}, {0, 0, 1, text}, operation::sum);
        });
        std::vector<datatype> const types{number, text};
        std::vector<std::int64_t> const ones{1, 1}, places{0, 8};
        auto const mixed = datatype::structure(ones, places, types);
        expect_error(error_class::arg, {"one predefined type"}, [&] {
            w.accumulate({x, 1, mixed}, {0, 0, 1, mixed}, operation::replace);
        });
        EXPECT_EQ(get(w, 0, 7), 0) << "and nothing was done";
        w.unlock(0);
        world.barrier();
    });
}

TYPED_TEST(rma_window, epochs_in_a_wrong_order_are_sentences) {
    this->on(2, [](auto world, auto& w) {
        auto const wrong = [](auto&& f) { expect_error(error_class::rma_sync, {}, f); };
        auto const both = world.members();
        wrong([&] { w.unlock(0); });
        wrong([&] { w.unlock_all(); });
        wrong([&] { w.complete(); });
        wrong([&] { w.wait(); });
        wrong([&] { w.test(); });
        wrong([&] { w.flush(0); });
        wrong([&] { w.flush_all(); });
        wrong([&] { w.flush_local(1); });
        wrong([&] { w.flush_local_all(); });
        w.lock(rma::lock_kind::shared, 0);
        wrong([&] { w.lock(rma::lock_kind::shared, 0); });
        wrong([&] { w.lock_all(); });
        wrong([&] { w.fence(); });
        wrong([&] { w.start(both); });
        wrong([&] { w.free(); });
        wrong([&] { w.unlock(1); });
        wrong([&] { w.flush(1); });
        w.lock(rma::lock_kind::shared, 1, {.no_check = true});
        w.flush_all(), w.flush_local_all(), w.flush_local(1), w.flush(0);
        w.unlock(0), w.unlock(1);
        w.lock_all();
        wrong([&] { w.lock(rma::lock_kind::exclusive, 1); });
        wrong([&] { w.unlock(0); });
        w.unlock_all();
        w.post(both);
        wrong([&] { w.post(both); });
        wrong([&] { w.free(); });
        w.start(both);
        wrong([&] { w.start(both); });
        w.complete();
        w.wait();
        expect_error(error_class::rma_flavor, {"dynamic"}, [&] { w.attach({}); });
        expect_error(error_class::rma_flavor, {"dynamic"}, [&] { w.detach(nullptr); });
        w.fence();
        w.lock(rma::lock_kind::shared, 1);
        w.unlock(1);
        world.barrier();
    });
}

TYPED_TEST(rma_window, memory_that_one_rank_has_not_is_an_error_of_all) {
    this->job(2, [](auto world) {
        auto const size = world.rank() == 0 ? std::uint64_t{1} << 60 : 64;
        expect_error(error_class::no_mem, {},
                     [&] { rma_window<TypeParam>::make(world, {.how = rma::flavor::allocate, .size = size}); });
        expect_error(error_class::no_mem, {},
                     [&] { rma_window<TypeParam>::make(world, {.how = rma::flavor::shared, .size = size}); });
        EXPECT_EQ(world.allreduce(1), 2) << "and the communicator goes on";
    });
}

/// A rank that has said that it uses more of its slice than there is: nobody can map that.
TYPED_TEST(rma_window, memory_that_cannot_be_mapped_is_an_error_that_says_whose) {
    this->job(2, [](auto world) {
        auto& bytes = world.native().run->job().record(mpt::rank{1}).slice_bytes;
        auto const before = bytes;
        auto const change = [&](std::uint64_t to) {
            world.barrier();
            if (world.rank() == 1) bytes = to;
            world.barrier();
        };
        auto const make = [&](rma::flavor how) {
            return rma_window<TypeParam>::make(world, {.how = how, .size = 64, .unit = 8});
        };
        make(rma::flavor::shared)->free();
        change(std::uint64_t{1} << 62);
        expect_error(error_class::rma_shared, {"rank 1", "cannot be mapped"}, [&] { make(rma::flavor::shared); });
        expect_error(error_class::no_mem, {"rank 1", "cannot be mapped"}, [&] { make(rma::flavor::allocate); });
        EXPECT_EQ(world.allreduce(1), 2) << "and the communicator goes on";
        change(before);
        make(rma::flavor::shared)->free();
    });
}

/// Of more attachments than the table has places only the agent knows.
TEST(rma_window_over_streams, what_an_agent_is_asked_for_outside_is_told_by_the_flush) {
    using here = rma_window<mpt::local_stream_stack>;
    here::job(2, [](auto world) {
        auto const w = here::make(world, {.how = rma::flavor::dynamic});
        std::int64_t own = 3, x = 9;
        std::vector<std::int64_t> many(200);
        for (std::size_t i = 0; i < many.size(); i += 2) w->attach(std::as_writable_bytes(std::span{many}).subspan(8 * i, 8));
        auto const all = world.allgather(reinterpret_cast<std::uint64_t>(&own));
        auto const peer = 1 - world.rank();
        auto const where = static_cast<std::int64_t>(all[static_cast<std::size_t>(peer)]);
        w->lock_all();
        w->put({&x, 1, number}, {peer, where, 1, number});
        expect_error(error_class::rma_range, {"1 operations", "not attached"}, [&] { w->flush(peer); });
        expect_error(error_class::rma_range, {"get", "not attached"}, [&] {
            w->get({&x, 1, number}, {peer, where, 1, number});
        });
        w->unlock_all();

        auto const refused = [&](auto&& end) { // after which the epoch is over, and others go on
            w->put({&x, 1, number}, {peer, where, 1, number});
            expect_error(error_class::rma_range, {"1 operations", "not attached"}, end);
        };
        world.barrier();
        for (int round = 0; round < 2; ++round) {
            w->lock(rma::lock_kind::exclusive, peer);
            refused([&] { w->unlock(peer); });
        }
        w->lock_all();
        refused([&] { w->unlock_all(); });
        w->fence();
        refused([&] { w->fence(); });
        auto const both = world.members();
        w->post(both), w->start(both);
        refused([&] { w->complete(); });
        w->wait();
        w->fence();
        EXPECT_EQ(own, 3);
        w->free();
    });
}
} // namespace
