// mpi/hardware.hpp: what /sys tells of CPUs and what they share.
#include <mpt/mpi/hardware.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>

#include <sched.h>

namespace mpt::inline v0 {
namespace {

std::string line_of(std::string const& file) {
    std::ifstream in{file};
    std::string line;
    std::getline(in, line);
    return line;
}

/// "0-3,8,10-11": the kernel's way to write a set. What is no such list is empty.
std::vector<int> listed(std::string_view text) {
    std::vector<int> all;
    auto const* at = text.data();
    auto const* const end = at + text.size();
    while (at < end) {
        int first = 0;
        auto got = std::from_chars(at, end, first);
        if (got.ec != std::errc{}) return {};
        int last = first;
        if (got.ptr < end && *got.ptr == '-') got = std::from_chars(got.ptr + 1, end, last);
        if (got.ec != std::errc{} || last < first || last >= 1 << 20) return {};
        for (int cpu = first; cpu <= last; ++cpu) all.push_back(cpu);
        at = got.ptr + 1; // behind the comma
    }
    return all;
}
std::vector<int> list_in(std::string const& file) { return listed(line_of(file)); }

std::vector<int> cache_beside(std::string const& cpu, char level) {
    for (int i = 0; i < 16; ++i) {
        auto const cache = cpu + "/cache/index" + std::to_string(i);
        auto const found = line_of(cache + "/level");
        if (found.empty()) return {};
        if (found[0] == level && line_of(cache + "/type") != "Instruction") return list_in(cache + "/shared_cpu_list");
    }
    return {};
}

/// Where the kernel knows of no nodes, the machine is one.
std::vector<int> node_beside(std::string const& system, int cpu) {
    auto const nodes = list_in(system + "/node/has_memory");
    for (auto const node : nodes)
        if (auto all = list_in(system + "/node/node" + std::to_string(node) + "/cpulist"); std::ranges::count(all, cpu))
            return all;
    return nodes.empty() ? list_in(system + "/cpu/possible") : std::vector<int>{};
}

/// A file's name has changed with the kernel (5.3).
std::vector<int> either(std::string const& now, std::string const& before) {
    auto all = list_in(now);
    return all.empty() ? list_in(before) : all;
}

} // namespace

std::vector<int> own_cpus() {
    std::vector<int> all;
    for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 2) { // the kernel refuses a mask shorter than its own
        auto* const set = CPU_ALLOC(static_cast<unsigned>(cpus));
        if (set == nullptr) return all;
        auto const bytes = CPU_ALLOC_SIZE(static_cast<unsigned>(cpus));
        bool const fits = ::sched_getaffinity(0, bytes, set) == 0;
        for (int cpu = 0; fits && cpu < cpus; ++cpu)
            if (CPU_ISSET_S(static_cast<unsigned>(cpu), bytes, set)) all.push_back(cpu);
        CPU_FREE(set);
        if (fits) break;
    }
    return all;
}

std::vector<int> cpus_beside(std::string_view sort, int cpu, hardware_view const& view) {
    auto const folder = view.system + "/cpu/cpu" + std::to_string(cpu), topology = folder + "/topology";
    if (sort == "Machine") return list_in(view.system + "/cpu/possible");
    if (sort == "Package") return either(topology + "/package_cpus_list", topology + "/core_siblings_list");
    if (sort == "NUMANode") return node_beside(view.system, cpu);
    if (sort == "L3Cache") return cache_beside(folder, '3');
    if (sort == "L2Cache") return cache_beside(folder, '2');
    if (sort == "L1Cache") return cache_beside(folder, '1');
    if (sort == "Core") return either(topology + "/core_cpus_list", topology + "/thread_siblings_list");
    if (sort == "PU") return {cpu};
    return {};
}

std::optional<int> hardware_instance(std::string_view sort, std::vector<int> const& cpus, hardware_view const& view) {
    if (cpus.empty()) return std::nullopt;
    auto const beside = cpus_beside(sort, cpus.front(), view);
    if (beside.empty() || !std::ranges::includes(beside, cpus)) return std::nullopt;
    return beside.front();
}

} // namespace mpt::inline v0
