// Beginning and end, who is there, symmetric memory.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <mpt/core/caller.hpp>
#include <mpt/world/native.hpp>

#include "engine.hpp"

namespace mpt::c::shmem {

job_view the_job;
std::array<context_view, most_contexts> the_contexts;

engine& here() {
    static engine& only = *new engine;
    return only;
}

namespace {

void fill_in(engine& e) {
    auto& memory = e.memory();
    auto& lane = e.its_lane();
    auto const heap = memory.heap();
    e.places.clear(), e.bells.clear(); // of a beginning before
    for (rank pe = 0; pe < memory.size(); pe = pe + 1) {
        e.places.push_back(memory.is_direct(heap.data()) ? memory.at(heap.data(), pe) : nullptr);
        e.bells.push_back(lane.bell_of(pe));
    }
    the_job = {heap.data(),     memory.is_direct(heap.data()) ? heap.size() : 0,
               e.places.data(), memory.me().value,
               memory.size(),   memory.rings()};
}

void finish(engine& e) {
    forget_objects(e);
    the_job = {};
    e.env->finish();
    std::lock_guard const g{e.changing}; // a registered thread may be ending
    e.env.reset();
}

/// A program that returns from main() without shmem_finalize; one that fails ends the job, and waits for nobody.
void at_exit(int code, void*) {
    auto& e = here();
    if (code != 0 || !e.env) return;
    e.begun = 0, e.exits = true;
    name_call("the end of the program");
    guarded("the end of the program", [&e] {
        must_match(e.job().world(), {"shmem_finalize"});
        finish(e);
    });
}

/// How an error of the beginning ends: there is no job yet that it could end.
[[noreturn]] void refuse_beginning(char const* sentence) {
    std::fprintf(stderr, "%s\n", sentence);
    std::exit(1);
}

} // namespace

void enter(int level) {
    auto& e = here();
    if (e.begun++ > 0) return;
    try {
        e.env = std::make_unique<mpt::shmem::environment<stack>>();
        fill_in(e);
        predefine(e);
        if (!call_name()) e.job().run().job().speak(boot::facade::shmem_unchecked);
        announce(e);
    } catch (std::exception const& problem) { refuse_beginning(problem.what()); }
    e.level = level;
    if (level < SHMEM_THREAD_SERIALIZED) e.job().run().favour_caller();
    if (!std::exchange(e.was_begun, true)) on_exit(at_exit, nullptr);
}
int enter_threads(int requested, int* provided) {
    if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) return 1;
    enter(requested);
    if (provided) *provided = here().level;
    return 0;
}
void start(int) {
    if (here().begun == 0) enter(SHMEM_THREAD_SINGLE);
}
/// One more than there were beginnings has nothing left to do: programs call it so, at the exit too, and other libraries let them.
void leave() {
    auto& e = here();
    if (e.exits || (!e.env && entered())) return;
    guarded("shmem_finalize", [&e] {
        must_match(e.job().world(), {"shmem_finalize"});
        e.env->barrier_all();
        if (--e.begun == 0) finish(e);
    });
}
void end_job(int status) {
    guarded("shmem_global_exit", [status] { here().env->global_exit(status); });
    std::exit(status);
}
void give_up(char const* sentence) {
    auto& e = here();
    auto const* const library = reinterpret_cast<void const*>(&give_up);
    std::string_view const said{sentence};
    if (e.env) e.job().run().job().abort(1, said.substr(said.starts_with("mpt: ") ? 5 : 0), library);
    std::fprintf(stderr, "%s\n", with_caller(sentence, library).c_str());
    std::exit(1);
}

std::string named(std::string_view sentence, std::string_view call) {
    if (sentence.starts_with("mpt: ")) sentence.remove_prefix(5);
    if (call.empty()) return "mpt: " + std::string{sentence};
    auto const own = sentence.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789");
    if (own != 0 && own != sentence.npos && sentence.substr(own).starts_with(": ")) sentence.remove_prefix(own + 2);
    return "mpt: " + std::string{call} + ": " + std::string{sentence};
}
void give_up_call(std::string_view sentence, std::string_view family) {
    auto const* const call = call_name();
    give_up(named(sentence, call ? std::string_view{call} : family).c_str());
}
std::string family_of(common const& call) {
    if (call.what.starts_with("shmem")) return std::string{call.what};
    if (!call.reduces) return "shmem_" + std::string{call.what};
    auto const* const name = [&] {
        switch (call.op) {
        case operation::max: return "max";
        case operation::min: return "min";
        case operation::prod: return "prod";
        case operation::band: return "and";
        case operation::bor: return "or";
        case operation::bxor: return "xor";
        default: return "sum";
        }
    }();
    return "shmem_" + std::string{name} + call.reduces;
}

int thread_level() noexcept { return here().level; }
bool entered() noexcept { return here().was_begun; }
bool running() noexcept { return here().env != nullptr; }
bool is_pe(int pe) noexcept { return pe >= 0 && pe < all().size; }

