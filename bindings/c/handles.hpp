/// handles - what a handle of the C interface stands for, and whether that still lives.
///
///        MPI_Comm = (generation << 32) | number        number < 4096: predefined, generation 0; else a slot of the table
///
///   A handle is never a pointer: a freed, forged or foreign one is found out by a comparison, and nothing is read through it.
///   The number alone is the handle's integer (MPI_Comm_toint, Fortran); a slot's generation says which of its objects is meant.
///   One table for each sort of handle.
///
///        numbers 4096 ..    | 4 of thread A | 4 of thread B | 4 of A | ...      a line each
///        shelf of A         retired ---> 4102 ---> 4096 ---> 4097                 each shelf with its lock
///
///   Retired  An object that is made with every call is not removed but retired: its handle is dead, and object and slot wait together
///            for the next one to be made. revive() is a few stores where add() and remove() are fifty instructions, and new and delete
///            as many again. Threads have shelves of their own for them (where `shelves_of` says so), and what was made there comes back
///            there, whoever retires it: an object's lines stay with one core, and no thread's list grows by what another one begins.
///   Cost     find(): two loads and two comparisons. revive(), where threads may be several: one locked instruction; by the system's mutex it
///            was two and two calls, a fifth of the rate of messages. origin: thread_bench rate, AMD EPYC, Zen 5
///   Order    an object is published in its slot by the store of its generation; whoever got the handle from another thread of
///            the program got it after that store.
///   Threads  find() by anybody at any time; the others lock, unless the table is left to one thread: the table where numbers come and go,
///            a shelf for what is retired or revived there. Who wants all locks the table first, then each shelf.
///   Tests    test/c/handles_test.cpp
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

struct request;
/// Of how many threads what is retired lies apart: a power of two, at most 256.
template <class T> inline constexpr std::uint32_t shelves_of = 1;
template <> inline constexpr std::uint32_t shelves_of<request> = 64;

