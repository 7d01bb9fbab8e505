/// test/support/job_of - a job of n ranks inside this process: one set of segments, one arena, n memberships; and the
/// threads to run them, with a watchdog.
#pragma once
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <mpt/boot/boot.hpp>
#include <mpt/mem/arena.hpp>

#include "watchdog.hpp"

namespace mpt::test {

/// One set of segments, mapped once; one membership for each rank.
inline std::vector<boot::membership> job_of(std::int32_t n) { return boot::local_members(n); }

namespace detail {
/// The first failure of a set of ranks; it ends the job, so that the others do not wait for the one that failed.
class first_failure {
    std::mutex lock_;
    std::exception_ptr failure_;

public:
    void keep(boot::membership const& who) {
        std::scoped_lock const lock{lock_};
        if (!failure_) failure_ = std::current_exception();
        boot::end_local_job(who);
    }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }
};
} // namespace detail

/// Runs fn(boot::job&, mem::slice_heap&, int rank) for each rank of a job of n, on n threads; joins them, and throws again what
/// the first rank to fail threw. fn calls job.meet() itself.
template <class F> void run_ranks(std::int32_t n, F fn, std::chrono::seconds limit = std::chrono::seconds{60}) {
    auto const members = job_of(n);
    detail::first_failure failure;
    watchdog const guard{"run_ranks", limit};
    std::vector<std::thread> threads;
    for (auto const& m : members)
        threads.emplace_back([&] {
            try {
                boot::job job{m, 1, "test"};
                mem::slice_heap heap{job.share_arena(), job.me(), job.arena().own_limit()};
                fn(job, heap, static_cast<int>(job.me()));
            } catch (...) { failure.keep(m); }
        });
    for (auto& t : threads) t.join();
    failure.rethrow();
}

} // namespace mpt::test
