/// communicators - how a communicator comes from another one.
///
///        parent --- who agrees on a context ---> derived(): group, context, the parent's error handler ---> publish(): a handle
///
///   The context is drawn by the leader of the new group; all members hear of it by a collective on the parent, or among
///   themselves (MPI_Comm_create_group). Nothing else is shared, so a parent may be freed at once.
#pragma once
#include "binding.hpp"

namespace mpt::c {

ref<comm> derived(binding& b, comm const& parent, group members, context_id context);
MPI_Comm publish(binding& b, ref<comm> c);
/// The handle is dead from here on.
void unpublish(binding& b, MPI_Comm c);
MPI_Group publish(binding& b, group g, ref<session> of = {});

/// Collective over the parent: a communicator of each group that its processes name; nothing for who is in none. The groups have
/// no process in common.
ref<comm> created(binding& b, comm const& parent, group const& members);
/// Collective over the parent: one for each color, ordered by key; nothing for MPI_UNDEFINED.
ref<comm> split(binding& b, comm const& parent, int color, int key);

} // namespace mpt::c
