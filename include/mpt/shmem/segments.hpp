/// shmem/segments - where the variables with static storage of a program lie: the segments of its executable and libraries that hold
/// data.
///
///        executable       [ .data .bss ] [ .rodata ]        the same files are loaded by every PE, in the same order, at other
///        libfoo.so        [ .data .bss ] [ .rodata ]        addresses: segment k of one PE is segment k of another, byte by byte
///
///   Programs of several files in one job: static data of a library that all of them load are symmetric, where it has the same place
///   among the libraries; those of the programs are not.
///
///   Constants (C's static const) may be read of any PE, as other static data may, and written by none. Where the linker puts them
///   beside the code, they are not found. What a library that is loaded later brings is not symmetric. Segments are as they are mapped:
///   what the linker makes read-only after relocation is among the writable ones, and nobody's variable.
///
///   Tests    test/shmem_segments_test.cpp    Source OpenSHMEM-1.6 section 4 (static variables are symmetric)
#pragma once
#include <cstdint>
#include <vector>

#include <mpt/core/types.hpp>

namespace mpt::inline v0::shmem {

struct segment {
    std::uint64_t at = 0, bytes = 0;
    std::uint64_t object = 0;   // of its file: a hash of the library's name, or of what tells the program from others
    std::uint64_t constant = 0; // not 0: read-only; a whole word, for it is sent
    bool is_constant() const noexcept { return constant != 0; }
};

/// Those of this process, in the order of loading, each file's writable one first.
std::vector<segment> data_segments();

/// The segment of an address, by its place in the list; its size when there is none.
std::size_t segment_of(std::vector<segment> const& all, std::uint64_t address) noexcept;

} // namespace mpt::inline v0::shmem
