/// errhandler - what an error handler handle stands for. MPI-4.1 section 9.3.
///
///   A function of the user is made for one sort of object. Whoever asks an object for its handler gets the handle that it has
///   already, and frees it once more: programs compare them.
#pragma once
#include <mpi.h>

#include "counted.hpp"

namespace mpt::c {

struct errhandler : counted {
    enum class action : std::uint8_t { fatal, abort, give_back, comm_function, file_function, session_function, win_function };

    action what;
    MPI_Comm_errhandler_function* of_comm = nullptr;
    MPI_File_errhandler_function* of_file = nullptr;
    MPI_Session_errhandler_function* of_session = nullptr;
    MPI_Win_errhandler_function* of_win = nullptr;
    MPI_Errhandler handle = MPI_ERRHANDLER_NULL;
    int handles = 0; // that the user has, and may free; guarded by binding::changing

    errhandler(action a, MPI_Errhandler predefined) noexcept : what{a}, handle{predefined} {}
    explicit errhandler(MPI_Comm_errhandler_function* f) noexcept : what{action::comm_function}, of_comm{f} {}
    explicit errhandler(MPI_File_errhandler_function* f) noexcept : what{action::file_function}, of_file{f} {}
    explicit errhandler(MPI_Session_errhandler_function* f) noexcept : what{action::session_function}, of_session{f} {}
    explicit errhandler(MPI_Win_errhandler_function* f) noexcept : what{action::win_function}, of_win{f} {}

    bool is_predefined() const noexcept { return what < action::comm_function; }
};

} // namespace mpt::c
