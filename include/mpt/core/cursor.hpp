/// core/cursor - how protocols see a user's data: a run of packed bytes that can be read, or written, from any position.
///
///        user's buffer            cursor                    cell, loan, chunk
///        (contiguous today,  -->  read(offset, span)  -->   packed straight into it, no buffer in between
///         a datatype later)  <--  write(offset, span) <--
///
///   A byte_source has a size and read(); a byte_sink has a size and write(). Protocols hold the type-erased `source` and
///   `sink`, so that the engine is not stamped per datatype: a contiguous one is pointer and size, and a null third word that
///   is the one thing tested. Offsets count packed bytes, so a protocol may cut a message wherever its frames end, in any
///   order; const_cursor and cursor add a position for those that go from front to back.
///
///   Limit   what a source or sink points to must outlive it; nothing is owned, nothing allocates, nothing throws.
///   Tests   test/core_cursor_test.cpp
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <mpt/core/copying.hpp>

namespace mpt::inline v0 {

/// size() packed bytes that can be read from any position; offset + into.size() <= size().
template <class S>
concept byte_source = requires(S const& s, std::size_t offset, std::span<std::byte> into) {
    { s.size() } noexcept -> std::same_as<std::size_t>;
    { s.read(offset, into) } noexcept -> std::same_as<void>;
    { s.contiguous() } noexcept -> std::same_as<std::optional<std::span<std::byte const>>>;
};

/// Room for size() packed bytes that can be written at any position; offset + from.size() <= size().
template <class S>
concept byte_sink = requires(S const& s, std::size_t offset, std::span<std::byte const> from) {
    { s.size() } noexcept -> std::same_as<std::size_t>;
    { s.write(offset, from) } noexcept -> std::same_as<void>;
    { s.contiguous() } noexcept -> std::same_as<std::optional<std::span<std::byte>>>;
};

/// Bytes side by side, by their address: nobody follows it here.
struct memory_run {
    std::uint64_t at = 0, bytes = 0;
    friend bool operator==(memory_run const&, memory_run const&) = default;
};
/// Of a list: how many runs there are in it, and how many packed bytes those are.
struct listed_runs {
    std::size_t runs = 0, bytes = 0;
};
/// Runs of one length at one distance: run i is the `bytes` bytes at `at + i * stride`.
struct regular_runs {
    std::uint64_t at = 0, bytes = 0;
    std::int64_t stride = 0;
    std::uint64_t count = 0;
};

/// A layout that can say where its bytes lie, for who moves them himself.
///
///   l.list(offset, most, into)   the runs of the packed bytes from `offset` on: at most `most` bytes, and as many runs as fit
///   l.regular()                  all of them, where they are regular
template <class L>
concept lists_runs = requires(L const& l, std::size_t offset, std::span<memory_run> into) {
    { l.list(offset, offset, into) } noexcept -> std::same_as<listed_runs>;
    { l.regular() } noexcept -> std::same_as<std::optional<regular_runs>>;
};

namespace detail {
/// What a source or sink calls where its bytes do not lie side by side. list and regular are null where the layout does not list.
template <class Move> struct layout_calls {
    Move* move = nullptr;
    listed_runs (*list)(void const* layout, std::size_t offset, std::size_t most,
                        std::span<memory_run> into) noexcept = nullptr;
    std::optional<regular_runs> (*regular)(void const* layout) noexcept = nullptr;

    template <class L> static constexpr layout_calls of(Move* move) noexcept {
        layout_calls c{move};
        if constexpr (lists_runs<L>) {
            c.list = [](void const* l, std::size_t offset, std::size_t most, std::span<memory_run> into) noexcept {
                return static_cast<L const*>(l)->list(offset, most, into);
            };
            c.regular = [](void const* l) noexcept { return static_cast<L const*>(l)->regular(); };
        }
        return c;
    }
};
} // namespace detail

/// Bytes that lie side by side.
class contiguous_source {
    std::span<std::byte const> bytes_;

public:
    constexpr contiguous_source() = default;
    constexpr contiguous_source(std::span<std::byte const> bytes) noexcept : bytes_{bytes} {}

