// Copies from back to front, where that is the faster way: AMD's processors.
#include <mpt/core/copying.hpp>

#include <algorithm>
#include <cstring>

#include <mpt/core/processor/vectors.hpp>

namespace mpt::inline v0::detail {
namespace {

/// Up to a page. What is loaded next lies before all that is stored, so that nothing looks like it.
template <class Word>
[[gnu::always_inline]] inline void copy_back(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    constexpr std::size_t word = sizeof(Word), step = 4 * word;
    for (; n >= step; n -= step) {
        Word last, third, second, first;
        __builtin_memcpy(&last, from + n - word, word);
        __builtin_memcpy(&third, from + n - 2 * word, word);
        __builtin_memcpy(&second, from + n - 3 * word, word);
        __builtin_memcpy(&first, from + n - 4 * word, word);
        __builtin_memcpy(to + n - word, &last, word);
        __builtin_memcpy(to + n - 2 * word, &third, word);
        __builtin_memcpy(to + n - 3 * word, &second, word);
        __builtin_memcpy(to + n - 4 * word, &first, word);
    }
    if (n != 0) std::memcpy(to, from, n);
}

using four_words [[gnu::vector_size(32)]] = std::uint64_t;
[[MPT_BY_32]] void copy_back_by_32(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    copy_back<four_words>(to, from, n);
}
void copy_back_by_16(std::byte* to, std::byte const* from, std::size_t n) noexcept { copy_back<two_words>(to, from, n); }

} // namespace

void copy_aliased(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    static bool const waits = processor::is_of_amd();
    if (!waits) return static_cast<void>(std::memcpy(to, from, n));
    auto const back = processor::has_vectors_of_32() ? copy_back_by_32 : copy_back_by_16;
    while (n != 0) {
        auto const piece = std::min(n, alias_period);
        back(to, from, piece);
        to += piece, from += piece, n -= piece;
    }
}

} // namespace mpt::inline v0::detail
