/// core/copy - a run of any layout copied into another here, and a part of a run seen as a run.
///
///        source ---- copy(from, into) ----> sink      one memcpy; one pass of read() or write(); or both through a small buffer
///        source_part{whole, first, size}              bytes [first, first + size) of a source: what algorithms that cut send
///        sink_part{whole, first, size}                the same of a sink
///
///   Cost    where both ends are scattered, every byte is moved twice, through the stack, copy_piece bytes at a time.
///   Limit   the two runs do not overlap, except that both may be the same bytes in one place: then nothing is to be done. A
///           part refers to the source or sink that its whole was made of.
///   Tests   test/core_copy_test.cpp
#pragma once
#include <algorithm>
#include <array>

#include <mpt/core/cursor.hpp>

namespace mpt::inline v0 {

inline constexpr std::size_t copy_piece = 2048;

/// Bytes [first, first + size) of a source.
class source_part {
    source whole_;
    std::size_t first_, size_;

public:
    source_part(source const& whole, std::size_t first, std::size_t size) noexcept : whole_{whole}, first_{first}, size_{size} {
        MPT_ASSERT(cheap, first <= whole.size() && size <= whole.size() - first);
    }
    std::size_t size() const noexcept { return size_; }
    void read(std::size_t offset, std::span<std::byte> into) const noexcept { whole_.read(first_ + offset, into); }
    std::optional<std::span<std::byte const>> contiguous() const noexcept {
        auto const all = whole_.contiguous();
        if (!all) return std::nullopt;
        return all->subspan(first_, size_);
    }
};
static_assert(byte_source<source_part>);

/// Room for bytes [first, first + size) of a sink.
class sink_part {
    sink whole_;
    std::size_t first_, size_;

public:
    sink_part(sink const& whole, std::size_t first, std::size_t size) noexcept : whole_{whole}, first_{first}, size_{size} {
        MPT_ASSERT(cheap, first <= whole.size() && size <= whole.size() - first);
    }
    std::size_t size() const noexcept { return size_; }
    void write(std::size_t offset, std::span<std::byte const> from) const noexcept { whole_.write(first_ + offset, from); }
    std::optional<std::span<std::byte>> contiguous() const noexcept {
        auto const all = whole_.contiguous();
        if (!all) return std::nullopt;
        return all->subspan(first_, size_);
    }
};
static_assert(byte_sink<sink_part>);

/// Copies all of `from` to the beginning of `into`, which has room for it.
inline void copy(source const& from, sink const& into) noexcept {
    MPT_ASSERT(cheap, from.size() <= into.size());
    if (from.is_contiguous() && into.is_contiguous()) [[likely]]
        return from.data() == into.data() ? void() : copy_bytes(into.data(), from.data(), from.size());
    if (from.is_contiguous()) return into.write(0, *from.contiguous());
    if (into.is_contiguous()) return from.read(0, into.contiguous()->first(from.size()));
    std::array<std::byte, copy_piece> buffer;
    for (std::size_t at = 0; at < from.size(); at += buffer.size()) {
        auto const piece = std::span{buffer}.first(std::min(buffer.size(), from.size() - at));
        from.read(at, piece);
        into.write(at, piece);
    }
}

} // namespace mpt::inline v0
