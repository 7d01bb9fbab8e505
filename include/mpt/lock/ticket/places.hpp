/// lock/ticket/places - where those in line for a ticket lock that give their CPU away say so, and a release passes them by.
///
///        waiter                                               holder that leaves
///        ------                                               ------------------
///        0 -> away(ticket), yield                             away(ticket) -> passed(ticket): on to the next ticket
///        back: what was there -> 0; away: still in line
///                                   passed: the turn is lost
///
///   Why     Where threads outnumber CPUs, a turn given to a thread that is not running stops all others until the system runs it,
///           and as all of them come again at once, every turn after it too. So first come, first served holds among those who look or
///           sleep.
///   Places  one for each ticket, modulo their number. One that another ticket has is not waited for: its waiter stays in line.
///   Order   Both sides change a place by one read-modify-write, so one of them is first: a waiter that comes back before it was passed
///           is in line, whether its turn has come meanwhile or not. Nothing hangs on a place but that.
///   Tests   test/lock_ticket_places_test.cpp; test/lock_ticket_test.cpp, test/model/ticket_model_test.cpp
#pragma once
#include <array>
#include <cstdint>

#include <mpt/core/atomics.hpp>
#include <mpt/world/world.hpp>

namespace mpt::inline v0::lock {

/// Count: more than there may be waiters, for who finds its place taken stays in line.
template <class World, std::uint32_t Count> class ticket_places {
    static_assert(Count > 0 && (Count & (Count - 1)) == 0, "mpt::lock::ticket: the number of places is a power of two");
    using atomic = typename World::atomics::template atomic<std::uint64_t>;
    std::array<atomic, Count> all_{}; // 0, or away(ticket), or passed(ticket)

    static constexpr std::uint64_t away(std::uint32_t ticket) noexcept { return std::uint64_t{ticket} << 2 | 1; }
    static constexpr std::uint64_t passed(std::uint32_t ticket) noexcept { return std::uint64_t{ticket} << 2 | 2; }

public:
    /// A hint; and a line that waiters write with each yield.
    bool is_away(std::uint32_t turn) const noexcept {
        return all_[turn % Count].load(std::memory_order_relaxed) == away(turn); // order: a hint
    }
    /// The holder: true where the waiter of that turn is away, and has lost it.
    bool pass_by(std::uint32_t turn) noexcept {
        auto& place = all_[turn % Count];
        auto seen = place.load(std::memory_order_relaxed); // order: a hint, the exchange decides
        if (seen != away(turn)) [[likely]]
            return false;
        return place.compare_exchange_strong(seen, passed(turn), std::memory_order_relaxed); // order: see Order
    }
    /// A waiter gives its CPU away once. may_pass: and its turn, if that comes meanwhile. False: the turn is lost.
    bool yield(World const& world, std::uint32_t mine, bool may_pass) noexcept {
        auto& place = all_[mine % Count];
        std::uint64_t empty = 0;
        bool const left =
            may_pass && place.compare_exchange_strong(empty, away(mine), std::memory_order_relaxed); // order: see Order
        world.yield();
        return !left || place.exchange(0, std::memory_order_relaxed) == away(mine); // order: see Order
    }
};

} // namespace mpt::inline v0::lock
