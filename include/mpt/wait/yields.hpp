/// wait/yields - what the yields of those that wait cost: a switch between ranks, or a time slice of somebody else's program.
///
///        took(t) of a yield   t is short: as ever
///                             t is a slice: no yields in this wait, nor in the next 8 of this object's; then one tells again:
///                             8, 24, 56, ... up to 1024 waits, until one is short
///        are_dear()           asked by a wait that is about to yield: sleep in its place?
///
///   Why     A yield lets all others of this CPU go first. Ranks that wait give it back in a microsecond; a program that computes keeps
///           it for its slice, 1 to 4 ms, and 200 yields before a sleep are half a second. Who sleeps is put in front of such a program
///           as soon as it is rung for.
///           origin: a message to and fro of 2 ranks beside 2 busy programs on 2 CPUs: above 100 ms by yields, 15 us in the mean so
///   Order   all are hints: whoever is told wrongly yields or sleeps once more, and nothing hangs on it.
///   Threads any, at once.
///   Tests   test/wait_yields_test.cpp
#pragma once
#include <algorithm>
#include <cstdint>

#include <mpt/core/atomics.hpp>
#include <mpt/world/world.hpp>

namespace mpt::inline v0::wait {

class yields {
    native_atomics::atomic<std::uint32_t> without_{0}; // waits yet to come that do without
    native_atomics::atomic<std::uint32_t> last_{0};    // how many those were the last time

public:
    /// The least slice of Linux' schedulers is 0.7 ms; ranks that take turns, 16 on a CPU, need a hundredth of it.
    static constexpr nanoseconds slice{700'000};
    static constexpr std::uint32_t most = 1024;

    /// True: it was a slice.
    bool took(nanoseconds t) noexcept {
        if (t < slice) [[likely]] {
            if (last_.load(std::memory_order_relaxed) != 0) last_.store(0, std::memory_order_relaxed); // order: a hint
            return false;
        }
        auto const n = std::min(2 * last_.load(std::memory_order_relaxed) + 8, most); // order: a hint
        last_.store(n, std::memory_order_relaxed);                                    // order: a hint
        without_.store(n, std::memory_order_relaxed);                                 // order: a hint
        return true;
    }
    bool were_dear() const noexcept { return without_.load(std::memory_order_relaxed) != 0; } // order: a hint
    /// Asked once a wait.
    bool are_dear() noexcept {
        auto const n = without_.load(std::memory_order_relaxed); // order: a hint
        if (n == 0) [[likely]]
            return false;
        without_.store(n - 1, std::memory_order_relaxed); // order: a hint; threads that ask at once are counted as one
        return true;
    }
};

} // namespace mpt::inline v0::wait
