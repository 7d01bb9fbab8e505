#include <gtest/gtest.h>
#include <mpt/lock/none.hpp>
#include <mpt/stack/stack.hpp>
#include <mpt/wait/spin.hpp>
#include <mpt/world/threads.hpp>

namespace {
using namespace mpt;
using plain = stack<>;

// Defaults, and any order.
static_assert(std::is_same_v<plain::world_type, world::native> && std::is_same_v<plain::lock_policy_type, lock::ticket>);
static_assert(std::is_same_v<plain::wait_policy_type, wait::adaptive> &&
              std::is_same_v<plain::memory_policy_type, mem::standard>);
static_assert(std::is_same_v<plain::route_type, transport::route<transport::self<>, transport::smp<>>>);
using one_way = stack<world::threads, lock::none, wait::spin>;
using other_way = stack<wait::spin, world::threads, lock::none>;
static_assert(std::is_same_v<one_way::lock_policy_type, other_way::lock_policy_type> &&
              std::is_same_v<one_way::wait_policy_type, other_way::wait_policy_type> &&
              std::is_same_v<one_way::world_type, other_way::world_type> &&
              std::is_same_v<one_way::engine_type, other_way::engine_type>);

// Every route begins with self, once.
using only_self = stack<transport::self<>>;
static_assert(std::is_same_v<only_self::route_type, transport::route<transport::self<>>>);
static_assert(std::is_same_v<stack<transport::route<transport::smp<>>>::route_type, plain::route_type>);
static_assert(std::is_same_v<stack<transport::route<transport::self<>, transport::smp<>>>::route_type, plain::route_type>);

// Protocols: what is named is used, and nothing else.
static_assert(plain::uses.e1 && plain::uses.rndv_get);
using least = stack<protocol::rndv_put<4_KiB>, protocol::e0<>>;
static_assert(!least::uses.e1 && !least::uses.rndv_get && least::uses.chunk == 4_KiB);
static_assert(stack<protocol::e0<>, protocol::e1<1_KiB>, protocol::rndv_put<>>::uses.e1_max == 1_KiB);

// One policy exchanged, the rest as it was.
using unlocked = one_way::with<lock::ticket>;
static_assert(std::is_same_v<unlocked::lock_policy_type, lock::ticket> &&
              std::is_same_v<unlocked::wait_policy_type, wait::spin> && std::is_same_v<unlocked::world_type, world::threads>);
static_assert(std::is_same_v<plain::with<lock::none>::lock_policy_type, lock::none>, "a kind that was not named can be set");

TEST(stack_stack, describes_itself_in_one_line) {
    EXPECT_EQ(plain::describe(), "self+smp e0+e1+rndv_get+rndv_put ticket adaptive standard native");
    EXPECT_EQ((least::with<lock::none>::describe()), "self+smp rndv_put+e0 none adaptive standard native");
    EXPECT_EQ(only_self::describe().substr(0, 5), "self ");
}

TEST(stack_stack, how_a_rank_locks_or_waits_is_its_own_business) {
    EXPECT_EQ(plain::layout(), plain::with<lock::none>::layout());
    EXPECT_EQ(plain::layout(), plain::with<wait::spin>::layout());
}

TEST(stack_stack, what_goes_over_the_wire_must_be_agreed_on) {
    EXPECT_NE(plain::layout(), least::layout());
    EXPECT_NE(plain::layout(), only_self::layout());
    EXPECT_NE((stack<protocol::e0<32_B>, protocol::e1<>, protocol::rndv_get<>, protocol::rndv_put<>>::layout()),
              plain::layout());
}
} // namespace
