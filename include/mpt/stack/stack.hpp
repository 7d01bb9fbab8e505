/// stack/stack - a whole communication stack as one type.
///
///        using stack = mpt::stack<mpt::transport::smp<>, mpt::lock::ticket, mpt::wait::adaptive>;
///
///   Arguments come in any order; a kind that is not named takes its default; protocols may be many, everything else is at
///   most one. What was chosen can be asked: stack::lock_policy, stack::route, stack::uses, stack::describe().
///
///   kind        default                                   others
///   world       world::native                             world::threads (ranks are threads)
///   transport   route<self, smp>                          any transport_policy, or a route over several; self is added
///   protocol    e0<>, e1<>, rndv_get<>, rndv_put<>      any of them; e0 and rndv_put are the least
///   lock        lock::ticket                              none, pthread, per_object
///   wait        wait::adaptive                            spin, yield, sleep
///   memory      mem::standard
///
///   Misuse is a sentence, not a page: see the static_asserts, and test/compile_fail.
#pragma once
#include <array>
#include <string>
#include <tuple>
#include <type_traits>

#include <mpt/core/hash.hpp>
#include <mpt/lock/lock.hpp>
#include <mpt/lock/ticket.hpp>
#include <mpt/mem/memory.hpp>
#include <mpt/mem/standard.hpp>
#include <mpt/protocol/e0.hpp>
#include <mpt/protocol/e1.hpp>
#include <mpt/protocol/engine.hpp>
#include <mpt/protocol/rndv_get.hpp>
#include <mpt/protocol/rndv_put.hpp>
#include <mpt/transport/self.hpp>
#include <mpt/transport/smp.hpp>
#include <mpt/wait/adaptive.hpp>
#include <mpt/world/native.hpp>

