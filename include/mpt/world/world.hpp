/// world/world - what a rank is made of: the contract of a world.
///
///   Nothing above core/ reads a clock, sleeps, yields, asks which thread it is, draws a random number or blocks in the kernel
///   except through the stack's world. A rank may then be a process (world::native), a thread of one process
///   (world::threads), or a fibre on a virtual clock.
///
///   expression              returns      meaning                                                     who may call
///   W::atomics              type         the atomics that leaf algorithms of this world use          -
///   W::shares_process       bool         other ranks may live in this process                        -
///   w.now()                 nanoseconds  monotonic, origin unspecified                               anyone
///   w.pause()               -            a spin hint; a scheduling point in a model                  anyone
///   w.yield()               -            lets another rank of this CPU run                           anyone
///   w.sleep_for(d)          -            blocks for about d                                          anyone
///   w.self()                uint64       the calling thread (or fibre); never 0, and below 2^63      anyone
///   w.random()              uint64       uniform, unpredictable enough for 64-bit context ids        anyone
///   w.wait(word, seen, d)   -            sleeps while word == seen, at most d; may return early      anyone
///   w.wake(word, n)         -            wakes at most n sleepers on word                            anyone
///   w.wait_readable(fds, d) -            sleeps until a descriptor can be read, at most d; early too  anyone
#pragma once
#include <chrono>
#include <concepts>
#include <cstdint>
#include <span>

#include <mpt/core/policy.hpp>

namespace mpt::inline v0 {

using nanoseconds = std::chrono::nanoseconds;

template <class W>
concept world_policy = policy<W> && std::copyable<W> && std::default_initializable<W> &&
                       requires(W const& w, typename W::atomics::template atomic<std::uint32_t>& word, std::uint32_t seen,
                                nanoseconds d, int n, std::span<int const> fds) {
                           { W::shares_process } -> std::convertible_to<bool>;
                           { w.now() } noexcept -> std::same_as<nanoseconds>;
                           { w.pause() } noexcept;
                           { w.yield() } noexcept;
                           { w.sleep_for(d) } noexcept;
                           { w.self() } noexcept -> std::same_as<std::uint64_t>;
                           { w.random() } noexcept -> std::same_as<std::uint64_t>;
                           { w.wait(word, seen, d) } noexcept;
                           { w.wake(word, n) } noexcept;
                           { w.wait_readable(fds, d) } noexcept;
                       };

} // namespace mpt::inline v0
