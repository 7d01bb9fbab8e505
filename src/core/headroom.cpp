// What may still be committed (memory cgroups v1 and v2 with all their parents, the machine) and what may still be mapped
// (RLIMIT_AS, ThreadSanitizer, valgrind).
#include <mpt/mem/arena.hpp>

#include "arena_system.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>
#include <sys/resource.h>

extern "C" __attribute__((weak)) void __tsan_init(); // NOLINT: there when ThreadSanitizer is, whoever was built with it

namespace mpt::inline v0 {
namespace detail {

std::string read_text(char const* path) {
    std::string text;
    descriptor file{::open(path, O_RDONLY | O_CLOEXEC)};
    if (!file) return text;
    for (;;) {
        auto const at = text.size();
        text.resize(at + 4096);
        auto const n = ::read(file.get(), text.data() + at, 4096);
        text.resize(at + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        if (n <= 0) return text;
    }
}

namespace {
std::optional<std::uint64_t> number(std::string_view text) noexcept {
    std::uint64_t n = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (failed != std::errc{}) return {};
    return n;
}

std::optional<std::uint64_t> number_in(std::string const& path) { return number(read_text(path.c_str())); }

/// Calls f with each line.
template <class F> void lines(std::string_view text, F f) {
    while (!text.empty()) {
        auto const end = text.find('\n');
        f(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
}

/// The n-th word of a line, counted from 0.
std::string_view word(std::string_view line, int n) noexcept {
    for (; n > 0; --n) {
        auto const space = line.find(' ');
        if (space == line.npos) return {};
        line.remove_prefix(space + 1);
    }
    return line.substr(0, line.find(' '));
}

/// This process's directory of a hierarchy and all its parents. `root` is what of the tree is mounted at `mount`.
template <class F> void climb(std::string_view mount, std::string_view root, std::string_view path, F const& f) {
    if (root != "/" && path.starts_with(root)) path.remove_prefix(root.size());
    if (path == "/") path = {};
    for (;;) {
        f(std::string{mount} + std::string{path});
        if (path.empty()) return;
        path = path.substr(0, path.rfind('/'));
    }
}

bool lists(std::string_view options, std::string_view name) noexcept {
    while (!options.empty()) {
        auto const end = options.find(',');
        if (options.substr(0, end) == name) return true;
        options.remove_prefix(end == options.npos ? options.size() : end + 1);
    }
    return false;
}

/// The path of this process in the hierarchy of a v1 controller ("" asked as controller: in v2).
std::string_view path_in(std::string_view cgroups, std::string_view controller) {
    std::string_view found;
    lines(cgroups, [&](std::string_view line) { // "4:memory:/path" or "0::/path"
        auto const a = line.find(':'), b = line.find(':', a + 1);
        if (a == line.npos || b == line.npos) return;
        auto const controllers = line.substr(a + 1, b - a - 1);
        if (controller.empty() ? controllers.empty() : lists(controllers, controller)) found = line.substr(b + 1);
    });
    return found;
}
} // namespace

std::vector<cgroup> cgroups_of(std::string const& root, std::string_view controller) {
    std::vector<cgroup> all;
    auto const mine = read_text((root + "/proc/self/cgroup").c_str()),
               mounts = read_text((root + "/proc/self/mountinfo").c_str());
    lines(mounts, [&](std::string_view line) { // "id parent dev root mount options ... - type source super-options"
        auto const dash = line.find(" - ");
        if (dash == line.npos) return;
        auto const tail = line.substr(dash + 3);
        auto const type = word(tail, 0), super = word(tail, 2), part = word(line, 3), mount = word(line, 4);
        bool const is_v2 = type == "cgroup2";
        if (is_v2 || (type == "cgroup" && lists(super, controller)))
            climb(mount, part, path_in(mine, is_v2 ? std::string_view{} : controller), [&](std::string const& directory) {
                all.push_back({is_v2, root + directory});
            });
    });
    return all;
}

std::uint64_t number_after(std::string_view text, std::string_view key, std::uint64_t missing) noexcept {
    std::uint64_t found = missing;
    lines(text, [&](std::string_view line) {
        if (!line.starts_with(key)) return;
        line.remove_prefix(key.size());
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        found = number(line).value_or(missing);
    });
    return found;
}

std::string human(std::uint64_t bytes) {
    if (bytes < 10'000) return fmt::format("{} bytes", bytes);
    if (bytes < 10'000'000) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1024);
    if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / (1 << 20));
    return fmt::format("{:.1f} GB", static_cast<double>(bytes) / (1 << 30));
}

int allocate(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
    int failed = 0;
    do failed = ::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    while (failed != 0 && errno == EINTR);
    if (failed == 0) return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EPERM) return errno;
    for (std::uint64_t at = 0; at < bytes; at += 4096)
        if (::pwrite(fd, "", 1, static_cast<off_t>(offset + at)) != 1) return errno;
    return 0;
}

address_budget measure_address_budget() noexcept {
    // 32 TiB leave three quarters of a 47-bit space alone; the tools' own limits are 1 TiB and 64 GiB.
    address_budget least{std::uint64_t{32} << 40, "the address space"};
    auto const at_most = [&](std::uint64_t bytes, std::string_view who) {
        if (bytes < least.bytes) least = {bytes, who};
    };
    if (__tsan_init) at_most(std::uint64_t{32} << 30, "ThreadSanitizer");
    if (auto const* preload = std::getenv("LD_PRELOAD");
        preload && std::string_view{preload}.find("vgpreload") != std::string_view::npos)
        at_most(std::uint64_t{1} << 30, "valgrind");
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        auto const used =
            number(read_text("/proc/self/statm")).value_or(0) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        at_most(limit.rlim_cur > used ? (limit.rlim_cur - used) / 2 : 0, "ulimit -v"); // the other half is the program's
    }
    return least;
}

} // namespace detail

namespace mem {
namespace {
using namespace mpt::detail;

/// One hierarchy of memory cgroups as it is mounted here.
struct hierarchy {
    std::string_view who;
    std::string_view limit, usage; // names of the files
    std::string_view inactive, active;
};
constexpr hierarchy version1{"cgroup v1 memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file",
                             "total_active_file"};
constexpr hierarchy version2{"cgroup v2 memory", "/memory.max", "/memory.current", "inactive_file", "active_file"};

void tighten(headroom& room, std::uint64_t free, std::uint64_t limit, std::string_view who) noexcept {
    auto const reserve = std::min<std::uint64_t>(limit / 16, 4 << 20); // for page tables, stacks, and what programs do next
    free = free > reserve ? free - reserve : 0;
    if (free < room.free) room = {free, limit, who};
}

/// One directory of a hierarchy. File cache counts as used in it but goes away when asked.
void look(headroom& room, hierarchy const& kind, std::string const& directory) {
    auto const limit = number_in(directory + std::string{kind.limit}); // v2 says "max" when there is none
    if (!limit || *limit >= (std::uint64_t{1} << 62)) return;
    auto const usage = number_in(directory + std::string{kind.usage}).value_or(0);
    auto const stat = read_text((directory + "/memory.stat").c_str());
    auto const cache =
        number_after(stat, std::string{kind.inactive} + ' ', 0) + number_after(stat, std::string{kind.active} + ' ', 0) / 2;
    auto const held = usage > cache ? usage - cache : 0;
    tighten(room, *limit > held ? *limit - held : 0, *limit, kind.who);
}

} // namespace

headroom measure_headroom() noexcept try {
    headroom room;
    auto const machine = read_text("/proc/meminfo");
    auto const total = number_after(machine, "MemTotal:", 0) << 10;
    if (total != 0) tighten(room, number_after(machine, "MemAvailable:", total >> 10) << 10, total, "physical memory");
    for (auto const& g : cgroups_of({}, "memory")) look(room, g.is_v2 ? version2 : version1, g.directory);
    return room;
} catch (...) {
    return {.free = 0, .limit = 0, .who = "this process's own memory"}; // not even room to look
}

std::string shortage(std::uint64_t asked, headroom const& room) {
    return fmt::format("{} were asked for, but only {} are free (limit {}, {})", human(asked), human(room.free),
                       human(room.limit), room.who);
}

} // namespace mem
} // namespace mpt::inline v0
