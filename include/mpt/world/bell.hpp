/// world/bell - one word on which threads sleep until somebody publishes something, and which costs him who publishes a load.
///
///        publisher                             sleeper
///        ---------                             -------
///        publish                               seen = arm()      even -> odd, then heavy()
///        ring(): light(), odd?                 look once more: found it -> done
///           no  -> done                        sleep(seen, d)    futex while the word is `seen`
///           yes -> odd -> even, wake all       look again, arm again
///
///   States  even: nobody has armed it since the last ring; odd: somebody sleeps or is about to. Rings count up.
///   Order   Dekker between the word and what is published. Every arm is a read-modify-write, so for each arm and each ring
///           one came first in the word's order. The ring looked before the arm: its publisher's fence then came before
///           the sleeper's, and the look after arm() finds what was published. The arm came first: the ring sees an odd
///           word, and the compare-exchange leaves `seen` behind before it wakes; a sleeper that is not yet in the kernel
///           finds another word there. A compare-exchange that fails met another ring (which wakes the same sleepers), or
///           an arm after that ring: that sleeper's last look is still to come, and our publisher's fence was before it.
///           What is published carries its own release; the word itself orders nothing. Where fences are invisible, the
///           ring's look is a read-modify-write that releases and the arm acquires: a ring that came first is then seen.
///   Several sleepers share one odd value and are woken together. There is nothing to disarm, for one sleeper cannot
///           know that it is the last: a sleeper that goes leaves the word odd, and the next ring is a spare wake-up call.
///   Cost    ring(): one load of a line that only sleeping writes, and a full fence where the mode is fence_mode::both.
///           One wake-up call per sleep, not per message: the first ring makes the word even for all.
///   Memory  one 32-bit word, zero at birth, may lie in shared memory. A ringer that dies between its two steps lets a
///           sleeper sleep to the end of d: d is never unbounded.
///   Tests   test/world_bell_test.cpp, test/model/bell_model_test.cpp
#pragma once
#include <cstdint>
#include <limits>

#include <mpt/core/atomics.hpp>
#include <mpt/world/world.hpp>

namespace mpt::inline v0::world {

template <class World> class bell {
    using atomics = typename World::atomics;
    using fences = typename atomics::fences;
    typename atomics::template atomic<std::uint32_t> state_{0};

public:
    /// Sleeper: says that it is about to sleep. Returns what sleep() must be given. Look once more after it.
    std::uint32_t arm(fence_mode mode) noexcept {
        if constexpr (fences::invisible) return state_.fetch_or(1, std::memory_order_acquire) | 1; // sync(bell.state): acquire
        auto const seen = state_.fetch_or(1, std::memory_order_relaxed) | 1; // order: heavy() orders it before the last look
        fences::heavy(mode);
        return seen;
    }
    /// Sleeper: until a ring after arm(), at most `longest`; may return early.
    void sleep(World const& world, std::uint32_t seen, nanoseconds longest) noexcept { world.wait(state_, seen, longest); }

    /// Publisher: after it has published. Wakes all who armed.
    [[gnu::always_inline]] void ring(World const& world, fence_mode mode) noexcept {
        auto seen = look(mode);
        if ((seen & 1) == 0) [[likely]]
            return;
        if (!state_.compare_exchange_strong(seen, seen + 1, std::memory_order_relaxed)) return; // order: see Order above
        world.wake(state_, std::numeric_limits<int>::max());
    }

private:
    [[gnu::always_inline]] std::uint32_t look(fence_mode mode) noexcept {
        if constexpr (fences::invisible) return state_.fetch_add(0, std::memory_order_release); // sync(bell.state): release
        fences::light(mode);
        return state_.load(std::memory_order_relaxed); // order: light() before it, heavy() on the other side
    }
};

} // namespace mpt::inline v0::world
