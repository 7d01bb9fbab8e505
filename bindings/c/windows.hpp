/// windows - the engine's window behind a handle, for those who make windows, move data, and open and close epochs.
#pragma once
#include <mpt/rma/window.hpp>

#include "binding.hpp"

namespace mpt::c {

using rma_window = rma::window<stack>;

struct made_win final : win {
    std::unique_ptr<rma_window> part;
    using win::win;
};

inline rma_window& window_of(win& w) noexcept { return *static_cast<made_win&>(w).part; }

} // namespace mpt::c