namespace mpt::inline v0 {
template <policy... Ps> class stack;

namespace detail {

template <class Kind, class... Ps> struct of_kind {
    using type = std::tuple<>;
};
template <class Kind, class P, class... Ps> struct of_kind<Kind, P, Ps...> {
    using rest = typename of_kind<Kind, Ps...>::type;
    using type = std::conditional_t<std::is_same_v<typename P::kind, Kind>,
                                    decltype(std::tuple_cat(std::declval<std::tuple<P>>(), std::declval<rest>())), rest>;
};
template <class Kind, class Default, class... Ps> struct one_of_kind {
    using found = typename of_kind<Kind, Ps...>::type;
    static_assert(std::tuple_size_v<found> <= 1, "mpt::stack: two policies of the same kind");
    using type = std::tuple_element_t<0, decltype(std::tuple_cat(std::declval<found>(), std::declval<std::tuple<Default>>()))>;
};

/// A transport alone becomes a route; every route begins with self.
template <class... Ts> struct with_self {
    using type = transport::route<transport::self<>, Ts...>;
};
template <class... Ts> struct with_self<transport::self<>, Ts...> {
    using type = transport::route<transport::self<>, Ts...>;
};
template <class T> struct route_of {
    using type = typename with_self<T>::type;
};
template <class... Ts> struct route_of<transport::route<Ts...>> {
    using type = typename with_self<Ts...>::type;
};

/// The parameter of a protocol of one family among Ps; 0 where none is named.
template <template <bytes> class Family, class P> inline constexpr std::size_t parameter = 0;
template <template <bytes> class Family, bytes N> inline constexpr std::size_t parameter<Family, Family<N>> = N;
template <template <bytes> class Family, class P> inline constexpr bool is_a = false;
template <template <bytes> class Family, bytes N> inline constexpr bool is_a<Family, Family<N>> = true;

template <class List> struct protocols;
template <class... Ps> struct protocols<std::tuple<Ps...>> {
    static_assert((protocol_policy<Ps> && ...), "mpt::stack: not a protocol; the contract is in mpt/protocol/machine.hpp");
    template <template <bytes> class Family> static constexpr bool has = (is_a<Family, Ps> || ...);
    template <template <bytes> class Family> static constexpr bytes of{(std::size_t{0} + ... + parameter<Family, Ps>)};
    template <template <bytes> class Family> static constexpr bool repeated = (std::size_t{0} + ... + is_a<Family, Ps>) > 1;
    static constexpr protocol::protocol_set uses{
        .e0_max = of<protocol::e0>,
        .e1_max = of<protocol::e1>,
        .joint_from = of<protocol::rndv_get>,
        .chunk = of<protocol::rndv_put>,
        .e1 = has<protocol::e1>,
        .rndv_get = has<protocol::rndv_get>,
    };
    static_assert(!repeated<protocol::e0> && !repeated<protocol::e1> && !repeated<protocol::rndv_get> &&
                      !repeated<protocol::rndv_put>,
                  "mpt::stack: the same protocol twice");
    static_assert(has<protocol::e0>, "mpt::stack: name protocol::e0, it carries the small messages");
    static_assert(has<protocol::rndv_put>, "mpt::stack: name protocol::rndv_put, it is the way that is always open");
    static constexpr std::array<std::string_view, sizeof...(Ps)> names{Ps::name...};
};
/// Ps with every policy of P's kind replaced by P.
template <class P, class... Ps> struct exchange {
    template <class Q> using keep =
        std::conditional_t<std::is_same_v<typename Q::kind, typename P::kind>, std::tuple<>, std::tuple<Q>>;
    template <class T> struct as_stack;
    template <class... Qs> struct as_stack<std::tuple<Qs...>> {
        using type = mpt::stack<Qs...>;
    };
    using type = typename as_stack<decltype(std::tuple_cat(std::declval<std::tuple<P>>(), std::declval<keep<Ps>>()...))>::type;
};
using standard_protocols = std::tuple<protocol::e0<>, protocol::e1<>, protocol::rndv_get<>, protocol::rndv_put<>>;

} // namespace detail

template <policy... Ps> class stack {
    using named_protocols = typename detail::of_kind<kind::protocol, Ps...>::type;
    using transport_given = typename detail::one_of_kind<kind::transport, transport::smp<>, Ps...>::type;

public:
    using world_type = typename detail::one_of_kind<kind::world, world::native, Ps...>::type;
    using lock_policy_type = typename detail::one_of_kind<kind::lock, lock::ticket, Ps...>::type;
    using wait_policy_type = typename detail::one_of_kind<kind::wait, wait::adaptive, Ps...>::type;
    using memory_policy_type = typename detail::one_of_kind<kind::memory, mem::standard, Ps...>::type;
    using protocol_types =
        std::conditional_t<std::tuple_size_v<named_protocols> == 0, detail::standard_protocols, named_protocols>;
    using route_type = typename detail::route_of<transport_given>::type;

    static_assert(world_policy<world_type>, "mpt::stack: not a world; the contract is in mpt/world/world.hpp");
    static_assert(lock_policy<lock_policy_type>, "mpt::stack: not a lock; the contract is in mpt/lock/lock.hpp");
    static_assert(lock_policy_for<lock_policy_type, world_type>,
                  "mpt::stack: this lock is not made of (world, fence_mode); the contract is in mpt/lock/lock.hpp");
    static_assert(wait_policy<wait_policy_type>, "mpt::stack: not a wait policy; the contract is in mpt/wait/wait.hpp");
    static_assert(memory_policy<memory_policy_type>, "mpt::stack: not a memory policy; the contract is in mpt/mem/memory.hpp");

    using lock_type = typename lock_policy_type::template type<world_type>;
    using wait_type = typename wait_policy_type::type;
    static constexpr protocol::protocol_set uses = detail::protocols<protocol_types>::uses;
    using engine_type = protocol::engine<world_type, route_type, uses>;

    /// The same stack with one policy exchanged.
    template <policy P> using with = typename detail::exchange<P, Ps...>::type;

    /// "self+smp e0+e1+rndv_get+rndv_put ticket adaptive standard native"
    static std::string describe() {
        std::string s;
        auto join = [&s](auto const& names) {
            for (std::size_t i = 0; i < names.size(); ++i) s.append(i ? "+" : "").append(names[i]);
            s += ' ';
        };
        join(route_type::names);
        join(detail::protocols<protocol_types>::names);
        for (auto n : {lock_policy_type::name, wait_policy_type::name, memory_policy_type::name, world_type::name})
            s.append(n) += ' ';
        s.pop_back();
        return s;
    }

    /// What ranks must agree on to understand each other's frames and memory: transports, protocols and wire layout, not how
    /// a rank locks or waits.
    static constexpr std::uint64_t layout() noexcept {
        auto h = hash_of(std::string_view{"mpt wire 2"}, uses.e0_max.value);
        for (auto n : route_type::names) h = combine(h, n);
        for (auto const& f : route_type::facts) h = combine(combine(h, f.max_frame.value), f.max_stretch.value);
        for (auto n : detail::protocols<protocol_types>::names) h = combine(h, n);
        return h;
    }
};

} // namespace mpt::inline v0
