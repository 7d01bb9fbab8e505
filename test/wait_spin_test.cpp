#include <mpt/wait/spin.hpp>

#include "wait_conformance.hpp"

namespace mpt::test {

INSTANTIATE_TYPED_TEST_SUITE_P(spin, wait_conformance, wait::spin);

TEST(spin, never_leaves_the_cpu) {
    for (auto const& facts : surroundings()) {
        wait::spin::type w{facts};
        EXPECT_EQ(steps<wait::spin>(w, 500), std::vector<wait_step>(500, wait_step::spin));
    }
}

} // namespace mpt::test
