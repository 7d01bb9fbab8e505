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

TEST(wait, on_a_shared_cpu_looks_less_and_yields_as_much_more) {
    constexpr wait_facts f{.spins = 2000, .yields = 200};
    static_assert(shared(f).spins == 16 && shared(f).yields == 2184 && !shared(f).scarce);
    static_assert(yielding(f, 2000).spins == 2000 && yielding(f, 2001).yields == 200, "it has no more than that");
    constexpr wait_facts spinning{.spins = ~0u, .yields = 7}, yielding_for_ever{.spins = 2000, .yields = ~0u - 1};
    static_assert(shared(spinning).spins == ~0u && shared(spinning).yields == 7, "as it was told");
    static_assert(shared(yielding_for_ever).spins == 16 && shared(yielding_for_ever).yields == ~0u, "and no overflow");
}

TEST(wait, that_was_just_asked_for_something_looks_longer_than_on_a_shared_cpu_and_no_longer_than_it_may) {
    constexpr wait_facts f{.spins = 2000, .yields = 200}, few{.spins = 100, .yields = 200}, scarce{.scarce = true};
    static_assert(asked(f).spins == 256 && asked(f).yields == 1944 && asked(f).spins > shared(f).spins);
    static_assert(asked(few).spins == 100 && asked(few).yields == 200);
    static_assert(asked(scarce).scarce, "others want this CPU");
}

} // namespace
