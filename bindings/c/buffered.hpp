/// buffered - buffers of buffered sends: the process's, and those of communicators and sessions. MPI-4.1 section 3.6.
///
///   How a buffer works: mpt/mpi/buffered.hpp; which of them a send uses: mpt/mpi/attached_buffer.hpp. With MPI_BUFFER_AUTOMATIC the memory comes from the heap, and there is always room.
#pragma once
#include <mpt/mpi/buffered.hpp>

#include "binding.hpp"

namespace mpt::c {

class send_buffer final : public shared_send_buffer<stack> {
public:
    using shared_send_buffer<stack>::shared_send_buffer;
};
static_assert(bsend_overhead == MPI_BSEND_OVERHEAD);

/// By the communicator's buffer, or its session's, or the process's. Throws mpi_error(MPI_ERR_BUFFER) where there is none.
void send_buffered(comm& c, mpt::rank to, int tag, source const& from);
/// Everything that was sent buffered has left.
void flush_all(binding& b);

} // namespace mpt::c
