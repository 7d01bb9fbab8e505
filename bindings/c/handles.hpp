/// handles - what a handle of the C interface stands for, and whether that still lives.
///
///        MPI_Comm = (generation << 32) | number        number < 4096: predefined, generation 0; else a slot of the table
///
///   A handle is never a pointer: a freed, forged or foreign one is found out by a comparison, and nothing is read through it.
///   The number alone is the handle's integer (MPI_Comm_toint, Fortran); a slot's generation says which of its objects is meant.
///   One table for each sort of handle.
///
///   Retired  An object that is made with every call is not removed but retired: its handle is dead, and object and slot wait together
///            for the next one to be made. revive() is a few stores where add() and remove() are fifty instructions, and new and delete
///            as many again.
///   Cost     find(): two loads and two comparisons. revive(), where threads may be several: one locked instruction; by the system's mutex it
///            was two and two calls, a fifth of the rate of messages. origin: thread_bench rate, AMD EPYC, Zen 5
///   Order    an object is published in its slot by the store of its generation; whoever got the handle from another thread of
///            the program got it after that store.
///   Threads  find() by anybody at any time; the others lock, unless the table is left to one thread.
///   Tests    test/c/requests_test.cpp
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <mpt/core/atomics.hpp>
#include <mpt/rma/lock_word.hpp>
#include <mpt/world/native.hpp>

