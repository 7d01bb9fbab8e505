#include <memory>
#include <thread>

#include "support/pes.hpp"

namespace {
using namespace mpt::test;
using stack = mpt::local_stack;
using home = mpt::session_home<stack>;

/// fn(home) on n ranks that are threads, each with a home of its own, as processes have.
template <class F> void homes(int n, F&& fn) {
    auto const members = mpt::boot::local_members(n);
    std::vector<std::thread> all;
    for (auto const& m : members)
        all.emplace_back([&, m] {
            auto h = std::make_shared<home>(m);
            h->configure_by([] { return pes<stack>::small(); });
            fn(h);
        });
    for (auto& t : all) t.join();
}

/// MPI's and OpenSHMEM's environments of one rank are one, begun and ended in any order, which differs between the ranks.
TEST(shmem_environment, begins_and_ends_beside_mpi_in_any_order) {
    for (int const order : {0, 1, 2, 3})
        homes(3, [&](std::shared_ptr<home> const& h) {
            auto const both = [&](auto& pe, auto& mpi) {
                mpt::shmem::array<long, stack> a{pe, 1};
                int const me = pe.me();
                EXPECT_EQ(mpi.rank(), me);
                pe->add(&a[0], me, 0);
                auto const sum = mpi.world().allreduce(me, std::plus{});
                pe.barrier_all();
                if (me == 0) { EXPECT_EQ(a[0], sum); }
            };
            auto* mpi = order % 2 == 0 ? &h->enter_world() : nullptr;
            {
                mpt::shmem::environment<stack> pe{h};
                if (!mpi) mpi = &h->enter_world();
                both(pe, *mpi);
                if ((order & 2) && pe.me() != 1) h->leave_world(), mpi = nullptr;
            }
            if (mpi) {
                if (!(order & 2)) { EXPECT_EQ(mpi->world().allreduce(1, std::plus{}), 3); }
                h->leave_world();
            }
        });
}

TEST(shmem_environment, arrays_are_symmetric_spans_of_zeroes) {
    pes<stack>::on(2, [](auto& pe) {
        struct particle {
            double x[3];
            int kind;
        };
        mpt::shmem::array<particle, stack> a{pe, 10};
        EXPECT_EQ(a.size(), 10u);
        EXPECT_EQ(a[9].kind, 0);
        particle const p{{1, 2, 3}, 4};
        pe->p(&a[5], p, 1 - pe.me());
        pe.barrier_all();
        EXPECT_EQ(a[5].x[2], 3);
        EXPECT_EQ(pe->g(&a[5], 1 - pe.me()).kind, 4);
        std::size_t seen = 0;
        for (auto const& x : a) seen += x.kind == 4;
        EXPECT_EQ(seen, 1u);
        pe.sync_all();
    });
}

TEST(shmem_environment, arrays_lie_where_they_are_asked_to) {
    pes<stack>::on_several([](auto& pe) {
        struct alignas(512) wide {
            int x;
        };
        auto const at = [](auto const& a) { return reinterpret_cast<std::uintptr_t>(a.data()); };
        mpt::shmem::array<char, stack> first{pe, 3};
        mpt::shmem::array<long, stack> page{pe, 3, {.align = 8192}};
        mpt::shmem::array<wide, stack> many{pe, 3, {.is_for_atomics = true, .is_for_signals = true}};
        EXPECT_EQ(at(page) % 8192, 0u);
        EXPECT_EQ(at(many) % alignof(wide), 0u);
        EXPECT_EQ(many[2].x, 0);
        using longs = mpt::shmem::array<long, stack>;
        expect_error(mpt::error_class::no_mem, {"no partition 5"}, [&] { longs{pe, 1, {.partition = 5}}; });
        expect_error(mpt::error_class::arg, {"power of two"}, [&] { longs{pe, 1, {.align = 24}}; });
    });
}

} // namespace
