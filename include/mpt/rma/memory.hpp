/// rma/memory - how the bytes of a target are reached from here.
///
///        memory                                                    way        put get    accumulate
///        in the arena; our own                                     mapped     loads and stores, the processor's atomics
///        of a rank that is a thread of this process                shared     the same; not once the job is ended
///        of another process                                        kernel     CMA (*)    agent        what is small, and long
///        the same, where the kernel refuses CMA                    agent      agent      agent        updates: first by who waits
///        of any rank over transports that read no memory           agent      agent      agent        there (rma/active_message.hpp)
///        (*) many small runs: the agent (rma/window/move.hpp)
///
///        addresses of the target      base ............... base + size            what the window has
///                                  low ............................. low + reach    what is mapped here, at + shift
///
///   A dynamic window has all addresses; of a process's, its slice of the arena is mapped here. What is attached stands in a table in
///   the arena, which origins read before they touch anything: an attachment keeps its place there, so no lock is needed. Of more
///   attachments than places nobody can tell here: the agent is asked, by letters in place of CMA; what is mapped goes unasked.
///
///   Writers   its rank: the ways never change but from kernel to agent, by the first who is refused.
///   Memory    two cache lines a target, so that threads that lock different ones do not meet.
///   Tests     test/rma_memory_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <mpt/core/types.hpp>
#include <mpt/rma/active_message.hpp>
#include <mpt/rma/agent/asked_flag.hpp>
#include <mpt/rma/lock_word.hpp>
#include <mpt/rma/rows.hpp>
#include <mpt/transport/smp/copy.hpp>
#include <mpt/world/bell.hpp>
#include <mpt/world/native.hpp>

