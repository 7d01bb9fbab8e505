// What rank 0 tells at start when MPT_INFO asks (boot::start_up_table).
#include <mpt/boot/boot.hpp>
#include <mpt/config/config.hpp>
#include <mpt/core/version.hpp>

#include "arena_system.hpp"
#include "boot_pmi1.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sched.h>
#include <sys/uio.h>
#include <sys/utsname.h>

namespace mpt::inline v0::boot {
namespace {

/// "0-3,8": the CPUs that a thread may use.
std::string cpus_of(pid_t thread) {
    std::array<std::uint64_t, 128> mask{};
    if (::sched_getaffinity(thread, sizeof mask, reinterpret_cast<cpu_set_t*>(mask.data())) < 0) return "?";
    auto const has = [&](std::size_t cpu) { return cpu < 64 * mask.size() && (mask[cpu / 64] >> (cpu % 64) & 1) != 0; };
    std::string all;
    for (std::size_t first = 0; first < 64 * mask.size(); ++first) {
        if (!has(first)) continue;
        auto last = first;
        while (has(last + 1)) ++last;
        all += fmt::format("{}{}", all.empty() ? "" : ",", first);
        if (last != first) all += fmt::format("-{}", last);
        first = last;
    }
    return all;
}

/// Asks for a byte at an address that nobody has: EFAULT says that a true one could be read.
int refusal_to_read(pid_t process) noexcept {
    char byte = 0;
    iovec const here{&byte, 1}, there{nullptr, 1};
    return ::process_vm_readv(process, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT ? 0 : errno;
}

std::string large_messages(job& j, config::values const& v, rank to, path const& way) {
    if (to == j.me() || j.shares_process()) return "one copy";
    if (!way.reads) return "in pieces";
    if (!v.get<"MPT_SINGLE_COPY">()) return "double copy (MPT_SINGLE_COPY is off)";
    auto const refused = refusal_to_read(j.record(to).pid);
    return refused == 0 ? "one copy (process_vm_readv)"
                        : fmt::format("double copy (process_vm_readv is refused: {})", std::strerror(refused));
}

std::string started_by(job& j) {
    if (j.shares_process()) return "threads of one process";
    auto const pid = j.header().launcher_pid;
    if (kept_pmi1_line()) return fmt::format("started by a PMI launcher (process {})", pid);
    return pid == 0 ? "started by hand" : fmt::format("started by mptrun (process {})", pid);
}

} // namespace

std::string start_up_table(job& j, config::values const& v, std::span<path const> ways) {
    utsname machine{};
    ::uname(&machine);
    auto out = fmt::format("mpt {}, {}\n{} rank{} on host {}, {}\n", to_string(core_version()), core_build(), j.size(),
                           j.size() == 1 ? "" : "s", machine.nodename, started_by(j));
    out += fmt::format("{}; {}\n",
                       j.scarce() ? "ranks outnumber their CPUs: they yield at once"
                                  : "ranks have CPUs of their own: they spin first",
                       j.fences() == fence_mode::sleeper ? "the sleeper fences (membarrier)" : "both sides fence");
    out += fmt::format("{:>6} {:>9}  {:<12} {:>10}  {:<16} {}\n", "rank", "process", "CPUs", "memory", "from rank 0 by",
                       "large messages");
    for (rank r = 0; r < j.size(); r = r + 1) {
        auto const& who = j.record(r);
        auto const& way = ways[static_cast<std::size_t>(r.value)];
        out += fmt::format("{:>6} {:>9}  {:<12} {:>10}  {:<16} {}\n", r.value, who.pid, cpus_of(who.tid),
                           mpt::detail::human(who.slice_bytes), way.transport, large_messages(j, v, r, way));
    }
    for (std::size_t i = 0; i < config::table.size(); ++i)
        if (auto const& s = v.at(i); s.from != config::given::initial)
            out += fmt::format("{} = {} ({})\n", config::table[i].name, config::format(config::table[i], s),
                               s.from == config::given::alias ? config::table[i].also.name : config::to_string(s.from));
    return out;
}

} // namespace mpt::inline v0::boot
