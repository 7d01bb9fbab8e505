/// collectives - what the collectives of the C interface share. MPI-4.1 chapter 6.
#pragma once
#include <mpt/coll/inter.hpp>

#include "binding.hpp"
#include "parts.hpp"

namespace mpt::c {

inline coll::team<stack> team_of(comm const& c) noexcept {
    return {wire_of(c), c.members, c.me, *c.rooted_calls, c.is_inter() ? nullptr : c.shared};
}

/// The other side; nothing where there is one group.
inline group const* far_side(comm const& c) noexcept { return c.is_inter() ? &c.others : nullptr; }
/// Where an intercommunicator has no place.
void require_one_side(call const& on, comm const& c, char const* argument);
/// Runs f with the team, or with both sides.
template <class Team, class F> void on_all_sides(Team const& t, group const* far, F const& f) {
    if (far) f(coll::between{t, *far});
    else f(t);
}

[[noreturn]] void same_memory(call const& on, char const* one, char const* other);
/// MPI_IN_PLACE between two groups, where nothing is in its place already; and at another rank than the root.
void refuse_in_place(call const& on, void const* buffer, char const* argument, comm const& c);
void refuse_in_place(call const& on, void const* buffer, char const* argument, int root, comm const& c);
void require_apart(call const& on, part const& a, part const& b);
/// The one part is not to be where a part of the others begins: this rank's, or the first.
template <class All>
void require_apart(call const& on, comm const& c, void const* one, MPI_Count count, datatype_object const* t, All const& all) {
    if (one == MPI_IN_PLACE) return;
    part const mine{one, 0, count, t->type};
    if (!c.is_inter()) require_apart(on, mine, all.where(c.me));
    require_apart(on, mine, all.where(0));
}
/// What MPI_Alltoallw's types must be.
void require_types(call const& on, typed const& mine, typed const& all);

/// What this rank brings, or gets; nothing where it is in its place already.
std::optional<source> brought(moved_data& layout, void const* buffer, MPI_Count count, datatype_object const* t);
std::optional<sink> wanted(moved_data& layout, void* buffer, MPI_Count count, datatype_object const* t);

} // namespace mpt::c
