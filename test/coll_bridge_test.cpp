#include "support/two_sides.hpp"
#include <mpt/coll/bridge.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;
using mpt::group;

template <class Stack> using coll_bridge = over<Stack>;
TYPED_TEST_SUITE(coll_bridge, wires);

TYPED_TEST(coll_bridge, both_sides_learn_each_others_ranks_and_one_context) {
    random_sides<TestFixture>(24, [](auto const& wire, mpt::rank me, sides_of_job const& sides, dice& common, dice& own) {
        auto const side = sides.side(me);
        auto const mine = group::of(sides.of[side]), others = group::of(sides.of[1 - side]);
        std::int32_t const leaders[]{static_cast<std::int32_t>(common.below(static_cast<unsigned>(sides.of[0].size()))),
                                     static_cast<std::int32_t>(common.below(static_cast<unsigned>(sides.of[1].size())))};
        auto const draw = [&own] { return mpt::drawn_context(std::uint64_t{own.seed()} << 32 | own.seed()); };
        std::uint32_t calls = 0;
        coll::team const local{wire, mine, *mine.find(me), calls};
        auto const found = coll::meet(local, leaders[side], draw(), [&] {
            return coll::bridge<TypeParam>{wire, others.world(leaders[1 - side])};
        });
        EXPECT_TRUE(found.members == others);
        EXPECT_FALSE(coll::on_both(mine, found.members));

        auto const all = coll::both(mine, others);
        std::uint32_t together_calls = 0;
        auto const joint = coll::joint_context(wire.context());
        coll::team const together{mpt::channel<TypeParam>{wire.on(), joint}, all, *all.find(me), together_calls};
        auto context = found.context; // the first one's
        coll::broadcast(together, std::as_writable_bytes(std::span{&context, 1}), 0);
        EXPECT_EQ(context, found.context);

        bool const high[]{common.coin(), common.coin()};
        auto const merged = coll::merge(together, mine, others, high[side], draw());
        auto const first = high[0] == high[1] ? sides.side(all.world(0)) : static_cast<int>(high[0]);
        auto wanted = sides.of[first];
        wanted.insert(wanted.end(), sides.of[1 - first].begin(), sides.of[1 - first].end());
        EXPECT_TRUE(merged.members == group::of(wanted));
        context = merged.context;
        coll::broadcast(together, std::as_writable_bytes(std::span{&context, 1}), 0);
        EXPECT_EQ(context, merged.context);
    });
}

TYPED_TEST(coll_bridge, a_leader_that_cannot_cross_tells_its_side) {
    this->job(3, [](auto world) {
        auto const& s = world.native();
        coll::team const local{s.wire, s.who, s.me, s.rooted_calls};
        auto const cross = [](int) -> coll::bridge<TypeParam> {
            throw mpt::error{mpt::errc::rank_range, "mpt: nobody is there"};
        };
        for (int leader : {0, 2}) try {
                coll::meet(local, leader, mpt::drawn_context(7), [&] { return cross(leader); });
                ADD_FAILURE() << "nothing was thrown";
            } catch (mpt::error const& e) {
                auto const wanted = s.me == leader ? "mpt: nobody is there"
                                                   : "mpt: rank " + std::to_string(leader) +
                                                         ", which leads this side of an intercommunicator, could not reach the "
                                                         "other side";
                EXPECT_EQ(std::string{e.what()}, wanted);
            }
        world.barrier();
    });
}

TEST(coll_bridges, a_rank_on_both_sides_is_found) {
    auto const a = group::of({4, 1, 7}), b = group::of({0, 7, 2}), c = group::of({0, 2});
    EXPECT_EQ(coll::on_both(a, b), mpt::rank{7});
    EXPECT_FALSE(coll::on_both(a, c));
    EXPECT_TRUE(coll::both(a, c) == group::of({0, 2, 4, 1, 7}));
    EXPECT_TRUE(coll::both(c, a) == coll::both(a, c));
}
} // namespace
