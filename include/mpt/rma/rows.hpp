/// rma/rows - which thread alone changes a part's elements, by rows at a kernel's speed, until another one comes: lock/bias.hpp's way.
///
///        a thread that changes elements of a part          one that wants the part to itself, or back for all
///        ----------------------------------------          ---------------------------------------------------
///        stay = odd                                        takes `changing`
///        light()      compiler only                        owner = in change
///        owner?   nobody   the processor's atomics         heavy()       every core passes a full barrier
///                 me       rows, plain                     waits until those who may be inside have left, each once
///                 another  stay = even; it is taken back   owner = itself, or nobody
///        stay = even                                       gives `changing` back
///
///   So who alone accumulates into a part for a while pays two stores and some loads for a row, and no locked instruction for each of
///   its elements; who changes single elements pays as much beside them.
///
///   Threads  A rank's first `Places` threads that come have a place of their own in its stays for as long as the window lives; a thread
///            is known by its number, and who has a dead one's has its place (lock/bias.hpp says why that is right); who take turns may
///            have one number (rma/agent.hpp). The others count
///            themselves in and out of one word, and own nothing.
///   Order    Dekker between owner and stay, as in lock/bias.hpp: either who comes in sees the change, or it is seen inside, and waited
///            for. rma.stay: what was done inside is there for who takes the part. rma.rows: and from there for who finds it so.
///   Waits    for computations alone: who is inside waits for nobody but the holder of `wide` (rma/element.hpp), who does not either;
///            and who comes while the owner changes does nothing inside. A rank that dies inside leaves the others there until the job
///            is ended.
///   Limit    where both sides fence, where barriers do not reach all (job::fences_reach_all), and where fences are invisible, nobody may
///            take a part.
///   Memory   two lines for each place, in shared memory, which its thread alone writes; two words a part, which all read.
///   Tests    test/model/rows_model_test.cpp, test/rma_rows_test.cpp
#pragma once
#include <array>
#include <cstdint>

#include <mpt/core/fences.hpp>
#include <mpt/core/types.hpp>
#include <mpt/rma/lock_word.hpp>

