/// smp/line - one frame in one cache line: data, envelope and flag move between two cores together.
///
///        0                                                   52     54   56         64
///        +---------------------------------------------------+------+----+----------+
///        |  payload (a protocol's header of 12 + 40 of data)  | size | op |  number  |
///        +---------------------------------------------------+------+----+----------+
///                                                                          `--- stored last, with release
///
///   `number` is the flag. It counts the frames of one direction of one pair, turn line and ring together, and its low bit says
///   which direction: a reader knows the one number that comes next and compares a line with it. So one comparison answers
///   "is there a frame", "is it the next one" and "is it not my own". 64 bits never come round: a line that nobody has written
///   for 2^32 frames (the ring, while all goes over the turn line) cannot be taken for a new one.
///
///   A long frame on the turn line begins in the line before and goes on here, in one piece: both lines come with one flag. One in a
///   ring goes on in the cells behind this one:
///
///        this cell                               | the next one                           | ...
///        | payload, 52 bytes | size | op | number | payload, 56 bytes              | old   |   "old": of a frame that lay here a lap
///                                           `---------------------------------------------  ago, or 0; never one that is waited for
///
///   Wire     64 bytes, pinned below.
///   Order    number: sync smp.frame, from the writer to the reader.
///   Memory   zeroed memory is a line that holds nothing: numbers start above 1.
///   Tests    test/transport_smp_line_test.cpp
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <mpt/core/atomics.hpp>
#include <mpt/core/cursor.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0::smp {

inline constexpr std::size_t line_room = 52;
inline constexpr std::size_t pair_room = cache_line + line_room; // of a long frame on the turn line
/// Of a cell behind the first one of a long frame.
inline constexpr std::size_t next_room = 56;
/// The size of a frame that carries nothing: a cell that was reserved and abandoned. The reader passes over it.
inline constexpr std::uint16_t padding_size = 0xffff;
/// Beside the size of a frame in several cells of a ring.
inline constexpr std::uint16_t in_cells = 0x2000;

template <class Atomics = native_atomics> struct alignas(cache_line) line {
    std::array<std::byte, line_room> payload;
    std::uint16_t size;
    std::uint16_t op;
    typename Atomics::template atomic<std::uint64_t> number;

    bool holds(std::uint64_t expected) const noexcept {
        return number.load(std::memory_order_acquire) == expected; // sync(smp.frame): acquire
    }
    /// The same, and the line comes to this core as its own: whoever asks is the next to write it. Number stays what it is.
    bool takes_over(std::uint64_t expected) noexcept {
        auto seen = expected;
        return number.compare_exchange_strong(seen, expected, std::memory_order_acquire); // sync(smp.frame): acquire
    }
    /// Where a frame of more than line_room bytes begins. Only where the line before belongs to this one (smp/layout: turn).
    std::byte* long_front() noexcept { return reinterpret_cast<std::byte*>(this) - cache_line; }
    /// The payload of a cell behind the first one of a long frame: next_room bytes.
    std::byte* next_payload() noexcept { return reinterpret_cast<std::byte*>(this); }
    std::byte const* next_payload() const noexcept { return reinterpret_cast<std::byte const*>(this); }
    void publish(std::uint16_t frame_size, std::uint16_t frame_op, std::uint64_t n) noexcept {
        size = frame_size;
        op = frame_op;
        number.store(n, std::memory_order_release); // sync(smp.frame): release
    }
};
static_assert(sizeof(line<>) == cache_line && offsetof(line<>, size) == line_room && offsetof(line<>, number) == next_room);
static_assert(native_atomics::atomic<std::uint64_t>::is_always_lock_free);

/// Frames of the pair's higher rank have odd numbers, of the lower rank even ones.
enum class direction : std::uint32_t { from_lower = 0, from_higher = 1 };

/// The number of the first frame when `before` frames are said to have gone already (0; in tests, a count about to wrap).
constexpr std::uint64_t first_number(direction d, std::uint64_t before) noexcept {
    return (before + 1) * 2 + static_cast<std::uint64_t>(d);
}
inline constexpr std::uint64_t number_step = 2;

/// The counter of a number, as the board shows it.
constexpr std::uint32_t count_of(std::uint64_t number) noexcept { return static_cast<std::uint32_t>(number / number_step); }

} // namespace mpt::inline v0::smp
