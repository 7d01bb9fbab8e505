/// wait_conformance - what every wait policy must do, written once. A policy's test instantiates it:
///
///   INSTANTIATE_TYPED_TEST_SUITE_P(adaptive, wait_conformance, mpt::wait::adaptive);
#pragma once
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <mpt/wait/wait.hpp>

namespace mpt::test {

template <class W> std::vector<wait_step> steps(typename W::type& w, std::size_t n) {
    std::vector<wait_step> s(n);
    for (auto& step : s) step = w.next();
    return s;
}

/// Without looks between yields, which only wait::adaptive has: its own test.
inline std::vector<wait_facts> surroundings() {
    wait_facts none_at_all{.scarce = false, .spins = 0, .yields = 0};
    wait_facts endless{.scarce = false,
                       .spins = std::numeric_limits<std::uint32_t>::max(),
                       .yields = std::numeric_limits<std::uint32_t>::max()};
    return {{.scarce = false, .spins = 20, .yields = 10}, {.scarce = true, .spins = 20, .yields = 10}, none_at_all, endless};
}

template <class W> class wait_conformance : public testing::Test {};
TYPED_TEST_SUITE_P(wait_conformance);

TYPED_TEST_P(wait_conformance, bounds_its_nap_whatever_was_asked_for) {
    for (auto const asked : {nanoseconds::min(), nanoseconds{-1}, nanoseconds{0}, nanoseconds{1}, nanoseconds::max()}) {
        typename TypeParam::type w{wait_facts{.nap = asked}};
        EXPECT_GT(w.nap(), nanoseconds{0});
        EXPECT_LE(w.nap(), nanoseconds{1'000'000'000});
    }
    typename TypeParam::type w{wait_facts{.nap = nanoseconds{2'000'000}}};
    EXPECT_EQ(w.nap(), nanoseconds{2'000'000}) << "within the bounds it is what was asked for";
}

TYPED_TEST_P(wait_conformance, does_after_a_reset_what_a_new_one_does) {
    for (auto const& facts : surroundings())
        for (std::size_t const before : {1u, 5u, 25u, 100u}) {
            typename TypeParam::type used{facts}, fresh{facts};
            steps<TypeParam>(used, before);
            used.reset();
            EXPECT_EQ(steps<TypeParam>(used, 100), steps<TypeParam>(fresh, 100));
        }
}

TYPED_TEST_P(wait_conformance, never_goes_back_to_a_dearer_step_while_it_finds_nothing) {
    for (auto const& facts : surroundings()) {
        typename TypeParam::type w{facts};
        auto const s = steps<TypeParam>(w, 1000);
        EXPECT_TRUE(std::is_sorted(s.begin(), s.end())) << "spin, pause, yield, sleep: only onwards";
    }
}

REGISTER_TYPED_TEST_SUITE_P(wait_conformance, bounds_its_nap_whatever_was_asked_for, does_after_a_reset_what_a_new_one_does,
                            never_goes_back_to_a_dearer_step_while_it_finds_nothing);

} // namespace mpt::test
