// Chapters 9 and 11: entering and leaving, versions, clocks, memory.
#include <sys/utsname.h>

#include <chrono>
#include <cstring>

#include "binding.hpp"
#include "entries.hpp"
#include "text.hpp"

namespace mpt::c {

namespace {

/// The environment that another facade of this process has made already, if it is of our stack.
environment<stack>* adopted() {
    auto const wanted = [](environment_row const&) { return true; };
    auto const row = stack::world_type::shares_process ? std::nullopt : process_registry::instance().find(wanted);
    if (!row) return nullptr;
    if (row->stack != stack::describe() || row->layout != stack::layout())
        throw mpi_error{error_class::other, "this process has an environment of another stack, " + std::string{row->stack} +
                                                "; the C interface has " + stack::describe()};
    return static_cast<environment<stack>*>(row->environment);
}

ref<comm> predefined(binding& b, communicator_state<stack> const& s, char const* name, MPI_Comm handle) {
    auto c = ref<comm>::adopt(new comm{s.who, s.me, s.wire.context(), &s.wire.on()});
    c->name = name;
    c->handle = handle;
    c->rooted_calls = &s.rooted_calls;
    c->handler = ref<errhandler>{b.errhandlers.get(MPI_ERRORS_ARE_FATAL)};
    return c;
}

/// As main() got them, where it hands them on.
std::span<char const* const> arguments(int const* argc, char** const* argv) noexcept {
    if (!argc || !argv || !*argv || *argc < 0) return {};
    return {*argv, static_cast<std::size_t>(*argc)};
}

void enter(call& on, int level, std::span<char const* const> arguments) {
    auto& b = on.of();
    if (b.at == stage::running) on.fail(MPI_ERR_OTHER, "MPI_Init was called already");
    if (b.at == stage::over) on.fail(MPI_ERR_OTHER, "called after MPI_Finalize; MPI cannot be entered twice");
    b.env = adopted();
    if (!b.env) {
        auto member = b.membership ? *b.membership : boot::detect();
        b.own = std::make_unique<environment<stack>>(std::move(member), configuration_of(b));
        b.env = b.own.get();
    }
    b.thread_level = level;
    b.main_thread = b.run().world().self();
    b.world = predefined(b, b.env->world().native(), "MPI_COMM_WORLD", MPI_COMM_WORLD).release();
    b.self = predefined(b, b.env->self().native(), "MPI_COMM_SELF", MPI_COMM_SELF).release();
    b.comms.predefine(word_of(MPI_COMM_WORLD), b.world);
    b.comms.predefine(word_of(MPI_COMM_SELF), b.self);
    b.at = stage::running;
    begin_chapters(b, arguments);
}

} // namespace

namespace impl {

void Init(call& on, int* argc, char*** argv) { enter(on, MPI_THREAD_SINGLE, arguments(argc, argv)); }
void Init_thread(call& on, int* argc, char*** argv, int required, int& provided) { // every level is: lanes are locked
    enter(on, required, arguments(argc, argv));
    provided = required;
}
void Initialized(call& on, int& flag) { flag = on.of().at != stage::before; }
void Finalized(call& on, int& flag) { flag = on.of().at == stage::over; }

void Finalize(call& on) {
    auto& b = on.of();
    end_chapters(b); // user code among it: MPI still works
    b.comms.predefine(word_of(MPI_COMM_WORLD), nullptr);
    b.comms.predefine(word_of(MPI_COMM_SELF), nullptr);
    b.own.reset();
    b.env = nullptr;
    b.at = stage::over;
    std::exchange(b.world, nullptr)->let_go();
    std::exchange(b.self, nullptr)->let_go();
}

void Query_thread(call& on, int& provided) { provided = on.of().thread_level; }
void Is_thread_main(call& on, int& flag) { flag = on.of().main_thread == on.of().run().world().self(); }
void Abort(call& on, comm&, int code) {
    on.of().env->abort(code, "MPI_Abort was called with error code " + std::to_string(code));
}

void Get_version(call&, int& version, int& subversion) { version = MPI_VERSION, subversion = MPI_SUBVERSION; }
void Get_library_version(call&, char* text, int& length) {
    put_text("mpt " + to_string(header_version) + " (MPI " + std::to_string(MPI_VERSION) + '.' +
                 std::to_string(MPI_SUBVERSION) + ", standard ABI " + std::to_string(MPI_ABI_VERSION) + '.' +
                 std::to_string(MPI_ABI_SUBVERSION) + ')',
             text, MPI_MAX_LIBRARY_VERSION_STRING, length);
}
void Abi_get_version(call&, int& major, int& minor) { major = MPI_ABI_VERSION, minor = MPI_ABI_SUBVERSION; }
void Get_processor_name(call&, char* text, int& length) {
    utsname machine{};
    uname(&machine);
    put_text(machine.nodename, text, MPI_MAX_PROCESSOR_NAME, length);
}

double Wtime() { return std::chrono::duration<double>{world::native{}.now()}.count(); }
double Wtick() { return 1e-9; }

/// Memory that peers reach without a copy through the kernel.
void Alloc_mem(call& on, MPI_Aint size, info_object*, void* base) {
    auto const s = size > 0 ? on.of().run().allocate(bytes{static_cast<std::size_t>(size)}) : std::span<std::byte>{};
    auto* const p = s.data();
    std::memcpy(base, &p, sizeof p); // a void** in truth
    std::lock_guard const g{on.of().changing};
    if (p) on.of().allocated.emplace(p, s);
}
void Free_mem(call& on, void* base) {
    if (base == nullptr) return;
    std::lock_guard const g{on.of().changing};
    auto& all = on.of().allocated;
    auto const it = all.find(base);
    if (it == all.end()) on.fail(MPI_ERR_BASE, "base is not what MPI_Alloc_mem gave, or was freed");
    on.of().run().deallocate(it->second);
    all.erase(it);
}

MPI_Aint Aint_add(MPI_Aint base, MPI_Aint disp) {
    return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(disp));
}
MPI_Aint Aint_diff(MPI_Aint a, MPI_Aint b) {
    return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(a) - static_cast<std::uintptr_t>(b));
}

/// A profiling tool replaces it; here it does nothing.
void Pcontrol(call&, int) {}

} // namespace impl
} // namespace mpt::c
