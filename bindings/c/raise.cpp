// What happens when a call fails: the sentence, and the error handler of the object. MPI-4.1 section 9.3.
#include <cstdio>
#include <cstdlib>

#include "binding.hpp"

namespace mpt::c {

namespace {

std::string where(binding const& b, comm const* c) {
    if (b.at != stage::running) return "";
    std::string s = " (rank " + std::to_string(b.world->me) + " of " + std::to_string(b.world->size());
    if (c && c != b.world && c != b.self) s += ", rank " + std::to_string(c->me) + " of " + std::to_string(c->size()) + " in " + c->name;
    return s + ')';
}

[[noreturn]] void end(binding& b, int code, std::string const& sentence) {
    if (b.at == stage::running) b.env->abort(code, sentence);
    std::fprintf(stderr, "mpt: %s\n", sentence.c_str());
    std::exit(code);
}

} // namespace

int raise(call const& c, int code, std::string const& sentence) {
    auto& b = c.of();
    auto* on = b.comms.find_handle(c.on());
    if (!on) on = b.self;
    auto text = std::string{c.name()} + ": " + (sentence.starts_with("mpt: ") ? sentence.substr(5) : sentence) + where(b, on);
    b.last_code = code;
    b.last_error = text;
    auto* const handler = on ? on->handler.get() : b.errhandlers.find_handle(MPI_ERRORS_ARE_FATAL);
    switch (handler->what) {
    case errhandler::action::give_back: return code;
    case errhandler::action::comm_function: {
        ref<errhandler> const kept{*handler}; // it may free itself
        auto handle = on->handle;
        int told = code;
        kept->of_comm(&handle, &told);
        return code;
    }
    case errhandler::action::fatal:
    case errhandler::action::abort: break;
    }
    end(b, code, text);
}

} // namespace mpt::c
