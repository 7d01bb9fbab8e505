/// buffered - buffers of buffered sends: the process's, and those of communicators and sessions. MPI-4.1 section 3.6.
///
///   How a buffer works: mpt/mpi/buffered.hpp. With MPI_BUFFER_AUTOMATIC the memory comes from the heap, and there is always room.
#pragma once
#include <mutex>

#include <mpt/mpi/buffered.hpp>

#include "binding.hpp"

namespace mpt::c {

/// Any thread may use it.
class send_buffer final : mpt::send_buffer<stack> {
    using base = mpt::send_buffer<stack>;
    std::mutex changing_;

public:
    using base::base;
    using base::is_heap;
    using base::memory;
    void send(wire const& w, mpt::rank to, int tag, source const& from) {
        std::lock_guard const g{changing_};
        base::send(w, to, tag, from);
    }
    bool test() {
        std::lock_guard const g{changing_};
        return base::test();
    }
    bool peek(lane<stack> const& home) noexcept {
        std::unique_lock const g{changing_, std::try_to_lock};
        return g && base::peek(home);
    }
    /// Waits outside the lock: what frees a place may be another thread's buffered send.
    void flush() {
        while (!test()) {
            std::unique_lock g{changing_};
            auto const next = base::awaited();
            g.unlock();
            if (next) next->first->wait(next->second, [&](auto&) { return peek(*next->first); });
        }
    }
};
static_assert(bsend_overhead == MPI_BSEND_OVERHEAD);

/// By the communicator's buffer, or its session's, or the process's. Throws mpi_error(MPI_ERR_BUFFER) where there is none.
void send_buffered(comm& c, mpt::rank to, int tag, source const& from);
/// Everything that was sent buffered has left.
void flush_all(binding& b);

} // namespace mpt::c
