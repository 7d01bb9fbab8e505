/// protocol/arrival - a message that came before its receive: what is kept of it until one claims it.
///
///   op         what is kept                                          claimed by
///   e0(_sync)  the data: 40 bytes in the entry, more in a buffer     copy out
///   e1(_sync)  the sender's loan; the data stays with the sender     borrow, copy out, give back; e1_begun, too
///   rts        the announcement                                      pull, or ask for a push
#pragma once
#include <array>
#include <cstddef>
#include <string_view>

#include <mpt/protocol/matching.hpp>
#include <mpt/protocol/wire.hpp>

namespace mpt::inline v0::protocol {

/// What ends a job where there is no memory for one more.
inline constexpr std::string_view out_of_entries = "mpt: out of memory for unexpected messages";

struct arrival : arrival_hook {
    rank from{}; // world rank
    op kind = op::none;
    tag label{};
    context_id context{};
    std::uint64_t size = 0;  // of the message
    request_ref sender{};    // e0_sync, e1_sync, e1_begun, rts
    std::uint64_t loan = 0;  // e1; rts that came with a piece
    std::uint32_t piece = 0; // bytes of that
    wire::rts offer{};       // rts
    std::uint32_t runs = 0;  // rts of a message in runs: as in wire::rts_runs; else 0
    std::int32_t stride = 0;
    std::byte* buffer = nullptr; // e0: the data; its own, or `near`
    std::array<std::byte, 40> near{};

    bool is_whole() const noexcept { return kind == op::e0; } // and nobody waits for its match
    /// The data of a small message that is too long for its entry.
    bool keeps_a_copy() const noexcept { return (kind == op::e0 || kind == op::e0_sync) && buffer != near.data(); }
};

/// Frames that carry a message, or announce one.
constexpr bool is_message(op kind) noexcept {
    switch (kind) {
    case op::e0:
    case op::e0_sync:
    case op::e1:
    case op::e1_sync:
    case op::e1_begun:
    case op::rts:
    case op::rts_begun:
    case op::rts_runs: return true;
    default: return false;
    }
}

/// Whether its sender waits for the receive.
constexpr bool wants_ack(op kind, request_ref sender) noexcept {
    return kind == op::e0_sync || kind == op::e1_sync || (kind == op::e1_begun && !sender.is_none());
}

/// Whether a message that comes is the one that a call waits for, which took its sender from where it looks.
inline bool is_wanted(wire::label const& what, envelope const& wanted) noexcept {
    return what.context() == wanted.context && what.tag >= 0 && (tag{what.tag} == wanted.label || wanted.label == any_tag);
}

} // namespace mpt::inline v0::protocol
