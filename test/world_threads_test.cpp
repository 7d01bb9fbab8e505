#include <gtest/gtest.h>
#include <mpt/world/native.hpp>
#include <mpt/world/threads.hpp>

namespace {

TEST(threads, differ_from_processes_only_in_what_ranks_share) {
    static_assert(mpt::world::threads::shares_process && !mpt::world::native::shares_process);
    static_assert(std::is_base_of_v<mpt::world::machine, mpt::world::threads>);
    static_assert(std::is_empty_v<mpt::world::threads>);
}

} // namespace
