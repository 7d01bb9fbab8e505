/// rma/agent/asked_flag - which of the windows that a clerk serves has something for it (rma/clerk.hpp).
///
///        origin     letter leaves ----> set() ----> the clerk's bell rings
///        clerk                                      wakes: of each window: clear()? then it looks for letters there
///
///   Order   rma.rung: who clears it sees what all have done who set it before, for each set is a read-modify-write. Who sets it afterwards
///           rings afterwards, too, and the clerk looks once more between arming its bell and its sleep.
///   Tests   test/model/asked_flag_model_test.cpp
#pragma once
#include <cstdint>

#include <mpt/core/atomics.hpp>

namespace mpt::inline v0::rma {

template <class Atomics = native_atomics> class asked_flag {
    typename Atomics::template atomic<std::uint32_t> set_{0};

public:
    void set() noexcept { set_.exchange(1, std::memory_order_release); } // sync(rma.rung): release
    /// Was it set?
    bool clear() noexcept {
        return set_.load(std::memory_order_relaxed) !=
                   0 && // order: the exchange acquires; seen late, it is seen after the ring
               set_.exchange(0, std::memory_order_acquire) != 0; // sync(rma.rung): acquire
    }
};

} // namespace mpt::inline v0::rma
