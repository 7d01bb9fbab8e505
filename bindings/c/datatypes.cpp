// Chapter 5: datatypes. The engine is mpt/datatype; here are their handles, and what is asked of them. Their constructors stand in
// constructors.cpp.
#include <algorithm>

#include "attributes.hpp"
#include "datatypes.hpp"
#include "entries.hpp"
#include "text.hpp"

namespace mpt::c {

namespace {

/// Who made a type and with what. Predefined ones cannot be freed; unnamed ones are made by a call, once for all.
bool is_named(datatype const& t) noexcept { return t.contents().made_by == combiner::named; }
bool is_unnamed(datatype const& t) noexcept {
    auto const c = t.contents().made_by;
    return c == combiner::f90_real || c == combiner::f90_complex || c == combiner::f90_integer;
}

std::string name_of(call& on, datatype_object const& t) {
    auto name = name_of(on.of(), t.name);
    return name.empty() ? "of the datatype" : name;
}

/// How a type was made, if the call's form can tell it.
datatype_contents const& contents_of(call const& on, datatype_object const& t) {
    auto const& how = t.type.contents();
    if (!on.large && !how.counts.empty())
        on.fail(MPI_ERR_TYPE, "datatype was made with large counts, of which only " + std::string{on.name()} + "_c tells");
    return how;
}

void require_room(call const& on, char const* argument, MPI_Count room, std::size_t wanted) {
    if (room < static_cast<MPI_Count>(wanted))
        on.refuse(MPI_ERR_ARG, argument, room, "at least " + std::to_string(wanted) + ", as MPI_Type_get_envelope told");
}

/// The handle that contents tell: a predefined type's own, or a new one.
MPI_Datatype part_of(binding& b, datatype const& t) {
    if (is_named(t)) return named_handle(t.element());
    if (!is_unnamed(t)) return publish_type(b, t);
    std::lock_guard const g{b.changing};
    return (*std::ranges::find(b.unnamed, t, [](auto const& known) { return known->type; }))->handle;
}

/// Fortran's kinds of numbers as its compilers have them: a type with more digits or a larger exponent is one of the next line.
struct fortran_kind {
    int digits, exponent;
    element_kind real, complex;
};
constexpr fortran_kind real_kinds[] = {
    {6, 37, element_kind::real4, element_kind::complex8},
    {15, 307, element_kind::real8, element_kind::complex16},
    {std::numeric_limits<long double>::digits10, 4931, element_kind::c_long_double, element_kind::c_long_double_complex},
    {33, 4931, element_kind::real16, element_kind::complex32},
};
struct integer_kind {
    int digits;
    element_kind kind;
};
constexpr integer_kind integer_kinds[] = {
    {2, element_kind::integer1},  {4, element_kind::integer2},   {9, element_kind::integer4},
    {18, element_kind::integer8}, {38, element_kind::integer16},
};

fortran_kind real_kind(call const& on, int p, int r) {
    if (p == MPI_UNDEFINED && r == MPI_UNDEFINED)
        on.fail(MPI_ERR_ARG, "p and r are MPI_UNDEFINED, one of which must be a number");
    for (auto const& k : real_kinds) // MPI_UNDEFINED is less than any
        if (p <= k.digits && r <= k.exponent) return k;
    on.fail(MPI_ERR_ARG, "no type of numbers has p = " + std::to_string(p) +
                             " digits and the exponent r = " + std::to_string(r) + "; the largest one has 33 and 4931");
}

/// The same arguments give the same handle.
MPI_Datatype selected(binding& b, element_kind k, combiner made_by, std::initializer_list<std::int64_t> arguments) {
    std::lock_guard const g{b.changing};
    for (auto const& known : b.unnamed) {
        auto const& how = known->type.contents();
        if (how.made_by == made_by && std::ranges::equal(how.integers, arguments)) return known->handle;
    }
    b.unnamed.reserve(b.unnamed.size() + 1);
    auto const type = datatype::selected(k, made_by, {arguments.begin(), arguments.size()});
    auto const handle = publish_type(b, type, true);
    b.unnamed.push_back(ref<datatype_object>::adopt(&b.datatypes.get(handle))); // the handle's use: nobody frees it
    return handle;
}

element_class class_of(int typeclass) noexcept {
    switch (typeclass) {
    case MPI_TYPECLASS_INTEGER: return element_class::signed_integer;
    case MPI_TYPECLASS_REAL: return element_class::real;
    case MPI_TYPECLASS_COMPLEX: return element_class::complex;
    default: return element_class::logical;
    }
}

} // namespace

MPI_Datatype publish_type(binding& b, datatype t, bool committed) {
    auto made = ref<datatype_object>::adopt(new datatype_object{std::move(t)});
    made->committed = committed;
    auto& published = *made; // the handle's use, which nobody has yet
    return published.handle = binding::publish<MPI_Datatype>(b.datatypes, std::move(made));
}

namespace impl {

void Type_commit(call& on, MPI_Datatype& handle) {
    auto& t = on.object(handle, "datatype");
    t.type.commit();
    t.committed = true;
}
void Type_dup(call& on, datatype_object& old, MPI_Datatype& made) {
    made = publish_type(on.of(), datatype::dup(old.type), old.committed);
    try {
        copy_attributes(on.of(), old, on.of().datatypes.get(made));
    } catch (...) { // the callback of the user that refused
        on.of().datatypes.remove(word_of(std::exchange(made, MPI_DATATYPE_NULL)))->let_go();
        throw;
    }
}
void Type_free(call& on, MPI_Datatype& handle) {
    auto& t = on.object(handle, "datatype");
    if (is_named(t.type) || is_unnamed(t.type))
        on.fail(MPI_ERR_TYPE, "datatype is predefined (" + name_of(on, t) + "), and stays");
    remove_attributes(on.of(), t);
    on.of().datatypes.remove(word_of(handle))->let_go();
    handle = MPI_DATATYPE_NULL;
}

// --- sizes and bounds -----------------------------------------------------------------------------------------------------------

void Type_size(call&, datatype_object& t, MPI_Count& size) { size = t.type.size(); }
void Type_size_x(call& on, datatype_object& t, MPI_Count& size) { Type_size(on, t, size); }
void Type_get_extent(call&, datatype_object& t, MPI_Count& lower, MPI_Count& extent) {
    lower = t.type.lower_bound(), extent = t.type.extent();
}
void Type_get_extent_x(call& on, datatype_object& t, MPI_Count& lower, MPI_Count& extent) {
    Type_get_extent(on, t, lower, extent);
}
void Type_get_true_extent(call&, datatype_object& t, MPI_Count& lower, MPI_Count& extent) {
    lower = t.type.true_lower_bound(), extent = t.type.true_extent();
}
void Type_get_true_extent_x(call& on, datatype_object& t, MPI_Count& lower, MPI_Count& extent) {
    Type_get_true_extent(on, t, lower, extent);
}

// --- how it was made ------------------------------------------------------------------------------------------------------------

void Type_get_envelope(call& on, datatype_object& t, MPI_Count& integers, MPI_Count& addresses, MPI_Count& counts,
                       MPI_Count& types, int& made_by) {
    auto const& how = contents_of(on, t);
    integers = std::ssize(how.integers), addresses = std::ssize(how.addresses);
    counts = std::ssize(how.counts), types = std::ssize(how.types);
    made_by = static_cast<int>(how.made_by);
}
void Type_get_contents(call& on, datatype_object& t, MPI_Count max_integers, MPI_Count max_addresses, MPI_Count max_counts,
                       MPI_Count max_types, int* integers, MPI_Aint* addresses, MPI_Count* counts, MPI_Datatype* types) {
    auto const& how = contents_of(on, t);
    if (is_named(t.type)) on.fail(MPI_ERR_TYPE, "datatype is predefined (" + name_of(on, t) + "), and was not made by a call");
    require_room(on, "max_integers", max_integers, how.integers.size());
    require_room(on, "max_addresses", max_addresses, how.addresses.size());
    require_room(on, "max_large_counts", max_counts, how.counts.size());
    require_room(on, "max_datatypes", max_types, how.types.size());
    std::ranges::transform(how.integers, integers, [](std::int64_t n) { return static_cast<int>(n); });
    std::ranges::copy(how.addresses, addresses);
    std::ranges::copy(how.counts, counts);
    std::ranges::transform(how.types, types, [&](datatype const& part) { return part_of(on.of(), part); });
}

// --- names ----------------------------------------------------------------------------------------------------------------------

void Type_set_name(call& on, datatype_object& t, char const* name) { rename(on.of(), t.name, name); }
void Type_get_name(call& on, datatype_object* t, char* name, int& length) {
    put_text(t ? name_of(on.of(), t->name) : "MPI_DATATYPE_NULL", name, MPI_MAX_OBJECT_NAME, length);
}

// --- predefined types that are looked for ---------------------------------------------------------------------------------------

void Type_match_size(call& on, int typeclass, int size, MPI_Datatype& found) {
    auto const kind = match_size(class_of(typeclass), size);
    if (!kind) on.fail(MPI_ERR_ARG, "no datatype of this class has a size of " + std::to_string(size) + " bytes");
    found = named_handle(*kind);
}
void Type_get_value_index(call&, datatype_object& value, datatype_object& index, MPI_Datatype& pair) {
    pair = MPI_DATATYPE_NULL;
    if (!value.type.is_predefined() || !index.type.is_predefined()) return;
    auto const type = datatype::value_index(value.type.element(), index.type.element());
    if (is_named(type)) pair = named_handle(type.element()); // no operation knows the others
}

void Type_create_f90_integer(call& on, int r, MPI_Datatype& made) {
    for (auto const& k : integer_kinds)
        if (r <= k.digits) return void(made = selected(on.of(), k.kind, combiner::f90_integer, {r}));
    on.fail(MPI_ERR_ARG, "no integer has r = " + std::to_string(r) + " digits; the largest one has 38");
}
void Type_create_f90_real(call& on, int p, int r, MPI_Datatype& made) {
    made = selected(on.of(), real_kind(on, p, r).real, combiner::f90_real, {p, r});
}
void Type_create_f90_complex(call& on, int p, int r, MPI_Datatype& made) {
    made = selected(on.of(), real_kind(on, p, r).complex, combiner::f90_complex, {p, r});
}

} // namespace impl
} // namespace mpt::c
