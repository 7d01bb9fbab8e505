// core/: what the words that every floor uses cost.
//
//   light/MODE heavy/MODE drain/ours   from the call of the ordering to its return (core/fences.hpp)
//   copy/copy_bytes/N/AHEAD            N bytes between two buffers in cache, N not known to the compiler (core/copying.hpp); one lies AHEAD
//                                      bytes behind the other, but for the page
//   copy/source/N/AHEAD                the same through the type-erased source
#include <array>
#include <cstring>
#include <span>

#include <mpt/core/cursor.hpp>
#include <mpt/core/fences.hpp>

#include "partner.hpp"

namespace {

using fences = mpt::native_fences;

void light(benchmark::State& state, mpt::fence_mode mode) {
    for (auto _ : state) fences::light(mode), benchmark::ClobberMemory();
}
void heavy(benchmark::State& state, mpt::fence_mode mode) {
    for (auto _ : state) fences::heavy(mode), benchmark::ClobberMemory();
}
void drain(benchmark::State& state) {
    for (auto _ : state) fences::drain();
}

struct two_buffers {
    static constexpr std::size_t page = 4096, most = 64 * page;
    alignas(page) std::array<std::byte, most> from{};
    alignas(page) std::array<std::byte, most + page> into{};
};

/// The same for each way of copying: Copy(into, from, n).
template <class Copy> void copies(benchmark::State& state, Copy copy) {
    static two_buffers b;
    auto n = static_cast<std::size_t>(state.range(0));
    auto* const into = b.into.data() + state.range(1);
    benchmark::DoNotOptimize(n);
    for (auto _ : state) {
        copy(into, b.from.data(), n);
        benchmark::ClobberMemory();
    }
}

} // namespace

int main(int argc, char** argv) {
    using mode = mpt::fence_mode;
    benchmark::RegisterBenchmark("light/sleeper", [](auto& s) { light(s, mode::sleeper); });
    benchmark::RegisterBenchmark("light/both", [](auto& s) { light(s, mode::both); });
    if (mpt::register_heavy()) benchmark::RegisterBenchmark("heavy/sleeper", [](auto& s) { heavy(s, mode::sleeper); });
    benchmark::RegisterBenchmark("heavy/both", [](auto& s) { heavy(s, mode::both); });
    benchmark::RegisterBenchmark("drain/ours", drain);

    auto const ours = [](auto& s) { copies(s, [](auto* to, auto* from, std::size_t n) { mpt::copy_bytes(to, from, n); }); };
    auto const erased = [](auto& s) {
        copies(s, [](auto* to, auto* from, std::size_t n) { mpt::source{from, n}.read(0, {to, n}); });
    };
    auto const libc = [](auto& s) { copies(s, [](auto* to, auto* from, std::size_t n) { std::memcpy(to, from, n); }); };
    auto const each = [&](int n, int ahead) {
        benchmark::RegisterBenchmark("copy/copy_bytes", ours)->Args({n, ahead});
        benchmark::RegisterBenchmark("copy/source", erased)->Args({n, ahead});
        benchmark::RegisterBenchmark("copy/role:memcpy", libc)->Args({n, ahead});
    };
    for (int const n : {1, 8, 24, 40, 64, 512}) each(n, 0);
    for (int const n : {2048, 4096, 8192, 65536, 262144})
        for (int const ahead : {0, 1, 16, 48}) each(n, ahead);
    return bench::run_registered(argc, argv);
}
