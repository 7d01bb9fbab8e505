#include <mpt/wait/yield.hpp>

#include "wait_conformance.hpp"

namespace mpt::test {

INSTANTIATE_TYPED_TEST_SUITE_P(yield, wait_conformance, wait::yield);

TEST(yield, gives_the_cpu_away_each_time_and_never_sleeps) {
    for (auto const& facts : surroundings()) {
        wait::yield::type w{facts};
        EXPECT_EQ(steps<wait::yield>(w, 500), std::vector<wait_step>(500, wait_step::yield));
    }
}

} // namespace mpt::test
