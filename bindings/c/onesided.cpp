// Chapter 12: operations on the memory of others. Each is complete at this process when it returns, so a request of one is done from
// the beginning; an error is the call's, and there is no request then.
#include <mpt/datatype/runs.hpp>
#include <mpt/mpi/window/typed.hpp>

#include "entries.hpp"
#include "operations.hpp"
#include "transfer.hpp"
#include "windows.hpp"

namespace mpt::c {

namespace {

rma::target_place at(int target, MPI_Aint displacement, MPI_Count count, datatype_object const& t) noexcept {
    return {mpt::rank{target}, displacement, count, t.type};
}

/// It shares the handle of all sends that have left, so threads meet nowhere for their requests.
MPI_Request done(call& on) noexcept { return on.of().left; }

// --- what an update is done to: elements of one predefined type ------------------------------------------------------------------

struct argument {
    datatype_object const& type;
    char const* name;
};

std::string name_of(element_kind k) { return std::string{facts(k).name}; }

element_kind element_of(call const& on, argument const& a) {
    auto const kind = uniform_element(a.type.type);
    if (kind == element_kind::mixed)
        on.fail(MPI_ERR_TYPE,
                std::string{a.name} + " has elements of several types; an update needs those of one predefined type");
    return kind;
}
void require_defined(call const& on, operation_object const& op, element_kind kind) {
    if (!find_kernel(*op.predefined, kind)) on.fail(MPI_ERR_OP, std::string{op.name} + " is not defined on " + name_of(kind));
}
/// The operation is defined on the target's elements, and ours are like them. Of nothing nobody asks what it is.
void require_elements(call const& on, operation_object const& op, MPI_Count count, argument const& there,
                      std::initializer_list<argument> ours) {
    if (count == 0 || there.type.type.size() == 0) return;
    auto const kind = element_of(on, there);
    for (auto const& a : ours)
        if (auto const other = element_of(on, a); !detail::are_alike(other, kind))
            on.fail(MPI_ERR_TYPE,
                    std::string{a.name} + " is made of " + name_of(other) + ", and " + there.name + " of " + name_of(kind));
    require_defined(on, op, kind);
}
/// Of one element.
element_kind basic_element(call const& on, datatype_object const& t) {
    if (!is_basic(t.type)) on.fail(MPI_ERR_TYPE, "datatype is a derived one; allowed: predefined datatypes");
    return t.type.element();
}
void require_comparable(call const& on, element_kind kind) {
    using enum element_class;
    auto const values = facts(kind).values;
    if (values != signed_integer && values != unsigned_integer && values != logical && values != raw)
        on.fail(MPI_ERR_TYPE, "datatype is " + name_of(kind) + "; allowed: integers, logicals, MPI_BYTE");
}

/// What only fetches has no place where nothing is fetched.
void require_update(call const& on, operation_object const& op) {
    if (*op.predefined == operation::no_op)
        on.fail(MPI_ERR_OP, "op is MPI_NO_OP, which is for MPI_Get_accumulate, MPI_Rget_accumulate and MPI_Fetch_and_op only");
}

/// What MPI_NO_OP would have read.
rma::own_source nothing(call const& on) noexcept { return {nullptr, 0, on.of().datatypes.get(MPI_BYTE).type}; }

} // namespace

namespace impl {

void Put(call&, void const* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count,
         datatype_object& type, win& w) {
    if (target != MPI_PROC_NULL) window_of(w).put({o, n, t.type}, at(target, disp, count, type));
}
void Get(call&, void* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count, datatype_object& type,
         win& w) {
    if (target != MPI_PROC_NULL) window_of(w).get({o, n, t.type}, at(target, disp, count, type));
}
void Accumulate(call& on, void const* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count,
                datatype_object& type, operation_object& op, win& w) {
    require_update(on, op);
    if (target == MPI_PROC_NULL) return;
    require_elements(on, op, count, {type, "target_datatype"}, {{t, "origin_datatype"}});
    window_of(w).accumulate({o, n, t.type}, at(target, disp, count, type), *op.predefined);
}
void Get_accumulate(call& on, void const* o, MPI_Count n, datatype_object* t, void* result, MPI_Count m, datatype_object& rt,
                    int target, MPI_Aint disp, MPI_Count count, datatype_object& type, operation_object& op, win& w) {
    if (target == MPI_PROC_NULL) return;
    argument const there{type, "target_datatype"}, into{rt, "result_datatype"};
    if (t) require_elements(on, op, count, there, {{*t, "origin_datatype"}, into});
    else require_elements(on, op, count, there, {into});
    auto const from = t ? rma::own_source{o, n, t->type} : nothing(on);
    window_of(w).get_accumulate(from, {result, m, rt.type}, at(target, disp, count, type), *op.predefined);
}
void Fetch_and_op(call& on, void const* o, void* result, datatype_object& t, int target, MPI_Aint disp, operation_object& op,
                  win& w) {
    auto const kind = basic_element(on, t);
    require_defined(on, op, kind);
    if (target != MPI_PROC_NULL)
        window_of(w).fetch_and_op(o, result, datatype::named(kind), mpt::rank{target}, disp, *op.predefined);
}
void Compare_and_swap(call& on, void const* o, void const* compare, void* result, datatype_object& t, int target, MPI_Aint disp,
                      win& w) {
    auto const kind = basic_element(on, t);
    require_comparable(on, kind);
    if (target != MPI_PROC_NULL)
        window_of(w).compare_and_swap(o, compare, result, datatype::named(kind), mpt::rank{target}, disp);
}

void Rput(call& on, void const* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count,
          datatype_object& type, win& w, MPI_Request& r) {
    Put(on, o, n, t, target, disp, count, type, w);
    r = done(on);
}
void Rget(call& on, void* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count, datatype_object& type,
          win& w, MPI_Request& r) {
    Get(on, o, n, t, target, disp, count, type, w);
    r = done(on);
}
void Raccumulate(call& on, void const* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count,
                 datatype_object& type, operation_object& op, win& w, MPI_Request& r) {
    Accumulate(on, o, n, t, target, disp, count, type, op, w);
    r = done(on);
}
void Rget_accumulate(call& on, void const* o, MPI_Count n, datatype_object* t, void* result, MPI_Count m, datatype_object& rt,
                     int target, MPI_Aint disp, MPI_Count count, datatype_object& type, operation_object& op, win& w,
                     MPI_Request& r) {
    Get_accumulate(on, o, n, t, result, m, rt, target, disp, count, type, op, w);
    r = done(on);
}

} // namespace impl
} // namespace mpt::c
