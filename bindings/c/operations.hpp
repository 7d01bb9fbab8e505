/// operations - what an MPI_Op stands for, and how it combines the elements of a datatype. MPI-4.1 section 6.9.
///
///        MPI_SUM, MPI_DOUBLE_INT ...     a compiled loop (mpt/datatype/operation.hpp)      named datatypes only
///        MPI_Op_create(f)                f(in, inout, &len, &datatype)                     any datatype; in: from lower ranks
///
///   How elements are combined, packed and found: mpt/mpi/typed_operation.hpp.
///   Memory   holds the user's operation and datatype: the function may free them.
///   Limit    the small form of a function gets at most INT_MAX elements at a time.
///   Tests    test/c/collectives_test.cpp, test/c/operations_test.cpp
#pragma once
#include <optional>

#include <mpt/mpi/typed_operation.hpp>

#include "binding.hpp"

namespace mpt::c {

struct operation_object : counted {
    std::optional<operation> predefined; // else the user's function
    either<MPI_User_function, MPI_User_function_c> function{static_cast<MPI_User_function*>(nullptr)};
    bool commutes;
    char const* name = "the user's operation";

    operation_object(operation o, char const* n)
        : predefined{o}, commutes{o != operation::replace && o != operation::no_op}, name{n} {}
    operation_object(either<MPI_User_function, MPI_User_function_c> f, bool c) : function{f}, commutes{c} {}
};

/// An operation on a datatype, as the algorithms take it. Throws where the one is not defined on the other.
class combination : public typed_operation {
    ref<operation_object> kept_op_;
    ref<datatype_object> kept_type_;

public:
    combination(call const& on, operation_object& op, datatype_object& t);
    combination(combination const&) = delete;

    /// Null: MPI_IN_PLACE.
    std::byte const* mine(void const* buffer) const noexcept { return buffer == MPI_IN_PLACE ? nullptr : origin(buffer); }
};

} // namespace mpt::c
