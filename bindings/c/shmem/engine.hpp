/// engine - what stands behind OpenSHMEM's C interface: one environment of the engine's a process, the objects of teams and contexts,
/// and the way an error goes.
///
///        shmem_init ---> shmem::environment (shares its home with MPI_Init)       the_job, the_contexts: what entry points read
///        team handle --> teams: slot, generation          context handle --> the_contexts, and its numbering in `contexts`
///
///   Only announce.cpp, begin.cpp, far.cpp, teams.cpp and collectives.cpp include this: they are compiled once for both flavours of the library.
#pragma once
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <mpt/shmem/environment.hpp>

#include "far.hpp"

#pragma GCC visibility push(hidden)
namespace mpt::c::shmem {

using stack = standard_stack;
using team_type = mpt::shmem::team<stack>;

/// A team of the program's, or one of all.
struct team_slot {
    std::uintptr_t handle = 0;        // 0: free
    team_type* team = nullptr;        // null: it is being made
    std::unique_ptr<team_type> owned; // null: it is the job's
    std::uintptr_t generation = 0;
};
inline constexpr std::size_t first_team = 3; // places before it are SHMEM_TEAM_INVALID's and those of the job's teams

/// What a context's handle stands for, beside its context_view.
struct context_slot {
    mpt::shmem::context_handle<stack> engine;
    shmem_team_t team = nullptr;
    std::unique_ptr<std::byte*[]> places; // null: those of all PEs
    std::uintptr_t generation = 0;
    std::uint64_t maker = 0; // the thread's number
};

struct engine {
    std::unique_ptr<mpt::shmem::environment<stack>> env;
    std::vector<std::byte*> places;                        // of all PEs' heaps
    std::vector<wait::doorbell<stack::world_type>*> bells; // null: reached by no memory
    int begun = 0;                                         // calls of shmem_init without their shmem_finalize
    bool was_begun = false, exits = false;                 // at_exit has ended it
    bool said_no_room = false;
    int level = SHMEM_THREAD_SINGLE;

    std::mutex changing; // for what follows
    std::vector<team_slot> teams{first_team};
    std::size_t first_free_team = first_team; // no place before it is free
    std::vector<context_slot> contexts;       // as many as there were at once
    std::size_t first_free = 2;               // no place before it is free

    mpt::shmem::job<stack>& job() { return env->job(); }
    mpt::shmem::memory<stack>& memory() { return env->memory(); }
    std::uint64_t caller() { return job().run().world().self(); }
    lane<stack>& its_lane() { return job().run().lane_of(mpt::shmem::job<stack>::world_context); }
};

/// Never destroyed: functions that run at exit may still call.
engine& here();
/// Teams and contexts of all PEs, when the job has begun.
void predefine(engine& e);
void forget_objects(engine& e);
/// Prints what variables ask a job to say at its start.
void announce(engine& e);

/// The team of a handle; null: there is none.
team_type* find_team(shmem_team_t team) noexcept;
/// The number of all PEs that a context's PE has.
int world_of(shmem_ctx_t ctx, int pe);

/// A sentence that begins with the call, in place of the engine's own word for it.
std::string named(std::string_view sentence, std::string_view call);
/// Ends the job with such a sentence. family: the call's name without a type, for the library that does not know it; empty: nor that.
[[noreturn]] void give_up_call(std::string_view sentence, std::string_view family = {});

/// What the PEs of a collective have in common.
struct common {
    std::string_view what; // one name for all functions that may meet
    std::size_t bytes = 0;
    int root = 0;
    operation op = operation::no_op;
    char const* reduces = nullptr; // how the names of these reductions end: "_reduce", "_to_all"
};
/// Throws mpt::error(usage) where another PE of the team is in a collective that is not the same.
void compare_calls(team_type& t, char const* name, common const& mine);
/// That, in the library that checks.
inline void must_match(team_type& t, common const& mine) {
    if (auto const* const name = call_name()) compare_calls(t, name, mine);
}

/// The name of a call's family.
inline std::string_view family_of(char const* name) noexcept { return name; }
std::string family_of(common const& call);

/// Does f, whose errors end the job: C cannot be told. who: the call's family, or what its PEs have in common.
template <class Who, class F> auto guarded(Who const& who, F&& f) -> decltype(f()) {
    try {
        if (!here().env)
            give_up_call(entered() ? "mpt: OpenSHMEM was called after shmem_finalize"
                                   : "mpt: OpenSHMEM was called before shmem_init",
                         family_of(who));
        return f();
    } catch (error const& e) { give_up_call(e.what(), family_of(who)); } catch (std::bad_alloc const&) {
        give_up_call("mpt: there is no memory for a call of OpenSHMEM", family_of(who));
    }
}

} // namespace mpt::c::shmem
#pragma GCC visibility pop
