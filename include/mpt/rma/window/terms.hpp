/// rma/window/terms - what a window is made of, and what its operations and synchronisations are asked for.
///
///        wanted ---> make_window() ---> part            own_source, own_sink <--- operation ---> target_place
///
///   Source   MPI-4.1 sections 12.2, 12.3 and 12.5.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <mpt/datatype/datatype.hpp>
#include <mpt/mem/place.hpp>

namespace mpt::inline v0::rma {

/// How a window came by its memory.
enum class flavor : std::uint8_t { create, allocate, dynamic, shared };

/// What the program promises to a synchronisation. MPI-4.1 section 12.5.5.
struct promises {
    bool no_check = false, no_store = false, no_put = false, no_precede = false, no_succeed = false;
};

/// Data of this rank: elements of any layout, to be read or to be written. The type outlives the call alone.
struct own_source {
    void const* address;
    std::int64_t count;
    datatype const& type;
};
struct own_sink {
    void* address;
    std::int64_t count;
    datatype const& type;
};
/// Data of a target's part: `displacement` counts the target's units; in a dynamic window it is an address there.
struct target_place {
    rank target; // of the window's group
    std::int64_t displacement;
    std::int64_t count;
    datatype const& type;
};

/// A rank's part of a window.
struct part {
    std::byte* base = nullptr; // here; null where this rank does not map it
    std::uint64_t size = 0;
    std::int64_t unit = 1;
};

/// What make_window() is to make.
struct wanted {
    flavor how = flavor::allocate;
    std::span<std::byte> memory{}; // create: the user's
    std::uint64_t size = 0;        // allocate, shared: how much of it
    std::int64_t unit = 1;
    bool contiguous = true;    // shared: each rank's part follows that of the rank before
    std::size_t alignment = 1; // allocate, shared: of the beginning of what a rank allocates, a power of two
    bool rows_locked = false;  // accumulates are of rows rather than of single elements; it counts where all ranks say so
    // Bytes of rows that a rank changes by elements before one of its threads takes a target's part to itself, four times as many each
    // time that it is taken back. origin: bench/peers/rma_bench.c, accumulate: 16 KiB by elements cost what two changes of the owner do
    std::uint64_t patience = 16 << 10;
    // How often who asks a waiting thread of a target for something small looks for its answer. Where CPUs are scarce none is asked.
    std::optional<std::uint32_t> looks{};
    std::optional<mem::wish> place{}; // allocate, shared: where memory comes from; else as the environment has it
};

} // namespace mpt::inline v0::rma
