#include "protocol_conformance.hpp"
#include <mpt/protocol/rndv_get.hpp>

INSTANTIATE_TYPED_TEST_SUITE_P(rndv_get, protocol_conformance, mpt::protocol::rndv_get<>);

using machine = mpt::protocol::rndv_get<>;

TEST(protocol_rndv_get, a_refused_pull_is_handed_over_not_lost) {
    EXPECT_EQ(machine::next(machine::state::pulling, machine::event::refused), machine::state::handed_over);
    EXPECT_EQ(machine::next(machine::state::offered, machine::event::cts), machine::state::handed_over);
    EXPECT_FALSE(machine::next(machine::state::done, machine::event::fin));
}
