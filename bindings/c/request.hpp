/// request - the contract of everything that can be waited for by an MPI_Request. MPI-4.1 section 3.7.
///
///        inactive --- start() ---> active --- test() or wait says done ---> finish(): the status, or the error
///           ^                                                                |
///           `------------------------- persistent ---------------------------'---> freed
///
///   A request that the user frees while it is active becomes an orphan: its operation goes on, and the binding lets go of it
///   when it is done, or at MPI_Finalize.
#pragma once
#include <cstdint>
#include <string>

#include "call.hpp"
#include "counted.hpp"
#include "flavour.hpp"
#include "status.hpp"

namespace mpt::c {

/// How an operation ended.
struct ending {
    int source = MPI_ANY_SOURCE, tag = MPI_ANY_TAG;
    std::int64_t bytes = 0;
    bool cancelled = false;
    int code = MPI_SUCCESS;
    std::string sentence; // of an error

    void tell_to(MPI_Status* s) const noexcept { tell(s, source, tag, bytes, cancelled); }
};

/// The contract of everything that can be waited for.
struct request : counted {
    bool persistent = false;
    shown<bool> active = false; // what `blamed` says is older
    bool by_handle = false;     // the user completes it, and names it by its handle, which lives until then
    bool plain = false;         // a plain_transfer
    bool single = false;        // a transfer_request, persistent, of one transfer
    bool collective = false;    // cannot be cancelled, nor freed while it is active: MPI-4.1 sections 6.12 and 6.13
    raised_on blamed;           // its errors

    /// Persistent ones: begins again. Not while active.
    virtual void start() = 0;
    /// Makes progress; true: done, finish() does not wait.
    virtual bool test() = 0;
    /// Is it done, as far as can be seen without progress, by a thread in the lane `home` (which it has locked)?
    virtual bool peek(lane<stack> const& home) noexcept = 0;
    /// The lane to wait on.
    virtual lane<stack>& home() noexcept = 0;
    virtual waiting about() const noexcept = 0;
    /// Whose next message ends it, where one rank's does. For who holds the lane's lock.
    virtual mpt::rank awaited() const noexcept { return any_source; }
    /// How it ended, once it is done; it stays as it is.
    virtual ending seen() = 0;
    /// Waits until it is done and tells how it ended; inactive from then on.
    virtual ending finish() = 0;
    virtual void cancel() = 0;
    /// Ends it, as finish() does, where it is over and went well, which is looked for so many times. False: nothing was done.
    virtual bool end_well(std::uint32_t looks) noexcept { return (void)looks, false; }
    /// MPI is left: withdrawn where that can be done.
    virtual void abandon() = 0;
    /// It ended well, and its handle is dead. mine: a use of it, the last one where no other thread has one; who keeps it may begin it again.
    virtual void rest(binding&, ref<request> mine) noexcept { (void)mine; }
};

} // namespace mpt::c
