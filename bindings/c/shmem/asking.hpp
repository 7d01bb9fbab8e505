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

/// What a call touches around an address, in elements or bytes: before it, and from it on. More than there can be is the most.
/// With a step it touches only blocks that begin so far from each other.
struct extent_of {
    std::size_t before, after, step = 0, block = 0;
};
inline std::size_t bytes(std::size_t n, std::size_t width) noexcept {
    std::size_t all = 0;
    return __builtin_mul_overflow(n, width, &all) ? ~std::size_t{0} : all;
}
inline extent_of bytes(extent_of const& e, std::size_t width) noexcept {
    return {bytes(e.before, width), bytes(e.after, width), bytes(e.step, width), bytes(e.block, width)};
}
/// n blocks with strides, which may go backwards.
inline extent_of extent(std::size_t n, std::ptrdiff_t stride, std::size_t block = 1) noexcept {
    if (n == 0 || block == 0) return {0, 0};
    auto const step = stride < 0 ? std::size_t{0} - static_cast<std::size_t>(stride) : static_cast<std::size_t>(stride);
    auto const last = bytes(n - 1, step);
    if (stride < 0) return {last, block, step, block};
    return {0, last > ~block ? ~std::size_t{0} : last + block, step, block};
}

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
    asking& symmetric(void const* at, std::size_t n, char const* name) { return symmetric(at, extent_of{0, n}, name); }
    asking& symmetric(void const* at, extent_of const& n, char const* name);
    /// What is changed or read as a whole.
    asking& aligned(void const* at, std::size_t width, char const* name);
    /// The caller's memory, of which only the null pointer is known to be none.
    asking& given(void const* at, std::size_t n, char const* name);
    asking& given(void const* at, extent_of const& n, char const* name) { return given(at, n.after, name); }
    asking& signal_op(int op, char const* name);
    asking& comparison(int cmp, char const* name);
    /// Two arguments have no byte in common.
    struct named_run {
        void const* at;
        extent_of n;
        char const* name;
    };
    asking& disjoint(named_run const& a, named_run const& b);
    template <class Extent> asking& disjoint(void const* at, std::size_t n, char const* name, void const* other,
                                             Extent const& m, char const* other_name) {
        return disjoint(named_run{at, extent(n), name}, named_run{other, extent(m), other_name});
    }
    /// dest and source have no byte in common, or (where that may be) are the same.
    asking& apart(void const* dest, std::size_t n, void const* source, std::size_t m, bool may_be_same = false) {
        auto const x = reinterpret_cast<std::uintptr_t>(dest), y = reinterpret_cast<std::uintptr_t>(source);
        bool const is = x < y ? y - x >= n : x - y >= m;
        return is ? *this : apart(dest, extent_of{0, n}, source, extent_of{0, m}, may_be_same);
    }
    asking& apart(void const* dest, extent_of const& n, void const* source, extent_of const& m, bool may_be_same = false);
    /// The same where the PE is the caller; else of the PE's memory by the address that it has here, for shmem_ptr gives that.
    template <class Extent> [[gnu::always_inline]] asking& apart_at(shmem_ctx_t ctx, int pe, void const* dest, Extent const& n,
                                                                    void const* source, Extent const& m) {
        return is_here(ctx, pe) ? apart(dest, n, source, m) : apart_elsewhere(ctx, pe, dest, n, source, m);
    }

private:
    static extent_of extent(std::size_t n) noexcept { return {0, n}; }
    static extent_of extent(extent_of const& n) noexcept { return n; }
    /// Apart, so that the PE's own accesses keep their arguments in registers.
    template <class Extent> [[gnu::noinline]] asking& apart_elsewhere(shmem_ctx_t ctx, int pe, void const* dest,
                                                                      Extent const& n, void const* source, Extent const& m) {
        return apart_there(ctx, pe, {dest, extent(n), "dest"}, {source, extent(m), "source"});
    }
    asking& apart_there(shmem_ctx_t ctx, int pe, named_run const& dest, named_run const& source);
    static bool is_here(shmem_ctx_t ctx, int pe);
    asking& known(shmem_ctx_t ctx, char const* name);
    asking& within(int pe, int size, char const* name);
    asking& in_block(void const* at, extent_of const& n, char const* name);
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
