/// mpi/message - what is known of a message that was received or found. MPI-4.1 section 3.2.5 (status).
#pragma once
#include <cstddef>

#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

struct message_info {
    rank source{any_source}; // rank in the communicator
    mpt::tag tag{any_tag};
    std::size_t bytes = 0; // of the message
    bool cancelled = false;

    /// How many elements of T it holds.
    template <class T> std::size_t count() const noexcept { return bytes / sizeof(T); }
};

} // namespace mpt::inline v0
