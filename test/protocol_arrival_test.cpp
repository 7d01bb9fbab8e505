#include <gtest/gtest.h>
#include <mpt/protocol/arrival.hpp>

namespace {
TEST(protocol_arrival, its_place_in_the_tables_leads_back_to_it) {
    mpt::protocol::arrival a{};
    mpt::protocol::arrival_hook& hook = a;
    EXPECT_EQ(&static_cast<mpt::protocol::arrival&>(hook), &a);
    EXPECT_EQ(a.kind, mpt::protocol::op::none);
}
TEST(protocol_arrival, a_small_message_fits_beside_its_envelope) {
    EXPECT_GE(mpt::protocol::arrival{}.near.size(), 52u - sizeof(mpt::protocol::wire::e0)); // the data of one cell
}
} // namespace
