#include "call.hpp"

#include <cstdio>
#include <string>

#include "operations.hpp"

namespace mpt::c {

namespace {

/// What a handle is that stands for nothing.
std::string bad_handle(std::uintptr_t word, std::uintptr_t null, char const* sort, char const* null_name) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(word));
    if (word == null) return std::string{"is "} + null_name + "; a living " + sort + " is needed";
    return std::string{"is "} + text + ", which is no " + sort + ", or one that was freed";
}

/// Never inlined: a call whose handles are good pays for no text.
[[noreturn, gnu::noinline, gnu::cold]] void refuse(call const& on, std::uintptr_t word, std::uintptr_t null, char const* sort,
                                                   char const* null_name, char const* argument, int code) {
    on.fail(code, std::string{argument} + ' ' + bad_handle(word, null, sort, null_name));
}

template <class T, class Handle> T& living(call const& on, handle_table<T> const& table, Handle h, Handle null,
                                           char const* sort, char const* null_name, char const* argument, int code) {
    auto* const object = table.find_handle(h);
    if (!object) [[unlikely]]
        refuse(on, word_of(h), word_of(null), sort, null_name, argument, code);
    return *object;
}

[[noreturn]] void no_comm(call const& on, MPI_Comm h, char const* argument) {
    auto const is = [&](MPI_Comm c, char const* name) { return h == c ? std::string{"is "} + name : std::string{}; };
    auto const world = is(MPI_COMM_WORLD, "MPI_COMM_WORLD") + is(MPI_COMM_SELF, "MPI_COMM_SELF");
    on.fail(MPI_ERR_COMM, std::string{argument} + ' ' +
                              (world.empty() ? bad_handle(word_of(h), word_of(MPI_COMM_NULL), "communicator", "MPI_COMM_NULL")
                                             : world + ", which is there from MPI_Init to MPI_Finalize only"));
}

/// What an error of a call is raised on that names only this: MPI-4.1 section 9.3.
raised_on owner_of(group_object const& g) noexcept { return g.of_session ? g.of_session->handle : MPI_SESSION_NULL; }
raised_on owner_of(message const& m) noexcept { return m.on ? m.on->handle : MPI_COMM_NULL; }

} // namespace

void call::fail(int code, std::string sentence) const { throw mpi_error{code, sentence}; }

void call::refuse(int code, char const* argument, std::int64_t value, std::string const& allowed) const {
    fail(code, std::string{argument} + " is " + std::to_string(value) + "; allowed: " + allowed);
}

void call::not_supported() const { fail(MPI_ERR_UNSUPPORTED_OPERATION, "is not supported by this version of mpt"); }

comm& call::object(MPI_Comm h, char const* argument) {
    auto* const c = binding_.comms.find_handle(h);
    if (!c) [[unlikely]]
        no_comm(*this, h, argument);
    if (!on_) on_ = h;
    return *c;
}
datatype_object& call::object(MPI_Datatype h, char const* argument) const {
    return living(*this, binding_.datatypes, h, MPI_DATATYPE_NULL, "datatype", "MPI_DATATYPE_NULL", argument, MPI_ERR_TYPE);
}
group_object& call::object(MPI_Group h, char const* argument) {
    auto& g = living(*this, binding_.groups, h, MPI_GROUP_NULL, "group", "MPI_GROUP_NULL", argument, MPI_ERR_GROUP);
    if (!on_) on_ = owner_of(g);
    return g;
}
session& call::object(MPI_Session h, char const* argument) {
    auto& s = living(*this, binding_.sessions, h, MPI_SESSION_NULL, "session", "MPI_SESSION_NULL", argument, MPI_ERR_SESSION);
    if (!on_) on_ = h;
    return s;
}
win& call::object(MPI_Win h, char const* argument) {
    auto& w = living(*this, binding_.wins, h, MPI_WIN_NULL, "window", "MPI_WIN_NULL", argument, MPI_ERR_WIN);
    if (!on_) on_ = h;
    return w;
}
operation_object& call::object(MPI_Op h, char const* argument) const {
    return living(*this, binding_.operations, h, MPI_OP_NULL, "operation", "MPI_OP_NULL", argument, MPI_ERR_OP);
}
errhandler& call::object(MPI_Errhandler h, char const* argument) const {
    return living(*this, binding_.errhandlers, h, MPI_ERRHANDLER_NULL, "error handler", "MPI_ERRHANDLER_NULL", argument,
                  MPI_ERR_ERRHANDLER);
}
info_object& call::object(MPI_Info h, char const* argument) const {
    return living(*this, binding_.infos, h, MPI_INFO_NULL, "info object", "MPI_INFO_NULL", argument, MPI_ERR_INFO);
}
request& call::object(MPI_Request h, char const* argument) {
    auto& r = living(*this, binding_.requests, h, MPI_REQUEST_NULL, "request", "MPI_REQUEST_NULL", argument, MPI_ERR_REQUEST);
    if (!on_) on_ = r.blamed;
    return r;
}
message& call::object(MPI_Message h, char const* argument) {
    auto& m = living(*this, binding_.messages, h, MPI_MESSAGE_NULL, "message", "MPI_MESSAGE_NULL", argument, MPI_ERR_REQUEST);
    if (!on_) on_ = owner_of(m);
    return m;
}

