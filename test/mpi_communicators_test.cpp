#include <algorithm>

#include "support/dice.hpp"
#include "support/expect_error.hpp"
#include "support/wires.hpp"
#include <mpt/mpi/communicators.hpp>
#include <mpt/mpi/intercommunicator.hpp>
#include <mpt/mpi/neighborhood.hpp>

namespace {
using namespace mpt::test;
using mpt::comparison;

template <class Stack> using mpi_communicators = over<Stack>;
TYPED_TEST_SUITE(mpi_communicators, wires);

/// Some of n ranks in any order, the same for the same seed; at least one.
std::vector<std::int32_t> some(int n, dice& d) {
    std::vector<std::int32_t> ranks;
    for (std::int32_t r = 0; r < n; ++r)
        if (d.coin()) ranks.push_back(r);
    if (ranks.empty()) ranks.push_back(static_cast<std::int32_t>(d.below(static_cast<unsigned>(n))));
    for (auto i = ranks.size(); i > 1; --i) std::swap(ranks[i - 1], ranks[d.below(static_cast<unsigned>(i))]);
    return ranks;
}

TYPED_TEST(mpi_communicators, groups_get_communicators_in_their_own_order) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    this->job(5, [seed](auto world) {
        dice d{seed};
        int const me = world.rank();
        for (int round = 0; round < 10; ++round) {
            auto const ranks = some(5, d);
            auto const who = mpt::group::of(std::vector<std::int32_t>{ranks});
            auto const mine = std::ranges::find(ranks, me);
            auto const expect = [&](auto const& made) {
                ASSERT_EQ(made.has_value(), mine != ranks.end());
                if (!made) return;
                EXPECT_EQ(made->rank().value, mine - ranks.begin());
                EXPECT_EQ(made->allgather(me), ranks);
            };
            expect(mpt::create(world, who));
            if (mine != ranks.end()) expect(mpt::create_group(world, who, round));
        }
        auto const mine = mpt::create(world, mpt::group::range(me, 1)); // each its own
        EXPECT_EQ(mine->size(), 1);
        EXPECT_EQ(mine->allreduce(me), me);
        auto const pair = world.split(me / 2);
        auto const stranger = mpt::group::of({(me + 2) % 4});
        expect_error(mpt::error_class::group, {"rank 0 of group", "comm"},
                     [&] { static_cast<void>(mpt::create_group(pair->view(), stranger)); });
    });
}

TYPED_TEST(mpi_communicators, comparison_tells_how_like_two_are) {
    this->job(4, [](auto world) {
        auto const twin = world.dup();
        auto const turned = world.split(0, -world.rank()), half = world.split(world.rank() % 2);
        EXPECT_EQ(mpt::compare(world, world), comparison::ident);
        EXPECT_EQ(mpt::compare(world, twin), comparison::congruent);
        EXPECT_EQ(mpt::compare(world, *turned), comparison::similar);
        EXPECT_EQ(mpt::compare(world, *half), comparison::unequal);
        mpt::intercommunicator const across{half->view(), 0, world, 1 - world.rank() % 2};
        EXPECT_EQ(mpt::compare(across, across), comparison::ident);
        EXPECT_EQ(mpt::compare(across, across.dup()), comparison::congruent);
        EXPECT_EQ(mpt::compare(across, *half), comparison::unequal);
    });
}

TYPED_TEST(mpi_communicators, splits_go_by_memory_hardware_and_process_sets) {
    this->job(4, [](auto world) {
        using enum mpt::split_kind;
        int const me = world.rank();
        auto const by = [](char const* key, char const* value) {
            mpt::info i;
            return i.set(key, value), i;
        };
        EXPECT_EQ(mpt::split_type(world, shared, -me)->rank().value, 3 - me);
        EXPECT_EQ(mpt::split_type(world, hw_guided, 0, by("mpi_hw_resource_type", "mpi_shared_memory"))->size(), 4);
        EXPECT_FALSE(mpt::split_type(world, hw_guided));
        EXPECT_FALSE(mpt::split_type(world, hw_guided, 0, by("mpi_hw_resource_type", "hwloc://Toaster")));
        EXPECT_FALSE(mpt::split_type(world, hw_guided, 0, by("mpi_pset_name", "mpi://WORLD")));
        EXPECT_EQ(mpt::split_type(world, resource_guided, 0, by("mpi_pset_name", "mpi://WORLD"))->size(), 4);
        EXPECT_EQ(mpt::split_type(world, resource_guided, 0, by("mpi_pset_name", "mpi://SELF"))->size(), 1);
        auto const machine = mpt::split_type(world, hw_guided, 0, by("mpi_hw_resource_type", "hwloc://Machine"));
        auto const here = mpt::hardware_instance("Machine", mpt::own_cpus());
        ASSERT_EQ(machine.has_value(), here.has_value());
        if (machine) { EXPECT_EQ(machine->size(), 4); }
        auto const without = mpt::split_type(world, me == 0 ? std::nullopt : std::optional{shared});
        ASSERT_EQ(without.has_value(), me != 0);
        if (without) { EXPECT_EQ(without->size(), 3); }
        static_cast<void>(mpt::split_type(world, hw_unguided)); // whatever runs where: all ranks come back
    });
}

