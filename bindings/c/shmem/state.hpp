/// state - what the fast calls of OpenSHMEM's C interface must know, as plain numbers and pointers.
///
///        address ---- minus the heap's begin ----> offset --- below its size ---> places[pe] + offset     a load, a store, an atomic
///                                                        `--- else: static data, or a mistake ---------> far.hpp
///
///   Nothing here knows a stack: the entry points are a few thousand functions, and are compiled twice. begin.cpp fills it in.
///   A context's handle is its place in the table, with a number above it that changes each time the place is used again.
///
///   Cost    a subtraction, a comparison, two loads; a context that is not the default one costs a comparison and two loads more.
///   Limit   65,534 contexts at once, however many SHMEM_MAX_CTX allows: then none can be made. And in the library that does not check (oshcc without -debug) a PE that there is not is not noticed.
#pragma once
#include <shmem.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace mpt::c::shmem {

#if defined(MPT_SHMEM_CHECKED)
inline constexpr bool checked = true;
#else
inline constexpr bool checked = false;
#endif

/// The job, as this PE sees it. Before shmem_init there is no heap, so that every access goes the slow way, which says so.
struct job_view {
    std::byte const* heap = nullptr; // this PE's
    std::size_t bytes = 0;
    std::byte* const* places = nullptr; // everybody's heap, as it is mapped here
    int me = -1, size = 0;
    bool rings = false; // somebody sleeps soon: who waits for memory is rung
};

struct context_view {
    shmem_ctx_t handle = nullptr; // null: free
    std::byte* const* places = nullptr;
    int size = 0;
};

/// Places of the table; two are SHMEM_CTX_INVALID's and SHMEM_CTX_DEFAULT's. What nobody has used is no memory.
inline constexpr std::size_t most_contexts = 65536;

#define MPT_SHMEM_OURS __attribute__((visibility("hidden")))
extern MPT_SHMEM_OURS job_view the_job;
extern MPT_SHMEM_OURS std::array<context_view, most_contexts> the_contexts;

inline job_view const& all() noexcept { return the_job; }

inline std::size_t place_in_table(shmem_ctx_t ctx) noexcept { return reinterpret_cast<std::uintptr_t>(ctx) % most_contexts; }

/// Ends the job: a context that is none would make every later call undefined.
[[noreturn]] MPT_SHMEM_OURS void refuse_context(shmem_ctx_t ctx);

inline context_view const& context_of(shmem_ctx_t ctx) {
    auto const& found = the_contexts[place_in_table(ctx)];
    if (ctx == nullptr || found.handle != ctx) [[unlikely]]
        refuse_context(ctx);
    return found;
}

/// Where an address of this PE's heap lies at another, as it is mapped here; null for what is not in the heap.
inline std::byte* reach(shmem_ctx_t ctx, void const* address, int pe) {
    auto const offset = static_cast<std::size_t>(static_cast<std::byte const*>(address) - all().heap);
    if (offset >= all().bytes) [[unlikely]]
        return nullptr;
    auto const* const places = ctx == SHMEM_CTX_DEFAULT ? all().places : context_of(ctx).places;
    return places[pe] + offset;
}

} // namespace mpt::c::shmem
