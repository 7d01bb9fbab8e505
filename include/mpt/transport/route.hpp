/// transport::route - several transports as one: for each peer the first in the list that reaches it.
///
///        route<self, smp, stream>:   me -> self    a rank of this node -> smp    anybody else -> stream
///
///   The choice is made once per peer and kept as a small number; `with(number, f)` calls f on that endpoint. Every branch
///   is inlined: there is no table of functions between a send and the cache line it writes.
#pragma once
#include <array>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include <mpt/transport/transport.hpp>

namespace mpt::inline v0::transport {

template <transport_policy... Ts> struct route {
    static_assert(sizeof...(Ts) > 0, "mpt::route: name at least one transport");
    using kind = mpt::kind::transport;
    static constexpr std::string_view name = "route";
    static constexpr std::size_t count = sizeof...(Ts);
    static constexpr std::array<std::string_view, count> names{Ts::name...};
    static constexpr std::array<transport_facts, count> facts{Ts::facts...};
    static constexpr std::size_t max_stretch = std::max({Ts::facts.max_stretch.value...});
    using transports = std::tuple<Ts...>;

    /// The endpoints of one lane.
    template <class World> class wires {
        static_assert(
            (transport_endpoint<typename Ts::template endpoint<World>, World> && ...),
            "mpt::route: an endpoint does not model transport_endpoint; the contract is in mpt/transport/transport.hpp");
        template <std::size_t... I> wires(lane_context<World> const& c, std::index_sequence<I...>) : ends_{at_slot(c, I)...} {}
        static lane_context<World> at_slot(lane_context<World> const& c, std::size_t i) noexcept {
            return {c.world, c.job, c.heap, static_cast<unsigned>(i), c.lane, c.lanes, c.config};
        }

        // Endpoints are neither copied nor moved: peers know where they are.
        std::tuple<typename Ts::template endpoint<World>...> ends_;

    public:
        static constexpr std::uint8_t none = 0xff;
        /// A thread that sleeps can be woken by ringing the bell of one of them.
        static constexpr bool belled = (transport_belled<typename Ts::template endpoint<World>> || ...);

        /// Ranks that one of them reaches may map each other's slices.
        static constexpr bool neighbourly = (transport_neighbourly<typename Ts::template endpoint<World>> || ...);

        /// Makes every endpoint and publishes its address.
        explicit wires(lane_context<World> const& c) : wires{c, std::index_sequence_for<Ts...>{}} {
            unsigned slot = 0;
            each([&](auto& e) {
                auto const a = e.local();
                c.job.publish(slot++, c.lane, std::as_bytes(std::span{&a, 1}));
            });
        }
        /// The facts of the transport that E is an endpoint of.
        template <class E> static consteval transport_facts facts_of() {
            transport_facts found;
            static_cast<void>(((std::is_same_v<E, typename Ts::template endpoint<World>> && (found = Ts::facts, true)) || ...));
            return found;
        }
        wires(wires const&) = delete;
        wires& operator=(wires const&) = delete;

        /// The first endpoint that reaches the peer; none: nobody does.
        std::uint8_t pick(rank peer) noexcept {
            std::uint8_t at = 0, found = none;
            each([&](auto& e) {
                if (found == none && e.reaches(peer)) found = at;
                ++at;
            });
            return found;
        }

        /// Why nobody reaches the peer, transport by transport.
        std::string why_not(rank peer) {
            std::string all;
            std::size_t at = 0;
            each([&]<class E>(E& e) {
                std::string_view why = "does not reach it";
                if constexpr (transport_explaining<E>) why = e.why_not(peer);
                all.append(at ? "; " : "").append(names[at]).append(": ").append(why);
                ++at;
            });
            return all;
        }

        template <class F>
        void each(F&& f) noexcept(noexcept((f(std::declval<typename Ts::template endpoint<World>&>()), ...))) {
            std::apply([&](auto&... e) { (f(e), ...); }, ends_);
        }

        /// f on endpoint number i, which pick() returned; f's result is the same type for all.
        template <std::size_t I = 0, class F> [[gnu::always_inline]] decltype(auto) with(std::uint8_t i, F&& f) {
            if constexpr (I + 1 == count) return f(std::get<I>(ends_));
            else return i == I ? f(std::get<I>(ends_)) : with<I + 1>(i, std::forward<F>(f));
        }
    };
};

} // namespace mpt::inline v0::transport