/// Nobody can choose the machine of a test: the colors of one are made up.
TEST(mpi_communicators_hardware, the_largest_sort_that_parts_ranks_counts) {
    using colors = mpt::detail::hardware_colors;
    std::vector<colors> all(3, colors::none());
    EXPECT_EQ(mpt::detail::parting_color(all[0], all), mpt::undefined);
    for (std::size_t r = 0; r < 3; ++r) all[r].of = {0, 0, r == 2 ? 8 : 0, static_cast<int>(r), mpt::undefined, 1, 2, 3};
    EXPECT_EQ(mpt::detail::parting_color(all[2], all), 8) << "the NUMA node, before the cache";
    EXPECT_EQ(mpt::detail::parting_color(all[1], all), 0);
}

TYPED_TEST(mpi_communicators, hints_are_a_communicators_own) {
    this->job(2, [](auto world) {
        auto const twin = world.dup();
        mpt::info given;
        given.set("mpi_assert_no_any_tag", "true"), given.set("colour", "red");
        mpt::set_info(twin, given);
        EXPECT_EQ(mpt::get_info(twin).get("mpi_assert_no_any_tag"), "true");
        EXPECT_FALSE(mpt::get_info(twin).get("colour"));
        EXPECT_EQ(mpt::get_info(world).get("mpi_assert_no_any_tag"), "false");
        EXPECT_EQ(mpt::get_info(twin.dup()).get("mpi_assert_no_any_tag"), "false");
        mpt::info exact;
        exact.set("mpi_assert_exact_length", "true");
        auto const of_twins = [&](auto const& on) {
            for (auto const& made : {mpt::dup_with_info(on, exact), mpt::idup_with_info(on, exact).wait()}) {
                EXPECT_EQ(mpt::get_info(made).get("mpi_assert_exact_length"), "true");
                EXPECT_EQ(mpt::get_info(made).get("mpi_assert_no_any_tag"), "false") << "only what was told";
                EXPECT_EQ(mpt::compare(on, made), mpt::comparison::congruent);
            }
        };
        of_twins(twin);
        of_twins(
            mpt::intercommunicator{mpt::create(world, mpt::group::range(world.rank(), 1))->view(), 0, world, 1 - world.rank()});
    });
}

TYPED_TEST(mpi_communicators, attributes_go_with_a_dup_and_with_their_communicator) {
    this->job(2, [](auto world) {
        int removed = 0, value = 4;
        auto const gone = [&](void*, std::int32_t, void*) { return ++removed, 0; };
        auto& keys = mpt::communicator_keys();
        auto const copied = keys.create(mpt::copy_value, gone), alone = keys.create({}, gone);
        auto const refused = keys.create([](void*, std::int32_t, void*) { return mpt::attribute_copy{.code = 77}; }, {});
        {
            auto const one = world.dup();
            mpt::attributes_of(one).set(copied, &value), mpt::attributes_of(one).set(alone, &value);
            auto const two = one.dup();
            EXPECT_EQ(mpt::attributes_of(two).get(copied), static_cast<void*>(&value));
            EXPECT_FALSE(mpt::attributes_of(two).get(alone));
            EXPECT_FALSE(mpt::attributes_of(*one.split(0)).get(copied)) << "a split is new";
            mpt::intercommunicator across{mpt::create(world, mpt::group::range(world.rank(), 1))->view(), 0, world,
                                          1 - world.rank()};
            mpt::attributes_of(across).set(copied, &value);
            EXPECT_EQ(mpt::attributes_of(across.dup()).get(copied), static_cast<void*>(&value));
            EXPECT_EQ(removed, 1) << "that of the intercommunicator's dup";
            {
                auto begun = one.idup();
                mpt::attributes_of(one).remove(copied);
                auto const three = begun.wait();
                EXPECT_EQ(mpt::attributes_of(three).get(copied), static_cast<void*>(&value))
                    << "as they were when it was begun";
                auto again = three.idup(), forgotten = three.idup();
                auto other_way = across.idup();
                EXPECT_EQ(mpt::attributes_of(again.wait()).get(copied), static_cast<void*>(&value));
                EXPECT_EQ(mpt::attributes_of(other_way.wait()).get(copied), static_cast<void*>(&value));
                auto const ring = mpt::with_topology(three, mpt::own_edges(three.view(), std::span<mpt::edge const>{}));
                EXPECT_FALSE(mpt::attributes_of(ring).get(copied)) << "only a duplicate has them";
            }
            EXPECT_EQ(removed, 6);
            removed = 1;
            mpt::attributes_of(one).set(copied, &value);
            mpt::attributes_of(one).set(refused, &value);
            expect_error(77, {"77"}, [&] { static_cast<void>(one.dup()); });
            EXPECT_EQ(removed, 2) << "the copy made before was removed again";
            expect_error(77, {"77"}, [&] { static_cast<void>(one.idup()); });
            EXPECT_EQ(removed, 3) << "here too";
        }
        EXPECT_EQ(removed, 7);
    });
}
} // namespace
