// What the CPUs of this node have in common, as hwloc says where it is wanted and there, else /sys, and cut down to those that we may
// use. /sys is read only where it is asked for: one small file a core, or two a CPU for caches.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace mptrun {

/// Numbers of CPUs, as the system counts them.
using cpu_list = std::vector<int>;

/// "0-3,8,10-11", as /sys and taskset write it. What cannot be read is left out.
cpu_list read_cpus(std::string_view text);
std::string print(cpu_list const& cpus);

/// The affinity mask, which a cpuset narrows too.
cpu_list allowed_cpus();

class machine {
public:
    /// `system`: /sys/devices/system, or a tree like it.
    machine(std::string system, cpu_list allowed);
    /// Who knows better than /sys: a level's objects, or nothing (topology.hpp).
    void ask(std::function<std::vector<cpu_list>(level)> better) { better_ = std::move(better); }

    cpu_list const& allowed() const noexcept { return allowed_; }
    /// CPUs that are switched on, ours or not.
    cpu_list online() const;
    /// What stands on this level, each as its allowed CPUs; in the order of NUMA nodes, then of CPU numbers. Empty where the system
    /// does not say.
    std::vector<cpu_list> objects(level l) const;

private:
    std::string system_;
    std::function<std::vector<cpu_list>(level)> better_;
    std::vector<cpu_list> nodes_;
    cpu_list allowed_; // in the order of NUMA nodes
    std::vector<cpu_list> split(std::function<cpu_list(int cpu)> const& together_with) const;
    cpu_list together_with(int cpu, level l) const;
    cpu_list read(std::string const& file) const;
    cpu_list share_cache(int cpu, int depth) const;
};

} // namespace mptrun
