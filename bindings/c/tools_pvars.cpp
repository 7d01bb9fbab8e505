// Section 15.3.7 of the standard: performance variables, which are the rows of figure_table.
//
//   A counter, a sum and a timer count from the handle's start, and can be stopped and set; a handle of any other figure tells what
//   is now, always.
#include <cstring>

#include "entries.hpp"
#include "tools.hpp"

namespace mpt::c {

namespace {

struct class_of_sort {
    figure_sort sort;
    int pvar_class;
    MPI_Datatype datatype;
    bool started; // it can be started, stopped and set
};
class_of_sort const classes[] = {
    {figure_sort::counter, MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, true},
    {figure_sort::sum, MPI_T_PVAR_CLASS_AGGREGATE, MPI_UNSIGNED_LONG_LONG, true},
    {figure_sort::level, MPI_T_PVAR_CLASS_LEVEL, MPI_UNSIGNED_LONG_LONG, false},
    {figure_sort::most, MPI_T_PVAR_CLASS_HIGHWATERMARK, MPI_UNSIGNED_LONG_LONG, false},
    {figure_sort::size, MPI_T_PVAR_CLASS_SIZE, MPI_UNSIGNED_LONG_LONG, false},
    {figure_sort::share, MPI_T_PVAR_CLASS_PERCENTAGE, MPI_DOUBLE, false},
    {figure_sort::timer, MPI_T_PVAR_CLASS_TIMER, MPI_DOUBLE, true},
    {figure_sort::state, MPI_T_PVAR_CLASS_STATE, MPI_INT, false},
};
class_of_sort const& class_of(figure_row const& row) noexcept { return classes[static_cast<std::size_t>(row.sort)]; }
constexpr double unit = 1e9; // variables of doubles are seconds, or 1 for the whole; their figures nano- and billionths

std::size_t checked(call& on, int index) { return index_of(on, index, figure_table.size(), "pvar_index"); }

/// The figure as it is now; before MPI_Init 0, after MPI_Finalize as it was then.
std::uint64_t now(call& on, tool_state const& t, pvar_handle const& p) {
    auto& b = on.of();
    if (b.life() == stage::before) return 0;
    if (b.life() == stage::over) return p.row.of_communicator ? 0 : t.last[p.row.what];
    return p.row.of_communicator ? b.run().look_at(p.row.what, p.context) : b.run().look()[p.row.what];
}
std::uint64_t value(call& on, tool_state const& t, pvar_handle const& p) {
    if (!class_of(p.row).started) return now(on, t, p);
    return p.running ? p.sum + now(on, t, p) - p.begun : p.sum;
}
void set(call& on, tool_state const& t, pvar_handle& p, std::uint64_t to) {
    p.sum = to;
    if (p.running) p.begun = now(on, t, p);
}
void start(call& on, tool_state const& t, pvar_handle& p) {
    if (p.running) return;
    p.begun = now(on, t, p);
    p.running = true;
}
void stop(call& on, tool_state const& t, pvar_handle& p) {
    p.sum = value(on, t, p);
    p.running = false;
}

void give_value(pvar_handle const& p, std::uint64_t figure, void* buf) noexcept {
    auto const type = class_of(p.row).datatype;
    auto const place = static_cast<int>(figure);
    auto const share = static_cast<double>(figure) / unit;
    if (type == MPI_INT) std::memcpy(buf, &place, sizeof place);
    else if (type == MPI_DOUBLE) std::memcpy(buf, &share, sizeof share);
    else std::memcpy(buf, &figure, sizeof figure);
}
std::uint64_t taken(call& on, pvar_handle const& p, void const* buf) {
    std::uint64_t n = 0;
    if (class_of(p.row).datatype != MPI_DOUBLE) return std::memcpy(&n, buf, sizeof n), n;
    double x = 0;
    std::memcpy(&x, buf, sizeof x);
    if (!(x >= 0 && x < 1e9)) on.fail(MPI_T_ERR_INVALID, "*buf is " + std::to_string(x) + " seconds; allowed: 0 to 1e9");
    return static_cast<std::uint64_t>(x * unit);
}

pvar_session& session_of(call& on, tool_state& t, MPI_T_pvar_session h) {
    return living<pvar_session>(on, t, h, "session", MPI_T_ERR_INVALID_SESSION);
}
/// A handle of a session.
pvar_handle& handle_in(call& on, tool_state& t, MPI_T_pvar_session session, MPI_T_pvar_handle h) {
    auto const& s = session_of(on, t, session);
    auto& p = living<pvar_handle>(on, t, h, "handle");
    if (p.session != &s) on.fail(MPI_T_ERR_INVALID_HANDLE, "handle belongs to another session");
    return p;
}
void must_change(call& on, pvar_handle const& p, int code, char const* what) {
    if (!class_of(p.row).started) on.fail(code, std::string{p.row.name} + ' ' + what);
}

/// What is done to one handle, where that is allowed, or to all of a session to which it can be done.
template <class F> void each(call& on, MPI_T_pvar_session session, MPI_T_pvar_handle h, int code, char const* what, F&& f) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    if (h != MPI_T_PVAR_ALL_HANDLES) {
        auto& p = handle_in(on, t, session, h);
        must_change(on, p, code, what);
        return f(on, t, p);
    }
    for (auto const one : session_of(on, t, session).handles)
        if (auto& p = living<pvar_handle>(on, t, one, "handle"); class_of(p.row).started) f(on, t, p);
}

constexpr char const no_start[] = "is always on, and cannot be started or stopped", no_write[] = "can only be read";

/// The context of the communicator that a handle is to be bound to.
context_id bound_to(call& on, figure_row const& row, void* obj_handle) {
    if (!row.of_communicator) return {};
    MPI_Comm h = MPI_COMM_NULL;
    if (obj_handle) std::memcpy(&h, obj_handle, sizeof h);
    auto const* const c = on.of().comms.find_handle(h);
    if (!c)
        on.fail(MPI_T_ERR_INVALID_HANDLE,
                "obj_handle does not lead to a communicator, and " + std::string{row.name} + " is one's");
    return c->context;
}

} // namespace

