// The protocols against each other, at every size that each can carry: this is what the thresholds of the configuration table
// are chosen by. Two ranks as threads on two cores, private buffers, local_stack; the protocol is forced by its variables.
//
//   round_trip/PROTOCOL/N    from the call of send of N bytes to the return of recv of the answer
//     eager                  e0 up to a line, above it e1
//     rndv_get               the receiver reads the sender's memory, alone
//     rndv_get_both_ends     both copy
//     rndv_put               two copies, in pieces
//   layouts/PROTOCOL/N/R     the same with N bytes in runs of R, as far apart, on both sides
//   round_trip/role:memcpy   the same with one memcpy each way and a flag
#include <algorithm>
#include <cstring>
#include <vector>

#include <mpt/mpt.hpp>

#include "partner.hpp"

namespace {

using mpt::config::values;

values forced(std::string_view protocol, std::size_t n) {
    auto v = values::of_process(); // so that the other variables can be tried
    if (protocol == "eager")
        return v.set<"MPT_EAGER_MAX">("1M").set<"MPT_EAGER_READABLE">("1M").set<"MPT_LOAN_BYTES">("1M").set<"MPT_LOANS">("8"),
               v;
    v.set<"MPT_EAGER_MAX">("0").set<"MPT_SINGLE_COPY_SIZE">("0").set<"MPT_CHUNK">(n < (256u << 10) ? "8K" : "32K");
    v.set<"MPT_BOTH_ENDS">(protocol == "rndv_get_both_ends" ? "on" : "off");
    v.set<"MPT_SINGLE_COPY">(protocol == "rndv_put" ? "off" : "on");
    return v;
}

int each(std::size_t n) { return static_cast<int>(std::clamp<std::size_t>((256u << 10) / n, 1, 100)); }

/// The first byte of a message says whether another follows.
struct two_buffers {
    std::span<char> from, into;
};
template <class World, class From, class Into>
void measured_rank(World world, benchmark::State& state, two_buffers b, From const& from, Into&& into) {
    b.from.front() = 1;
    bench::in_batches(state, each(static_cast<std::size_t>(state.range(0))), [&] {
        world.send(from, 1);
        world.recv(into, 1);
    });
    if (b.into.front() != 1) state.SkipWithError("the echo came back changed");
    b.from.front() = 0;
    world.send(from, 1);
}
template <class World, class From, class Into> void echoing_rank(World world, two_buffers b, From const& from, Into&& into) {
    while (world.recv(into, 0), b.into.front() != 0) {
        b.from.front() = b.into.front();
        world.send(from, 0);
    }
}
template <class World, class From, class Into>
void either_rank(World world, benchmark::State& state, two_buffers b, From const& from, Into&& into) {
    auto const cores = bench::allowed_cores();
    bench::pin_to(cores[static_cast<std::size_t>(world.rank()) % cores.size()]);
    if (world.rank() == 0) measured_rank(world, state, b, from, into);
    else echoing_rank(world, b, from, into);
}

void round_trip(benchmark::State& state, std::string_view protocol) {
    auto const n = static_cast<std::size_t>(state.range(0));
    mpt::local_job(2, forced(protocol, n), [&](auto world) -> void {
        std::vector<char> from(n), into(n);
        either_rank(world, state, {from, into}, from, into);
    });
}

void layouts(benchmark::State& state, std::string_view protocol) {
    auto const n = state.range(0), run = state.range(1);
    auto const runs = mpt::datatype::hvector(n / run, run, 2 * run, mpt::datatype::named(mpt::element_kind::byte));
    auto v = forced(protocol, static_cast<std::size_t>(n));
    v.set<"MPT_PIPELINE_MAX">("0");
    mpt::local_job(2, v, [&](auto world) -> void {
        std::vector<char> from(static_cast<std::size_t>(2 * n)), into(from.size());
        mpt::typed_sink sink{into.data(), 1, runs};
        either_rank(world, state, {from, into}, mpt::typed_source{from.data(), 1, runs}, sink);
    });
}

void round_trip_by_memcpy(benchmark::State& state) {
    auto const n = static_cast<std::size_t>(state.range(0));
    std::vector<char> there(n), back(n), mine(n), theirs(n);
    alignas(mpt::line_pair) bench::word there_flag{0};
    alignas(mpt::line_pair) bench::word back_flag{0};
    bench::partner const echo{[&] {
        for (std::uint64_t seen = 0; seen != bench::end_of_talk;) {
            auto const before = seen;
            bench::poll_until(
                [&] { return (seen = there_flag.load(std::memory_order_acquire)) != before; }); // sync(bench.memcpy): acquire
            std::memcpy(theirs.data(), there.data(), n);
            back_flag.store(seen, std::memory_order_release); // sync(bench.memcpy): release
        }
    }};
    auto const trip = [&](std::uint64_t v) {
        there_flag.store(v, std::memory_order_release);                                    // sync(bench.memcpy): release
        bench::poll_until([&] { return back_flag.load(std::memory_order_acquire) == v; }); // sync(bench.memcpy): acquire
        std::memcpy(mine.data(), back.data(), n);
        benchmark::DoNotOptimize(mine.data());
    };
    std::uint64_t v = 0;
    bench::in_batches(state, each(n), [&] { trip(++v); });
    trip(bench::end_of_talk);
}

} // namespace

int main(int argc, char** argv) {
    for (int n : {8, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}) {
        for (std::string_view p : {"eager", "rndv_get", "rndv_get_both_ends", "rndv_put"})
            benchmark::RegisterBenchmark(("round_trip/" + std::string{p}).c_str(), [p](auto& s) { round_trip(s, p); })
                ->Arg(n)
                ->UseManualTime()
                ->Iterations(bench::batches);
        benchmark::RegisterBenchmark("round_trip/role:memcpy", round_trip_by_memcpy)
            ->Arg(n)
            ->UseManualTime()
            ->Iterations(bench::batches);
    }
    for (int run : {64, 512, 4096})
        for (std::string_view p : {"rndv_get", "rndv_put"})
            benchmark::RegisterBenchmark(("layouts/" + std::string{p}).c_str(), [p](auto& s) { layouts(s, p); })
                ->Args({1 << 20, run})
                ->UseManualTime()
                ->Iterations(bench::batches);
    return bench::run_registered(argc, argv);
}
