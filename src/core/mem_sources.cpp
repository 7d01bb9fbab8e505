// What libraries know of this machine's nodes of memory: mem/offer.hpp. They are loaded when somebody asks for a kind of memory on a
// machine with several nodes, and where they are not installed others have to do.
#include <mpt/mem/offer.hpp>

#include "loaded_library.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include <hwloc.h>

namespace mpt::inline v0::mem {
namespace {

// --- memkind ------------------------------------------------------------------------------------------------------------------------
/// It has an allocator of its own, which does not bear being unloaded. Its headers are not needed: a kind is a pointer, and what is asked
/// here does not look at it.
struct memkind_library : mpt::detail::loaded_library {
    memkind_library() : loaded_library{"libmemkind.so.0", RTLD_NODELETE} {}

    using nodes_of_kind = int(void* kind, unsigned long* mask, unsigned long most);
    nodes_of_kind* fast = function<nodes_of_kind>("memkind_hbw_all_get_mbind_nodemask");
    nodes_of_kind* far = function<nodes_of_kind>("memkind_dax_kmem_all_get_mbind_nodemask");
};

std::vector<unsigned> numbers_in(memkind_library::nodes_of_kind* of) {
    constexpr unsigned most = 1024, bits = 8 * sizeof(unsigned long);
    std::array<unsigned long, most / bits> mask{};
    std::vector<unsigned> all;
    if (of(nullptr, mask.data(), most) != 0) return all; // it knows of none
    for (unsigned n = 0; n < most; ++n)
        if ((mask[n / bits] >> n % bits & 1) != 0) all.push_back(n);
    return all;
}

// --- hwloc --------------------------------------------------------------------------------------------------------------------------
struct hwloc_library : mpt::detail::loaded_library {
    hwloc_library() : loaded_library{"libhwloc.so.15"} {}

    decltype(::hwloc_topology_init)* init = function<decltype(::hwloc_topology_init)>("hwloc_topology_init");
    decltype(::hwloc_topology_load)* load = function<decltype(::hwloc_topology_load)>("hwloc_topology_load");
    decltype(::hwloc_topology_destroy)* destroy = function<decltype(::hwloc_topology_destroy)>("hwloc_topology_destroy");
    decltype(::hwloc_get_nbobjs_by_depth)* count = function<decltype(::hwloc_get_nbobjs_by_depth)>("hwloc_get_nbobjs_by_depth");
    decltype(::hwloc_get_obj_by_depth)* object = function<decltype(::hwloc_get_obj_by_depth)>("hwloc_get_obj_by_depth");
    decltype(::hwloc_memattr_get_best_initiator)* best =
        function<decltype(::hwloc_memattr_get_best_initiator)>("hwloc_memattr_get_best_initiator"); // hwloc 2.3
};

/// The name that hwloc gives to memory of a sort, as firmware, drivers and processors tell it: "DRAM", "MCDRAM", "CXL-DRAM", "NVM", ...
bool is_fast(std::string_view sort) noexcept { return sort == "MCDRAM" || sort == "HBM"; }
bool is_far(std::string_view sort) noexcept { return sort.starts_with("CXL") || sort == "NVM"; }

node_kinds kinds_in(hwloc_library const& hwloc, hwloc_topology_t topology, std::vector<node_offer> nodes) {
    node_kinds named;
    for (unsigned i = 0; i < hwloc.count(topology, HWLOC_TYPE_DEPTH_NUMANODE); ++i) {
        auto* const node = hwloc.object(topology, HWLOC_TYPE_DEPTH_NUMANODE, i);
        std::string_view const sort = node->subtype ? node->subtype : "";
        if (is_fast(sort)) named.fast.push_back(node->os_index);
        if (is_far(sort)) named.far.push_back(node->os_index);
        hwloc_location initiator{};
        hwloc_uint64_t bandwidth = 0;
        auto const at = std::ranges::find(nodes, node->os_index, &node_offer::id);
        if (at != nodes.end() && hwloc.best(topology, HWLOC_MEMATTR_ID_BANDWIDTH, node, 0, &initiator, &bandwidth) == 0)
            at->bandwidth = bandwidth;
    }
    auto told = kinds_by_bandwidth(nodes);
    return {named.fast.empty() ? std::move(told.fast) : std::move(named.fast),
            named.far.empty() ? std::move(told.far) : std::move(named.far)};
}
} // namespace

std::optional<node_kinds> ask_memkind(std::span<node_offer const>) {
    memkind_library const memkind;
    if (!memkind.complete()) return {};
    return node_kinds{numbers_in(memkind.fast), numbers_in(memkind.far)};
}

std::optional<node_kinds> ask_hwloc(std::span<node_offer const> nodes) {
    hwloc_library const hwloc;
    hwloc_topology_t topology = nullptr;
    if (!hwloc.complete() || hwloc.init(&topology) != 0) return {};
    std::unique_ptr<hwloc_topology, decltype(hwloc.destroy)> const held{topology, hwloc.destroy};
    if (hwloc.load(topology) != 0) return {};
    return kinds_in(hwloc, topology, {nodes.begin(), nodes.end()});
}

std::span<node_source const> node_sources() noexcept {
    static constexpr std::array all{node_source{"memkind",
                                                [](std::span<node_offer const> nodes) {
                                                    static auto const is = ask_memkind(nodes);
                                                    return is;
                                                }},
                                    node_source{"hwloc", [](std::span<node_offer const> nodes) {
                                                    static auto const is = ask_hwloc(nodes);
                                                    return is;
                                                }}};
    return all;
}

} // namespace mpt::inline v0::mem
