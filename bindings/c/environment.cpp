// Chapters 9 and 11: entering and leaving, versions, clocks, memory.
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include <mpt/mpi/hints.hpp>

#include "binding.hpp"
#include "buffered.hpp"
#include "entries.hpp"
#include "text.hpp"

namespace mpt::c {

namespace {

/// Whether MPI was entered and left may be asked by any thread at any time.
stage stage_of(binding& b) {
    std::lock_guard const g{b.changing};
    return b.at;
}
void reach(binding& b, stage next) {
    std::lock_guard const g{b.changing};
    b.at = next;
}

ref<comm> predefined(binding& b, communicator_state<stack> const& s, char const* name, MPI_Comm handle) {
    auto c = ref<comm>::adopt(new comm{s.who, s.me, s.wire.context(), &s.wire.on()});
    c->name = name;
    c->handle = handle;
    c->rooted_calls = &s.rooted_calls;
    c->shared = &s.shared;
    c->handler = ref<errhandler>{initial_handler(b)};
    return c;
}

/// As main() got them, where it hands them on.
std::span<char const* const> arguments(int const* argc, char** const* argv) noexcept {
    if (!argc || !argv || !*argv || *argc < 0) return {};
    return {*argv, static_cast<std::size_t>(*argc)};
}

std::shared_ptr<session_home<stack>> home_of(binding& b) {
    std::lock_guard const g{b.changing};
    if (!b.home)
        b.home = b.membership ? std::make_shared<session_home<stack>>(*b.membership) : session_home<stack>::of_process();
    b.home->configure_by([&b] { return configuration_of(b); });
    return b.home;
}

void set_world(binding& b, ref<comm> world, ref<comm> self) {
    for (auto* old : {b.world, b.self})
        if (old) old->let_go();
    b.world = world.release();
    b.self = self.release();
}

/// The first use, or one of another environment than the last one's.
void settle_in(binding& b, environment<stack>& env) {
    b.env = &env;
    b.main_thread = b.run().world().self();
    set_world(b, predefined(b, env.world().native(), "MPI_COMM_WORLD", MPI_COMM_WORLD),
              predefined(b, env.self().native(), "MPI_COMM_SELF", MPI_COMM_SELF));
    begin_attributes(b);
}

/// Requests and messages, to the one thread that calls MPI, or to all: with b.changing locked. A session, whose thread nobody knows, takes
/// them back.
void leave_handles(binding& b, bool to_one_thread) {
    if (b.one_thread == to_one_thread) return;
    b.one_thread = to_one_thread;
    b.requests.leave_to_one_thread(to_one_thread);
    b.messages.leave_to_one_thread(to_one_thread);
    b.transfers.leave_to_one_thread(to_one_thread);
}

void enter(call& on, int level, std::span<char const* const> arguments) {
    auto& b = on.of();
    if (b.at == stage::running) on.fail(MPI_ERR_OTHER, "MPI_Init was called already");
    if (b.at == stage::over) on.fail(MPI_ERR_OTHER, "called after MPI_Finalize; MPI cannot be entered twice");
    begin_use(b, use::world);
    b.thread_level = level = level_provided(b, level);
    {
        std::lock_guard const g{b.changing};
        leave_handles(b, level != MPI_THREAD_MULTIPLE && b.uses == 1);
    }
    if (level < MPI_THREAD_SERIALIZED && b.uses == 1) b.run().favour_caller();
    b.main_thread = b.run().world().self();
    b.comms.predefine(word_of(MPI_COMM_WORLD), b.world);
    b.comms.predefine(word_of(MPI_COMM_SELF), b.self);
    reach(b, stage::running);
    begin_chapters(b, arguments);
}

} // namespace

std::size_t alignment_wanted(info_object const* given) { return given ? hints::alignment(given->hints) : 1; }

mem::wish placement_wanted(mem::wish const& usual, info_object const* hints) {
    if (!hints) return usual;
    return mem::with_hints(usual, [hints](std::string_view name) { return hints->hints.get(name); });
}

/// Every level can be had, as lanes are locked; a site may want less.
int level_provided(binding& b, int wanted) {
    constexpr std::pair<std::string_view, int> levels[] = {
        {"single", MPI_THREAD_SINGLE}, {"funneled", MPI_THREAD_FUNNELED}, {"serialized", MPI_THREAD_SERIALIZED}};
    auto const most = b.run().configuration().get<"MPT_THREAD_LEVEL">().view();
    for (auto const& [name, level] : levels)
        if (most == name) return std::min(wanted, level);
    return wanted;
}

void begin_use(binding& b, use what) {
    auto const home = home_of(b);
    auto& env = what == use::world ? home->enter_world() : home->enter();
    {
        std::lock_guard const g{b.changing};
        ++b.uses;
        if (what == use::session) leave_handles(b, false);
        if (b.env != &env) settle_in(b, env);
        b.up.store(true, std::memory_order_relaxed); // order: the program orders its own beginning before its calls
    }
    watch_for_tools(b);
}

void end_use(binding& b, use what) {
    auto const count = [&b](int less) {
        std::lock_guard const g{b.changing};
        return b.uses -= less;
    };
    if (count(1) == 0) {
        flush_all(b);
        free_orphans(b);
        b.resting.clear();
        leave_windows(b);
        leave_tools(b);
    }
    if (what == use::world) b.home->leave_world();
    else b.home->leave();
    std::lock_guard const g{b.changing};
    if (b.uses == 0) b.up.store(false, std::memory_order_relaxed); // order: the program orders its calls before its end
}

namespace impl {

void Init(call& on, int* argc, char*** argv) { enter(on, MPI_THREAD_SINGLE, arguments(argc, argv)); }
void Init_thread(call& on, int* argc, char*** argv, int required, int& provided) {
    enter(on, required, arguments(argc, argv));
    provided = on.of().thread_level;
}
void Initialized(call& on, int& flag) { flag = stage_of(on.of()) != stage::before; }
void Finalized(call& on, int& flag) { flag = stage_of(on.of()) == stage::over; }

void Finalize(call& on) {
    auto& b = on.of();
    if (b.at == stage::before) on.fail(MPI_ERR_OTHER, "called before MPI_Init");
    if (b.at == stage::over) on.fail(MPI_ERR_OTHER, "called after MPI_Finalize");
    end_chapters(b); // user code among it: MPI still works
    b.comms.predefine(word_of(MPI_COMM_WORLD), nullptr);
    b.comms.predefine(word_of(MPI_COMM_SELF), nullptr);
    end_use(b, use::world);
    reach(b, stage::over);
}

void Query_thread(call& on, int& provided) { provided = on.of().thread_level; }
void Is_thread_main(call& on, int& flag) { flag = on.of().main_thread == on.of().run().world().self(); }
void Abort(call& on, comm&, int code) {
    on.of().env->abort(code, "MPI_Abort was called with error code " + std::to_string(code),
                       reinterpret_cast<void const*>(&Abort));
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
    static utsname const machine = [] {
        utsname is{};
        uname(&is);
        return is;
    }();
    put_text(machine.nodename, text, MPI_MAX_PROCESSOR_NAME, length);
}

double Wtime() { return std::chrono::duration<double>{world::native{}.now()}.count(); }
double Wtick() { return 1e-9; }

/// Memory that peers reach without a copy through the kernel.
void Alloc_mem(call& on, MPI_Aint size, info_object* hints, void* base) {
    auto const alignment = alignment_wanted(hints);
    auto& run = on.of().run();
    auto const s = size > 0 ? run.allocate(bytes{static_cast<std::size_t>(size) + alignment - 1},
                                           placement_wanted(run.allocation_wish(), hints))
                            : std::span<std::byte>{};
    auto const begin = reinterpret_cast<std::uintptr_t>(s.data());
    auto* const p = reinterpret_cast<void*>((begin + alignment - 1) & -alignment);
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
