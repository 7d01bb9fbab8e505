// The short ways of one-sided calls. Calls that are watched have none: this source is one of those that differ in the flavour -debug.
#include "binding.hpp"
#include "operations.hpp"
#include "quick.hpp"
#include "transfer.hpp"
#include "windows.hpp"

namespace mpt::c::quick {

namespace {

/// What a put or a get names, where all of it is good, and in one piece at both sides. Calls that are watched have no short way.
struct named_part {
    rma_window* of = nullptr;
    std::byte* data = nullptr;
    std::int64_t bytes = 0, offset = 0;

    [[gnu::always_inline]] bool find(void const* at, int count, MPI_Datatype t, int rank, MPI_Aint displacement, int there,
                                     MPI_Datatype type, MPI_Win w) noexcept {
        auto& b = here();
        if (checked || !b.is_ready() || (count | there | displacement) < 0 || at == MPI_BOTTOM || at == MPI_IN_PLACE)
            [[unlikely]]
            return false;
        auto* const window = b.wins.find_handle(w);
        auto const* const mine = b.datatypes.find_handle(t);
        if (!window || !mine || !mine->committed || static_cast<unsigned>(rank) >= static_cast<unsigned>(window->size()))
            [[unlikely]]
            return false;
        auto const from = mine->type.contiguous_run(count);
        if (!from) [[unlikely]]
            return false;
        offset = from->offset;
        if (type != t || there != count) {
            auto const* const theirs = b.datatypes.find_handle(type);
            if (!theirs || !theirs->committed) [[unlikely]]
                return false;
            auto const to = theirs->type.contiguous_run(there);
            if (!to || to->bytes != from->bytes) [[unlikely]]
                return false;
            offset = to->offset;
        }
        of = &window_of(*window);
        data = const_cast<std::byte*>(moved_data::at(at, *from));
        bytes = from->bytes;
        return true;
    }
    [[gnu::always_inline]] bool put(int rank, MPI_Aint displacement) const noexcept {
        return of->try_put(data, static_cast<std::size_t>(bytes), mpt::rank{rank}, displacement, offset);
    }
    [[gnu::always_inline]] bool get(int rank, MPI_Aint displacement) const noexcept {
        return of->try_get(data, static_cast<std::size_t>(bytes), mpt::rank{rank}, displacement, offset);
    }
};

/// Elements of a predefined type in a row in a window, and a predefined operation, where all of it is good.
struct named_row {
    rma_window* of = nullptr;
    element_kind kind{};
    std::size_t count = 0;

    std::size_t bytes() const noexcept { return count * facts(kind).size; }
    [[gnu::always_inline]] bool find(binding const& b, int n, MPI_Datatype t, int rank, MPI_Aint displacement,
                                     MPI_Win w) noexcept {
        if (checked || !b.is_ready() || displacement < 0 || n <= 0) [[unlikely]]
            return false;
        auto* const window = b.wins.find_handle(w);
        auto const* const type = b.datatypes.find_handle(t);
        if (!window || !type || !type->committed || !is_basic(type->type) ||
            static_cast<unsigned>(rank) >= static_cast<unsigned>(window->size())) [[unlikely]]
            return false;
        of = &window_of(*window);
        kind = type->type.element();
        count = static_cast<std::size_t>(n);
        return true;
    }
    /// What was found is changed. False: nothing was done.
    [[gnu::always_inline]] bool change(void const* from, void* result, int rank, MPI_Aint displacement,
                                       operation what) const noexcept {
        return (count == 1 && of->try_change(from, result, kind, mpt::rank{rank}, displacement, what)) ||
               of->try_change_row(from, result, bytes(), kind, mpt::rank{rank}, displacement, what);
    }
};
/// The window, of which that is a rank; nullptr: there is no short way.
[[gnu::always_inline]] inline rma_window* window_to(int rank, MPI_Win win) noexcept {
    auto& b = here();
    auto* const w = b.is_ready() ? b.wins.find_handle(win) : nullptr;
    if (checked || !w || static_cast<unsigned>(rank) >= static_cast<unsigned>(w->size())) [[unlikely]]
        return nullptr;
    return &window_of(*w);
}
std::optional<operation> predefined(binding const& b, MPI_Op op) noexcept {
    auto const* const o = b.operations.find_handle(op);
    return o ? o->predefined : std::nullopt;
}
bool is_memory(void const* at) noexcept { return at != MPI_BOTTOM && at != MPI_IN_PLACE; }

} // namespace

int Put(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
        int target_count, MPI_Datatype target_datatype, MPI_Win win) {
    named_part m;
    if (!m.find(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win) ||
        !m.put(target_rank, target_disp)) [[unlikely]]
        return otherwise::Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                              target_datatype, win);
    return MPI_SUCCESS;
}

int Get(void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
        int target_count, MPI_Datatype target_datatype, MPI_Win win) {
    named_part m;
    if (!m.find(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win) ||
        !m.get(target_rank, target_disp)) [[unlikely]]
        return otherwise::Get(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                              target_datatype, win);
    return MPI_SUCCESS;
}

/* What is complete when it returns has the handle of all sends that have left. Its epoch is a lock's where a flush would do nothing. */

