/// session - what a session handle stands for. MPI-4.1 section 11.3.
///
///        session <--- group <--- communicator <--- its dups and parts
///
///   Groups and communicators know the session that they come from: its buffer is theirs where they have none, and with it they
///   end. Those of MPI_COMM_WORLD come from none.
#pragma once
#include <mpi.h>

#include <memory>
#include <unordered_set>

#include "counted.hpp"
#include "errhandler.hpp"

namespace mpt::c {

class send_buffer;

struct session : counted {
    MPI_Session handle = MPI_SESSION_NULL;
    int thread_level = MPI_THREAD_MULTIPLE;
    std::shared_ptr<send_buffer> buffer; // of the buffered sends of its communicators
    // Guarded by binding::changing:
    ref<errhandler> handler;
    std::unordered_set<MPI_Comm> comms; // that live
    bool open = true;
};

} // namespace mpt::c
