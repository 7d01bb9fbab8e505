/// datatype/contents - how a datatype was made: the constructor and its arguments, as MPI_Type_get_contents tells them.
///
///   A constructor is called in the small form (int counts, MPI_Aint addresses) or in the large one (MPI_Count for both), and
///   what can be asked later differs: small counts are `integers` and displacements in bytes `addresses`; of a large call both
///   are `counts`, in the order of the arguments, counts first. What is an int in both forms (the order and the distributions of
///   arrays) is an integer in both.
///
///        hvector(3, 2, 40, t)     small: integers {3, 2}, addresses {40}      large: counts {3, 2, 40}      types {t}
///
///   Tests   test/datatype_contents_test.cpp rebuilds random types from their contents.
///   Source  MPI-4.1 section 5.1.13.
#pragma once
#include <cstdint>

namespace mpt::inline v0 {

/// Which constructor made a type, with the values of the MPI 5.0 ABI.
enum class combiner : std::int32_t {
    named = 101,
    dup,
    contiguous,
    vector,
    hvector,
    indexed,
    hindexed,
    indexed_block,
    hindexed_block,
    structure,
    subarray,
    darray,
    f90_real,
    f90_complex,
    f90_integer,
    resized,
    value_index,
};

enum class count_form : std::uint8_t { small, large };

/// The order of an array's dimensions: which one is contiguous. The values are the ABI's.
enum class array_order : std::int32_t { c = 12, fortran = 15 };

/// How a dimension is dealt to processes. The values are the ABI's.
enum class distribution : std::int32_t { none = 16, block = 17, cyclic = 18 };
/// A distribution's argument: the default one.
inline constexpr std::int64_t default_distribution = 19;

struct datatype_contents; // datatype/datatype.hpp, where a datatype is complete

} // namespace mpt::inline v0
