// Chapter 12: windows - how they are made and freed, and what is asked of them.
#include "windows.hpp"

#include <cstring>
#include <exception>

#include <mpt/mpi/hints.hpp>

#include "attributes.hpp"
#include "collectives.hpp"
#include "communicators.hpp"
#include "entries.hpp"
#include "session.hpp"
#include "text.hpp"

namespace mpt::c {

namespace {

// --- how they are made ----------------------------------------------------------------------------------------------------------

int flavor_of(rma::flavor how) noexcept {
    switch (how) {
    case rma::flavor::create: return MPI_WIN_FLAVOR_CREATE;
    case rma::flavor::allocate: return MPI_WIN_FLAVOR_ALLOCATE;
    case rma::flavor::dynamic: return MPI_WIN_FLAVOR_DYNAMIC;
    case rma::flavor::shared: return MPI_WIN_FLAVOR_SHARED;
    }
    return MPI_UNDEFINED;
}

std::size_t size_of(MPI_Aint size) noexcept { return static_cast<std::size_t>(size); }

/// Collective: a window, and where this process's part is.
void* make(call& on, comm& c, rma::wanted wanted, info_object const* given, MPI_Win& handle) {
    auto& b = on.of();
    require_one_side(on, c, "comm");
    auto w = ref<made_win>::adopt(new made_win{c.members, c.me, flavor_of(wanted.how)});
    w->hints = hints::made_with(given ? given->hints : info{});
    if (given) w->asserted_kinds = hints::kinds_asserted(given->hints);
    wanted.contiguous = !hints::noncontiguous(w->hints);
    wanted.rows_locked = hints::rows_locked(w->hints);
    wanted.alignment = alignment_wanted(given);
    if (given) wanted.place = placement_wanted(b.run().allocation_wish(), given);
    w->part = rma::make_window(b.run(), team_of(c), wanted);
    if constexpr (checked) w->watched = std::make_unique<rma_watch>(b.run(), team_of(c), w->part->own().unit);
    auto const& own = w->part->own();
    w->base = own.base;
    w->bytes = wanted.how == rma::flavor::dynamic ? 0 : static_cast<MPI_Aint>(own.size); // the whole address space
    w->unit = narrow(own.unit);
    w->of_session = c.of_session;
    w->handler = ref<errhandler>{b.errhandlers.get(MPI_ERRORS_ARE_FATAL)};
    handle = w->handle = binding::publish<MPI_Win>(b.wins, ref<win>{*w});
    return w->base;
}

void put_base(void* at, void* baseptr) noexcept { std::memcpy(baseptr, &at, sizeof at); } // a void** in truth

} // namespace

/// No thread of the engine's goes on for a window that the program has forgotten to free.
void leave_windows(binding& b) {
    b.wins.each([&b](win&, std::uintptr_t word) { b.wins.remove(word)->let_go(); });
}

namespace impl {

void Win_create(call& on, void* base, MPI_Aint size, MPI_Aint unit, info_object* hints, comm& c, MPI_Win& w) {
    make(on, c, {.how = rma::flavor::create, .memory = {static_cast<std::byte*>(base), size_of(size)}, .unit = unit}, hints, w);
}
void Win_create_dynamic(call& on, info_object* hints, comm& c, MPI_Win& w) {
    make(on, c, {.how = rma::flavor::dynamic}, hints, w);
}
void Win_allocate(call& on, MPI_Aint size, MPI_Aint unit, info_object* hints, comm& c, void* baseptr, MPI_Win& w) {
    put_base(make(on, c, {.how = rma::flavor::allocate, .size = size_of(size), .unit = unit}, hints, w), baseptr);
}
void Win_allocate_shared(call& on, MPI_Aint size, MPI_Aint unit, info_object* hints, comm& c, void* baseptr, MPI_Win& w) {
    put_base(make(on, c, {.how = rma::flavor::shared, .size = size_of(size), .unit = unit}, hints, w), baseptr);
}
void Win_free(call& on, MPI_Win& handle) {
    auto& b = on.of();
    ref<win> const w{b.wins.get(handle)};
    window_of(*w).must_be_free(); // or it keeps its attributes
    remove_attributes(b, *w);
    std::exception_ptr refused;
    try {
        window_of(*w).free();
    } catch (error const&) { refused = std::current_exception(); } // by a target: it is gone all the same
    b.wins.remove(word_of(handle))->let_go();
    handle = MPI_WIN_NULL;
    if (refused) std::rethrow_exception(refused);
}

void Win_attach(call&, win& w, void* base, MPI_Aint size) {
    window_of(w).attach({static_cast<std::byte*>(base), size_of(size)});
}
void Win_detach(call&, win& w, void const* base) { window_of(w).detach(base); }
void Win_shared_query(call&, win& w, int rank, MPI_Aint& size, MPI_Aint& unit, void* baseptr) {
    auto const p = window_of(w).shared(rank == MPI_PROC_NULL ? proc_null : mpt::rank{rank});
    size = static_cast<MPI_Aint>(p.size);
    unit = p.unit;
    put_base(p.base, baseptr);
}

void Win_get_group(call& on, win& w, MPI_Group& group) { group = publish(on.of(), w.members, w.of_session); }

void Win_set_info(call& on, win& w, info_object* given) {
    std::lock_guard const g{on.of().changing};
    if (!given) return;
    hints::change(w.hints, given->hints);
    w.asserted_kinds = hints::kinds_asserted(given->hints, w.asserted_kinds);
}
void Win_get_info(call& on, win& w, MPI_Info& used) {
    auto made = ref<info_object>::adopt(new info_object);
    {
        std::lock_guard const g{on.of().changing};
        made->hints = hints::shown(w.hints);
        if (w.asserted_kinds) made->hints.set(asserted_kinds_key, *w.asserted_kinds);
    }
    made->hints.set(memory_kinds_key, memory_kinds_of(w.of_session.get()));
    if (auto const is = on.of().run().heap().placed_as(w.base)) { // what has become of the hints
        auto const kilobytes = is->page.value >> 10;
        made->hints.set("mpt_mem_affinity", std::string{to_string(is->kind)});
        made->hints.set("mpt_mem_pg_sz",
                        kilobytes % 1024 == 0 ? std::to_string(kilobytes >> 10) + 'M' : std::to_string(kilobytes) + 'K');
        made->hints.set("mpt_mem_pages", std::string{is->pages_from});
    }
    used = binding::publish<MPI_Info>(on.of().infos, std::move(made));
}
void Win_set_name(call& on, win& w, char const* name) { rename(on.of(), w.name, name); }
void Win_get_name(call& on, win* w, char* name, int& length) {
    put_text(w ? name_of(on.of(), w->name) : "MPI_WIN_NULL", name, MPI_MAX_OBJECT_NAME, length);
}

} // namespace impl
} // namespace mpt::c
