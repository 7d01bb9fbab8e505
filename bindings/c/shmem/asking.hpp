/// asking - the checks of one call in the library of `oshcc -debug`: which function asks, and what is wrong with an argument.
///
///        shmem_int_put(a, b, 3, 9) --> asking{"shmem_int_put"}.symmetric(a, 12, "dest").pe(SHMEM_CTX_DEFAULT, 9, "pe")
///                                          `-- the first that is wrong ends the job: function, argument, value, what is allowed
///
///   The generated entry points call these; in the other library they are not compiled.
///   Tests   test/shmem/check_mistakes.py
#pragma once
#include <string>
#include <type_traits>

#include "far.hpp"

#pragma GCC visibility push(hidden)
namespace mpt::c::shmem {

class asking {
    char const* function_;

public:
    /// Between shmem_init and shmem_finalize.
    explicit asking(char const* function);
    asking& context(shmem_ctx_t ctx, char const* name);
    asking& context_or_none(shmem_ctx_t ctx, char const* name) { return ctx == SHMEM_CTX_INVALID ? *this : context(ctx, name); }
    /// A context, whichever thread's, or SHMEM_CTX_INVALID.
    asking& any_context(shmem_ctx_t ctx, char const* name) { return ctx == SHMEM_CTX_INVALID ? *this : known(ctx, name); }
    /// The same, and not the default one: it ends.
    asking& old_context(shmem_ctx_t ctx, char const* name);
    asking& team(shmem_team_t team, char const* name);
    asking& team_or_none(shmem_team_t team, char const* name) {
        return team == SHMEM_TEAM_INVALID ? *this : this->team(team, name);
    }
    /// The same, and not one of the job's: it ends.
    asking& old_team(shmem_team_t team, char const* name);
    asking& old_team(shmem_team_t const* team, char const* name);
    /// PEs that there are, the caller among them.
    asking& active_set(set const& who);
    /// A PE by the numbers of a context.
    asking& pe(shmem_ctx_t ctx, int pe, char const* name);
    /// Each of n PEs; of SHMEM_CTX_INVALID: any.
    asking& pes(shmem_ctx_t ctx, int const* pes, std::size_t n, char const* name);
    asking& root(shmem_team_t team, int pe, char const* name) { return within(pe, team_size(team), name); }
    asking& root(set const& who, int pe, char const* name) { return within(pe, who.size, name); }
    /// n bytes of one block of the symmetric heap, or of static data.
    asking& symmetric(void const* at, std::size_t n, char const* name);
    asking& signal_op(int op, char const* name);
    asking& comparison(int cmp, char const* name);
    /// dest and source are different memory, or (where that may be) the same.
    asking& apart(void const* dest, std::size_t n, void const* source, std::size_t m, bool may_be_same = false);
    /// The same where the PE is the caller.
    asking& apart_here(shmem_ctx_t ctx, int pe, void const* dest, std::size_t n, void const* source, std::size_t m);

private:
    asking& known(shmem_ctx_t ctx, char const* name);
    asking& within(int pe, int size, char const* name);
    asking& in_block(void const* at, std::size_t n, char const* name);
    [[noreturn]] void refuse(std::string const& what) const;
    friend class using_context;
};

/// A call in a context, from here to the end of its scope: a second one in a context of one thread at a time is refused.
class using_context {
    shmem_ctx_t ctx_; // null: any number of threads may be in it

public:
    using_context(char const* function, shmem_ctx_t ctx);
    ~using_context();
    using_context(using_context const&) = delete;
    using_context& operator=(using_context const&) = delete;
};
struct unchecked_context {
    constexpr unchecked_context(char const*, shmem_ctx_t) noexcept {}
};
using in_context = std::conditional_t<checked, using_context, unchecked_context>;

} // namespace mpt::c::shmem
#pragma GCC visibility pop
