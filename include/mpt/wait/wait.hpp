/// wait/wait - the contract of a wait policy: what a rank does while there is nothing to do.
///
///   A wait policy only decides; the engine acts (wait/doorbell.hpp holds the mechanism of sleeping). One object of
///   `W::type` lives as long as one blocking call.
///
///        poll found something ---> w.reset()
///        poll found nothing   ---> switch (w.next()) { spin: poll again at once
///                                                      pause: world.pause()
///                                                      yield: world.yield()
///                                                      sleep: arm the doorbell, poll once more, wait at most w.nap() }
///
///   expression          returns      meaning
///   w.next()            wait_step    after one more empty poll: what now
///   w.reset()           -            a poll found something: as at first, but for looks that were left before a yield (wait_facts::between)
///   w.nap()             nanoseconds  longest sleep before the next look, of a thread for which no other looks; never unbounded
///
///   Measured here (docs/design.md): `pause` costs 22 ns and doubles a latency; a yield to another rank of the same CPU
///   0.63 us; a futex wake of an idle CPU 33-45 us. So: spin only on a CPU that is ours, then yield, and sleep only after
///   yields found nothing.
#pragma once
#include <concepts>
#include <cstdint>

#include <mpt/core/policy.hpp>
#include <mpt/world/world.hpp>

namespace mpt::inline v0 {

enum class wait_step : std::uint8_t { spin, pause, yield, sleep };

/// What a waiter may know about its surroundings. One per environment, made at start.
struct wait_facts {
    bool scarce = false;        // ranks of this node outnumber the CPUs they may use (affinity mask and cgroup)
    std::uint32_t spins = 2000; // empty polls before the first yield, where CPUs are not scarce (MPT_SPIN)
    std::uint32_t yields = 200; // empty polls, each with a yield, before the first sleep (MPT_YIELD)
    nanoseconds nap{2'000'000}; // longest sleep before looking again
    std::uint32_t between = 0;  // empty polls between two of the first yields, where CPUs are scarce: see looks_between()
};

/// The same for a wait that sleeps at once.
constexpr wait_facts asleep(wait_facts f) noexcept {
    f.spins = f.yields = 0;
    return f;
}

/// The same for a wait on a CPU that nobody else wants just now, whoever shares it: some looks come first.
constexpr wait_facts unshared(wait_facts f) noexcept {
    constexpr std::uint32_t looks = 64;
    f.scarce = false;
    f.spins = f.spins < looks ? f.spins : looks;
    return f;
}

/// The same with fewer looks and as much more yields; who is told to spin for ever does so.
constexpr wait_facts yielding(wait_facts f, std::uint32_t looks) noexcept {
    constexpr std::uint32_t for_ever = ~std::uint32_t{0};
    if (f.spins <= looks || f.spins == for_ever) return f;
    auto const fewer = f.spins - looks;
    f.spins = looks;
    f.yields += fewer < for_ever - f.yields ? fewer : for_ever - f.yields;
    return f;
}

/// The same for a wait on a CPU that is a rank's own, as far as ranks go, and that a program or a thread of its own wants that computes.
/// origin: halo, messages, 2 ranks of 2, 4 and 8 threads on 2 CPUs of an AMD EPYC, us a step: 64, 84, 164, and so 42, 64, 128; in another run
/// by 96 to 223 looks 45, 70, 142, and by these 16 44, 67, 130
constexpr wait_facts shared(wait_facts f) noexcept { return yielding(f, 16); }

/// The same for one that has just done what a peer asked for, who may ask again at once: to wake it for that takes longer than it looks, and a
/// time slice where it yields to somebody who computes.
constexpr wait_facts asked(wait_facts f) noexcept { return yielding(f, 256); }

/// How often a receive looks before it waits; idle: nobody else wants its CPU.
constexpr std::uint32_t looks_of(wait_facts const& f, bool idle) noexcept {
    return !f.scarce ? f.spins : idle ? unshared(f).spins : 16;
}

/// How often a rank that has its CPU back looks before it yields again, where at most so many of all ranks share a CPU. Of two the other one may
/// wait for this one, too, and both for ranks that run elsewhere: to switch to it and back takes longer than what is on its way. Where more share
/// it, all stand in line for their turn, and each look of one is time of all others.
/// origin: 4 ranks on 2 CPUs of an AMD EPYC, Zen 4, 8 bytes, us, by 0 and 16 looks (50 rounds by turns): reductions, alltoalls and allgathers that
/// are begun 6.7, 6.8, 6.7 and 5.8, 6.4, 6.2; shifts 2.7 and 2.0; halos, neighbours and blocking collectives within 5 %. 3 ranks: nothing. 8 ranks:
/// begun allgathers 22 and 34, shifts 4.8 and 8.3
constexpr std::uint32_t looks_between(unsigned ranks_on_each, unsigned ranks) noexcept {
    return ranks_on_each == 2 && ranks > 2 ? 16 : 0;
}

/// The bound that every policy puts on a nap: a lost peer, or memory that peers write without ringing, is seen within a second.
constexpr nanoseconds bounded_nap(nanoseconds wished) noexcept {
    constexpr nanoseconds least{1'000}, most{1'000'000'000};
    return wished < least ? least : wished > most ? most : wished;
}

template <class T>
concept wait_type = std::constructible_from<T, wait_facts const&> && requires(T& t) {
    { t.next() } noexcept -> std::same_as<wait_step>;
    { t.reset() } noexcept;
    { t.nap() } noexcept -> std::same_as<nanoseconds>;
};

template <class W>
concept wait_policy = policy<W> && std::same_as<typename W::kind, kind::wait> && wait_type<typename W::type>;

} // namespace mpt::inline v0
