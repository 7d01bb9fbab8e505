/// mpi/local_job - a parallel program inside one process: n ranks as threads, no launcher.
///
///        mpt::local_job(4, [](auto world) {
///            auto sum = world.allreduce(world.rank().value);
///            EXPECT_EQ(sum, 6);
///        });
///
///   For unit tests of parallel code under GoogleTest, ThreadSanitizer and a debugger. fn gets a communicator_view of the world,
///   or the environment<Stack>& if it takes one. When a rank throws, the others are ended (their waits throw), and local_job
///   throws what the first one threw.
#pragma once
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <mpt/mpi/environment.hpp>

namespace mpt::inline v0 {

template <class Stack = local_stack, class F> void local_job(std::int32_t n, config::values const& v, F&& fn) {
    static_assert(Stack::world_type::shares_process, "mpt::local_job: the stack's world must be world::threads");
    if (n < 1) throw error{errc::argument, "mpt: local_job: a job has at least one rank, not " + std::to_string(n)};
    auto const members = boot::local_members(n);
    std::mutex lock;
    std::exception_ptr failure;
    auto run = [&](boot::membership const& m) {
        try {
            environment<Stack> env{m, v};
            // The view first: asking whether a generic lambda takes an environment would compile its body with one.
            if constexpr (std::is_invocable_v<F&, communicator_view<Stack>>) fn(env.world());
            else fn(env);
        } catch (...) {
            std::scoped_lock const hold{lock};
            if (!failure) failure = std::current_exception();
            boot::end_local_job(m);
        }
    };
    std::vector<std::thread> ranks;
    ranks.reserve(members.size());
    try {
        for (auto const& m : members) ranks.emplace_back(run, std::cref(m));
    } catch (...) { // the system gives no more threads: those that run wait for ranks that will never come
        std::scoped_lock const hold{lock};
        if (!failure) failure = std::current_exception();
        boot::end_local_job(members.front());
    }
    for (auto& t : ranks) t.join();
    if (failure) std::rethrow_exception(failure);
}
template <class Stack = local_stack, class F> void local_job(std::int32_t n, F&& fn) {
    local_job<Stack>(n, config::values::of_process(), std::forward<F>(fn));
}

} // namespace mpt::inline v0
