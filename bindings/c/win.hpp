/// win - what a window handle stands for, as far as that needs no stack: its group, and what MPI hangs on it. MPI-4.1 chapter 12.
///
///        win  <--- made_win (windows.hpp): the engine's window, mpt/rma/window.hpp
///
///   A window knows nothing of the communicator that it was made with, which may be freed. The values of its own attributes lie
///   here, because MPI_Win_get_attr gives their addresses.
#pragma once
#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mpt/mpi/attributes.hpp>
#include <mpt/stack/group.hpp>

#include "counted.hpp"
#include "errhandler.hpp"
#include "session.hpp"

namespace mpt::c {

struct win : counted {
    group members;
    mpt::rank me; // our rank in it
    MPI_Win handle = MPI_WIN_NULL;
    void* base = nullptr; // of our memory
    MPI_Aint bytes = 0;
    int unit = 1;
    int flavor;
    int model = MPI_WIN_UNIFIED;
    ref<session> of_session; // that it comes from, if any
    // Guarded by binding::changing:
    ref<errhandler> handler;
    std::string name;
    std::unique_ptr<attributes> attached;      // made when they are first asked for (attributes.hpp)
    std::vector<std::string> hints;            // by windows.cpp's list
    std::optional<std::string> asserted_kinds; // of memory, of the buffers that its operations are given

    win(group g, mpt::rank r, int how) : members{std::move(g)}, me{r}, flavor{how} {}
    int size() const noexcept { return members.size(); }
};

} // namespace mpt::c
