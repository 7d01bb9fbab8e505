/// wait/calls - the collectives with a root that a rank called last, where a rank that waits for another finds out why it does.
///
///   Every call is one entry, by its number among the calls of its communicator; a later call takes the place of an earlier one.
///
///        note(context, what)            find(context, number)
///        last[(context + number) % 8]   <- the same place
///        = { what ^ mixed(context), what }        an entry whose two words do not belong together is none
///
///   what    the number of the call in the low half, from 1 on; the high half is the caller's (coll/rooted.hpp).
///   Writers the threads of one rank. Two that write one entry at once may leave a mixture, which is no entry of any context.
///   Order   none: an entry says by itself whether it is whole, and nothing else is read because of it.
///   Cost    two stores into a line of the rank's own.
///   Tests   test/wait_calls_test.cpp
#pragma once
#include <cstdint>

#include <mpt/core/atomics.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

template <class Atomics> class basic_call_log {
    template <class T> using atomic = typename Atomics::template atomic<T>;
    struct entry {
        atomic<std::uint64_t> check, what;
    };
    static constexpr unsigned kept = 8;
    entry last_[kept];

    /// Contexts that differ in a few bits only (those of the world and of a rank alone) differ in many here.
    static std::uint64_t mixed(context_id c) noexcept { return static_cast<std::uint64_t>(c) * 0x9e3779b97f4a7c15; }
    static unsigned place(context_id c, std::uint64_t what) noexcept {
        return static_cast<unsigned>((mixed(c) >> 32) + what) % kept;
    }

public:
    void note(context_id c, std::uint64_t what) noexcept {
        auto& e = last_[place(c, what)];
        e.check.store(what ^ mixed(c), std::memory_order_relaxed); // order: an entry says by itself whether it is whole
        e.what.store(what, std::memory_order_relaxed);             // order: as above
    }
    /// The call with that number, or 0: the rank did not come to it yet, or it is too long ago.
    std::uint64_t find(context_id c, std::uint32_t number) const noexcept {
        auto const& e = last_[place(c, number)];
        auto const what = e.what.load(std::memory_order_relaxed);   // order: an entry says by itself whether it is whole
        auto const check = e.check.load(std::memory_order_relaxed); // order: as above
        return (what ^ check) == mixed(c) && static_cast<std::uint32_t>(what) == number ? what : 0;
    }
    /// Before the rank meets the others: a job that it was in before counted its calls from 1 on as well.
    void clear() noexcept {
        for (auto& e : last_) e.what.store(0, std::memory_order_relaxed); // order: the others are met after it
    }
};

using call_log = basic_call_log<native_atomics>;

} // namespace mpt::inline v0
