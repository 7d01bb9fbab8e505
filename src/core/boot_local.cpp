// Jobs whose ranks are threads of this process: what mpt::local_job boots from.
#include <exception>
#include <mutex>
#include <thread>

#include <mpt/boot/boot.hpp>
#include <mpt/core/error.hpp>

namespace mpt::inline v0::boot {

std::vector<membership> local_members(std::int32_t n) {
    membership m;
    m.size = n;
    m.plan = make_segments(n);
    m.arena = mem::arena::open(m.plan);
    m.shares_process = true;
    std::vector<membership> all(static_cast<std::size_t>(n), m);
    for (std::int32_t r = 0; r < n; ++r) all[static_cast<std::size_t>(r)].me = rank{r};
    return all;
}

void end_local_job(membership const& failed) noexcept {
    auto& header = *reinterpret_cast<control_header*>(failed.arena->control().data());
    std::uint32_t nobody = 0;
    auto const mine = 1u + static_cast<std::uint32_t>(failed.me.value);
    if (!header.abort_rank.compare_exchange_strong(nobody, mine, std::memory_order_relaxed))
        return;                                         // order: `aborted` releases it
    header.aborted.store(2, std::memory_order_release); // sync(boot.abort): release
}

void run_local_job(std::int32_t n, function_ref<void(membership const&)> rank) {
    if (n < 1) throw error{errc::argument, "mpt: local_job: a job has at least one rank, not " + std::to_string(n)};
    auto const members = local_members(n);
    std::mutex lock;
    std::exception_ptr failure;
    auto const end = [&](membership const& m) {
        std::scoped_lock const hold{lock};
        if (!failure) failure = std::current_exception();
        end_local_job(m);
    };
    auto const run = [&](membership const& m) {
        try {
            rank(m);
        } catch (...) { end(m); }
    };
    std::vector<std::thread> ranks;
    ranks.reserve(members.size());
    try {
        for (auto const& m : members) ranks.emplace_back(run, std::cref(m));
    } catch (...) { // the system gives no more threads: those that run wait for ranks that will never come
        end(members.front());
    }
    for (auto& t : ranks) t.join();
    if (failure) std::rethrow_exception(failure);
}

} // namespace mpt::inline v0::boot
