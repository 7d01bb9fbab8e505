#include <thread>

#include "support/pes.hpp"

namespace {
using namespace mpt::test;

template <class Stack> using shmem_lock = pes<Stack>;
TYPED_TEST_SUITE(shmem_lock, wires);

/// Two words are changed by plain gets and puts under the lock: alone, each adds what the other has.
TYPED_TEST(shmem_lock, who_has_it_is_alone_and_sees_what_was_done_before) {
    this->on_several([](auto& pe) {
        int const n = pe.size();
        typename TestFixture::template array<long> a{pe, 3};
        auto lock = pe.lock_of(&a[0]);
        for (int i = 0; i < 40; ++i) {
            if (i % 3 != 0) lock.set();
            else
                while (!lock.test()) std::this_thread::yield();
            auto const x = pe->g(&a[1], n - 1), y = pe->g(&a[2], 0);
            EXPECT_EQ(x, y);
            pe->p(&a[1], x + 1, n - 1);
            pe->p(&a[2], y + 1, 0);
            lock.clear();
        }
        pe.barrier_all();
        EXPECT_EQ(pe->g(&a[1], n - 1), 40 * n);
        EXPECT_EQ(a[0], 0) << "a lock that nobody has is zero again";
    });
}

TYPED_TEST(shmem_lock, a_test_of_a_lock_that_another_has_fails) {
    this->on_several([](auto& pe) {
        typename TestFixture::template array<long> a{pe, 2};
        auto lock = pe.lock_of(&a[0]);
        int const last = pe.size() - 1;
        if (pe.me() == last) lock.set();
        pe.barrier_all();
        EXPECT_FALSE(lock.test());
        pe.barrier_all();
        if (pe.me() == last) lock.clear();
        pe.barrier_all();
        if (pe.me() == 0) {
            EXPECT_TRUE(lock.test());
            lock.clear();
        }
    });
}

/// PE 0 has it, and asks for it again while the others come and stand behind it: nobody is lost.
TYPED_TEST(shmem_lock, who_has_it_may_test_it_and_those_behind_still_get_it) {
    using mpt::shmem::comparison;
    this->on_several([](auto& pe) {
        typename TestFixture::template array<long> a{pe, 2}; // the lock, and how many had it
        auto lock = pe.lock_of(&a[0]);
        if (pe.me() == 0) {
            EXPECT_TRUE(lock.test());
            EXPECT_FALSE(lock.test());
        }
        pe.barrier_all();
        if (pe.me() == 0) {
            auto* const place = reinterpret_cast<std::uint32_t*>(&a[0]) + 1;
            if (pe.size() > 1) pe.wait_until(place, comparison::ne, 0u); // the first one is here
            EXPECT_FALSE(lock.test());
            lock.clear();
        } else {
            lock.set();
            pe->fetch_add(&a[1], 1, 0);
            lock.clear();
        }
        pe.barrier_all();
        if (pe.me() == 0) {
            EXPECT_EQ(a[1], pe.size() - 1);
            EXPECT_EQ(a[0], 0);
        }
        pe.barrier_all();
    });
}

/// PE 0 has it until all others stand in the queue, one after the other: they get it in that order.
TYPED_TEST(shmem_lock, who_came_first_gets_it_first) {
    using mpt::shmem::comparison;
    this->on_several([](auto& pe) {
        typename TestFixture::template array<long> a{pe, 3}; // the lock, whether to come, how many had it
        auto lock = pe.lock_of(&a[0]);
        auto* const tail = reinterpret_cast<std::uint32_t*>(&a[0]);
        if (pe.me() == 0) lock.set();
        pe.barrier_all();
        if (pe.me() == 0) {
            for (std::uint32_t last = 2; last <= static_cast<std::uint32_t>(pe.size());
                 ++last) { // lets PE last - 1 come, and sees it stand there
                pe->p(&a[1], 1, static_cast<int>(last) - 1);
                pe.wait_until(tail, comparison::eq, last);
            }
            lock.clear();
        } else {
            pe.wait_until(&a[1], comparison::eq, 1);
            lock.set();
            auto const turn = pe->fetch_inc(&a[2], 0);
            EXPECT_EQ(turn, pe.me() - 1);
            lock.clear();
        }
        pe.barrier_all();
    });
}

} // namespace
