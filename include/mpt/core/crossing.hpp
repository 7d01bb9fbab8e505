/// core/crossing - how many bytes are written for another core, and read that another core has written.
///
///        read      with lines fetched ahead of the copy: what a core fetches by itself from another's cache comes late, and a string
///                  copy fetches too little of it
///        own       the same, with each line taken as our own: for what the reader is the next to write
///        past      read ahead, and written around the caches: for data that these do not hold, each line of which would be fetched from memory
///                  to be written, and would drive out what the other core writes next
///        write     by string copy, which takes whole lines without asking for what they held;
///                  around the caches, where taking them back from the reader takes long: there each line costs a question to a cache
///                  that is far, and what lies in memory costs none
///
///   Which of the two ways to write is measured while writing: three writes in a row that took more than half a tick of the time-stamp
///   counter a byte (2 to 5 GB/s), and the next 64 go around; then one tells whether it still is so.
///
///   Order    none of its own. Writes around the caches are over before write() returns.
///   Cost     streams through 64 buffers of 32 KiB, AMD EPYC, Zen 4, GB/s: read by string copy 10.8, by the system's vectors 15, ahead 37;
///            without a cache in common written by string copy 2.1, around the caches 14.6. origin: bare program of this shape
///   Tests    test/core_crossing_test.cpp
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <mpt/core/cursor.hpp>
#include <mpt/core/fences.hpp>
#include <mpt/core/processor.hpp>

namespace mpt::inline v0 {

/// Runs that do not overlap. None of the lines behind the run are fetched: they may just be written.
/// origin: 512 B, 1, 2, 4 KiB ahead: 36, 38, 23, 22 GB/s; as our own, 64 KiB half way: 2.36, 2.44, 2.37, 2.60 us
template <bool Own> void copy_ahead(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    constexpr std::size_t ahead = 1_KiB, step = 4 * cache_line;
    auto const fetch = [from](std::size_t at) {
        if constexpr (Own) processor::fetch_to_write(from + at);
        else __builtin_prefetch(from + at, 0, 3);
    };
    for (std::size_t at = 0; at < std::min(n, ahead); at += cache_line) fetch(at);
    std::size_t at = 0;
    for (; at + step <= n; at += step) {
        if (at + ahead + step <= n)
            for (std::size_t k = 0; k < step; k += cache_line) fetch(at + ahead + k);
        __builtin_memcpy(to + at, from + at, step);
    }
    copy_bytes(to + at, from + at, n - at);
}

/// What is shorter the processor fetches by itself.
inline constexpr std::size_t least_ahead = 1_KiB;

/// A run that is read soon and comes from another core: at most 2 to 4 KiB, as much as a core has lines under way at once and then some.
inline void fetch_ahead(std::byte const* from, std::size_t n) noexcept {
    for (std::size_t at = 0; at < n; at += cache_line) __builtin_prefetch(from + at, 0, 3);
}

namespace detail {

/// Into memory, not into a cache; but for what is not a whole line. Ahead: lines are fetched so many bytes ahead; 0: none are.
template <std::size_t Ahead> void copy_around(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    if constexpr (processor::stores_around && !sanitized) {
        auto at = std::min(n, (cache_line - reinterpret_cast<std::uintptr_t>(to) % cache_line) % cache_line);
        copy_bytes(to, from, at);
        fetch_ahead(from, std::min(n, Ahead));
        for (; at + cache_line <= n; at += cache_line) {
            if (Ahead != 0 && at + Ahead < n) __builtin_prefetch(from + at + Ahead, 0, 3);
            for (std::size_t k = 0; k < cache_line; k += processor::around) processor::store_around(to + at + k, from + at + k);
        }
        copy_bytes(to + at, from + at, n - at);
        return native_fences::drain();
    }
    if constexpr (Ahead != 0) copy_ahead<false>(to, from, n);
    else copy_bytes(to, from, n);
}

} // namespace detail

/// What is at hand, to who is far.
inline void copy_around(std::byte* to, std::byte const* from, std::size_t n) noexcept { detail::copy_around<0>(to, from, n); }
/// What another core has, to where the caches hold nothing.
/// origin: chunks of 32 KiB from 4 MiB to 16 and 64 MiB of one's own, AMD EPYC, Zen 4, 32 MiB of common cache, GB/s: ahead by 1 KiB into the
/// caches 16 and 10, by string copy 26 and 12, around them ahead by 1 KiB 26 and 16, by 2 KiB 26 and 23, by 4 KiB 26 and 25; to 8 MiB 32, 37, 26
inline void copy_past(std::byte* to, std::byte const* from, std::size_t n) noexcept { detail::copy_around<4_KiB>(to, from, n); }

/// What one rank knows of the way to one peer.
class crossing {
    std::uint8_t slow_ = 0;   // writes in a row that took long
    std::uint8_t around_ = 0; // writes to come that go around the caches

public:
    static constexpr std::size_t least = 4_KiB; // what is worth a look at the clock
    static constexpr std::uint8_t convinced = 3, spell = 64;

    /// Will the next write go around the caches?
    bool is_far() const noexcept { return around_ != 0; }
    /// A write of n bytes the usual way took so many ticks.
    void took(std::uint64_t ticks, std::size_t n) noexcept {
        if (ticks * 2 <= n) slow_ = 0;
        else if (++slow_ >= convinced) around_ = spell, slow_ = convinced - 1;
    }
    void write(std::byte* to, std::byte const* from, std::size_t n) noexcept {
        if (processor::has_ticks && n >= least) {
            if (around_ != 0) return --around_, copy_around(to, from, n);
            auto const start = processor::ticks();
            copy_string(to, from, n);
            return took(processor::ticks() - start, n);
        }
        copy_string(to, from, n);
    }
};

} // namespace mpt::inline v0