    std::size_t size() const noexcept { return bytes_.size(); }
    void read(std::size_t offset, std::span<std::byte> into) const noexcept {
        MPT_ASSERT(cheap, offset <= size() && into.size() <= size() - offset);
        copy_bytes(into.data(), bytes_.data() + offset, into.size());
    }
    std::optional<std::span<std::byte const>> contiguous() const noexcept { return bytes_; }
};
static_assert(byte_source<contiguous_source>);

class contiguous_sink {
    std::span<std::byte> bytes_;

public:
    constexpr contiguous_sink() = default;
    constexpr contiguous_sink(std::span<std::byte> bytes) noexcept : bytes_{bytes} {}

    std::size_t size() const noexcept { return bytes_.size(); }
    void write(std::size_t offset, std::span<std::byte const> from) const noexcept {
        MPT_ASSERT(cheap, offset <= size() && from.size() <= size() - offset);
        copy_bytes(bytes_.data() + offset, from.data(), from.size());
    }
    std::optional<std::span<std::byte>> contiguous() const noexcept { return bytes_; }
};
static_assert(byte_sink<contiguous_sink>);

/// Any byte_source, in three words. Contiguous: where the bytes are; else: the layout, and the function that reads it.
class source {
    using calls = detail::layout_calls<void(void const* layout, std::size_t offset, std::span<std::byte> into) noexcept>;

    template <class S> static constexpr calls calls_of =
        calls::of<S>([](void const* l, std::size_t offset, std::span<std::byte> into) noexcept {
            static_cast<S const*>(l)->read(offset, into);
        });

    void const* data_ = nullptr;
    std::size_t size_ = 0;
    calls const* layout_ = nullptr; // null: contiguous

public:
    constexpr source() = default;
    constexpr source(void const* data, std::size_t size) noexcept : data_{data}, size_{size} {}
    constexpr source(std::span<std::byte const> bytes) noexcept : data_{bytes.data()}, size_{bytes.size()} {}

    /// Any other source, by reference: `layout` must outlive the result.
    template <byte_source S>
        requires(!std::same_as<S, source>)
    static source of(S const& layout) noexcept {
        if (auto const c = layout.contiguous()) return source{*c};
        source s{&layout, layout.size()};
        s.layout_ = &calls_of<S>;
        return s;
    }
    template <byte_source S> static source of(S const&&) = delete;

    std::size_t size() const noexcept { return size_; }
    bool is_contiguous() const noexcept { return layout_ == nullptr; }
    /// Not contiguous, and list() and regular() may be asked: see lists_runs.
    bool lists() const noexcept { return layout_ != nullptr && layout_->list != nullptr; }
    listed_runs list(std::size_t offset, std::size_t most, std::span<memory_run> into) const noexcept {
        return layout_->list(data_, offset, most, into);
    }
    std::optional<regular_runs> regular() const noexcept { return layout_->regular(data_); }
    /// The first byte of a contiguous source; not to be asked of another.
    std::byte const* data() const noexcept {
        MPT_ASSERT(cheap, is_contiguous());
        return static_cast<std::byte const*>(data_);
    }
    void read(std::size_t offset, std::span<std::byte> into) const noexcept {
        MPT_ASSERT(cheap, offset <= size_ && into.size() <= size_ - offset);
        if (layout_ == nullptr) [[likely]]
            copy_bytes(into.data(), static_cast<std::byte const*>(data_) + offset, into.size());
        else layout_->move(data_, offset, into);
    }
    std::optional<std::span<std::byte const>> contiguous() const noexcept {
        if (layout_ != nullptr) return std::nullopt;
        return std::span{data(), size_};
    }
};
static_assert(byte_source<source>);

/// Any byte_sink, in three words.
class sink {
    using calls = detail::layout_calls<void(void* layout, std::size_t offset, std::span<std::byte const> from) noexcept>;

    template <class S> static constexpr calls calls_of = calls::of<std::remove_const_t<S>>(
        [](void* l, std::size_t offset, std::span<std::byte const> from) noexcept { static_cast<S*>(l)->write(offset, from); });

