#include <mpt/wait/adaptive.hpp>

#include "wait_conformance.hpp"

namespace mpt::test {

INSTANTIATE_TYPED_TEST_SUITE_P(adaptive, wait_conformance, wait::adaptive);

std::vector<wait_step> sequence(std::size_t spins, std::size_t yields, std::size_t sleeps) {
    std::vector<wait_step> s(spins, wait_step::spin);
    s.insert(s.end(), yields, wait_step::yield);
    s.insert(s.end(), sleeps, wait_step::sleep);
    return s;
}

TEST(adaptive, spins_then_yields_then_sleeps_where_cpus_suffice) {
    wait::adaptive::type w{{.scarce = false, .spins = 20, .yields = 10}};
    EXPECT_EQ(steps<wait::adaptive>(w, 40), sequence(20, 10, 10));
}

TEST(adaptive, yields_first_where_cpus_are_scarce_and_sleeps_only_after_that) {
    wait::adaptive::type w{{.scarce = true, .spins = 20, .yields = 10}};
    EXPECT_EQ(steps<wait::adaptive>(w, 40), sequence(0, 10, 30));
}

TEST(adaptive, looks_between_its_first_yields_where_it_is_told_to) {
    wait_facts const f{.scarce = true, .yields = 40, .between = 3};
    wait::adaptive::type w{f};
    std::vector<wait_step> expected;
    for (std::uint32_t yield = 0; yield < f.yields; ++yield) {
        expected.push_back(wait_step::yield);
        if (yield < wait::adaptive::brief) expected.insert(expected.end(), f.between, wait_step::spin);
    }
    expected.insert(expected.end(), 5, wait_step::sleep);
    EXPECT_EQ(steps<wait::adaptive>(w, expected.size()), expected);
    w.reset();
    EXPECT_EQ(steps<wait::adaptive>(w, 2), std::vector(expected.begin(), expected.begin() + 2));
    w.reset(); // in the middle of its looks, of which two are left: what was found may have been one of several
    EXPECT_EQ(steps<wait::adaptive>(w, 3), (std::vector{wait_step::spin, wait_step::spin, wait_step::yield}));
}

TEST(adaptive, is_told_to_look_between_yields_where_two_ranks_share_a_cpu_and_others_run_elsewhere) {
    EXPECT_GT(looks_between(2, 4), 0u);
    EXPECT_EQ(looks_between(2, 2), 0u);
    EXPECT_EQ(looks_between(3, 6), 0u);
    EXPECT_EQ(looks_between(1, 4), 0u);
}

TEST(adaptive, does_not_look_between_yields_on_a_cpu_of_its_own) {
    wait::adaptive::type w{{.scarce = false, .spins = 5, .yields = 10, .between = 3}};
    EXPECT_EQ(steps<wait::adaptive>(w, 20), sequence(5, 10, 5));
}

TEST(adaptive, never_pauses_for_that_doubles_a_latency) {
    wait::adaptive::type w{{.scarce = false}};
    for (auto const s : steps<wait::adaptive>(w, 5000)) EXPECT_NE(s, wait_step::pause);
}

TEST(adaptive, does_not_sleep_early_when_spins_and_yields_overflow_32_bits) {
    wait::adaptive::type w{{.scarce = false, .spins = 3, .yields = 0xffffffff}};
    EXPECT_EQ(steps<wait::adaptive>(w, 1000), sequence(3, 997, 0));
}

} // namespace mpt::test
