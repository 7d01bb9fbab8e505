#include <stdexcept>

#include "support/any_collective.hpp"
#include "support/together.hpp"
#include <mpt/coll/scan.hpp>

namespace {
using namespace mpt::test;

TEST(coll_combined, sums_of_floating_point_have_the_bits_that_they_have_by_messages) {
    for (int n : {2, 3, 5, 7, 9})
        together(n, [n](team_type const& team, int me) {
            team_type const by_messages = team.among(team.who(), team.me());
            std::plus<> add;
            auto const op = mpt::detail::operand_of<double>(add);
            dice common{static_cast<unsigned>(n)};
            for (std::size_t len : {1u, 128u, 129u, 1024u, 1025u, 9000u}) {
                std::vector<double> mine(len), all(len), other(len);
                for (std::size_t i = 0; i < len; ++i) mine[i] = 1.0 / (1.0 + me * 7 + static_cast<double>(i % 1000));
                auto const root = static_cast<int>(common.below(static_cast<unsigned>(n)));
                auto const* const data = readable(mine).data();
                coll::allreduce(team, op, data, writable(all).data(), len);
                coll::allreduce(by_messages, op, data, writable(other).data(), len);
                ASSERT_EQ(all, other) << len;
                coll::reduce(team, op, data, writable(all).data(), len, root);
                coll::reduce(by_messages, op, data, writable(other).data(), len, root);
                if (me == root) { ASSERT_EQ(all, other) << len << " at " << root; }
                coll::scan(team, op, data, writable(all).data(), len);
                coll::scan(by_messages, op, data, writable(other).data(), len);
                ASSERT_EQ(all, other) << len << ", scan";
                coll::exscan(team, op, data, writable(all).data(), len);
                coll::exscan(by_messages, op, data, writable(other).data(), len);
                ASSERT_EQ(all, other) << len << ", exscan";
            }
        });
}

TEST(coll_combined, elements_too_large_for_a_chunk_go_by_messages) {
    struct block {
        long first;
        char rest[40000];
    };
    together(3, [](team_type const& team, int me) {
        for (int i = 0; i < 3; ++i) {
            std::vector<block> v(2);
            v[0].first = me, v[1].first = 10 * me;
            auto op = [](block a, block const& b) { return a.first += b.first, a; };
            auto const operand = mpt::detail::operand_of<block>(op);
            coll::allreduce(team, operand, nullptr, writable(v).data(), v.size());
            ASSERT_EQ(v[0].first, 3);
            ASSERT_EQ(v[1].first, 30);
            coll::barrier(team);
        }
    });
}

TEST(coll_combined, what_an_operation_throws_leaves_the_collective) {
    EXPECT_THROW(together(2,
                          [](team_type const& team, int) {
                              std::vector<int> v(10);
                              auto bad = [](int, int) -> int { throw std::runtime_error{"no"}; };
                              coll::allreduce(team, mpt::detail::operand_of<int>(bad), nullptr, writable(v).data(), v.size());
                          }),
                 std::runtime_error);
}

/// Each rank's elements lie as they like: what others read of them does not.
TEST(coll_combined, two_ranks_whose_elements_lie_otherwise) {
    together(2, [](team_type const& team, int me) {
        dice own{static_cast<unsigned>(me + 1)}, common{7};
        for (unsigned seed = 2; seed < 12; ++seed) {
            matrices all{common.one_of<std::size_t>({700, 2'001, 20'000}), own};
            all.bring(seed, me);
            coll::allreduce(team, all.either(seed % 2 == 0), nullptr, all.origin(), all.size());
            for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all.get(i), combined(seed % 2 == 0, seed, 0, 1, i)) << i;
        }
    });
}

} // namespace
