/// shmem/memory/move - put and get in all forms. OpenSHMEM-1.6 sections 9.6 and 9.7.
#pragma once
#include <mpt/shmem/memory.hpp>

namespace mpt::inline v0::shmem {

namespace detail {
inline datatype const& raw_bytes() {
    static datatype const t = datatype::named(element_kind::byte);
    return t;
}
/// Blocks of bytes, `step` bytes apart.
inline datatype blocks_of(strides const& s, std::ptrdiff_t step) {
    auto const width = static_cast<std::int64_t>(s.width);
    return datatype::hvector(static_cast<std::int64_t>(s.count), static_cast<std::int64_t>(s.block) * width, step * width,
                             raw_bytes());
}

/// Both sides are mapped.
inline void copy_strided(std::byte* to, std::byte const* from, strides const& s) noexcept {
    auto const width = static_cast<std::ptrdiff_t>(s.width), there = s.there * width, here = s.here * width;
    switch (auto const block = s.block * s.width; block) {
    case 1: return copy_blocks<1>(to, there, from, here, s.count);
    case 2: return copy_blocks<2>(to, there, from, here, s.count);
    case 4: return copy_blocks<4>(to, there, from, here, s.count);
    case 8: return copy_blocks<8>(to, there, from, here, s.count);
    case 16: return copy_blocks<16>(to, there, from, here, s.count);
    default:
        for (std::size_t i = 0; i < s.count; ++i, to += there, from += here) copy_each_once(to, from, block);
    }
}
} // namespace detail

// --- addresses of other PEs ---------------------------------------------------------------------------------------------------------
/// What an address of ours is in the PE's own addresses.
template <class Stack> std::int64_t memory<Stack>::there(char const* call, void const* address, rank pe, bool writes) const {
    auto const who = static_cast<std::size_t>(pe.value);
    if (offset(address) < bytes_) return static_cast<std::int64_t>(heaps_[who] + offset(address));
    auto const k = segment_of(segments_, number(address));
    if (k == segments_.size() || !is_same(k, pe)) not_symmetric(call, address, pe);
    auto const &ours = segments_[k], &its = theirs_[who][k];
    if (ours.is_constant() && writes)
        throw error{errc::argument, "mpt: " + std::string{call} + ": address " + std::to_string(number(address)) +
                                        " is a constant's, which nobody may write"};
    return static_cast<std::int64_t>(its.at + (number(address) - ours.at));
}

template <class Stack> void memory<Stack>::not_symmetric(char const* call, void const* address, rank pe) const {
    throw error{errc::argument, "mpt: " + std::string{call} + ": address " + std::to_string(number(address)) +
                                    " is not symmetric at PE " + std::to_string(pe.value) +
                                    ": neither in the symmetric heap nor a variable with static storage"};
}

// --- in one piece ---------------------------------------------------------------------------------------------------------------------
template <class Stack> void memory<Stack>::put(void* dest, void const* source, std::size_t n, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return put_far(dest, source, n, pe);
    copy_each_once(at(dest, pe), static_cast<std::byte const*>(source), n);
    told(pe);
}
template <class Stack> void memory<Stack>::get(void* dest, void const* source, std::size_t n, rank pe) {
    if (!is_direct(source)) [[unlikely]]
        return get_far(dest, source, n, pe);
    copy_bytes(static_cast<std::byte*>(dest), at(source, pe), n);
}

template <class Stack> template <element T> void memory<Stack>::p(T* dest, T value, rank pe) {
    if (!is_direct(dest)) [[unlikely]]
        return p_far(dest, value, pe);
    store_at(at(dest, pe), value);
    told(pe);
}
template <class Stack> template <element T> T memory<Stack>::g(T const* source, rank pe) {
    if (!is_direct(source)) [[unlikely]]
        return g_far(source, pe);
    return load_at<T>(at(source, pe));
}
template <class Stack> template <class T> inline void memory<Stack>::store_at(std::byte* place, T value) noexcept {
    if constexpr (!is_whole<T>) std::memcpy(place, &value, sizeof value);
    else atomic_ref<T>{*reinterpret_cast<T*>(place)}.store(value, std::memory_order_release); // sync(shmem.word): release
}
template <class Stack> template <class T> inline T memory<Stack>::load_at(std::byte const* place) noexcept {
    T value;
    if constexpr (is_whole<T>) value = seen(reinterpret_cast<T const*>(place));
    else std::memcpy(&value, place, sizeof value);
    return value;
}

// --- of static variables ----------------------------------------------------------------------------------------------------------------
template <class Stack> template <class T> void memory<Stack>::p_far(T* dest, T value, rank pe) {
    auto* const place = statics_.find(dest, pe);
    if (!place) return put_far(dest, &value, sizeof value, pe);
    store_at(place, value);
    told(pe);
}
template <class Stack> template <class T> T memory<Stack>::g_far(T const* source, rank pe) {
    if (auto const* const place = statics_.find(source, pe)) return load_at<T>(place);
    T value;
    get_far(&value, source, sizeof value, pe);
    return value;
}

template <class Stack> void memory<Stack>::put_far(void* dest, void const* source, std::size_t n, rank pe) {
    if (n == 0) return; // wherever that is
    if (auto* const place = statics_.find(dest, pe)) {
        copy_each_once(place, static_cast<std::byte const*>(source), n);
        return told(pe);
    }
    auto const count = static_cast<std::int64_t>(n);
    auto const place = there("put", dest, pe);
    far().put({source, count, detail::raw_bytes()}, {pe, place, count, detail::raw_bytes()});
    after_put(pe);
}
template <class Stack> void memory<Stack>::get_far(void* dest, void const* source, std::size_t n, rank pe) {
    if (n == 0) return;
    if (auto const* const place = statics_.find(source, pe)) return copy_bytes(static_cast<std::byte*>(dest), place, n);
    auto const count = static_cast<std::int64_t>(n);
    auto const place = there("get", source, pe, false);
    far().get({dest, count, detail::raw_bytes()}, {pe, place, count, detail::raw_bytes()});
}

// --- in strides -------------------------------------------------------------------------------------------------------------------------
template <class Stack> void memory<Stack>::put(void* dest, void const* source, strides const& s, rank pe) {
    if (s.count == 0 || s.block == 0) return;
    if (is_direct(dest)) [[likely]] {
        detail::copy_strided(at(dest, pe), static_cast<std::byte const*>(source), s);
        return told(pe);
    }
    if (auto* const place = statics_.find(dest, pe)) {
        detail::copy_strided(place, static_cast<std::byte const*>(source), s);
        return told(pe);
    }
    auto const ours = detail::blocks_of(s, s.here), its = detail::blocks_of(s, s.there);
    auto const place = there("iput", dest, pe);
    far().put({source, 1, ours}, {pe, place, 1, its});
    after_put(pe);
}
template <class Stack> void memory<Stack>::get(void* dest, void const* source, strides const& s, rank pe) {
    if (s.count == 0 || s.block == 0) return;
    if (is_direct(source)) [[likely]]
        return detail::copy_strided(static_cast<std::byte*>(dest), at(source, pe), s);
    if (auto const* const place = statics_.find(source, pe))
        return detail::copy_strided(static_cast<std::byte*>(dest), place, s);
    auto const ours = detail::blocks_of(s, s.there), its = detail::blocks_of(s, s.here);
    auto const place = there("iget", source, pe, false);
    far().get({dest, 1, ours}, {pe, place, 1, its});
}

} // namespace mpt::inline v0::shmem
