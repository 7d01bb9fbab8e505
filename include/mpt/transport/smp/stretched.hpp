/// smp/stretched - a frame that is longer than a cache line, in several cells of a ring.
///
///        sender     the cells behind the first, then the first, whose number publishes them all
///        receiver   | 52 | 56 | 56 | ..     copy(): each piece from where it lies to where it belongs
///
///   Why it is faster than a loan: these are lines that the receiver comes to anyway, so that they are on their way before it asks. A loan
///   is an envelope, and behind it memory that the receiver cannot ask for before it has read that; then the word that gives it back.
///
///   Order    sync smp.frame of the first cell: what is written to the others comes before. They are written again when the reader has
///            given them back, as all cells are (sync smp.credit).
///   Cost     a frame's, and of each further cell one line transfer and a copy of 56 bytes.
///   Limit    most_cells, where so many are free.
///   Tests    test/transport_smp_stretched_test.cpp, test/model/ring_model_test.cpp
#pragma once
#include <algorithm>

#include <mpt/transport/smp/channel.hpp>
#include <mpt/transport/transport.hpp>

namespace mpt::inline v0::smp {

/// origin: windows of 64, two cores of an AMD EPYC, long frames in place of loans, 24 runs in turn: 256 B 1.2 times the bandwidth, 512 B 1.03,
/// 1 KiB 0.86, 2 KiB 0.89
inline constexpr std::uint32_t most_cells = 5;
inline constexpr std::size_t stretch_room = line_room + (most_cells - 1) * next_room;

/// How many cells a frame of n > line_room bytes takes.
constexpr std::uint32_t cells_for(std::size_t n) noexcept {
    return 1 + static_cast<std::uint32_t>((n - line_room + next_room - 1) / next_room);
}

/// Calls move(offset, bytes of a cell) for the pieces of a payload of n > line_room bytes. All but the last one have a size that the
/// compiler knows.
template <class Cells, class Move>
[[gnu::always_inline]] inline void along_cells(Cells const& cells, std::size_t n, Move&& move) noexcept {
    move(0, std::span<std::byte, line_room>{cells[0].payload});
    std::size_t at = line_room;
    std::uint32_t i = 1;
    for (; at + next_room <= n; at += next_room)
        move(at, std::span<std::byte, next_room>{cells[i++].next_payload(), next_room});
    if (at != n) move(at, std::span{cells[i].next_payload(), n - at});
}

/// Such a frame, as its reader sees it: transport_stretching. In two registers, so that small frames' way is not changed by it.
template <class Atomics = native_atomics> struct stretched {
    static constexpr std::size_t most = stretch_room;
    ring_reader<Atomics> const* ring = nullptr; // at its front
    rank from{};
    std::uint16_t op{};
    std::uint16_t size = 0; // of the payload

    std::span<std::byte const> front() const noexcept { return ring->front().payload; }
    /// The first n bytes of the payload behind its first Skip ones.
    template <std::size_t Skip> void copy(std::byte* into, std::size_t n) const noexcept {
        auto const cells = ring->cells();
        constexpr auto first = line_room - Skip;
        if (n <= first) [[unlikely]]
            return copy_bytes(into, cells[0].payload.data() + Skip, n);
        std::memcpy(into, cells[0].payload.data() + Skip, first);
        std::size_t at = first;
        std::uint32_t i = 1;
        for (; at + next_room <= n; at += next_room) std::memcpy(into + at, cells[i++].next_payload(), next_room);
        copy_small(into + at, cells[i].next_payload(), n - at);
    }
};
static_assert(sizeof(stretched<>) == 16);

/// Shows a channel's next frame, of whatever length, to sink(frame, size): its front, and how long it is. It stays where it is.
template <class Channel, class Sink> sight show_front(Channel& c, rank from, look how, Sink&& sink) noexcept {
    auto seen = sight::nothing;
    auto const show = [&](auto& l) {
        std::size_t n = l.size;
        std::span<std::byte const> front{l.payload.data(), std::min(n, line_room)};
        if (n > line_room) [[unlikely]] {
            auto const bytes = n - in_cells; // where it is in cells
            bool const is_in_cells = bytes > line_room && bytes <= stretch_room && &l == &c.in().front();
            if (!is_in_cells && n > pair_room) return static_cast<void>(seen = sight::unsure); // padding
            if (is_in_cells) n = bytes;
            else front = {l.long_front(), n};
        }
        seen = sight::frame;
        sink(frame{from, l.op, front}, n);
    };
    c.peek(show, how);
    return seen;
}

} // namespace mpt::inline v0::smp
