/// binding - the C interface's state of one rank: its environment, and what its handles stand for.
///
///        here() --> binding --> environment (of the process's session_home; another facade's where that came first)
///                      `------> one table for each sort of handle; predefined objects live as long as the binding
///
///   Some calls are allowed before MPI_Init and after MPI_Finalize (info objects, error handlers, versions): the binding is
///   there from the first call on. Others are while the world model is entered or a session is open: those are uses, which
///   come and go.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "call.hpp"
#include "comm.hpp"
#include "flavour.hpp"
#include "handles.hpp"
#include "objects.hpp"
#include "recent_types.hpp"
#include "request.hpp"
#include "win.hpp"

namespace mpt::c {

/// The bits of Fortran's .true. and .false. in logicals of a size.
struct fortran_booleans {
    int size;
    std::array<std::byte, 16> yes{}, no{};
};

struct tool_state;

enum class stage : std::uint8_t { before, running, over }; // of the world model
enum class use : std::uint8_t { world, session };

struct binding {
    binding();
    ~binding();
    binding(binding const&) = delete;

    // --- the environment ------------------------------------------------------------------------------------------------------
    std::shared_ptr<session_home<stack>> home; // from the first use on
    stage at = stage::before;
    native_atomics::atomic<bool> up{false}; // there is a use
    int uses = 0;                           // guarded by `changing`
    /// Of all uses.
    stage life() const noexcept {
        if (up.load(std::memory_order_relaxed)) return stage::running; // order: as where calls ask
        return env ? stage::over : stage::before;
    }
    bool one_thread = false;           // makes requests and ends them; guarded by `changing`
    environment<stack>* env = nullptr; // the home's
    int thread_level = MPI_THREAD_MULTIPLE;
    std::uint64_t main_thread = 0;
    std::optional<boot::membership> membership; // who we are, where nobody can find out: ranks that are threads

    // --- handles --------------------------------------------------------------------------------------------------------------
    block_store transfers; // memory of requests that are sends or receives
    handle_table<comm> comms;
    handle_table<group_object> groups;
    handle_table<errhandler> errhandlers;
    handle_table<info_object> infos;
    handle_table<datatype_object> datatypes;
    recent_types lately;          // what their constructors gave
    recent<ref<request>> resting; // collectives that may be begun again
    handle_table<operation_object> operations;
    handle_table<request> requests;
    handle_table<message> messages;
    handle_table<session> sessions;
    handle_table<win> wins;

    MPI_Request left = MPI_REQUEST_NULL; // of every send that was over when its call came back; lives as long as this

    comm* world = nullptr; // there from the first use on; their handles, while running
    comm* self = nullptr;

    std::vector<ref<datatype_object>> unnamed; // predefined datatypes that a call makes: by precision and range
    buffer_place<send_buffer> buffer;          // of buffered sends
    std::vector<ref<request>> orphans;         // freed by the user while active

    std::mutex changing;                                                          // for what follows
    std::map<void*, std::span<std::byte>> allocated;                              // by MPI_Alloc_mem
    ref<errhandler> file_handler;                                                 // MPI_FILE_NULL's: what a new file gets
    keyvals comm_keys{0}, type_keys{1}, win_keys{2};                              // numbers of the one are none of the others
    std::array<int, MPI_UNIVERSE_SIZE - MPI_TAG_UB + 1> environment_attributes{}; // by key, from MPI_TAG_UB on
    std::optional<fortran_booleans> booleans;                                     // as MPI_Abi_set_fortran_booleans told
    std::vector<std::pair<MPI_Comm, ref<errhandler>>>
        outlived;           // handlers of freed communicators, while requests may blame those
    std::string last_error; // the sentence of the last error that was raised, with its code
    int last_code = MPI_SUCCESS;

    std::once_flag errors_found;
    std::shared_ptr<error_registry> found_errors;
    /// The process's; a thread's own where ranks are threads.
    error_registry& errors() {
        std::call_once(errors_found, [this] {
            found_errors = membership ? std::make_shared<error_registry>() : error_registry::of_process();
        });
        return *found_errors;
    }

