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

/// MPI-4.1 section 12.3.5: those with a request are for passive epochs alone, which is what this flush looks for; it does nothing else.
void require_passive(call const& on, win& w, int target) {
    if (target == MPI_PROC_NULL) return;
    try {
        window_of(w).flush_local(mpt::rank{target});
    } catch (error const&) {
        on.fail(MPI_ERR_RMA_SYNC,
                "rank " + std::to_string(target) +
                    " of the window is not locked; operations with a request are for epochs that MPI_Win_lock or "
                    "MPI_Win_lock_all begins");
    }
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
    if (!is_comparable(kind))
        on.fail(MPI_ERR_TYPE, "datatype is " + name_of(kind) + "; allowed: integers, letters, logicals, MPI_BYTE");
}

/// What only fetches has no place where nothing is fetched.
void require_update(call const& on, operation_object const& op) {
    if (*op.predefined == operation::no_op)
        on.fail(MPI_ERR_OP, "op is MPI_NO_OP, which is for MPI_Get_accumulate, MPI_Rget_accumulate and MPI_Fetch_and_op only");
}

/// f(), which does to the target what `a` says. Asked for by a request: complete with it, where it fetches. Looked at afterwards: what
/// is refused for another reason was no access, and conflicts with nobody's.
template <class F>
void watching(call const& on, win& w, rma::target_place const& to, rma::access const& a, F f, bool request = false) {
    if constexpr (!checked) f();
    else {
        f();
        auto& watch = watch_of(w);
        auto const [number, found] = watch.note(to, a);
        require_nothing(on, found);
        if (request && a.fetches) watch.drop(to.target, number);
    }
}
rma::access updating(operation_object const& op, datatype_object const& t, bool fetches) {
    return {rma::touch::update, *op.predefined, uniform_element(t.type), fetches};
}

/// What MPI_NO_OP would have read.
rma::own_source nothing(call const& on) noexcept { return {nullptr, 0, on.of().datatypes.get(MPI_BYTE).type}; }

// --- what has a form with a request and one without ----------------------------------------------------------------------------------

void get(call const& on, rma::own_sink const& into, rma::target_place const& from, win& w, bool request) {
    if (from.target == proc_null) return;
    rma::access const read{rma::touch::get, operation::no_op, element_kind::byte, true};
    watching(
        on, w, from, read, [&] { window_of(w).get(into, from); }, request);
}

struct update_of { // of MPI_Get_accumulate
    void const* address;
    MPI_Count count;
    datatype_object* type; // null: operation::no_op
};
void get_accumulate(call const& on, update_of const& o, rma::own_sink const& result, datatype_object const& rt,
                    rma::target_place const& to, datatype_object const& type, operation_object const& op, win& w,
                    bool request) {
    if (to.target == proc_null) return;
    argument const there{type, "target_datatype"}, into{rt, "result_datatype"};
    if (o.type) require_elements(on, op, to.count, there, {{*o.type, "origin_datatype"}, into});
    else require_elements(on, op, to.count, there, {into});
    auto const from = o.type ? rma::own_source{o.address, o.count, o.type->type} : nothing(on);
    watching(
        on, w, to, updating(op, type, true), [&] { window_of(w).get_accumulate(from, result, to, *op.predefined); }, request);
}

} // namespace

namespace impl {

void Put(call& on, void const* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count,
         datatype_object& type, win& w) {
    if (target == MPI_PROC_NULL) return;
    auto const to = at(target, disp, count, type);
    watching(on, w, to, {rma::touch::put, operation::replace}, [&] { window_of(w).put({o, n, t.type}, to); });
}
void Get(call& on, void* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count, datatype_object& type,
         win& w) {
    get(on, {o, n, t.type}, at(target, disp, count, type), w, false);
}
void Accumulate(call& on, void const* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count,
                datatype_object& type, operation_object& op, win& w) {
    require_update(on, op);
    if (target == MPI_PROC_NULL) return;
    require_elements(on, op, count, {type, "target_datatype"}, {{t, "origin_datatype"}});
    auto const to = at(target, disp, count, type);
    watching(on, w, to, updating(op, type, false), [&] { window_of(w).accumulate({o, n, t.type}, to, *op.predefined); });
}
void Get_accumulate(call& on, void const* o, MPI_Count n, datatype_object* t, void* result, MPI_Count m, datatype_object& rt,
                    int target, MPI_Aint disp, MPI_Count count, datatype_object& type, operation_object& op, win& w) {
    get_accumulate(on, {o, n, t}, {result, m, rt.type}, rt, at(target, disp, count, type), type, op, w, false);
}
void Fetch_and_op(call& on, void const* o, void* result, datatype_object& t, int target, MPI_Aint disp, operation_object& op,
                  win& w) {
    auto const kind = basic_element(on, t);
    require_defined(on, op, kind);
    if (target == MPI_PROC_NULL) return;
    watching(on, w, at(target, disp, 1, t), updating(op, t, true),
             [&] { window_of(w).fetch_and_op(o, result, datatype::named(kind), mpt::rank{target}, disp, *op.predefined); });
}
void Compare_and_swap(call& on, void const* o, void const* compare, void* result, datatype_object& t, int target, MPI_Aint disp,
                      win& w) {
    auto const kind = basic_element(on, t);
    require_comparable(on, kind);
    if (target == MPI_PROC_NULL) return;
    watching(on, w, at(target, disp, 1, t), {rma::touch::swap, operation::replace, kind, true},
             [&] { window_of(w).compare_and_swap(o, compare, result, datatype::named(kind), mpt::rank{target}, disp); });
}

void Rput(call& on, void const* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count,
          datatype_object& type, win& w, MPI_Request& r) {
    require_passive(on, w, target);
    Put(on, o, n, t, target, disp, count, type, w);
    r = done(on);
}
void Rget(call& on, void* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count, datatype_object& type,
          win& w, MPI_Request& r) {
    require_passive(on, w, target);
    get(on, {o, n, t.type}, at(target, disp, count, type), w, true);
    r = done(on);
}
void Raccumulate(call& on, void const* o, MPI_Count n, datatype_object& t, int target, MPI_Aint disp, MPI_Count count,
                 datatype_object& type, operation_object& op, win& w, MPI_Request& r) {
    require_passive(on, w, target);
    Accumulate(on, o, n, t, target, disp, count, type, op, w);
    r = done(on);
}
void Rget_accumulate(call& on, void const* o, MPI_Count n, datatype_object* t, void* result, MPI_Count m, datatype_object& rt,
                     int target, MPI_Aint disp, MPI_Count count, datatype_object& type, operation_object& op, win& w,
                     MPI_Request& r) {
    require_passive(on, w, target);
    get_accumulate(on, {o, n, t}, {result, m, rt.type}, rt, at(target, disp, count, type), type, op, w, true);
    r = done(on);
}

} // namespace impl
} // namespace mpt::c
