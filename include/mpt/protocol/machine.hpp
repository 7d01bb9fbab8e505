/// protocol/machine - what the protocols' state machines have in common: a table of edges, and the question `next`.
///
///   A protocol header draws its machine and then says it again as data. In a release build the engine's handlers are plain
///   code; the table is their assertion (MPT_ASSERT(paranoid, next(...))) and the oracle of the tests.
#pragma once
#include <concepts>
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
