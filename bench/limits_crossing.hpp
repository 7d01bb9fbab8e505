/// bench/limits_crossing - role models: what it costs to get a word, or a stream of small words, from core to core.
///
///   two_lines (in harness.hpp: the calibration), one_line, slot_rate. See bench/limits.hpp.
#pragma once
#include <array>
#include <cstdint>
#include <stdexcept>

#include "harness.hpp"

namespace bench {

/// How a side waits for its turn in one_line().
struct by_load {
    bool operator()(word& turn, std::uint64_t mine) const noexcept {
        return turn.load(std::memory_order_acquire) == mine; // sync(bench.one-line): acquire
    }
};
struct by_taking_over { // a read-modify-write that changes nothing: the line comes as one's own
    bool operator()(word& turn, std::uint64_t mine) const noexcept {
        return turn.compare_exchange_strong(mine, mine, std::memory_order_acquire); // sync(bench.one-line): acquire
    }
};

/// From side 0's store of its turn to its sight of side 1's answer in the same line, halved: ns. One message costs one transfer (the
/// turn line) where the line comes writable to whoever answers: by the processor's guess, or by taking it over.
template <class Look = by_load> double one_line(crew& c, int rounds = 200) noexcept {
    Look const is_turn;
    word& turn = c.line(2);
    auto const base = turn.load(std::memory_order_relaxed); // order: every call leaves it at the same number for both
    auto const mine = static_cast<std::uint64_t>(c.side()) + 1;
    c.meet();
    double const begin = now_ns();
    for (std::uint64_t i = 0, last = 2 * static_cast<std::uint64_t>(rounds); i < last; i += 2) {
        while (!is_turn(turn, base + i + mine - 1)) {}
        turn.store(base + i + mine, std::memory_order_release); // sync(bench.one-line): release
        if (mine == 1)
            while (!is_turn(turn, base + i + 2)) {}
    }
    return (now_ns() - begin) / rounds / 2;
}

/// A ring of cache lines, one writer and one reader: the lap number in the slot's line publishes it.
struct slot_ring {
    static constexpr std::size_t slots = 256;
    struct alignas(mpt::cache_line) slot {
        std::array<std::uint64_t, 7> data;
        word lap;
    };
    std::array<slot, slots> at;
    alignas(line_pair) word consumed;
};

/// From side 0's first store of `count` 8-byte messages to its sight of side 1's word that all were read: million messages a
/// second. 64-byte slots, credits returned every quarter of the ring.
class slot_rate {
    slot_ring& ring_;
    std::uint64_t at_ = 0, known_ = 0;

public:
    explicit slot_rate(slot_ring& ring) : ring_{ring} {}

    void push(std::uint64_t v) noexcept {
        while (at_ - known_ >= slot_ring::slots)
            known_ = ring_.consumed.load(std::memory_order_acquire); // sync(bench.slots-free): acquire
        auto& s = ring_.at[at_ % slot_ring::slots];
        s.data[0] = v;
        s.lap.store(at_++ / slot_ring::slots + 1, std::memory_order_release); // sync(bench.slots): release
    }
    std::uint64_t pop() noexcept {
        auto& s = ring_.at[at_ % slot_ring::slots];
        while (s.lap.load(std::memory_order_acquire) != at_ / slot_ring::slots + 1) {} // sync(bench.slots): acquire
        auto const v = s.data[0];
        if (++at_ % (slot_ring::slots / 4) == 0)
            ring_.consumed.store(at_, std::memory_order_release); // sync(bench.slots-free): release
        return v;
    }

    double operator()(crew& c, std::uint64_t count = 8000) {
        double const begin = now_ns();
        for (std::uint64_t i = 0; i < count; ++i) {
            if (c.side() == 0) push(i);
            else if (pop() != i) throw std::runtime_error{"slot_rate: a message was lost"};
        }
        c.meet();
        return static_cast<double>(count) / (now_ns() - begin) * 1e3;
    }
};

} // namespace bench
