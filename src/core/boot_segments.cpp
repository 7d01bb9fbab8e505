// The segments of a job on this node: memfds without names, or files unlinked at once where memfds are refused.
#include <mpt/boot/boot.hpp>
#include <mpt/config/config.hpp>
#include <mpt/core/error.hpp>
#include <mpt/wait/cpus.hpp>

#include "arena_system.hpp"
#include "boot_parts.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpt::inline v0::boot {
namespace {
using mpt::detail::descriptor;
using mpt::detail::human;

constexpr unsigned no_exec_seal = 8; // MFD_NOEXEC_SEAL, Linux 6.3; some systems insist on it
constexpr std::uint64_t large_page = 2 << 20, small_page = 4096;

int memfd(char const* name, unsigned flags) noexcept { return static_cast<int>(::syscall(SYS_memfd_create, name, flags)); }

/// A file that has no name from the moment it is opened, or for an instant where O_TMPFILE is not known.
descriptor nameless_file(std::string const& directory) {
    if (descriptor f{::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600)}) return f;
    auto path = directory + "/mpt-XXXXXX";
    descriptor f{::mkostemp(path.data(), O_CLOEXEC)};
    if (f) ::unlink(path.c_str());
    return f;
}

descriptor new_segment(char const* name) {
    for (auto const flags : {MFD_CLOEXEC | MFD_ALLOW_SEALING | no_exec_seal, MFD_CLOEXEC | MFD_ALLOW_SEALING})
        if (descriptor f{memfd(name, flags)}) return f;
    auto const refused = errno;
    auto const* tmp = std::getenv("TMPDIR");
    for (std::string const directory : {"/dev/shm", tmp ? tmp : "/tmp", "/tmp"})
        if (auto f = nameless_file(directory)) return f;
    throw error{
        errc::system,
        fmt::format(
            "mpt: no shared memory: memfd_create is refused ({}) and no file can be made in /dev/shm, $TMPDIR or /tmp ({}).",
            std::strerror(refused), std::strerror(errno)),
        errno};
}

