#include "binding.hpp"

#include "transfer.hpp"

namespace mpt::c {

namespace {

template <class T> void predefine(handle_table<T>& table, std::uintptr_t word, T* object) { table.predefine(word, object); }

#if defined(MPT_C_THREADS)
thread_local binding* mine = nullptr;
#endif

} // namespace

binding::binding() {
    predefine(errhandlers, word_of(MPI_ERRORS_ARE_FATAL), new errhandler{errhandler::action::fatal});
    predefine(errhandlers, word_of(MPI_ERRORS_ABORT), new errhandler{errhandler::action::abort});
    predefine(errhandlers, word_of(MPI_ERRORS_RETURN), new errhandler{errhandler::action::give_back});
    predefine(groups, word_of(MPI_GROUP_EMPTY), new group_object{group{}});
    predefine(messages, word_of(MPI_MESSAGE_NO_PROC), new message);
    predefine_datatypes(*this);
}

binding::~binding() {
    for (auto const h : {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN}) errhandlers.get(h).let_go();
    groups.get(MPI_GROUP_EMPTY).let_go();
    messages.get(MPI_MESSAGE_NO_PROC).let_go();
    forget_datatypes(*this);
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
