/// binding - the C interface's state of one rank: its environment, and what its handles stand for.
///
///        here() --> binding --> environment (from MPI_Init to MPI_Finalize; another facade's where that came first)
///                      `------> one table for each sort of handle; predefined objects live as long as the binding
///
///   Some calls are allowed before MPI_Init and after MPI_Finalize (info objects, error handlers, versions): the binding is
///   there from the first call on.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "call.hpp"
#include "comm.hpp"
#include "flavour.hpp"
#include "handles.hpp"
#include "objects.hpp"
#include "request.hpp"

namespace mpt::c {

enum class stage : std::uint8_t { before, running, over };

struct binding {
    binding();
    ~binding();
    binding(binding const&) = delete;

    // --- the environment ------------------------------------------------------------------------------------------------------
    stage at = stage::before;
    std::unique_ptr<environment<stack>> own; // made by MPI_Init
    environment<stack>* env = nullptr;       // own, or another facade's
    int thread_level = MPI_THREAD_SINGLE;
    std::uint64_t main_thread = 0;
    std::optional<boot::membership> membership; // who we are, where nobody can find out: ranks that are threads

    // --- handles --------------------------------------------------------------------------------------------------------------
    handle_table<comm> comms;
    handle_table<group_object> groups;
    handle_table<errhandler> errhandlers;
    handle_table<info_object> infos;
    handle_table<datatype_object> datatypes;
    handle_table<operation_object> operations;
    handle_table<request> requests;
    handle_table<message> messages;

    comm* world = nullptr; // while running
    comm* self = nullptr;

    std::shared_ptr<send_buffer> buffer; // of buffered sends
    std::vector<ref<request>> orphans;   // freed by the user while active

    std::mutex changing;                             // for what follows
    std::map<void*, std::span<std::byte>> allocated; // by MPI_Alloc_mem
    error_registry errors;
    std::string last_error; // the sentence of the last error that was raised, with its code
    int last_code = MPI_SUCCESS;

    runtime<stack>& run() const noexcept { return env->native(); }
    /// A new handle. Throws mpi_error where there are no more.
    template <class Handle, class T> static Handle publish(handle_table<T>& table, ref<T> object) {
        auto const word = table.add(object.get());
        if (word == 0) throw mpi_error{error_class::no_mem, "there are no handles left"};
        object.release();
        return handle_of<Handle>(word);
    }
};

/// The channel of a communicator.
inline wire wire_of(comm const& c) noexcept { return {*static_cast<lane<stack>*>(c.lane), c.context}; }

/// Makes the handles of the named datatypes stand for them.
void predefine_datatypes(binding& b);
void forget_datatypes(binding& b);
/// Lets go of what was freed while it was active: done, or withdrawn.
void free_orphans(binding& b);
/// What chapters do when MPI is entered, and before it is left (while everything still works).
void begin_chapters(binding& b);
void end_chapters(binding& b);

#if defined(MPT_C_THREADS)
/// Ranks that are threads: each has a binding of its own, which its further threads must take up.
void take_up(binding& b) noexcept;
#endif

} // namespace mpt::c
