/// mem/place - where a range of memory comes from: asked before anybody touches it, and looked up afterwards.
///
///        wish            affinity   system | ddr | mcdram | cxl      whose nodes; system: as the process has it (numactl, first touch)
///                        policy     preferred | mandatory | interleave
///                        page       4K; from 2M on huge pages        larger ones by alignment and several of the machine's
///        place(range, wish, offer) -> outcome                        what it has become, and a sentence where it lacks something
///        look_at(range)            -> standing                       what the kernel says of the pages that have been touched
///
///   affinity  policy       on a machine that has such memory                on one that has not, or too little
///   ddr       any          bound to nodes that are neither fast nor far     -
///   mcdram    preferred    fast nodes first, then the others                the others; outcome::lacks says so
///   mcdram    mandatory    bound to fast nodes                              mpt::error(no_memory): what was asked for, what there is,
///                                                                           what to change
///   mcdram    interleave   page by page over all fast nodes                 as preferred
///   cxl       any          the same of far nodes                            the same
///   Pages are advice: those that the system does not give are base pages, and outcome::lacks says so where that is known.
///
///   Shared     memory of a segment keeps its placement for all processes that touch it; huge pages each process asks for itself.
///   Untouched  placing touches nothing, so that the first touch still chooses among the nodes that are allowed.
///   Tests      test/mem_place_test.cpp    Source features of Cray MPI, CUG 2017 (MPICH_ALLOC_MEM_AFFINITY, _POLICY, _PG_SZ)
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mpt/core/types.hpp>
#include <mpt/mem/offer.hpp>

namespace mpt::inline v0::mem {

enum class affinity : std::uint8_t { system, ddr, mcdram, cxl };
enum class strictness : std::uint8_t { preferred, mandatory, interleave };
std::string_view to_string(affinity a) noexcept;
std::string_view to_string(strictness s) noexcept;

struct wish {
    affinity kind = affinity::system;
    strictness policy = strictness::preferred;
    bytes page = 4_KiB; // a power of two
    bool is_plain() const noexcept { return kind == affinity::system && page <= 4_KiB; }
};

/// Pages of a process's own, or of a segment.
enum class sharing : std::uint8_t { own, shared };

struct outcome {
    affinity kind = affinity::system;
    bytes page = 4_KiB;                   // what the system will try; what it did tells look_at()
    std::string lacks;                    // sentences; empty: as it was asked for
    std::string_view pages_from = "base"; // "base", "transparent", or "hugetlb": of the system's pool, and reserved
};

/// The range: whole base pages, mapped, untouched. Throws mpt::error(no_memory) where a mandatory kind is not there.
outcome place(std::span<std::byte> range, wish const& w, offer const& here, sharing how = sharing::shared);
/// The parts of it, for those who say in other words what is lacking. Nodes of a kind (mcdram or cxl) for the range, of which all who ask
/// want `in_all` bytes together: why it cannot have them, or empty.
std::string take_nodes(std::span<std::byte> range, affinity kind, strictness policy, std::uint64_t in_all, offer const& here);
/// Transparent huge pages: the size of those that the system will try.
bytes take_pages(std::span<std::byte> range, offer const& here, sharing how = sharing::shared) noexcept;
/// Back to what the process has: for memory that is used again. Pages that are there stay where they are.
void forget_place(std::span<std::byte> range) noexcept;

/// What stands behind a range in this process's view. Bytes.
struct standing {
    std::uint64_t touched = 0;                               // pages that this process has
    std::uint64_t huge = 0;                                  // of them, in huge pages of any sort
    std::vector<std::pair<unsigned, std::uint64_t>> by_node; // node, bytes; by number
    std::uint64_t on(unsigned node) const noexcept;
    standing& operator+=(standing const& other);
};
/// Asks the kernel (move_pages, smaps). Empty where it does not tell. A mapping that reaches beyond the range counts as huge with
/// no more than lies in it.
standing look_at(std::span<std::byte const> range);

} // namespace mpt::inline v0::mem
