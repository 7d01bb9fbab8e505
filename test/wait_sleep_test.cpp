#include <mpt/wait/sleep.hpp>

#include "wait_conformance.hpp"

namespace mpt::test {

INSTANTIATE_TYPED_TEST_SUITE_P(sleep, wait_conformance, wait::sleep);

TEST(sleep, sleeps_from_the_first_empty_poll_on) {
    for (auto const& facts : surroundings()) {
        wait::sleep::type w{facts};
        EXPECT_EQ(steps<wait::sleep>(w, 500), std::vector<wait_step>(500, wait_step::sleep));
    }
}

} // namespace mpt::test
