// Collectives of one round, of which those who wait for nobody run ahead of the others.
#include <thread>

#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/gather.hpp>
#include <mpt/coll/reduce.hpp>
#include <mpt/coll/scan.hpp>
#include <mpt/coll/scatter.hpp>
#include <mpt/mpi/collectives.hpp>

#include "support/together.hpp"

namespace {
using namespace mpt::test;

/// One stream of calls: what comes is another in each, and longer than rounds are kept.
class stream {
    team_type const& team_;
    int me_, ranks_;
    std::size_t call_ = 0;

    long value(int rank, std::size_t i) const {
        return static_cast<long>(1000 * call_ + 100 * static_cast<std::size_t>(rank) + i);
    }
    std::vector<long> own(std::size_t n) const {
        std::vector<long> v(n);
        for (std::size_t i = 0; i < n; ++i) v[i] = value(me_, i);
        return v;
    }
    /// As many as each rank has: another number for each, and none of some.
    std::size_t listed(int rank, std::size_t n) const { return n * static_cast<std::size_t>(rank % 3) / 2; }

public:
    static constexpr int calls = 7, root = 1;

    stream(team_type const& team, int me) : team_{team}, me_{me}, ranks_{team.size()} {}

    void call(int what, std::size_t n) {
        ++call_;
        auto const bytes = n * sizeof(long), all_of = n * static_cast<std::size_t>(ranks_);
        auto mine = own(n);
        std::plus<> add;
        auto const sum = mpt::detail::operand_of<long>(add);
        std::vector<long> all(all_of), below(n);
        switch (what) {
        case 0:
            coll::broadcast(team_, writable(mine), root);
            for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(mine[i], value(root, i));
            return;
        case 1:
            coll::gather(team_, coll::place{writable(mine)}.out, coll::blocks{writable(all), bytes}, root);
            for (std::size_t i = 0; me_ == root && i < all_of; ++i) ASSERT_EQ(all[i], value(static_cast<int>(i / n), i % n));
            return;
        case 2:
            for (std::size_t i = 0; i < all_of; ++i) all[i] = value(static_cast<int>(i / n), i % n);
            coll::scatter(team_, coll::const_blocks{readable(all), bytes}, coll::place{writable(mine)}.in, root);
            for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(mine[i], value(me_, i));
            return;
        case 3:
            coll::exscan(team_, sum, readable(mine).data(), writable(below).data(), n);
            for (std::size_t i = 0; me_ > 0 && i < n; ++i) {
                long of_all = 0;
                for (int r = 0; r < me_; ++r) of_all += value(r, i);
                ASSERT_EQ(below[i], of_all);
            }
            return;
        case 4:
            coll::reduce(team_, sum, readable(mine).data(), me_ == root ? writable(below).data() : nullptr, n, root);
            for (std::size_t i = 0; me_ == root && i < n; ++i) {
                long of_all = 0;
                for (int r = 0; r < ranks_; ++r) of_all += value(r, i);
                ASSERT_EQ(below[i], of_all);
            }
            return;
        case 5: return scatter_list(n);
        default: return gather_list(n);
        }
    }

private:
    void scatter_list(std::size_t n) const {
        std::vector<std::vector<long>> lists;
        for (int r = 0; r < ranks_; ++r) {
            auto& list = lists.emplace_back(listed(r, n));
            for (std::size_t i = 0; i < list.size(); ++i) list[i] = value(r, i);
        }
        auto const list = [&](std::int32_t r) { return coll::place{writable(lists[static_cast<std::size_t>(r)])}; };
        std::vector<long> got(listed(me_, n), -1);
        coll::scatterv(
            team_, [&](std::int32_t r) { return list(r).out; }, coll::place{writable(got)}.in, root);
        ASSERT_EQ(got, lists[static_cast<std::size_t>(me_)]);
    }
    void gather_list(std::size_t n) const {
        auto mine = own(listed(me_, n));
        std::vector<std::vector<long>> lists;
        for (int r = 0; r < ranks_; ++r) lists.emplace_back(listed(r, n), -1);
        auto const list = [&](std::int32_t r) { return coll::place{writable(lists[static_cast<std::size_t>(r)])}.in; };
        coll::gatherv(team_, coll::place{writable(mine)}.out, list, root);
        for (int r = 0; me_ == root && r < ranks_; ++r)
            for (std::size_t i = 0; i < listed(r, n); ++i) ASSERT_EQ(lists[static_cast<std::size_t>(r)][i], value(r, i));
    }
};

/// In an entry, in a piece, a whole piece, and more than one.
constexpr std::size_t numbers[]{1, 12, 13, 40, 128, 129, 300};

/// Two ranks mostly have CPUs of their own, and nine take turns: then rooms are of the two sizes that there are.
TEST(coll_brief, who_runs_ahead_is_read_as_it_was_shown) {
    watchdog const guard{"ranks that run ahead"};
    for (int n : {2, 3, 9})
        together(n, [](team_type const& team, int me) {
            stream s{team, me};
            for (int what = 0; what < stream::calls; ++what)
                for (auto const many : numbers)
                    for (int i = 0; i < 150; ++i) {
                        s.call(what, many);
                        if (me == 0 && i % 40 == 0) std::this_thread::yield();
                        if (testing::Test::HasFatalFailure()) return;
                    }
        });
}

TEST(coll_brief, sizes_may_change_from_call_to_call) {
    watchdog const guard{"calls of all sizes"};
    for (int n : {2, 5})
        together(n, [](team_type const& team, int me) {
            stream s{team, me};
            for (int i = 0; i < 1000 && !testing::Test::HasFatalFailure(); ++i)
                s.call(i / 3 % stream::calls, numbers[static_cast<std::size_t>(i) % std::size(numbers)]);
        });
}

/// A row has room for so many bytes of pieces, none above 1 KiB, with their places; else all come as messages.
TEST(coll_brief, a_scattered_list_has_pieces_that_fill_the_row_or_do_not_fit) {
    for (int n : {2, 4, 9})
        together(n, [n](team_type const& team, int me) {
            for (std::size_t const most : {1000u, 1023u, 1024u, 1025u, 4096u, 70'000u})
                for (int long_one = 0; long_one < n; ++long_one) {
                    std::vector<std::vector<std::byte>> lists;
                    for (int r = 0; r < n; ++r) lists.emplace_back(r == long_one ? most : 2, std::byte(r + long_one));
                    std::vector<std::byte> got(lists[static_cast<std::size_t>(me)].size());
                    auto const of = [&](std::int32_t r) {
                        auto const& list = lists[static_cast<std::size_t>(r)];
                        return mpt::source{list.data(), list.size()};
                    };
                    coll::scatterv(team, of, mpt::sink{std::span{got}}, 0);
                    EXPECT_EQ(got, lists[static_cast<std::size_t>(me)]) << most << " bytes for rank " << long_one;
                }
        });
}

TEST(coll_brief, another_piece_than_the_root_has_is_told_and_the_others_go_on) {
    together(3, [](team_type const& team, int me) {
        std::vector<int> all(9, 7), mine(me == 2 ? 2 : 3), right(3);
        std::string said;
        try {
            coll::scatterv(team, coll::const_blocks{readable(all), 12}, mpt::sink{writable(mine)}, 0);
        } catch (mpt::error const& e) {
            EXPECT_EQ(e.code(), mpt::errc::truncate);
            said = e.what();
        }
        EXPECT_EQ(said.find("different sizes: 12 bytes came where 8 were expected") != said.npos, me == 2) << said;
        coll::scatterv(team, coll::const_blocks{readable(all), 12}, mpt::sink{writable(right)}, 0);
        EXPECT_EQ(right, (std::vector{7, 7, 7}));
    });
}

TEST(coll_brief, the_roots_own_piece_of_another_size_is_told_and_the_others_have_theirs) {
    for (std::size_t const many : {3u, 2000u})
        together(2, [many](team_type const& team, int me) {
            std::vector<int> all(2 * many, 7), mine(me == 0 ? many - 1 : many);
            std::string said;
            try {
                coll::scatterv(team, coll::const_blocks{readable(all), 4 * many}, mpt::sink{writable(mine)}, 0);
            } catch (mpt::error const& e) { said = e.what(); }
            EXPECT_EQ(said.empty(), me == 1) << said;
            EXPECT_EQ(mine.back(), me == 0 ? 0 : 7);
            coll::barrier(team);
        });
}

TEST(coll_brief, pieces_of_a_list_that_come_as_messages_may_leave_at_once_and_are_as_long_as_they_should_be) {
    auto const values = from_the_first_call().set<"MPT_SCATTERV_AT_ONCE">("1M");
    for (int wrong : {-1, 2})
        together(3, values, [wrong](team_type const& team, int me) {
            std::vector<int> all(9000, 7), mine(me == wrong ? 2 : 3000), right(3000);
            std::string said;
            try {
                coll::scatterv(team, coll::const_blocks{readable(all), 12'000}, mpt::sink{writable(mine)}, 0);
            } catch (mpt::error const& e) { said = e.what(); }
            EXPECT_EQ(said.find("different sizes: 12000 bytes came where 8 were expected") != said.npos, me == wrong) << said;
            if (me != wrong) { EXPECT_EQ(mine, (std::vector<int>(3000, 7))); }
            coll::scatterv(team, coll::const_blocks{readable(all), 12'000}, mpt::sink{writable(right)}, 0);
            EXPECT_EQ(right, (std::vector<int>(3000, 7)));
        });
}

TEST(coll_brief, a_scatter_meets_no_scatterv) {
    auto const expect = [](bool root_has_list, std::string_view what) {
        auto const all = said(2, from_the_first_call(), [&](team_type const& team, int me) {
            std::vector<long> pieces(2), mine(1);
            coll::const_blocks const of{readable(pieces), 8};
            if ((me == 0) == root_has_list) coll::scatterv(team, of, mpt::sink{writable(mine)}, 0);
            else coll::scatter(team, of, mpt::sink{writable(mine)}, 0);
        });
        EXPECT_TRUE(any_says(all, what)) << all[0] << '\n' << all[1];
    };
    expect(true, "rank 0 scatters a list of pieces (scatterv), where this rank expects 8 bytes of a scatter");
    together(2, [](team_type const& team, int me) { // a scatter that ranks would copy directly, in more rounds
        std::vector<std::byte> pieces(2 << 20), mine(me == 0 ? 8 : 1 << 20);
        std::string said;
        coll::barrier(team);
        try {
            if (me == 0) coll::scatterv(team, coll::const_blocks{readable(pieces), 8}, mpt::sink{std::span{mine}}, 0);
            else coll::scatter(team, coll::const_blocks{readable(pieces), 1 << 20}, mpt::sink{std::span{mine}}, 0);
        } catch (mpt::error const& e) { said = e.what(); }
        EXPECT_EQ(said.empty(), me == 0) << said;
        coll::barrier(team); // in step
    });
    expect(false, "rank 0 scatters equal pieces of 8 bytes (scatter), where this rank expects one of a list");
}

} // namespace
