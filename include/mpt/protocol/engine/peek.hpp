/// protocol/engine/peek - a probe's look at a wire: what comes next, where it lies; and a matched probe takes it from there.
///
///        quiet? -- no: something is posted, kept or under way --> unsure: the caller makes a round, and looks in the tables
///          `-- the next frame: the message that is asked for --> frame, and its outcome; the receive that follows takes it from its wire
///                              another one ------------------> unsure
///                              none ------------------------> nothing: nor would a round find any; of one peer, if idle_beside(peer), too
///
///   Why      One that is kept first is copied, filed, found twice and copied again. Most that are probed the next call receives.
///   Matched  take_now() gives a message from the wire an entry of its own; of a wire that cannot be looked at, too. The tables see long frames alone.
///   Order    the first frame of a peer's is its earliest message, and nothing is kept that came before.
///   Limit    peek(): transports that peek (transport_peeking), and a rank's own wire. Others of the route are a round's.
///   Source   MPI-4.1 section 3.8.1
///   Tests    test/protocol_peek_test.cpp
#pragma once
#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

inline bool parse_message(frame const& f, op what, arrival& a, std::span<std::byte const>& data) noexcept; // engine/receive.hpp
/// Of a wire that cannot be looked at: has it nothing? A rank's own is polled, and tells; others, whose polls may be calls of the system, do not.
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::is_silent(E& wire) noexcept {
    if constexpr (to_ourselves<E>) return wire.poll(arriving{*this}, 1) == 0;
    else return false;
}

template <class World, class Route, protocol_set Use>
sight engine<World, Route, Use>::peek(envelope const& wanted, outcome& out) noexcept {
    if (!quiet() || !is_at_rest()) return sight::unsure;
    auto seen = sight::nothing;
    auto const look = [&](frame const& f, std::size_t size) {
        arrival a;
        std::span<std::byte const> data;
        auto const kind = static_cast<op>(f.op);
        if (!is_message(kind) || !parse_message(f, kind, a, data) || a.context != wanted.context) return;
        if (wanted.label != any_tag && a.label != wanted.label) return;
        out = {a.from, a.label, a.size + (size - f.payload.size()), status::ok};
        seen = sight::frame;
    };
    auto const asked = [&](sight shown) { // what was shown, and was not it, is a round's
        if (shown == sight::unsure || (shown == sight::frame && seen == sight::nothing)) seen = sight::unsure;
    };
    auto const of_one = [&]<class E>(E& wire) {
        if constexpr (transport_peeking<E>) asked(wire.peek(wanted.source, look));
        else seen = sight::unsure;
    };
    if (wanted.source != any_source) with(at(wanted.source), of_one);
    else
        wires_.each([&]<class E>(E& wire) {
            if (seen != sight::nothing) return;
            if constexpr (transport_peeking<E>) asked(wire.peek(look));
            else if (!is_silent(wire)) seen = sight::unsure;
        });
    return seen;
}

template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::idle_beside(rank peer) noexcept {
    if (peer == any_source || job_.size() == 2) return true;
    bool idle = true;
    wires_.each([&]<class E>(E& wire) {
        if constexpr (transport_peeking<E>) idle = idle && wire.peek([](frame const&, std::size_t) {}) == sight::nothing;
        else idle = idle && is_silent(wire);
    });
    return idle;
}

/// The sink of take_now: the wanted message gets an entry; any other is handled as it comes.
template <class World, class Route, protocol_set Use> struct engine<World, Route, Use>::taking {
    engine& on;
    envelope const& wanted;
    arrival* got = nullptr;

    void operator()(frame const& f) noexcept {
        auto const kind = static_cast<op>(f.op);
        auto const what = wire::read<wire::label>(f.payload);
        if (!what || !is_message(kind) || !is_wanted(*what, wanted)) return on.on_frame(frame{f});
        auto* const a = on.arrivals_.create();
        std::span<std::byte const> data;
        if (!a) on.job_.abort(1, out_of_entries);
        if (!parse_message(f, kind, *a, data))
            return on.arrivals_.destroy(a), on.on_frame(frame{f}); // which says what is wrong with it
        a->buffer = const_cast<std::byte*>(data.data());
        if (!on.hold(*a)) on.job_.abort(1, out_of_entries);
        got = a;
    }
    template <class Frame> void stretched(Frame f) noexcept { on.on_stretched(f); }
};

template <class World, class Route, protocol_set Use>
arrival* engine<World, Route, Use>::take_now(envelope const& wanted) noexcept {
    return with(at(wanted.source), [&](auto& wire) {
        taking sink{*this, wanted};
        auto left = looks;
        if constexpr (requires { wire.looks(); }) left = wire.looks();
        for (; left != 0; --left)
            if (wire.poll_from(wanted.source, sink) != 0) return sink.got ? sink.got : take(wanted); // a long frame was filed
        return static_cast<arrival*>(nullptr);
    });
}

} // namespace mpt::inline v0::protocol
