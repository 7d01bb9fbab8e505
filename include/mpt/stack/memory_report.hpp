/// stack/memory_report - what memory a rank had, as MPT_MEMORY_REPORT prints it when the rank leaves.
///
///        mpt: memory of rank 2           then      at most      touched      in huge pages   by node
///          library                     1310720     1310720       462848                  0   0: 462848
///          program                           0     8388608            0                  0
///          unexpected messages               0       65536
///
///   library     mailboxes, buffers, control blocks and what ranks share for collectives: committed bytes of the rank's slice
///   program     windows, MPI_Alloc_mem, environment::allocate, the symmetric heap: bytes of the slice, touched or not
///   unexpected  what messages that came too early took of the process's own memory, all lanes together
///   touched and what stands behind it, the kernel says (mem/place.hpp); huge pages are those of smaps.
///
///   Tests   test/stack_memory_report_test.cpp
#pragma once
#include <cstdint>
#include <string>

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

} // namespace mpt::inline v0
