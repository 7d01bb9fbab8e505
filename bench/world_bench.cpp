// Worlds beside the system calls they stand for: each from the call to its return.
#include <memory>

#include <sched.h>
#include <sys/random.h>

#include <mpt/world/native.hpp>
#include <mpt/world/threads.hpp>

#include "partner.hpp"

namespace {

template <class World> void add() {
    std::string const name{World::name};
    auto const each = [&](std::string const& what, auto call) {
        benchmark::RegisterBenchmark((what + '/' + name).c_str(), [call](benchmark::State& state) {
            World const w;
            for (auto _ : state) call(w);
        });
    };
    each("now", [](World const& w) { benchmark::DoNotOptimize(w.now()); });
    each("self", [](World const& w) { benchmark::DoNotOptimize(w.self()); });
    each("pause", [](World const& w) { w.pause(); });
    each("yield", [](World const& w) { w.yield(); });
    each("random", [](World const& w) { benchmark::DoNotOptimize(w.random()); });
    each("wake_nobody", [word = std::make_shared<bench::futex_word>(0u)](World const& w) { w.wake(*word, 1); });
}

template <class F> void role(char const* name, F call) {
    benchmark::RegisterBenchmark(name, [call](benchmark::State& state) {
        for (auto _ : state) call();
    });
}

} // namespace

int main(int argc, char** argv) {
    add<mpt::world::native>();
    add<mpt::world::threads>();
    role("now/role:clock_gettime", [] { benchmark::DoNotOptimize(bench::now_ns()); });
    role("yield/role:sched_yield", [] { sched_yield(); });
    role("random/role:getrandom", [] {
        std::uint64_t v;
        benchmark::DoNotOptimize(getrandom(&v, sizeof v, 0));
    });
    role("wake_nobody/role:futex", [word = std::make_shared<bench::futex_word>(0u)] { bench::futex_wake(*word, 1); });
    return bench::run_registered(argc, argv);
}
