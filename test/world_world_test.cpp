#include <gtest/gtest.h>
#include <mpt/world/native.hpp>
#include <mpt/world/threads.hpp>

namespace {

using namespace mpt;

struct without_clock : world::machine {
    using kind = mpt::kind::world;
    static constexpr std::string_view name = "without clock";
    static constexpr bool shares_process = true;
    void now() const noexcept {}
};

TEST(world, is_what_can_tell_the_time_sleep_and_say_who_asks) {
    static_assert(world_policy<world::native> && world_policy<world::threads>);
    static_assert(!world_policy<without_clock>);
    static_assert(!world_policy<int>);
}

} // namespace
