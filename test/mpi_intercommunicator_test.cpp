#include <array>
#include <numeric>
#include <string>

#include "support/wires.hpp"
#include <mpt/mpi/intercommunicator.hpp>

namespace {
using namespace mpt::test;
using mpt::root_beside;
using mpt::root_here;

template <class Stack> struct mpi_intercommunicator : over<Stack> {
    /// fn(intercommunicator, side) on n ranks, the first `first` of which are side 0.
    template <class F> static void sides(int n, int first, F const& fn) {
        over<Stack>::job(n, [&](auto world) {
            int const side = world.rank() >= first;
            auto const half = world.split(side);
            mpt::intercommunicator across{half->view(), 0, world, side == 0 ? first : 0};
            fn(across, side);
        });
    }
};
TYPED_TEST_SUITE(mpi_intercommunicator, wires);

TYPED_TEST(mpi_intercommunicator, counts_ranks_by_sides) {
    this->sides(5, 2, [](auto const& across, int side) {
        EXPECT_EQ(across.size(), side == 0 ? 2 : 3);
        EXPECT_EQ(across.remote_size(), side == 0 ? 3 : 2);
        EXPECT_TRUE(across.members() == mpt::group::range(side == 0 ? 0 : 2, across.size()));
        EXPECT_TRUE(across.remote_members() == mpt::group::range(side == 0 ? 2 : 0, across.remote_size()));
    });
}

TYPED_TEST(mpi_intercommunicator, messages_name_ranks_of_the_other_side) {
    this->sides(4, 2, [](auto const& across, int side) {
        int const me = across.rank(), value = 10 * side + me;
        auto sent = across.isend(value, me, 3);
        mpt::message_info from;
        EXPECT_EQ(across.template recv<int>(mpt::any_source, 3, &from), 10 * (1 - side) + me);
        EXPECT_EQ(from.source, me);
        EXPECT_EQ(from.tag, 3);
        sent.wait();
        int got = -1;
        across.sendrecv(value, 1 - me, got, 1 - me);
        EXPECT_EQ(got, 10 * (1 - side) + 1 - me);
        if (side == 0) across.ssend(std::vector<int>(3, me), me, 1);
        else EXPECT_EQ(across.mprobe(me, 1).template recv<std::vector<int>>(), std::vector<int>(3, me));
        try {
            across.send(value, 2);
            ADD_FAILURE() << "nothing was thrown";
        } catch (mpt::error const& e) { EXPECT_EQ(e.code(), mpt::errc::rank_range); }
    });
}

TYPED_TEST(mpi_intercommunicator, what_one_side_brings_the_other_gets) {
    this->sides(5, 2, [](auto const& across, int side) {
        int const me = across.rank(), value = 10 * side + me;
        std::vector const theirs = side == 0 ? std::vector{10, 11, 12} : std::vector{0, 1};
        auto const sum = std::accumulate(theirs.begin(), theirs.end(), 0);
        int const root = side == 0 ? (me == 1 ? root_here : root_beside) : 1; // rank 1 of side 0
        across.barrier();

        int word = root == root_here ? 7 : -1;
        across.broadcast(word, root);
        EXPECT_EQ(word, root == root_beside ? -1 : 7);
        auto const gathered = across.gather(value, root);
        EXPECT_EQ(gathered, root == root_here ? theirs : std::vector<int>{});
        std::array<int, 2> pair{};
        across.scatter(root == root_here ? std::vector{1, 2, 3, 4, 5, 6} : std::vector<int>{}, pair, root);
        if (side == 1) { EXPECT_EQ(pair, (std::array{2 * me + 1, 2 * me + 2})); }
        auto const reduced = across.reduce(value, std::plus{}, root);
        EXPECT_EQ(reduced, root == root_here ? std::optional{sum} : std::nullopt);

        EXPECT_EQ(across.allgather(value), theirs);
        auto const lists = across.allgatherv(std::vector<int>(static_cast<std::size_t>(value), me));
        for (std::size_t r = 0; r < lists.size(); ++r)
            EXPECT_EQ(lists[r], std::vector<int>(static_cast<std::size_t>(theirs[r]), static_cast<int>(r)));
        std::vector<int> mine(theirs.size());
        for (std::size_t r = 0; r < mine.size(); ++r) mine[r] = 100 * value + static_cast<int>(r);
        std::vector<int> wanted;
        for (int const v : theirs) wanted.push_back(100 * v + me);
        EXPECT_EQ(across.alltoall(mine), wanted);
        EXPECT_EQ(across.allreduce(value), sum);
        EXPECT_EQ(across.allreduce(std::vector{value, -value}), (std::vector{sum, -sum}));
        auto const part = across.reduce_scatter_block(std::vector<int>(6, value));
        EXPECT_EQ(part, std::vector<int>(static_cast<std::size_t>(6 / across.size()), sum));
        EXPECT_FALSE(across.template with<mpt::errors::returning>().allreduce(std::vector<int>{}).value().size());
    });
}

/// x -> a x + b, one after the other: associates, and does not commute.
struct line {
    unsigned a, b;
    friend bool operator==(line const&, line const&) = default;
};
line then(line const& f, line const& g) { return {f.a * g.a, f.b * g.a + g.b}; }
line line_of(int side, int rank) {
    auto const s = static_cast<unsigned>(side), r = static_cast<unsigned>(rank);
    return {3 + 7 * s + 2 * r, 5 + s + 11 * r};
}

TYPED_TEST(mpi_intercommunicator, an_operation_that_does_not_commute_keeps_rank_order) {
    this->sides(7, 3, [](auto const& across, int side) {
        auto wanted = line_of(1 - side, 0);
        for (int r = 1; r < across.remote_size(); ++r) wanted = then(wanted, line_of(1 - side, r));
        EXPECT_EQ(across.allreduce(line_of(side, across.rank()), then), wanted);
    });
}

TYPED_TEST(mpi_intercommunicator, becomes_one_group_or_another_pair) {
    this->sides(5, 2, [](auto const& across, int side) {
        auto const merged = across.merge(side == 0);
        EXPECT_EQ(merged.size(), 5);
        EXPECT_EQ(merged.rank(), across.rank() + (side == 0 ? 3 : 0));
        EXPECT_EQ(merged.allreduce(1), 5);
        auto twin = across.dup();
        auto const moved = std::move(twin);
        if (side == 0 && across.rank() == 0) across.send(1, 0), moved.send(2, 0);
        if (side == 1 && across.rank() == 0) {
            EXPECT_EQ(moved.template recv<int>(0), 2);
            EXPECT_EQ(across.template recv<int>(0), 1);
        }
        moved.barrier();
    });
}

TYPED_TEST(mpi_intercommunicator, twins_are_begun_and_waited_for) {
    this->sides(5, 2, [](auto const& across, int side) {
        auto first = across.idup(), second = across.idup();
        auto const b = second.wait(), a = first.wait();
        EXPECT_TRUE(a.context() != b.context() && a.context() != across.context());
        EXPECT_TRUE(a.members() == across.members() && a.remote_members() == across.remote_members());
        EXPECT_EQ(a.rank(), across.rank());
        EXPECT_EQ(b.allreduce(1), across.remote_size());
        if (across.rank() == 0) {
            a.send(1, 0), b.send(2, 0);
            EXPECT_EQ(b.template recv<int>(0), 2);
            EXPECT_EQ(a.template recv<int>(0), 1);
        }
        EXPECT_EQ(a.merge(side == 1).size(), 5);
    });
}

TYPED_TEST(mpi_intercommunicator, is_split_by_colors_of_both_sides) {
    this->sides(7, 3, [](auto const& across, int side) {
        int const me = across.rank();
        bool const alone = side == 1 && me == 3; // a color that nobody has on the other side
        auto const part = across.split(alone ? std::optional{9} : me == 0 ? std::nullopt : std::optional{4}, -me);
        EXPECT_EQ(part.has_value(), me != 0 && !alone);
        if (!part) return;
        EXPECT_EQ(part->size(), 2);
        EXPECT_EQ(part->remote_size(), 2);
        EXPECT_EQ(part->rank(), 2 - me) << "the greatest key comes last";
        EXPECT_EQ(part->allgather(10 * side + me), (std::vector{10 * (1 - side) + 2, 10 * (1 - side) + 1}));
    });
}

TYPED_TEST(mpi_intercommunicator, is_made_of_a_group_of_each_side) {
    this->sides(5, 2, [](auto const& across, int side) {
        std::vector<std::int32_t> const turned{1, 0}, last{2};
        auto const who = mpt::groups::incl(across.members(), side == 0 ? turned : last);
        auto const part = mpt::create(across, who);
        EXPECT_EQ(part.has_value(), side == 0 || across.rank() == 2);
        if (part) {
            EXPECT_TRUE(part->members() == who);
            EXPECT_EQ(part->rank(), side == 0 ? 1 - across.rank() : 0);
            EXPECT_EQ(part->allgather(10 * side + across.rank()), (side == 0 ? std::vector{12} : std::vector{1, 0}));
        }
        auto const nobody = mpt::create(across, side == 0 ? mpt::group{} : across.members());
        EXPECT_FALSE(nobody.has_value()) << "one side names nobody";
        EXPECT_THROW(static_cast<void>(mpt::create(across, across.remote_members())), mpt::error);
        EXPECT_EQ(across.allreduce(1), across.remote_size()) << "a refusal leaves all as it was";
    });
}

TYPED_TEST(mpi_intercommunicator, leaders_that_are_not_there_are_refused_on_their_side) {
    this->job(2, [](auto world) {
        try {
            mpt::intercommunicator across{world, 0, world, 2};
            ADD_FAILURE() << "nothing was thrown";
        } catch (mpt::error const& e) {
            EXPECT_EQ(e.code(), world.rank() == 0 ? mpt::errc::rank_range : mpt::errc::usage) << e.what();
        }
        auto const half = world.split(0);
        try {
            mpt::intercommunicator across{half->view(), 0, world, 0};
            ADD_FAILURE() << "nothing was thrown";
        } catch (mpt::error const& e) {
            EXPECT_NE(std::string{e.what()}.find("not disjoint: rank 0 of the job is in both"), std::string::npos) << e.what();
        }
    });
}
} // namespace
