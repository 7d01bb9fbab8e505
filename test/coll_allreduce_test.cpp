#include <functional>

#include "support/job_of.hpp"
#include "support/matrices.hpp"
#include "support/sanitized.hpp"
#include "support/steps.hpp"
#include <mpt/coll/allreduce.hpp>
#include <mpt/mpi/collectives.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_allreduce = team_over<Stack>;
TYPED_TEST_SUITE(coll_allreduce, wires);

template <class Team> void reduce(Team const& team, std::vector<long>& v, bool commutes, long (*op)(long, long)) {
    auto operand = mpt::detail::operand_of<long>(op);
    operand.commutes = commutes;
    coll::allreduce(team, operand, nullptr, writable(v).data(), v.size());
}
long add(long a, long b) { return a + b; }
/// Associative, does not commute: keeps the digits of both in order, in base 10.
long join(long a, long b) {
    long shift = 10;
    while (b >= shift) shift *= 10;
    return a * shift + b;
}

TYPED_TEST(coll_allreduce, sums_of_all_sizes_on_all_numbers_of_ranks) {
    for (int n : sizes_of_teams)
        this->run_team(n, [n](auto const& team, int me) {
            // 2048 longs are the last that double; fewer elements than places cannot be halved
            for (std::size_t len : {1u, 7u, 2048u, 2049u, 30011u})
                for (bool commutes : {true, false}) {
                    std::vector<long> v(len);
                    for (std::size_t i = 0; i < len; ++i) v[i] = static_cast<long>(i) + me;
                    reduce(team, v, commutes, add);
                    for (std::size_t i = 0; i < len; ++i)
                        ASSERT_EQ(v[i], static_cast<long>(i) * n + n * (n - 1) / 2)
                            << "n " << n << " length " << len << " at " << i;
                }
        });
}

TYPED_TEST(coll_allreduce, combines_in_rank_order) {
    for (int n : {2, 3, 4, 5, 6, 7, 8})
        this->run_team(n, [n](auto const& team, int me) {
            for (std::size_t len : {1u, 3000u}) {
                std::vector<long> v(len, me + 1);
                reduce(team, v, false, join);
                auto const all = std::string{"12345678"}.substr(0, static_cast<std::size_t>(n));
                ASSERT_EQ(v.front(), std::stol(all));
                ASSERT_EQ(v.back(), std::stol(all));
            }
        });
}

TYPED_TEST(coll_allreduce, elements_of_any_layout_keep_rank_order) {
    random_steps<TestFixture>(16, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        bool const commutes = common.coin(), in_place = common.coin();
        auto const n = common.one_of<std::size_t>({0, 1, 2, 7, 1024, 1025, 3000});
        matrices all{n, own};
        all.bring(seed, team.me());
        auto mine = all; // of the same type
        if (!in_place) all.bring(0, 0);
        either_way(team, common, [&](auto const& t) {
            coll::allreduce(t, all.either(commutes), in_place ? nullptr : mine.origin(), all.origin(), n);
        });
        for (std::size_t i = 0; i < n; ++i)
            if (all.get(i) != combined(commutes, seed, 0, team.size() - 1, i)) {
                ADD_FAILURE() << "element " << i << " of " << n << (commutes ? ", commutes" : "");
                break;
            }
    });
}

TYPED_TEST(coll_allreduce, of_nothing_is_nothing) {
    for (int n : sizes_of_teams)
        this->run_team(n, [](auto const& team, int) {
            std::vector<long> none;
            reduce(team, none, true, add);
            EXPECT_TRUE(none.empty());
        });
}

TYPED_TEST(coll_allreduce, large_elements_that_are_few_keep_whole) {
    struct block { // larger than the limit of doubling, but fewer elements than places
        long first;
        char rest[40000];
    };
    this->run_team(5, [](auto const& team, int me) {
        std::vector<block> v(2);
        v[0].first = me, v[1].first = 10 * me;
        auto op = [](block a, block const& b) { return a.first += b.first, a; };
        auto operand = mpt::detail::operand_of<block>(op);
        operand.commutes = true;
        coll::allreduce(team, operand, nullptr, writable(v).data(), v.size());
        EXPECT_EQ(v[0].first, 10);
        EXPECT_EQ(v[1].first, 100);
    });
}

TYPED_TEST(coll_allreduce, other_sizes_on_other_ranks_are_a_sentence) {
    auto const said = this->failure_of_team(2, [](auto const& team, int me) {
        std::vector<long> v(me == 0 ? 3 : 5);
        reduce(team, v, true, add);
    });
    EXPECT_NE(said.find("called a collective with different sizes"), std::string::npos) << said;
}

TEST(coll_allreduce_parts, places_are_a_power_of_two_and_each_is_one_rank) {
    for (int n = 1; n <= 70; ++n) {
        coll::detail::places const at{n};
        EXPECT_EQ(at.count & (at.count - 1), 0);
        EXPECT_LE(at.count, n);
        EXPECT_GT(2 * at.count, n);
        int folded = 0;
        for (int r = 0; r < n; ++r) {
            if (at.of(r) < 0) {
                EXPECT_GE(at.of(r - 1), 0);
                ++folded;
            } else EXPECT_EQ(at.rank_at(at.of(r)), r);
        }
        EXPECT_EQ(folded, n - at.count);
        for (int p = 1; p < at.count; ++p) EXPECT_LT(at.rank_at(p - 1), at.rank_at(p)) << "order is kept";
    }
}

TEST(coll_allreduce_parts, halves_cover_everything_once_and_are_never_equal) {
    for (std::size_t n = 0; n < 2000; ++n) {
        auto const [low, high] = coll::detail::halves({7, n});
        EXPECT_EQ(low.first, 7u);
        EXPECT_EQ(high.first, 7u + low.count);
        EXPECT_EQ(low.count + high.count, n);
        EXPECT_TRUE(n == 0 || low.count != high.count) << n;
        EXPECT_LE(low.count, n / 2 + 1);
    }
}

/// Which ranks bring the second size: every pattern of n bits but those where all bring the same. The sizes lie on both sides of
/// the limit between the algorithms, on one side each, a few bytes and a factor of two apart.
TYPED_TEST(coll_allreduce, whoever_brings_another_size_is_found_out_and_nobody_hangs) {
    constexpr std::size_t pairs[][2]{{1280, 2560}, {1281, 2560}, {1, 2560}, {2048, 2049}, {2560, 2561}, {2560, 5120}, {3, 5}};
    for (int n : {2, 3, 4, 5})
        for (std::size_t p = 0; p < std::size(pairs); ++p)
            for (unsigned who = 1; who + 1 < 1u << n; ++who) {
                if (sanitized && n == 5 && who % std::size(pairs) != p) continue; // a job takes a tenth of a second then
                auto const& sizes = pairs[p];
                watchdog const guard{"allreduce with different sizes"};
                auto const said = this->failure_of_team(n, [&](auto const& team, int me) {
                    std::vector<long> v(sizes[(who >> me) & 1]);
                    reduce(team, v, true, add);
                    team.recv((me + 1) % n, coll::speaker::barrier,
                              mpt::sink{}); // whoever saw nothing waits for those that did
                });
                ASSERT_NE(said.find("called a collective with different sizes"), std::string::npos)
                    << said << ": " << n << " ranks, pattern " << who << ", " << sizes[0] << " and " << sizes[1];
                ASSERT_NE(said.find("this rank brings"), std::string::npos) << said;
            }
}
} // namespace
