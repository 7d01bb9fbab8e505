#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>
#include <mpt/coll/allgather.hpp>
#include <mpt/coll/allreduce.hpp>
#include <mpt/coll/alltoall.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/gather.hpp>
#include <mpt/coll/plan.hpp>
#include <mpt/coll/reduce.hpp>
#include <mpt/coll/scatter.hpp>

namespace {
namespace coll = mpt::coll;
using coll::speaker;

/// The shape of a plan: s and r are messages, a bar opens a phase, m and c are steps of this rank's own.
std::string shape_of(coll::plan const& p) {
    std::string all;
    std::uint32_t phase = 0;
    for (auto const& s : p.steps()) {
        if (auto const* const m = std::get_if<coll::message_step>(&s)) {
            if (std::exchange(phase, m->phase) != m->phase) all += '|';
            all += m->sends ? 's' : 'r';
        } else all += std::holds_alternative<coll::move_step>(s) ? 'm' : 'c';
    }
    return all;
}
struct planned {
    mpt::group who;
    coll::plan steps;
    mpt::config::values variables;
    coll::recorder team;
    planned(int n, int me, std::uint32_t number = 0, mpt::config::values const& v = {})
        : who{mpt::group::range(10, n)}, variables{v}, team{steps, who, mpt::rank{me}, number, variables} {}
};

TEST(coll_plan, an_exchange_is_a_phase_and_so_are_messages_of_one_sort) {
    planned p{4, 0};
    std::byte b[8]{};
    mpt::source const out{b, 4};
    mpt::sink const in{b + 4, 4};
    p.team.send(1, speaker::gather, out);
    p.team.send(2, speaker::gather, out);
    p.team.recv(1, speaker::gather, in);
    p.team.recv(1, speaker::gather, in);
    p.team.exchange(1, out, 2, in, speaker::gather);
    p.team.exchange(1, out, 2, in, speaker::gather);
    std::vector<coll::incoming> const many{{1, in}, {2, in}};
    std::vector<coll::outgoing> const one{{3, out}};
    p.team.exchange_all(many, one, speaker::gather);
    p.team.exchange_all(many, {}, speaker::gather);
    p.team.recv(1, speaker::gather, in);
    p.team.move(out, in);
    p.team.recv(1, speaker::gather, in);
    EXPECT_EQ(shape_of(p.steps), "|ss|rr|rs|rs|rrs|rr|rm|r");
}

TEST(coll_plan, messages_name_ranks_of_the_job_and_carry_the_number) {
    planned one{4, 1, 5}, other{4, 1, coll::schedule_numbers + 6};
    coll::barrier(one.team), coll::barrier(other.team);
    auto const& first = std::get<coll::message_step>(one.steps.steps()[1]);
    EXPECT_TRUE(first.sends);
    EXPECT_EQ(first.peer, 2);
    EXPECT_EQ(first.world, mpt::rank{12});
    EXPECT_EQ(first.label, mpt::tag{5 * 16 + static_cast<int>(speaker::barrier)});
    EXPECT_EQ(std::get<coll::message_step>(other.steps.steps()[1]).label,
              mpt::tag{6 * 16 + static_cast<int>(speaker::barrier)});
}

TEST(coll_plan, the_largest_number_makes_a_tag_that_is_not_negative) {
    planned p{2, 0, coll::schedule_numbers - 1};
    coll::barrier(p.team);
    EXPECT_GT(std::get<coll::message_step>(p.steps.steps()[0]).label, mpt::tag{0});
}

TEST(coll_plan, gets_another_number_and_keeps_all_else) {
    planned p{4, 1, 5}, other{4, 1, coll::schedule_numbers + 9}; // modulo their number
    std::byte b[8]{};
    for (auto* const one : {&p, &other}) {
        one->team.send(2, speaker::gather, mpt::source{b, 4});
        one->team.recv(0, speaker::allreduce, mpt::sink{b, 4});
        one->team.move(mpt::source{b, 4}, mpt::sink{b + 4, 4});
    }
    p.steps.renumber(9);
    ASSERT_EQ(p.steps.steps().size(), other.steps.steps().size());
    for (std::size_t i = 0; i < 2; ++i) {
        auto const &now = std::get<coll::message_step>(p.steps.steps()[i]),
                   &wanted = std::get<coll::message_step>(other.steps.steps()[i]);
        EXPECT_EQ(now.label, wanted.label);
        EXPECT_EQ(now.world, wanted.world);
        EXPECT_EQ(now.phase, wanted.phase);
    }
    auto const steps = p.steps.bytes();
    EXPECT_GE(steps, 3 * sizeof(coll::plan_step));
    p.team.memory(1000);
    EXPECT_EQ(p.steps.bytes(), steps + 1000);
}

TEST(coll_plan, a_broadcast_waits_for_the_data_and_then_sends_to_all_at_once) {
    std::vector<std::byte> data(100);
    planned root{8, 0}, inner{8, 4};
    coll::broadcast(root.team, std::span{data}, 0), coll::broadcast(inner.team, std::span{data}, 0);
    EXPECT_EQ(shape_of(root.steps), "|sss");
    EXPECT_EQ(shape_of(inner.steps), "|r|ss");
}

TEST(coll_plan, what_lay_on_the_stack_of_the_algorithm_is_kept) {
    planned p{2, 0};
    std::vector<std::byte> bytes(20000, std::byte{1});
    for (int i = 0; i < 200; ++i) {
        std::vector<std::byte> const gone{std::byte{9}};
        mpt::source_part const part{mpt::source{bytes.data(), bytes.size()}, static_cast<std::size_t>(i), 10};
        p.team.send(1, speaker::gather, part);
        EXPECT_EQ(p.team.lasting(i), i);
    }
    auto const& last = std::get<coll::message_step>(p.steps.steps().back());
    EXPECT_EQ(last.out.size(), 10u);
    EXPECT_EQ(last.out.data(), bytes.data() + 199);
}

TEST(coll_plan, an_operation_is_not_called_while_it_is_written_down) {
    planned p{2, 0};
    std::vector<long> v(3);
    auto const op = coll::operand::array(sizeof(long), true, nullptr,
                                         [](void*, std::byte const*, std::byte*, std::size_t) { FAIL() << "called"; });
    coll::allreduce(p.team, op, nullptr, reinterpret_cast<std::byte*>(v.data()), v.size());
    EXPECT_EQ(shape_of(p.steps), "|rscm");
}

TEST(coll_plan, of_one_rank_has_its_own_steps_only) {
    planned p{1, 0};
    std::vector<std::byte> a(4), b(4);
    coll::barrier(p.team);
    coll::allgather(p.team, mpt::source{a.data(), 4}, coll::blocks{b, 4});
    EXPECT_EQ(shape_of(p.steps), "m");
    EXPECT_FALSE(p.steps.wrong().found);
    p.team.keep(mpt::source{a.data(), 4}, mpt::sink{b.data(), 3}); // the other steps are written down all the same
    EXPECT_TRUE(p.steps.wrong().found);
    EXPECT_EQ(shape_of(p.steps), "m");
    EXPECT_THROW(p.steps.wrong().tell(), mpt::error);
}
/// How many messages a rank of n has in an algorithm, as the table's variables are.
template <class Algorithm> auto messages_of(int n, mpt::config::values const& v, Algorithm const& algorithm, int me = 0) {
    planned p{n, me, 0, v};
    algorithm(p.team);
    return std::count_if(p.steps.steps().begin(), p.steps.steps().end(),
                         [](auto const& s) { return std::holds_alternative<coll::message_step>(s); });
}
template <mpt::text Name> mpt::config::values with(std::string_view value) { return mpt::config::values{}.set<Name>(value); }

TEST(coll_plan, variables_say_which_algorithm_is_taken) {
    std::vector<std::byte> mine(16 * 64), all(16 * 64);
    coll::blocks const pieces{all, 64}, given{mine, 64};
    mpt::source const one{mine.data(), 64};
    auto const op = coll::operand::array(1, true, nullptr, [](void*, std::byte const*, std::byte*, std::size_t) {});
    mpt::config::values const initial;

    auto const allreduce = [&](auto const& t) { coll::allreduce(t, op, mine.data(), all.data(), 64); };
    EXPECT_EQ(messages_of(4, initial, allreduce), 4);
    EXPECT_EQ(messages_of(4, with<"MPT_ALLREDUCE_SHORT">("0"), allreduce), 8);

    auto const allgather = [&](auto const& t) { coll::allgather(t, one, pieces); };
    EXPECT_EQ(messages_of(8, initial, allgather), 6);
    EXPECT_EQ(messages_of(8, with<"MPT_ALLGATHER_SHORT">("511"), allgather), 14);

    // Rank 5 sends its piece to rank 4, and gets all from there.
    EXPECT_EQ(messages_of(8, with<"MPT_ALLGATHER_VIA_ROOT">("64"), allgather, 5), 2);
    EXPECT_EQ(messages_of(8, with<"MPT_ALLGATHER_VIA_ROOT">("63"), allgather, 5), 6);
    EXPECT_EQ(messages_of(8, with<"MPT_UNEVEN_VIA_ROOT">("1G"), allgather, 5), 6);
    EXPECT_EQ(messages_of(8, with<"MPT_ALLGATHER_VIA_ROOT">("64").set<"MPT_COLL_OFF">("mpi_allgather"), allgather, 5), 6);
    auto const uneven = [&](auto const& t) {
        coll::allgather(t, std::nullopt, [&](std::int32_t r) { return coll::place{std::span{all}.first(r == 3 ? 32 : 64)}; });
    };
    EXPECT_EQ(messages_of(8, with<"MPT_UNEVEN_VIA_ROOT">("64"), uneven, 5), 2);
    EXPECT_EQ(messages_of(8, with<"MPT_ALLGATHER_VIA_ROOT">("64"), uneven, 5), 6);
    EXPECT_EQ(messages_of(8, with<"MPT_UNEVEN_VIA_ROOT">("64").set<"MPT_COLL_OFF">("mpi_allgatherv"), uneven, 5), 6);

    auto const alltoall = [&](auto const& t) { coll::alltoall(t, given, pieces); };
    EXPECT_EQ(messages_of(8, initial, alltoall), 6);
    EXPECT_EQ(messages_of(8, with<"MPT_ALLTOALL_SHORT">("63"), alltoall), 14);

    auto const gather = [&](auto const& t) { coll::gather(t, one, pieces, 0); };
    EXPECT_EQ(messages_of(16, initial, gather), 4);
    EXPECT_EQ(messages_of(16, with<"MPT_GATHER_SHORT">("63"), gather), 15);

    auto const scatter = [&](auto const& t) { coll::scatter(t, given, mpt::sink{all.data(), 64}, 0); };
    EXPECT_EQ(messages_of(16, initial, scatter), 4);
    EXPECT_EQ(messages_of(16, with<"MPT_SCATTER_SHORT">("63"), scatter), 15);

    auto const broadcast = [&](auto const& t) { coll::broadcast(t, std::span{all}.first(64), 0); };
    EXPECT_EQ(messages_of(4, initial, broadcast), 2);
    EXPECT_GT(messages_of(4, with<"MPT_BCAST_LONG">("64"), broadcast), 2);
    EXPECT_EQ(messages_of(4, with<"MPT_BCAST_LONG">("64").set<"MPT_BCAST_TREE">("on"), broadcast), 2);

    auto const reduce = [&](auto const& t) { coll::reduce(t, op, mine.data(), all.data(), 64, 0); };
    EXPECT_EQ(messages_of(4, initial, reduce), 2);
    EXPECT_EQ(messages_of(4, with<"MPT_REDUCE_LONG">("64"), reduce), 9); // three exchanges, and three parts to gather
}

} // namespace
