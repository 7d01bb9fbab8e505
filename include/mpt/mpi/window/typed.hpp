/// window/typed - elements of any layout at both sides of a one-sided operation, and what an update may combine.
///
///   An update combines elements of one predefined datatype, whatever their places: those here are like the target's.
///   Source   MPI-4.1 section 12.3.4.
#pragma once
#include <initializer_list>
#include <string>

#include <mpt/datatype/operation.hpp>
#include <mpt/datatype/runs.hpp>
#include <mpt/mpi/error_classes.hpp>
#include <mpt/mpi/typed_operation.hpp>

namespace mpt::inline v0 {

/// Elements of a target's part: `at` counts its units; in a dynamic window it is an address there.
struct target_data {
    std::size_t at;
    std::int64_t count;
    datatype const& type;
};

namespace detail {

inline std::string name_of(element_kind k) { return std::string{facts(k).name}; }

/// C's long and int64_t are, where both have 64 bits.
inline bool are_alike(element_kind a, element_kind b) noexcept {
    auto const &x = facts(a), &y = facts(b);
    return a == b || (!x.is_pair() && x.values == y.values && x.size == y.size);
}
inline element_kind uniform(char const* call, datatype const& t) {
    auto const kind = uniform_element(t);
    if (kind == element_kind::mixed)
        throw mpi_error{error_class::type, "mpt: " + std::string{call} +
                                               ": elements of several types; an update needs those of one predefined type"};
    return kind;
}
/// The operation is defined on the target's elements, and ours are like them. Of nothing nobody asks what it is.
inline void require_update(char const* call, operation op, target_data const& there,
                           std::initializer_list<datatype const*> ours) {
    if (there.count == 0 || there.type.size() == 0) return;
    auto const kind = uniform(call, there.type);
    for (auto const* t : ours)
        if (auto const other = uniform(call, *t); !are_alike(other, kind))
            throw mpi_error{error_class::type, "mpt: " + std::string{call} + ": elements of " + name_of(other) +
                                                   " here, and of " + name_of(kind) + " at the target"};
    if (!find_kernel(op, kind))
        throw mpi_error{error_class::op, "mpt: " + std::string{call} + ": " +
                                             std::string{operation_names[static_cast<std::size_t>(op)]} +
                                             " is not defined on " + name_of(kind)};
}

} // namespace detail
} // namespace mpt::inline v0