namespace impl {

void T_pvar_get_num(call&, int& n) { n = static_cast<int>(figure_table.size()); }
void T_pvar_get_info(call& on, int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                     MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* readonly,
                     int* continuous, int* atomic) {
    auto const& row = figure_table[checked(on, pvar_index)];
    auto const& c = class_of(row);
    give_text(row.name, name, name_len);
    give_text(row.help, desc, desc_len);
    give(verbosity, row.sort == figure_sort::sum ? MPI_T_VERBOSITY_USER_DETAIL : MPI_T_VERBOSITY_USER_BASIC);
    give(var_class, c.pvar_class);
    if (datatype) *datatype = c.datatype;
    if (enumtype) *enumtype = row.words.empty() ? MPI_T_ENUM_NULL : tools_of(on.of()).enumeration_of(row.words);
    give(bind, row.of_communicator ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
    give(readonly, !c.started);
    give(continuous, !c.started);
    give(atomic, c.started);
}
void T_pvar_get_index(call& on, char const* name, int var_class, int& pvar_index) {
    auto const at = figure_place(name);
    if (at == figure_table.size() || class_of(figure_table[at]).pvar_class != var_class)
        on.fail(MPI_T_ERR_INVALID_NAME, std::string{"name is \""} + name + "\", which is no performance variable of class " +
                                            std::to_string(var_class));
    pvar_index = static_cast<int>(at);
}

void T_pvar_session_create(call& on, MPI_T_pvar_session& session) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    session = t.publish<MPI_T_pvar_session>(ref<pvar_session>::adopt(new pvar_session), MPI_T_ERR_OUT_OF_SESSIONS);
}
void T_pvar_session_free(call& on, MPI_T_pvar_session& session) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    for (auto const h : session_of(on, t, session).handles) t.forget(h);
    t.forget(std::exchange(session, MPI_T_PVAR_SESSION_NULL));
}

void T_pvar_handle_alloc(call& on, MPI_T_pvar_session session, int pvar_index, void* obj_handle, MPI_T_pvar_handle& handle,
                         int& count) {
    auto const& row = figure_table[checked(on, pvar_index)];
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    auto& s = session_of(on, t, session);
    s.handles.reserve(s.handles.size() + 1);
    handle = t.publish<MPI_T_pvar_handle>(ref<pvar_handle>::adopt(new pvar_handle{s, row, bound_to(on, row, obj_handle)}));
    s.handles.push_back(handle);
    count = 1;
}
void T_pvar_handle_free(call& on, MPI_T_pvar_session session, MPI_T_pvar_handle& handle) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    std::erase(handle_in(on, t, session, handle).session->handles, handle);
    t.forget(std::exchange(handle, MPI_T_PVAR_HANDLE_NULL));
}

void T_pvar_start(call& on, MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    each(on, session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, no_start, start);
}
void T_pvar_stop(call& on, MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    each(on, session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, no_start, stop);
}
void T_pvar_reset(call& on, MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    each(on, session, handle, MPI_T_ERR_PVAR_NO_WRITE, no_write,
         [](call& c, tool_state const& t, pvar_handle& p) { set(c, t, p, 0); });
}

void T_pvar_read(call& on, MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    auto const& p = handle_in(on, t, session, handle);
    give_value(p, value(on, t, p), buf);
}
void T_pvar_write(call& on, MPI_T_pvar_session session, MPI_T_pvar_handle handle, void const* buf) {
    on.not_null(buf, "buf");
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    auto& p = handle_in(on, t, session, handle);
    must_change(on, p, MPI_T_ERR_PVAR_NO_WRITE, no_write);
    set(on, t, p, taken(on, p, buf));
}
/// One look serves both, so that nothing that happens meanwhile is lost.
void T_pvar_readreset(call& on, MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
    auto& t = tools_of(on.of());
    std::lock_guard const g{t.changing};
    auto& p = handle_in(on, t, session, handle);
    must_change(on, p, MPI_T_ERR_PVAR_NO_ATOMIC, no_write);
    auto const at = p.running ? now(on, t, p) : p.begun;
    give_value(p, p.sum + (at - p.begun), buf);
    p.sum = 0;
    p.begun = at;
}

} // namespace impl
} // namespace mpt::c
