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

TEST(adaptive, never_pauses_for_that_doubles_a_latency) {
    wait::adaptive::type w{{.scarce = false}};
    for (auto const s : steps<wait::adaptive>(w, 5000)) EXPECT_NE(s, wait_step::pause);
}

TEST(adaptive, does_not_sleep_early_when_spins_and_yields_overflow_32_bits) {
    wait::adaptive::type w{{.scarce = false, .spins = 3, .yields = 0xffffffff}};
    EXPECT_EQ(steps<wait::adaptive>(w, 1000), sequence(3, 997, 0));
}

} // namespace mpt::test
