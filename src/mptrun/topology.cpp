#include "topology.hpp"

#include "../core/loaded_library.hpp"

#include <memory>

#include <hwloc.h>

namespace mptrun {
namespace {

/// The functions that are used.
struct hwloc_library : mpt::detail::loaded_library {
    hwloc_library() : loaded_library{"libhwloc.so.15"} {}

    decltype(::hwloc_topology_init)* init = function<decltype(::hwloc_topology_init)>("hwloc_topology_init");
    decltype(::hwloc_topology_load)* load = function<decltype(::hwloc_topology_load)>("hwloc_topology_load");
    decltype(::hwloc_topology_destroy)* destroy = function<decltype(::hwloc_topology_destroy)>("hwloc_topology_destroy");
    decltype(::hwloc_get_type_depth)* depth_of = function<decltype(::hwloc_get_type_depth)>("hwloc_get_type_depth");
    decltype(::hwloc_get_nbobjs_by_depth)* count = function<decltype(::hwloc_get_nbobjs_by_depth)>("hwloc_get_nbobjs_by_depth");
    decltype(::hwloc_get_obj_by_depth)* object = function<decltype(::hwloc_get_obj_by_depth)>("hwloc_get_obj_by_depth");
    decltype(::hwloc_bitmap_next)* next = function<decltype(::hwloc_bitmap_next)>("hwloc_bitmap_next");
};

hwloc_obj_type_t type_of(level l) noexcept {
    switch (l) {
    case level::hwthread: return HWLOC_OBJ_PU;
    case level::core: return HWLOC_OBJ_CORE;
    case level::l1: return HWLOC_OBJ_L1CACHE;
    case level::l2: return HWLOC_OBJ_L2CACHE;
    case level::l3: return HWLOC_OBJ_L3CACHE;
    case level::numa: return HWLOC_OBJ_NUMANODE;
    case level::socket: return HWLOC_OBJ_PACKAGE;
    case level::machine: break;
    }
    return HWLOC_OBJ_MACHINE;
}

std::vector<std::vector<int>> objects_of(hwloc_library const& hwloc, hwloc_topology_t topology, level l) {
    std::vector<std::vector<int>> all;
    auto const depth = hwloc.depth_of(topology, type_of(l)); // of NUMA nodes it is a number that stands for them
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return all;
    for (unsigned i = 0; i < hwloc.count(topology, depth); ++i) {
        auto const* const set = hwloc.object(topology, depth, i)->cpuset;
        auto& cpus = all.emplace_back();
        for (int c = hwloc.next(set, -1); c >= 0; c = hwloc.next(set, c)) cpus.push_back(c);
    }
    return all;
}
} // namespace

std::vector<std::vector<int>> hwloc_objects(level l) {
    hwloc_library const hwloc;
    hwloc_topology_t topology = nullptr;
    if (!hwloc.complete() || hwloc.init(&topology) != 0) return {};
    std::unique_ptr<hwloc_topology, decltype(hwloc.destroy)> const held{topology, hwloc.destroy};
    if (hwloc.load(topology) != 0) return {};
    return objects_of(hwloc, topology, l);
}

} // namespace mptrun
