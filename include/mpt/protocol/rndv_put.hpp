/// protocol::rndv_put (R1) - the sender pushes chunks when the receiver is ready: for wires with no remote memory, for pairs
/// that the system keeps from reading each other, for layouts of short runs.
///
///        sender                                      receiver
///        ------                                      --------
///        idle                                        idle
///          | post: RTS ---------------------------->   | rts, a receive is posted: CTS
///          v                                           | rts, none is posted --> kept --- claimed: CTS ---.
///        offered                                       v                                                  |
///          | cts                                     filling <--------------------------------------------'
///          v                                           | chunk (more to come): filling
///        pushing --- chunk, more to come: pushing      | chunk, the last byte
///          | last chunk                                v
///          v                                         done
///        done
///
///        offered       --- taken back: retract ---> kept: forgotten, retracted ---> done: cancelled
///                                              any other state: matched, goes on as if nothing had been asked
///
///   Wire      RTS 48, CTS 24, CHUNK 16 + data (in the frame) or CHUNK_LOAN 32 (in a loan: the pipelined double copy). Where
///             loans stay away for long, chunks go in frames: what holds the loans may wait for this message.
///   Order     chunks of one message carry their offset and are counted: they need no order among themselves.
///   Memory    at most MPT_LOANS loans, or one frame, per lane in flight: the pipeline's depth bounds it. The sender's buffer
///             is free when the last chunk is in the wire.
///   Cost      2 frames and one per chunk, 2 copies that overlap.
///   Tests     test/protocol_rndv_put_test.cpp
#pragma once
#include <mpt/protocol/machine.hpp>

namespace mpt::inline v0::protocol {

/// Chunk: piece of the pipeline, unless MPT_CHUNK says otherwise.
template <bytes Chunk = 32_KiB> struct rndv_put {
    using kind = mpt::kind::protocol;
    static constexpr std::string_view name = "rndv_put";
    static constexpr bytes piece = Chunk;

    enum class state : std::uint8_t { idle, offered, pushing, kept, filling, done };
    enum class event : std::uint8_t {
        post,
        cts,
        pushed,
        pushed_last,
        rts_expected,
        rts_unexpected,
        claimed,
        chunk,
        chunk_last,
        retract,
        retracted
    };
    static constexpr edge<state, event> edges[]{
        {state::idle, event::post, state::offered},         {state::offered, event::cts, state::pushing},
        {state::pushing, event::pushed, state::pushing},    {state::pushing, event::pushed_last, state::done},
        {state::idle, event::rts_expected, state::filling}, {state::idle, event::rts_unexpected, state::kept},
        {state::kept, event::claimed, state::filling},      {state::filling, event::chunk, state::filling},
        {state::filling, event::chunk_last, state::done},   {state::offered, event::retracted, state::done},
        {state::kept, event::retract, state::done},
    };
    static constexpr std::optional<state> next(state s, event e) noexcept { return next_of(edges, s, e); }
    static constexpr std::string_view range() noexcept { return "above the eager sizes, everywhere else"; }
};
static_assert(protocol_policy<rndv_put<>>);

} // namespace mpt::inline v0::protocol