template <class T> class handle_table {
    template <class X> using atomic = native_atomics::atomic<X>;
    static constexpr std::uint32_t per_chunk = 1024, most_chunks = 4096, predefined_most = 1024;
    struct slot {
        atomic<std::uint32_t> generation{0}; // odd: alive
        std::uint32_t next_free = 0;
        T* object = nullptr;
    };
    static constexpr std::uint32_t per_line = cache_line / sizeof(slot);
    static_assert(first_number % per_line == 0 && shelves_of<T> <= 256 && (shelves_of<T> & (shelves_of<T> - 1)) == 0);
    struct alignas(cache_line) chunk {
        std::array<slot, per_chunk> slots;
        std::array<std::uint8_t, per_chunk> shelves{}; // where their objects lie when they are retired
    };
    struct alignas(cache_line) shelf {
        short_lock changing;
        std::uint32_t retired = 0; // the first of its numbers
        std::int32_t alive = 0;    // handles that were revived here, less those retired
        // The table's: the next number of its line that was not given out; none: a multiple of per_line.
        std::uint32_t fresh = 0;
    };

    std::array<T*, predefined_most> predefined_{};
    std::unique_ptr<std::unique_ptr<chunk>[]> chunks_ = std::make_unique<std::unique_ptr<chunk>[]>(most_chunks);
    atomic<std::uint32_t> used_{first_number}; // numbers given out so far, dead ones among them, and those of lines begun
    std::uint32_t free_ = 0;                   // the first of those that were removed
    std::int32_t alive_ = 0;                   // handles that were added, less those removed
    bool alone_ = false;                       // one thread at a time
    short_lock changing_;
    std::array<shelf, shelves_of<T>> shelves_;

    slot* at(std::uint32_t number) const noexcept {
        if (number < first_number || number >= used_.load(std::memory_order_acquire)) // sync(c.handles): acquire
            return nullptr;
        return &slot_of(number);
    }
    /// Of a number that was given out.
    slot& slot_of(std::uint32_t number) const noexcept {
        auto const i = number - first_number;
        return chunks_[i / per_chunk]->slots[i % per_chunk];
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
        auto all = alive_of_table();
        for (auto& s : shelves_) all += guarded(s, [&s] { return s.alive; });
        return static_cast<std::uint32_t>(all);
    }
    /// Makes a predefined handle stand for an object (nullptr: for nothing any more).
    void predefine(std::uintptr_t word, T* object) noexcept { predefined_[word] = object; }
    /// A new handle's word; 0: the table is full.
    std::uintptr_t add(T* object) {
        auto const g = guard();
        auto const mine = shelf_of_caller();
        auto number = free_;
        if (number) free_ = at(number)->next_free;
        else if ((number = grow(shelves_[mine])) == 0) return 0;
        auto& s = *at(number);
        s.object = object;
        shelf_number(number) = static_cast<std::uint8_t>(mine);
        ++alive_;
        return begin_life(s, number);
    }
    /// The handle is dead from here on. Predefined ones stay.
    T* remove(std::uintptr_t word) noexcept {
        auto const g = guard();
        auto* const object = word < predefined_most ? nullptr : find(word);
        if (!object) return nullptr;
        --alive_;
        auto& s = end_life(word, free_);
        s.object = nullptr;
        return object;
    }
    /// The handle, which lives and is not predefined, is dead from here on; its object waits to be revived.
    void retire(std::uintptr_t word) noexcept {
        if (alone_) [[likely]]
            return put_on(shelves_[0], word);
        auto& home = home_of(word);
        std::lock_guard const g{home.changing};
        put_on(home, word);
    }
    /// Handles that are retired one after the other, under as few locks as they have shelves in a row. Who has one calls nothing else of the
    /// table that locks.
    class retirement {
        handle_table& table_;
        std::unique_lock<short_lock> lock_;

    public:
        explicit retirement(handle_table& t) noexcept : table_{t} {}
        [[gnu::always_inline]] void add(std::uintptr_t word) noexcept {
            if (table_.alone_) [[likely]]
                return table_.put_on(table_.shelves_[0], word);
            auto& home = table_.home_of(word);
            if (lock_.mutex() != &home.changing) {
                if (lock_.owns_lock()) lock_.unlock();
                lock_ = std::unique_lock{home.changing};
            }
            table_.put_on(home, word);
        }
    };
    /// The object of the caller's shelf that was retired last, and a new handle's word; nullptr: there is none.
    T* revive(std::uintptr_t& word) noexcept {
        if (alone_) [[likely]]
            return take_from(shelves_[0], word);
        auto& mine = shelves_[shelf_of_caller()];
        std::lock_guard const g{mine.changing};
        return take_from(mine, word);
    }
    /// f(object), for each that is retired, on whichever shelf: it is so no more.
    template <class F> void each_retired(F&& f) {
        std::uintptr_t word = 0;
        for (auto& s : shelves_)
            while (auto* const object = guarded(s, [&] { return take_from(s, word); })) f(*object);
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
        for (auto& s : shelves_) s.changing.lock();
        each([&f](T& object, std::uintptr_t) { f(object); });
        for (auto& s : shelves_) s.changing.unlock();
    }

private:
    std::uint32_t shelf_of_caller() const noexcept {
        if (shelves_of<T> == 1 || alone_) return 0;
        constexpr std::uint64_t golden = 0x9e3779b97f4a7c15; // 2^64 / golden ratio: numbers that lie evenly apart stay so
        return static_cast<std::uint32_t>(world::native{}.self() * golden >> 32) /
               static_cast<std::uint32_t>((std::uint64_t{1} << 32) / shelves_of<T>);
    }
    std::uint8_t& shelf_number(std::uint32_t number) noexcept {
        auto const i = number - first_number;
        return chunks_[i / per_chunk]->shelves[i % per_chunk];
    }
    shelf& home_of(std::uintptr_t word) noexcept { return shelves_[shelf_number(static_cast<std::uint32_t>(word))]; }
    void put_on(shelf& s, std::uintptr_t word) noexcept {
        end_life(word, s.retired);
        --s.alive;
    }
    T* take_from(shelf& s, std::uintptr_t& word) noexcept {
        if (s.retired == 0) return nullptr;
        auto const number = s.retired;
        auto& taken = slot_of(number);
        s.retired = taken.next_free;
        ++s.alive;
        word = begin_life(taken, number);
        return taken.object;
    }
    std::int32_t alive_of_table() {
        auto const g = guard();
        return alive_;
    }
    std::uintptr_t begin_life(slot& s, std::uint32_t number) noexcept {
        auto const generation = s.generation.load(std::memory_order_relaxed) + 1; // order: only written under the lock
        s.generation.store(generation, std::memory_order_release);                // sync(c.handle): release
        return std::uintptr_t{generation} << 32 | number;
    }
    /// The slot goes to the front of a list of dead ones.
    slot& end_life(std::uintptr_t word, std::uint32_t& list) noexcept {
        auto const number = static_cast<std::uint32_t>(word);
        auto& s = slot_of(number);
        s.generation.store(static_cast<std::uint32_t>(word >> 32) + 1, std::memory_order_release); // sync(c.handle): release
        s.next_free = std::exchange(list, number);
        return s;
    }
    /// One thread alone asks for no lock.
    template <class F> decltype(auto) guarded(shelf& s, F&& f) {
        if (alone_) [[likely]]
            return f();
        std::lock_guard const g{s.changing};
        return f();
    }
    std::unique_lock<short_lock> guard() { return alone_ ? std::unique_lock<short_lock>{} : std::unique_lock{changing_}; }
    /// The next number of a shelf; 0: there is none.
    std::uint32_t grow(shelf& s) {
        if (s.fresh % per_line != 0) return s.fresh++;
        auto const number = used_.load(std::memory_order_relaxed); // order: only written under the lock
        auto const i = number - first_number;
        if (i / per_chunk == most_chunks) return 0;
        if (i % per_chunk == 0) chunks_[i / per_chunk] = std::make_unique<chunk>();
        used_.store(number + per_line, std::memory_order_release); // sync(c.handles): release
        s.fresh = number + 1;
        return number;
    }
};

} // namespace mpt::c
