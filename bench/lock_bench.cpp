// Locks beside the system's.
//
//   acquire_release/LOCK          from the call of acquire to the return of release; nobody else is there
//   contended/LOCK/N              N threads, each acquires, adds one to a number and releases for 20 ms: wall time per acquisition of
//                                 all; least and most are what the threads that got fewest and most got, as shares of an equal
//                                 part: 1 and 1 is fair
#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <vector>

#include <pthread.h>

#include <mpt/lock/none.hpp>
#include <mpt/lock/per_object.hpp>
#include <mpt/lock/pthread.hpp>
#include <mpt/lock/ticket.hpp>
#include <mpt/world/threads.hpp>

#include "partner.hpp"

namespace {

/// Where the kernel lets visitors pay for the fences, as in a job with a core for each rank.
mpt::fence_mode mode() {
    static bool const registered = mpt::register_heavy();
    return registered ? mpt::fence_mode::sleeper : mpt::fence_mode::both;
}

template <class Policy> class ours {
    using lock_type = typename Policy::template type<mpt::world::threads>;
    lock_type lock_{mpt::world::threads{}, mode()};

public:
    template <class F> void with(F critical) {
        mpt::guard<lock_type> const hold{lock_};
        critical();
    }
};
template <class Mutex> class of_std {
    Mutex lock_;

public:
    template <class F> void with(F critical) {
        std::scoped_lock const hold{lock_};
        critical();
    }
};
class pthread_spin {
    pthread_spinlock_t lock_{};

public:
    pthread_spin() { pthread_spin_init(&lock_, PTHREAD_PROCESS_SHARED); }
    ~pthread_spin() { pthread_spin_destroy(&lock_); }
    pthread_spin(pthread_spin const&) = delete;
    pthread_spin& operator=(pthread_spin const&) = delete;
    template <class F> void with(F critical) {
        pthread_spin_lock(&lock_);
        critical();
        pthread_spin_unlock(&lock_);
    }
};

template <class Lock> void acquire_release(benchmark::State& state) {
    static Lock lock;
    std::uint64_t number = 0;
    for (auto _ : state) {
        lock.with([&] { benchmark::DoNotOptimize(++number); });
    }
}

template <class Lock> void contended(benchmark::State& state) {
    auto const n = static_cast<std::size_t>(state.range(0));
    double least = 0, most = 0, all = 0;
    for (auto _ : state) {
        Lock lock;
        std::uint64_t number = 0;
        bench::word here{0}, stop{0};
        std::vector<std::uint64_t> got(n);
        std::vector<std::thread> threads;
        for (auto& mine : got)
            threads.emplace_back([&] {
                std::uint64_t count = 0;
                here.fetch_add(1, std::memory_order_relaxed);                                // order: only to begin together
                while (here.load(std::memory_order_relaxed) <= n) std::this_thread::yield(); // order: as above
                while (stop.load(std::memory_order_relaxed) == 0) // order: when exactly a thread stops does not matter
                    lock.with([&] { benchmark::DoNotOptimize(++number); }), ++count;
                mine = count;
            });
        while (here.load(std::memory_order_relaxed) < n) std::this_thread::yield(); // order: as above
        double const begin = bench::now_ns();
        here.fetch_add(1, std::memory_order_relaxed); // order: as above
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        stop.store(1, std::memory_order_relaxed); // order: as above
        for (auto& t : threads) t.join();
        if (number != std::accumulate(got.begin(), got.end(), std::uint64_t{0}))
            return state.SkipWithError("the lock lost a count");
        double const ns = bench::now_ns() - begin;
        auto const [lo, hi] = std::minmax_element(got.begin(), got.end());
        double const equal = static_cast<double>(number) / static_cast<double>(n);
        least += static_cast<double>(*lo) / equal, most += static_cast<double>(*hi) / equal, ++all;
        state.SetIterationTime(ns / static_cast<double>(number) / 1e9);
    }
    state.counters["least"] = least / all, state.counters["most"] = most / all;
}

template <class Lock> void add(std::string const& who) {
    benchmark::RegisterBenchmark(("acquire_release/" + who).c_str(), acquire_release<Lock>);
    for (int n : {1, 2, 4, 8, 16})
        benchmark::RegisterBenchmark(("contended/" + who).c_str(), contended<Lock>)->Arg(n)->Iterations(3)->UseManualTime();
}

} // namespace

int main(int argc, char** argv) {
    benchmark::RegisterBenchmark("acquire_release/none", acquire_release<ours<mpt::lock::none>>);
    add<ours<mpt::lock::ticket>>("ticket");
    add<ours<mpt::lock::per_object>>("per_object"); // one lane's
    add<ours<mpt::lock::pthread>>("pthread");
    add<of_std<std::mutex>>("role:std::mutex");
    add<of_std<std::recursive_mutex>>("role:std::recursive_mutex");
    add<pthread_spin>("role:pthread_spin");
    return bench::run_registered(argc, argv);
}
