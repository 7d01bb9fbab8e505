/// core/policy - what a policy is, and the kinds there are.
///
///   A policy is a small type with a `kind` (what it is for) and a `name` (for logs, mptinfo and benchmark labels).
///   `mpt::stack<>` sorts its arguments by kind, so their order never matters. Most policies are tags that hold the real
///   class as a nested template over the stack's world (`type<World>`, `endpoint<World>`): what a rank is - a process, a
///   thread, a fibre - is then named once, in the stack.
#pragma once
#include <concepts>
#include <string_view>

#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

namespace kind {
struct world;
struct lock;
struct wait;
struct memory;
struct transport; // one transport, or a route over several
struct protocol;
} // namespace kind

template <class P>
concept policy = requires {
    typename P::kind;
    { P::name } -> std::convertible_to<std::string_view>;
};

} // namespace mpt::inline v0
