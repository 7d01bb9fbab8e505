/// operations - what an MPI_Op stands for, and how it combines the elements of a datatype. MPI-4.1 section 6.9.
///
///        MPI_SUM, MPI_DOUBLE_INT ...     a compiled loop (mpt/datatype/operation.hpp)      named datatypes only
///        MPI_Op_create(f)                f(in, inout, &len, &datatype)                     any datatype; in: from lower ranks
///
///        buffer            origin                 The algorithms tell places by origins that are not null: of a datatype whose
///        |<--- shift ---->||<- data ->|           displacements are addresses, the buffer is. A shift keeps the alignment.
///
///   Memory   holds the user's operation and datatype: the function may free them.
///   Limit    the small form of a function gets at most INT_MAX elements at a time.
///   Tests    test/c/collectives_test.cpp, test/c/operations_test.cpp
#pragma once
#include <optional>

#include <mpt/coll/operand.hpp>
#include <mpt/datatype/operation.hpp>

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

/// A named datatype, or one like it by another name: a duplicate, a Fortran type by precision.
bool is_basic(datatype const& t) noexcept;

/// An operation on a datatype, as the algorithms take it. Throws where the one is not defined on the other.
class combination {
    operation_object const& op_;
    datatype_object const& type_;
    ref<operation_object> kept_op_;
    ref<datatype_object> kept_type_;
    kernel kernel_ = nullptr; // of a predefined operation
    std::int64_t shift_;      // bytes from a buffer to its origin
    coll::operand operand_;

public:
    combination(call const& on, operation_object& op, datatype_object& t);
    combination(combination const&) = delete;

    operator coll::operand const&() const noexcept { return operand_; }
    std::byte* origin(void const* buffer) const noexcept {
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(shift_));
    }
    /// Null: MPI_IN_PLACE.
    std::byte const* mine(void const* buffer) const noexcept { return buffer == MPI_IN_PLACE ? nullptr : origin(buffer); }
    /// How many elements there are to combine: none without bytes.
    std::size_t count(MPI_Count n) const noexcept { return type_.type.size() == 0 ? 0 : static_cast<std::size_t>(n); }
    void combine(std::byte const* left, std::byte* right, std::size_t n) const;

private:
    void find_kernel(call const& on);
    void call_user(std::byte const* left, std::byte* right, std::size_t n) const;
    void read(std::byte const* origin, std::size_t offset, std::span<std::byte> into) const noexcept;
    void write(std::byte* origin, std::size_t offset, std::span<std::byte const> from) const noexcept;
    /// Enough elements to have so many packed bytes.
    std::int64_t elements(std::size_t bytes) const noexcept;
};

} // namespace mpt::c
