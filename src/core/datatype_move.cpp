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

template <std::size_t Bytes> using bytes_constant = std::integral_constant<std::size_t, Bytes>;

/// Calls exact(bytes_constant) for the lengths that deserve a loop of their own, ends(bytes_constant) with the longest word that
/// other blocks of up to 64 bytes have room for, and general() for longer ones. Inlined into the two that use it: as a function of
/// its own it gets what they capture through memory, which costs more than a dozen blocks.
template <class Exact, class Ends, class General>
[[gnu::always_inline]] inline void by_length(std::int64_t length, Exact exact, Ends ends, General general) noexcept {
    switch (length) {
    case 1: return exact(bytes_constant<1>{});
    case 2: return exact(bytes_constant<2>{});
    case 4: return exact(bytes_constant<4>{});
    case 8: return exact(bytes_constant<8>{});
    case 12: return exact(bytes_constant<12>{});
    case 16: return exact(bytes_constant<16>{});
    case 24: return exact(bytes_constant<24>{});
    case 32: return exact(bytes_constant<32>{});
    case 40: return exact(bytes_constant<40>{});
    case 48: return exact(bytes_constant<48>{});
    case 56: return exact(bytes_constant<56>{});
    case 64: return exact(bytes_constant<64>{});
    default: break;
    }
    if (length < 4) return ends(bytes_constant<2>{});
    if (length < 8) return ends(bytes_constant<4>{});
    if (length < 16) return ends(bytes_constant<8>{});
    if (length < 32) return ends(bytes_constant<16>{});
    if (length < 64) return ends(bytes_constant<32>{});
    general();
}

/// A block of a length that is known here.
template <class Way, std::size_t Length> struct fixed {
    static void copy(std::uintptr_t memory, typename Way::packed p) noexcept { Way::template copy<Length>(memory, p); }
};
/// A block of one to two words: its first and its last one, which may overlap.
template <class Way, std::size_t Word> struct two_words {
    std::int64_t last; // where the last one begins

    void copy(std::uintptr_t memory, typename Way::packed p) const noexcept {
        Way::template copy<Word>(memory, p);
        Way::template copy<Word>(moved(memory, last), p + last);
    }
};

/// Blocks of one length, regular on both sides. Four at a time, each of which has a place of its own that goes on: one place that
/// goes from block to block would let each copy wait for the addition before it.
template <class Block, class Packed> void regular_blocks(Block one, std::uintptr_t memory, std::int64_t stride, Packed p,
                                                         std::int64_t packed_stride, std::int64_t count) noexcept {
    auto second = moved(memory, stride), third = moved(second, stride), fourth = moved(third, stride);
    auto const further = moved(fourth, stride) - memory;
    for (; count >= 4; count -= 4, p += 4 * packed_stride) {
        one.copy(memory, p);
        one.copy(second, p + packed_stride);
        one.copy(third, p + 2 * packed_stride);
        one.copy(fourth, p + 3 * packed_stride);
        memory += further, second += further, third += further, fourth += further;
    }
    for (; count > 0; --count, memory = moved(memory, stride), p += packed_stride) one.copy(memory, p);
}
template <class Way> [[gnu::noinline]] void regular(std::uintptr_t memory, std::int64_t stride, typename Way::packed p,
                                                    std::int64_t packed_stride, std::int64_t length,
                                                    std::int64_t count) noexcept {
    auto const exact = [&]<std::size_t Length>(bytes_constant<Length>) {
        regular_blocks(fixed<Way, Length>{}, memory, stride, p, packed_stride, count);
    };
    auto const ends = [&]<std::size_t Word>(bytes_constant<Word>) {
        regular_blocks(two_words<Way, Word>{length - static_cast<std::int64_t>(Word)}, memory, stride, p, packed_stride, count);
    };
    by_length(length, exact, ends, [&] {
        for (; count > 0; --count, memory = moved(memory, stride), p += packed_stride) Way::copy(memory, p, length);
    });
}

/// Blocks of one length, side by side in the packed data.
template <class Block, class Packed> void listed_blocks(Block one, std::uintptr_t memory, block const* b, Packed p,
                                                        std::int64_t length, std::int64_t count) noexcept {
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < count; ++i) one.copy(moved(memory, b[i].at), p + i * length);
}
template <class Way> [[gnu::noinline]] void listed(std::uintptr_t memory, block const* b, typename Way::packed p,
                                                   std::int64_t length, std::int64_t count) noexcept {
    auto const exact = [&]<std::size_t Length>(bytes_constant<Length>) {
        listed_blocks(fixed<Way, Length>{}, memory, b, p, static_cast<std::int64_t>(Length), count);
    };
    auto const ends = [&]<std::size_t Word>(bytes_constant<Word>) {
        listed_blocks(two_words<Way, Word>{length - static_cast<std::int64_t>(Word)}, memory, b, p, length, count);
    };
    by_length(length, exact, ends, [&] {
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
