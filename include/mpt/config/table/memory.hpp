/// config/table/memory - rows on where memory comes from, and its report.
#pragma once
#include <array>

#include <mpt/config/table/row.hpp>

namespace mpt::inline v0::config::detail {

consteval auto rows_of_memory() {
    using enum scope;
    // clang-format off
    return std::array{
        word  ("MPT_ALLOC_MEM_AFFINITY", "sys_default", "sys_default|ddr|mcdram|d|m", local,
            "nodes of memory that MPI_Alloc_mem and MPI_Win_allocate take; sys_default: as the process has it (numactl)",
            cray, {"MPICH_ALLOC_MEM_AFFINITY"}),
        word  ("MPT_ALLOC_MEM_POLICY", "preferred", "preferred|mandatory|interleave|p|m|i", local,
            "where they cannot have mcdram: preferred takes ddr, mandatory is an error; interleave: page by page over all "
            "such nodes",
            cray, {"MPICH_ALLOC_MEM_POLICY"}),
        word  ("MPT_ALLOC_MEM_PG_SZ", "4K", "4K|2M|4M|8M|16M|32M|64M|128M|256M|512M", local,
            "pages that they ask for; larger ones than the machine has by alignment and several pages",
            cray, {"MPICH_ALLOC_MEM_PG_SZ"}),
        word  ("MPT_INTERNAL_MEM_AFFINITY", "sys_default", "sys_default|ddr|mcdram|d|m", local,
            "nodes of memory for mailboxes, buffers and what ranks share for collectives",
            cray, {"MPICH_INTERNAL_MEM_AFFINITY"}),
        word  ("MPT_MEMORY_REPORT", "off", "off|on|0|1|2|3", local,
            "memory by use, at the end. 1: least and most of all ranks; 2: each rank's; 3, on: both; 0: off", quiet,
            {"MPICH_MEMORY_REPORT"}),
        text  ("MPT_MEMORY_REPORT_FILE", local,
            "each rank's goes into this file, with its rank behind the name", "standard error", {"MPICH_MEMORY_REPORT_FILE"}),
    };
    // clang-format on
}

} // namespace mpt::inline v0::config::detail
