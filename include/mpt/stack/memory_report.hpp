/// stack/memory_report - what memory a rank had, as MPT_MEMORY_REPORT prints it when the rank leaves.
///
///        mpt: memory of rank 2           then      at most      touched      in huge pages   by node
///          library                     1310720     1310720       462848                  0   0: 462848
///            control blocks              86016       86016
///            mailboxes                  409856      409856
///            buffers                    262144      262144
///            collectives                     0           0
///          program                           0     8388608            0                  0
///            allocated                       0           0
///            windows                         0     8388608
///            symmetric heap                  0           0
///          unexpected messages               0       65536
///
///        mpt: memory of 4 ranks, at most       least         rank         most         rank
///          mailboxes                          409856            0       409856            0
///          ...
///
///   library     committed bytes of the rank's slice, and below it what of them was handed out: control blocks and small objects,
///               mailboxes, buffers of messages, what ranks share for collectives
///   program     bytes of the slice, touched or not: MPI_Alloc_mem and environment::allocate, windows, the symmetric heap
///   unexpected  what messages that came too early took of the process's own memory, all lanes together
///   touched and what stands behind it, the kernel says (mem/place.hpp); huge pages are those of smaps. Of the program's memory it is the
///   moment when most of it was touched: of those when some was given back, and the end.
///
///   The second table is rank 0's, of those that left together: a rank that leaves without the others tells of itself alone.
///   Tests   test/stack_memory_report_test.cpp    Source features of Cray MPI (MPICH_MEMORY_REPORT: 1 the least and the most of all
///   ranks, 2 each rank's own, 3 both; MPICH_MEMORY_REPORT_FILE)
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <mpt/mem/arena.hpp>

namespace mpt::inline v0 {

struct memory_facts {
    rank who;
    mem::slice_heap::shares use;
    mem::slice_heap::standings stands;
    mem::slice_heap::share unexpected;
    std::string lacks; // sentences; empty: library memory is where it was asked to be
};
/// Lines, each with its end. Sizes are bytes.
std::string report(memory_facts const& f);

/// The most bytes that ranks had, by purpose, and of unexpected messages: who had least, and who most.
struct memory_marks {
    static constexpr std::size_t uses = mem::purposes + 1;
    struct extremes {
        std::uint64_t least = ~0ull, most = 0;
        rank who_least{}, who_most{};
    };
    std::array<extremes, uses> of{};
    std::int32_t ranks = 0;
    void add(rank who, std::array<std::uint64_t, uses> const& bytes) noexcept;
};
std::string report(memory_marks const& all);

/// Into a file with the rank behind its name, or to standard error where there is no name, or no such file can be made (which it says).
void tell_report(std::string const& text, rank who, std::string_view file);

} // namespace mpt::inline v0
