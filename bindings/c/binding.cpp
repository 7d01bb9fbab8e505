#include "binding.hpp"

#include "plain.hpp"
#include "tools.hpp"

namespace mpt::c {

namespace {

struct predefined_handler {
    errhandler::action what;
    MPI_Errhandler handle;
};
predefined_handler const error_handlers[] = {{errhandler::action::fatal, MPI_ERRORS_ARE_FATAL},
                                             {errhandler::action::abort, MPI_ERRORS_ABORT},
                                             {errhandler::action::give_back, MPI_ERRORS_RETURN}};

#if defined(MPT_C_THREADS)
thread_local binding* mine = nullptr;
#endif

} // namespace

binding::binding() {
    for (auto const [what, handle] : error_handlers) errhandlers.predefine(word_of(handle), new errhandler{what, handle});
    file_handler = ref<errhandler>{errhandlers.get(MPI_ERRORS_RETURN)};
    infos.predefine(word_of(MPI_INFO_ENV), new info_object);
    groups.predefine(word_of(MPI_GROUP_EMPTY), new group_object{group{}});
    messages.predefine(word_of(MPI_MESSAGE_NO_PROC), new message);
    predefine_datatypes(*this);
    predefine_operations(*this);
    left = publish<MPI_Request>(requests, ref<request>::adopt(new sends_that_left{*this}));
}

binding::~binding() {
    requests.get(left).let_go();
    requests.each_retired([](request& r) { r.let_go(); });
    messages.each_retired([](message& m) { m.let_go(); });
    for (auto* c : {world, self})
        if (c) c->let_go();
    for (auto const [what, handle] : error_handlers) errhandlers.get(handle).let_go();
    infos.get(MPI_INFO_ENV).let_go();
    groups.get(MPI_GROUP_EMPTY).let_go();
    messages.get(MPI_MESSAGE_NO_PROC).let_go();
    forget_operations(*this);
    forget_datatypes(*this);
}

std::string name_of(binding& b, std::string const& name) {
    std::lock_guard const g{b.changing};
    return name;
}
void rename(binding& b, std::string& name, char const* text) {
    std::string next{std::string_view{text}.substr(0, MPI_MAX_OBJECT_NAME - 1)};
    std::lock_guard const g{b.changing};
    name.swap(next);
}

#if defined(MPT_C_THREADS)
void take_up(binding& b) noexcept { mine = &b; }
binding& here() noexcept { return *mine; }
#else
// Never destroyed: functions that run at exit may still call MPI, and a process that ends without MPI_Finalize must not wait for others.
binding& here() noexcept {
    static binding& only = *new binding;
    return only;
}
#endif

} // namespace mpt::c
