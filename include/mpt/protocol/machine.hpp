/// protocol/machine - what the protocols' state machines have in common: a table of edges, and the question `next`.
///
///   A protocol header draws its machine and then says it again as data. In a release build the engine's handlers are plain
///   code; the table is their assertion (MPT_ASSERT(paranoid, next(...))) and the oracle of the tests.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <mpt/core/policy.hpp>

namespace mpt::inline v0::protocol {

template <class State, class Event> struct edge {
    State from;
    Event on;
    State to;
};

/// Where an event leads; nothing: the table has no such edge, which is a protocol error and never ignored.
template <class State, class Event, std::size_t N>
constexpr std::optional<State> next_of(edge<State, Event> const (&table)[N], State s, Event e) noexcept {
    for (auto const& x : table)
        if (x.from == s && x.on == e) return x.to;
    return std::nullopt;
}

/// The machine of a message whose data travels with its envelope: what e0 and e1 are, each with a way of its own for the data.
struct eager {
    enum class state : std::uint8_t { idle, sent, kept, done };
    enum class event : std::uint8_t { post, post_sync, ack, arrived_expected, arrived_unexpected, claimed, retract, retracted };
    static constexpr edge<state, event> edges[]{
        {state::idle, event::post, state::done},
        {state::idle, event::post_sync, state::sent},
        {state::sent, event::ack, state::done},
        {state::idle, event::arrived_expected, state::done},
        {state::idle, event::arrived_unexpected, state::kept},
        {state::kept, event::claimed, state::done},
        {state::sent, event::retracted, state::done},
        {state::kept, event::retract, state::done},
    };
    static constexpr std::optional<state> next(state s, event e) noexcept { return next_of(edges, s, e); }
};

} // namespace mpt::inline v0::protocol

namespace mpt::inline v0 {
/// A protocol policy: a tag that names a machine and says for which messages it is meant.
///
///   P::machine    type: state, event, edges, next(), final states
///   P::range()    one line for mptinfo: which sizes it carries
template <class P>
concept protocol_policy = policy<P> && std::same_as<typename P::kind, kind::protocol> && requires {
    typename P::state;
    typename P::event;
    { P::next(typename P::state{}, typename P::event{}) } -> std::same_as<std::optional<typename P::state>>;
    { P::range() } -> std::convertible_to<std::string_view>;
};
} // namespace mpt::inline v0