bool is_symmetric(void const* address) noexcept {
    auto& e = here();
    return e.env && e.memory().is_symmetric(address);
}
bool is_symmetric_around(void const* address, std::size_t before, std::size_t after) noexcept {
    auto const at = reinterpret_cast<std::uintptr_t>(address);
    if (before > at || after > ~at) return false;
    return is_symmetric(reinterpret_cast<void const*>(at - before)) &&
           (after <= 1 || is_symmetric(reinterpret_cast<void const*>(at + after - 1)));
}
bool is_accessible(void const* address, int pe) noexcept {
    auto& e = here();
    return e.env && is_pe(pe) && e.memory().is_symmetric(address, rank{pe});
}
bool is_in_heap(void const* address) noexcept { return here().memory().in_heap(address, 1); }
heap_block block_around(void const* address) {
    auto const block = here().job().block_around(address);
    return {block.data(), block.size()};
}
void* place_of(shmem_team_t team, void const* address, int pe) {
    auto* const t = find_team(team);
    if (!t || !t->has(pe)) return nullptr;
    return here().memory().ptr(address, t->world(pe));
}
void* mapped(shmem_ctx_t ctx, void const* address, int pe) {
    auto& memory = here().memory();
    return memory.is_symmetric(address) ? memory.ptr(address, rank{world_of(ctx, pe)}) : nullptr;
}
void tell_name(char* name) { std::snprintf(name, SHMEM_MAX_NAME_LEN, "%s", SHMEM_VENDOR_STRING); }
double seconds() { return std::chrono::duration<double>{world::native{}.now()}.count(); }

// --- memory -------------------------------------------------------------------------------------------------------------------

namespace {

/// What f gives with the name of the call; null where the heap has no room: all PEs come to know that together, and the first says it, the
/// first time. what: one name for all functions that may meet.
template <class F> void* allocated(char const* what, char const* family, std::size_t n, F const& f) {
    return guarded(family, [&]() -> void* {
        auto const* const call = call_name() ? call_name() : family;
        try {
            if (n > 0) must_match(here().job().world(), {what, n});
            return f(here().job(), call);
        } catch (error const& e) {
            if (e.code() != errc::no_memory) throw;
            if (all().me == 0 && !std::exchange(here().said_no_room, true))
                std::fprintf(stderr, "%s (This is said once.)\n", named(e.what(), call).c_str());
            return nullptr;
        }
    });
}
void* allocate_by(char const* family, std::size_t n) {
    return allocated("shmem_malloc", family, n,
                     [n](auto& job, char const* call) { return job.allocate(n, alignof(std::max_align_t), 1, call); });
}

} // namespace

void* allocate(std::size_t n) { return allocate_by("shmem_malloc", n); }
void* allocate_aligned(std::size_t alignment, std::size_t n) {
    if (!std::has_single_bit(alignment)) return nullptr;
    return allocated("shmem_align", "shmem_align", n,
                     [=](auto& job, char const* call) { return job.allocate(n, alignment, 1, call); });
}
void* allocate_in(char const* family, int partition, std::size_t alignment, std::size_t n) {
    if (!std::has_single_bit(alignment)) return nullptr;
    return allocated("shmem_kind_align", family, n,
                     [=](auto& job, char const* call) { return job.allocate(n, alignment, partition, call); });
}
int tell_partition(int id, std::size_t* bytes, std::size_t* page, int* kind) {
    return guarded("shmemx_partition_query", [=] {
        auto const all = here().memory().partitions();
        auto const found = std::ranges::find(all, id, &mpt::shmem::partition::id);
        if (found == all.end()) return 1;
        if (bytes) *bytes = found->bytes;
        if (page) *page = found->page_bytes;
        if (kind) *kind = found->kind == mpt::shmem::memory_kind::fast ? SHMEMX_FASTMEM : SHMEMX_NORMALMEM;
        return 0;
    });
}
void* allocate_for(std::size_t n, long) {
    return allocate_by("shmem_malloc_with_hints", n);
} // all of the heap serves every purpose
void* allocate_zeroed(std::size_t count, std::size_t n) {
    return allocated("shmem_calloc", "shmem_calloc", count * n, [=](auto& job, char const* call) {
        return job.allocate_zeroed(count, n, alignof(std::max_align_t), 1, call);
    });
}
void* resize(void* at, std::size_t n) {
    return allocated("shmem_realloc", "shmem_realloc", 0, [=](auto& job, char const*) {
        if (n > 0 && (!at || job.size_of(at) > 0)) must_match(job.world(), {"shmem_realloc", n});
        return job.reallocate(at, n);
    });
}
void release(void* at) {
    guarded("shmem_free", [at] {
        auto& job = here().job();
        if (at && job.size_of(at) > 0) must_match(job.world(), {"shmem_free"}); // else its address is told
        job.deallocate(at);
    });
}

} // namespace mpt::c::shmem
