/// lock/bias - the part of a lock that its only user enters by plain stores, until another comes and takes that away.
///
///        favourite                                 another, who holds the lock by the lock's own ways
///        ---------                                 --------------------------------------------------
///        granted to me?  no: the lock's own ways   granted = nobody
///        inside = 1      of its seat               heavy_here()   every other thread passes a full barrier
///        light()         compiler only             inside != 0, of that seat: yield, then nap
///        still granted?  no: inside = 0, as above  inside == 0: alone with the lock
///        ...
///        inside = 0
///
///   Grant   To the holder that leaves the lock for the `Patience`th time with nobody in between, or at once to one that is known to be
///           alone (a program of one thread). Every revocation of a bias that was little used doubles that number, so that threads that
///           take turns pay for few barriers, and every other one halves it. To a tenant (lock/ticket.hpp), whoever waits, when it has
///           kept its turn `Settled` times: twice that after a revocation that was not worth it, half after each other.
///   States  granted_ changes only under the lock's own ways, so its writers are ordered. A favourite has a seat, whose word inside, the
///           depth of its stay and how often it has been there, is written by it alone. It keeps the seat when its bias is revoked: it
///           may have been preempted before it wrote `inside`, and write late, and no other may be harmed by it, which has another seat.
///           When it comes by the lock's own ways itself, all that it wrote is written, and its seat is free; so is that of one that says
///           beforehand that it will write no more (retire), because it waits for its turn.
///           granted_ names a seat also when it is nobody's any more: that of the favourite that is still inside, if one is.
///   Seats   As many favourites as there are, of which one at a time has the bias: where threads are more than CPUs, one that is
///           preempted stays a favourite for as long as all others have their slices, and one that is gone for good for ever.
///           origin: windows of 64 messages of 1, 2, 4, 8 threads of two ranks, AMD EPYC, M/s, one seat / one for each: 19.2 / 22.3,
///           18.5 / 21.9, 17.0 / 21.1, 15.6 / 19.7
///   Order   Dekker between granted_ and inside_ (core/fences.hpp, with the visitor as the sleeper): either the favourite's
///           second look sees the revocation, or the visitor sees it inside. bias.hand-over: what the favourite did inside, the
///           visitor sees; its retreat releases too, for the visitor may read that store and not the one before. The favourite
///           acquires nothing: since it was granted the bias, by itself, nobody else has been inside.
///   Thread  A thread is known by its number. A new thread that has a dead one's number is the favourite in its place: the
///           system gave the number away after the dead thread's last store, which was not made inside.
///   Cost    enter and leave: some thirty instructions, two of them stores, and no read-modify-write. Revoking: one membarrier,
///           and the rest of the favourite's stay. Who stands in line, and a holder that goes, looks through the seats that were ever taken.
///   Memory  of one process, which has registered (register_heavy): fence_mode::sleeper says so. Locks that several processes take have
///           the mode `both`, and no bias.
///   Limit   No bias where the mode is fence_mode::both, for then the favourite would have to fence, which costs as much as a
///           read-modify-write; and none under ThreadSanitizer, where heavy_here() does nothing. Where as many favourites as there
///           are seats never come back, nobody else has the bias. A favourite that dies inside keeps the lock.
///   Tests   test/lock_bias_test.cpp, test/model/ticket_model_test.cpp, test/stress/lock_bias_stress_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include <mpt/core/fences.hpp>
#include <mpt/world/world.hpp>

