/// bench/limits_copying - role models: what it costs to get many bytes from one process to another.
///
///        copy_rate    within a process                          relay_rate     through a ring of pieces: two copies, pipelined
///        exchange     ping-pong, source not rewritten           pull_rate      message after message, same buffers
///        delivery     one message, source just rewritten        cross_rate     the same in both directions at once
///
///   By memcpy from mapped memory or by CMA, from one end (the receiver) or from both. See bench/limits.hpp.
#pragma once
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/uio.h>
#include <system_error>
#include <vector>

#include "harness.hpp"

namespace bench {

/// How many copies of n bytes make a batch: 4 MB in all, within bounds.
inline int copies_of(std::size_t n) { return static_cast<int>(std::clamp<std::size_t>((4u << 20) / n, 1, 2000)); }

/// From the first copy to the end of the last, between two buffers private to the side that stay the same: GB/s, summed over
/// the sides that copy.
inline double copy_rate(crew& c, char* into, char const* from, std::size_t n, int sides) noexcept {
    int const reps = copies_of(n);
    double const begin = now_ns();
    if (c.side() < sides)
        for (int i = 0; i < reps; ++i) std::memcpy(into, from, n), keep(into);
    if (sides > 1) c.meet();
    return static_cast<double>(n) * reps * sides / (now_ns() - begin);
}

/// Each side's two buffers as the other side reaches them.
struct reach {
    char *mine_from, *mine_into;     // our own
    char *theirs_from, *theirs_into; // the peer's, as addresses that `pull` and `push` understand
};

/// Copies through process_vm_readv/writev: the peer's buffers are addresses in its own memory.
struct by_cma {
    pid_t peer;

