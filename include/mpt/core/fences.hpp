/// core/fences - the three orderings that a release/acquire pair cannot give, and nothing else.
///
///   A receiver that goes to sleep and a sender that must not miss it are Dekker's algorithm: each stores its own flag, then
///   loads the other's, and at least one of them must see. That takes a store-load barrier on both sides. A sender sends
///   often and a sleeper sleeps rarely, so the whole price is moved to the sleeper:
///
///        sender                               sleeper
///        ------                               -------
///        publish the message                  asleep = 1
///        light(mode)   compiler only          heavy(mode)   membarrier: every core of every registered
///        if (asleep) ring the bell                          process passes a full barrier
///                                             poll once more, then sleep
///
///   A lock that one thread enters again and again, and another rarely, is the same (lock/bias.hpp): its user is the sender; all are threads
///   of one process, and heavy_here() reaches those.
///
///   Limit   Linux (seen with 6.18) leaves a CPU out of other processes' barriers where our process ran before it had registered, and
///           nobody else's since: it takes our next thread there for the last one, and its own notes for up to date. So a message and the
///           sleeper that it is for may miss each other there, until the sleeper's nap is over. What would not be made good by itself asks
///           for more: two processes that pass_every_cpu() when all have registered make every CPU take note of all of them
///           (boot/boot.hpp: meet()). heavy_here() asks each CPU whose it is, and leaves none out.
///
///   Where the kernel refuses membarrier, or ranks outnumber CPUs (then sleeping is frequent and the system call dear), the
///   node's mode is `fence::both`: both sides fence. The mode is one word of the control segment, the same for all.
///
///   drain() orders streaming (non-temporal) stores before the release store that publishes them: a release store alone does
///   not on x86.
///
///   This is the one header that tools/check_sync.py lets hold a bare fence; the instruction of drain() is core/processor.hpp's.
///   ThreadSanitizer does not understand fences: under it light() and heavy() become no-ops and say so by `invisible`; who uses
///   them then does without: world/bell.hpp takes a read-modify-write of the flag on both sides, lock/bias.hpp lets nobody in.
#pragma once
#include <atomic>
#include <cstdint>

#include <mpt/core/processor.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

/// Who pays for the store-load barrier between a sender and a sleeper.
enum class fence_mode : std::uint32_t {
    sleeper, // membarrier on the sleeper's side; senders pay nothing
    both,    // a full fence on both sides
};

#if defined(__SANITIZE_THREAD__)
#define MPT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MPT_THREAD_SANITIZER 1
#endif
#endif
#ifndef MPT_THREAD_SANITIZER
#define MPT_THREAD_SANITIZER 0
#endif

/// src/core/fences.cpp: membarrier(PRIVATE_EXPEDITED and GLOBAL_EXPEDITED). Every process of the node has registered before.
void heavy_barrier() noexcept;
/// The same for the threads of this process alone.
void heavy_barrier_here() noexcept;
/// Registers this process to take part in peers' heavy barriers, and in its own; call early, while single-threaded: each of the two takes
/// some 10 ms where there are threads. False where refused.
bool register_heavy() noexcept;
/// The CPUs that the calling thread may be given, as a number, the same for the same ones; 0: that is not known.
std::uint64_t cpus_to_pass() noexcept;
/// The calling thread runs on each of them once, and then where it might before; some 10 us for one that is idle. See Limit. Returns what
/// cpus_to_pass() does; 0: it was refused, or given up because it took a tenth of a second.
std::uint64_t pass_every_cpu() noexcept;

struct native_fences {
    /// The tool that watches does not understand fences.
    static constexpr bool invisible = MPT_THREAD_SANITIZER;

    /// The sender's side, between publishing and looking whether the receiver sleeps.
    static void light(fence_mode mode) noexcept {
#if !MPT_THREAD_SANITIZER
        if (mode == fence_mode::both) [[unlikely]]
            std::atomic_thread_fence(std::memory_order_seq_cst);
        else std::atomic_signal_fence(std::memory_order_seq_cst);
#else
        static_cast<void>(mode);
#endif
    }
    /// The sleeper's side, between saying that it sleeps and its last look.
    static void heavy(fence_mode mode) noexcept {
#if !MPT_THREAD_SANITIZER
        if (mode == fence_mode::both) std::atomic_thread_fence(std::memory_order_seq_cst);
        else heavy_barrier();
#else
        static_cast<void>(mode);
#endif
    }
    /// The same where senders and sleepers are threads of one process.
    static void heavy_here(fence_mode mode) noexcept {
#if !MPT_THREAD_SANITIZER
        if (mode == fence_mode::both) std::atomic_thread_fence(std::memory_order_seq_cst);
        else heavy_barrier_here();
#else
        static_cast<void>(mode);
#endif
    }
    /// After streaming stores, before the store that publishes them.
    static void drain() noexcept { processor::order_stores(); }
};

} // namespace mpt::inline v0
