// What the CPUs of this node have in common, as hwloc says. It knows machines on which /sys alone misleads, and takes its time to
// look at one; so it is loaded only where the user asks for a binding, and where it is not installed /sys has to do.
#pragma once
#include <vector>

#include "options.hpp"

namespace mptrun {

/// The sets of CPUs that share what stands on this level, by hwloc's order. Empty: no hwloc here, or it knows nothing of the level.
std::vector<std::vector<int>> hwloc_objects(level l);

} // namespace mptrun
