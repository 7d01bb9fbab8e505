/// rma/memory - how the bytes of a target are reached from here.
///
///        memory                                                    way        put get    accumulate
///        in the arena; our own                                     mapped     loads and stores, the processor's atomics
///        of a rank that is a thread of this process                shared     the same; not once the job is ended
///        of another process                                        kernel     CMA        agent
///        the same, where the kernel refuses CMA                    agent      agent      agent
///        of any rank over transports that read no memory           agent      agent      agent
///
///        addresses of the target      base ............... base + size            what the window has
///                                  low ............................. low + reach    what is mapped here, at + shift
///
///   A dynamic window has all addresses; of a process's, its slice of the arena is mapped here.
///
///   Writers   its rank: the ways never change but from kernel to agent, by the first who is refused.
///   Tests     test/rma_memory_test.cpp
#pragma once
#include <mpt/core/types.hpp>
#include <mpt/rma/lock_word.hpp>
#include <mpt/transport/smp/copy.hpp>
#include <mpt/world/bell.hpp>
#include <mpt/world/native.hpp>

namespace mpt::inline v0::rma {

enum class way : std::uint8_t { mapped, shared, kernel, agent };

/// What the others must reach of a rank's part beside its memory: a block of the arena.
template <class World> struct control {
    using atomics = typename World::atomics;

    alignas(line_pair) lock_word<atomics> lock;    // epochs: MPI_Win_lock and its kin
    alignas(line_pair) lock_word<atomics> wide;    // elements that no processor changes at once (rma/element.hpp)
    alignas(line_pair) world::bell<World> agent{}; // rung by who has sent the agent a letter
};
static_assert(sizeof(control<world::native>) == 3 * line_pair);

/// What each rank of a window tells the others of its part.
struct card {
    std::uint64_t base = 0, size = 0;
    std::int64_t unit = 1;
    std::uint64_t memory_at = 0;                  // in the slice of rank memory_of
    std::uint64_t control_at = 0;                 // in the own slice
    std::uint64_t slice_here = 0, slice_size = 0; // the own slice as its rank maps it
    std::uint64_t probe_at = 0, probe[2]{};       // words to be read through the kernel, and what they are
    std::int32_t memory_of = -1;                  // world rank; -1: not in the arena
    std::int32_t pid = 0;
    std::uint32_t failed = 0; // this rank has no memory for it
    std::uint32_t reserved = 0;
};
static_assert(sizeof(card) == 12 * 8 && std::is_trivially_copyable_v<card>);

/// What this rank holds of a target's lock word. `promised`: nothing, because the program has said that nobody competes.
enum class held : std::uint8_t { nothing, exclusive, shared, promised };

template <class World> struct target {
    template <class T> using atomic = typename World::atomics::template atomic<T>;

    // Words of the fast path come first.
    atomic<bool> open{false}; // an epoch of this rank's to it alone
    held lock = held::nothing;
    atomic<way> by{way::mapped}; // how what is not mapped is reached
    // Letters without an answer that its agent was sent, and how many of them it has confirmed: threads flush while others ask.
    atomic<std::uint32_t> asked{0}, confirmed{0};
    std::int32_t pid = 0;
    std::uint64_t base = 0, size = 0, low = 0, reach = 0, shift = 0;
    std::int64_t unit = 1;
    control<World>* sync = nullptr;
    rank world{};

    bool has(std::uint64_t first, std::uint64_t n) const noexcept { return inside(first - base, n, size); }
    /// Where memory of the target is here; null: it is not mapped.
    std::byte* mapped(std::uint64_t first, std::uint64_t n) const noexcept {
        return inside(first - low, n, reach) ? at(first) : nullptr;
    }
    std::byte* at(std::uint64_t address) const noexcept { return reinterpret_cast<std::byte*>(address + shift); }

private:
    static bool inside(std::uint64_t from, std::uint64_t n, std::uint64_t all) noexcept {
        return from <= all && n <= all - from;
    }
};

/// Does the kernel let us read and write that process? The words tell it from another one of its number.
inline bool kernel_reaches(card const& c) noexcept {
    std::uint64_t seen[2]{};
    return smp::read_process(c.pid, seen, c.probe_at, sizeof seen) == status::ok && seen[0] == c.probe[0] &&
           seen[1] == c.probe[1];
}

} // namespace mpt::inline v0::rma
