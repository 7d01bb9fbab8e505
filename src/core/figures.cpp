// What an engine counted, as figures.
#include <mpt/stack/figures.hpp>

#include <algorithm>

namespace mpt::inline v0 {

void add(figures& to, protocol::counts const& c) noexcept {
    using enum figure;
    using protocol::way;
    auto const both = [&](figure messages, figure bytes, protocol::traffic const& t) {
        to[messages] += t.messages, to[bytes] += t.bytes;
    };
    both(e0_messages_sent, e0_bytes_sent, c.sent_by(way::frame));
    both(e1_messages_sent, e1_bytes_sent, c.sent_by(way::loan));
    both(rndv_messages_sent, rndv_bytes_sent, c.sent_by(way::rendezvous));
    both(e0_messages_received, e0_bytes_received, c.received_by(way::frame));
    both(e1_messages_received, e1_bytes_received, c.received_by(way::loan));
    both(rndv_messages_received, rndv_bytes_received, c.received_by(way::rendezvous));
    both(messages_pulled, bytes_pulled, c.pulled);
    both(messages_joined, bytes_joined, c.joined);
    both(messages_pushed, bytes_pushed, c.pushed);
    both(unexpected_messages, unexpected_bytes, c.kept);
    to[copies_refused] += c.refused;
    to[sends_queued] += c.queued;
    to[loans_missed] += c.loanless;
    to[unexpected_queue_most] = std::max(to[unexpected_queue_most], c.kept_most);
    to[throttled] += c.throttled;
    to[throttles] += c.throttles;
    to[progress_rounds] += c.rounds;
    to[rings] += c.rings;
}

} // namespace mpt::inline v0
