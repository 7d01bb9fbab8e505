#include <array>
#include <random>

#include "support/dice.hpp"
#include "support/wires.hpp"
#include <mpt/mpi/buffered.hpp>

namespace {
using namespace mpt::test;

template <class Stack> using mpi_buffered = over<Stack>;
TYPED_TEST_SUITE(mpi_buffered, wires);

/// Everybody sends everything before anybody receives, and uses its memory again at once.
TYPED_TEST(mpi_buffered, sends_come_back_before_anybody_receives) {
    auto const seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (bool const heap : {true, false})
        this->job(2, [seed, heap](auto world) {
            int const me = world.rank(), other = 1 - me;
            std::vector<std::byte> memory(2'000'000);
            mpt::buffered_sends<TypeParam> own{memory}, of_heap;
            auto& out = heap ? of_heap : own;
            dice mine{seed + static_cast<unsigned>(me)}, theirs{seed + static_cast<unsigned>(other)};
            for (int i = 0; i < 20; ++i) {
                std::vector<int> data(mine.below(20'000), i);
                out.send(world, data, other, i);
                data.assign(data.size(), -1);
            }
            for (int i = 0; i < 20; ++i)
                EXPECT_EQ(world.template recv<std::vector<int>>(other, i), std::vector<int>(theirs.below(20'000), i));
            out.flush();
            EXPECT_TRUE(out.test());
        });
}

TYPED_TEST(mpi_buffered, what_has_no_room_is_refused_with_the_numbers_and_room_comes_back) {
    this->job(1, [](auto world) {
        std::array<std::byte, 100'000 + mpt::bsend_overhead> memory;
        mpt::buffered_sends<TypeParam> out{memory};
        std::vector<std::byte> const all(100'000), more(100'001), few(1);
        try {
            out.send(world, more, 0);
            ADD_FAILURE() << "it has no room";
        } catch (mpt::error const& e) {
            EXPECT_EQ(mpt::mpi_code_of(e), static_cast<int>(mpt::error_class::buffer));
            EXPECT_NE(std::string{e.what()}.find("100513 bytes"), std::string::npos) << e.what();
        }
        for (int i = 0; i < 3; ++i) {
            out.send(world, all, 0);
            EXPECT_THROW(out.send(world, few, 0), mpt::error) << "the whole buffer is in use";
            EXPECT_EQ(world.template recv<std::vector<std::byte>>(0).size(), all.size());
            out.flush();
        }
        out.send(world, few, mpt::proc_null);
        EXPECT_THROW(out.send(world, few, 1), mpt::error);
    });
}

/// Both send what they have in every run before anybody receives.
TYPED_TEST(mpi_buffered, requests_are_complete_and_plans_send_again_and_again) {
    this->job(2, [](auto world) {
        int const me = world.rank(), other = 1 - me;
        mpt::buffered_sends<TypeParam> out;
        std::vector<int> first(3000), second(2);
        std::vector<mpt::persistent<TypeParam>> both;
        both.push_back(mpt::persistent_bsend(out, world, first, other, 1));
        both.push_back(mpt::persistent_bsend(out, world, second, other, 2));
        for (int run = 0; run < 5; ++run) {
            std::ranges::fill(first, 10 * run + me), std::ranges::fill(second, -run);
            mpt::start_all(both);
            std::vector<int> third{run};
            auto sent = out.isend(world, third, other, 3);
            EXPECT_TRUE(sent.test());
            EXPECT_EQ(sent.wait().source, mpt::proc_null);
            for (auto& one : both) {
                EXPECT_TRUE(one.pending() && one.test());
                one.wait();
            }
            first.assign(first.size(), -1), second.assign(2, 99), third = {-1};
            EXPECT_EQ(world.template recv<std::vector<int>>(other, 3), std::vector<int>{run});
            EXPECT_EQ(world.template recv<std::vector<int>>(other, 1), std::vector<int>(3000, 10 * run + other));
            EXPECT_EQ(world.template recv<std::vector<int>>(other, 2), std::vector<int>(2, -run));
        }
        EXPECT_THROW(static_cast<void>(mpt::persistent_bsend(out, world, first, 2)), mpt::error);
    });
}
} // namespace
