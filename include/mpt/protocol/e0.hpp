/// protocol::e0 - eager, in frames: data and envelope travel together, in one cache line where they fit one.
///
///        sender                                      receiver
///        ------                                      --------
///        idle                                        idle
///          | post   (wire full: waits in idle)         | arrived, a receive is posted --> done
///          v                                           | arrived, none is posted
///        sent ---- not synchronous ----> done          v
///          | ack  <----- e0_sync only -----------    kept  --- claimed by a receive ---> done
///          v
///        done
///
///        sent, e0_sync --- taken back: retract ---> kept: forgotten, retracted ---> done: cancelled
///                                              any other state: matched, goes on as if nothing had been asked
///
///   Wire      e0 12 bytes + data; e0_sync 20 bytes + data. Source document 004: up to 16 bytes ride in the header; here 40.
///             Where the transport has room for it, a frame may be longer than others (smp: 276 bytes, 264 of data; as an answer 116
///             and 104): engine/stretched.
///   Order     frames of a pair arrive in order, and matching keeps it.
///   Memory    the sender's buffer is free when send() returns; an unexpected message costs its size at the receiver, which
///             counts it and asks the sender for rendezvous (throttle) beyond MPT_UNEXPECTED_MAX.
///   Cost      1 frame, 2 copies (into the cell, out of it).
///   Limit     size <= the transport's max_frame - 12, or its max_stretch - 12; at most Max.
///   Tests     test/protocol_e0_test.cpp walks every (state, event) pair.
#pragma once
#include <mpt/protocol/machine.hpp>

namespace mpt::inline v0::protocol {

/// Max: largest message that goes this way, however large the transport's frames are.
template <bytes Max = 8_KiB> struct e0 : eager {
    using kind = mpt::kind::protocol;
    static constexpr std::string_view name = "e0";
    static constexpr bytes most = Max;

    static constexpr std::string_view range() noexcept {
        return "what fits one frame of the transport, be it a long one (smp: up to 264 B)";
    }
};
static_assert(protocol_policy<e0<>>);

} // namespace mpt::inline v0::protocol
