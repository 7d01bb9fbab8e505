/// objects - what the handles stand for that have no header of their own.
#pragma once
#include <string>

#include <mpt/datatype/datatype.hpp>
#include <mpt/mpi/info.hpp>

#include "counted.hpp"

namespace mpt::c {

struct info_object : counted {
    info hints;
};

struct datatype_object : counted {
    datatype type;
    bool committed = false;
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    std::string name;

    explicit datatype_object(datatype t) : type{std::move(t)} {}
};

} // namespace mpt::c
