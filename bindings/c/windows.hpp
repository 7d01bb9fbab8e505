/// windows - the engine's window behind a handle, for those who make windows, move data, and open and close epochs.
///
///   In the flavour -debug (MPT_C_CHECKED) a watch stands beside each window, which finds what MPI leaves undefined
///   (mpt/rma/watch.hpp): accesses that conflict are MPI_ERR_RMA_CONFLICT, all else MPI_ERR_RMA_SYNC.
#pragma once
#include <mpt/rma/watch.hpp>
#include <mpt/rma/window.hpp>

#include "binding.hpp"

namespace mpt::c {

#if defined(MPT_C_CHECKED)
inline constexpr bool checked = true;
#else
inline constexpr bool checked = false;
#endif

using rma_window = rma::window<stack>;
using rma_watch = rma::watch<stack>;

struct made_win final : win {
    std::unique_ptr<rma_window> part;
    std::unique_ptr<rma_watch> watched; // where calls are checked
    using win::win;
};

inline rma_window& window_of(win& w) noexcept { return *static_cast<made_win&>(w).part; }
inline rma_watch& watch_of(win& w) noexcept { return *static_cast<made_win&>(w).watched; }

/// What MPI_Compare_and_swap takes: with letters, which the standard leaves out and other libraries take.
constexpr bool is_comparable(element_kind kind) noexcept {
    using enum element_class;
    auto const values = facts(kind).values;
    return values == signed_integer || values == unsigned_integer || values == logical || values == raw || values == text;
}

/// Raises what was found, if anything.
inline void require_nothing(call const& on, rma::findings const& found) {
    if (found) on.fail(found->conflicts ? MPI_ERR_RMA_CONFLICT : MPI_ERR_RMA_SYNC, found->what);
}

} // namespace mpt::c
