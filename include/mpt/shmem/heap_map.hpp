/// shmem/heap_map - what is taken and what is free in a PE's symmetric heap. OpenSHMEM-1.6 section 9.3.
///
///        PE 0   | A      | B |   free   | C  |       the same calls in the same order on every PE
///        PE 1   | A      | B |   free   | C  |       give the same offsets, so none has to be told
///
///   The lowest place that fits is taken. Nothing of the map lies in the heap: a program that writes beyond its block spoils its own
///   data, and PEs go on agreeing.
///
///   Cost     a walk over the free runs below the one that is taken.
///   Threads  one at a time, as the calls it serves are collective.
///   Tests    test/shmem_heap_map_test.cpp
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include <mpt/core/types.hpp>

namespace mpt::inline v0::shmem {

class heap_map {
    struct length {
        std::uint64_t bytes, asked; // taken, and of them asked for
    };
    std::uint64_t bytes_;
    std::map<std::uint64_t, std::uint64_t> free_; // offset -> size
    std::map<std::uint64_t, length> taken_;       // by offset

public:
    /// Blocks begin at multiples of it, and are as long as one.
    static constexpr std::uint64_t grain = cache_line;

    explicit heap_map(std::uint64_t bytes);

    /// The offset of n > 0 bytes at a multiple of align, a power of two, where the map's own begin is at `base`, a multiple of grain;
    /// nothing: there is no room.
    std::optional<std::uint64_t> take(std::uint64_t n, std::uint64_t align = grain, std::uint64_t base = 0);
    /// False: no block begins there.
    bool give(std::uint64_t offset);
    /// Another size in the same place. False: there is no room behind it.
    bool resize(std::uint64_t offset, std::uint64_t n);
    /// How long the block is that begins there; 0: none does.
    std::uint64_t size_of(std::uint64_t offset) const noexcept;
    struct asked_block {
        std::uint64_t at, bytes;
    };
    /// The block that a byte belongs to, with how many bytes were asked for; nothing: it is free.
    std::optional<asked_block> around(std::uint64_t offset) const noexcept;

    std::uint64_t bytes() const noexcept { return bytes_; }
    std::uint64_t used() const noexcept;
    std::uint64_t largest_free() const noexcept;

private:
    using run = std::map<std::uint64_t, std::uint64_t>::iterator;
    void cut(run from, std::uint64_t at, std::uint64_t n);
    void join(std::uint64_t at, std::uint64_t n);
};

} // namespace mpt::inline v0::shmem
