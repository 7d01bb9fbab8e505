/// core/types - the words that every floor speaks: sizes, ranks, tags, contexts, and how an operation ended.
///
///   Sizes are `bytes` with literals (4_KiB); a rank and a tag are distinct types that are made from, and read as, plain
///   integers, so that `send(x, 1, 7)` reads well and a tag cannot be passed where a rank belongs.
#pragma once
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// Everything lives in the inline namespace v0, which names the binary interface: objects of two versions never meet.
namespace mpt::inline v0 {

/// Fixed by the wire layout, never taken from the compiler's idea of this machine.
inline constexpr std::size_t cache_line = 64;
/// Two lines: what an adjacent-line prefetcher moves together. Fields of different writers lie this far apart.
inline constexpr std::size_t line_pair = 128;

/// A size in bytes. A bare size_t never stands in a policy's parameter list.
struct bytes {
    std::size_t value{};
    constexpr operator std::size_t() const noexcept { return value; }
};

inline namespace literals {
consteval bytes operator""_B(unsigned long long n) { return {static_cast<std::size_t>(n)}; }
consteval bytes operator""_KiB(unsigned long long n) { return {static_cast<std::size_t>(n << 10)}; }
consteval bytes operator""_MiB(unsigned long long n) { return {static_cast<std::size_t>(n << 20)}; }
consteval bytes operator""_GiB(unsigned long long n) { return {static_cast<std::size_t>(n << 30)}; }
} // namespace literals

/// A process (or thread, or fibre) of a job, counted from 0; in a communicator, its place in the group. MPI-4.1 section 2.4.
struct rank {
    std::int32_t value{};
    constexpr rank() = default;
    constexpr rank(std::integral auto r) noexcept : value{static_cast<std::int32_t>(r)} {}
    constexpr operator std::int32_t() const noexcept { return value; }
};

/// The label a receive selects by. MPI-4.1 section 3.2.3. Valid user tags are 0 .. tag_upper_bound.
struct tag {
    std::int32_t value{};
    constexpr tag() = default;
    constexpr tag(std::integral auto t) noexcept : value{static_cast<std::int32_t>(t)} {}
    constexpr operator std::int32_t() const noexcept { return value; }
};

/// The wildcards have the values of the MPI 5.0 ABI, so that no door has to translate them.
inline constexpr rank any_source{-1};
inline constexpr tag any_tag{-2};
inline constexpr rank proc_null{-3};
inline constexpr std::int32_t tag_upper_bound = 0x7fffffff;

/// A communication context: 64 bits, drawn at random by the leader of a new group; the low bit tells collective traffic (1)
/// from point-to-point traffic (0) of the same communicator, bit 62 that of collectives that run as schedules (1).
enum class context_id : std::uint64_t {};

inline constexpr std::uint64_t collective_bit = 1, schedules_bit = std::uint64_t{1} << 62;

/// The context that 61 of these bits stand for: the point-to-point side, and none of the fixed ones, which lack the top bit.
constexpr context_id drawn_context(std::uint64_t bits) noexcept {
    return context_id{(bits | std::uint64_t{1} << 63) & ~(collective_bit | schedules_bit)};
}
constexpr bool is_collective(context_id c) noexcept { return (static_cast<std::uint64_t>(c) & collective_bit) != 0; }
constexpr context_id collective(context_id c) noexcept { return context_id{static_cast<std::uint64_t>(c) | collective_bit}; }

/// How an operation of the data path ended. `again` is not an error: nothing happened, ask later.
enum class status : std::uint8_t {
    ok,
    again,
    peer_gone, // the peer died or left
    too_large, // does not fit what it was to be put in
    no_memory, // the machine or the job's limit has no more
    refused,   // the system will not let us (CMA without permission, for one): another way must be taken
    truncated, // the message was longer than the receive buffer
    cancelled,
    bad_address, // a buffer that is not (all) mapped, or not writable: the user's error, not a reason to try another way
};

constexpr std::string_view to_string(status s) noexcept {
    switch (s) {
    case status::ok: return "ok";
    case status::again: return "again";
    case status::peer_gone: return "peer gone";
    case status::too_large: return "too large";
    case status::no_memory: return "no memory";
    case status::refused: return "refused";
    case status::truncated: return "truncated";
    case status::cancelled: return "cancelled";
    case status::bad_address: return "bad address";
    }
    return "?";
}

} // namespace mpt::inline v0
