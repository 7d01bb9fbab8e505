// What happens when a call fails: the sentence, and the error handler of the object. MPI-4.1 section 9.3.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include <mpt/core/caller.hpp>

#include "binding.hpp"

namespace mpt::c {

namespace {

bool is_up(binding& b) noexcept { return b.up.load(std::memory_order_relaxed); } // order: as in require_running

/// Which rank of an object with a group.
template <class Object> std::string place_in(binding& b, Object const& o, char const* nameless) {
    auto const name = name_of(b, o.name);
    return ", rank " + std::to_string(o.me) + " of " + std::to_string(o.size()) + " in " + (name.empty() ? nameless : name);
}
std::string where(binding& b, raised_on const& object) {
    if (!is_up(b)) return "";
    std::string s = " (rank " + std::to_string(b.world->me) + " of " + std::to_string(b.world->size());
    auto const* const c = b.comms.find_handle(object.comm());
    if (c && c != b.world && c != b.self) s += place_in(b, *c, "a communicator without a name");
    if (auto const* const w = b.wins.find_handle(object.win())) s += place_in(b, *w, "a window without a name");
    return s + ')';
}

[[noreturn]] void end(binding& b, int code, std::string const& sentence) {
    auto const* const library = reinterpret_cast<void const*>(&handle_error);
    if (is_up(b)) b.env->abort(code, sentence, library);
    std::fprintf(stderr, "mpt: %s\n", with_caller(sentence, library).c_str());
    std::exit(code);
}

/// This process alone, as MPI_ERRORS_ABORT wants it where the error is no communicator's, window's or file's. Whoever started the job
/// sees that a rank has failed: mptrun ends the others.
[[noreturn]] void end_alone(binding& b, int code, std::string const& sentence) {
    if (!is_up(b)) end(b, code, sentence);
    code = (code & 255) == 0 ? 1 : code & 255;
    std::fprintf(stderr, "mpt: rank %d of %d (process %d) ends with exit code %d: %s\n", b.world->me.value, b.world->size(),
                 ::getpid(), code, with_caller(sentence, reinterpret_cast<void const*>(&handle_error)).c_str());
    std::fflush(stderr);
    ::_exit(code);
}

/// MPI_Info_set and "info set" read alike.
std::string as_words(std::string_view name) {
    std::string words{' '};
    for (char const c : name) words += c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return words + ' ';
}

/// A call and what was wrong in it. What lies below the call begins with its own name for it, which is not said again.
std::string sentence_of(call const& c, std::string_view wrong) {
    if (wrong.starts_with("mpt: ")) wrong.remove_prefix(5);
    auto const colon = wrong.find(": ");
    if (colon != wrong.npos && as_words(c.name()).find(as_words(wrong.substr(0, colon))) != std::string::npos)
        wrong.remove_prefix(colon + 2);
    return std::string{c.name()} + ": " + std::string{wrong};
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

ref<errhandler> handler_of(binding& b, win const& w) {
    std::lock_guard const g{b.changing};
    return w.handler;
}

void handle_error(binding& b, errhandler const& h, raised_on const& object, int code, std::string const& text) {
    auto const give = [&code](auto* function, auto handle) { function(&handle, &code); };
    switch (h.what) {
    case errhandler::action::abort:
        if (object.comm() == MPI_COMM_NULL && object.win() == MPI_WIN_NULL) end_alone(b, code, text);
        [[fallthrough]]; // all processes are connected by the job: they end together
    case errhandler::action::fatal: end(b, code, text);
    case errhandler::action::comm_function: return give(h.of_comm, object.comm());
    case errhandler::action::file_function: return give(h.of_file, object.file());
    case errhandler::action::session_function: return give(h.of_session, object.session());
    case errhandler::action::win_function: return give(h.of_win, object.win());
    case errhandler::action::give_back: return;
    }
}

namespace {
/// Whose handler hears of what concerns no object: MPI_COMM_SELF (MPI-4.1 section 9.3); MPI_COMM_WORLD where a program has set that alone,
/// as it did up to MPI-3.1.
raised_on general(binding& b) {
    bool const untouched = handler_of(b, *b.self).get() == &initial_handler(b);
    return raised_on{untouched ? MPI_COMM_WORLD : MPI_COMM_SELF};
}

/// Of a communicator that was freed before its requests were over; null: of none.
ref<errhandler> outlived(binding& b, MPI_Comm freed) {
    std::lock_guard const g{b.changing};
    auto const at = std::ranges::find(b.outlived, freed, [](auto const& one) { return one.first; });
    return freed == MPI_COMM_NULL || at == b.outlived.end() ? ref<errhandler>{} : at->second;
}

/// What an error of a call is raised on: its object while that lives, or requests of it do; the general one, or nothing.
raised_on object_of(call const& c) {
    auto& b = c.of();
    auto const& on = c.on();
    if (b.comms.find_handle(on.comm()) || outlived(b, on.comm()) || b.sessions.find_handle(on.session()) ||
        b.wins.find_handle(on.win()))
        return on;
    return b.at == stage::running ? general(b) : raised_on{};
}
/// The handler of a call: that of the new object, of the object, and where there is none of these, the one that every program
/// starts with.
ref<errhandler> handler_for(call const& c, raised_on const& object) {
    auto& b = c.of();
    if (auto* const judge = b.errhandlers.find_handle(c.judge())) return ref<errhandler>{*judge};
    if (auto* const on = b.comms.find_handle(object.comm())) return handler_of(b, *on);
    if (auto kept = outlived(b, object.comm())) return kept;
    if (auto* const on = b.sessions.find_handle(object.session())) return handler_of(b, *on);
    if (auto* const on = b.wins.find_handle(object.win())) return handler_of(b, *on);
    return ref<errhandler>{initial_handler(b)};
}
} // namespace

int heard_of(error const& e) noexcept {
    auto const* const one = dynamic_cast<error_in_status const*>(&e);
    return one ? one->cause : mpi_code_of(e);
}

int raise(call const& c, int code, std::string const& sentence, int heard) {
    auto& b = c.of();
    auto const on = object_of(c);
    auto const text = sentence_of(c, sentence) + where(b, on);
    remember(b, code, text);
    auto const handler = handler_for(c, on);
    handle_error(b, *handler, on, heard, text);
    return code;
}

int raise_tool(call const& c, int code, std::string const& sentence) {
    bool const known = code >= MPI_T_ERR_CANNOT_INIT && code <= MPI_T_ERR_PVAR_NO_ATOMIC;
    int const is = known ? code : code == MPI_ERR_NO_MEM ? MPI_T_ERR_MEMORY : MPI_T_ERR_INVALID;
    remember(c.of(), is, sentence_of(c, sentence));
    return is;
}

} // namespace mpt::c
