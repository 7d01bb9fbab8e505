// The sleeper's half of core/fences.hpp.
#include <mpt/core/fences.hpp>
#include <mpt/core/hash.hpp>

#include <array>
#include <chrono>
#include <string_view>

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpt::inline v0 {
namespace {
bool membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

/// A thread's CPUs, on any machine that Linux can be built for.
class cpu_mask {
    static constexpr std::size_t most = 8192, bits = 8 * sizeof(unsigned long);
    std::array<unsigned long, most / bits> words_{};

public:
    bool get() noexcept { return ::syscall(SYS_sched_getaffinity, 0, sizeof words_, words_.data()) > 0; }
    bool set() const noexcept { return ::syscall(SYS_sched_setaffinity, 0, sizeof words_, words_.data()) == 0; }
    static cpu_mask all() noexcept {
        cpu_mask m;
        m.words_.fill(~0UL);
        return m;
    }
    static cpu_mask one(std::size_t cpu) noexcept {
        cpu_mask m;
        m.words_[cpu / bits] = 1UL << cpu % bits;
        return m;
    }
    std::uint64_t hash() const noexcept {
        return hash_of(std::string_view{reinterpret_cast<char const*>(words_.data()), sizeof words_}) | 1;
    }
    /// As long as f(cpu) says so. True: it always did.
    template <class F> bool each(F f) const noexcept {
        for (std::size_t cpu = 0; cpu < most; ++cpu)
            if ((words_[cpu / bits] >> cpu % bits & 1) != 0 && !f(cpu)) return false;
        return true;
    }
};

/// Runs f(what this thread may be given), with its own mask as it was before and after.
template <class F> std::uint64_t with_all_cpus(F f) noexcept {
    cpu_mask before, all;
    if (!before.get()) return 0;
    bool const done = cpu_mask::all().set() && all.get() && f(all); // the system takes away what it may not have
    return before.set() && done ? all.hash() : 0;
}
} // namespace

void heavy_barrier() noexcept { heavy_barrier_here(), membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }
void heavy_barrier_here() noexcept { membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

bool register_heavy() noexcept {
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

std::uint64_t cpus_to_pass() noexcept {
    return with_all_cpus([](cpu_mask const&) { return true; });
}

std::uint64_t pass_every_cpu() noexcept {
    using clock = std::chrono::steady_clock;
    auto const end = clock::now() + std::chrono::milliseconds{100};
    return with_all_cpus([&](cpu_mask const& all) { // a mask of one: it returns there
        return all.each([&](std::size_t cpu) { return cpu_mask::one(cpu).set() && clock::now() < end; });
    });
}

} // namespace mpt::inline v0