namespace mpt::c {

template <class Handle> std::uintptr_t word_of(Handle h) noexcept { return reinterpret_cast<std::uintptr_t>(h); }
template <class Handle> Handle handle_of(std::uintptr_t word) noexcept { return reinterpret_cast<Handle>(word); }

/// The numbers below belong to the standard.
inline constexpr std::uint32_t first_number = 4096;

/// Held for short. Who waits looks again, and gives its CPU away now and then, for the holder may have none.
class short_lock {
    rma::lock_word<> word_;

public:
    void lock() noexcept {
        for (unsigned tries = 1; !word_.try_exclusive(); ++tries) {
            if (tries % 64 == 0) world::native{}.yield();
            else native_atomics::pause();
        }
    }
    void unlock() noexcept { word_.release_exclusive(); }
};

template <class T> class handle_table {
    template <class X> using atomic = native_atomics::atomic<X>;
    static constexpr std::uint32_t per_chunk = 1024, most_chunks = 4096, predefined_most = 1024;
    struct slot {
        atomic<std::uint32_t> generation{0}; // odd: alive
        std::uint32_t next_free = 0;
        T* object = nullptr;
    };
    using chunk = std::array<slot, per_chunk>;

    std::array<T*, predefined_most> predefined_{};
    std::unique_ptr<std::unique_ptr<chunk>[]> chunks_ = std::make_unique<std::unique_ptr<chunk>[]>(most_chunks);
    atomic<std::uint32_t> used_{first_number}; // numbers given out so far, dead ones among them
    std::uint32_t free_ = 0, retired_ = 0;     // the first of those numbers
    std::uint32_t alive_ = 0;                  // handles
    bool alone_ = false;                       // one thread at a time
    short_lock changing_;

    slot* at(std::uint32_t number) const noexcept {
        if (number < first_number || number >= used_.load(std::memory_order_acquire)) // sync(c.handles): acquire
            return nullptr;
        return &slot_of(number);
    }
    /// Of a number that was given out.
    slot& slot_of(std::uint32_t number) const noexcept {
        auto const i = number - first_number;
        return (*chunks_[i / per_chunk])[i % per_chunk];
    }

public:
    handle_table() = default;
    handle_table(handle_table const&) = delete;
    handle_table& operator=(handle_table const&) = delete;

    /// The object of a handle; nullptr: there is none, or no more.
    T* find(std::uintptr_t word) const noexcept {
        if (word < predefined_most) return predefined_[word];
        auto* const s = at(static_cast<std::uint32_t>(word));
        if (!s || s->generation.load(std::memory_order_acquire) != word >> 32) return nullptr; // sync(c.handle): acquire
        return s->object;
    }
    template <class Handle> T* find_handle(Handle h) const noexcept { return find(word_of(h)); }

    /// The object of a handle that is known to live.
    template <class Handle> T& get(Handle h) const noexcept {
        auto* const object = find(word_of(h));
        if (!object) __builtin_unreachable();
        return *object;
    }

    /// From here on all but find() are called by one thread at a time, or by any.
    void leave_to_one_thread(bool alone) noexcept { alone_ = alone; }

    /// How many handles live that are not predefined.
    std::uint32_t alive() {
        auto const g = guard();
        return alive_;
    }
    /// Makes a predefined handle stand for an object (nullptr: for nothing any more).
    void predefine(std::uintptr_t word, T* object) noexcept { predefined_[word] = object; }
    /// A new handle's word; 0: the table is full.
    std::uintptr_t add(T* object) {
        auto const g = guard();
        auto number = free_;
        if (number) free_ = at(number)->next_free;
        else if ((number = grow()) == 0) return 0;
        auto& s = *at(number);
        s.object = object;
        return begin_life(s, number);
    }
    /// The handle is dead from here on. Predefined ones stay.
    T* remove(std::uintptr_t word) noexcept {
        auto const g = guard();
        auto* const object = word < predefined_most ? nullptr : find(word);
        if (!object) return nullptr;
        auto& s = end_life(word, free_);
        s.object = nullptr;
        return object;
    }
    /// The handle, which lives and is not predefined, is dead from here on; its object waits to be revived.
    void retire(std::uintptr_t word) noexcept {
        guarded([&] { end_life(word, retired_); });
    }
    /// Handles that are retired one after the other, under one lock.
    class retirement {
        handle_table& table_;
        std::unique_lock<short_lock> lock_;

    public:
        explicit retirement(handle_table& t) noexcept : table_{t}, lock_{t.changing_, std::defer_lock} {}
        void add(std::uintptr_t word) noexcept {
            if (!table_.alone_ && !lock_.owns_lock()) lock_.lock();
            table_.end_life(word, table_.retired_);
        }
    };
    /// The object that was retired last, and a new handle's word; nullptr: there is none.
    T* revive(std::uintptr_t& word) noexcept {
        return guarded([&]() -> T* {
            if (retired_ == 0) return nullptr;
            auto const number = retired_;
            auto& s = slot_of(number);
            retired_ = s.next_free;
            word = begin_life(s, number);
            return s.object;
        });
    }
    /// The living handle with this integer; the integer itself where there is none (a null or dead handle).
    std::uintptr_t word_from(std::uint32_t number) const noexcept {
        auto const* const s = at(number);
        if (!s) return number;
        auto const generation = s->generation.load(std::memory_order_acquire); // sync(c.handle): acquire
        return generation % 2 != 0 ? std::uintptr_t{generation} << 32 | number : number;
    }
    /// Every object that was added and lives.
    template <class F> void each(F&& f) {
        auto const end = used_.load(std::memory_order_acquire); // sync(c.handles): acquire
        for (auto n = first_number; n < end; ++n)
            if (auto const word = word_from(n); word != n) f(*at(n)->object, word);
    }

    /// The same while others add and remove: f touches neither the table nor waits.
    template <class F> void each_now(F&& f) {
        std::lock_guard const g{changing_};
        each([&f](T& object, std::uintptr_t) { f(object); });
    }

private:
    std::uintptr_t begin_life(slot& s, std::uint32_t number) noexcept {
        ++alive_;
        auto const generation = s.generation.load(std::memory_order_relaxed) + 1; // order: only written under the lock
        s.generation.store(generation, std::memory_order_release);                // sync(c.handle): release
        return std::uintptr_t{generation} << 32 | number;
    }
    /// The slot goes to the front of a list of dead ones.
    slot& end_life(std::uintptr_t word, std::uint32_t& list) noexcept {
        --alive_;
        auto const number = static_cast<std::uint32_t>(word);
        auto& s = slot_of(number);
        s.generation.store(static_cast<std::uint32_t>(word >> 32) + 1, std::memory_order_release); // sync(c.handle): release
        s.next_free = std::exchange(list, number);
        return s;
    }
    /// What every message does: one thread alone asks for no lock.
    template <class F> decltype(auto) guarded(F&& f) {
        if (alone_) [[likely]]
            return f();
        std::lock_guard const g{changing_};
        return f();
    }
    std::unique_lock<short_lock> guard() { return alone_ ? std::unique_lock<short_lock>{} : std::unique_lock{changing_}; }
    /// The next number; 0: there is none.
    std::uint32_t grow() {
        auto const number = used_.load(std::memory_order_relaxed); // order: only written under the lock
        auto const i = number - first_number;
        if (i / per_chunk == most_chunks) return 0;
        if (i % per_chunk == 0) chunks_[i / per_chunk] = std::make_unique<chunk>();
        used_.store(number + 1, std::memory_order_release); // sync(c.handles): release
        return number;
    }
};

} // namespace mpt::c
