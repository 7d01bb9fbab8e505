/// core/atomics - the one door to atomics.
///
///   A leaf algorithm (ring, turn line, counter, doorbell, lock) takes its atomics as a template parameter and never says
///   std::atomic. Here the parameter is the machine's atomics; in test/model it is a set whose every access is a point where
///   a seeded scheduler may switch, and which knows the C++ memory order well enough to let a relaxed store be seen late.
///   Nothing above the leaves carries the parameter.
///
///   Ordering is by named release/acquire pairs (`// sync(label): release` beside the access, checked by
///   tools/check_sync.py), and by the three operations of core/fences.hpp.
#pragma once
#include <atomic>

#include <mpt/core/fences.hpp>
#include <mpt/core/processor.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

struct native_atomics {
    template <class T> using atomic = std::atomic<T>;
    /// An object of the program's that is none, for a moment.
    template <class T> using atomic_ref = std::atomic_ref<T>;

    /// What both sides of a sleep agree on; see core/fences.hpp.
    using fences = native_fences;

    /// Tells the core that this is a spin loop. 22 ns where we measured, which doubles a latency: spin without it first.
    static void pause() noexcept { processor::pause(); }
    /// About as long as an answer from another core takes at the least: 120 turns of a loop, a cycle each, and not pauses, which
    /// are long and differ from processor to processor. Measured (30 ns): 90 turns cost some runs more, 150 cost every run.
    static void rest() noexcept { processor::count_down(120); }
};

} // namespace mpt::inline v0
