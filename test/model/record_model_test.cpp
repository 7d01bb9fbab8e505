// A reader of a wait record gets one write whole, whatever two writers do, and needs each order for it.
#include <memory>

#include <gtest/gtest.h>
#include <mpt/wait/record.hpp>

#include "scheduler.hpp"

namespace {

using namespace mpt::model;

struct record_program {
    unsigned writers;

    void operator()(execution& x) const {
        auto r = std::make_shared<mpt::basic_wait_record<model_atomics>>();
        for (unsigned w = 1; w <= writers; ++w)
            x.thread([r, w] {
                for (unsigned i = 0; i < 2; ++i) write(*r, static_cast<int>(2 * w + i));
            });
        x.thread([r] {
            for (int i = 0; i < 2; ++i) {
                auto const s = read(*r);
                if (s.what == mpt::wait_for::nothing) continue;
                auto const n = static_cast<int>(s.since);
                require(s.what == kind_of(n) && s.context == mpt::context_id{static_cast<std::uint64_t>(n)} && s.peer == n &&
                            s.label == n && s.size == static_cast<std::uint64_t>(n),
                        "all fields are of one write");
            }
        });
    }
    static mpt::wait_for kind_of(int n) { return static_cast<mpt::wait_for>(n); }
    static void write(mpt::basic_wait_record<model_atomics>& r, int n) {
        r.write(kind_of(n), mpt::context_id{static_cast<std::uint64_t>(n)}, mpt::rank{n}, mpt::tag{n},
                static_cast<std::uint64_t>(n), n);
    }
};

TEST(record_model, is_never_seen_torn) {
    for (unsigned const writers : {1u, 2u}) {
        auto const result = check({.schedules = 5000}, record_program{writers});
        EXPECT_TRUE(result.ok) << result.report;
    }
}

TEST(record_model, needs_every_order_of_its_header) {
    for (auto const& m : needless({.schedules = 20'000}, record_program{2}, "record.hpp")) ADD_FAILURE() << m;
}

} // namespace
