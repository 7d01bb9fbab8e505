#include <gtest/gtest.h>
#include <mpt/protocol/peers.hpp>

namespace {
TEST(protocol_peers, a_peer_is_made_at_first_contact_and_stays_where_it_is) {
    mpt::protocol::peer_table table{100000};
    auto& p = table.at(99999);
    EXPECT_EQ(p.who, 99999);
    EXPECT_TRUE(p.clear);
    EXPECT_TRUE(p.waiting.empty());
    p.throttled = true;
    table.at(3);
    EXPECT_EQ(&table.at(99999), &p);
    EXPECT_TRUE(table.at(99999).throttled);
    EXPECT_FALSE(table.at(99998).throttled);
}
TEST(protocol_peers, the_last_rank_of_any_size_has_a_place) {
    for (int n : {1, 63, 64, 65, 128}) {
        mpt::protocol::peer_table table{n};
        EXPECT_EQ(table.at(n - 1).who, n - 1);
    }
}
} // namespace
