// The machine behind world/native.hpp and world/threads.hpp: clock, yield, sleep, futex, identity, random bits.
// Every call leaves errno as it found it: the user's program may be looking at it.
#include <mpt/world/native.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mpt::inline v0::world::detail {

native_atomics::atomic<std::uint64_t> process_part{0};

namespace {

static_assert(sizeof(native_atomics::atomic<std::uint32_t>) == 4, "the kernel's futex is the bare 32-bit word");

constexpr std::int64_t second = 1'000'000'000;
constexpr int process_bits = 24; // pid_max is at most 2^22 on a 64-bit kernel

struct keep_errno {
    int saved = errno;
    ~keep_errno() { errno = saved; }
};

timespec to_timespec(nanoseconds d) noexcept {
    auto const n = std::max<std::int64_t>(d.count(), 0);
    return {.tv_sec = static_cast<time_t>(n / second), .tv_nsec = static_cast<long>(n % second)};
}

void renew_process_part() noexcept {
    auto const part = static_cast<std::uint64_t>(::getpid()) << (64 - process_bits);
    process_part.store(part, std::memory_order_relaxed); // order: one thread runs
}

/// Before every constructor that has no such number: one of those may take a lock.
[[gnu::constructor(101)]] void watch_forks() noexcept {
    renew_process_part();
    ::pthread_atfork(nullptr, nullptr, renew_process_part);
}

std::uint64_t mix(std::uint64_t x) noexcept { // splitmix64 (Steele, Lea, Flood 2014)
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

long futex(native_atomics::atomic<std::uint32_t>& word, int operation, std::uint32_t value, timespec const* timeout) noexcept {
    // Not FUTEX_PRIVATE: the word may lie in memory that several processes map.
    return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

} // namespace

nanoseconds monotonic_now() noexcept {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return nanoseconds{t.tv_sec * second + t.tv_nsec};
}

void yield_cpu() noexcept { ::sched_yield(); }

void sleep_thread(nanoseconds d) noexcept {
    if (d <= nanoseconds::zero()) return;
    auto left = to_timespec(d);
    while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {}
}

std::uint64_t random_bits() noexcept {
    keep_errno const errno_guard;
    std::uint64_t bits = 0;
    if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof bits)) return bits;
    // No entropy yet, or no such call: time, thread and a counter, mixed. Unique on this machine, not secret.
    static native_atomics::atomic<std::uint64_t> drawn{0};
    auto const turn = drawn.fetch_add(1, std::memory_order_relaxed); // order: only uniqueness is needed
    return mix(mix(mix(turn) ^ thread_number()) ^ static_cast<std::uint64_t>(monotonic_now().count()));
}

void futex_wait(native_atomics::atomic<std::uint32_t>& word, std::uint32_t seen, nanoseconds d) noexcept {
    if (d <= nanoseconds::zero()) return;
    keep_errno const errno_guard;
    auto const timeout = to_timespec(d);
    futex(word, FUTEX_WAIT, seen, &timeout); // woken, changed, timed out, interrupted: the caller looks again in any case
}

void futex_wake(native_atomics::atomic<std::uint32_t>& word, int n) noexcept {
    if (n <= 0) return;
    keep_errno const errno_guard;
    futex(word, FUTEX_WAKE, static_cast<std::uint32_t>(n), nullptr);
}

/// More descriptors than fit are looked at in turns of a millisecond: the caller polls them all afterwards anyway.
void poll_readable(std::span<int const> descriptors, nanoseconds d) noexcept {
    constexpr std::size_t at_once = 256;
    if (d <= nanoseconds::zero()) return;
    keep_errno const errno_guard;
    std::array<::pollfd, at_once> set;
    auto const n = std::min(descriptors.size(), at_once);
    std::transform(descriptors.begin(), descriptors.begin() + static_cast<std::ptrdiff_t>(n), set.begin(),
                   [](int fd) { return ::pollfd{.fd = fd, .events = POLLIN, .revents = 0}; });
    auto const timeout = to_timespec(n < descriptors.size() ? std::min(d, nanoseconds{1'000'000}) : d);
    ::ppoll(set.data(), n, &timeout, nullptr); // ready, timed out, interrupted: the caller looks again in any case
}

} // namespace mpt::inline v0::world::detail
