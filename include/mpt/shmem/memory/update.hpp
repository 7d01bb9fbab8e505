/// shmem/memory/update - atomic updates of one element, and signals. OpenSHMEM-1.6 sections 9.8 and 9.9.
///
///   What is in the heap is updated by the processor, whoever it belongs to; what is not by the window, which takes the processor's
///   atomics as well: updates of one element by several PEs meet, whichever way they come.
#pragma once
#include <mpt/shmem/memory.hpp>

namespace mpt::inline v0::shmem {

namespace detail {
template <class T> datatype const& number_type() {
    static datatype const t = datatype::named(mpt::detail::number_kind<T>());
    return t;
}
} // namespace detail

// --- by the window --------------------------------------------------------------------------------------------------------------------
template <class Stack> void memory<Stack>::update_far(char const* call, operation op, datatype const& type, void const* address,
                                                      void const* value, void* was, rank pe) {
    auto const place = there(call, address, pe);
    std::uint64_t unasked = 0; // who may sleep is rung when it has happened, which takes an answer
    if (!was && rings_) was = &unasked;
    far().fetch_and_op(value, was, type, pe, place, op);
    if (op != operation::no_op) told(pe);
}
template <class Stack> template <class T> T memory<Stack>::update_at(std::byte* there, operation op, T value, rank pe) {
    atomic_ref<T> const place{*reinterpret_cast<T*>(there)};
    auto const was = [&]() -> T {
        switch (op) {
        case operation::no_op: return seen(reinterpret_cast<T const*>(there));
        case operation::replace: return place.exchange(value, std::memory_order_acq_rel); // sync(shmem.word): acq_rel
        default:
            if constexpr (std::integral<T>) switch (op) {
                case operation::sum: return place.fetch_add(value, std::memory_order_acq_rel);  // sync(shmem.word): acq_rel
                case operation::band: return place.fetch_and(value, std::memory_order_acq_rel); // sync(shmem.word): acq_rel
                case operation::bor: return place.fetch_or(value, std::memory_order_acq_rel);   // sync(shmem.word): acq_rel
                default: return place.fetch_xor(value, std::memory_order_acq_rel);              // sync(shmem.word): acq_rel
                }
            else return value; // of others nobody asks
        }
    }();
    if (op != operation::no_op) told(pe);
    return was;
}
template <class Stack> template <class T>
T memory<Stack>::update_far(char const* call, operation op, T const* address, T value, rank pe) {
    if (auto* const place = statics_.find(address, pe)) return update_at(place, op, value, pe);
    T was{};
    update_far(call, op, detail::number_type<T>(), address, &value, &was, pe);
    return was;
}
template <class Stack> template <class T>
void memory<Stack>::change_far(char const* call, operation op, T* address, T value, rank pe) {
    if (auto* const place = statics_.find(address, pe)) return static_cast<void>(update_at(place, op, value, pe));
    update_far(call, op, detail::number_type<T>(), address, &value, nullptr, pe);
}
template <class Stack> template <class T> T memory<Stack>::compare_far(T* address, T condition, T value, rank pe) {
    if (auto* const at = statics_.find(address, pe)) return compare_at(at, condition, value, pe);
    auto const place = there("compare_swap", address, pe);
    T was{};
    far().compare_and_swap(&value, &condition, &was, detail::number_type<T>(), pe, place);
    if (was == condition) told(pe);
    return was;
}

// --- of any element ---------------------------------------------------------------------------------------------------------------------
template <class Stack> template <atomic_element T> T memory<Stack>::fetch(T const* source, rank pe) {
    if (!is_direct(source)) [[unlikely]] {
        if (!is_constant(source)) return update_far("fetch", operation::no_op, source, T{}, pe);
        T value;
        return get_far(&value, source, sizeof value, pe), value;
    }
    return seen(reinterpret_cast<T const*>(at(source, pe)));
}
template <class Stack> template <atomic_element T> void memory<Stack>::set(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return change_far("set", operation::replace, dest, value, pe);
    atomic_ref<T>{*reinterpret_cast<T*>(at(dest, pe))}.store(value, std::memory_order_release); // sync(shmem.word): release
    told(pe);
}
template <class Stack> template <atomic_element T> T memory<Stack>::swap(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return update_far("swap", operation::replace, dest, value, pe);
    atomic_ref<T> const place{*reinterpret_cast<T*>(at(dest, pe))};
    auto const was = place.exchange(value, std::memory_order_acq_rel); // sync(shmem.word): acq_rel
    told(pe);
    return was;
}

// --- of integers ------------------------------------------------------------------------------------------------------------------------
template <class Stack> template <atomic_integer T> T memory<Stack>::compare_swap(T* dest, T condition, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return compare_far(dest, condition, value, pe);
    return compare_at(at(dest, pe), condition, value, pe);
}
template <class Stack> template <class T> inline T memory<Stack>::compare_at(std::byte* there, T condition, T value, rank pe) {
    atomic_ref<T> const place{*reinterpret_cast<T*>(there)};
    if (place.compare_exchange_strong(condition, value, std::memory_order_acq_rel, // sync(shmem.word): acq_rel
                                      std::memory_order_acquire))                  // sync(shmem.word): acquire
        told(pe);
    return condition;
}
template <class Stack> template <atomic_integer T> T memory<Stack>::fetch_add(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return update_far("fetch_add", operation::sum, dest, value, pe);
    atomic_ref<T> const place{*reinterpret_cast<T*>(at(dest, pe))};
    auto const was = place.fetch_add(value, std::memory_order_acq_rel); // sync(shmem.word): acq_rel
    told(pe);
    return was;
}
template <class Stack> template <atomic_integer T> T memory<Stack>::fetch_and(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return update_far("fetch_and", operation::band, dest, value, pe);
    atomic_ref<T> const place{*reinterpret_cast<T*>(at(dest, pe))};
    auto const was = place.fetch_and(value, std::memory_order_acq_rel); // sync(shmem.word): acq_rel
    told(pe);
    return was;
}
template <class Stack> template <atomic_integer T> T memory<Stack>::fetch_or(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return update_far("fetch_or", operation::bor, dest, value, pe);
    atomic_ref<T> const place{*reinterpret_cast<T*>(at(dest, pe))};
    auto const was = place.fetch_or(value, std::memory_order_acq_rel); // sync(shmem.word): acq_rel
    told(pe);
    return was;
}
template <class Stack> template <atomic_integer T> T memory<Stack>::fetch_xor(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return update_far("fetch_xor", operation::bxor, dest, value, pe);
    atomic_ref<T> const place{*reinterpret_cast<T*>(at(dest, pe))};
    auto const was = place.fetch_xor(value, std::memory_order_acq_rel); // sync(shmem.word): acq_rel
    told(pe);
    return was;
}

// --- without what was there: an agent's answer is not waited for ------------------------------------------------------------------------
template <class Stack> template <atomic_integer T> void memory<Stack>::add(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return change_far("add", operation::sum, dest, value, pe);
    fetch_add(dest, value, pe);
}
template <class Stack> template <atomic_integer T> void memory<Stack>::bit_and(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return change_far("and", operation::band, dest, value, pe);
    fetch_and(dest, value, pe);
}
template <class Stack> template <atomic_integer T> void memory<Stack>::bit_or(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return change_far("or", operation::bor, dest, value, pe);
    fetch_or(dest, value, pe);
}
template <class Stack> template <atomic_integer T> void memory<Stack>::bit_xor(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return change_far("xor", operation::bxor, dest, value, pe);
    fetch_xor(dest, value, pe);
}

// --- signals ------------------------------------------------------------------------------------------------------------------------------
template <class Stack> void memory<Stack>::put_signal(void* dest, void const* source, std::size_t n, std::uint64_t* word,
                                                      std::uint64_t value, signal_op op, rank pe) {
    if (is_direct(dest)) [[likely]]
        copy_each_once(at(dest, pe), static_cast<std::byte const*>(source), n);
    else if (auto* const place = statics_.find(dest, pe)) copy_each_once(place, static_cast<std::byte const*>(source), n);
    else {
        bool const is_near = is_direct(word) || statics_.find(word, pe);
        if (!is_near && put_signal_far(dest, source, n, word, value, op, pe)) return ring(pe);
        put_far(dest, source, n, pe);
        if (is_near) window_->flush(pe); // else both are the agent's, in their order, or the data are there already
    }
    signal(word, value, op, pe);
}
/// Both at once, where that can be. False: nothing was done.
template <class Stack> bool memory<Stack>::put_signal_far(void* dest, void const* source, std::size_t n, std::uint64_t* word,
                                                          std::uint64_t value, signal_op op, rank pe) {
    if (n == 0) return false; // dest may be anywhere
    auto const to = there("put_signal", dest, pe), flag = there("put_signal", word, pe);
    return far().try_put_and_change(source, n, pe, to, value, flag, op == signal_op::set ? operation::replace : operation::sum);
}
template <class Stack> void memory<Stack>::signal(std::uint64_t* word, std::uint64_t value, signal_op op, rank pe) {
    op == signal_op::set ? set(word, value, pe) : add(word, value, pe);
    if (!rings_) ring(pe);
}

} // namespace mpt::inline v0::shmem