namespace mpt::inline v0::rma {

namespace detail {
[[noreturn, gnu::noinline]] inline void sizes_differ(char const* call, std::size_t mine, std::size_t theirs) {
    throw error{errc::argument, "mpt: " + std::string{call} + ": " + std::to_string(mine) + " bytes here and " +
                                    std::to_string(theirs) + " bytes at the target: both sides are to have as many"};
}
} // namespace detail

enum class way : std::uint8_t { mapped, shared, kernel, agent };

/// What the others must reach of a rank's part beside its memory: a block of the arena.
template <class World> struct control {
    using atomics = typename World::atomics;

    alignas(line_pair) lock_word<atomics> lock; // epochs: MPI_Win_lock and its kin
    // World ranks, plus 1, that wait for it: whose bells its next giver rings. Who finds no place looks again after every nap.
    std::array<typename atomics::template atomic<std::int32_t>, 8> waiting{};
    alignas(line_pair) lock_word<atomics> wide; // elements that no processor changes at once (rma/element.hpp)
    // Counted up by who was not answered in time: a thread that sleeps in a wait looks about once more.
    alignas(line_pair) typename atomics::template atomic<std::uint32_t> called{0};
    letters_under_way<atomics> letters{};        // to this rank's agent
    alignas(line_pair) asked_flag<atomics> rung; // set by who rings for the agent, at every look
    alignas(line_pair) rma::rows<World> rows;    // of this part
    alignas(line_pair) rma::stays<World> stays;  // of this rank's threads, in whatever part
    std::array<active_line<atomics>, 8> asked{}; // of who waits here
};
static_assert(sizeof(control<world::native>) == 30 * line_pair);

/// Which memory is attached to a rank's part of a dynamic window: written by its threads, read by all.
template <class World> class attachments {
    template <class T> using atomic = typename World::atomics::template atomic<T>;
    struct place {
        atomic<std::uint64_t> at{0}, bytes{0}; // at 0: free
    };
    static constexpr std::size_t most = 63;
    atomic<std::uint32_t> used_{0}; // places that were ever taken are the first ones
    atomic<std::uint32_t> more_{0}; // attachments without a place
    std::array<place, most> places_;

public:
    // order: of all below: who may touch memory has heard from its rank that it is attached.
    void add(std::uint64_t at, std::uint64_t n) noexcept {
        for (std::uint32_t i = 0; i < most; ++i) {
            std::uint64_t nothing = 0;
            auto& p = places_[i];
            if (!p.at.compare_exchange_strong(nothing, at, std::memory_order_relaxed)) continue;         // order: see above
            p.bytes.store(n, std::memory_order_relaxed);                                                 // order: see above
            auto seen = used_.load(std::memory_order_relaxed);                                           // order: see above
            while (seen <= i && !used_.compare_exchange_weak(seen, i + 1, std::memory_order_relaxed)) {} // order: see above
            return;
        }
        more_.fetch_add(1, std::memory_order_relaxed); // order: see above
    }
    void remove(std::uint64_t at) noexcept {
        for (auto& p : places_)
            if (p.at.load(std::memory_order_relaxed) == at) {    // order: see above
                p.bytes.store(0, std::memory_order_relaxed);     // order: see above
                return p.at.store(0, std::memory_order_relaxed); // order: see above
            }
        more_.fetch_sub(1, std::memory_order_relaxed); // order: see above
    }
    /// All of it has places. Parts that touch count as one.
    bool knows(std::uint64_t at, std::uint64_t n) const noexcept {
        while (n != 0) {
            auto const here = run_at(at);
            if (here == 0) return false;
            at += std::min(n, here), n -= std::min(n, here);
        }
        return true;
    }
    /// True where nobody can tell, too.
    bool has(std::uint64_t at, std::uint64_t n) const noexcept {
        return knows(at, n) || more_.load(std::memory_order_relaxed) != 0; // order: see above
    }

private:
    /// How much is attached from there on in one place.
    std::uint64_t run_at(std::uint64_t at) const noexcept {
        auto const used = used_.load(std::memory_order_relaxed); // order: see above
        for (std::uint32_t i = 0; i < used; ++i) {
            auto const from = at - places_[i].at.load(std::memory_order_relaxed); // order: see above
            auto const n = places_[i].bytes.load(std::memory_order_relaxed);      // order: see above
            if (from < n) return n - from;
        }
        return 0;
    }
};

/// What each rank of a window tells the others of its part.
struct card {
    std::uint64_t base = 0, size = 0;
    std::int64_t unit = 1;
    std::uint64_t memory_at = 0;                  // in the slice of rank memory_of; dynamic: of attachments, in the own slice
    std::uint64_t control_at = 0, bell_at = 0;    // in the own slice; bell_at 0: no agent
    std::uint64_t slice_here = 0, slice_size = 0; // the own slice as its rank maps it
    std::uint64_t probe_at = 0, probe[2]{};       // words to be read through the kernel, and what they are
    std::int32_t memory_of = -1;                  // world rank; -1: not in the arena
    std::int32_t pid = 0;
    std::uint32_t failed = 0; // this rank has no memory for it
    std::uint16_t locked = 0; // it wants all elements changed under the part's lock
    std::uint16_t fenced = 0; // others' barriers reach all of its threads
};
static_assert(sizeof(card) == 13 * 8 && std::is_trivially_copyable_v<card>);

/// What each rank tells the others of a window when it has seen all their cards.
struct verdict {
    std::uint32_t failed = 0, length = 0; // of the sentence that says why
    std::uint64_t code = 0;               // an errc
};
static_assert(sizeof(verdict) == 2 * 8 && std::is_trivially_copyable_v<verdict>);

/// What this rank holds of a target's lock word. `promised`: nothing, because the program has said that nobody competes.
enum class held : std::uint8_t { nothing, exclusive, shared, promised };

template <class World> struct alignas(line_pair) target {
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
    world::bell<World>* bell = nullptr;           // of the clerk who is its agent; null: it has none
    attachments<World> const* attached = nullptr; // of a dynamic window
    rank world{};
    // Bytes of rows that this rank has changed by elements, and how many make it take the part (rma/rows.hpp).
    atomic<std::uint64_t> by_elements{0}, patience{0};
    // Small operations that go another way before who waits there is asked again, how many the last time, and how many it has done.
    atomic<std::uint32_t> unasked{0}, silence{0}, heard{0};
    atomic<bool> waits{false};   // the last of them was done by a thread that waits there
    atomic<bool> reads_us{true}; // through the kernel: it has not refused yet, and no buffer of ours could not be read

    bool has(std::uint64_t first, std::uint64_t n) const noexcept {
        return inside(first - base, n, size) && is_attached(first, n);
    }
    /// Is it attached, if it has to be, as far as can be told here? The kernel asks nobody else.
    bool is_known(std::uint64_t first, std::uint64_t n) const noexcept { return !attached || attached->knows(first, n); }
    /// Where memory of the target is here; null: it is not mapped.
    std::byte* mapped(std::uint64_t first, std::uint64_t n) const noexcept {
        return inside(first - low, n, reach) && is_attached(first, n) ? at(first) : nullptr;
    }
    /// Where `offset` bytes from a displacement are; nothing where no address can count them.
    std::optional<std::uint64_t> address(std::int64_t displacement, std::int64_t offset = 0) const noexcept {
        std::int64_t bytes = 0;
        if (__builtin_mul_overflow(displacement, unit, &bytes) || __builtin_add_overflow(bytes, offset, &bytes)) [[unlikely]]
            return std::nullopt;
        return base + static_cast<std::uint64_t>(bytes);
    }
    std::byte* mapped_at(std::int64_t displacement, std::int64_t offset, std::uint64_t n) const noexcept {
        auto const first = address(displacement, offset);
        return first ? mapped(*first, n) : nullptr;
    }
    std::byte* at(std::uint64_t address) const noexcept { return reinterpret_cast<std::byte*>(address + shift); }

    /// A letter has left, or is still to be answered.
    void ring_agent(World const& w, fence_mode mode) noexcept {
        if (!bell) return;
        sync->rung.set();
        bell->ring(w, mode);
    }
    /// Is who waits there to be asked for something small? Not while letters of ours may be under way: updates are done in their order.
    /// What would be a letter else always is, for an agent that is awake looks there, too.
    bool is_worth_asking(bool else_a_letter) noexcept {
        auto const sent = asked.load(std::memory_order_relaxed);                // order: who asked it synchronises with us
        bool const is_owed = sent != confirmed.load(std::memory_order_acquire); // sync(rma.confirmed): acquire
        if (is_owed && !sync->letters.none()) return false;
        auto const n = unasked.load(std::memory_order_relaxed);      // order: an estimate
        if (n != 0) unasked.store(n - 1, std::memory_order_relaxed); // order: an estimate
        return n == 0 || else_a_letter;
    }
    void was_asked(bool in_time, bool by_who_waits) noexcept {
        waits.store(by_who_waits, std::memory_order_relaxed); // order: an estimate
        // Not so many that who was rung has gone to sleep again: it looks for some 100 us, and 32 puts by the kernel take 50.
        constexpr std::uint32_t shortest = 8, longest = 32;
        auto const before = silence.load(std::memory_order_relaxed); // order: an estimate
        auto const n = in_time ? 0 : std::clamp(2 * before, shortest, longest);
        silence.store(n, std::memory_order_relaxed);                                                    // order: an estimate
        unasked.store(n, std::memory_order_relaxed);                                                    // order: an estimate
        if (in_time) heard.store(heard.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); // order: a figure
    }

private:
    bool is_attached(std::uint64_t first, std::uint64_t n) const noexcept { return !attached || attached->has(first, n); }
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
