/// shmem/segments - where the variables with static storage of a program lie: the writable segments of its executable and libraries.
///
///        executable       [ .data .bss ]        the same files are loaded by every PE, in the same order, at other addresses:
///        libfoo.so        [ .data .bss ]        segment k of one PE is segment k of another, byte by byte
///
///   What a library that is loaded later brings is not symmetric. Segments are as they are mapped: what the linker makes read-only
///   after relocation is among them, and nobody's variable.
///
///   Tests    test/shmem_segments_test.cpp    Source OpenSHMEM-1.6 section 4 (static variables are symmetric)
#pragma once
#include <cstdint>
#include <vector>

#include <mpt/core/types.hpp>

namespace mpt::inline v0::shmem {

struct segment {
    std::uint64_t at = 0, bytes = 0;
    std::uint64_t object = 0; // hash of its file's name
};

/// Those of this process, in the order of loading.
std::vector<segment> writable_segments();

/// The segment of an address, by its place in the list; its size when there is none.
std::size_t segment_of(std::vector<segment> const& all, std::uint64_t address) noexcept;

} // namespace mpt::inline v0::shmem
