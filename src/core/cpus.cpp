// wait/cpus.hpp: the affinity mask and the CPU quotas of both versions of control groups.
#include <mpt/wait/cpus.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include <sched.h>

namespace mpt::inline v0 {
namespace {

using quota = std::optional<unsigned>;

quota least(quota a, quota b) { return !a ? b : !b ? a : std::min(*a, *b); }

quota whole_cpus(std::int64_t allowed, std::int64_t period) {
    if (allowed <= 0 || period <= 0) return {};
    return static_cast<unsigned>(std::min<std::int64_t>((allowed + period - 1) / period, 1 << 20));
}

std::optional<std::int64_t> number_in(std::string const& file) {
    std::ifstream in{file};
    std::int64_t n = 0;
    return in >> n ? std::optional{n} : std::nullopt;
}

quota read_v2(std::string const& folder) {
    std::ifstream in{folder + "/cpu.max"};
    std::string allowed;
    std::int64_t period = 0;
    if (!(in >> allowed >> period) || allowed == "max") return {};
    std::int64_t n = 0;
    return std::istringstream{allowed} >> n ? whole_cpus(n, period) : quota{};
}

quota read_v1(std::string const& folder) {
    auto const allowed = number_in(folder + "/cpu.cfs_quota_us");
    auto const period = number_in(folder + "/cpu.cfs_period_us");
    return allowed && period ? whole_cpus(*allowed, *period) : quota{};
}

/// The group at `path` and all above it, the mounted root included: each may limit.
quota read_upwards(std::string const& mount, std::string path, quota (*read)(std::string const&)) {
    quota result;
    while (true) {
        while (!path.empty() && path.back() == '/') path.pop_back();
        result = least(result, read(mount + path));
        if (path.empty()) return result;
        auto const slash = path.rfind('/');
        path.erase(slash == std::string::npos ? 0 : slash);
    }
}

bool names_cpu(std::string_view controllers) {
    while (!controllers.empty()) {
        auto const comma = controllers.find(',');
        if (controllers.substr(0, comma) == "cpu") return true;
        controllers = comma == std::string_view::npos ? std::string_view{} : controllers.substr(comma + 1);
    }
    return false;
}

/// One line of /proc/self/cgroup: "0::/path" (version 2) or "4:cpu,cpuacct:/path" (version 1).
quota read_line(std::string const& root, std::string const& line) {
    auto const first = line.find(':');
    auto const second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) return {};
    auto const controllers = line.substr(first + 1, second - first - 1);
    auto const path = line.substr(second + 1);
    if (controllers.empty()) return least(read_upwards(root, path, read_v2), read_upwards(root + "/unified", path, read_v2));
    if (!names_cpu(controllers)) return {};
    quota result;
    for (auto const& mount : {std::string{"/cpu"}, std::string{"/cpu,cpuacct"}, "/" + controllers})
        result = least(result, read_upwards(root + mount, path, read_v1));
    return result;
}

} // namespace

unsigned affinity_cpus() noexcept {
    for (unsigned cpus = CPU_SETSIZE; cpus <= (1u << 20); cpus *= 2) { // the kernel refuses a mask shorter than its own
        auto* const set = CPU_ALLOC(cpus);
        if (set == nullptr) return 1;
        bool const fits = ::sched_getaffinity(0, CPU_ALLOC_SIZE(cpus), set) == 0;
        int const n = fits ? CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), set) : 0;
        CPU_FREE(set);
        if (fits) return static_cast<unsigned>(std::max(n, 1));
    }
    return 1;
}

unsigned quota_cpus(cgroup_view const& view) {
    quota result;
    std::ifstream groups{view.self};
    for (std::string line; std::getline(groups, line);) result = least(result, read_line(view.root, line));
    return result.value_or(0);
}

unsigned usable_cpus(cgroup_view const& view) {
    auto const mask = affinity_cpus();
    auto const limit = quota_cpus(view);
    return limit == 0 ? mask : std::max(1u, std::min(mask, limit));
}

} // namespace mpt::inline v0
