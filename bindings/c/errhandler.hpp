/// errhandler - what an error handler handle stands for. MPI-4.1 section 9.3.
#pragma once
#include <mpi.h>

#include "counted.hpp"

namespace mpt::c {

struct errhandler : counted {
    enum class action : std::uint8_t { fatal, abort, give_back, comm_function };

    action what;
    MPI_Comm_errhandler_function* of_comm = nullptr;

    explicit errhandler(action a) noexcept : what{a} {}
    explicit errhandler(MPI_Comm_errhandler_function* f) noexcept : what{action::comm_function}, of_comm{f} {}
};

} // namespace mpt::c
