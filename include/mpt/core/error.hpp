/// core/error - what the set-up path throws and the C++ facade throws by default: one sentence a person can act on.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <mpt/core/types.hpp>

namespace mpt::inline v0 {

/// The classes of errors; the bindings translate them by a switch without default.
enum class errc : std::uint8_t {
    argument, // a value that the call does not allow
    rank_range,
    tag_range,
    root,     // ranks name different roots of one collective
    truncate, // the message is longer than the buffer
    no_memory,
    peer_gone,
    unreachable,   // no transport of the stack reaches the peer
    system,        // the system refused something that cannot be done without
    configuration, // a bad value of a variable, or values that differ between ranks
    launch,        // started in a way that cannot work
    usage,         // a call at the wrong time (after finalize, a freed communicator)
    protocol,      // a peer sent what the state machine does not allow
    rma_sync,      // one-sided: no epoch is open for this, or one that must not be
    rma_range,     // one-sided: outside the target's memory
    rma_attach,    // one-sided: memory that cannot be attached
    rma_flavor,    // one-sided: a window of another sort
    rma_shared,    // one-sided: memory that cannot be shared
    buffer,        // memory of the caller's own that is not there, or cannot be written
};

class error : public std::runtime_error {
    errc code_;
    int system_;

public:
    /// what: a whole sentence with the values in it. system: errno where one was seen, else 0.
    error(errc code, std::string const& what, int system = 0) : std::runtime_error{what}, code_{code}, system_{system} {}
    errc code() const noexcept { return code_; }
    int system() const noexcept { return system_; }
};

} // namespace mpt::inline v0
