// What memory this machine has: mem/offer.hpp.
#include <mpt/config/config.hpp>
#include <mpt/core/error.hpp>
#include <mpt/mem/offer.hpp>

#include "arena_system.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mpt::inline v0 {
namespace mem {
namespace {
using mpt::detail::human;
using mpt::detail::number_after;
using mpt::detail::read_text;

constexpr unsigned highest_node = 1023; // what the kernel can be built for

std::string line_of(std::string const& file) {
    auto text = read_text(file.c_str());
    text.resize(std::min(text.find('\n'), text.size()));
    return text;
}
std::uint64_t number_in(std::string const& file) { return number_after(read_text(file.c_str()), "", 0); }

/// The word in brackets: "always [madvise] never".
transparent setting_in(std::string const& file) {
    auto const text = line_of(file);
    auto const from = text.find('['), to = text.find(']');
    if (from == text.npos || to == text.npos || to < from) return transparent::never;
    auto const word = text.substr(from + 1, to - from - 1);
    if (word == "madvise" || word == "advise") return transparent::when_advised;
    if (word == "always" || word == "within_size" || word == "force") return transparent::always;
    return transparent::never;
}

std::vector<node_offer> nodes_of(std::string const& root) {
    auto const folder = root + "/sys/devices/system/node";
    std::vector<node_offer> all;
    for (auto const id : read_nodes(line_of(folder + "/has_memory"), folder + "/has_memory")) {
        auto const node = fmt::format("{}/node{}", folder, id), memory = read_text((node + "/meminfo").c_str());
        auto const kilobytes = [&](std::string_view what) {
            return number_after(memory, fmt::format("Node {} {}:", id, what), 0);
        };
        all.push_back({.id = id,
                       .bytes = kilobytes("MemTotal") << 10,
                       .free = (kilobytes("MemFree") + kilobytes("Inactive(file)") + kilobytes("Active(file)") / 2) << 10,
                       .bandwidth = number_in(node + "/access0/initiators/read_bandwidth"),
                       .has_cpus = !line_of(node + "/cpulist").empty(),
                       .is_fast = false,
                       .is_far = false});
    }
    return all;
}

bool is_listed(std::vector<unsigned> const& ids, unsigned id) { return std::ranges::find(ids, id) != ids.end(); }

/// Nodes of device memory (dax) that the driver kmem has made ordinary memory: persistent memory, and what is behind CXL.
std::vector<unsigned> nodes_of_dax(std::string const& root) {
    std::vector<unsigned> ids;
    std::error_code none; // a system without such devices has no folder
    for (auto const& device : std::filesystem::directory_iterator{root + "/sys/bus/dax/devices", none}) {
        std::error_code unbound;
        auto const driver = std::filesystem::read_symlink(device.path() / "driver", unbound).filename();
        auto const node = number_after(read_text((device.path() / "target_node").c_str()), "", ~0ull);
        if (driver == "kmem" && node <= highest_node) ids.push_back(static_cast<unsigned>(node));
    }
    return ids;
}

/// The numbers that a variable says. Throws where there is no such node.
std::vector<unsigned> named(std::vector<node_offer> const& nodes, named_nodes const& is) {
    auto ids = read_nodes(is.nodes, is.by);
    for (auto const id : ids) {
        if (std::ranges::find(nodes, id, &node_offer::id) != nodes.end()) continue;
        std::vector<unsigned> there;
        there.reserve(nodes.size());
        for (auto const& x : nodes) there.push_back(x.id);
        throw error{errc::configuration, fmt::format("mpt: {}={}: there is no node {} with memory here; there are {}", is.by,
                                                     is.nodes, id, fmt::join(there, ", "))};
    }
    return ids;
}

/// What is asked of one kind: who knows of nodes of it, and which.
struct answer {
    std::vector<unsigned> nodes;
    std::string by;
};
answer first_that_knows(std::vector<node_offer> const& nodes, named_nodes const& told, std::span<node_source const> sources,
                        std::vector<unsigned> node_kinds::*kind, node_kinds const& by_system) {
    if (!told.nodes.empty()) return {named(nodes, told), fmt::format("{}={}", told.by, told.nodes)};
    if (nodes.size() < 2) return {};
    for (auto const& s : sources)
        if (auto const known = s.ask(nodes); known && !((*known).*kind).empty()) return {(*known).*kind, std::string{s.name}};
    return {by_system.*kind, "/sys"};
}

/// Which sources there are, for who wonders that none knows of anything.
std::string nobody(std::vector<node_offer> const& nodes, std::span<node_source const> sources) {
    if (nodes.size() < 2) return "one node, and with it one kind";
    std::string text = "all alike: neither MEMKIND_HBW_NODES nor MEMKIND_DAX_KMEM_NODES is set, and /sys tells of no others";
    for (auto const& s : sources) text += fmt::format(", {} {}", s.name, s.ask(nodes) ? "knows of none" : "is not installed");
    return text;
}

/// Nodes become what they are; a sentence says by whom.
std::string find_kinds(std::vector<node_offer>& nodes, named_nodes const& fast, named_nodes const& far, std::string const& root,
                       std::span<node_source const> sources) {
    auto by_system = kinds_by_bandwidth(nodes);
    auto const dax = nodes_of_dax(root);
    by_system.far.insert(by_system.far.end(), dax.begin(), dax.end());
    auto const quick = first_that_knows(nodes, fast, sources, &node_kinds::fast, by_system);
    auto const slow = first_that_knows(nodes, far, sources, &node_kinds::far, by_system);
    std::string by;
    for (auto& n : nodes) n.is_fast = is_listed(quick.nodes, n.id), n.is_far = is_listed(slow.nodes, n.id);
    if (std::ranges::any_of(nodes, &node_offer::is_fast)) by = "mcdram by " + quick.by;
    if (std::ranges::any_of(nodes, &node_offer::is_far)) by += (by.empty() ? "cxl by " : ", cxl by ") + slow.by;
    return by.empty() ? nobody(nodes, sources) : by;
}

std::vector<page_pool> pools_of(std::string const& root) {
    std::vector<page_pool> all;
    std::error_code none; // a system without such pages has no folder
    for (auto const& entry : std::filesystem::directory_iterator{root + "/sys/kernel/mm/hugepages", none}) {
        auto const name = entry.path().filename().string(), folder = entry.path().string();
        constexpr std::string_view prefix = "hugepages-";
        if (!name.starts_with(prefix)) continue;
        std::uint64_t kilobytes = 0;
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), kilobytes);
        if (kilobytes == 0) continue;
        auto const less = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
        all.push_back(
            {.page = kilobytes << 10,
             .pages = number_in(folder + "/nr_hugepages"),
             .free = less(number_in(folder + "/free_hugepages"), number_in(folder + "/resv_hugepages")),
             .may_grow = less(number_in(folder + "/nr_overcommit_hugepages"), number_in(folder + "/surplus_hugepages"))});
    }
    std::ranges::sort(all, {}, &page_pool::page);
    return all;
}

