/// communicators - how a communicator comes from another one.
///
///        parent --- who agrees on a context ---> derived(): group, context, the parent's error handler ---> publish(): a handle
///
///   The context is drawn by the leader of the new group; all members hear of it by a collective on the parent, or among
///   themselves (MPI_Comm_create_group), or from their leaders (MPI_Intercomm_create). Nothing else is shared, so a parent may be
///   freed at once. What an intercommunicator's processes agree on, both sides agree on together.
#pragma once
#include <mpt/coll/bridge.hpp>

#include "collectives.hpp"

namespace mpt::c {

ref<comm> derived(binding& b, comm const& parent, group members, context_id context);
/// An intercommunicator.
ref<comm> derived(binding& b, comm const& parent, group members, group others, context_id context);
MPI_Comm publish(binding& b, ref<comm> c);
/// The handle is dead from here on.
void unpublish(binding& b, MPI_Comm c);
MPI_Group publish(binding& b, group g, ref<session> of = {});

/// Collective over the parent: a communicator of each group that its processes name; nothing for who is in none. The groups have
/// no process in common.
ref<comm> created(binding& b, comm const& parent, group const& members);
/// Collective over the parent: one for each color, ordered by key; nothing for MPI_UNDEFINED.
ref<comm> split(binding& b, comm const& parent, int color, int key);

/// Collective over an intracommunicator: its side of an intercommunicator, whose other side `leader` reaches by what across(), which
/// is called there only, gives (mpt/coll/bridge.hpp).
template <class Across> ref<comm> joined(call& on, comm const& local, int leader, Across const& across) {
    auto& b = on.of();
    auto const found = coll::meet(team_of(local), leader, b.run().new_context(), across);
    if (auto const r = coll::on_both(local.members, found.members))
        on.fail(MPI_ERR_COMM, "the two groups are not disjoint: rank " + std::to_string(r->value) + " of the job is in both");
    return derived(b, local, local.members, found.members, found.context);
}

/// Where an intercommunicator has no place.
void require_one_side(call const& on, comm const& c, char const* argument);

} // namespace mpt::c
