/// rma/lock_word - who has locked a rank's part of a window: one word that any process changes without asking its owner.
///
///        0                 nobody
///        1 .. 2^31 - 1     so many share it
///        2^31              one has it alone
///
///        try_shared: n -> n + 1      try_exclusive: 0 -> 2^31      release_shared: n -> n - 1      release_exclusive: -> 0
///
///   Nobody is refused a share because another waits for the whole: ranks that share a lock may wait for each other, and one of them
///   that came late would wait behind it for ever. So one that wants the whole may wait as long as others go on sharing.
///
///   Order   Who takes it acquires what all who had it before have done. A share's release is a read-modify-write, so that the next
///           one acquires all of them by the last.
///   Limit   Who waits tries again; who is to be woken stands elsewhere (rma/window/sync.hpp).
///   Memory  one word, zero at birth, in shared memory.
///   Tests   test/rma_lock_word_test.cpp, test/model/lock_word_model_test.cpp    Source MPI-4.1 section 12.5.3.
#pragma once
#include <cstdint>

#include <mpt/core/atomics.hpp>

namespace mpt::inline v0::rma {

enum class lock_kind : std::uint8_t { exclusive, shared };

template <class Atomics = native_atomics> class lock_word {
    static constexpr std::uint32_t alone = 1u << 31;
    typename Atomics::template atomic<std::uint32_t> state_{0};

public:
    bool try_exclusive() noexcept {
        std::uint32_t nobody = 0;
        return state_.compare_exchange_strong(nobody, alone, std::memory_order_acquire, // sync(rma.lock): acquire
                                              std::memory_order_relaxed);               // order: refused, nothing hangs on it
    }
    bool try_shared() noexcept {
        auto seen = state_.load(std::memory_order_relaxed); // order: the compare-exchange decides
        while (seen < alone - 1)
            if (state_.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire, // sync(rma.lock): acquire
                                             std::memory_order_relaxed))                // order: another try
                return true;
        return false;
    }
    bool try_lock(lock_kind how) noexcept { return how == lock_kind::exclusive ? try_exclusive() : try_shared(); }
    void unlock(lock_kind how) noexcept { how == lock_kind::exclusive ? release_exclusive() : release_shared(); }
    void release_exclusive() noexcept { state_.store(0, std::memory_order_release); }  // sync(rma.lock): release
    void release_shared() noexcept { state_.fetch_sub(1, std::memory_order_release); } // sync(rma.lock): release
};

} // namespace mpt::inline v0::rma