    void pull(char* into, char* from, std::size_t n) const {
        iovec here{into, n}, there{from, n};
        check(process_vm_readv(peer, &here, 1, &there, 1, 0), n);
    }
    void push(char* into, char* from, std::size_t n) const {
        iovec here{from, n}, there{into, n};
        check(process_vm_writev(peer, &here, 1, &there, 1, 0), n);
    }

private:
    static void check(ssize_t done, std::size_t n) {
        if (done < 0) throw std::system_error{errno, std::generic_category(), "process_vm"};
        if (static_cast<std::size_t>(done) != n) throw std::runtime_error{"process_vm: copied a part only"};
    }
};

/// The other side of a pair whose buffers are private memory.
struct cma_peer {
    bool allowed = false;
    pid_t pid = 0;
    reach buffers{};
};

/// Both sides call it: exchanges process ids and addresses, and tries whether each may read the other.
inline cma_peer meet_cma_peer(crew& c, char* from, char* into) {
    int const other = 1 - c.side();
    auto const swap = [&](std::uint64_t v) {
        c.tell(v);
        c.meet();
        auto const theirs = c.heard(other);
        c.meet();
        return theirs;
    };
    auto const pid = static_cast<pid_t>(swap(static_cast<std::uint64_t>(getpid())));
    prctl(PR_SET_PTRACER, pid); // where the kernel asks for it; EINVAL where it does not
    auto* their_from = reinterpret_cast<char*>(swap(reinterpret_cast<std::uint64_t>(from)));
    auto* their_into = reinterpret_cast<char*>(swap(reinterpret_cast<std::uint64_t>(into)));
    iovec here{into, 8}, there{their_from, 8};
    bool const ours = process_vm_readv(pid, &here, 1, &there, 1, 0) == 8;
    bool const theirs = swap(ours) != 0;
    return {ours && theirs, pid, {from, into, their_from, their_into}};
}

/// Copies with loads and stores: the peer's buffers are mapped here.
struct by_mapping {
    void pull(char* into, char* from, std::size_t n) const noexcept { std::memcpy(into, from, n), keep(into); }
    void push(char* into, char* from, std::size_t n) const noexcept { std::memcpy(into, from, n), keep(into); }
};

/// One message from side `sender` to the other, by the receiver alone or half by each. Flags: lines 4 and 5, owner writes.
template <class How> class copier {
    crew& c_;
    How how_;
    reach r_;

    word& flag(int side) noexcept { return c_.line(4 + static_cast<std::size_t>(side)); }

public:
    copier(crew& c, How how, reach r) : c_{c}, how_{how}, r_{r} {}

    /// The sender's bytes [0, n): the front by the receiver; with both ends, the back by the sender.
    void copy_part(int sender, std::size_t n, int ends) {
        std::size_t const front = ends == 2 ? n / 2 : n;
        if (c_.side() != sender) how_.pull(r_.mine_into, r_.theirs_from, front);
        else if (ends == 2) how_.push(r_.theirs_into + front, r_.mine_from + front, n - front);
    }

    /// A whole message with its two flags (ready; back half done). Both sides call it.
    void message(int sender, std::size_t n, int ends) {
        auto const before =
            flag(c_.side()).load(std::memory_order_relaxed); // order: our own; equal to the other between messages
        auto const ready = before + 1, half = before + 2;
        word& f = flag(sender);
        if (c_.side() == sender) {
            f.store(ready, std::memory_order_release); // sync(bench.copy): release
            copy_part(sender, n, ends);
            f.store(half, std::memory_order_release); // sync(bench.copy): release
        } else {
            while (f.load(std::memory_order_acquire) < ready) {} // sync(bench.copy): acquire
            copy_part(sender, n, ends);
            if (ends == 2)
                while (f.load(std::memory_order_acquire) < half) {} // sync(bench.copy): acquire
            flag(c_.side()).store(half, std::memory_order_relaxed); // order: only keeps both flags at the same number
        }
    }
    /// Our bytes from the peer, by us alone.
    void pull(std::size_t n) { how_.pull(r_.mine_into, r_.theirs_from, n); }
    char* source() const noexcept { return r_.mine_from; }
    char* target() const noexcept { return r_.mine_into; }
    crew& who() noexcept { return c_; }
};

/// Ping-pong of n bytes, sources not rewritten (what latency tests do). From the flag of side 0's message to the arrival of the
/// answer in its buffer, halved: us.
template <class How> double exchange(copier<How>& m, std::size_t n, int ends) {
    int const rounds = std::clamp(copies_of(n) / 16, 1, 100);
    double const begin = now_ns();
    for (int i = 0; i < rounds; ++i) m.message(0, n, ends), m.message(1, n, ends);
    return (now_ns() - begin) / rounds / 2e3;
}

/// One message whose source was just rewritten (what applications do). From the meeting of both sides to their next, with
/// nothing but the copy between: us.
template <class How> double delivery(copier<How>& m, std::size_t n, int ends) {
    crew& c = m.who();
    auto const stamp = static_cast<unsigned char>(c.agree(static_cast<std::uint64_t>(now_ns()) & 0xff));
    if (c.side() == 0) std::memset(m.source(), stamp, n);
    c.meet();
    double const begin = now_ns();
    m.copy_part(0, n, ends);
    c.meet();
    double const us = (now_ns() - begin) / 1e3;
    auto const* got = reinterpret_cast<unsigned char const*>(m.target());
    if (c.side() == 1 && (got[0] != stamp || got[n - 1] != stamp)) throw std::runtime_error{"delivery: wrong bytes"};
    return us;
}

/// Message after message from side 0 to side 1 without waiting in between (what bandwidth tests do), same buffers. From the
/// first copy to the end of the last on both sides: GB/s.
template <class How> double pull_rate(copier<How>& m, std::size_t n, int ends) {
    int const reps = copies_of(n);
    double const begin = now_ns();
    for (int i = 0; i < reps; ++i) m.copy_part(0, n, ends);
    m.who().meet();
    return static_cast<double>(n) * reps / (now_ns() - begin);
}

/// pull_rate in both directions at once, each receiver alone: GB/s, summed.
template <class How> double cross_rate(copier<How>& m, std::size_t n) {
    int const reps = copies_of(n);
    double const begin = now_ns();
    for (int i = 0; i < reps; ++i) m.pull(n);
    m.who().meet();
    return static_cast<double>(n) * reps * 2 / (now_ns() - begin);
}

/// A ring of pieces in shared memory: what carries a message by two copies, one on each side, overlapping. Half a megabyte: with
/// 16 pieces, which both caches hold on to, it measured 7 GB/s where this one made 16.
struct piece_ring {
    static constexpr std::size_t pieces = 64, most = 8192;
    struct alignas(line_pair) header {
        word lap; // sender: odd number of its turn when full; receiver: even when empty again
    };
    std::array<header, pieces> head;
    alignas(4096) std::array<std::array<char, most>, pieces> body;
};

/// Message after message of n bytes from side 0 to side 1 through a piece_ring, same buffers. From the first copy in to the end of
/// the last copy out: GB/s.
class relay_rate {
    piece_ring& ring_;
    std::uint64_t at_ = 0;

    void piece(crew const& c, char* mine, std::size_t n) noexcept {
        auto& head = ring_.head[at_ % piece_ring::pieces].lap;
        char* const body = ring_.body[at_ % piece_ring::pieces].data();
        auto const turn = 2 * (at_ / piece_ring::pieces) + static_cast<std::uint64_t>(c.side());
        while (head.load(std::memory_order_acquire) != turn) {} // sync(bench.piece): acquire
        if (c.side() == 0) std::memcpy(body, mine, n);
        else std::memcpy(mine, body, n);
        head.store(turn + 1, std::memory_order_release); // sync(bench.piece): release
        ++at_;
    }

public:
    explicit relay_rate(piece_ring& ring) : ring_{ring} {}

    double operator()(crew& c, char* mine, std::size_t n) {
        int const reps = copies_of(n);
        double const begin = now_ns();
        for (int i = 0; i < reps; ++i)
            for (std::size_t done = 0; done < n; done += piece_ring::most)
                piece(c, mine + done, std::min(n - done, piece_ring::most));
        c.meet();
        return static_cast<double>(n) * reps / (now_ns() - begin);
    }
};

} // namespace bench
