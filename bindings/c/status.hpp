/// status - the fields of MPI_Status that only the library reads.
///
///        MPI_SOURCE MPI_TAG MPI_ERROR | bytes (64 bits) | cancelled | 0 | 0
#pragma once
#include <mpi.h>

#include <cstdint>
#include <cstring>

namespace mpt::c {

inline std::int64_t bytes_of(MPI_Status const& s) noexcept {
    std::int64_t n = 0;
    std::memcpy(&n, s.MPI_internal, sizeof n);
    return n;
}
inline void set_bytes(MPI_Status& s, std::int64_t n) noexcept { std::memcpy(s.MPI_internal, &n, sizeof n); }
inline bool is_cancelled(MPI_Status const& s) noexcept { return s.MPI_internal[2] != 0; }
inline void set_cancelled(MPI_Status& s, bool yes) noexcept { s.MPI_internal[2] = yes; }

/// Writes what is known of a message. MPI_ERROR is left as it is: only calls that complete several requests write it.
inline void tell(MPI_Status* s, int source, int tag, std::int64_t n, bool cancelled = false) noexcept {
    if (s == MPI_STATUS_IGNORE) return;
    s->MPI_SOURCE = source;
    s->MPI_TAG = tag;
    set_bytes(*s, n);
    set_cancelled(*s, cancelled);
    s->MPI_internal[3] = s->MPI_internal[4] = 0;
}
/// A send's.
inline void tell_sent(MPI_Status* s) noexcept { tell(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0); }
/// The empty status: of a null or inactive request, and of a send.
inline void tell_empty(MPI_Status* s) noexcept {
    tell(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    if (s != MPI_STATUS_IGNORE) s->MPI_ERROR = MPI_SUCCESS;
}

} // namespace mpt::c