/// How the kernel names pages in the files of a control group: 2MB, 1GB, 64KB.
std::string name_of_pages(std::uint64_t page) {
    if (page >= std::uint64_t{1} << 30) return fmt::format("{}GB", page >> 30);
    return page >= 1 << 20 ? fmt::format("{}MB", page >> 20) : fmt::format("{}KB", page >> 10);
}

/// What may be touched is limited ("", as the files have it), and what may be reserved ("rsvd."). Calls f with the file, and the pages that
/// it leaves.
template <class F>
void each_limit(std::vector<mpt::detail::cgroup> const& groups, std::uint64_t page, std::string_view of, F f) {
    constexpr auto none = std::uint64_t{1} << 62; // "max", no such file, and what version 1 says for it
    for (auto const& group : groups) {
        auto const name = fmt::format("{}/hugetlb.{}.{}", group.directory, name_of_pages(page), of);
        auto const file = name + (group.is_v2 ? "max" : "limit_in_bytes");
        auto const limit = number_after(read_text(file.c_str()), "", none);
        if (limit >= none) continue;
        auto const used = number_in(name + (group.is_v2 ? "current" : "usage_in_bytes"));
        f(file, limit > used ? (limit - used) / page : 0);
    }
}

/// By each group that this process is in.
void find_limits(std::vector<page_pool>& pools, std::string const& root) {
    auto const groups = mpt::detail::cgroups_of(root, "hugetlb");
    for (auto& p : pools)
        for (auto const* const of : {"", "rsvd."})
            each_limit(groups, p.page, of, [&](std::string const& file, std::uint64_t left) {
                if (left < p.allowed) p.allowed = left, p.allowed_by = file.substr(root.size());
            });
}

template <class Is> std::vector<unsigned> numbers_of(std::vector<node_offer> const& nodes, Is is) {
    std::vector<unsigned> ids;
    for (auto const& n : nodes)
        if (is(n)) ids.push_back(n.id);
    return ids;
}
std::string_view kind_of(node_offer const& n) noexcept { return n.is_fast ? "mcdram" : n.is_far ? "cxl" : "ddr"; }
} // namespace

std::string_view to_string(transparent t) noexcept {
    switch (t) {
    case transparent::never: return "never";
    case transparent::when_advised: return "when advised";
    case transparent::always: return "always";
    }
    return "?";
}

std::vector<unsigned> read_nodes(std::string_view text, std::string_view name) {
    std::set<unsigned> all;
    auto const *at = text.data(), *const end = at + text.size();
    bool good = true;
    auto const number = [&] {
        unsigned n = 0;
        auto const [stop, failed] = std::from_chars(at, end, n);
        good = good && failed == std::errc{} && n <= highest_node;
        at = stop;
        return n;
    };
    while (good && at < end) {
        auto const first = number();
        auto last = first;
        if (at < end && *at == '-') ++at, last = number();
        good = good && first <= last;
        for (auto n = first; good && n <= last; ++n) all.insert(n);
        if (at < end && (*at++ != ',' || at == end)) good = false;
    }
    if (!good)
        throw error{errc::configuration, fmt::format("mpt: {}={} is no list of nodes; allowed: numbers up to {}, as 1 or 0,2-3",
                                                     name, text, highest_node)};
    return {all.begin(), all.end()};
}

