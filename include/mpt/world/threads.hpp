/// world::threads - ranks are threads of one process: what mpt::local_job runs on.
#pragma once
#include <mpt/world/native.hpp>

namespace mpt::inline v0::world {

struct threads : machine {
    using kind = mpt::kind::world;
    static constexpr std::string_view name = "threads";
    static constexpr bool shares_process = true;
};
static_assert(world_policy<threads>);

} // namespace mpt::inline v0::world
