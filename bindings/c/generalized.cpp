// Chapter 13: generalized requests.
#include "generalized.hpp"

#include "entries.hpp"

namespace mpt::c {

namespace {

std::string sentence(char const* function, int code) {
    return std::string{function} + " of the generalized request returned " + std::to_string(code);
}
void must_succeed(char const* function, int code) {
    if (code != MPI_SUCCESS) throw mpi_error{code, sentence(function, code)};
}

} // namespace

generalized_request::~generalized_request() {
    if (own_ && own_->complete) on_.collect(*own_); // else the job has ended
}

void generalized_request::start() {
    active = true;
    own_ = on_.start_user();
}

ending generalized_request::seen() {
    MPI_Status s{};
    tell_empty(&s);
    ending e;
    e.code = call_.query(call_.state, &s);
    if (e.code != MPI_SUCCESS) e.sentence = sentence("query_fn", e.code);
    e.source = s.MPI_SOURCE, e.tag = s.MPI_TAG;
    e.bytes = bytes_of(s);
    e.cancelled = is_cancelled(s);
    return e;
}

ending generalized_request::finish() {
    on_.on().wait(*own_, about());
    active = false;
    auto e = seen();
    if (auto const code = call_.free(call_.state); code != MPI_SUCCESS) e.code = code, e.sentence = sentence("free_fn", code);
    return e;
}

void generalized_request::cancel() {
    bool const over = on_.on().enter([this](auto&) { return own_->complete; });
    must_succeed("cancel_fn", call_.cancel(call_.state, over));
}

bool generalized_request::complete() {
    return on_.on().enter([this](auto& e) {
        if (own_->complete) throw mpi_error{MPI_ERR_REQUEST, "request is complete already"};
        bool const freed = freed_; // read before anybody may let go of this
        e.finish(*own_, status::ok);
        return freed;
    });
}

bool generalized_request::give_up() {
    return on_.on().enter([this](auto&) {
        freed_ = true;
        return own_->complete;
    });
}

void generalized_request::forget() {
    active = false;
    must_succeed("free_fn", call_.free(call_.state));
}

namespace impl {

void Grequest_start(call& on, MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                    MPI_Grequest_cancel_function* cancel, void* state, MPI_Request& r) {
    auto& b = on.of();
    r = launch(b, ref<request>::adopt(new generalized_request{*b.self, {query, free, cancel, state}}));
}
void Grequest_complete(call& on, MPI_Request handle) {
    auto* const r = dynamic_cast<generalized_request*>(&on.object(handle, "request"));
    if (!r) on.fail(MPI_ERR_REQUEST, "request is not a generalized request");
    ref<generalized_request> const kept{*r};
    if (!kept->complete()) return;
    on.of().requests.remove(word_of(handle))->let_go();
    kept->forget();
}

} // namespace impl
} // namespace mpt::c
