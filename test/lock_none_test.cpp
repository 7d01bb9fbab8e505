#include <gtest/gtest.h>
#include <mpt/lock/none.hpp>
#include <mpt/world/native.hpp>

namespace {

using lock = mpt::lock::none::type<mpt::world::native>;
static_assert(mpt::lock_type<lock>);

struct with {
    [[no_unique_address]] lock l;
    int payload;
};

TEST(none, takes_no_room_in_what_holds_it) {
    static_assert(std::is_empty_v<lock> && sizeof(with) == sizeof(int));
    static_assert(std::is_empty_v<lock::node>);
}

TEST(none, lets_its_one_thread_in_at_any_depth) {
    lock l{mpt::world::native{}};
    mpt::guard outer{l};
    mpt::guard inner{l};
    lock::node n;
    EXPECT_TRUE(l.try_acquire(n));
    l.release(n);
}

} // namespace
