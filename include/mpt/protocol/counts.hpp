/// protocol/counts - what an engine counts of its own work: for figures (stack/figures.hpp), never for decisions.
///
///        send_now      tried, and `declined` where the long way had to be taken    sent by it: tried - declined
///        long way      sent[way]            deliver, take_kept        received[way]
///        receive_now   taken_now            keep                      kept
///
///   What a matched probe takes from its wire (take_now) was not kept: its receive counts it.
///
///   Each number only grows. A message is counted when it is handed to the wire, or to its receive; its bytes are those of its
///   data, without headers. What is cancelled before that is not counted.
///
///   Cost    one plain addition for each number: the fast paths have two each; send_now's first one it needs for itself.
///   Order   none: written and read under the lane's lock.
///   Tests   test/protocol_counts_test.cpp
#pragma once
#include <cstdint>

namespace mpt::inline v0::protocol {

/// The way that a message takes: in a frame (e0), by a lent buffer (e1), announced first (rndv_get, rndv_put).
enum class way : std::uint8_t { frame, loan, rendezvous };
inline constexpr unsigned ways = 3;

struct traffic {
    std::uint64_t messages = 0, bytes = 0;

    void count(std::uint64_t size) noexcept { ++messages, bytes += size; }
    friend traffic operator+(traffic a, traffic b) noexcept { return {a.messages + b.messages, a.bytes + b.bytes}; }
};

struct counts {
    // the fast paths
    std::uint64_t tried = 0, declined = 0, sent_now_bytes = 0;
    traffic taken_now;

    // the long ways
    traffic sent[ways], received[ways];
    std::uint64_t queued = 0;   // sends that the wire, or earlier ones, kept waiting
    std::uint64_t loanless = 0; // sends of a loan's length that found no buffer to lend, and were announced instead

    // messages that came before their receive
    traffic kept;
    std::uint64_t kept_most = 0;                // at a time
    std::uint64_t throttled = 0, throttles = 0; // how often a peer asked us to announce; how often we asked one

    // how a rendezvous was copied, told by its receiver
    traffic pulled, joined, pushed; // by the receiver alone, from both ends, in pieces that the sender brings
    std::uint64_t refused = 0;      // copies that the system refused, and that were brought instead

    std::uint64_t rounds = 0; // of progress
    std::uint64_t rings = 0;  // of our own bell, for threads of ours that sleep

    traffic sent_by(way w) const noexcept {
        auto const i = static_cast<unsigned>(w);
        return w == way::frame ? sent[i] + traffic{tried - declined, sent_now_bytes} : sent[i];
    }
    traffic received_by(way w) const noexcept {
        auto const i = static_cast<unsigned>(w);
        return w == way::frame ? received[i] + taken_now : received[i];
    }
};

} // namespace mpt::inline v0::protocol
