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
#include <mpt/mpi/environment.hpp>

namespace mpt::inline v0 {

namespace detail {
/// What a rank does around the program that was given: compiled once for a stack, however many programs there are.
template <class Stack>
void on_local_ranks(std::int32_t n, config::values const& v, function_ref<void(environment<Stack>&)> program) {
    boot::run_local_job(n, [&](boot::membership const& m) {
        environment<Stack> env{m, v};
        program(env);
    });
}
} // namespace detail

template <class Stack = local_stack, class F> void local_job(std::int32_t n, config::values const& v, F&& fn) {
    static_assert(Stack::world_type::shares_process, "mpt::local_job: the stack's world must be world::threads");
    detail::on_local_ranks<Stack>(n, v, [&fn](environment<Stack>& env) {
        // The view first: asking whether a generic lambda takes an environment would compile its body with one.
        if constexpr (std::is_invocable_v<F&, communicator_view<Stack>>) fn(env.world());
        else fn(env);
    });
}
template <class Stack = local_stack, class F> void local_job(std::int32_t n, F&& fn) {
    local_job<Stack>(n, config::values::of_process(), std::forward<F>(fn));
}

} // namespace mpt::inline v0
