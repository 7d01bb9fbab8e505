/// protocol/engine/peek - a probe's look at a wire: what comes next, where it lies.
///
///        quiet? -- no: something is posted, kept or under way --> unsure: the caller makes a round, and looks in the tables
///          |
///          `-- the next frame: the message that is asked for --> frame, and its outcome; the receive that follows takes it from its wire
///                              another one ------------------> unsure
///                              none ------------------------> nothing: of any_source, a round would find nothing either; of one peer, if
///                                                                      idle_beside(peer), too
///
///   Why      A message that is kept first is put together, copied to where it waits, filed by its envelope, found twice and copied again.
///            Most that are probed are received by the next call, which finds them as if nobody had asked.
///   Order    the first frame of a peer's is its earliest message, and nothing is kept that came before.
///   Limit    transports that peek (transport_peeking). On others of the route a look of any_source is a poll.
///   Source   MPI-4.1 section 3.8.1
///   Tests    test/protocol_peek_test.cpp
#pragma once
#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

inline bool parse_message(frame const& f, op what, arrival& a, std::span<std::byte const>& data) noexcept; // engine/receive.hpp

template <class World, class Route, protocol_set Use>
sight engine<World, Route, Use>::peek(envelope const& wanted, outcome& out) noexcept {
    if (!quiet() || !stuck_.empty() || !offers_.empty() || active_ != 0) return sight::unsure;
    auto seen = sight::nothing;
    auto const look = [&](frame const& f, std::size_t size) {
        arrival a;
        std::span<std::byte const> data;
        auto const kind = static_cast<op>(f.op);
        bool const fits = is_message(kind) && parse_message(f, kind, a, data) && a.context == wanted.context &&
                          (wanted.label == any_tag || a.label == wanted.label);
        if (!fits) return;
        out = {a.from, a.label, a.size + (size - f.payload.size()), status::ok};
        seen = sight::frame;
    };
    auto const asked = [&](sight shown) { // what was shown, and was not it, is a round's
        if (shown == sight::unsure || (shown == sight::frame && seen == sight::nothing)) seen = sight::unsure;
    };
    if (wanted.source != any_source)
        with(at(wanted.source), [&]<class E>(E& wire) {
            if constexpr (transport_peeking<E>) asked(wire.peek(wanted.source, look));
            else seen = sight::unsure;
        });
    else
        wires_.each([&]<class E>(E& wire) {
            if (seen != sight::nothing) return;
            if constexpr (transport_peeking<E>) asked(wire.peek(look));
            else if (wire.poll(arriving{*this}, 1) != 0) seen = sight::unsure;
        });
    return seen;
}

/// After peek() found nothing there.
template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::idle_beside(rank peer) noexcept {
    if (peer == any_source || job_.size() == 2) return true;
    bool idle = true;
    wires_.each([&]<class E>(E& wire) {
        if constexpr (transport_peeking<E>) idle = idle && wire.peek([](frame const&, std::size_t) {}) == sight::nothing;
        else idle = wire.poll(arriving{*this}, 1) == 0 && idle;
    });
    return idle;
}

} // namespace mpt::inline v0::protocol
