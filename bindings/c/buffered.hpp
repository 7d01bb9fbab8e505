/// buffered - buffers of buffered sends: the process's, and those of communicators and sessions. MPI-4.1 section 3.6.
///
///        user's buffer   | message + 512 | message + 512 |      free      | message + 512 |
///
///   A message occupies its bytes and MPI_BSEND_OVERHEAD of the buffer until it has left; places are found first fit. With
///   MPI_BUFFER_AUTOMATIC the memory comes from the heap, and there is always room.
#pragma once
#include <list>
#include <mutex>

#include "binding.hpp"

namespace mpt::c {

class send_buffer {
    struct block {
        std::size_t at, size;
        std::unique_ptr<std::byte[]> own; // automatic
        protocol::request* under_way;
        wire on;
        waiting about;
    };
    std::byte* memory_;
    std::size_t size_;
    bool automatic_;
    std::list<block> blocks_; // by place
    std::mutex changing_;

public:
    send_buffer(void* memory, std::size_t size, bool automatic) noexcept
        : memory_{static_cast<std::byte*>(memory)}, size_{size}, automatic_{automatic} {}

    /// Throws mpi_error(MPI_ERR_BUFFER) where there is no room.
    void send(wire const& w, mpt::rank to, int tag, source const& from);
    /// Lets go of what has left; true: nothing is under way.
    bool test();
    /// The same without progress, by a thread in the lane `home`.
    bool peek(lane<stack> const& home) noexcept;
    /// Waits until all has left.
    void flush();
    void* memory() const noexcept { return automatic_ ? MPI_BUFFER_AUTOMATIC : memory_; }
    std::size_t size() const noexcept { return size_; }

private:
    std::list<block>::iterator place_for(std::size_t n);
    bool reap();
};

/// By the communicator's buffer, or its session's, or the process's. Throws mpi_error(MPI_ERR_BUFFER) where there is none.
void send_buffered(comm& c, mpt::rank to, int tag, source const& from);
/// Everything that was sent buffered has left.
void flush_all(binding& b);

} // namespace mpt::c
