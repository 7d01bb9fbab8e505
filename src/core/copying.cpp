// Copies of more than a kilobyte or two, as AMD's processors like them; others do well by the system's memcpy.
#include <mpt/core/copying.hpp>

#include <cstring>

#include <mpt/core/processor/vectors.hpp>

namespace mpt::inline v0::detail {
namespace {

template <class Word> [[gnu::always_inline]] inline void copy_four(std::byte* to, std::byte const* from) noexcept {
    constexpr std::size_t word = sizeof(Word);
    Word first, second, third, last;
    __builtin_memcpy(&first, from, word);
    __builtin_memcpy(&second, from + word, word);
    __builtin_memcpy(&third, from + 2 * word, word);
    __builtin_memcpy(&last, from + 3 * word, word);
    __builtin_memcpy(to, &first, word);
    __builtin_memcpy(to + word, &second, word);
    __builtin_memcpy(to + 2 * word, &third, word);
    __builtin_memcpy(to + 3 * word, &last, word);
}
template <class Word> [[gnu::always_inline]] inline void copy_one(std::byte* to, std::byte const* from) noexcept {
    Word w;
    __builtin_memcpy(&w, from, sizeof w);
    __builtin_memcpy(to, &w, sizeof w);
}

// By whole vectors in their places, whatever the source's: a store that crosses a line is two, and such a copy waits for its stores.
// n: eight words and more.

template <class Word>
[[gnu::always_inline]] inline void copy_in_places(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    constexpr std::size_t word = sizeof(Word), step = 4 * word;
    copy_one<Word>(to, from);
    auto const done = word - reinterpret_cast<std::uintptr_t>(to) % word;
    for (to += done, from += done, n -= done; n > step; to += step, from += step, n -= step) copy_four<Word>(to, from);
    copy_four<Word>(to + n - step, from + n - step);
}

/// What is loaded next lies before all that is stored, so that nothing looks like it. For runs that are aliases(); others than AMD's do well by memcpy:
/// 64 KiB so 16.8 GB/s, by memcpy 38 (Intel Xeon, 16 cores, virtual; bare program)
/// origin: 16 bytes ahead, AMD EPYC, Zen 3, 4 / 64 KiB: 0.10 / 1.6 us; the system's memcpy, and `rep movsb`, 2.0 / 33; else they take 0.07 / 1.5.
/// Zen 4, by vectors in their places: 16 ahead 0.043 / 1.13, by memcpy 0.097 / 1.15; 8 ahead 0.048 / 1.13 and 1.14 / 18.7
template <class Word>
[[gnu::always_inline]] inline void copy_back(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    constexpr std::size_t word = sizeof(Word), step = 4 * word;
    copy_one<Word>(to + n - word, from + n - word);
    n -= reinterpret_cast<std::uintptr_t>(to + n) % word;
    for (; n > step; n -= step) copy_four<Word>(to + n - step, from + n - step);
    copy_four<Word>(to, from);
}

using four_words [[gnu::vector_size(32)]] = std::uint64_t;
[[MPT_BY_32]] void copy_in_places_by_32(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    copy_in_places<four_words>(to, from, n);
}
[[MPT_BY_32]] void copy_back_by_32(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    copy_back<four_words>(to, from, n);
}
void copy_back_by_16(std::byte* to, std::byte const* from, std::size_t n) noexcept { copy_back<two_words>(to, from, n); }

/// Those which the system's memcpy makes by strings, in pieces that it makes by vectors.
void copy_in_pieces(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    constexpr std::size_t step = string_copy / 2;
    if (n >= string_copy && n < 2 * string_copy)
        for (; n > step; to += step, from += step, n -= step) std::memcpy(to, from, step);
    std::memcpy(to, from, n);
}

} // namespace

// origin: 2, 4, 8, 16 KiB, the source 16 bytes behind a page, AMD EPYC, Zen 4, glibc 2.36: 22, 43, 84, 151 ns by places, 32, 60, 106, 318 by memcpy,
// 32, 70, 138, 364 in pieces; both at a page 19, 39, 70, 138 and 23, 41, 76, 150; of 32 KiB, more than one cache holds, all take 560 to 630.
// Intel Xeon, Emerald Rapids: 4 KiB 51 to 58 ns by memcpy, 48 to 65 by places, 58 to 73 in pieces.
void copy_long(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    static bool const amd = processor::is_of_amd() && !sanitized, by_32 = amd && processor::has_vectors_of_32();
    constexpr std::size_t most_in_cache = 32 << 10;
    if (!amd) std::memcpy(to, from, n);
    else if (aliases(to, from)) by_32 ? copy_back_by_32(to, from, n) : copy_back_by_16(to, from, n);
    else if (by_32 && n <= most_in_cache) copy_in_places_by_32(to, from, n);
    else copy_in_pieces(to, from, n);
}

} // namespace mpt::inline v0::detail
