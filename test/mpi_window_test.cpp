#include <gtest/gtest.h>
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
