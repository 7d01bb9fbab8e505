// A rank's slice of the arena beside malloc and mmap.
//
//   object/ours/N       from the call of object(N) to the return of free_object: small library memory that comes and goes
//   pages/ours/N        from the call of allocate(N) to the return of deallocate: the user's memory, not touched
//   touched/ours/N      the same with every page written once in between
//   arena/ours          from the call of make_segments for a job of one to the unmapped arena
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#include <mpt/boot/boot.hpp>
#include <mpt/mem/arena.hpp>

#include "partner.hpp"

namespace {

struct slice {
    mpt::boot::membership who = mpt::boot::local_members(1).front();
    mpt::mem::slice_heap heap{who.arena, 0, who.arena->own_limit()};
};

void touch(char* p, std::size_t n) {
    for (std::size_t i = 0; i < n; i += 4096) p[i] = 1;
}
std::size_t size_of(benchmark::State const& state) { return static_cast<std::size_t>(state.range(0)); }

void object(benchmark::State& state) {
    slice s;
    for (auto _ : state) {
        void* const p = s.heap.object(size_of(state), 16);
        if (p == nullptr) return state.SkipWithError("no memory");
        benchmark::DoNotOptimize(p);
        s.heap.free_object(p);
    }
}
void object_by_malloc(benchmark::State& state) {
    for (auto _ : state) {
        void* p = std::malloc(size_of(state));
        benchmark::DoNotOptimize(p);
        std::free(p);
    }
}

void pages_of_ours(benchmark::State& state, bool touched) {
    slice s;
    for (auto _ : state) {
        auto const p = s.heap.allocate(size_of(state));
        if (touched) touch(reinterpret_cast<char*>(p.data()), p.size());
        s.heap.deallocate(p);
    }
}
void pages_by_mmap(benchmark::State& state, bool touched) {
    for (auto _ : state) {
        void* const p = mmap(nullptr, size_of(state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return state.SkipWithError("no memory");
        if (touched) touch(static_cast<char*>(p), size_of(state));
        munmap(p, size_of(state));
    }
}

void arena(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(mpt::mem::arena::open(mpt::boot::make_segments(1)));
}

} // namespace

int main(int argc, char** argv) {
    for (int n : {64, 1024}) {
        benchmark::RegisterBenchmark("object/ours", object)->Arg(n);
        benchmark::RegisterBenchmark("object/role:malloc", object_by_malloc)->Arg(n);
    }
    for (int n : {4 << 10, 1 << 20}) {
        benchmark::RegisterBenchmark("pages/ours", [](auto& s) { pages_of_ours(s, false); })->Arg(n);
        benchmark::RegisterBenchmark("pages/role:mmap", [](auto& s) { pages_by_mmap(s, false); })->Arg(n);
        benchmark::RegisterBenchmark("touched/ours", [](auto& s) { pages_of_ours(s, true); })->Arg(n);
        benchmark::RegisterBenchmark("touched/role:mmap", [](auto& s) { pages_by_mmap(s, true); })->Arg(n);
    }
    benchmark::RegisterBenchmark("arena/ours", arena);
    return bench::run_registered(argc, argv);
}