    void* data_ = nullptr;
    std::size_t size_ = 0;
    calls const* layout_ = nullptr; // null: contiguous

public:
    constexpr sink() = default;
    constexpr sink(void* data, std::size_t size) noexcept : data_{data}, size_{size} {}
    constexpr sink(std::span<std::byte> bytes) noexcept : data_{bytes.data()}, size_{bytes.size()} {}

    /// Any other sink, by reference: `layout` must outlive the result.
    template <byte_sink S>
        requires(!std::same_as<S, sink>)
    static sink of(S& layout) noexcept {
        if (auto const c = layout.contiguous()) return sink{*c};
        sink s{const_cast<std::remove_const_t<S>*>(&layout), layout.size()};
        s.layout_ = &calls_of<S>;
        return s;
    }

    std::size_t size() const noexcept { return size_; }
    bool is_contiguous() const noexcept { return layout_ == nullptr; }
    /// As a source's.
    bool lists() const noexcept { return layout_ != nullptr && layout_->list != nullptr; }
    listed_runs list(std::size_t offset, std::size_t most, std::span<memory_run> into) const noexcept {
        return layout_->list(data_, offset, most, into);
    }
    std::optional<regular_runs> regular() const noexcept { return layout_->regular(data_); }
    /// The first byte of a contiguous sink; not to be asked of another.
    std::byte* data() const noexcept {
        MPT_ASSERT(cheap, is_contiguous());
        return static_cast<std::byte*>(data_);
    }
    void write(std::size_t offset, std::span<std::byte const> from) const noexcept {
        MPT_ASSERT(cheap, offset <= size_ && from.size() <= size_ - offset);
        if (layout_ == nullptr) [[likely]]
            copy_bytes(static_cast<std::byte*>(data_) + offset, from.data(), from.size());
        else layout_->move(data_, offset, from);
    }
    std::optional<std::span<std::byte>> contiguous() const noexcept {
        if (layout_ != nullptr) return std::nullopt;
        return std::span{data(), size_};
    }
};
static_assert(byte_sink<sink>);

/// Reads a source from front to back.
template <byte_source S = source> class const_cursor {
    S source_{};
    std::size_t at_ = 0;

public:
    constexpr const_cursor() = default;
    constexpr explicit const_cursor(S source) noexcept : source_{std::move(source)} {}

    std::size_t size() const noexcept { return source_.size(); }
    std::size_t position() const noexcept { return at_; }
    std::size_t left() const noexcept { return size() - at_; }
    /// Packs the next n <= left() bytes to `to` and moves on.
    void copy_out(std::byte* to, std::size_t n) noexcept {
        MPT_ASSERT(cheap, n <= left());
        source_.read(at_, {to, n});
        at_ += n;
    }
    void seek(std::size_t position) noexcept {
        MPT_ASSERT(cheap, position <= size());
        at_ = position;
    }
    std::optional<std::span<std::byte const>> contiguous() const noexcept { return source_.contiguous(); }
};

/// Fills a sink from front to back.
template <byte_sink S = sink> class cursor {
    S sink_{};
    std::size_t at_ = 0;

public:
    constexpr cursor() = default;
    constexpr explicit cursor(S sink) noexcept : sink_{std::move(sink)} {}

    std::size_t size() const noexcept { return sink_.size(); }
    std::size_t position() const noexcept { return at_; }
    std::size_t left() const noexcept { return size() - at_; }
    /// Unpacks the next n <= left() bytes from `from` and moves on.
    void copy_in(std::byte const* from, std::size_t n) noexcept {
        MPT_ASSERT(cheap, n <= left());
        sink_.write(at_, {from, n});
        at_ += n;
    }
    void seek(std::size_t position) noexcept {
        MPT_ASSERT(cheap, position <= size());
        at_ = position;
    }
    std::optional<std::span<std::byte>> contiguous() const noexcept { return sink_.contiguous(); }
};

} // namespace mpt::inline v0
