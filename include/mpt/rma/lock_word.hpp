/// rma/lock_word - who has locked a rank's part of a window: one word that any process changes without asking its owner.
///
///        0                 nobody
///        1 .. 2^30 - 1     so many share it
///        2^30 + that       the same, and the gate is shut: no more are let in
///        2^31              one has it alone
///
///        try_shared: n -> n + 1      try_exclusive: 0, 2^30 -> 2^31      release_shared: n -> n - 1      release_exclusive: -> 0
///        insist:     2^30 + n -> n + 1           n -> 2^30 + n
///
///   Some who relieve each other could share it for ever: so who has waited long for the whole shuts the gate. But who shares it may
///   wait for one that comes late, and stands before the gate: so who has waited long there opens it. How long the waiter knows
///   (rma/window/sync.hpp). Who wants the whole still waits for ever if shares are held longer than that, and always overlap.
///
///   Order   Who takes it acquires what all who had it before have done. A share's release is a read-modify-write, so that the next
///           one acquires all of them by the last. So is what shuts or opens the gate, and breaks no such chain.
///   Limit   Who waits tries again; who is to be woken stands elsewhere (rma/window/sync.hpp).
///   Memory  one word, zero at birth, in shared memory.
///   Tests   test/rma_lock_word_test.cpp, test/model/lock_word_model_test.cpp    Source MPI-4.1 section 12.5.3.
#pragma once
#include <cstdint>

#include <mpt/core/atomics.hpp>

namespace mpt::inline v0::rma {

enum class lock_kind : std::uint8_t { exclusive, shared };

template <class Atomics = native_atomics> class lock_word {
    static constexpr std::uint32_t gate = 1u << 30, alone = 1u << 31;
    typename Atomics::template atomic<std::uint32_t> state_{0};

public:
    bool try_exclusive() noexcept {
        for (std::uint32_t seen = 0; (seen & ~gate) == 0;)
            if (state_.compare_exchange_strong(seen, alone, std::memory_order_acquire, // sync(rma.lock): acquire
                                               std::memory_order_relaxed))             // order: refused, nothing hangs on it
                return true;
        return false;
    }
    bool try_shared() noexcept {
        auto seen = state_.load(std::memory_order_relaxed); // order: the compare-exchange decides
        while (seen < gate - 1)
            if (state_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, // sync(rma.lock): acquire
                                             std::memory_order_relaxed))                // order: another try
                return true;
        return false;
    }
    /// What who has waited long does: it shuts the gate, or opens it and shares what others share. True: it has the lock.
    bool insist(lock_kind how) noexcept {
        if (how == lock_kind::exclusive) return shut(), false;
        auto seen = state_.load(std::memory_order_relaxed); // order: the compare-exchange decides
        while (seen < alone && (seen & ~gate) < gate - 1)
            if (state_.compare_exchange_weak(seen, (seen & ~gate) + 1, std::memory_order_acquire, // sync(rma.lock): acquire
                                             std::memory_order_relaxed))                          // order: another try
                return true;
        return false;
    }
    bool try_lock(lock_kind how) noexcept { return how == lock_kind::exclusive ? try_exclusive() : try_shared(); }
    void unlock(lock_kind how) noexcept { how == lock_kind::exclusive ? release_exclusive() : release_shared(); }
    void release_exclusive() noexcept { state_.store(0, std::memory_order_release); }  // sync(rma.lock): release
    void release_shared() noexcept { state_.fetch_sub(1, std::memory_order_release); } // sync(rma.lock): release

private:
    void shut() noexcept {
        auto seen = state_.load(std::memory_order_relaxed); // order: the compare-exchange decides
        while (seen != 0 && seen < gate)
            if (state_.compare_exchange_weak(seen, seen | gate, std::memory_order_relaxed)) return; // order: see Order
    }
};

} // namespace mpt::inline v0::rma
