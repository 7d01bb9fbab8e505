/// core/copying - runs of bytes moved within this process, by how long they are and how they lie.
///
///        copy_bytes        up to 64 bytes straight-line code; the system's memcpy, but where it is slow: from 1.5 to 32 KiB on AMD's
///        copy_each_once    the same for what another core looks into meanwhile
///        copy_string       by the processor's string copy, for what another core has in its cache
///
///        to     |...|bbbbbbbbbbbbbbbbb|       1 to 31 bytes behind, but for the page: each load of a copy from front to back looks like
///        from   |.bbbbbbbbbbbbbbbbb|..|       the store before it. On AMD's such runs are copied from back to front.
///
///   Cost    a memcpy call costs 10 ns where we measured: up to 64 bytes are copied in straight-line code.
///   Limit   runs do not overlap, but where it is said.
///   Tests   test/core_copying_test.cpp
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

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
/// From here on a call beside memcpy's does not count.
inline constexpr std::size_t long_copy = 1536;

/// A copy from front to back would load, time and again, what lies where it has just stored, but for the page: the processor takes the one
/// for the other, and waits. What malloc gives for large requests begins 16 bytes after a page, so that it is what a program's buffers do.
inline constexpr std::size_t alias_period = 4096; // addresses that differ by a multiple of it
inline bool aliases(std::byte const* to, std::byte const* from) noexcept {
    return (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from) - 1) % alias_period < 31;
}
/// src/core/copying.cpp. long_copy bytes and more, as this processor likes it.
void copy_long(std::byte* to, std::byte const* from, std::size_t n) noexcept;
} // namespace detail

/// Copies n bytes between runs that do not overlap; either pointer may be null when n is 0.
inline void copy_bytes(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    if (n <= small_copy) copy_small(to, from, n);
    else if (n >= detail::long_copy) detail::copy_long(to, from, n);
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
        auto const into = reinterpret_cast<std::uintptr_t>(to), origin = reinterpret_cast<std::uintptr_t>(from);
        bool const apart = into - origin >= n && origin - into >= n;
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
    if (processor::copies_strings && n >= detail::long_copy && !detail::sanitized && !detail::aliases(to, from))
        return processor::copy_string(to, from, n);
    copy_bytes(to, from, n);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

} // namespace mpt::inline v0
