/// wait/yields - what the yields of those that wait cost: a switch between ranks, or a time slice of somebody else's program.
///
///        took(t) of a yield   t is short: as ever
///                             t is a slice, as was one of the 32 before: no yields in this wait, nor in the next 8 of this object's; then
///                             one tells again: 8, 24, 56, ... up to 1024 waits; each short one halves that
///        are_dear()           asked by a wait that is about to yield: sleep in its place? By who polls: better not?
///        are_worth_a_try()    asked by a wait that was told so and whose companions all sleep, who may have been those that took them: no more
///                             once these yields took slices, too, until any is short
///        are_idle()           asked by a wait that would yield at once: the last four came back as if nobody else wanted this CPU. Look first?
///                             Yes 32 times, then one yields at once and tells again.
///        were_in_vain()       asked by who might copy with a peer at once: did the last four come back so? The peer runs elsewhere, then.
///        are_taken()          asked by a wait on a CPU that should be its own: did somebody else run there when one was yielded? Yield soon,
///                             then. Yes 32 times after each such yield, until four in a row came back as if nobody had.
///        polled_in_vain()     asked by who polls and goes on (MPI_Test): were so many polls in vain that others should go first?
///
///   Why     A yield lets all others of this CPU go first. Ranks that wait give it back in a microsecond; a program that computes keeps
///           it for its slice, 1 to 4 ms, and 200 yields before a sleep are half a second. Who sleeps is put in front of such a program
///           as soon as it is rung for.
///           origin: a message to and fro of 2 ranks beside 2 busy programs on 2 CPUs: above 100 ms by yields, 15 us in the mean so
///   Turns   Ranks that share a CPU and have much to copy take long, too, all of them together, now and then: that is no slice, and to
///           sleep then costs a wake-up for each message.
///           origin: alltoall of 16 ranks on 2 CPUs of an AMD EPYC, pieces of 16 KiB, 2.2 ms, 1.4 so, 0.9 where nobody sleeps
///   Memory  threads of two ranks on one CPU hand it to each other in microseconds, some times, and then a program has its slice: what counts
///           is what they take in the mean, and one slice is 1000 switches.
///           origin: accumulates of 128 elements, target's memory not mapped, 2 busy programs on 2 CPUs: 2 ms where a short yield forgot the long
///           ones, 6 to 60 us with this and what it goes with (rma/clerk.hpp, wait_facts asked())
///   Limit   Where the system call alone takes more than `in_vain`, each CPU counts as taken, and none as idle.
///   Order   all are hints: whoever is told wrongly yields or sleeps once more, or copies another way (protocol/engine/limits.hpp), and
///           nothing hangs on it.
///   Threads any, at once; short ones of one thread halve what the long ones of another have said.
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
    native_atomics::atomic<std::uint32_t> again_{0};   // yields yet to come of which a long one is not the first
    native_atomics::atomic<bool> hopeless_{false};     // see are_worth_a_try()
    native_atomics::atomic<std::uint32_t> idle_{0};    // waits yet to come that look first
    native_atomics::atomic<std::uint32_t> polls_{0};   // in a row that found nothing
    native_atomics::atomic<std::uint32_t> in_vain_{0}; // yields in a row that nobody took, up to `row`
    native_atomics::atomic<std::uint32_t> taken_{0};   // waits yet to come that look only a little
    nanoseconds long_;

