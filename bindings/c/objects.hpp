/// objects - what the handles stand for that have no header of their own.
#pragma once
#include <memory>
#include <string>

#include <mpt/datatype/datatype.hpp>
#include <mpt/mpi/attributes.hpp>
#include <mpt/mpi/info.hpp>

#include "counted.hpp"

namespace mpt::c {

struct info_object : counted {
    info hints;
};

struct datatype_object : counted {
    datatype type;
    shown<bool> committed = false; // another thread may commit it, too, and use it already
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    std::string name;
    std::unique_ptr<attributes> attached; // made when they are first asked for (attributes.hpp)

    explicit datatype_object(datatype t) : type{std::move(t)} {}
};

} // namespace mpt::c
