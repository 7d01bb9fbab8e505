// Wait policies, and the doorbell they sleep on.
//
//   decide/POLICY            from the call of next() to its return, an empty poll that is not the first
//   ring/MODE                from the call of ring() to its return; nobody sleeps. MODE says who fences.
//   round_trip/POLICY        two threads on two cores hand a word to and fro and wait by the policy: from a store to the sight of
//                            the answer. CPUs are not scarce.
//   one_cpu/POLICY           the same, both threads on one core, CPUs scarce
#include <mpt/wait/adaptive.hpp>
#include <mpt/wait/doorbell.hpp>
#include <mpt/wait/sleep.hpp>
#include <mpt/wait/spin.hpp>
#include <mpt/wait/yield.hpp>
#include <mpt/world/threads.hpp>

#include "partner.hpp"

namespace {

using world_type = mpt::world::threads;

/// One direction: a word, and the bell of who waits for it.
struct mailbox {
    alignas(mpt::line_pair) bench::word word{0};
    mpt::wait::doorbell<world_type> bell;
};

template <class Policy> class side {
    mailbox &out_, &in_;
    mpt::wait_facts facts_;
    mpt::fence_mode mode_;
    [[no_unique_address]] world_type world_{};

    bool has(std::uint64_t v) const { return in_.word.load(std::memory_order_acquire) == v; } // sync(bench.mailbox): acquire

public:
    side(mailbox& out, mailbox& in, bool scarce, mpt::fence_mode mode) : out_{out}, in_{in}, mode_{mode} {
        facts_.scarce = scarce;
    }

    void give(std::uint64_t v) {
        out_.word.store(v, std::memory_order_release); // sync(bench.mailbox): release
        out_.bell.ring(world_, mode_);
    }
    void wait_for(std::uint64_t v) {
        typename Policy::type w{facts_};
        while (!has(v)) {
            switch (w.next()) {
            case mpt::wait_step::spin: break;
            case mpt::wait_step::pause: world_.pause(); break;
            case mpt::wait_step::yield: world_.yield(); break;
            case mpt::wait_step::sleep: {
                auto const armed = in_.bell.arm(mode_);
                if (has(v)) return;
                in_.bell.sleep(world_, armed, w.nap());
            }
            }
        }
    }
};

mpt::fence_mode mode() {
    static bool const registered = mpt::register_heavy();
    return registered ? mpt::fence_mode::sleeper : mpt::fence_mode::both;
}

template <class Policy> void hand_over(benchmark::State& state, bool one_cpu) {
    mailbox there, back;
    auto const fences = mode();
    bench::word last{0};
    bench::partner const other{[&] {
                                   side<Policy> s{back, there, one_cpu, fences};
                                   for (std::uint64_t v = 1;; ++v) {
                                       s.wait_for(v);
                                       s.give(v);
                                       if (last.load(std::memory_order_relaxed) == v) return; // order: the mailbox publishes it
                                   }
                               },
                               one_cpu};
    side<Policy> s{there, back, one_cpu, fences};
    std::uint64_t v = 0;
    bench::in_batches(state,
                      state.max_iterations < bench::batches ? 1
                      : one_cpu                             ? 20
                                                            : 100,
                      [&] {
                          s.give(++v);
                          s.wait_for(v);
                      });
    last.store(v + 1, std::memory_order_relaxed); // order: give() below publishes it
    s.give(v + 1);
    s.wait_for(v + 1);
}

template <class Policy> void decide(benchmark::State& state) {
    typename Policy::type w{mpt::wait_facts{}};
    int count = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(w.next());
        if (++count % 1000 == 0) w.reset();
    }
}

void ring(benchmark::State& state, mpt::fence_mode fences) {
    mailbox box;
    world_type const world;
    for (auto _ : state) {
        box.bell.ring(world, fences);
        benchmark::ClobberMemory();
    }
}

void load_of_a_word(benchmark::State& state) {
    mailbox box;
    for (auto _ : state) benchmark::DoNotOptimize(box.word.load(std::memory_order_relaxed)); // order: nothing is published
}

template <class Policy> void add() {
    std::string const name{Policy::name};
    benchmark::RegisterBenchmark(("decide/" + name).c_str(), decide<Policy>);
    benchmark::RegisterBenchmark(("round_trip/" + name).c_str(), [](auto& s) { hand_over<Policy>(s, false); })
        ->UseManualTime()
        ->Iterations(bench::batches);
    // who only spins on one CPU holds it to the end of his time slice: a few are enough
    constexpr int switches = std::is_same_v<Policy, mpt::wait::spin> ? 10 : bench::batches;
    benchmark::RegisterBenchmark(("one_cpu/" + name).c_str(), [](auto& s) { hand_over<Policy>(s, true); })
        ->UseManualTime()
        ->Iterations(switches);
}

} // namespace

int main(int argc, char** argv) {
    add<mpt::wait::adaptive>();
    add<mpt::wait::spin>();
    add<mpt::wait::yield>();
    add<mpt::wait::sleep>();
    benchmark::RegisterBenchmark("round_trip/role:words", bench::round_trip_of_words)
        ->UseManualTime()
        ->Iterations(bench::batches);
    benchmark::RegisterBenchmark("ring/both", [](auto& s) { ring(s, mpt::fence_mode::both); });
    if (mode() == mpt::fence_mode::sleeper)
        benchmark::RegisterBenchmark("ring/sleeper", [](auto& s) { ring(s, mpt::fence_mode::sleeper); });
    benchmark::RegisterBenchmark("ring/role:load", load_of_a_word);
    return bench::run_registered(argc, argv);
}