node_kinds kinds_by_bandwidth(std::span<node_offer const> nodes) {
    auto const least_of = [&](auto const& is) {
        std::uint64_t least = ~0ull;
        for (auto const& n : nodes)
            if (n.bandwidth != 0 && is(n)) least = std::min(least, n.bandwidth);
        return least;
    };
    bool const cpus_are_known = std::ranges::any_of(nodes, &node_offer::has_cpus);
    auto const ordinary = least_of([&](node_offer const& n) { return n.has_cpus || !cpus_are_known; });
    node_kinds kinds;
    if (ordinary == ~0ull) return kinds; // firmware says nothing of it
    for (auto const& n : nodes) {
        if (n.bandwidth == 0) continue;
        if (n.bandwidth / 2 >= ordinary) kinds.fast.push_back(n.id);
        if (!n.has_cpus && n.bandwidth <= ordinary / 2) kinds.far.push_back(n.id);
    }
    return kinds;
}

std::vector<unsigned> offer::fast_nodes() const { return numbers_of(nodes, std::mem_fn(&node_offer::is_fast)); }
std::vector<unsigned> offer::far_nodes() const { return numbers_of(nodes, std::mem_fn(&node_offer::is_far)); }
std::vector<unsigned> offer::normal_nodes() const {
    auto ids = numbers_of(nodes, [](auto const& n) { return !n.is_fast && !n.is_far; });
    if (ids.empty()) ids = numbers_of(nodes, [](auto const& n) { return !n.is_far; });
    return ids.empty() ? far_nodes() : ids;
}
std::uint64_t offer::free_on(std::span<unsigned const> ids) const noexcept {
    std::uint64_t n = 0;
    for (auto const& x : nodes)
        if (std::ranges::find(ids, x.id) != ids.end()) n += x.free;
    return n;
}
page_pool const* offer::pool(std::uint64_t page) const noexcept {
    auto const p = std::ranges::find(pools, page, &page_pool::page);
    return p == pools.end() ? nullptr : &*p;
}

offer look_around() { return look_around(config::values::of_process()); }

offer look_around(config::values const& v) {
    auto const nodes = [&](std::size_t row, std::string_view value) -> named_nodes {
        return {value, v.at(row).from == config::given::alias ? config::table[row].also.name : config::table[row].name};
    };
    constexpr auto fast = config::row_of("MPT_FAST_NODES"), far = config::row_of("MPT_FAR_NODES");
    static_assert(config::table[fast].also.name == "MEMKIND_HBW_NODES");
    static_assert(config::table[far].also.name == "MEMKIND_DAX_KMEM_NODES");
    return look_around(nodes(fast, v.get<"MPT_FAST_NODES">()), nodes(far, v.get<"MPT_FAR_NODES">()), {}, node_sources());
}

offer look_around(std::string_view fast_nodes, std::string const& root, std::string_view name) {
    return look_around({fast_nodes, name}, {}, root);
}

offer look_around(named_nodes fast, named_nodes far, std::string const& root, std::span<node_source const> sources) {
    auto const folder = root + "/sys/kernel/mm/transparent_hugepage/";
    offer o;
    o.nodes = nodes_of(root);
    o.kinds_by = find_kinds(o.nodes, fast, far, root, sources);
    o.pools = pools_of(root);
    find_limits(o.pools, root);
    o.private_memory = setting_in(folder + "enabled");
    o.shared_memory = setting_in(folder + "shmem_enabled");
    o.transparent_page = number_in(folder + "hpage_pmd_size");
    return o;
}

std::string describe(offer const& o) {
    std::string text;
    for (auto const& n : o.nodes)
        text += fmt::format("  node {:<4} {:<7} {} of {} free{}\n", n.id, kind_of(n), human(n.free), human(n.bytes),
                            n.bandwidth != 0 ? fmt::format(", {} MB/s", n.bandwidth) : "");
    if (o.nodes.empty()) text += "  the system does not say which nodes of memory there are\n";
    else text += fmt::format("  kinds of nodes: {}\n", o.kinds_by);
    for (auto const& p : o.pools)
        text += fmt::format("  pages of {}: {} of {} free{}{}\n", human(p.page), p.free, p.pages,
                            p.may_grow != 0 ? fmt::format(", {} more may be made", p.may_grow) : "",
                            p.is_limited() ? fmt::format(", {} by {}", p.allowed, p.allowed_by) : "");
    text += fmt::format("  transparent huge pages of {}: {} for private memory, {} for shared memory\n",
                        human(o.transparent_page), to_string(o.private_memory), to_string(o.shared_memory));
    return text;
}
} // namespace mem

std::uint64_t detail::touchable_pages(std::uint64_t page) {
    auto most = any_number;
    mem::each_limit(cgroups_of({}, "hugetlb"), page, "",
                    [&](std::string const&, std::uint64_t left) { most = std::min(most, left); });
    return most;
}

} // namespace mpt::inline v0
