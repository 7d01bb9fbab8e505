/// mem/wishes - what the environment and a call's hints ask of memory, as wishes (mem/place.hpp).
///
///        MPT_ALLOC_MEM_AFFINITY, _POLICY, _PG_SZ    MPI_Alloc_mem, MPI_Win_allocate, MPI_Win_allocate_shared, environment::allocate
///        MPT_INTERNAL_MEM_AFFINITY                  mpt's own: mailboxes, buffers, what ranks share for collectives
///
///        hint              values (in either case)                     of this call alone
///        mpt_mem_affinity  SYS_DEFAULT, DDR or D, MCDRAM or M          instead of MPT_ALLOC_MEM_AFFINITY
///        mpt_mem_policy    Preferred or P, Mandatory or M, Interleave or I
///        mpt_mem_pg_sz     4K, 2M, 4M, ... 512M
///
///   MPI_Win_get_info says what a window has got by the first and the third of these names, and by mpt_mem_pages which sort of pages:
///   base, transparent, hugetlb.
///   A hint with another value is ignored, as MPI has it (MPI-4.1 section 10).
///   Tests   test/mem_wishes_test.cpp    Source features of Cray MPI, CUG 2017
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <mpt/config/config.hpp>
#include <mpt/mem/place.hpp>

namespace mpt::inline v0::mem {

/// For memory that the program allocates through mpt.
wish wish_for_allocations(config::values const& v);
/// For mpt's own. Its policy is always Preferred.
wish wish_for_internal(config::values const& v);

/// The value of a hint, or nothing.
using hint_source = std::function<std::optional<std::string>(std::string_view name)>;
/// `is`, but for what a call's hints say.
wish with_hints(wish is, hint_source const& hint);

/// As variables and hints mean it: the policy is MCDRAM's alone, and says nothing of other memory.
constexpr wish settled(wish w) noexcept {
    if (w.kind != affinity::mcdram) w.policy = strictness::preferred;
    return w;
}

} // namespace mpt::inline v0::mem