void call::blame(MPI_Request h) noexcept {
    if (auto const* const r = binding_.requests.find_handle(h)) on_ = r->blamed;
}
void call::blame(MPI_Message h) noexcept {
    if (auto const* const m = binding_.messages.find_handle(h)) on_ = owner_of(*m);
}
void call::blame(MPI_Group h) noexcept {
    if (auto const* const g = binding_.groups.find_handle(h)) on_ = owner_of(*g);
}

comm& call::known(MPI_Comm h) noexcept {
    if (!on_) on_ = h;
    return binding_.comms.get(h);
}
session& call::known(MPI_Session h) noexcept {
    if (!on_) on_ = h;
    return binding_.sessions.get(h);
}
win& call::known(MPI_Win h) noexcept {
    if (!on_) on_ = h;
    return binding_.wins.get(h);
}
datatype_object& call::known(MPI_Datatype h) const noexcept { return binding_.datatypes.get(h); }
group_object& call::known(MPI_Group h) noexcept {
    auto& g = binding_.groups.get(h);
    if (!on_) on_ = owner_of(g);
    return g;
}
operation_object& call::known(MPI_Op h) const noexcept { return binding_.operations.get(h); }
errhandler& call::known(MPI_Errhandler h) const noexcept { return binding_.errhandlers.get(h); }
info_object& call::known(MPI_Info h) const noexcept { return binding_.infos.get(h); }

void call::objects(MPI_Request const* h, std::int64_t n, char const* argument, MPI_Request const* null) {
    for (std::int64_t i = 0; i < n; ++i)
        if ((!null || h[i] != *null) && h[i] != binding_.left && !binding_.requests.find_handle(h[i])) [[unlikely]]
            nth(h, i, argument);
}

void call::each_at_least(numbers values, std::int64_t n, std::int64_t least, char const* argument, int code) const {
    for (std::int64_t i = 0; i < n; ++i)
        if (values[i] < least) [[unlikely]]
            at_least(values[i], least, (std::string{argument} + '[' + std::to_string(i) + ']').c_str(), code);
}

void call::bad_rank(int value, int size, char const* argument, also words, int code) const {
    auto allowed = size > 0 ? "0 to " + std::to_string(size - 1) : std::string{"none, for nobody is there"};
    if (has(words, also::null)) allowed += ", MPI_PROC_NULL";
    if (has(words, also::any)) allowed += ", MPI_ANY_SOURCE";
    refuse(code, argument, value, allowed);
}

void call::root(int value, comm const& c, char const* argument) const {
    if (!c.is_inter()) return rank(value, c.peers(), argument, also::none, MPI_ERR_ROOT);
    if (value == MPI_ROOT || value == MPI_PROC_NULL || (value >= 0 && value < c.peers())) return;
    refuse(MPI_ERR_ROOT, argument, value, "0 to " + std::to_string(c.peers() - 1) + ", MPI_ROOT, MPI_PROC_NULL");
}
bool call::at_root(int root, comm const& c) noexcept { return root == (c.is_inter() ? MPI_ROOT : c.me.value); }
bool call::has_part(int root, comm const& c) noexcept { return !c.is_inter() || root >= 0; }
bool call::takes_part(int root, comm const& c) noexcept { return !c.is_inter() || root != MPI_PROC_NULL; }

void call::one_of(std::int64_t value, std::int64_t const* values, std::size_t n, char const* names, char const* argument,
                  int code) const {
    for (std::size_t i = 0; i < n; ++i)
        if (values[i] == value) return;
    refuse(code, argument, value, names);
}
void call::predefined(operation_object const& op, char const* argument) const {
    if (!op.predefined) fail(MPI_ERR_OP, std::string{argument} + " is " + op.name + "; allowed: predefined operations");
}
void call::bits(std::int64_t value, std::int64_t all, char const* names, char const* argument, int code) const {
    if ((value & ~all) != 0) refuse(code, argument, value, std::string{"bits of "} + names);
}

void call::bytes(void const* p, std::int64_t n, char const* argument, int code) const {
    if (p == nullptr && n > 0) [[unlikely]]
        fail(code, std::string{argument} + " is a null pointer, and should hold " + std::to_string(n) + " bytes");
}

void require_running(call& c) {
    if (c.of().up.load(std::memory_order_relaxed)) [[likely]] { // order: the program orders its own beginning before its calls
        if (c.of().news.waiting()) [[unlikely]]
            tell_tools(c.of());
        return;
    }
    if (c.of().at == stage::over) c.fail(MPI_ERR_OTHER, "called after MPI_Finalize");
    c.fail(MPI_ERR_OTHER, c.of().env ? "called after the last session was finalized" : "called before MPI_Init");
}

} // namespace mpt::c