namespace mpt::inline v0::rma {

/// Of so many places the one where a thread begins to look for its own.
constexpr unsigned first_place(std::uint64_t thread, unsigned places) noexcept {
    return static_cast<unsigned>((thread * 0x9e3779b97f4a7c15) >> 32) % places;
}

/// Where the threads of a rank say that they are inside some part of a window.
template <class World, unsigned Places = 16> class stays {
    template <class T> using atomic = typename World::atomics::template atomic<T>;
    struct alignas(line_pair) place {
        atomic<std::uint64_t> whose{0}; // 0: nobody's yet
        atomic<std::uint32_t> stay{0};  // odd: inside
    };
    std::array<place, Places> places_;
    alignas(line_pair) atomic<std::uint32_t> others_{0}; // that are inside, without a place

public:
    static constexpr unsigned places = Places; // and that number for those who have none

    /// Thread `me`: the number of its place, and it is inside.
    [[gnu::always_inline]] unsigned begin(std::uint64_t me) noexcept {
        auto const i = place_of(me);
        if (i == Places) [[unlikely]] {
            others_.fetch_add(1, std::memory_order_relaxed); // order: light() after it, heavy() on the other side
            return i;
        }
        auto& p = places_[i];
        auto const n = p.stay.load(std::memory_order_relaxed); // order: our own word
        p.stay.store(n + 1, std::memory_order_release); // sync(rma.stay): release, for who waits may miss the end before it
        return i;
    }
    [[gnu::always_inline]] void end(unsigned i) noexcept {
        if (i == Places) [[unlikely]] {
            others_.fetch_sub(1, std::memory_order_release); // sync(rma.stay): release
            return;
        }
        auto& p = places_[i];
        auto const n = p.stay.load(std::memory_order_relaxed); // order: our own word
        p.stay.store(n + 1, std::memory_order_release);        // sync(rma.stay): release
    }
    /// By another, for whom nobody does anything inside that comes now: who is seen there has left.
    void wait_for_ends(World const& world) const noexcept {
        for (unsigned i = 0; i < Places; ++i) wait_for_end(world, i);
        while (others_.load(std::memory_order_acquire) != 0) world.yield(); // sync(rma.stay): acquire
    }
    void wait_for_end(World const& world, unsigned i) const noexcept {
        auto const& stay = places_[i].stay;
        auto const seen = stay.load(std::memory_order_acquire); // sync(rma.stay): acquire
        if (seen % 2 == 0) return;
        while (stay.load(std::memory_order_acquire) == seen) world.yield(); // sync(rma.stay): acquire
    }

private:
    [[gnu::always_inline]] unsigned place_of(std::uint64_t me) noexcept {
        auto const first = first_place(me, Places);
        if (places_[first].whose.load(std::memory_order_relaxed) == me) [[likely]] // order: only our own store can read as `me`
            return first;
        return look_for_place(me, first);
    }
    [[gnu::noinline]] unsigned look_for_place(std::uint64_t me, unsigned first) noexcept {
        for (unsigned k = 0; k < Places; ++k) {
            auto const i = (first + k) % Places;
            std::uint64_t whose = 0;
            if (places_[i].whose.compare_exchange_strong(whose, me, std::memory_order_relaxed) || // order: nothing hangs on it
                whose == me)
                return i;
        }
        return Places;
    }
};

/// What who has come in may do.
enum class turn : std::uint8_t { elements, rows, nothing };

/// Whose the rows of a part are.
template <class World, unsigned Places = 16> class rows {
    using atomics = typename World::atomics;
    using fences = typename atomics::fences;
    using stays_type = stays<World, Places>;
    static constexpr std::uint32_t nobody = 0, in_change = ~std::uint32_t{0}; // else number()
    typename atomics::template atomic<std::uint32_t> owner_{nobody};
    lock_word<atomics> changing_;

public:
    struct visit {
        turn may;
        unsigned place;
    };
    /// A thread of rank `me` of the window comes in, but where it may do nothing. Who is in leaves by mine.end(place).
    [[gnu::always_inline]] visit enter(stays_type& mine, std::int32_t me, std::uint64_t thread) const noexcept {
        auto const place = mine.begin(thread);
        fences::light(fence_mode::sleeper);
        auto const owner = owner_.load(std::memory_order_acquire); // sync(rma.rows): acquire
        if (owner == nobody) [[likely]]
            return {turn::elements, place};
        if (place != Places && owner == number(me, place)) return {turn::rows, place};
        mine.end(place);
        return {turn::nothing, place};
    }
    /// Whom enter() has given this place, and who has left it, would change rows by itself. of(r): the stays of each of `size` ranks.
    template <class Of> void take(World const& world, std::int32_t me, unsigned place, std::int32_t size, Of of) noexcept {
        if (place != Places) change(world, number(me, place), size, of);
    }
    /// Who is not inside gives the part back to all, whoever has it.
    template <class Of> void give_to_all(World const& world, std::int32_t size, Of of) noexcept {
        change(world, nobody, size, of);
    }

private:
    static constexpr std::uint32_t number(std::int32_t r, unsigned place) noexcept {
        return static_cast<std::uint32_t>(r) * Places + place + 1;
    }

    template <class Of> [[gnu::noinline]] void change(World const& world, std::uint32_t to, std::int32_t size, Of of) noexcept {
        while (!changing_.try_exclusive()) world.yield();
        if (auto const was = owner_.load(std::memory_order_relaxed); was != to) { // order: changed under the lock alone
            owner_.store(in_change, std::memory_order_relaxed); // order: heavy() after it, light() on the other side
            fences::heavy(fence_mode::sleeper);
            if (was != nobody) { // nobody else does anything inside
                of(static_cast<std::int32_t>((was - 1) / Places)).wait_for_end(world, (was - 1) % Places);
            } else {
                for (std::int32_t r = 0; r < size; ++r) of(r).wait_for_ends(world);
            }
            owner_.store(to, std::memory_order_release); // sync(rma.rows): release
        }
        changing_.release_exclusive();
    }
};

} // namespace mpt::inline v0::rma
