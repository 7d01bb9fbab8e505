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
///   Cost    a memcpy call costs 10 ns where we measured: up to 64 bytes are copied in straight-line code.
///   Limit   what a source or sink points to must outlive it; nothing is owned, nothing allocates, nothing throws.
///   Tests   test/core_cursor_test.cpp
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <mpt/core/assert.hpp>
#include <mpt/core/processor.hpp>

namespace mpt::inline v0 {

/// The longest copy that copy_bytes makes without a call.
inline constexpr std::size_t small_copy = 64;

// g++ 12 follows an inlined copy into an empty buffer, takes the branch for two bytes, and warns a user about our code.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Warray-bounds"
#endif
namespace detail {
using two_words [[gnu::vector_size(16)]] = std::uint64_t;

/// Both ends of a run of sizeof(Word) to twice that many bytes, loaded before either is stored.
template <class Word> inline void copy_ends(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    Word front, back;
    __builtin_memcpy(&front, from, sizeof front); // of a size known here: a load, not a call
    __builtin_memcpy(&back, from + n - sizeof back, sizeof back);
    __builtin_memcpy(to, &front, sizeof front);
    __builtin_memcpy(to + n - sizeof back, &back, sizeof back);
}
} // namespace detail

/// Copies n <= 64 bytes in straight-line code; the runs may overlap.
[[gnu::always_inline]] inline void copy_small(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    MPT_ASSERT(cheap, n <= small_copy);
    if (n > 32) {
        detail::two_words second, third;
        __builtin_memcpy(&second, from + 16, 16);
        __builtin_memcpy(&third, from + n - 32, 16);
        detail::copy_ends<detail::two_words>(to, from, n);
        __builtin_memcpy(to + 16, &second, 16);
        __builtin_memcpy(to + n - 32, &third, 16);
    } else if (n >= 16) detail::copy_ends<detail::two_words>(to, from, n);
    else if (n >= 8) detail::copy_ends<std::uint64_t>(to, from, n);
    else if (n >= 4) detail::copy_ends<std::uint32_t>(to, from, n);
    else if (n >= 2) detail::copy_ends<std::uint16_t>(to, from, n);
    else if (n == 1) *to = *from;
}

namespace detail {
/// From this size to twice that, the system's memcpy takes `rep movsb`, which begins slowly: 8 KiB is where it gets ahead of vectors.
/// origin: 4 KiB to the other core and back as loans, AMD EPYC, Zen 5, glibc 2.36: 200 ns half way in place of 330
inline constexpr std::size_t string_copy = 4096;

/// A copy from front to back would load, time and again, what lies where it has just stored, but for the page: the processor takes the one
/// for the other, and waits. What malloc gives for large requests begins 16 bytes after a page, so that it is what a program's buffers do.
inline bool aliases(std::byte const* to, std::byte const* from) noexcept {
    return (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from) - 1) % 4096 < 31;
}
/// src/core/cursor.cpp. Copies such runs, a page at a time, each from back to front.
/// origin: 16 bytes ahead, AMD EPYC, Zen 3, 4 / 64 KiB: 0.10 / 1.6 us; the system's memcpy, and `rep movsb`, 2.0 / 33; else they take 0.07 / 1.5
void copy_aliased(std::byte* to, std::byte const* from, std::size_t n) noexcept;

[[gnu::noinline]] inline void copy_long(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    if (aliases(to, from)) return copy_aliased(to, from, n);
    constexpr std::size_t step = string_copy / 2;
    if (n < 2 * string_copy)
        for (; n > step; to += step, from += step, n -= step) std::memcpy(to, from, step);
    std::memcpy(to, from, n);
}
} // namespace detail

/// Copies n bytes between runs that do not overlap; either pointer may be null when n is 0.
inline void copy_bytes(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    if (n <= small_copy) copy_small(to, from, n);
    else if (n >= detail::string_copy) detail::copy_long(to, from, n);
    else std::memcpy(to, from, n);
}

namespace detail {
/// One store, which the compiler does not join with others.
template <class Word> void store_once(std::byte*& to, std::byte const*& from, std::size_t& n) noexcept {
    Word w;
    __builtin_memcpy(&w, from, sizeof w);
    __builtin_memcpy(to, &w, sizeof w);
    processor::is_read(to);
    to += sizeof w, from += sizeof w, n -= sizeof w;
}
} // namespace detail

/// The same for a run that another core may look into meanwhile: of up to small_copy bytes each word is written once, one after the other, and
/// the runs may overlap. A string function writes some twice: who saw the last word and wrote there itself would lose what it wrote.
inline void copy_each_once(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    if (n > small_copy) {
        bool const apart = std::less_equal{}(to + n, from) || std::less_equal{}(from + n, to);
        return apart ? copy_bytes(to, from, n) : static_cast<void>(std::memmove(to, from, n));
    }
    std::array<std::byte, small_copy> held;
    copy_small(held.data(), from, n);
    from = held.data();
    while (n >= 8) detail::store_once<std::uint64_t>(to, from, n);
    if (n >= 4) detail::store_once<std::uint32_t>(to, from, n);
    if (n >= 2) detail::store_once<std::uint16_t>(to, from, n);
    if (n != 0) detail::store_once<std::uint8_t>(to, from, n);
}

namespace detail {
/// Instructions that are written out are not seen by sanitizers.
#if defined(__has_feature)
inline constexpr bool sanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer);
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
} // namespace detail

/// The same, to memory that another core has in its cache: `rep movsb` takes whole lines without asking for what they held.
/// origin: bare double copy, half way, AMD EPYC, Zen 5: 2 KiB 128 ns in place of 161, 64 KiB by 4 KiB 1.9 us in place of 2.5
inline void copy_string(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    if (processor::copies_strings && n >= 1536 && !detail::sanitized && !detail::aliases(to, from))
        return processor::copy_string(to, from, n);
    copy_bytes(to, from, n);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

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
