// One-sided operations on memory of mpt's, seen from the origin, which is alone: what they cost beside the memory's own time.
//
//   put_flush       put of 8 bytes, and its flush: from the call of put to the return of flush
//   put             put of 8 bytes
//   get             get of 8 bytes
//   fetch_and_add   fetch_and_op of a 64-bit number
//   accumulate      of a double: a compare-and-swap
//   role model: a store and a full fence; a fetch_add
#include <benchmark/benchmark.h>
#include <mpt/mpi/local_job.hpp>
#include <mpt/mpi/window.hpp>

namespace {

/// The measured loop on a window of two ranks that are threads; the other one waits.
template <class T, class F> void on_a_window(benchmark::State& state, F one) {
    mpt::local_job(2, [&](auto world) {
        mpt::window w{world, mpt::allocated<T>(8)};
        if (world.rank() == 0) {
            auto const held = w.lock_all();
            for (auto _ : state) one(w);
        }
        world.barrier();
    });
}

void put_flush(benchmark::State& state) {
    on_a_window<std::int64_t>(state, [](auto& w) { w.put(std::int64_t{7}, 1, 2), w.flush(1); });
}
void put(benchmark::State& state) {
    on_a_window<std::int64_t>(state, [](auto& w) { w.put(std::int64_t{7}, 1, 2); });
}
void get(benchmark::State& state) {
    on_a_window<std::int64_t>(state, [](auto& w) { benchmark::DoNotOptimize(w.value(1, 2)); });
}
void fetch_and_add(benchmark::State& state) {
    on_a_window<std::int64_t>(state, [](auto& w) { benchmark::DoNotOptimize(w.fetch_and_op(1, 1, 3)); });
}
void accumulate(benchmark::State& state) {
    on_a_window<double>(state, [](auto& w) { w.accumulate(1.0, 1, 3); });
}
void role_model_store_and_fence(benchmark::State& state) {
    mpt::native_atomics::atomic<std::int64_t> x{0};
    for (auto _ : state) {
        x.store(7, std::memory_order_relaxed);
        mpt::native_fences::light(mpt::fence_mode::both);
    }
}
void role_model_fetch_add(benchmark::State& state) {
    mpt::native_atomics::atomic<std::int64_t> x{0};
    for (auto _ : state) benchmark::DoNotOptimize(x.fetch_add(1, std::memory_order_acq_rel));
}
BENCHMARK(put_flush);
BENCHMARK(put);
BENCHMARK(get);
BENCHMARK(fetch_and_add);
BENCHMARK(accumulate);
BENCHMARK(role_model_store_and_fence);
BENCHMARK(role_model_fetch_add);

} // namespace
BENCHMARK_MAIN();