namespace mpt::inline v0::lock {

/// Patience, Settled: see Grant. Seats: a power of two.
template <class World, std::uint32_t Patience, std::uint32_t Settled = 64, std::uint32_t Seats = 32> class bias {
    static_assert(Seats > 0 && (Seats & (Seats - 1)) == 0, "mpt::lock::bias: the number of seats is a power of two");
    using atomics = typename World::atomics;
    using fences = typename atomics::fences;
    template <class T> using atomic = typename atomics::template atomic<T>;
    static constexpr unsigned most_yields = 16;
    static constexpr nanoseconds nap{50'000};

    atomic<std::uint64_t> granted_{0};                     // who may enter by plain stores, and its seat: see key()
    std::array<atomic<std::uint64_t>, Seats> inside_{};    // how deep a favourite is inside, and stays: written by it only
    std::array<atomic<std::uint64_t>, Seats> favourite_{}; // whose the seats are; 0, or retired: anybody's
    atomic<std::uint32_t> used_{0};                        // the first so many were somebody's
    std::uint32_t patience_ = Patience;                    // the rest is the holder's
    std::uint32_t settled_ = Settled;                      // how often a tenant keeps its turn before it has the bias
    bool by_tenancy_ = false;                              // it was granted so
    std::uint32_t alone_ = 0;                              // how often `last_` has left since another did
    std::uint64_t last_ = 0;
    std::uint64_t stays_ = 0; // of favourites, until the last grant

public:
    // --- the favourite -------------------------------------------------------------------------------------------------------
    /// Anyone, who is `me`: true where that enters, also once more.
    [[gnu::always_inline]] bool enter(std::uint64_t me) noexcept {
        if constexpr (fences::invisible) return false;
        auto const granted = granted_.load(std::memory_order_relaxed); // order: a first look; the second one counts
        auto const seat = granted ^ key(me);
        if (seat >= Seats) return false;
        auto& inside = inside_[seat];
        auto const before = inside.load(std::memory_order_relaxed); // order: our own word
        inside.store(before + 1, std::memory_order_relaxed);        // order: light() after it, heavy_here() on the other side
        fences::light(fence_mode::sleeper);
        if (granted_.load(std::memory_order_relaxed) == granted) [[likely]] // order: light() before it, heavy_here() there
            return true;
        return stay_or_retreat(inside, before);
    }
    /// Anyone: true where `me` is the favourite inside, whose bias was revoked meanwhile; it has then entered once more.
    bool enter_again(std::uint64_t me) noexcept {
        if (!holds(me)) return false;
        auto& inside = inside_[named()];
        auto const before = inside.load(std::memory_order_relaxed); // order: our own word
        inside.store(before + 1, std::memory_order_relaxed);        // order: only depth 0 says anything to others
        return true;
    }
    /// The favourite that has entered.
    [[gnu::always_inline]] void leave() noexcept {
        auto& inside = inside_[named()];
        auto const before = inside.load(std::memory_order_relaxed); // order: our own word
        inside.store(before - 1 + stay, std::memory_order_release); // sync(bias.hand-over): release
    }

    /// The favourite inside, which has become the holder by the lock's own ways as well: it is that alone from here on. Returns how
    /// deep it is inside.
    std::uint32_t give_back() noexcept {
        auto const seat = named();
        auto const before = inside_[seat].load(std::memory_order_relaxed); // order: our own word
        granted_.store(seat, std::memory_order_relaxed);                   // order: written by holders only
        // order: what was done inside, the lock hands over
        inside_[seat].store(before - depth_of(before) + stay, std::memory_order_relaxed);
        return static_cast<std::uint32_t>(depth_of(before));
    }

    /// Anyone: a hint that spares those who do not wait a revocation that would find the favourite inside.
    bool seems_taken() const noexcept {
        auto const granted = granted_.load(std::memory_order_relaxed); // order: a hint
        return granted >= Seats && is_inside(granted % Seats);
    }

    /// Anyone who is not inside, was refused by enter(), and comes by the lock's own ways next, however long it waits: if it is the
    /// favourite it enters by plain stores no more until it is granted the bias anew, by itself; so another may have it meanwhile.
    void retire(std::uint64_t me) noexcept {
        if (auto const seat = seat_of(me, me); seat != none)
            favourite_[seat].store(retired(me), std::memory_order_release); // sync(bias.retire): release
    }
    /// Anyone: true where `me` is the favourite, and inside.
    bool holds(std::uint64_t me) const noexcept {
        auto const seat = named();                                           // ours, if we are inside
        return favourite_[seat].load(std::memory_order_relaxed) == me &&     // order: only our own store can read as `me`
               depth_of(inside_[seat].load(std::memory_order_relaxed)) != 0; // order: our own word
    }
    /// Another number each time a favourite has left, one more for the same one; between two grants it does not change while nobody enters by
    /// plain stores. Anyone: a hint.
    std::uint64_t stays() const noexcept {
        constexpr std::uint64_t far = 0x9e37'79b9; // from one seat's numbers to the next one's
        auto const seat = named();
        return stays_in(seat) + seat * far;
    }

    // --- the holder by the lock's own ways ----------------------------------------------------------------------------------
    /// Before it is alone: takes the bias away, and waits until the favourite has left.
    void revoke(World const& world, std::uint64_t me, fence_mode mode) noexcept {
        auto const whose = take_away(me, mode);
        if (whose == 0) [[likely]]
            return;
        for (unsigned turn = 0; is_inside(whose % Seats); ++turn)
            if (turn < most_yields) world.yield();
            else world.sleep_for(nap);
        be_patient(whose % Seats);
    }
    /// The same without waiting. False: the favourite is inside, and everything is as it was.
    bool try_revoke(std::uint64_t me, fence_mode mode) noexcept {
        auto const whose = take_away(me, mode);
        if (whose == 0) return true;
        if (is_inside(whose % Seats)) {
            granted_.store(whose, std::memory_order_relaxed); // order: nobody else was inside since it was taken away
            return false;
        }
        be_patient(whose % Seats);
        return true;
    }
    /// When it goes: who was alone for long is granted the bias. True: who goes has it, and leaves nothing else behind.
    bool earn(std::uint64_t me, fence_mode mode) noexcept {
        if (fences::invisible || mode != fence_mode::sleeper) return false;
        alone_ = me == last_ ? alone_ + 1 : 1;
        last_ = me;
        if (alone_ >= patience_) grant(me, mode);
        else resign(me);
        return is_granted_to(me);
    }
    /// At once, to who says that nobody else will come soon.
    void grant(std::uint64_t me, fence_mode mode) noexcept { grant(me, mode, false); }
    /// To a tenant of the lock's that leaves, and has kept its turn so often.
    void settle(std::uint64_t me, fence_mode mode, std::uint32_t kept) noexcept {
        if (kept >= settled_) grant(me, mode, true);
    }
    /// The holder will not come back soon: its bias goes, and another may be the favourite.
    void drop(std::uint64_t me, fence_mode mode) noexcept { try_revoke(me, mode), resign(me); }

private:
    static constexpr std::uint32_t most_patience = std::uint32_t{1} << 31;
    static constexpr std::uint64_t stay = std::uint64_t{1} << 24; // the depth lies below
    static constexpr std::uint64_t many = 16;                     // stays for each one that earned the bias
    static constexpr std::uint64_t worth = 256;                   // stays that make up for a revocation
    static constexpr std::uint32_t most_settled = 4096;

    void grant(std::uint64_t me, fence_mode mode, bool by_tenancy) noexcept {
        if (fences::invisible || mode != fence_mode::sleeper) return;
        auto const seat = take_seat(me);
        if (seat == none) return;
        stays_ = stays_in(seat);
        by_tenancy_ = by_tenancy;
        granted_.store(key(me) + seat, std::memory_order_relaxed); // order: only the favourite, and that is we, enters by it
    }
    static constexpr std::uint64_t none = Seats;
    /// In granted_: whose it is, and the number of the seat in its lowest bits. Below `Seats`: nobody's. What a process' numbers have in
    /// common, at their upper ends, may be lost.
    static constexpr std::uint64_t key(std::uint64_t me) noexcept { return me * Seats; }
    bool is_granted_to(std::uint64_t me) const noexcept {
        return (granted_.load(std::memory_order_relaxed) ^ key(me)) < Seats; // order: written by holders only
    }
    std::uint64_t named() const noexcept {
        return granted_.load(std::memory_order_relaxed) % Seats; // order: the same for as long as its favourite is inside
    }
    std::uint64_t stays_in(std::uint64_t seat) const noexcept {
        return inside_[seat].load(std::memory_order_relaxed) / stay; // order: a hint
    }
    /// The seat that is one of two numbers', both of the caller's; none: there is none.
    std::uint64_t seat_of(std::uint64_t a, std::uint64_t b) const noexcept {
        auto const n = used_.load(std::memory_order_relaxed); // order: who took a seat has written it, or a larger one
        for (std::uint64_t seat = 0; seat < n; ++seat) {
            auto const whose =
                favourite_[seat].load(std::memory_order_relaxed); // order: only our own stores can read as either
            if (whose == a || whose == b) return seat;
        }
        return none;
    }
    /// For the holder: the one that it has, or the first that is nobody's.
    std::uint64_t take_seat(std::uint64_t me) noexcept {
        auto seat = seat_of(me, retired(me));
        for (std::uint64_t i = 0; seat == none && i < Seats; ++i) {
            auto const whose = favourite_[i].load(std::memory_order_acquire); // sync(bias.retire): acquire
            if (whose == 0 || is_retired(whose)) seat = i;
        }
        if (seat == none) return none;
        favourite_[seat].store(me, std::memory_order_relaxed); // order: read as our own number by us alone
        if (seat >= used_.load(std::memory_order_relaxed))     // order: written by holders only
            used_.store(static_cast<std::uint32_t>(seat) + 1, std::memory_order_relaxed); // order: see seat_of
        return seat;
    }
    static std::uint64_t depth_of(std::uint64_t inside) noexcept { return inside % stay; }
    /// A favourite that writes no more: no thread has such a number.
    static constexpr std::uint64_t retired(std::uint64_t me) noexcept { return ~me; }
    static constexpr bool is_retired(std::uint64_t favourite) noexcept { return favourite >> 63 != 0; }
    bool is_inside(std::uint64_t seat) const noexcept {
        return depth_of(inside_[seat].load(std::memory_order_acquire)) != 0; // sync(bias.hand-over): acquire
    }
    /// The holder, by the lock's own ways, whose bias is revoked or was never granted: not in the middle of enter().
    void resign(std::uint64_t me) noexcept {
        if (is_granted_to(me)) return;
        if (auto const seat = seat_of(me, retired(me)); seat != none)
            favourite_[seat].store(0, std::memory_order_relaxed); // order: whoever is next got the lock after us
    }
    /// Whose it was; 0: nobody else's.
    std::uint64_t take_away(std::uint64_t me, fence_mode mode) noexcept {
        auto const whose = granted_.load(std::memory_order_relaxed); // order: written by holders only
        if (whose < Seats) return 0;
        granted_.store(whose % Seats, std::memory_order_relaxed); // order: heavy_here() after it, light() on the other side
        if ((whose ^ key(me)) < Seats) return 0;
        fences::heavy_here(mode);
        return whose;
    }
    void be_patient(std::uint64_t seat) noexcept {
        auto const used = stays_in(seat) - stays_;
        if (by_tenancy_) {
            settled_ = used < worth ? std::min(settled_ * 2, most_settled) : std::max(settled_ / 2, Settled);
            return;
        }
        bool const little_used = used < many * patience_;
        if (!little_used) patience_ = std::max(patience_ / 2, Patience);
        else if (patience_ < most_patience) patience_ *= 2;
    }
    [[gnu::noinline]] static bool stay_or_retreat(atomic<std::uint64_t>& inside, std::uint64_t before) noexcept {
        if (depth_of(before) != 0) return true;          // revoked while we are inside: the visitor waits
        inside.store(before, std::memory_order_release); // sync(bias.hand-over): release
        return false;
    }
};

} // namespace mpt::inline v0::lock