int Rput(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request) {
    named_part m;
    if (!request ||
        !m.find(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win) ||
        !m.of->try_flush(mpt::rank{target_rank}) || !m.put(target_rank, target_disp)) [[unlikely]]
        return otherwise::Rput(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                               target_datatype, win, request);
    *request = here().left;
    return MPI_SUCCESS;
}

int Rget(void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
         int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request) {
    named_part m;
    if (!request ||
        !m.find(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win) ||
        !m.of->try_flush(mpt::rank{target_rank}) || !m.get(target_rank, target_disp)) [[unlikely]]
        return otherwise::Rget(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                               target_datatype, win, request);
    *request = here().left;
    return MPI_SUCCESS;
}

int Accumulate(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
               int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
    auto& b = here();
    named_row r;
    bool const alike = origin_count == target_count && origin_datatype == target_datatype && is_memory(origin_addr);
    if (!alike || !r.find(b, origin_count, origin_datatype, target_rank, target_disp, win)) [[unlikely]]
        return otherwise::Accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                                     target_datatype, op, win);
    auto const what = predefined(b, op);
    if (!what || *what == operation::no_op || !r.change(origin_addr, nullptr, target_rank, target_disp, *what)) [[unlikely]]
        return otherwise::Accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                                     target_datatype, op, win);
    return MPI_SUCCESS;
}

int Get_accumulate(void const* origin_addr, int origin_count, MPI_Datatype origin_datatype, void* result_addr, int result_count,
                   MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int target_count,
                   MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
    auto& b = here();
    named_row r;
    bool const alike = result_count == target_count && result_datatype == target_datatype && is_memory(result_addr);
    if (!alike || !r.find(b, target_count, target_datatype, target_rank, target_disp, win)) [[unlikely]]
        return otherwise::Get_accumulate(origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
                                         target_rank, target_disp, target_count, target_datatype, op, win);
    auto const what = predefined(b, op);
    bool const has_origin = what == operation::no_op ||
                            (origin_count == target_count && origin_datatype == target_datatype && is_memory(origin_addr));
    if (!what || !has_origin || !r.change(origin_addr, result_addr, target_rank, target_disp, *what)) [[unlikely]]
        return otherwise::Get_accumulate(origin_addr, origin_count, origin_datatype, result_addr, result_count, result_datatype,
                                         target_rank, target_disp, target_count, target_datatype, op, win);
    return MPI_SUCCESS;
}

int Fetch_and_op(void const* origin_addr, void* result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                 MPI_Op op, MPI_Win win) {
    auto& b = here();
    named_row one;
    if (!is_memory(result_addr) || !one.find(b, 1, datatype, target_rank, target_disp, win)) [[unlikely]]
        return otherwise::Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op, win);
    auto const what = predefined(b, op);
    bool const has_origin = what == operation::no_op || is_memory(origin_addr);
    if (!what || !has_origin || !one.change(origin_addr, result_addr, target_rank, target_disp, *what)) [[unlikely]]
        return otherwise::Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op, win);
    return MPI_SUCCESS;
}

int Compare_and_swap(void const* origin_addr, void const* compare_addr, void* result_addr, MPI_Datatype datatype,
                     int target_rank, MPI_Aint target_disp, MPI_Win win) {
    named_row one;
    if (!is_memory(origin_addr) || !is_memory(compare_addr) || !is_memory(result_addr) ||
        !one.find(here(), 1, datatype, target_rank, target_disp, win) || !is_comparable(one.kind) ||
        !one.of->try_swap(origin_addr, compare_addr, result_addr, one.bytes(), mpt::rank{target_rank}, target_disp))
        [[unlikely]]
        return otherwise::Compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank, target_disp, win);
    return MPI_SUCCESS;
}

int Win_flush(int rank, MPI_Win win) {
    auto* const w = window_to(rank, win);
    if (!w || !w->try_flush(mpt::rank{rank})) [[unlikely]]
        return otherwise::Win_flush(rank, win);
    return MPI_SUCCESS;
}

int Win_lock(int lock_type, int rank, int assert, MPI_Win win) {
    auto* const w = window_to(rank, win);
    bool const alone = lock_type == MPI_LOCK_EXCLUSIVE;
    if (!w || assert != 0 || (!alone && lock_type != MPI_LOCK_SHARED) ||
        !w->try_lock(alone ? rma::lock_kind::exclusive : rma::lock_kind::shared, mpt::rank{rank})) [[unlikely]]
        return otherwise::Win_lock(lock_type, rank, assert, win);
    return MPI_SUCCESS;
}

int Win_unlock(int rank, MPI_Win win) {
    auto* const w = window_to(rank, win);
    if (!w || !w->try_unlock(mpt::rank{rank})) [[unlikely]]
        return otherwise::Win_unlock(rank, win);
    return MPI_SUCCESS;
}

int Win_lock_all(int assert, MPI_Win win) {
    auto* const w = window_to(0, win);
    if (!w || assert != 0 || !w->try_lock_all()) [[unlikely]]
        return otherwise::Win_lock_all(assert, win);
    return MPI_SUCCESS;
}

int Win_unlock_all(MPI_Win win) {
    auto* const w = window_to(0, win);
    if (!w || !w->try_unlock_all()) [[unlikely]]
        return otherwise::Win_unlock_all(win);
    return MPI_SUCCESS;
}

} // namespace mpt::c::quick
