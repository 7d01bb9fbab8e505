/// protocol::e1 - eager, through a buffer of the sender's that the receiver reads in place.
///
///        sender                                      receiver
///        ------                                      --------
///        idle                                        idle
///          | post: copy into a loan, frame             | arrived, a receive is posted: copy out, give back --> done
///          |   (no loan free: rendezvous instead)      | arrived, none is posted
///          v                                           v
///        sent ---- not synchronous ----> done        kept  (the data stays in the sender's buffer)
///          | ack  <----- synchronous only -------      | claimed by a receive: copy out, give back
///          v                                           v
///        done                                        done
///
///        sent, synchronous --- taken back: retract ---> kept: forgotten, retracted ---> done: cancelled
///                                              any other state: matched, goes on as if nothing had been asked
///
///   Wire      32 bytes; the data lies in the loan.
///   Order     the frame is committed after the loan is written: its release publishes both. Of a long one only the first piece is
///             (e1_begun): the receiver copies a piece while the sender writes the next, and looks how far that is. So goes an answer, and
///             what follows an acknowledgement of ours, which took the answer's place: its sender is likely to wait for us.
///   Memory    MPT_LOANS buffers of MPT_LOAN_BYTES per lane, and others of shorter lengths (smp/lending.hpp), 10 MiB in all, in the sender's
///             slice, when they are needed and much memory is free. An unexpected message keeps its loan and
///             costs the receiver an entry only: a flood runs the sender out of loans, and it goes on by rendezvous. It
///             never blocks a ring (source document 004: "out of buffers = wait, never fail").
///             An answer, and what goes each way at once, goes by a buffer that the pair passes to and fro (transport_passing), of
///             MPT_AWAITED_MAX bytes where it is long.
///   Cost      1 frame, 2 copies.
///   Limit     the transport lends (transport_lending); size <= MPT_EAGER_MAX and one loan. Up to MPT_AWAITED_MAX where there is a passed
///             buffer, and both ranks may copy at once, and up to 512 KiB, in one piece, where ranks share CPUs; who lowers MPT_EAGER_MAX below
///             a loan wants rendezvous. What may be read where it lies (see engine::may_be_read) goes so up to MPT_EAGER_READABLE.
///   Tests     test/protocol_e1_test.cpp
#pragma once
#include <mpt/protocol/machine.hpp>

namespace mpt::inline v0::protocol {

/// Max: largest message that goes this way, unless MPT_EAGER_MAX says otherwise.
template <bytes Max = 64_KiB> struct e1 : eager {
    using kind = mpt::kind::protocol;
    static constexpr std::string_view name = "e1";
    static constexpr bytes most = Max;

    static constexpr std::string_view range() noexcept {
        return "above e0, up to MPT_EAGER_MAX or as buffers are at hand, where the transport lends";
    }
};
static_assert(protocol_policy<e1<>>);

} // namespace mpt::inline v0::protocol
