/// smp/layout - where things lie in a slice, and who writes them.
///
///        slice of rank r
///        +-- lane 0 ----------------------------------------+-- lane 1 ... --+-- extents made later ------------------+
///        | lane block | board | directory | tickets         |                | mailboxes         | loans              |
///        +--------------------------------------------------+----------------+----------------------------------------+
///          |            |       |           `- smp/joint: large messages that r offers; receiver and r write
///          |            |       `- u64 per sender: offset of its mailbox in this slice, 0: none yet; r writes
///          |            `- smp/board: u32 per sender, each written by its sender
///          `- doorbell (senders and r write), then words that never change
///
///        mailbox of sender s in the slice of r
///        +-----------------+-----------------+--------------------------------------+
///        | credit, lines   | turn lines      | ring: `lines` cells                  |
///        +-----------------+-----------------+--------------------------------------+
///          r writes          both, by turns;   s writes
///                            used where r < s
///
///   The receiver makes a mailbox, because who touches a page first decides where it lies. Where a node has few ranks, all are
///   made at birth and the first message waits for nothing; else at the sender's first knock on the board, and until then
///   reserve() says again.
///
///   Order    directory: sync smp.directory; everything in a mailbox is ready before its offset appears.
///   Memory   all of it zeroed extents of the owner's slice; a mailbox of 256 lines is 16.25 KiB.
///   Tests    test/transport_smp_layout_test.cpp
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <mpt/transport/smp/line.hpp>
#include <mpt/wait/doorbell.hpp>

namespace mpt::inline v0::smp {

/// What a peer must know of a lane before the first frame: published through the job. Offsets count from the slice's start.
struct lane_address {
    std::uint64_t block = 0;     // lane_block
    std::uint64_t board = 0;     // u32 per rank of the node
    std::uint64_t directory = 0; // u64 per rank of the node
    std::uint64_t tickets = 0;   // ticket per place of the table
    std::uint64_t here = 0;      // the virtual address of the lane block in its owner: what a CMA probe reads
};
static_assert(sizeof(lane_address) == 40);

template <class World> struct alignas(line_pair) lane_block {
    wait::doorbell<World> bell;
    /// Random; a probe that reads these words from the owner's memory has found the right process.
    alignas(cache_line) std::uint64_t nonce[2];
};

template <class Atomics = native_atomics> struct alignas(line_pair) mailbox {
    using word = typename Atomics::template atomic<std::uint32_t>;

    word consumed;       // the credit line: cells the owner has taken from the ring
    std::uint32_t lines; // cells of the ring, a power of two
    alignas(line_pair) std::array<std::byte, cache_line> before_turn; // a long frame on the turn line begins here
    line<Atomics> turn;
    alignas(line_pair) line<Atomics> ring[1]; // `lines` of them

    static constexpr std::size_t head_bytes = 2 * line_pair;
    static constexpr std::size_t bytes_for(std::uint32_t lines) noexcept {
        auto const n = head_bytes + std::size_t{lines} * cache_line;
        return (n + line_pair - 1) / line_pair * line_pair;
    }
    std::span<line<Atomics>> cells() noexcept { return {ring, lines}; }
    /// Prepares zeroed memory.
    static mailbox& make(std::span<std::byte> memory, std::uint32_t lines, std::uint32_t first) noexcept {
        auto& m = *reinterpret_cast<mailbox*>(memory.data());
        m.lines = lines;
        m.consumed.store(first, std::memory_order_relaxed); // order: the directory publishes the mailbox
        return m;
    }
};
static_assert(offsetof(mailbox<>, turn) == line_pair + cache_line && offsetof(mailbox<>, ring) == mailbox<>::head_bytes);

/// Offsets of mailboxes by sender. One writer, the owner of the slice.
template <class Atomics = native_atomics> struct directory_entry {
    typename Atomics::template atomic<std::uint64_t> offset;

    void publish(std::uint64_t where) noexcept {
        offset.store(where, std::memory_order_release); // sync(smp.directory): release
    }
    std::uint64_t look() const noexcept {
        return offset.load(std::memory_order_acquire); // sync(smp.directory): acquire
    }
};
static_assert(sizeof(directory_entry<>) == 8);

/// A slice as one process sees it. Every reference from outside is checked against its bounds.
struct slice_view {
    std::byte* base = nullptr;
    std::uint64_t size = 0;

    slice_view() = default;
    explicit slice_view(std::span<std::byte> s) noexcept : base{s.data()}, size{s.size()} {}

    bool holds(std::uint64_t offset, std::uint64_t n) const noexcept { return offset <= size && n <= size - offset; }
    std::byte* at(std::uint64_t offset) const noexcept { return base + offset; }
    template <class T> T* object(std::uint64_t offset, std::size_t n = 1) const noexcept {
        if (offset % alignof(T) != 0 || !holds(offset, n * sizeof(T))) return nullptr;
        return reinterpret_cast<T*>(base + offset);
    }
};

} // namespace mpt::inline v0::smp
