// Moving packed bytes to and from where the steps of a datatype say.
#include <algorithm>
#include <type_traits>

#include <mpt/core/cursor.hpp>
#include <mpt/datatype/layout.hpp>

namespace mpt::inline v0::detail {

namespace {
/// Memory is an address, not a pointer: displacements may be addresses themselves, and lead outside what is pointed to.
constexpr std::uintptr_t moved(std::uintptr_t memory, std::int64_t by) noexcept {
    return memory + static_cast<std::uintptr_t>(by);
}

struct pack {
    using packed = std::byte*;
    static void copy(std::uintptr_t memory, packed p, std::int64_t n) noexcept {
        copy_bytes(p, reinterpret_cast<std::byte const*>(memory), static_cast<std::size_t>(n));
    }
    template <std::size_t Length> static void copy(std::uintptr_t memory, packed p) noexcept {
        __builtin_memcpy(p, reinterpret_cast<std::byte const*>(memory), Length);
    }
};
struct unpack {
    using packed = std::byte const*;
    static void copy(std::uintptr_t memory, packed p, std::int64_t n) noexcept {
        copy_bytes(reinterpret_cast<std::byte*>(memory), p, static_cast<std::size_t>(n));
    }
    template <std::size_t Length> static void copy(std::uintptr_t memory, packed p) noexcept {
        __builtin_memcpy(reinterpret_cast<std::byte*>(memory), p, Length);
    }
};

template <std::size_t Length> using length_constant = std::integral_constant<std::size_t, Length>;

/// Calls move(length_constant) for the lengths that deserve a loop of their own, and general() for the others. Inlined into the two
/// that use it: as a function of its own it gets what they capture through memory, which costs more than a dozen blocks.
template <class Move, class General>
[[gnu::always_inline]] inline void by_length(std::int64_t length, Move move, General general) noexcept {
    switch (length) {
    case 1: return move(length_constant<1>{});
    case 2: return move(length_constant<2>{});
    case 4: return move(length_constant<4>{});
    case 8: return move(length_constant<8>{});
    case 12: return move(length_constant<12>{});
    case 16: return move(length_constant<16>{});
    case 24: return move(length_constant<24>{});
    case 32: return move(length_constant<32>{});
    case 40: return move(length_constant<40>{});
    case 48: return move(length_constant<48>{});
    case 56: return move(length_constant<56>{});
    case 64: return move(length_constant<64>{});
    default: return general();
    }
}

/// Blocks of one length, regular on both sides. Four at a time, each of which has a place of its own that goes on: one place that
/// goes from block to block would let each copy wait for the addition before it.
template <class Way, std::size_t Length> void regular_fixed(std::uintptr_t memory, std::int64_t stride, typename Way::packed p,
                                                            std::int64_t packed_stride, std::int64_t count) noexcept {
    auto second = moved(memory, stride), third = moved(second, stride), fourth = moved(third, stride);
    auto const further = moved(fourth, stride) - memory;
    for (; count >= 4; count -= 4, p += 4 * packed_stride) {
        Way::template copy<Length>(memory, p);
        Way::template copy<Length>(second, p + packed_stride);
        Way::template copy<Length>(third, p + 2 * packed_stride);
        Way::template copy<Length>(fourth, p + 3 * packed_stride);
        memory += further, second += further, third += further, fourth += further;
    }
    for (; count > 0; --count, memory = moved(memory, stride), p += packed_stride) Way::template copy<Length>(memory, p);
}
template <class Way> [[gnu::noinline]] void regular(std::uintptr_t memory, std::int64_t stride, typename Way::packed p,
                                                    std::int64_t packed_stride, std::int64_t length,
                                                    std::int64_t count) noexcept {
    auto const fixed = [&]<std::size_t Length>(length_constant<Length>) {
        regular_fixed<Way, Length>(memory, stride, p, packed_stride, count);
    };
    by_length(length, fixed, [&] {
        for (; count > 0; --count, memory = moved(memory, stride), p += packed_stride) Way::copy(memory, p, length);
    });
}

/// Blocks of one length, side by side in the packed data.
template <class Way, std::size_t Length>
void listed_fixed(std::uintptr_t memory, block const* b, typename Way::packed p, std::int64_t count) noexcept {
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i)
        Way::template copy<Length>(moved(memory, b[i].at), p + i * static_cast<std::int64_t>(Length));
}
template <class Way> [[gnu::noinline]] void listed(std::uintptr_t memory, block const* b, typename Way::packed p,
                                                   std::int64_t length, std::int64_t count) noexcept {
    auto const fixed = [&]<std::size_t Length>(length_constant<Length>) { listed_fixed<Way, Length>(memory, b, p, count); };
    by_length(length, fixed, [&] {
        for (; count > 0; --count, ++b, p += length) Way::copy(moved(memory, b->at), p, length);
    });
}

/// Cuts n bytes from `offset` on of `all` things that have `unit` bytes each: part(i, from, packed, bytes) for what is not whole,
/// whole(i, packed, count) for what is.
template <class Packed, class Part, class Whole>
void cut(std::int64_t unit, std::int64_t all, std::int64_t offset, std::int64_t n, Packed p, Part part, Whole whole) noexcept {
    if (n == unit * all) return whole(0, p, all);
    std::int64_t i = 0;
    if (offset != 0) {
        i = offset / unit;
        if (auto const from = offset % unit; from != 0) {
            auto const head = std::min(unit - from, n);
            part(i++, from, p, head);
            p += head, n -= head;
        }
    }
    if (n == 0) return;
    auto const count = n / unit, rest = n - count * unit;
    if (count > 0) whole(i, p, count);
    if (rest > 0) part(i + count, 0, p + count * unit, rest);
}

template <class Way> class mover {
    using packed = typename Way::packed;

public:
    /// The n packed bytes from `offset` on, of the step at `memory`.
    static void move(step const& s, std::uintptr_t memory, packed p, std::int64_t offset, std::int64_t n) noexcept {
        memory = moved(memory, s.at);
        switch (s.shape) {
        case step::form::run: return Way::copy(moved(memory, offset), p, n);
        case step::form::strided: return strided(s, memory, p, offset, n);
        case step::form::blocks: return s.length != 0 ? blocks_alike(s, memory, p, offset, n) : blocks(s, memory, p, offset, n);
        case step::form::loop: return loop(s, memory, p, offset, n);
        case step::form::sequence: return sequence(s, memory, p, offset, n);
        }
    }

private:
    static void strided(step const& s, std::uintptr_t memory, packed p, std::int64_t offset, std::int64_t n) noexcept {
        cut(
            s.length, s.count, offset, n, p,
            [&](std::int64_t i, std::int64_t from, packed q, std::int64_t k) {
                Way::copy(moved(memory, i * s.stride + from), q, k);
            },
            [&](std::int64_t i, packed q, std::int64_t count) {
                regular<Way>(moved(memory, i * s.stride), s.stride, q, s.length, s.length, count);
            });
    }

    static void blocks_alike(step const& s, std::uintptr_t memory, packed p, std::int64_t offset, std::int64_t n) noexcept {
        cut(
            s.length, s.count, offset, n, p,
            [&](std::int64_t i, std::int64_t from, packed q, std::int64_t k) {
                Way::copy(moved(memory, s.blocks[i].at + from), q, k);
            },
            [&](std::int64_t first, packed q, std::int64_t count) {
                listed<Way>(memory, s.blocks + first, q, s.length, count);
            });
    }

    static std::int64_t end_of(step const& s, std::int64_t i) noexcept {
        return i + 1 < s.count ? s.blocks[i + 1].start : s.size;
    }
    static std::int64_t place_of(step const& s, std::int64_t offset) noexcept {
        if (offset == 0) return 0;
        auto const after = [](std::int64_t o, block const& b) { return o < b.start; };
        return std::upper_bound(s.blocks, s.blocks + s.count, offset, after) - s.blocks - 1;
    }
    /// Calls each(i, from, packed, bytes) for what the n bytes touch.
    template <class Each> static void along(step const& s, packed p, std::int64_t offset, std::int64_t n, Each each) noexcept {
        for (auto i = n > 0 ? place_of(s, offset) : 0; n > 0; ++i) {
            auto const k = std::min(end_of(s, i) - offset, n);
            each(i, offset - s.blocks[i].start, p, k);
            p += k, n -= k, offset += k;
        }
    }
    static void blocks(step const& s, std::uintptr_t memory, packed p, std::int64_t offset, std::int64_t n) noexcept {
        along(s, p, offset, n, [&](std::int64_t i, std::int64_t from, packed q, std::int64_t k) {
            Way::copy(moved(memory, s.blocks[i].at + from), q, k);
        });
    }
    static void sequence(step const& s, std::uintptr_t memory, packed p, std::int64_t offset, std::int64_t n) noexcept {
        along(s, p, offset, n,
              [&](std::int64_t i, std::int64_t from, packed q, std::int64_t k) { move(s.child[i], memory, q, from, k); });
    }

    /// Records of a few blocks are moved block by block, so many bytes or records at once as stay in the cache meanwhile.
    static constexpr std::int64_t tile_bytes = 4096, least_tile = 64, most_tile = 256, few = 8;

    static void loop(step const& s, std::uintptr_t memory, packed p, std::int64_t offset, std::int64_t n) noexcept {
        auto const& child = *s.child;
        cut(
            s.length, s.count, offset, n, p,
            [&](std::int64_t i, std::int64_t from, packed q, std::int64_t k) {
                move(child, moved(memory, i * s.stride), q, from, k);
            },
            [&](std::int64_t i, packed q, std::int64_t count) {
                if (child.shape == step::form::blocks && child.count <= few) return records(s, memory, i, q, count);
                if (child.shape == step::form::strided) return rows(s, memory, i, q, count);
                for (auto const end = i + count; i < end; ++i, q += s.length)
                    move(child, moved(memory, i * s.stride), q, 0, s.length);
            });
    }
    static void rows(step const& s, std::uintptr_t memory, std::int64_t i, packed p, std::int64_t count) noexcept {
        auto const& c = *s.child;
        for (auto const end = i + count; i < end; ++i, p += s.length)
            regular<Way>(moved(memory, i * s.stride + c.at), c.stride, p, c.length, c.length, c.count);
    }
    static void records(step const& s, std::uintptr_t memory, std::int64_t i, packed p, std::int64_t count) noexcept {
        auto const& c = *s.child;
        auto const tile = count <= least_tile ? least_tile : std::clamp(tile_bytes / s.length, least_tile, most_tile);
        for (; count > 0; i += tile, p += tile * s.length, count -= tile) {
            auto const here = moved(memory, i * s.stride + c.at);
            for (std::int64_t b = 0; b < c.count; ++b)
                regular<Way>(moved(here, c.blocks[b].at), s.stride, p + c.blocks[b].start, s.length,
                             end_of(c, b) - c.blocks[b].start, std::min(tile, count));
        }
    }
};
} // namespace

void gather(step const& s, std::uintptr_t memory, std::int64_t offset, std::span<std::byte> into) noexcept {
    mover<pack>::move(s, memory, into.data(), offset, static_cast<std::int64_t>(into.size()));
}
void scatter(step const& s, std::uintptr_t memory, std::int64_t offset, std::span<std::byte const> from) noexcept {
    mover<unpack>::move(s, memory, from.data(), offset, static_cast<std::int64_t>(from.size()));
}

} // namespace mpt::inline v0::detail
