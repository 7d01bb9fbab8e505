// Chapter 9: error handlers, error classes and codes.
#include "binding.hpp"
#include "entries.hpp"
#include "text.hpp"

namespace mpt::c {

namespace {

template <class F> MPI_Errhandler made_of(binding& b, F* f) {
    auto const object = ref<errhandler>::adopt(new errhandler{f});
    object->handles = 1;
    return object->handle = binding::publish<MPI_Errhandler>(b.errhandlers, object);
}

/// The handle that the user has of a handler, once more; a new one where all were freed.
MPI_Errhandler handle_of_handler(binding& b, ref<errhandler> const& h) {
    std::lock_guard const g{b.changing};
    if (!h->is_predefined() && h->handles++ == 0) h->handle = binding::publish<MPI_Errhandler>(b.errhandlers, h);
    return h->handle;
}

void give(call& on, ref<errhandler>& to, errhandler& h, errhandler::action fitting, char const* sort) {
    require_fitting(on, h, fitting, sort);
    ref<errhandler> old{h};
    std::lock_guard const g{on.of().changing};
    std::swap(to, old);
}

std::string asked_for(call& on, int code) {
    return std::string{on.name()} + " was called with error code " + std::to_string(code) + ", " +
           on.of().errors().text_of(code);
}

ref<errhandler> handler_of_files(binding& b) {
    std::lock_guard const g{b.changing};
    return b.file_handler;
}

/// There are no files yet but the null handle, whose error handler new files get.
void must_be_null(call& on, MPI_File f) {
    if (f != MPI_FILE_NULL) on.fail(MPI_ERR_FILE, "file is no file, or one that was closed");
}

} // namespace

void require_fitting(call& on, errhandler const& h, errhandler::action fitting, char const* sort) {
    if (h.is_predefined() || h.what == fitting) return;
    on.judged_by(MPI_ERRHANDLER_NULL); // nor does it fit the error
    on.fail(MPI_ERR_ERRHANDLER, std::string{"errhandler was made for another sort of object; needed is one for "} + sort);
}

namespace impl {

void Comm_create_errhandler(call& on, MPI_Comm_errhandler_function* f, MPI_Errhandler& made) { made = made_of(on.of(), f); }
void File_create_errhandler(call& on, MPI_File_errhandler_function* f, MPI_Errhandler& made) { made = made_of(on.of(), f); }
void Session_create_errhandler(call& on, MPI_Session_errhandler_function* f, MPI_Errhandler& made) {
    made = made_of(on.of(), f);
}
void Win_create_errhandler(call& on, MPI_Win_errhandler_function* f, MPI_Errhandler& made) { made = made_of(on.of(), f); }

void Comm_set_errhandler(call& on, comm& c, errhandler& h) {
    give(on, c.handler, h, errhandler::action::comm_function, "communicators");
}
void Comm_get_errhandler(call& on, comm& c, MPI_Errhandler& h) { h = handle_of_handler(on.of(), handler_of(on.of(), c)); }
void Comm_call_errhandler(call& on, comm& c, int code) {
    auto const text = asked_for(on, code);
    handle_error(on.of(), *handler_of(on.of(), c), c.handle, code, text);
}

void Session_set_errhandler(call& on, session& s, errhandler& h) {
    give(on, s.handler, h, errhandler::action::session_function, "sessions");
}
void Session_get_errhandler(call& on, session& s, MPI_Errhandler& h) { h = handle_of_handler(on.of(), handler_of(on.of(), s)); }
void Session_call_errhandler(call& on, session& s, int code) {
    auto const text = asked_for(on, code);
    handle_error(on.of(), *handler_of(on.of(), s), s.handle, code, text);
}

void Win_set_errhandler(call& on, win& w, errhandler& h) {
    give(on, w.handler, h, errhandler::action::win_function, "windows");
}
void Win_get_errhandler(call& on, win& w, MPI_Errhandler& h) { h = handle_of_handler(on.of(), handler_of(on.of(), w)); }
void Win_call_errhandler(call& on, win& w, int code) {
    auto const text = asked_for(on, code);
    handle_error(on.of(), *handler_of(on.of(), w), w.handle, code, text);
}

void File_set_errhandler(call& on, MPI_File f, errhandler& h) {
    must_be_null(on, f);
    give(on, on.of().file_handler, h, errhandler::action::file_function, "files");
}
void File_get_errhandler(call& on, MPI_File f, MPI_Errhandler& h) {
    must_be_null(on, f);
    h = handle_of_handler(on.of(), handler_of_files(on.of()));
}
void File_call_errhandler(call& on, MPI_File f, int code) {
    must_be_null(on, f);
    auto const handler = handler_of_files(on.of());
    handle_error(on.of(), *handler, f, code, asked_for(on, code));
}

/// Predefined ones stay: whoever asks an object for its handler frees what came.
void Errhandler_free(call& on, MPI_Errhandler& handle) {
    auto& b = on.of();
    ref<errhandler> const h{b.errhandlers.get(handle)};
    std::lock_guard const g{b.changing};
    if (!h->is_predefined() && --h->handles == 0) b.errhandlers.remove(word_of(handle))->let_go();
    handle = MPI_ERRHANDLER_NULL;
}

void Error_class(call& on, int code, int& of_class) { of_class = on.of().errors().class_of(code); }
/// Of the last error that was raised here, what was wrong too; what a program added keeps its own text.
void Error_string(call& on, int code, char* text, int& length) {
    auto& b = on.of();
    auto whole = b.errors().text_of(code);
    std::lock_guard const g{b.changing};
    if (code != MPI_SUCCESS && code == b.last_code && code <= MPI_ERR_LASTCODE)
        whole += (whole.empty() ? "" : "; ") + b.last_error;
    put_text(whole, text, MPI_MAX_ERROR_STRING, length);
}

void Add_error_class(call& on, int& added) { added = on.of().errors().add_class(); }
void Add_error_code(call& on, int of_class, int& added) { added = on.of().errors().add_code(of_class); }
void Add_error_string(call& on, int code, char const* text) { on.of().errors().add_string(code, text); }
void Remove_error_class(call& on, int error_class) { on.of().errors().remove_class(error_class); }
void Remove_error_code(call& on, int code) { on.of().errors().remove_code(code); }
void Remove_error_string(call& on, int code) { on.of().errors().remove_string(code); }

} // namespace impl
} // namespace mpt::c
