// What transport::stream says on a connection, and the checks on what it hears.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include <mpt/core/types.hpp>

namespace mpt::inline v0::transport::detail {

/// The first bytes of every connection.
struct stream_hello {
    static constexpr std::uint64_t magic_value = 0x306d74737274706d; // "mptrstm0"
    static constexpr std::uint32_t current_version = 1;

    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t max_frame;
    std::int32_t from;
    std::int32_t to;
    std::uint16_t slot;
    std::uint16_t lane;
    std::uint32_t zero;
    std::array<std::uint64_t, 2> cookie;
};
static_assert(sizeof(stream_hello) == 48 && std::is_trivially_copyable_v<stream_hello>);

enum class stream_what : std::uint16_t {
    frame,
    padding, // a cell that died
    open,    // never on the wire: a cell still being written
};

/// Before every payload. The next record begins at the next multiple of 8.
struct stream_record {
    std::uint32_t size; // of the payload
    std::uint16_t op;
    stream_what what;

    static constexpr std::size_t span_of(std::size_t size) noexcept {
        return (sizeof(stream_record) + size + 7) & ~std::size_t{7};
    }
    static stream_record read(std::byte const* at) noexcept {
        stream_record r;
        std::memcpy(&r, at, sizeof r);
        return r;
    }
    void write(std::byte* at) const noexcept { std::memcpy(at, this, sizeof *this); }

    bool allowed(std::size_t max_frame) const noexcept {
        return size <= max_frame && (what == stream_what::frame || what == stream_what::padding);
    }
};
static_assert(sizeof(stream_record) == 8 && std::is_trivially_copyable_v<stream_record>);

/// Takes the same time whatever the words are.
inline bool same_cookie(std::array<std::uint64_t, 2> const& a, std::array<std::uint64_t, 2> const& b) noexcept {
    return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}

} // namespace mpt::inline v0::transport::detail
