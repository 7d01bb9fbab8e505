/// collectives - what the collectives of the C interface share. MPI-4.1 chapter 6.
#pragma once
#include <mpt/coll/team.hpp>

#include "binding.hpp"

namespace mpt::c {

inline coll::team<stack> team_of(comm const& c) noexcept { return {wire_of(c), c.members, c.me, *c.rooted_calls}; }

[[noreturn]] void same_memory(call const& on, char const* one, char const* other);
/// MPI_IN_PLACE at another rank than the root.
void refuse_in_place(call const& on, void const* buffer, char const* argument, int root, comm const& c);

} // namespace mpt::c
