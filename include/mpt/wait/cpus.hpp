/// wait/cpus - how many CPUs this process may use: what decides whether ranks must share them.
///
///   The least of the affinity mask (which a cpuset narrows too) and of every CPU quota of its control groups, from its own
///   group up to the root, rounded up to whole CPUs; at least 1. In a container the path in /proc/self/cgroup is often the
///   host's, and only the mounted root exists: groups that are not there say nothing.
///
///        version 2   <root>/<path>/cpu.max                               "max 100000" | "150000 100000"
///        version 1   <root>/cpu/<path>/cpu.cfs_quota_us, _period_us      "-1" | "150000"
///
///   Cost    a few dozen file opens; once per process, at start.    Tests  test/wait_cpus_test.cpp
#pragma once
#include <string>

namespace mpt::inline v0 {

/// Where the system shows its control groups; a test shows a tree of its own.
struct cgroup_view {
    std::string root = "/sys/fs/cgroup";    // where the hierarchies are mounted
    std::string self = "/proc/self/cgroup"; // which groups this process is in
};

/// CPUs of this thread's affinity mask, at least 1.
unsigned affinity_cpus() noexcept;

/// CPUs' worth of run time that the control groups grant, rounded up; 0: no limit.
unsigned quota_cpus(cgroup_view const& view = {});

/// What this process may use: the least of both, at least 1.
unsigned usable_cpus(cgroup_view const& view = {});

} // namespace mpt::inline v0
