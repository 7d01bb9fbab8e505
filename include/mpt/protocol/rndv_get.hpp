/// protocol::rndv_get (R0) - the receiver reads the sender's buffer, unless the sender is there to push it; where both wait inside the
/// library, both copy.
///
///        sender                                         receiver
///        ------                                         --------
///        idle                                           idle
///          | post: offer, RTS ------------------------>   | rts, a receive is posted ----------.
///          v                                              | rts, none is posted                |
///        offered                                          v                                    |
///          | joined (the receiver accepted the ticket)  kept --- claimed by a receive ---------+
///          v                                                                                   v
///        helping: copies pieces from the back           pulling: copies pieces from the front, or gets the whole
///          | all pieces done                              | pulled: FIN where no ticket was used ---> done
///          v                                              | refused: CTS, on as rndv_put ---> handed over
///        done                                             v
///        offered --- fin ---> done
///        offered --- ask (the receiver may read, and hopes that we push), nobody pulled ---> handed over to rndv_put
///                                            pulling --- a ticket, up to MPT_PIPELINE_MAX: ask ---> hoping
///                                            hoping --- the first chunk ---> handed over
///                                            hoping --- silence for 256 rounds, nobody pushed ---> pulling
///        offered, helping --- cts (the receiver was refused) ---> handed over to rndv_put
///
///        offered       --- taken back: retract ---> kept: forgotten, retracted ---> done: cancelled
///                                              any other state: matched, goes on as if nothing had been asked
///
///   Wire      RTS 48 bytes, of runs 52, ASK 32, FIN 8 bytes; all fit every transport's frame, or go as rndv_put.
///   Order     RTS is matched in the order of its pair; FIN may overtake anything.
///   Memory    the sender's buffer is its own again once it saw FIN, or every piece done.
///   Who       of push and pull for one ticket the first wins (smp/joint); the loser goes the other's way.
///   Layouts   data in many runs are read run by run, each to its place: engine/runs.
///   Cost      2 frames (1 with a ticket), 1 copy. The copy is shared between both cores when both wait.
///   Limit     the transport reads (transport_readable); refusal may come at any time, also in the middle of a run.
///   Tests     test/protocol_rndv_get_test.cpp
#pragma once
#include <mpt/protocol/machine.hpp>

namespace mpt::inline v0::protocol {

/// Joint: smallest message that both ends copy where they can.
template <bytes Joint = 16_KiB> struct rndv_get {
    using kind = mpt::kind::protocol;
    static constexpr std::string_view name = "rndv_get";
    static constexpr bytes joint_from = Joint;

    enum class state : std::uint8_t { idle, offered, helping, kept, pulling, hoping, handed_over, done };
    enum class event : std::uint8_t {
        post,
        joined,
        fin,
        cts,
        rts_expected,
        rts_unexpected,
        claimed,
        pulled,
        refused,
        retract,
        retracted,
        asked,
        chunk,
        silence
    };
    static constexpr edge<state, event> edges[]{
        {state::idle, event::post, state::offered},         {state::offered, event::joined, state::helping},
        {state::offered, event::fin, state::done},          {state::offered, event::cts, state::handed_over},
        {state::offered, event::pulled, state::done},       {state::helping, event::pulled, state::done},
        {state::helping, event::cts, state::handed_over},   {state::idle, event::rts_expected, state::pulling},
        {state::idle, event::rts_unexpected, state::kept},  {state::kept, event::claimed, state::pulling},
        {state::pulling, event::pulled, state::done},       {state::pulling, event::refused, state::handed_over},
        {state::offered, event::retracted, state::done},    {state::kept, event::retract, state::done},
        {state::offered, event::asked, state::handed_over}, {state::pulling, event::asked, state::hoping},
        {state::hoping, event::chunk, state::handed_over},  {state::hoping, event::silence, state::pulling},
    };
    static constexpr std::optional<state> next(state s, event e) noexcept { return next_of(edges, s, e); }
    static constexpr std::string_view range() noexcept { return "above the eager sizes, where the peer's memory can be read"; }
};
static_assert(protocol_policy<rndv_get<>>);

} // namespace mpt::inline v0::protocol
