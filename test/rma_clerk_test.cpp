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

TEST_F(rma_clerk, one_serves_window_after_window) {
    job(2, [](view world) {
        auto& run = *world.native().run;
        rma::clerk<mpt::local_stream_stack>* first = nullptr;
        for (int i = 0; i < 20; ++i) {
            std::vector<std::int64_t> own(3);
            auto const w = fresh(world, own);
            EXPECT_FALSE(run.take_clerk()) << "the only one has work";
            use(world, *w, own);
            w->free();
            auto const kept = run.take_clerk();
            ASSERT_TRUE(kept);
            if (i == 0) first = kept.get();
            EXPECT_EQ(kept.get(), first);
            EXPECT_TRUE(run.keep(kept));
        }
        run.leave();
        EXPECT_FALSE(run.take_clerk()) << "no thread of ours outlives the rank's leave";
    });
}
TEST_F(rma_clerk, of_many_windows_a_few_stay) {
    job(2, [](view world) {
        auto& run = *world.native().run;
        std::vector<std::vector<std::int64_t>> own(6, std::vector<std::int64_t>(3));
        std::vector<std::unique_ptr<window>> all;
        for (auto& o : own) all.push_back(fresh(world, o));
        for (std::size_t i = 0; i < all.size(); ++i) use(world, *all[i], own[i]);
        for (auto const& w : all) w->free();
        std::size_t kept = 0;
        while (run.take_clerk()) ++kept;
        EXPECT_EQ(kept, 4u);
    });
}
} // namespace
