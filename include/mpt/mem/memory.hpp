/// mem/memory - the contract of a memory policy: which pages stand behind the library's memory and the user's.
///
///   A memory policy never hands out memory itself: the arena does. It says what pages to ask the kernel for, and shapes a
///   fresh range before anybody touches it.
///
///   expression           returns   may fail with        meaning
///   M::page              bytes     -                    granule and alignment of every range
///   M::memfd_flags       unsigned  -                    flags for memfd_create beside MFD_CLOEXEC
///   M::shape(range)      status    refused, no_memory   advises the kernel about a mapped, untouched range
#pragma once
#include <concepts>
#include <span>

#include <mpt/core/policy.hpp>

namespace mpt::inline v0 {

template <class M>
concept memory_policy = policy<M> && std::same_as<typename M::kind, kind::memory> && requires(std::span<std::byte> range) {
    { M::page } -> std::convertible_to<bytes>;
    { M::memfd_flags } -> std::convertible_to<unsigned>;
    { M::shape(range) } noexcept -> std::same_as<status>;
};

} // namespace mpt::inline v0
