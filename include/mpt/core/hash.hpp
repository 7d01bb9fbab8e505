/// core/hash - 64-bit FNV-1a, at compile time and at run time, the same on every machine.
///
///   For identity, not for secrets: the layout of a stack's wire structs, the job-wide configuration. Two ranks whose hashes
///   differ do not belong together. Numbers are taken byte by byte from the lowest, whatever the machine's byte order.
///
///        constexpr auto layout = hash_of("e0", sizeof(e0), alignof(e0), "lanes", 3u);
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace mpt::inline v0 {

/// source: Fowler, Noll, Vo; draft-eastlake-fnv, section 5.
inline constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325;
inline constexpr std::uint64_t fnv_prime = 0x00000100000001b3;

/// The plain FNV-1a of a text; `seed` goes on from an earlier hash.
constexpr std::uint64_t fnv1a(std::string_view s, std::uint64_t seed = fnv_basis) noexcept {
    for (char const c : s) seed = (seed ^ static_cast<unsigned char>(c)) * fnv_prime;
    return seed;
}

constexpr std::uint64_t fnv1a(std::span<std::byte const> s, std::uint64_t seed = fnv_basis) noexcept {
    for (auto const b : s) seed = (seed ^ std::to_integer<std::uint64_t>(b)) * fnv_prime;
    return seed;
}

/// Goes on with a number: always eight bytes, lowest first, so that 1u and 1ull are the same number.
template <class T>
    requires(std::integral<T> || std::is_enum_v<T>)
constexpr std::uint64_t combine(std::uint64_t seed, T number) noexcept {
    auto value = static_cast<std::uint64_t>(number);
    for (int i = 0; i < 8; ++i, value >>= 8) seed = (seed ^ (value & 0xff)) * fnv_prime;
    return seed;
}

/// Goes on with a text and its length, so that ("ab", "c") and ("a", "bc") differ.
constexpr std::uint64_t combine(std::uint64_t seed, std::string_view s) noexcept { return combine(fnv1a(s, seed), s.size()); }

/// One hash of several things, their order included.
template <class... Parts> constexpr std::uint64_t hash_of(Parts const&... parts) noexcept {
    auto h = fnv_basis;
    ((h = combine(h, parts)), ...);
    return h;
}

} // namespace mpt::inline v0
