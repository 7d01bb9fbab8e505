// Beginning and end of a job, beside the start of a process that does nothing.
//
//   job/alone           from the construction of an environment started by hand (a job of one) to the end of its destruction
//   job/threads/N       from the call of local_job with N ranks that do nothing to its return
//   job/role:process    from fork to the end of a child that runs /bin/true
#include <mpt/mpt.hpp>

#include "partner.hpp"

namespace {

void alone(benchmark::State& state) {
    for (auto _ : state) {
        mpt::environment<> const env;
        benchmark::DoNotOptimize(env.size());
    }
}
void threads(benchmark::State& state) {
    for (auto _ : state)
        mpt::local_job(static_cast<std::int32_t>(state.range(0)), [](auto world) { benchmark::DoNotOptimize(world.size()); });
}
void process(benchmark::State& state) {
    for (auto _ : state) {
        pid_t const child = fork();
        if (child == 0) execl("/bin/true", "true", nullptr), _exit(1);
        int how = 0;
        if (child < 0 || waitpid(child, &how, 0) != child || how != 0) return state.SkipWithError("cannot run /bin/true");
    }
}

} // namespace

int main(int argc, char** argv) {
    benchmark::RegisterBenchmark("job/alone", alone)->UseRealTime();
    for (int n : {1, 2, 4}) benchmark::RegisterBenchmark("job/threads", threads)->Arg(n)->UseRealTime();
    benchmark::RegisterBenchmark("job/role:process", process)->UseRealTime();
    return bench::run_registered(argc, argv);
}
