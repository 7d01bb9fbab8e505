/// bodies - what the entry points of OpenSHMEM's C interface do (shmem_api.tbl names these functions).
///
///   Memory in the symmetric heap is reached here, by a few instructions; all else is asked of far.hpp. Operations are complete
///   when they return, the non-blocking ones too, so a context is a way to count PEs, and quiet is a fence of the processor.
///
///   Order    an atomic operation acquires and releases, and so do waits; stores are ordered by fence and quiet.
///   Tests    test/shmem
#pragma once
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include <mpt/core/atomics.hpp>
#include <mpt/core/cursor.hpp>
#include <mpt/shmem/compare.hpp>

#include "asking.hpp"
#include "far.hpp"
#include "state.hpp"

namespace mpt::c::shmem {

template <class T> using word = native_atomics::atomic_ref<T>;
template <class T> using given = std::type_identity_t<T>; // an argument that does not choose the type

/// Elements that the processor stores and loads as a whole.
template <class T> inline constexpr bool one_word = sizeof(T) <= sizeof(std::uint64_t);

// --- puts and gets ------------------------------------------------------------------------------------------------------------

/// Whom a store may wake.
inline void told(shmem_ctx_t ctx, int pe) {
    if (all().rings) [[unlikely]]
        far::ring(ctx, pe);
}
/// The length of one word: stored as a whole, so that who waits for it never sees a part.
inline bool is_word(std::size_t n) noexcept { return n == 8 || n == 4; }
inline void move_word(void* into, void const* from, std::size_t n) noexcept {
    if (n == 8) std::memcpy(into, from, 8);
    else std::memcpy(into, from, 4);
}
/// Apart, so that words need no stack.
[[gnu::noinline]] inline void put_bytes(shmem_ctx_t ctx, void* at, void const* source, std::size_t n, int pe) {
    copy_each_once(static_cast<std::byte*>(at), static_cast<std::byte const*>(source), n);
    told(ctx, pe);
}

inline void put_at(shmem_ctx_t ctx, void* at, void const* source, std::size_t n, int pe) {
    if (!is_word(n)) return put_bytes(ctx, at, source, n, pe);
    move_word(at, source, n);
    told(ctx, pe);
}
inline void put(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, int pe) {
    auto* const at = reach(ctx, dest, pe);
    if (!at) [[unlikely]]
        return far::put(ctx, dest, source, n, pe);
    put_at(ctx, at, source, n, pe);
}
inline void get(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, int pe) {
    auto const* const at = reach(ctx, source, pe);
    if (!at) [[unlikely]]
        return far::get(ctx, dest, source, n, pe);
    if (is_word(n)) move_word(dest, at, n);
    else std::memmove(dest, at, n);
}
/// Who waits for it may be told at the next quiet: a ring each is a fence of the processor each.
inline void told_later(shmem_ctx_t ctx, int pe) {
    if (all().rings) [[unlikely]]
        far::ring_at_quiet(ctx, pe);
}
[[gnu::noinline]] inline void put_bytes_later(shmem_ctx_t ctx, void* at, void const* source, std::size_t n, int pe) {
    copy_each_once(static_cast<std::byte*>(at), static_cast<std::byte const*>(source), n);
    told_later(ctx, pe);
}
inline void put_later(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, int pe) {
    auto* const at = reach(ctx, dest, pe);
    if (!at) [[unlikely]]
        return far::put(ctx, dest, source, n, pe);
    if (!is_word(n)) return put_bytes_later(ctx, at, source, n, pe);
    move_word(at, source, n);
    told_later(ctx, pe);
}
inline void get_later(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, int pe) { get(ctx, dest, source, n, pe); }

/// The value stays in its register where it is stored at once.
template <class T> [[gnu::noinline]] void put_one_far(shmem_ctx_t ctx, T* dest, given<T> value, int pe) {
    far::put(ctx, dest, &value, sizeof(T), pe);
}
template <class T> void put_one(shmem_ctx_t ctx, T* dest, given<T> value, int pe) {
    auto* const at = reach(ctx, dest, pe);
    if (!at) [[unlikely]]
        return put_one_far(ctx, dest, value, pe);
    if constexpr (one_word<T>)
        word<T>{*reinterpret_cast<T*>(at)}.store(value, std::memory_order_release); // sync(shmem.word): release
    else std::memcpy(at, &value, sizeof(T));
    told(ctx, pe);
}
template <class T> T get_one(shmem_ctx_t ctx, T const* source, int pe) {
    T value;
    auto* const at = reach(ctx, source, pe);
    if (!at) [[unlikely]]
        far::get(ctx, &value, source, sizeof(T), pe);
    else if constexpr (one_word<T>)
        value = word<T>{*reinterpret_cast<T*>(at)}.load(std::memory_order_acquire); // sync(shmem.word): acquire
    else std::memcpy(&value, at, sizeof(T));
    return value;
}

/// Blocks of `block` elements of `width` bytes; strides count elements.
inline void put_strided(shmem_ctx_t ctx, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                        std::size_t block, std::size_t blocks, std::size_t width, int pe) {
    auto* const at = reach(ctx, dest, pe);
    if (!at) [[unlikely]]
        return far::put_strided(ctx, dest, source, dst, sst, block, blocks, width, pe);
    far::copy_strided(at, source, dst, sst, block, blocks, width);
    if (blocks > 0) told(ctx, pe);
}
inline void get_strided(shmem_ctx_t ctx, void* dest, void const* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
                        std::size_t block, std::size_t blocks, std::size_t width, int pe) {
    auto const* const at = reach(ctx, source, pe);
    if (!at) [[unlikely]]
        return far::get_strided(ctx, dest, source, dst, sst, block, blocks, width, pe);
    far::copy_strided(dest, at, dst, sst, block, blocks, width);
}

// --- atomics ------------------------------------------------------------------------------------------------------------------

/// here(the element), which the processor does at once, or elsewhere().
template <class T, class Here, class Far>
[[gnu::always_inline]] inline T atomically(shmem_ctx_t ctx, T const* cell, int pe, Here const& here, Far const& elsewhere) {
    auto* const at = reach(ctx, cell, pe);
    if (!at) [[unlikely]]
        return elsewhere();
    auto const was = here(word<T>{*reinterpret_cast<T*>(at)});
    told(ctx, pe);
    return was;
}
/// Apart, so that what is done at once keeps its arguments in registers.
template <class T> [[gnu::noinline]] T far_atomic(shmem_ctx_t ctx, operation what, T const* cell, T value, int pe) {
    T old{};
    far::atomic(ctx, what, kind_of<T>(), cell, &value, &old, pe);
    return old;
}
template <class T> [[gnu::noinline]] void far_change(shmem_ctx_t ctx, operation what, T* cell, T value, int pe) {
    far::change(ctx, what, kind_of<T>(), cell, &value, pe);
}
template <class T> [[gnu::noinline]] T far_compare_swap(shmem_ctx_t ctx, T* cell, T cond, T value, int pe) {
    T old{};
    far::compare_swap(ctx, kind_of<T>(), cell, &cond, &value, &old, pe);
    return old;
}

template <class T> T atomic_fetch(shmem_ctx_t ctx, T const* cell, int pe) {
    auto* const at = reach(ctx, cell, pe);
    if (!at) [[unlikely]]
        return far_atomic<T>(ctx, operation::no_op, cell, {}, pe);
    return word<T>{*reinterpret_cast<T*>(at)}.load(std::memory_order_acquire); // sync(shmem.word): acquire
}
template <class T> void atomic_set(shmem_ctx_t ctx, T* cell, given<T> value, int pe) {
    auto* const at = reach(ctx, cell, pe);
    if (!at) [[unlikely]]
        return far_change<T>(ctx, operation::replace, cell, value, pe);
    word<T>{*reinterpret_cast<T*>(at)}.store(value, std::memory_order_release); // sync(shmem.word): release
    told(ctx, pe);
}
template <class T> T atomic_swap(shmem_ctx_t ctx, T* cell, given<T> value, int pe) {
    return atomically(
        ctx, cell, pe, [&](word<T> w) { return w.exchange(value, std::memory_order_acq_rel); }, // sync(shmem.word): acq_rel
        [&] { return far_atomic<T>(ctx, operation::replace, cell, value, pe); });
}
template <class T> T atomic_compare_swap(shmem_ctx_t ctx, T* cell, given<T> cond, given<T> value, int pe) {
    return atomically(
        ctx, cell, pe,
        [&](word<T> w) {
            auto seen = cond;
            // sync(shmem.word): acq_rel
            w.compare_exchange_strong(seen, value, std::memory_order_acq_rel, std::memory_order_acquire);
            return seen;
        },
        [&] { return far_compare_swap<T>(ctx, cell, cond, value, pe); });
}

template <class T> [[gnu::always_inline]] inline T atomic_fetch_add(shmem_ctx_t ctx, T* cell, given<T> value, int pe) {
    return atomically(
        ctx, cell, pe, [&](word<T> w) { return w.fetch_add(value, std::memory_order_acq_rel); }, // sync(shmem.word): acq_rel
        [&] { return far_atomic<T>(ctx, operation::sum, cell, value, pe); });
}
template <class T> [[gnu::always_inline]] inline T atomic_fetch_and(shmem_ctx_t ctx, T* cell, given<T> value, int pe) {
    return atomically(
        ctx, cell, pe, [&](word<T> w) { return w.fetch_and(value, std::memory_order_acq_rel); }, // sync(shmem.word): acq_rel
        [&] { return far_atomic<T>(ctx, operation::band, cell, value, pe); });
}
template <class T> [[gnu::always_inline]] inline T atomic_fetch_or(shmem_ctx_t ctx, T* cell, given<T> value, int pe) {
    return atomically(
        ctx, cell, pe, [&](word<T> w) { return w.fetch_or(value, std::memory_order_acq_rel); }, // sync(shmem.word): acq_rel
        [&] { return far_atomic<T>(ctx, operation::bor, cell, value, pe); });
}
template <class T> [[gnu::always_inline]] inline T atomic_fetch_xor(shmem_ctx_t ctx, T* cell, given<T> value, int pe) {
    return atomically(
        ctx, cell, pe, [&](word<T> w) { return w.fetch_xor(value, std::memory_order_acq_rel); }, // sync(shmem.word): acq_rel
        [&] { return far_atomic<T>(ctx, operation::bxor, cell, value, pe); });
}
template <class T> [[gnu::always_inline]] inline void atomic_add(shmem_ctx_t ctx, T* cell, given<T> value, int pe) {
    auto* const at = reach(ctx, cell, pe);
    if (!at) [[unlikely]]
        return far_change<T>(ctx, operation::sum, cell, value, pe);
    // sync(shmem.word): acq_rel
    static_cast<void>(word<T>{*reinterpret_cast<T*>(at)}.fetch_add(value, std::memory_order_acq_rel));
    told(ctx, pe);
}
template <class T> [[gnu::always_inline]] inline void atomic_and(shmem_ctx_t ctx, T* cell, given<T> value, int pe) {
    auto* const at = reach(ctx, cell, pe);
    if (!at) [[unlikely]]
        return far_change<T>(ctx, operation::band, cell, value, pe);
    // sync(shmem.word): acq_rel
    static_cast<void>(word<T>{*reinterpret_cast<T*>(at)}.fetch_and(value, std::memory_order_acq_rel));
    told(ctx, pe);
}
template <class T> [[gnu::always_inline]] inline void atomic_or(shmem_ctx_t ctx, T* cell, given<T> value, int pe) {
    auto* const at = reach(ctx, cell, pe);
    if (!at) [[unlikely]]
        return far_change<T>(ctx, operation::bor, cell, value, pe);
    // sync(shmem.word): acq_rel
    static_cast<void>(word<T>{*reinterpret_cast<T*>(at)}.fetch_or(value, std::memory_order_acq_rel));
    told(ctx, pe);
}
template <class T> [[gnu::always_inline]] inline void atomic_xor(shmem_ctx_t ctx, T* cell, given<T> value, int pe) {
    auto* const at = reach(ctx, cell, pe);
    if (!at) [[unlikely]]
        return far_change<T>(ctx, operation::bxor, cell, value, pe);
    // sync(shmem.word): acq_rel
    static_cast<void>(word<T>{*reinterpret_cast<T*>(at)}.fetch_xor(value, std::memory_order_acq_rel));
    told(ctx, pe);
}

/// The handle of an operation that is complete, for who asks for one.
inline void done(void** handle) noexcept {
    if (handle) *handle = nullptr;
}

// --- signals ------------------------------------------------------------------------------------------------------------------

/// Its waiter is always rung: signals are few.
inline void signal_at(shmem_ctx_t ctx, std::byte* at, std::uint64_t value, int op, int pe) {
    word<std::uint64_t> const cell{*reinterpret_cast<std::uint64_t*>(at)};
    // sync(shmem.word): acq_rel
    if (op == SHMEM_SIGNAL_ADD) static_cast<void>(cell.fetch_add(value, std::memory_order_acq_rel));
    else cell.store(value, std::memory_order_release); // sync(shmem.word): release
    far::ring(ctx, pe);
}
inline void signal(shmem_ctx_t ctx, std::uint64_t* flag, std::uint64_t value, int op, int pe) {
    auto* const at = reach(ctx, flag, pe);
    if (!at) [[unlikely]]
        return far::put_signal(ctx, nullptr, nullptr, 0, flag, value, op, pe);
    signal_at(ctx, at, value, op, pe);
}
inline void put_signal(shmem_ctx_t ctx, void* dest, void const* source, std::size_t n, std::uint64_t* flag, std::uint64_t value,
                       int op, int pe) {
    auto *const there = reach(ctx, dest, pe), *const at = reach(ctx, flag, pe);
    if (!there || !at) [[unlikely]]
        return far::put_signal(ctx, dest, source, n, flag, value, op, pe);
    put_at(ctx, there, source, n, pe);
    signal_at(ctx, at, value, op, pe);
}

// --- waiting ------------------------------------------------------------------------------------------------------------------

using mpt::shmem::comparison;

/// One value for all elements, or one for each.
template <class T> struct same {
    T value;
};
template <class T> same(T) -> same<T>; // which clang 16 does not find by itself
template <class T> struct each {
    T const* values;
};
template <class T> each(T const*) -> each<T>;

template <class T> mpt::shmem::watched<T> watch(T const* at, std::size_t n, int const* status, int cmp, same<given<T>> v) {
    return {at, n, status, static_cast<comparison>(cmp), v.value};
}
template <class T> mpt::shmem::watched<T> watch(T const* at, std::size_t n, int const* status, int cmp, each<given<T>> v) {
    return {at, n, status, static_cast<comparison>(cmp), v.values};
}

/// What waits, for shmem/compare.hpp.
struct waiter {
    template <class F> void await(F const& ready) const {
        if (ready()) return;
        far::wait([](void const* f) { return (*static_cast<F const*>(f))(); }, &ready);
    }
};
/// What a test found; where that is nothing, others may run.
template <class N> N looked(N found, N nothing) {
    if (found == nothing) far::glance();
    return found;
}

inline std::uint64_t signal_fetch(std::uint64_t const* at) noexcept { return mpt::shmem::now(at); }
inline std::uint64_t signal_wait(std::uint64_t const* at, int cmp, std::uint64_t value) {
    return mpt::shmem::signal_wait_until(waiter{}, at, static_cast<comparison>(cmp), value);
}
template <class T> void wait_until(T const* at, int cmp, given<T> value) {
    mpt::shmem::wait_until(waiter{}, at, static_cast<comparison>(cmp), value);
}
template <class T> int test(T const* at, int cmp, given<T> value) {
    return looked<int>(mpt::shmem::test(at, static_cast<comparison>(cmp), value), 0);
}

/// Where the next look for any of many begins: the specification wants that a series of calls comes to each that fits.
inline std::uint64_t turn() noexcept {
    static thread_local mpt::shmem::turns mine;
    return mine.next();
}

template <class T, class V> void wait_all(T const* at, std::size_t n, int const* status, int cmp, V const& values) {
    mpt::shmem::wait_until_all(waiter{}, watch(at, n, status, cmp, values));
}
template <class T, class V> std::size_t wait_any(T const* at, std::size_t n, int const* status, int cmp, V const& values) {
    return mpt::shmem::wait_until_any(waiter{}, watch(at, n, status, cmp, values), turn());
}
template <class T, class V>
std::size_t wait_some(T const* at, std::size_t n, std::size_t* which, int const* status, int cmp, V const& values) {
    return mpt::shmem::wait_until_some(waiter{}, watch(at, n, status, cmp, values), which);
}
template <class T, class V> int test_all(T const* at, std::size_t n, int const* status, int cmp, V const& values) {
    return looked<int>(mpt::shmem::test_all(watch(at, n, status, cmp, values)), 0);
}
template <class T, class V> std::size_t test_any(T const* at, std::size_t n, int const* status, int cmp, V const& values) {
    return looked(mpt::shmem::test_any(watch(at, n, status, cmp, values), turn()), mpt::shmem::none_fits);
}
template <class T, class V>
std::size_t test_some(T const* at, std::size_t n, std::size_t* which, int const* status, int cmp, V const& values) {
    return looked(mpt::shmem::test_some(watch(at, n, status, cmp, values), which), std::size_t{0});
}

// --- order --------------------------------------------------------------------------------------------------------------------

/// Contexts share what is not complete yet (mpt/shmem/job/context.hpp).
inline void fence(shmem_ctx_t ctx) { far::fence(ctx); }
inline void quiet(shmem_ctx_t ctx) { far::quiet(ctx); }
inline void pe_quiet(shmem_ctx_t ctx, int const*, std::size_t) { far::quiet(ctx); }

// --- reductions ---------------------------------------------------------------------------------------------------------------

/// Over a team or an active set.
template <class T, operation Op, class Who> int reduce(Who const& who, T* dest, T const* source, std::size_t n) {
    return far::reduce(who, Op, kind_of<T>(), dest, source, n);
}
template <class T> int scan(shmem_team_t team, T* dest, T const* source, std::size_t n, bool with_own) {
    return far::scan(team, kind_of<T>(), dest, source, n, with_own);
}
/// A count of the interface of active sets, whose counts are int.
inline std::size_t times(int n) noexcept { return n > 0 ? static_cast<std::size_t>(n) : 0; }
/// How many elements a reduction of n over an active set may work in.
inline std::size_t working(int n) noexcept {
    return n > 0 ? std::max<std::size_t>(times(n) / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE) : 0;
}
inline std::size_t pes(shmem_team_t team) { return times(team_size(team)); }

} // namespace mpt::c::shmem
