#include <gtest/gtest.h>
#include <mpt/wait/adaptive.hpp>
#include <mpt/wait/sleep.hpp>
#include <mpt/wait/spin.hpp>
#include <mpt/wait/wait.hpp>
#include <mpt/wait/yield.hpp>

namespace {

using namespace mpt;

TEST(wait, policies_are_recognized_and_other_kinds_are_not) {
    static_assert(wait_policy<wait::adaptive> && wait_policy<wait::spin> && wait_policy<wait::yield> &&
                  wait_policy<wait::sleep>);
    struct lock_like : wait::adaptive {
        using kind = mpt::kind::lock;
    };
    static_assert(!wait_policy<lock_like>);
    struct without_bound {
        explicit without_bound(wait_facts const&) {}
        wait_step next() noexcept { return wait_step::spin; }
        void reset() noexcept {}
    };
    static_assert(!wait_type<without_bound>, "a policy must say how long a nap is");
}

TEST(wait, naps_are_cut_to_between_a_microsecond_and_a_second) {
    static_assert(bounded_nap(nanoseconds{0}) == nanoseconds{1'000});
    static_assert(bounded_nap(nanoseconds{999}) == nanoseconds{1'000});
    static_assert(bounded_nap(nanoseconds{2'000'000}) == nanoseconds{2'000'000});
    static_assert(bounded_nap(nanoseconds::max()) == nanoseconds{1'000'000'000});
}

} // namespace
