/// datatypes - handles of new datatypes.
#pragma once
#include "binding.hpp"

namespace mpt::c {

/// A new handle of a type.
MPI_Datatype publish_type(binding& b, datatype t, bool committed = false);

} // namespace mpt::c
