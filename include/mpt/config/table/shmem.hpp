/// config/table/shmem - rows on OpenSHMEM.
#pragma once
#include <array>

#include <mpt/config/table/row.hpp>

namespace mpt::inline v0::config::detail {

consteval auto rows_of_shmem() {
    using enum scope;
    constexpr std::string_view another = "another partition of the symmetric heap, for shmem_kind_malloc";
    // clang-format off
    return std::array{
        size  ("MPT_SYMMETRIC_SIZE", 0_B, 0_B, 65536_GiB, local,
            "bytes of a PE's symmetric heap (OpenSHMEM); the least of all PEs' counts; 0: by what fits", "what fits",
            {"SHMEM_SYMMETRIC_SIZE"}),
        text  ("MPT_SYMMETRIC_PARTITION1", local,
            "the partition that shmem_malloc takes from, as size=2G:pgsize=2M:kind=FASTMEM:policy=MANDATORY; size must be "
            "there",
            "MPT_SYMMETRIC_SIZE", {"SHMEM_SYMMETRIC_PARTITION1"}),
        text  ("MPT_SYMMETRIC_PARTITION2", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION2"}),
        text  ("MPT_SYMMETRIC_PARTITION3", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION3"}),
        text  ("MPT_SYMMETRIC_PARTITION4", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION4"}),
        text  ("MPT_SYMMETRIC_PARTITION5", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION5"}),
        text  ("MPT_SYMMETRIC_PARTITION6", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION6"}),
        text  ("MPT_SYMMETRIC_PARTITION7", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION7"}),
        text  ("MPT_SYMMETRIC_PARTITION8", local, another, "none", {"SHMEM_SYMMETRIC_PARTITION8"}),
        text  ("MPT_FAST_NODES", local,
            "nodes of memory that count as fast (MCDRAM, FASTMEM), as 1 or 0,2-3",
            "what memkind, hwloc or /sys says", {"MEMKIND_HBW_NODES"}),
        text  ("MPT_FAR_NODES", local,
            "nodes of memory that count as far (behind CXL, persistent memory), as 2 or 2-3",
            "what memkind, hwloc or /sys says", {"MEMKIND_DAX_KMEM_NODES"}),
        count ("MPT_CONTEXTS", 1024, 0, 1'000'000, local,
            "contexts of OpenSHMEM that a PE may have at once, beside the default one, however many PEs there are", guess,
            {"SHMEM_MAX_CTX"}),
        count ("MPT_REGISTERED_THREADS", 1024, 0, 1'000'000, local,
            "threads of a PE that may be registered at once (shmemx_thread_register)", guess, {"SHMEM_MAX_THREADS"}),
        toggle("MPT_TEAM_NODE", state::on, job,
            "reductions of OpenSHMEM, of teams and of active sets, go through memory that PEs share; off: by messages, "
            "as MPT_ALLREDUCE_SHORT and MPT_ALLREDUCE_HALVES say",
            guess, {"SHMEM_TEAM_SMP_REDUCE"}),
        size  ("MPT_SHARE_STATIC", 64_MiB, 0_B, 1024_GiB, local,
            "longest static variables of a program that other PEs map; of longer ones the kernel copies, or the PE's agent", guess),
        toggle("MPT_PUT_EARLY", state::on, local,
            "a put of OpenSHMEM that the PE's agent does returns before it is done there", guess, {"SHMEM_DMAPP_PUT_NBI"}),
    };
    // clang-format on
}

} // namespace mpt::inline v0::config::detail