public:
    /// The least slice of Linux' schedulers is 0.7 ms, and 1.5 with two CPUs. Ranks that only wait, 16 on a CPU, need a hundredth of it for a
    /// turn of all; those that copy what they have for all others may take as much as `turn` in the mean.
    static constexpr nanoseconds slice{700'000}, turn{100'000}, longest{1'400'000};
    static constexpr std::uint32_t most = 1024, remembered = 32; // waits; yields
    /// One that nobody takes: the system call alone; a switch to another rank and back takes longer.
    /// origin: AMD EPYC guests, us: 0.55 to 0.65, and 2.8 to 3.6 with a switch to a program that yields and back
    static constexpr nanoseconds in_vain{1'000};
    static constexpr std::uint32_t vain_polls = 16;     // as few as a look of a receive has
    static constexpr std::uint32_t waits = 32, row = 4; // one may be in vain where all others have just had their turns

    /// ranks: how many share a CPU.
    explicit yields(unsigned ranks = 1) noexcept : long_{slice_beside(ranks)} {}
    /// What takes longer is nobody's turn.
    static constexpr nanoseconds slice_beside(unsigned ranks) noexcept {
        return std::min(slice + (std::max(ranks, 1u) - 1) * turn, longest);
    }

    /// True: it was a slice, and not the first of late.
    bool took(nanoseconds t) noexcept {
        tell_idle(t < in_vain);
        auto const last = last_.load(std::memory_order_relaxed); // order: a hint
        if (t < long_) [[likely]] {
            if (last != 0) last_.store(last / 2, std::memory_order_relaxed); // order: a hint
            if (auto const n = again_.load(std::memory_order_relaxed); n != 0) [[unlikely]]
                again_.store(n - 1, std::memory_order_relaxed);         // order: a hint
            if (hopeless_.load(std::memory_order_relaxed)) [[unlikely]] // order: a hint
                hopeless_.store(false, std::memory_order_relaxed);
            return false;
        }
        if (again_.exchange(remembered, std::memory_order_relaxed) == 0 && last == 0) return false; // order: a hint
        auto const n = std::min(2 * last + 8, most);
        last_.store(n, std::memory_order_relaxed);    // order: a hint
        without_.store(n, std::memory_order_relaxed); // order: a hint
        return true;
    }
    /// Asked once a wait that would yield at once, or a poll.
    bool are_idle() noexcept { return is_one_of(idle_); }
    /// Asked once a wait that would not.
    bool are_taken() noexcept { return is_one_of(taken_); }
    /// Did nobody else want this CPU, the last times that it was yielded?
    bool were_in_vain() const noexcept { return in_vain_.load(std::memory_order_relaxed) == row; } // order: a hint
    bool were_idle() const noexcept { return idle_.load(std::memory_order_relaxed) != 0; }         // order: a hint
    bool were_dear() const noexcept { return without_.load(std::memory_order_relaxed) != 0; }      // order: a hint
    /// Told by a poll that finds something.
    void found() noexcept {
        if (polls_.load(std::memory_order_relaxed) != 0) polls_.store(0, std::memory_order_relaxed); // order: a hint
    }
    /// Asked by each that does not.
    bool polled_in_vain() noexcept {
        auto const n = polls_.load(std::memory_order_relaxed) + 1;       // order: a hint
        polls_.store(n < vain_polls ? n : 0, std::memory_order_relaxed); // order: a hint
        return n >= vain_polls;
    }
    bool are_worth_a_try() const noexcept { return !hopeless_.load(std::memory_order_relaxed); } // order: a hint
    void tried_in_vain() noexcept { hopeless_.store(true, std::memory_order_relaxed); }          // order: a hint
    /// Asked by the first yield of a row, or by the last of a row of polls.
    bool are_dear() noexcept { return is_one_of(without_); }

private:
    /// Of so many to come.
    static bool is_one_of(native_atomics::atomic<std::uint32_t>& left) noexcept {
        auto const n = left.load(std::memory_order_relaxed); // order: a hint
        if (n == 0) [[likely]]
            return false;
        left.store(n - 1, std::memory_order_relaxed); // order: a hint; threads that ask at once are counted as one
        return true;
    }
    void tell_idle(bool yes) noexcept {
        auto const before = in_vain_.load(std::memory_order_relaxed); // order: a hint
        auto const now = yes ? std::min(before + 1, row) : 0;
        if (now != before) in_vain_.store(now, std::memory_order_relaxed); // order: a hint
        if (!yes) taken_.store(waits, std::memory_order_relaxed);          // order: a hint
        else if (now == row && taken_.load(std::memory_order_relaxed) != 0)
            taken_.store(0, std::memory_order_relaxed); // order: a hint
        auto const idle = now == row ? waits : 0;
        if (idle_.load(std::memory_order_relaxed) != idle) idle_.store(idle, std::memory_order_relaxed); // order: a hint
    }
};

} // namespace mpt::inline v0::wait
