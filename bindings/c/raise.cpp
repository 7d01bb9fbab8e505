// What happens when a call fails: the sentence, and the error handler of the object. MPI-4.1 section 9.3.
#include <cstdio>
#include <cstdlib>

#include "binding.hpp"

namespace mpt::c {

namespace {

bool is_up(binding& b) noexcept { return b.up.load(std::memory_order_relaxed); } // order: as in require_running

std::string where(binding& b, comm const* c) {
    if (!is_up(b)) return "";
    std::string s = " (rank " + std::to_string(b.world->me) + " of " + std::to_string(b.world->size());
    if (c && c != b.world && c != b.self) {
        auto const name = name_of(b, c->name);
        s += ", rank " + std::to_string(c->me) + " of " + std::to_string(c->size()) + " in " +
             (name.empty() ? "a communicator without a name" : name);
    }
    return s + ')';
}

[[noreturn]] void end(binding& b, int code, std::string const& sentence) {
    if (is_up(b)) b.env->abort(code, sentence);
    std::fprintf(stderr, "mpt: %s\n", sentence.c_str());
    std::exit(code);
}

/// For whoever asks MPI_Error_string.
void remember(binding& b, int code, std::string const& text) {
    std::lock_guard const g{b.changing};
    b.last_code = code;
    b.last_error = text;
}

} // namespace

errhandler& initial_handler(binding& b) noexcept {
    auto const* const told = std::getenv("MPT_BOOT_ERRHANDLER");
    std::string_view const name = told ? told : "";
    return b.errhandlers.get(name == "mpi_errors_return"  ? MPI_ERRORS_RETURN
                             : name == "mpi_errors_abort" ? MPI_ERRORS_ABORT
                                                          : MPI_ERRORS_ARE_FATAL);
}

ref<errhandler> handler_of(binding& b, comm const& c) {
    std::lock_guard const g{b.changing};
    return c.handler;
}

ref<errhandler> handler_of(binding& b, session const& s) {
    std::lock_guard const g{b.changing};
    return s.handler;
}

void handle_error(binding& b, errhandler const& h, MPI_Comm comm, MPI_File file, int code, std::string const& text,
                  MPI_Session session) {
    switch (h.what) {
    case errhandler::action::fatal:
    case errhandler::action::abort: end(b, code, text);
    case errhandler::action::comm_function: return h.of_comm(&comm, &code);
    case errhandler::action::file_function: return h.of_file(&file, &code);
    case errhandler::action::session_function: return h.of_session(&session, &code);
    case errhandler::action::win_function: // these objects are not there yet
    case errhandler::action::give_back: return;
    }
}

namespace {
/// The handler of a call: that of the new object, of the communicator, of the session, of MPI_COMM_SELF, and where there is none
/// of these, the one that every program starts with.
ref<errhandler> handler_for(call const& c, comm const* on, session const* s) {
    auto& b = c.of();
    if (auto* const judge = b.errhandlers.find_handle(c.judge())) return ref<errhandler>{*judge};
    if (on) return handler_of(b, *on);
    return s ? handler_of(b, *s) : ref<errhandler>{initial_handler(b)};
}
} // namespace

int heard_of(error const& e) noexcept {
    auto const* const one = dynamic_cast<error_in_status const*>(&e);
    return one ? one->cause : mpi_code_of(e);
}

int raise(call const& c, int code, std::string const& sentence, int heard) {
    auto& b = c.of();
    auto* on = b.comms.find_handle(c.on());
    auto* const s = on ? nullptr : b.sessions.find_handle(c.session_on());
    if (!on && !s && b.at == stage::running) on = b.self;
    auto const text =
        std::string{c.name()} + ": " + (sentence.starts_with("mpt: ") ? sentence.substr(5) : sentence) + where(b, on);
    remember(b, code, text);
    auto const handler = handler_for(c, on, s);
    handle_error(b, *handler, on ? on->handle : MPI_COMM_NULL, MPI_FILE_NULL, heard, text, s ? s->handle : MPI_SESSION_NULL);
    return code;
}

int raise_tool(call const& c, int code, std::string const& sentence) {
    bool const known = code >= MPI_T_ERR_CANNOT_INIT && code <= MPI_T_ERR_PVAR_NO_ATOMIC;
    int const is = known ? code : code == MPI_ERR_NO_MEM ? MPI_T_ERR_MEMORY : MPI_T_ERR_INVALID;
    remember(c.of(), is, std::string{c.name()} + ": " + (sentence.starts_with("mpt: ") ? sentence.substr(5) : sentence));
    return is;
}

} // namespace mpt::c