bool can_reserve(std::uint64_t n) noexcept {
    auto* const p = ::mmap(nullptr, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return false;
    ::munmap(p, n);
    return true;
}

/// Sparse, as the data segment is; what is touched in it was reserved before. None: the system has no such memory for us.
descriptor new_pages(std::uint64_t n) noexcept {
    constexpr unsigned of_2_mib = 21u << 26; // MFD_HUGE_2MB
    if (n == 0) return {};
    descriptor f{memfd("mpt-pages", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | of_2_mib)};
    if (!f || ::ftruncate(f.get(), static_cast<off_t>(n)) != 0) return {};
    ::fcntl(f.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return f;
}

/// Nobody may shorten a segment under the others' feet.
void set_size(descriptor const& f, std::uint64_t n, char const* what) {
    if (::ftruncate(f.get(), static_cast<off_t>(n)) != 0)
        throw error{errc::system, fmt::format("mpt: the {} segment cannot have {}: {}", what, human(n), std::strerror(errno)),
                    errno};
    ::fcntl(f.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL); // a plain file has no seals: then it goes without
}

void commit_control(descriptor const& f, std::uint64_t n) {
    if (auto const room = mem::measure_headroom(); n > room.free)
        throw error{errc::no_memory, "mpt: no memory for the control segment: " + mem::shortage(n, room) + "."};
    if (auto const failed = mpt::detail::allocate(f.get(), 0, n); failed != 0)
        throw error{errc::no_memory,
                    fmt::format("mpt: no memory for the control segment of {}: {}", human(n), std::strerror(failed)), failed};
}

std::uint64_t physical_memory() noexcept {
    return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Huge pages of the system's pool, in bytes: as many as it has, or may have.
std::uint64_t pages_of_pool() {
    std::uint64_t const most = 1 << 24; // pages
    auto const number = [most](char const* file) {
        return std::min(mpt::detail::number_after(mpt::detail::read_text(file), "", 0), most);
    };
    return mem::arena::huge_page * (number("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages") +
                                    number("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages"));
}

/// Distances of two slices, in the data segment and in that of huge pages: every rank could take all the machine's memory, and all the
/// pages of its pool, where addresses and the file size limit allow. Those of huge pages are multiples of the largest page, so that
/// all of the pool can be had by pages of any size (arena.cpp).
struct strides {
    std::uint64_t data, pages;
};
strides choose_strides(std::uint64_t ranks) {
    constexpr std::uint64_t most_ranks = 4096; // with huge pages: two mappings for each, and a process may have 65530
    auto const budget = mpt::detail::measure_address_budget();
    auto most = budget.bytes;
    rlimit file{};
    if (::getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY)
        most = std::min<std::uint64_t>(most, file.rlim_cur);
    auto const each = most / ranks;
    auto const pool = (pages_of_pool() + mem::arena::largest_page - 1) / mem::arena::largest_page * mem::arena::largest_page;
    auto pages = ranks <= most_ranks ? std::min(pool, each / 4 / large_page * large_page) : 0;
    auto stride = std::min(std::bit_ceil(std::max(physical_memory(), large_page)), each - pages);
    stride = stride >= large_page ? stride / large_page * large_page : stride / small_page * small_page;
    while (stride > large_page && !can_reserve((stride + pages) * ranks)) stride = stride / 2 / large_page * large_page;
    if (stride < large_page) pages = 0;
    if (stride < (1 << 20))
        throw error{errc::no_memory,
                    fmt::format("mpt: a job of {} needs at least 1 MB of address space for each rank, but {} leaves {} in all.",
                                ranks, most == budget.bytes ? budget.who : "ulimit -f", human(most))};
    return {stride, pages};
}

void draw(void* p, std::size_t n) {
    if (::getrandom(p, n, 0) != static_cast<ssize_t>(n))
        throw error{errc::system, fmt::format("mpt: no random numbers for the job's key: {}", std::strerror(errno)), errno};
}

void write_header(descriptor const& f, mem::arena_plan const& plan, unsigned cpus, std::int32_t launcher) {
    auto* const p = ::mmap(nullptr, control_records_at, PROT_READ | PROT_WRITE, MAP_SHARED, f.get(), 0);
    if (p == MAP_FAILED)
        throw error{errc::system, fmt::format("mpt: cannot map the control segment: {}", std::strerror(errno)), errno};
    auto* const h = new (p) control_header{};
    h->magic = control_header::magic_value;
    h->version = control_header::current_version;
    h->ranks = plan.ranks;
    h->stride = plan.stride;
    draw(h->cookie.data(), sizeof h->cookie);
    draw(&h->job_id, sizeof h->job_id);
    h->scarce = plan.ranks > 1 && plan.ranks > cpus;
    h->launcher_pid = launcher;
    h->cpus = plan.ranks > 1 ? cpus : 0;
    std::vector<std::string> ignored; // a bad value is told by the ranks, who read the same environment
    auto const wish = config::values::read(environ, ignored).get<"MPT_FENCES">();
    bool const both = wish == "both" || (wish == "auto" && h->scarce != 0);
    auto const fence = !register_heavy() || both ? fence_mode::both : fence_mode::sleeper; // where it is refused, all fence
    h->fences.store(fence, std::memory_order_relaxed);                                     // order: no rank exists yet
    ::munmap(p, control_records_at);
}
} // namespace

mem::arena_plan make_segments(std::int32_t ranks) { return make_segments(ranks, ranks > 1 ? usable_cpus() : 1, 0); }

mem::arena_plan make_segments(std::int32_t ranks, unsigned cpus, std::int32_t launcher) {
    if (ranks < 1) throw error{errc::argument, fmt::format("mpt: a job needs at least one rank, not {}.", ranks)};
    mem::arena_plan plan;
    plan.ranks = static_cast<std::uint32_t>(ranks);
    plan.control_bytes = control_bytes(plan.ranks);
    auto const [stride, pages_stride] = choose_strides(plan.ranks);
    plan.stride = stride;
    auto control = new_segment("mpt-control"), data = new_segment("mpt-data");
    set_size(control, plan.control_bytes, "control");
    set_size(data, plan.stride * plan.ranks, "data");
    commit_control(control, plan.control_bytes);
    write_header(control, plan, cpus, launcher);
    if (auto pages = new_pages(pages_stride * plan.ranks)) {
        plan.pages_fd = pages.release();
        plan.pages_stride = pages_stride;
    }
    plan.control_fd = control.release();
    plan.data_fd = data.release();
    return plan;
}

} // namespace mpt::inline v0::boot
