/// bench/partner - a second thread on the second core, for Google Benchmark programs whose subject has two sides.
///
///   Names of benchmarks are operation/policy[/more]; a role model is operation/role:NAME[/more], and bench/run.py sets each
///   policy against the fastest role model of its operation.
#pragma once
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "harness.hpp"

namespace bench {

/// The calling thread stays on the first core while this lives; fn runs on the other one (or, on one_cpu, on the same).
class partner {
    cpu_set_t mask_{};
    std::thread thread_;

public:
    template <class F> explicit partner(F fn, bool one_cpu = false) {
        sched_getaffinity(0, sizeof mask_, &mask_);
        auto const cores = allowed_cores();
        pin_to(cores[0]);
        thread_ = std::thread{[fn = std::move(fn), cpu = one_cpu || cores.size() < 2 ? cores[0] : cores[1]]() mutable {
            pin_to(cpu);
            fn();
        }};
    }
    /// fn must have been told to end.
    ~partner() {
        thread_.join();
        sched_setaffinity(0, sizeof mask_, &mask_);
    }
    partner(partner const&) = delete;
    partner& operator=(partner const&) = delete;
};

/// Polls; on a machine with one core it yields, so that the partner can ever run.
template <class Done> void poll_until(Done done) {
    static bool const alone = allowed_cores().size() < 2;
    while (!done())
        if (alone) sched_yield();
}

inline constexpr std::uint64_t end_of_talk = ~std::uint64_t{0};

/// Role model: two words on lines of their own, one for each direction.
struct two_words {
    alignas(line_pair) word there{0};
    alignas(line_pair) word back{0};

    /// The partner's life: every word comes back.
    void echo() {
        for (std::uint64_t seen = 0; seen != end_of_talk;) {
            auto const before = seen;
            poll_until([&] { return (seen = there.load(std::memory_order_acquire)) != before; }); // sync(bench.echo): acquire
            back.store(seen, std::memory_order_release);                                          // sync(bench.echo): release
        }
    }
    void round_trip(std::uint64_t v) {
        there.store(v, std::memory_order_release);                             // sync(bench.echo): release
        poll_until([&] { return back.load(std::memory_order_acquire) == v; }); // sync(bench.echo): acquire
    }
};

/// How many batches: enough that those which were preempted, or waited for a partner that was, stay below half. (Google Benchmark
/// cannot be left to find the number: one preempted batch and it takes only one.)
inline constexpr int batches = 200;

/// Runs op in batches and counts, as "typical", the median of the batches' ns per op, the first ones left out; bench/run.py quotes
/// it in place of the mean. Register with UseManualTime()->Iterations(batches).
template <class Op> void in_batches(benchmark::State& state, int each, Op op) {
    std::vector<double> ns;
    for (auto _ : state) {
        double const begin = now_ns();
        for (int i = 0; i < each; ++i) op();
        double const spent = now_ns() - begin;
        state.SetIterationTime(spent / 1e9);
        ns.push_back(spent / each);
    }
    ns.erase(ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 20));
    state.counters["typical"] = quartiles_of(std::move(ns)).median;
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * each);
}

/// From a word's store to the sight of its answer: what every other round trip is held against.
/// On the best of several pages (see page_of_lines in crew.hpp); other benchmarks' lines lie where they happen to.
inline void round_trip_of_words(benchmark::State& state) {
    pages const memory{16 * 4096};
    auto const words_on = [&](int page) { return new (memory.data() + page * 4096) two_words; };
    auto const talk = [&](int page, auto conversation) {
        two_words& words = *words_on(page);
        partner const other{[&] { words.echo(); }};
        conversation(words);
        words.round_trip(end_of_talk);
    };
    int best = 0;
    double fastest = 1e18;
    for (int page = 0; page < 16; ++page)
        talk(page, [&](two_words& words) {
            for (std::uint64_t v = 1; v <= 1000; v += 100) {
                double const begin = now_ns();
                for (std::uint64_t i = 0; i < 100; ++i) words.round_trip(v + i);
                double const ns = now_ns() - begin;
                if (ns < fastest) fastest = ns, best = page;
            }
        });
    talk(best, [&](two_words& words) {
        std::uint64_t v = 0;
        in_batches(state, 100, [&] { words.round_trip(++v); });
    });
}

inline int run_registered(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}

} // namespace bench
