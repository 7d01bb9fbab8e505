/// bench/limits_switching - role models: what it costs to give up the CPU, to wake who did, and to go through the kernel.
///
///   yield_switch, futex_hand_over, futex_wake_idle, bare_barrier; byte_channel (pipe, Unix socket). See bench/limits.hpp.
#pragma once
#include <array>
#include <bit>
#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>
#include <system_error>
#include <vector>

#include "harness.hpp"

namespace bench {

/// Sides on one CPU. From one side's hand-over of the turn to the other's sight of it after sched_yield, on average over
/// `switches`: us.
inline double yield_switch(crew& c, int switches = 400) noexcept {
    word& turn = c.line(3);
    auto const base = turn.load(std::memory_order_relaxed); // order: every call leaves it at the same number for both
    c.meet();
    double const begin = now_ns();
    auto const sides = static_cast<std::uint64_t>(c.sides()), mine = static_cast<std::uint64_t>(c.side());
    auto const last = static_cast<std::uint64_t>(switches) / sides * sides;
    for (auto i = mine; i < last; i += sides) {
        while (turn.load(std::memory_order_acquire) != base + i) sched_yield(); // sync(bench.yield): acquire
        turn.store(base + i + 1, std::memory_order_release);                    // sync(bench.yield): release
    }
    while (turn.load(std::memory_order_acquire) != base + last) sched_yield(); // sync(bench.yield): acquire
    return (now_ns() - begin) / static_cast<double>(last) / 1e3;
}

/// Two sides on one CPU. From a side's store to its word to the other side's return from its futex wait on it, on average: us.
/// (On two CPUs this measures nothing: the word has mostly changed before the wait begins.)
inline double futex_hand_over(crew& c, std::uint32_t rounds = 100) noexcept {
    auto const side = static_cast<std::size_t>(c.side());
    auto &mine = c.block().futexes[side], &theirs = c.block().futexes[1 - side];
    auto const base = mine.load(std::memory_order_relaxed); // order: both words end every call at the same number
    auto const give = [&](std::uint32_t i) {
        mine.store(base + i, std::memory_order_release); // sync(bench.futex): release
        futex_wake(mine, 1);
    };
    auto const take = [&](std::uint32_t i) {
        for (auto seen = theirs.load(std::memory_order_acquire); seen != base + i; // sync(bench.futex): acquire
             seen = theirs.load(std::memory_order_acquire))                        // sync(bench.futex): acquire
            futex_sleep(theirs, seen);
    };
    double const begin = now_ns();
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        if (side == 0) give(i);
        take(i);
        if (side == 1) give(i);
    }
    return (now_ns() - begin) / rounds / 2e3;
}

/// Two sides on two CPUs; side 1's CPU has idled for about 200 us. From before side 0's futex wake to side 1's return from its
/// futex wait (one clock for both), median of a few: us.
inline double futex_wake_idle(crew& c, int wakes = 5) {
    std::vector<double> us;
    auto& bell = c.block().futexes[2];
    for (int i = 0; i < wakes; ++i) {
        auto const seen = bell.load(std::memory_order_relaxed); // order: the meet below separates two wakes
        c.meet();
        if (c.side() == 0) {
            for (double const until = now_ns() + 200e3; now_ns() < until;) {}
            auto const begin = now_ns();
            bell.store(seen + 1, std::memory_order_release); // sync(bench.bell): release
            futex_wake(bell, 1);
            c.meet();
            us.push_back((std::bit_cast<double>(c.heard(1)) - begin) / 1e3);
        } else {
            while (bell.load(std::memory_order_acquire) == seen) futex_sleep(bell, seen); // sync(bench.bell): acquire
            c.tell(std::bit_cast<std::uint64_t>(now_ns()));
            c.meet();
        }
        c.meet();
    }
    return quartiles_of(us).median;
}

/// Any number of sides. From side 0's arrival at the first of `barriers` to its leaving the last, on average: us. One counter, one
/// flag; who waits yields where CPUs are scarce, and spins where not.
inline double bare_barrier(crew& c, int barriers = 20) noexcept {
    word &count = c.line(6), &release = c.line(7);
    auto passed = release.load(std::memory_order_relaxed); // order: every call leaves it at the same number for all
    auto const all = static_cast<std::uint64_t>(c.sides());
    c.meet();
    double const begin = now_ns();
    for (int i = 0; i < barriers; ++i, ++passed) {
        if (count.fetch_add(1, std::memory_order_acq_rel) + 1 == (passed + 1) * all)    // sync(bench.barrier): acq_rel
            release.store(passed + 1, std::memory_order_release);                       // sync(bench.barrier-go): release
        else c.until([&] { return release.load(std::memory_order_acquire) > passed; }); // sync(bench.barrier-go): acquire
    }
    return (now_ns() - begin) / barriers / 1e3;
}

/// Two descriptors per side, made before the fork: [side] = {read, write}.
class byte_channel {
    std::array<std::array<int, 2>, 2> end_{};

public:
    enum class kind { pipe, unix_socket };

    explicit byte_channel(kind k) {
        int a[2], b[2];
        if (k == kind::pipe) {
            if (::pipe(a) != 0 || ::pipe(b) != 0) throw std::system_error{errno, std::generic_category(), "pipe"};
            end_ = {{{a[0], b[1]}, {b[0], a[1]}}};
        } else {
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, a) != 0)
                throw std::system_error{errno, std::generic_category(), "socketpair"};
            end_ = {{{a[0], a[0]}, {a[1], a[1]}}};
        }
    }
    ~byte_channel() {
        for (auto const& e : end_) {
            close(e[0]);
            if (e[1] != e[0]) close(e[1]);
        }
    }
    byte_channel(byte_channel const&) = delete;
    byte_channel& operator=(byte_channel const&) = delete;

    /// spin: a reader asks again instead of sleeping in the kernel.
    void set_spinning(bool spin) {
        for (auto const& e : end_) fcntl(e[0], F_SETFL, spin ? O_NONBLOCK : 0);
    }

    /// 8-byte ping-pong. From side 0's write to the return of its read of the answer, halved: us.
    double operator()(crew& c, int rounds = 100) {
        auto const [in, out] = end_[static_cast<std::size_t>(c.side())];
        std::uint64_t v = 0;
        auto const send = [&, fd = out] {
            if (write(fd, &v, sizeof v) != sizeof v) throw std::system_error{errno, std::generic_category(), "write"};
        };
        auto const receive = [&, fd = in] {
            ssize_t n = 0;
            while ((n = read(fd, &v, sizeof v)) < 0 && errno == EAGAIN) {}
            if (n != sizeof v) throw std::system_error{errno, std::generic_category(), "read"};
        };
        double const begin = now_ns();
        for (int i = 0; i < rounds; ++i) {
            if (c.side() == 0) send();
            receive();
            if (c.side() == 1) send();
        }
        return (now_ns() - begin) / rounds / 2e3;
    }
};

} // namespace bench
