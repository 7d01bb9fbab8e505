/// lock/lock - the contract of a lock, and its guard.
///
///   A lock policy is a tag; `L::type<World>` is the lock itself. A waiter brings a `node` that lives on its stack, so that
///   locks with a queue and locks without one read the same at the call site.
///
///   expression          returns   meaning                                                            who may call
///   L::process_shared   bool      may lie in memory that several processes share                     -
///   L::recursive        bool      the holder may acquire again; it releases as often                 -
///   L::fair             bool      waiters enter in the order in which they came                        -
///   L::type<W>(w, mode) -         made in place and never moved; mode: who fences, may be left out   its owner
///   l.acquire(n)        -         returns when the caller holds the lock                             anyone
///   l.try_acquire(n)    bool      never waits; may refuse for a while what another left just now     anyone
///   l.release(n)        -         the last release lets the next waiter in                           the holder
///   l.in_vain()         -         may be left out: the holder has found nothing to do, so that       the holder
///                                 its coming again is no reason to let it in before others
///   l.give_up()         -         may be left out: the caller will not come back soon                anyone outside
///
///   fence_mode::sleeper promises that all who take the lock are threads of one process, which has registered (register_heavy): who comes
///   rarely may then pay for who comes often. fence_mode::both promises nothing.
#pragma once
#include <concepts>

#include <mpt/core/fences.hpp>
#include <mpt/core/policy.hpp>
#include <mpt/world/world.hpp>

namespace mpt::inline v0 {

template <class T>
concept lock_type = requires(T& l, typename T::node& n) {
    { l.acquire(n) } noexcept -> std::same_as<void>;
    { l.try_acquire(n) } noexcept -> std::same_as<bool>;
    { l.release(n) } noexcept -> std::same_as<void>;
};

template <class L>
concept lock_policy = policy<L> && std::same_as<typename L::kind, kind::lock> && requires {
    { L::process_shared } -> std::convertible_to<bool>;
    { L::recursive } -> std::convertible_to<bool>;
    { L::fair } -> std::convertible_to<bool>;
};

/// A policy whose lock for ranks of that world is made as the contract says.
template <class L, class World>
concept lock_policy_for = lock_policy<L> && lock_type<typename L::template type<World>> &&
                          std::constructible_from<typename L::template type<World>, World, fence_mode> &&
                          std::constructible_from<typename L::template type<World>, World> &&
                          std::default_initializable<typename L::template type<World>>;

template <lock_type T> class [[nodiscard]] guard {
    T& lock_;
    [[no_unique_address]] typename T::node node_{};

public:
    [[gnu::always_inline]] explicit guard(T& l) noexcept : lock_{l} { lock_.acquire(node_); }
    [[gnu::always_inline]] ~guard() { lock_.release(node_); }
    guard(guard const&) = delete;
    guard& operator=(guard const&) = delete;
};

/// Says to a lock that hears it that its holder is there in vain; that the caller goes for longer.
template <lock_type T> void say_in_vain(T& l) noexcept {
    if constexpr (requires { l.in_vain(); }) l.in_vain();
}
template <lock_type T> void give_up(T& l) noexcept {
    if constexpr (requires { l.give_up(); }) l.give_up();
}

} // namespace mpt::inline v0
