/// mem/offer - what memory this machine has: kinds, pages, and how much of each is free.
///
///        /sys/devices/system/node/node*      nodes, their free bytes and bandwidth  ->  which are ddr, which are mcdram
///        /sys/kernel/mm/hugepages/*          pools of huge pages                    ->  mem::hugepage, mptrun -m
///        hugetlb.*.max of the control groups  ->  how many of them are left to this process
///        /sys/kernel/mm/transparent_hugepage whether the system makes huge pages by itself
///
///   Nodes are of three kinds: ddr, mcdram (fast: MCDRAM, HBM), and cxl (far: behind CXL, and persistent memory used as ordinary memory).
///   Who says so, the first of these that knows of a node of the kind:
///        MEMKIND_HBW_NODES, MEMKIND_DAX_KMEM_NODES    the user, as memkind has it (MPT_FAST_NODES, MPT_FAR_NODES)
///        memkind, hwloc                               loaded where they are installed and there are several nodes
///        /sys                                         fast: twice the bandwidth of the nodes that have CPUs, as firmware tells it;
///                                                     far: no CPUs, and half of it; or the pages of a dax device (kmem)
///   Machines whose memory is all alike have ddr alone.
///
///   Cost    a few small files for each node: at start, or when somebody asks for placed memory. Figures are of that moment. Libraries
///           are asked once in a process.
///   Tests   test/mem_offer_test.cpp
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mpt/core/types.hpp>

namespace mpt::inline v0::config {
class values;
}

namespace mpt::inline v0::mem {

/// A NUMA node that has memory.
struct node_offer {
    unsigned id = 0;
    std::uint64_t bytes = 0, free = 0; // free: or file cache that goes away when asked
    std::uint64_t bandwidth = 0;       // MB/s, read by its nearest CPUs; 0: firmware says nothing
    bool has_cpus = false;
    bool is_fast = false, is_far = false;
};

/// The system's pages of one size beyond the base page.
struct page_pool {
    std::uint64_t page = 0;            // bytes of a page
    std::uint64_t pages = 0, free = 0; // free: not promised to anybody either
    std::uint64_t may_grow = 0;        // pages that the system adds when asked (nr_overcommit_hugepages)
    std::uint64_t allowed = ~0ull;     // pages that the control groups leave to this process
    std::string allowed_by = {};       // the file that says so; empty: none limits it
    std::uint64_t available() const noexcept { return is_limited() ? allowed : free + may_grow; }
    /// By a control group, more than by what is free.
    bool is_limited() const noexcept { return allowed < free + may_grow; }
};

/// When the system makes a huge page by itself.
enum class transparent : std::uint8_t { never, when_advised, always };
std::string_view to_string(transparent t) noexcept;

struct offer {
    std::vector<node_offer> nodes; // by number; empty where the system does not say
    std::vector<page_pool> pools;  // by size
    transparent private_memory = transparent::never, shared_memory = transparent::never;
    std::uint64_t transparent_page = 0; // bytes; 0: there are none

    std::string kinds_by; // who says of which kind they are: sentences

    std::vector<unsigned> fast_nodes() const;
    std::vector<unsigned> far_nodes() const;
    /// Those that are neither; where there are none, those that are not far, or all.
    std::vector<unsigned> normal_nodes() const;
    /// Free bytes of these together.
    std::uint64_t free_on(std::span<unsigned const> nodes) const noexcept;
    /// nullptr: the machine knows no pages of this size.
    page_pool const* pool(std::uint64_t page) const noexcept;
};

/// "0-3,8": the way the kernel and memkind write nodes. `name`: who says so, for the message. Throws mpt::error(configuration).
std::vector<unsigned> read_nodes(std::string_view text, std::string_view name);

/// The numbers of nodes that somebody knows as fast, and as far.
struct node_kinds {
    std::vector<unsigned> fast, far;
};
/// By what they say of bandwidth and CPUs.
node_kinds kinds_by_bandwidth(std::span<node_offer const> nodes);
/// What a library that is loaded for it knows of these nodes; nothing: it is not installed here, or tells nothing.
std::optional<node_kinds> ask_memkind(std::span<node_offer const> nodes);
std::optional<node_kinds> ask_hwloc(std::span<node_offer const> nodes);
struct node_source {
    std::string_view name;
    std::optional<node_kinds> (*ask)(std::span<node_offer const> nodes);
};
/// Both, each asked once.
std::span<node_source const> node_sources() noexcept;

/// Of this machine. Throws mpt::error(configuration) for a variable that is no list of its nodes.
offer look_around();
/// The same by these variables' MPT_FAST_NODES and MPT_FAR_NODES, which MEMKIND_HBW_NODES and MEMKIND_DAX_KMEM_NODES are other names of.
offer look_around(config::values const& v);

/// Nodes that are named: as MEMKIND_HBW_NODES has them, or empty; `by`: who does so, for the message.
struct named_nodes {
    std::string_view nodes, by;
};
/// `root`: "" but where a test plants a tree of /sys. `sources`: who is asked of what is not named, before /sys.
offer look_around(named_nodes fast, named_nodes far, std::string const& root, std::span<node_source const> sources = {});
offer look_around(std::string_view fast_nodes, std::string const& root, std::string_view name = "MEMKIND_HBW_NODES");

/// A few lines for people, each with its end.
std::string describe(offer const& o);

} // namespace mpt::inline v0::mem
