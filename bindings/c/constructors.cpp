// Section 5.1: the constructors of datatypes. Both forms lead here; which one it was, the contents tell later.
#include <array>

#include "datatypes.hpp"
#include "entries.hpp"

namespace mpt::c {

namespace {

using list = std::vector<std::int64_t>;

list list_of(numbers values, MPI_Count n) {
    list l(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < l.size(); ++i) l[i] = values[static_cast<std::int64_t>(i)];
    return l;
}
list list_of(int const* values, int n) { return {values, values + n}; }

count_form form_of(call const& on) noexcept { return on.large ? count_form::large : count_form::small; }

/// make(): as the call says.
template <class Make>
MPI_Datatype made_of(call& on, combiner by, std::array<std::int64_t, 3> numbers, datatype_object const& old, Make&& make) {
    auto& b = on.of();
    return publish_type(b, b.lately.made_by({by, form_of(on), numbers, old.type}, make));
}

} // namespace

namespace impl {

void Type_contiguous(call& on, MPI_Count count, datatype_object& old, MPI_Datatype& made) {
    made = made_of(on, combiner::contiguous, {count}, old, [&] { return datatype::contiguous(count, old.type, form_of(on)); });
}
void Type_vector(call& on, MPI_Count count, MPI_Count length, MPI_Count stride, datatype_object& old, MPI_Datatype& made) {
    made = made_of(on, combiner::vector, {count, length, stride}, old,
                   [&] { return datatype::vector(count, length, stride, old.type, form_of(on)); });
}
void Type_create_hvector(call& on, MPI_Count count, MPI_Count length, MPI_Count stride, datatype_object& old,
                         MPI_Datatype& made) {
    made = made_of(on, combiner::hvector, {count, length, stride}, old,
                   [&] { return datatype::hvector(count, length, stride, old.type, form_of(on)); });
}
void Type_indexed(call& on, MPI_Count n, numbers lengths, numbers displacements, datatype_object& old, MPI_Datatype& made) {
    auto t = datatype::indexed(list_of(lengths, n), list_of(displacements, n), old.type, form_of(on));
    made = publish_type(on.of(), std::move(t));
}
void Type_create_hindexed(call& on, MPI_Count n, numbers lengths, numbers displacements, datatype_object& old,
                          MPI_Datatype& made) {
    auto t = datatype::hindexed(list_of(lengths, n), list_of(displacements, n), old.type, form_of(on));
    made = publish_type(on.of(), std::move(t));
}
void Type_create_indexed_block(call& on, MPI_Count n, MPI_Count length, numbers displacements, datatype_object& old,
                               MPI_Datatype& made) {
    made = publish_type(on.of(), datatype::indexed_block(length, list_of(displacements, n), old.type, form_of(on)));
}
void Type_create_hindexed_block(call& on, MPI_Count n, MPI_Count length, numbers displacements, datatype_object& old,
                                MPI_Datatype& made) {
    made = publish_type(on.of(), datatype::hindexed_block(length, list_of(displacements, n), old.type, form_of(on)));
}
void Type_create_struct(call& on, MPI_Count n, numbers lengths, numbers displacements, MPI_Datatype const* handles,
                        MPI_Datatype& made) {
    std::vector<datatype> types;
    for (MPI_Count i = 0; i < n; ++i) types.push_back(on.object(handles[i], "array_of_types").type);
    auto t = datatype::structure(list_of(lengths, n), list_of(displacements, n), types, form_of(on));
    made = publish_type(on.of(), std::move(t));
}
void Type_create_resized(call& on, datatype_object& old, MPI_Count lower, MPI_Count extent, MPI_Datatype& made) {
    made = made_of(on, combiner::resized, {lower, extent}, old,
                   [&] { return datatype::resized(old.type, lower, extent, form_of(on)); });
}

void Type_create_subarray(call& on, int n, numbers sizes, numbers subsizes, numbers starts, int order, datatype_object& old,
                          MPI_Datatype& made) {
    auto t = datatype::subarray(list_of(sizes, n), list_of(subsizes, n), list_of(starts, n), array_order{order}, old.type,
                                form_of(on));
    made = publish_type(on.of(), std::move(t));
}
void Type_create_darray(call& on, int size, int rank, int n, numbers sizes, int const* distributions, int const* arguments,
                        int const* grid, int order, datatype_object& old, MPI_Datatype& made) {
    std::vector<distribution> how;
    for (int i = 0; i < n; ++i) how.push_back(distribution{distributions[i]});
    auto t = datatype::darray(size, rank, list_of(sizes, n), how, list_of(arguments, n), list_of(grid, n), array_order{order},
                              old.type, form_of(on));
    made = publish_type(on.of(), std::move(t));
}

} // namespace impl
} // namespace mpt::c
