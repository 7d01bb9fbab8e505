#include <cstring>

#include "support/together.hpp"
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/shared_block.hpp>

namespace {
using namespace mpt::test;
using mpt::coll::shared_block;

TEST(coll_shared_block, each_rank_reads_what_the_others_wrote_to_their_own) {
    together(5, [](team_type const& team, int me) {
        coll::barrier(team);
        auto const block = shared_block::agree(team, 1000, true);
        ASSERT_TRUE(block);
        EXPECT_EQ(block.own(), block.of(me));
        EXPECT_EQ(block.own()[999], std::byte{0}); // a part that is new
        coll::barrier(team);
        std::memset(block.own(), me + 1, 1000);
        coll::barrier(team);
        for (int q = 0; q < 5; ++q) EXPECT_EQ(block.of(q)[999], static_cast<std::byte>(q + 1));
        coll::barrier(team);
    });
}

TEST(coll_shared_block, where_one_does_not_want_it_none_has_it) {
    together(3, [](team_type const& team, int me) {
        coll::barrier(team);
        for (int unwilling : {0, 2}) EXPECT_FALSE(shared_block::agree(team, 1000, me != unwilling));
        EXPECT_TRUE(shared_block::agree(team, 1000, true));
        EXPECT_FALSE(shared_block{});
    });
}

} // namespace
