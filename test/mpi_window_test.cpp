#include <gtest/gtest.h>
#include <mpt/mpi/attributes.hpp>
#include <mpt/mpi/window.hpp>

#include "support/expect_error.hpp"
#include "support/wires.hpp"

namespace {
using namespace mpt::test;

template <class Stack> struct mpi_window : over<Stack> {};
TYPED_TEST_SUITE(mpi_window, wires);

TYPED_TEST(mpi_window, values_and_ranges_go_there_and_back) {
    this->job(3, [](auto world) {
        int const me = world.rank(), next = (me + 1) % 3;
        mpt::window w{world, mpt::allocated<double>(100)};
        EXPECT_EQ(w.local().size(), 100u);
        EXPECT_EQ(w.size(), 3);
        w.local()[3] = 1.5 + me;
        w.fence();
        w.put(std::vector{1.0, 2.0, 3.0 + me}, next, 10);
        EXPECT_EQ(w.value(next, 3), 1.5 + next);
        w.accumulate(2.0, 0, 7);
        w.accumulate(std::vector{4.0, 5.0}, 0, 8, mpt::max);
        w.put(9.0, mpt::proc_null);
        w.fence();
        EXPECT_EQ(w.local()[11], 2.0);
        EXPECT_EQ(w.local()[12], 3.0 + (me + 2) % 3);
        EXPECT_EQ(w.local()[7], me == 0 ? 6.0 : 0.0);
        EXPECT_EQ(w.local()[9], me == 0 ? 5.0 : 0.0);
        std::array<double, 3> back{};
        w.get(back, next, 10);
        EXPECT_EQ(back[2], 3.0 + me);
        w.fence();
    });
}

TYPED_TEST(mpi_window, elements_are_counted_and_swapped_under_a_lock) {
    this->job(3, [](auto world) {
        std::vector<int> own(4);
        mpt::window w{world, mpt::exposed(own)};
        int mine = 0;
        if (auto const held = w.lock_shared(1)) mine = w.fetch_and_op(1, 1, 2);
        auto all = world.allgather(mine);
        std::ranges::sort(all);
        EXPECT_EQ(all, (std::vector<int>{0, 1, 2}));
        {
            auto const held = w.lock_all();
            auto const was = w.compare_and_swap(0, 10 + world.rank(), 2, 0);
            w.flush(2), w.flush_all();
            EXPECT_EQ(w.fetch(2, 0), was == 0 ? 10 + world.rank() : was);
            EXPECT_EQ(w.get_accumulate(std::vector{5}, world.rank(), 3, mpt::replace), std::vector{0});
        }
        world.barrier();
        EXPECT_EQ(own[3], 5);
        EXPECT_EQ(own[2], world.rank() == 1 ? 3 : 0);
    });
}

TYPED_TEST(mpi_window, shared_memory_is_in_place_everywhere) {
    this->job(3, [](auto world) {
        mpt::window w{world, mpt::shared_memory<int>(5)};
        std::ranges::fill(w.local(), world.rank().value);
        w.fence();
        for (int r = 0; r < 3; ++r) EXPECT_EQ(w.span_of(r)[4], r);
        w.fence();
    });
}

TYPED_TEST(mpi_window, some_meet_some) {
    this->job(3, [](auto world) {
        mpt::window w{world, mpt::allocated<int>(1)};
        if (world.rank() == 2) {
            w.start({0, 1});
            w.put(7, 0), w.put(8, 1);
            w.complete();
        } else {
            w.post({2});
            if (world.rank() == 0) w.wait();
            else
                while (!w.test()) {}
            EXPECT_EQ(w.local()[0], 7 + world.rank());
        }
    });
}

TYPED_TEST(mpi_window, mistakes_are_sentences) {
    this->job(2, [](auto world) {
        mpt::window w{world, mpt::allocated<int>(4)};
        expect_error(mpt::error_class::rma_sync, {"put"}, [&] { w.put(1, 0); });
        expect_error(mpt::error_class::rank, {"lock", "2"}, [&] { static_cast<void>(w.lock(2)); });
        w.fence();
        expect_error(mpt::error_class::rank, {"put", "5"}, [&] { w.put(1, 5); });
        expect_error(mpt::error_class::rma_range, {"bytes 16 to 20"}, [&] { w.put(1, 0, 4); });
        w.fence();
    });
}

/// Every third number of a row goes to every second one there.
TYPED_TEST(mpi_window, elements_of_any_layout_go_to_any_other) {
    this->job(3, [](auto world) {
        int const me = world.rank(), next = (me + 1) % 3, before = (me + 2) % 3;
        auto const number = mpt::datatype::named(mpt::element_kind::c_int);
        auto const here = mpt::datatype::vector(4, 1, 3, number), there = mpt::datatype::vector(2, 2, 4, number);
        mpt::window w{world, mpt::allocated<int>(20)};
        std::ranges::fill(w.local(), -1);
        std::vector<int> out(12, -2), in(12, -2), was(4);
        for (int i = 0; i < 4; ++i) out[static_cast<std::size_t>(3 * i)] = 10 * me + i;
        w.fence();
        w.put({out.data(), 1, here}, next, {5, 1, there});
        w.fence();
        for (int i = 0; i < 20; ++i) {
            auto const k = i == 5 ? 0 : i == 6 ? 1 : i == 9 ? 2 : i == 10 ? 3 : -1;
            EXPECT_EQ(w.local()[static_cast<std::size_t>(i)], k < 0 ? -1 : 10 * before + k) << i;
        }
        w.fence();
        w.get({in.data(), 1, here}, next, {5, 1, there});
        EXPECT_EQ(in, out);
        w.fence();
        w.accumulate({out.data(), 1, here}, next, {5, 1, there}, mpt::operation::sum);
        w.get_accumulate({nullptr, 0, number}, {was.data(), 4, number}, next, {5, 1, there}, mpt::operation::no_op);
        for (int i = 0; i < 4; ++i) EXPECT_EQ(was[static_cast<std::size_t>(i)], 2 * (10 * me + i));
        w.get_accumulate({out.data(), 1, here}, {was.data(), 4, number}, next, {5, 1, there}, mpt::operation::max);
        EXPECT_EQ(was[1], 2 * (10 * me + 1));
        expect_error(mpt::error_class::type, {"accumulate", "MPI_DOUBLE", "MPI_INT"}, [&] {
            w.accumulate({out.data(), 1, mpt::datatype::named(mpt::element_kind::c_double)}, next, {0, 2, number},
                         mpt::operation::sum);
        });
        w.put({out.data(), 1, here}, mpt::proc_null, {5, 1, there});
        w.fence();
        EXPECT_EQ(w.local()[6], 2 * (10 * before + 1));
    });
}

TYPED_TEST(mpi_window, memory_comes_and_goes_in_a_dynamic_window) {
    this->job(2, [](auto world) {
        int const other = 1 - world.rank();
        mpt::window w{world, mpt::dynamic<int>()};
        std::vector<int> first(8, 1), second(4, 2);
        auto const at = world.allgather(w.attach(first));
        auto const more = world.allgather(w.attach(second));
        {
            auto const held = w.lock_all();
            w.put(7 + other, other, at[static_cast<std::size_t>(other)] + 3 * sizeof(int));
            w.accumulate(std::vector{10, 20}, other, more[static_cast<std::size_t>(other)]);
            w.flush(other);
            EXPECT_EQ(w.value(other, more[static_cast<std::size_t>(other)] + sizeof(int)), 22);
        }
        world.barrier();
        EXPECT_EQ(first, (std::vector<int>{1, 1, 1, 7 + world.rank(), 1, 1, 1, 1}));
        EXPECT_EQ(second, (std::vector<int>{12, 22, 2, 2}));
        w.detach(first);
        expect_error(mpt::error_class::rma_attach, {"detach"}, [&] { w.detach(first); });
        world.barrier();
        {
            auto const held = w.lock_all();
            expect_error(mpt::error_class::rma_range, {"put"},
                         [&] { w.put(1, other, at[static_cast<std::size_t>(other)]), w.flush(other); });
        }
        world.barrier();
    });
}

TYPED_TEST(mpi_window, requests_are_complete_and_flushes_of_this_side_need_a_passive_epoch) {
    this->job(2, [](auto world) {
        int const me = world.rank(), other = 1 - me;
        mpt::window w{world, mpt::allocated<int>(4)};
        expect_error(mpt::error_class::rma_sync, {"flush_local"}, [&] { w.flush_local_all(); });
        {
            auto const held = w.lock_all();
            auto const was = w.get_accumulate(std::vector{0, 0, 0, 0}, other);
            EXPECT_EQ(w.rput(5 + me, other).wait().bytes, 0u);
            w.raccumulate(3, other).wait();
            std::array<int, 1> got{};
            auto r = w.rget(got, other);
            EXPECT_TRUE(r.test());
            r.wait();
            EXPECT_EQ(got[0], 8 + me);
            auto const number = mpt::datatype::named(mpt::element_kind::c_int);
            int const one = 1;
            w.rget_accumulate({&one, 1, number}, {got.data(), 1, number}, other, {0, 1, number}, mpt::operation::sum).wait();
            EXPECT_EQ(got[0], 8 + me);
            w.flush_local(other), w.flush_local_all();
            expect_error(mpt::error_class::rank, {"flush_local", "2"}, [&] { w.flush_local(2); });
            w.flush(other);
        }
        world.barrier();
        EXPECT_EQ(w.local()[0], 9 + other);
    });
}

TYPED_TEST(mpi_window, a_window_has_a_name_hints_and_attributes) {
    this->job(2, [](auto world) {
        int gone = 0, mine = 5;
        auto const key = mpt::window_keys().create({}, [&gone](void*, std::int32_t, void*) { return ++gone, 0; });
        {
            mpt::info wanted;
            wanted.set("no_locks", "true"), wanted.set("mpi_accumulate_granularity", "4096"), wanted.set("colour", "red");
            mpt::window w{world, mpt::allocated<int>(1), wanted};
            EXPECT_EQ(w.get_info().get("no_locks"), "true");
            EXPECT_EQ(w.get_info().get("mpi_accumulate_granularity"), "4096");
            EXPECT_FALSE(w.get_info().get("colour"));
            wanted.set("same_size", "true"), wanted.set("mpi_accumulate_granularity", "8");
            w.set_info(wanted);
            EXPECT_EQ(w.get_info().get("same_size"), "true");
            EXPECT_EQ(w.get_info().get("mpi_accumulate_granularity"), "4096") << "settled";
            w.set_name("halo");
            w.attributes().set(key, &mine);
            auto moved = std::move(w);
            EXPECT_EQ(moved.name(), "halo");
            EXPECT_EQ(moved.attributes().get(key), static_cast<void*>(&mine));
            EXPECT_EQ(gone, 0);
        }
        EXPECT_EQ(gone, 1) << "removed with the window, once";
    });
}

TYPED_TEST(mpi_window, memory_begins_where_the_hint_says) {
    this->job(3, [](auto world) {
        mpt::info wanted;
        wanted.set("mpi_minimum_memory_alignment", "65536");
        auto const is_aligned = [](auto part) { return reinterpret_cast<std::uintptr_t>(part.data()) % 65536 == 0; };
        int const me = world.rank(), next = (me + 1) % 3;
        auto const use = [&](auto const& memory, bool each) {
            mpt::window const before{world, mpt::allocated<std::int64_t>(1)}; // not everything begins there by chance
            mpt::window w{world, memory, wanted};
            EXPECT_TRUE(is_aligned(w.local()) || (!each && me != 0));
            w.fence();
            w.put(std::int64_t{7 + me}, next, 2);
            w.fence();
            EXPECT_EQ(w.local()[2], 7 + (me + 2) % 3);
        };
        use(mpt::allocated<std::int64_t>(3), true);
        use(mpt::shared_memory<std::int64_t>(3), true);
        use(mpt::shared_memory<std::int64_t>(3, true), false);
    });
}

/// Who throws waits for nobody; the others hear of it.
TYPED_TEST(mpi_window, an_exception_passes_a_window) {
    EXPECT_THROW(this->job(2,
                           [](auto world) {
                               mpt::window w{world, mpt::allocated<int>(4)};
                               auto const held = w.lock_all();
                               if (world.rank() == 1) throw std::runtime_error{"enough"};
                               world.barrier();
                           }),
                 std::runtime_error);
}
} // namespace