    std::once_flag tools_made;
    std::unique_ptr<tool_state> tools; // of MPI_T (tools.hpp), once it was entered
    protocol::notice_queue news;       // events for tools

    runtime<stack>& run() const noexcept { return env->native(); }
    /// A new handle. Throws mpi_error where there are no more.
    /// MPI is entered, and no tool has to be told first.
    bool is_ready() const noexcept {
        return up.load(std::memory_order_relaxed) && !news.waiting(); // order: as where calls ask
    }
    template <class Handle, class T> static Handle publish(handle_table<T>& table, ref<T> object) {
        auto const word = table.add(object.get());
        if (word == 0) throw mpi_error{error_class::no_mem, "there are no handles left"};
        object.release();
        return handle_of<Handle>(word);
    }
};

/// What every program begins with: as mptrun was told (--initial-errhandler), else fatal.
errhandler& initial_handler(binding& b) noexcept;
/// An object's error handler, which lives while it is used: it may free itself.
ref<errhandler> handler_of(binding& b, comm const& c);
ref<errhandler> handler_of(binding& b, session const& s);
ref<errhandler> handler_of(binding& b, win const& w);
/// A handler that a user has made is for objects of one sort.
void require_fitting(call& on, errhandler const& h, errhandler::action fitting, char const* sort);
/// The name of an object, which any thread may ask for and change at any time.
std::string name_of(binding& b, std::string const& name);
void rename(binding& b, std::string& name, char const* text);
/// Does with an error what a handler does, and comes back where that does.
void handle_error(binding& b, errhandler const& h, raised_on const& object, int code, std::string const& text);

/// The channel of a communicator.
inline wire wire_of(comm const& c) noexcept { return {*static_cast<lane<stack>*>(c.lane), c.context}; }

/// Makes the handles of the named datatypes stand for them.
void predefine_datatypes(binding& b);
void forget_datatypes(binding& b);
MPI_Datatype named_handle(element_kind k) noexcept;
/// The same for operations.
void predefine_operations(binding& b);
void forget_operations(binding& b);
/// Lets go of what was freed while it was active: done, or withdrawn.
void free_orphans(binding& b);
/// Ends what works for windows that were not freed.
void leave_windows(binding& b);
/// Where memory shall come from: as usual, but for what a call's info object says (mem/wishes.hpp).
mem::wish placement_wanted(mem::wish const& usual, info_object const* hints);
/// What the hint mpi_minimum_memory_alignment asks for (mpi/hints.hpp).
std::size_t alignment_wanted(info_object const* given);

/// Calls are allowed between these. The last end of all waits until what was sent has left this process.
void begin_use(binding& b, use what);
void end_use(binding& b, use what);
/// Between them: MPI_THREAD_MULTIPLE or what is asked for, and no more than MPT_THREAD_LEVEL.
int level_provided(binding& b, int wanted);
/// The variables for an environment: of this process, and as MPI_T set them.
config::values configuration_of(binding& b);
/// What tools saw last is what they see after MPI_Finalize.
void keep_configuration(binding& b);
/// Calls the functions that tools have registered for the events that wait.
void tell_tools(binding& b);
/// The lanes tell of what tools have registered for, and of nothing else.
void watch_for_tools(binding& b);
void leave_tools(binding& b);
/// What chapters do when MPI is entered, and before it is left (while everything still works).
void begin_chapters(binding& b, std::span<char const* const> arguments);
void end_chapters(binding& b);
/// Gives the predefined attributes of communicators their values.
void begin_attributes(binding& b);
/// COMM_SELF's attributes: user code, which runs while everything still works.
void end_attributes(binding& b);

#if defined(MPT_C_THREADS)
/// Ranks that are threads: each has a binding of its own, which its further threads must take up.
void take_up(binding& b) noexcept;
#endif

} // namespace mpt::c
