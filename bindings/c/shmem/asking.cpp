// The checks of the library of `oshcc -debug`.
#include "asking.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <mpt/core/atomics.hpp>

namespace mpt::c::shmem {

namespace {

std::string text(void const* address) {
    std::array<char, 2 + 16 + 1> digits{};
    std::snprintf(digits.data(), digits.size(), "%p", address);
    return digits.data();
}
std::string text(extent_of const& n) {
    return std::to_string(n.after) + " bytes" + (n.before > 0 ? " and " + std::to_string(n.before) + " before it" : "");
}
std::string up_to(int size) { return "0 to " + std::to_string(size - 1); }

/// Whether a call is in a context of one thread at a time.
std::array<native_atomics::atomic<bool>, most_contexts> is_used;

/// The blocks of an argument, in the order of their addresses; one where they touch each other.
struct row {
    std::uintptr_t at, end; // of all that is left
    std::size_t step, block;

    row(void const* address, extent_of const& n) noexcept
        : at{reinterpret_cast<std::uintptr_t>(address) - n.before}, end{reinterpret_cast<std::uintptr_t>(address) + n.after},
          step{n.step}, block{n.block} {
        if (end < at) end = ~std::uintptr_t{0}; // more than there can be
        if (step <= block) block = end - at;
    }
    std::uintptr_t block_end() const noexcept { return at + std::min(block, end - at); }
    /// Goes on to the first block that ends behind an address; false: there is none.
    bool pass(std::uintptr_t where) noexcept {
        if (at >= end) return false;
        if (block_end() > where) return true;
        if (step <= block || end <= where) return false;
        auto const passed = (where - block_end()) / step * step;
        if (step >= end - at - passed) return false;
        at += passed + step;
        return true;
    }
};

/// Whether two arguments have a byte in common: of strided ones only what is moved counts.
bool overlap(void const* a, extent_of const& n, void const* b, extent_of const& m) noexcept {
    row x{a, n}, y{b, m};
    while (x.pass(y.at) && y.pass(x.at))
        if (x.at < y.block_end() && y.at < x.block_end()) return true;
    return false;
}

[[gnu::tls_model("initial-exec")]] thread_local char const* the_call = nullptr;

} // namespace

void name_call(char const* function) noexcept { the_call = function; }
char const* call_name() noexcept { return checked ? the_call : nullptr; }

void asking::refuse(std::string const& what) const { give_up(("mpt: " + std::string{function_} + ": " + what).c_str()); }

asking::asking(char const* function) : function_{function} {
    name_call(function);
    if (!running()) refuse(entered() ? "called after shmem_finalize" : "called before shmem_init");
}
asking& asking::known(shmem_ctx_t ctx, char const* name) {
    auto const& slot = the_contexts[place_in_table(ctx)];
    if (ctx == SHMEM_CTX_INVALID) refuse(std::string{name} + " is SHMEM_CTX_INVALID");
    if (slot.handle != ctx) refuse(std::string{name} + " is no context, or one that was destroyed");
    return *this;
}
asking& asking::context(shmem_ctx_t ctx, char const* name) {
    known(ctx, name);
    if (promised(ctx).is_another_threads) refuse(std::string{name} + " is private, and another thread made it");
    return *this;
}
asking& asking::old_context(shmem_ctx_t ctx, char const* name) {
    if (ctx == SHMEM_CTX_DEFAULT) refuse(std::string{name} + " is SHMEM_CTX_DEFAULT, which lasts as long as the job");
    return any_context(ctx, name);
}
asking& asking::team(shmem_team_t team, char const* name) {
    if (team == SHMEM_TEAM_INVALID) refuse(std::string{name} + " is SHMEM_TEAM_INVALID");
    if (!is_team(team)) refuse(std::string{name} + " is no team, or one that was destroyed");
    return *this;
}
asking& asking::old_team(shmem_team_t team, char const* name) {
    if (team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED)
        refuse(std::string{name} + " is " + (team == SHMEM_TEAM_WORLD ? "SHMEM_TEAM_WORLD" : "SHMEM_TEAM_SHARED") +
               ", which lasts as long as the job");
    return team_or_none(team, name);
}
asking& asking::old_team(shmem_team_t const* team, char const* name) {
    if (!team) refuse(std::string{name} + " is a null pointer");
    return old_team(*team, name);
}
asking& asking::active_set(set const& who) {
    auto const [start, log_stride, size] = who;
    auto const me = all().me;
    within(start, all().size, "PE_start");
    within(log_stride, 31, "logPE_stride");
    auto const most = ((all().size - 1 - start) >> log_stride) + 1;
    if (size < 1 || size > most)
        refuse("PE_size is " + std::to_string(size) + "; allowed: 1 to " + std::to_string(most) + " with PE_start " +
               std::to_string(start) + " and logPE_stride " + std::to_string(log_stride));
    if (auto const nth = (me - start) >> log_stride; me < start || nth >= size || start + (nth << log_stride) != me)
        refuse("PE_start " + std::to_string(start) + ", logPE_stride " + std::to_string(log_stride) + " and PE_size " +
               std::to_string(size) + " are an active set without the caller, PE " + std::to_string(me));
    return *this;
}
asking& asking::within(int pe, int size, char const* name) {
    if (pe < 0 || pe >= size) refuse(std::string{name} + " is " + std::to_string(pe) + "; allowed: " + up_to(size));
    return *this;
}
asking& asking::pe(shmem_ctx_t ctx, int pe, char const* name) {
    return within(pe, ctx == SHMEM_CTX_DEFAULT ? all().size : context_of(ctx).size, name);
}
asking& asking::pes(shmem_ctx_t ctx, int const* pes, std::size_t n, char const* name) {
    if (ctx == SHMEM_CTX_INVALID || n == 0) return *this;
    if (!pes) refuse(std::string{name} + " is a null pointer");
    auto const size = ctx == SHMEM_CTX_DEFAULT ? all().size : context_of(ctx).size;
    for (std::size_t i = 0; i < n; ++i)
        if (pes[i] < 0 || pes[i] >= size) within(pes[i], size, (std::string{name} + "[" + std::to_string(i) + "]").c_str());
    return *this;
}
asking& asking::symmetric(void const* at, extent_of const& n, char const* name) {
    if (n.before == 0 && n.after == 0) return *this;
    if (!is_symmetric(at))
        refuse(std::string{name} + " (" + text(at) + ") is not symmetric: neither in the symmetric heap nor static data");
    if (is_in_heap(at)) return in_block(at, n, name);
    if (!is_symmetric_around(at, n.before, n.after))
        refuse(std::string{name} + " (" + text(at) + ") has less than " + text(n) + " of symmetric memory");
    return *this;
}
asking& asking::in_block(void const* at, extent_of const& n, char const* name) {
    auto const block = block_around(at);
    if (block.bytes == 0)
        refuse(std::string{name} + " (" + text(at) + ") is in no block of the symmetric heap, or in one that was freed");
    auto const before = static_cast<std::size_t>(static_cast<std::byte const*>(at) - static_cast<std::byte const*>(block.at));
    if (before > block.bytes || n.after > block.bytes - before || n.before > before)
        refuse(std::string{name} + " (" + text(at) + ", " + text(n) + ") leaves its block of the symmetric heap, " +
               text(block.at) + " with " + std::to_string(block.bytes) + " bytes");
    return *this;
}
asking& asking::aligned(void const* at, std::size_t width, char const* name) {
    if (reinterpret_cast<std::uintptr_t>(at) % width != 0)
        refuse(std::string{name} + " (" + text(at) + ") is no multiple of its element's " + std::to_string(width) + " bytes");
    return *this;
}
asking& asking::given(void const* at, std::size_t n, char const* name) {
    if (n > 0 && !at) refuse(std::string{name} + " is a null pointer, and " + std::to_string(n) + " bytes are asked of it");
    return *this;
}
asking& asking::signal_op(int op, char const* name) {
    if (op != SHMEM_SIGNAL_SET && op != SHMEM_SIGNAL_ADD)
        refuse(std::string{name} + " is " + std::to_string(op) + "; allowed: SHMEM_SIGNAL_SET and SHMEM_SIGNAL_ADD");
    return *this;
}
asking& asking::comparison(int cmp, char const* name) {
    if (cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_GE)
        refuse(std::string{name} + " is " + std::to_string(cmp) + ", which is no SHMEM_CMP_");
    return *this;
}
asking& asking::disjoint(named_run const& a, named_run const& b) {
    auto const told = [](named_run const& r) { return std::string{r.name} + " (" + text(r.at) + ", " + text(r.n) + ")"; };
    if (overlap(a.at, a.n, b.at, b.n)) refuse(told(a) + " and " + told(b) + " overlap");
    return *this;
}
asking& asking::apart(void const* dest, extent_of const& n, void const* source, extent_of const& m, bool may_be_same) {
    if (!overlap(dest, n, source, m) || (may_be_same && dest == source)) [[likely]]
        return *this;
    return disjoint({dest, n, "dest"}, {source, m, "source"});
}
/// One of them is the PE's, the other one the caller's own memory, or some that it has of a PE.
asking& asking::apart_there(shmem_ctx_t ctx, int pe, named_run const& dest, named_run const& source) {
    auto const there = [&](named_run r) {
        r.at = mapped(ctx, r.at, pe);
        return r;
    };
    if (auto const d = there(dest); d.at) disjoint(d, source);
    if (auto const s = there(source); s.at) disjoint(dest, s);
    return *this;
}
bool asking::is_here(shmem_ctx_t ctx, int pe) {
    if (ctx == SHMEM_CTX_DEFAULT) return pe == all().me;
    auto const* const places = context_of(ctx).places;
    return places && places[pe] == all().places[all().me];
}

using_context::using_context(char const* function, shmem_ctx_t ctx)
    : ctx_{ctx != SHMEM_CTX_DEFAULT && promised(ctx).one_at_a_time ? ctx : nullptr} {
    if (ctx_ && is_used[place_in_table(ctx)].exchange(true, std::memory_order_relaxed)) // order: nothing hangs on it
        asking{function}.refuse("ctx is serialized or private, and another thread is in a call with it");
}
using_context::~using_context() {
    if (ctx_) is_used[place_in_table(ctx_)].store(false, std::memory_order_relaxed); // order: as above
}

} // namespace mpt::c::shmem
