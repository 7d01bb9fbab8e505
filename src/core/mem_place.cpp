// Where a range of memory comes from: mem/place.hpp, and the mappings of mem/kinds.hpp.
#include <mpt/core/error.hpp>
#include <mpt/mem/kinds.hpp>
#include <mpt/mem/place.hpp>

#include "arena_system.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

namespace mpt::inline v0::mem {
namespace {
using mpt::detail::descriptor;
using mpt::detail::human;

constexpr std::size_t base_page = 4096;
constexpr int preferred_many = 5;   // MPOL_PREFERRED_MANY, Linux 5.15
constexpr int huge_page_shift = 26; // MAP_HUGE_SHIFT

constexpr std::size_t up(std::size_t n, std::size_t to) noexcept { return (n + to - 1) / to * to; }

/// 0 or an errno.
int bind_pages(std::span<std::byte> range, int mode, std::vector<unsigned> const& nodes) noexcept {
    constexpr std::size_t most = 1024, bits = 8 * sizeof(unsigned long);
    std::array<unsigned long, most / bits> mask{};
    for (auto const n : nodes)
        if (n < most) mask[n / bits] |= 1ul << n % bits;
    auto const* const set = nodes.empty() ? nullptr : mask.data();
    return ::syscall(SYS_mbind, range.data(), range.size(), mode, set, set ? most + 1 : 0ul, 0u) == 0 ? 0 : errno;
}

int prefer(std::span<std::byte> range, std::vector<unsigned> const& nodes) noexcept {
    if (auto const failed = bind_pages(range, preferred_many, nodes); failed != EINVAL) return failed;
    return bind_pages(range, MPOL_PREFERRED, nodes); // takes the first one
}

std::string what_there_is(offer const& here) {
    std::string text;
    for (auto const& n : here.nodes)
        text += fmt::format("{}node {} is {} with {} free", text.empty() ? "" : ", ", n.id,
                            to_string(n.is_fast  ? affinity::mcdram
                                      : n.is_far ? affinity::cxl
                                                 : affinity::ddr),
                            human(n.free));
    return text.empty() ? "the system does not say which nodes of memory there are" : text;
}

/// The variable that says which nodes are of a kind.
std::string_view naming(affinity kind) noexcept {
    return kind == affinity::cxl ? "MEMKIND_DAX_KMEM_NODES" : "MEMKIND_HBW_NODES";
}

void place_special(outcome& is, std::span<std::byte> range, wish const& w, offer const& here) {
    auto const why = take_nodes(range, w.kind, w.policy, range.size(), here);
    if (why.empty()) return void(is.kind = w.kind);
    auto const kind = to_string(w.kind);
    if (w.policy == strictness::mandatory)
        throw error{errc::no_memory, fmt::format("mpt: {} of {} were asked for with the policy Mandatory, but {}. The policy "
                                                 "Preferred takes DDR instead; {} names nodes that count as {}.",
                                                 human(range.size()), kind, why, naming(w.kind), kind)};
    is.lacks = fmt::format("{} of {} were asked for, but {}.", human(range.size()), kind, why);
}

void place_normal(outcome& is, std::span<std::byte> range, wish const& w, offer const& here) {
    auto const nodes = here.normal_nodes();
    if (nodes.empty()) return; // a system without nodes has DDR only
    auto const failed = bind_pages(range, w.policy == strictness::interleave ? MPOL_INTERLEAVE : MPOL_BIND, nodes);
    if (failed == 0) is.kind = affinity::ddr;
    else is.lacks = fmt::format("DDR was asked for, but the system does not place memory: {}.", std::strerror(failed));
}

void enlarge_pages(outcome& is, std::span<std::byte> range, wish const& w, offer const& here, sharing how) {
    if (w.page <= base_page) return;
    is.page = take_pages(range, here, how);
    if (is.page > base_page) is.pages_from = "transparent";
    if (is.page > base_page && w.page >= is.page) return;
    auto const given = how == sharing::shared ? here.shared_memory : here.private_memory;
    is.lacks += fmt::format("{}pages of {} were asked for, but {} memory has pages of {} here{}.", is.lacks.empty() ? "" : " ",
                            human(w.page), how == sharing::shared ? "shared" : "private", human(is.page),
                            given == transparent::never ? " (/sys/kernel/mm/transparent_hugepage)" : "");
}
} // namespace

std::string_view to_string(affinity a) noexcept {
    switch (a) {
    case affinity::system: return "SYS_DEFAULT";
    case affinity::ddr: return "DDR";
    case affinity::mcdram: return "MCDRAM";
    case affinity::cxl: return "CXL";
    }
    return "?";
}
std::string_view to_string(strictness s) noexcept {
    switch (s) {
    case strictness::preferred: return "Preferred";
    case strictness::mandatory: return "Mandatory";
    case strictness::interleave: return "Interleave";
    }
    return "?";
}

std::string take_nodes(std::span<std::byte> range, affinity kind, strictness policy, std::uint64_t in_all, offer const& here) {
    auto const nodes = kind == affinity::cxl ? here.far_nodes() : here.fast_nodes();
    if (nodes.empty()) return "this machine has none: " + what_there_is(here);
    int failed = 0;
    if (auto const free = here.free_on(nodes); in_all > free) {
        if (policy != strictness::mandatory) prefer(range, nodes); // as far as it goes
        return fmt::format("only {} of it are free: {}", human(free), what_there_is(here));
    }
    if (policy == strictness::mandatory) failed = bind_pages(range, MPOL_BIND, nodes);
    else if (policy == strictness::interleave) failed = bind_pages(range, MPOL_INTERLEAVE, nodes);
    else failed = prefer(range, nodes);
    return failed == 0 ? "" : fmt::format("the system does not place memory: {}", std::strerror(failed));
}

bytes take_pages(std::span<std::byte> range, offer const& here, sharing how) noexcept {
    auto const given = how == sharing::shared ? here.shared_memory : here.private_memory;
    if (given == transparent::never || here.transparent_page == 0) return 4_KiB;
    if (::madvise(range.data(), range.size(), MADV_HUGEPAGE) != 0) return 4_KiB;
    return std::max(bytes{here.transparent_page}, bytes{4_KiB});
}

outcome place(std::span<std::byte> range, wish const& w, offer const& here, sharing how) {
    outcome is;
    if (range.empty()) return is;
    if (w.kind == affinity::mcdram || w.kind == affinity::cxl) place_special(is, range, w, here);
    if (w.kind == affinity::ddr) place_normal(is, range, w, here);
    enlarge_pages(is, range, w, here, how);
    return is;
}

void forget_place(std::span<std::byte> range) noexcept {
    if (!range.empty()) bind_pages(range, MPOL_DEFAULT, {});
}

// --- what stands behind a range -------------------------------------------------------------------------------------------------
namespace {
void add_to(standing& s, unsigned node, std::uint64_t n) {
    auto const at = std::ranges::lower_bound(s.by_node, node, {}, &std::pair<unsigned, std::uint64_t>::first);
    if (at != s.by_node.end() && at->first == node) at->second += n;
    else s.by_node.insert(at, {node, n});
}

void count_nodes(standing& s, std::uintptr_t from, std::uintptr_t to) {
    constexpr std::size_t batch = 512;
    std::array<void*, batch> pages{};
    std::array<int, batch> nodes{};
    while (from < to) {
        std::size_t n = 0;
        for (; n < batch && from < to; ++n, from += base_page) pages[n] = reinterpret_cast<void*>(from);
        if (::syscall(SYS_move_pages, 0, n, pages.data(), nullptr, nodes.data(), 0) != 0) return;
        for (std::size_t i = 0; i < n; ++i) {
            if (nodes[i] < 0) continue; // an errno: no page
            s.touched += base_page;
            add_to(s, static_cast<unsigned>(nodes[i]), base_page);
        }
    }
}

bool is_header(std::string_view line) noexcept { // "7f00-7f10 rw-s ..."; the others are "Name:   12 kB"
    auto const dash = line.find('-'), blank = line.find(' ');
    return dash < blank && line.find(':') > dash;
}
std::uint64_t huge_in(std::string_view line) noexcept {
    for (auto const* key : {"AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:", "Shared_Hugetlb:", "Private_Hugetlb:"})
        if (auto const kilobytes = mpt::detail::number_after(line, key, 0); kilobytes != 0) return kilobytes << 10;
    return 0;
}

void count_huge(standing& s, std::uintptr_t from, std::uintptr_t to) {
    auto const smaps = mpt::detail::read_text("/proc/self/smaps");
    std::string_view rest{smaps};
    std::uint64_t inside = 0, huge = 0;
    auto const close = [&] { s.huge += std::min(huge, inside), huge = 0; };
    while (!rest.empty()) {
        auto const line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (is_header(line)) {
            close();
            char* end = nullptr;
            auto const low = std::strtoull(line.data(), &end, 16), high = std::strtoull(end + 1, nullptr, 16);
            auto const first = std::max<std::uint64_t>(low, from), last = std::min<std::uint64_t>(high, to);
            inside = last > first ? last - first : 0;
        } else if (inside != 0) huge += huge_in(line);
    }
    close();
}
} // namespace

standing& standing::operator+=(standing const& other) {
    touched += other.touched, huge += other.huge;
    for (auto const& [node, n] : other.by_node) add_to(*this, node, n);
    return *this;
}

std::uint64_t standing::on(unsigned node) const noexcept {
    for (auto const& [id, n] : by_node)
        if (id == node) return n;
    return 0;
}

standing look_at(std::span<std::byte const> range) {
    standing s;
    auto const at = reinterpret_cast<std::uintptr_t>(range.data());
    auto const from = at / base_page * base_page, to = up(at + range.size(), base_page);
    if (range.empty()) return s;
    count_nodes(s, from, to);
    count_huge(s, from, to);
    return s;
}

// --- mappings of kinds ------------------------------------------------------------------------------------------------------------
namespace detail {
namespace {
/// n bytes at a multiple of align, of whole base pages.
std::span<std::byte> map_aligned(std::size_t n, std::size_t align) noexcept {
    auto const more = align > base_page ? align : 0;
    auto* const p = ::mmap(nullptr, n + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return {};
    auto* const at = static_cast<std::byte*>(p);
    auto const number = reinterpret_cast<std::uintptr_t>(p);
    auto const skip = up(number, std::max(align, base_page)) - number;
    if (skip != 0) ::munmap(at, skip);
    if (more != skip) ::munmap(at + skip + n, more - skip);
    return {at + skip, n};
}

/// Where a control group limits the huge pages that are touched, they are so now; false: it does not permit them.
bool is_touchable(std::span<std::byte> range, std::size_t page) {
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE, Linux 5.14; an older one leaves it to the first touch
    return mpt::detail::touchable_pages(page) == mpt::detail::any_number ||
           ::madvise(range.data(), range.size(), populate_write) == 0 || errno == EINVAL;
}

/// Of the system's own huge pages, at a multiple of align: reserved at once, so that a touch cannot fail.
std::span<std::byte> map_pool(std::size_t n, std::size_t page, std::size_t align) noexcept {
    auto const size = static_cast<int>(std::countr_zero(page)) << huge_page_shift;
    auto const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size;
    for (int tries = 0; tries < 8; ++tries) { // another thread may take the place that was found
        std::span<std::byte> place;
        if (align > page) {
            if (place = map_aligned(n, align); place.empty()) return {};
            ::munmap(place.data(), n);
        }
        auto* const p =
            ::mmap(place.data(), n, PROT_READ | PROT_WRITE, flags | (place.empty() ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
        if (p != MAP_FAILED) return {static_cast<std::byte*>(p), n};
        if (errno != EEXIST) return {};
    }
    return {};
}

bool is_placed(std::span<std::byte> range, wish const& w, offer const& here) {
    if (w.kind == affinity::system) return true;
    return place(range, {.kind = w.kind, .policy = w.policy, .page = 4_KiB}, here, sharing::own).lacks.empty();
}
} // namespace

void unmap(std::span<std::byte> range) noexcept {
    if (!range.empty()) ::munmap(range.data(), range.size());
}

mapping map_placed(std::size_t n, wish const& w) try {
    auto const here = look_around();
    auto const range = map_aligned(n, base_page);
    if (range.empty()) return {.why = "the system has no room for the mapping"};
    try {
        if (is_placed(range, w, here)) return {.range = range, .page = 4_KiB, .from = to_string(w.kind), .why = {}};
    } catch (error const&) {} // mandatory: said below
    unmap(range);
    return {.why = w.kind == affinity::mcdram ? "there is no MCDRAM here, or too little of it is free"
                   : w.kind == affinity::cxl  ? "there is no memory behind CXL here, or too little of it is free"
                                              : "the system does not place memory"};
} catch (std::bad_alloc const&) { return {.why = "no memory even to look"}; }

mapping map_huge(std::size_t n, std::size_t page, wish const& w) try {
    auto const here = look_around();
    auto const keep = [&](std::span<std::byte> range, std::size_t of, std::string_view from) -> mapping {
        std::string_view why = "huge pages are there, but not of this kind of memory";
        try {
            if (is_placed(range, w, here)) {
                if (from != "hugetlb" || is_touchable(range, of))
                    return {.range = range, .page = bytes{of}, .from = from, .why = {}};
                why = "a control group permits no more huge pages (hugetlb.*.max, limit_in_bytes)";
            }
        } catch (error const&) {} // mandatory: not there
        unmap(range);
        return {.why = why};
    };
    for (auto pool = here.pools.rbegin(); pool != here.pools.rend(); ++pool) {
        if (pool->page > page || pool->available() * pool->page < n) continue;
        if (auto const range = map_pool(n, pool->page, page); !range.empty()) return keep(range, pool->page, "hugetlb");
    }
    if (here.private_memory == transparent::never || here.transparent_page == 0 || here.transparent_page > page)
        return {.why =
                    "too few huge pages of a size that fits are free (/sys/kernel/mm/hugepages), and transparent ones are off"};
    auto const range = map_aligned(n, page);
    if (range.empty()) return {.why = "the system has no room for the mapping"};
    if (::madvise(range.data(), n, MADV_HUGEPAGE) != 0) {
        unmap(range);
        return {.why = "the system does not take the advice to use huge pages"};
    }
    return keep(range, here.transparent_page, "transparent");
} catch (std::bad_alloc const&) { return {.why = "no memory even to look"}; }

mapping map_file(std::size_t n, std::string_view folder) try {
    std::string name{folder};
    descriptor f{::open(name.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600)};
    if (!f) {
        name += "/mpt-XXXXXX";
        f = descriptor{::mkostemp(name.data(), O_CLOEXEC)};
        if (f) ::unlink(name.c_str());
    }
    if (!f) return {.why = "no file can be made in the folder"};
    struct statvfs fs {};
    bool const is_bounded = ::fstatvfs(f.get(), &fs) == 0 && fs.f_blocks != 0; // a tmpfs may have no size
    if (is_bounded && n > std::uint64_t{fs.f_bavail} * fs.f_frsize) return {.why = "the file system has too little room"};
    if (::ftruncate(f.get(), static_cast<off_t>(n)) != 0) return {.why = "the file system takes no file of that size"};
    auto* const p = ::mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_SHARED, f.get(), 0);
    if (p == MAP_FAILED) return {.why = "the file cannot be mapped"};
    return {.range = {static_cast<std::byte*>(p), n}, .page = 4_KiB, .from = "file", .why = {}};
} catch (std::bad_alloc const&) { return {.why = "no memory even to look"}; }

status shape(std::span<std::byte> range, wish const& w) noexcept try {
    auto const is = place(range, w, look_around());
    return is.lacks.empty() ? status::ok : status::refused;
} catch (error const&) { return status::refused; } catch (std::bad_alloc const&) {
    return status::no_memory;
}

void refuse(std::string_view kind, std::size_t page, std::size_t n, std::string_view why) {
    auto const advice = [&]() -> std::string {
        if (kind == "mcdram" || kind == "cxl") {
            auto const is = kind == "cxl" ? affinity::cxl : affinity::mcdram;
            return fmt::format("{} names nodes that count as {}", naming(is), to_string(is));
        }
        if (kind == "hugepage")
            return fmt::format(
                "root makes pages by writing their number to /sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages",
                (page >= 1_GiB ? bytes{1_GiB} : bytes{2_MiB}).value / 1024);
        return "less of it may be had";
    }();
    throw error{errc::no_memory,
                fmt::format("mpt: {} of {} in pages of {} were asked for, and nothing else will do, but {}. To change it: {}; "
                            "mem::fallback takes another kind instead. There is: {}",
                            human(n), kind, human(page), why, advice, describe(look_around()))};
}
} // namespace detail

} // namespace mpt::inline v0::mem
