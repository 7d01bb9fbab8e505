/// mpi/hardware - which Core, cache, NUMA node or package a thread runs on, when it runs on that alone. MPI-4.1 section 7.4.2.
///
///        Machine > Package > NUMANode > L3Cache > L2Cache > L1Cache > Core > PU           hwloc's names for sorts of hardware
///
///        auto where = hardware_instance("L3Cache", own_cpus());
///        auto near = world.split(where.value_or(-1), world.rank());          // ranks that share a cache
///
///   An instance is named by the first of its CPUs, so all processes of a node call it the same. A thread that may run on CPUs of
///   several instances of a sort is on none. The system is asked (/sys), at every call: an affinity mask may change.
///
///   Cost    a few small files.    Tests  test/mpi_hardware_test.cpp
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpt::inline v0 {

/// Where the system tells of its CPUs; a test shows a tree of its own.
struct hardware_view {
    std::string system = "/sys/devices/system";
};

/// Larger ones first.
inline constexpr std::array<std::string_view, 8> hardware_sorts{"Machine", "Package", "NUMANode", "L3Cache",
                                                                "L2Cache", "L1Cache", "Core",     "PU"};

/// The CPUs that the calling thread may run on, in order.
std::vector<int> own_cpus();

/// The CPUs of the instance of a sort that a CPU belongs to, in order. Empty: the sort is unknown, or the system does not tell.
std::vector<int> cpus_beside(std::string_view sort, int cpu, hardware_view const& view = {});

/// The instance of a sort that all these CPUs belong to. Nothing: there are several, or none is known.
std::optional<int> hardware_instance(std::string_view sort, std::vector<int> const& cpus, hardware_view const& view = {});

} // namespace mpt::inline v0
