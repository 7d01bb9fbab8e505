/// world::native - a rank is a process: the machine's clock, threads and futexes, shared between processes.
#pragma once
#include <mpt/core/atomics.hpp>
#include <mpt/world/world.hpp>

namespace mpt::inline v0::world {

namespace detail { // src/core/world.cpp
nanoseconds monotonic_now() noexcept;
void yield_cpu() noexcept;
void sleep_thread(nanoseconds d) noexcept;
std::uint64_t random_bits() noexcept;
void futex_wait(native_atomics::atomic<std::uint32_t>& word, std::uint32_t seen, nanoseconds d) noexcept;
void futex_wake(native_atomics::atomic<std::uint32_t>& word, int n) noexcept;
void poll_readable(std::span<int const> fds, nanoseconds d) noexcept;

/// This process, in the upper 24 bits of every thread number (pid_max is at most 2^22 on a 64-bit kernel). Set by the library's
/// first constructor, and in the child of a fork, while one thread runs.
extern native_atomics::atomic<std::uint64_t> process_part;

/// Unique among the living threads of a pid namespace: 24 bits of process, 40 bits of the thread's own address (48-bit user
/// addresses; thread descriptors lie more than 2^8 bytes apart). Four instructions: who takes a lock asks for it.
[[gnu::always_inline]] inline std::uint64_t thread_number() noexcept {
    auto const address = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
    return process_part.load(std::memory_order_relaxed) | address >> 8; // order: written while one thread lives
}
} // namespace detail

/// What native and threads share.
struct machine {
    using atomics = native_atomics;
    nanoseconds now() const noexcept { return detail::monotonic_now(); }
    void pause() const noexcept { native_atomics::pause(); }
    void yield() const noexcept { detail::yield_cpu(); }
    void sleep_for(nanoseconds d) const noexcept { detail::sleep_thread(d); }
    std::uint64_t self() const noexcept { return detail::thread_number(); }
    std::uint64_t random() const noexcept { return detail::random_bits(); }
    void wait(native_atomics::atomic<std::uint32_t>& word, std::uint32_t seen, nanoseconds d) const noexcept {
        detail::futex_wait(word, seen, d);
    }
    void wait_readable(std::span<int const> fds, nanoseconds d) const noexcept { detail::poll_readable(fds, d); }
    void wake(native_atomics::atomic<std::uint32_t>& word, int n) const noexcept { detail::futex_wake(word, n); }
};

struct native : machine {
    using kind = mpt::kind::world;
    static constexpr std::string_view name = "native";
    static constexpr bool shares_process = false;
};
static_assert(world_policy<native>);

} // namespace mpt::inline v0::world
