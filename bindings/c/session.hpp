/// session - what a session handle stands for. MPI-4.1 section 11.3.
///
///        session <--- group <--- communicator <--- its dups and parts
///
///   Groups and communicators know the session that they come from: its buffer is theirs where they have none, and with it they
///   end. Those of MPI_COMM_WORLD come from none.
#pragma once
#include <mpi.h>

#include <memory>
#include <string>
#include <unordered_set>

#include <mpt/mpi/attached_buffer.hpp>

#include "call.hpp"
#include "counted.hpp"
#include "errhandler.hpp"

namespace mpt::c {

class send_buffer;

struct session : counted {
    MPI_Session handle = MPI_SESSION_NULL;
    int thread_level = MPI_THREAD_MULTIPLE;
    std::string memory_kinds;         // that are provided: the value of mpi_memory_alloc_kinds
    buffer_place<send_buffer> buffer; // of the buffered sends of its communicators
    // Guarded by binding::changing:
    ref<errhandler> handler;
    std::unordered_set<MPI_Comm> comms; // that live
    bool open = true;
};

/// Where a program asks for kinds of memory, and is told which are provided, and what it asserts of its buffers. MPI-4.1 section 11.4.3.
inline constexpr char const *memory_kinds_key = "mpi_memory_alloc_kinds", *asserted_kinds_key = "mpi_assert_memory_alloc_kinds";
/// Provided to what comes from that session; null: from MPI_COMM_WORLD's model, for which mptrun was asked.
std::string memory_kinds_of(session const* s);

/// The groups and communicators of one call come from one session, or all from the world model; an empty group comes from nowhere.
/// What a call only compares may come from anywhere. MPI-4.1 section 11.3.
template <class A, class B>
void require_one_origin(call const& on, A const& a, B const& b, char const* a_name, char const* b_name) {
    auto const *const from = a.of_session.get(), *const and_from = b.of_session.get();
    if (from == and_from || a.size() == 0 || b.size() == 0) return;
    auto const origin = [](session const* s) { return s ? "a session" : "MPI_COMM_WORLD's model"; };
    on.fail(MPI_ERR_SESSION, std::string{a_name} + " comes from " + origin(from) + ", and " + b_name + " from " +
                                 (from && and_from ? "another session" : origin(and_from)));
}

} // namespace mpt::c
