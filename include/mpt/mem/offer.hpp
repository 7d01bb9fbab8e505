/// mem/offer - what memory this machine has: kinds, pages, and how much of each is free.
///
///        /sys/devices/system/node/node*      nodes, their free bytes and bandwidth  ->  which are ddr, which are mcdram
///        /sys/kernel/mm/hugepages/*          pools of huge pages                    ->  mem::hugepage, mptrun -m
///        hugetlb.*.max of the control groups  ->  how many of them are left to this process
///        /sys/kernel/mm/transparent_hugepage whether the system makes huge pages by itself
///
///   Fast nodes (mcdram: HBM, MCDRAM) are those that MEMKIND_HBW_NODES names, as memkind has it; else those whose bandwidth, as
///   firmware tells it, is twice the least or more. Machines whose memory is all alike have none.
///
///   Cost    a few small files for each node: at start, or when somebody asks for placed memory. Figures are of that moment.
///   Tests   test/mem_offer_test.cpp
#pragma once
#include <cstdint>
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
    bool is_fast = false;
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

    std::vector<unsigned> fast_nodes() const;
    /// The others; where all are fast, those.
    std::vector<unsigned> normal_nodes() const;
    /// Free bytes of all nodes of that sort.
    std::uint64_t free_bytes(bool fast) const noexcept;
    /// nullptr: the machine knows no pages of this size.
    page_pool const* pool(std::uint64_t page) const noexcept;
};

/// "0-3,8": the way the kernel and memkind write nodes. `name`: who says so, for the message. Throws mpt::error(configuration).
std::vector<unsigned> read_nodes(std::string_view text, std::string_view name);

/// Of this machine. Throws mpt::error(configuration) for a MEMKIND_HBW_NODES that is no list of its nodes.
offer look_around();
/// The same by these variables' MPT_FAST_NODES, which MEMKIND_HBW_NODES is another name of.
offer look_around(config::values const& v);
/// `fast_nodes`: as MEMKIND_HBW_NODES has them, or empty; `name`: who says so, for the message. `root`: "" but where a test plants a
/// tree of /sys.
offer look_around(std::string_view fast_nodes, std::string const& root, std::string_view name = "MEMKIND_HBW_NODES");

/// A few lines for people, each with its end.
std::string describe(offer const& o);

} // namespace mpt::inline v0::mem
