// Chapter 7: groups.
#include <mpt/mpi/group_algebra.hpp>

#include "communicators.hpp"
#include "entries.hpp"

namespace mpt::c {

MPI_Group publish(binding& b, group g, ref<session> of) {
    if (g.size() == 0) return MPI_GROUP_EMPTY;
    auto object = ref<group_object>::adopt(new group_object{std::move(g)});
    object->of_session = std::move(of);
    return binding::publish<MPI_Group>(b.groups, std::move(object));
}

namespace {

std::span<int const> list(int const* ranks, int n) noexcept { return {ranks, static_cast<std::size_t>(n)}; }
/// What two groups make comes from where they do; MPI_GROUP_EMPTY comes from nowhere.
ref<session> origin(group_object const& a, group_object const& b) { return a.of_session ? a.of_session : b.of_session; }
groups::rank_ranges list(int (*ranges)[3], int n) noexcept { return {ranges, static_cast<std::size_t>(n)}; }

} // namespace

namespace impl {

void Group_size(call&, group_object& g, int& size) { size = g.size(); }
void Group_rank(call& on, group_object& g, int& rank) {
    auto const mine = g.members.find(on.of().run().me());
    rank = mine ? mine->value : MPI_UNDEFINED;
}
void Group_compare(call&, group_object& a, group_object& b, int& result) {
    result = static_cast<int>(groups::compare(a.members, b.members));
}
void Group_translate_ranks(call&, group_object& from, int n, int const* ranks, group_object& to, int* into) {
    groups::translate_ranks(from.members, list(ranks, n), to.members, {into, static_cast<std::size_t>(n)});
}

void Group_union(call& on, group_object& a, group_object& b, MPI_Group& made) {
    require_one_origin(on, a, b, "group1", "group2");
    made = publish(on.of(), groups::union_of(a.members, b.members), origin(a, b));
}
void Group_intersection(call& on, group_object& a, group_object& b, MPI_Group& made) {
    require_one_origin(on, a, b, "group1", "group2");
    made = publish(on.of(), groups::intersection(a.members, b.members), origin(a, b));
}
void Group_difference(call& on, group_object& a, group_object& b, MPI_Group& made) {
    require_one_origin(on, a, b, "group1", "group2");
    made = publish(on.of(), groups::difference(a.members, b.members), origin(a, b));
}
void Group_incl(call& on, group_object& g, int n, int const* ranks, MPI_Group& made) {
    made = publish(on.of(), groups::incl(g.members, list(ranks, n)), g.of_session);
}
void Group_excl(call& on, group_object& g, int n, int const* ranks, MPI_Group& made) {
    made = publish(on.of(), groups::excl(g.members, list(ranks, n)), g.of_session);
}
void Group_range_incl(call& on, group_object& g, int n, int (*ranges)[3], MPI_Group& made) {
    made = publish(on.of(), groups::range_incl(g.members, list(ranges, n)), g.of_session);
}
void Group_range_excl(call& on, group_object& g, int n, int (*ranges)[3], MPI_Group& made) {
    made = publish(on.of(), groups::range_excl(g.members, list(ranges, n)), g.of_session);
}

/// MPI_GROUP_EMPTY may be freed like any result of the functions above, and stays.
void Group_free(call& on, MPI_Group& handle) {
    if (auto* const gone = on.of().groups.remove(word_of(handle))) gone->let_go();
    handle = MPI_GROUP_NULL;
}

} // namespace impl
} // namespace mpt::c
