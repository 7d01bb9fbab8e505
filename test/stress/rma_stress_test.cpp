// Ranks as threads that lock, change and count in each other's windows at random, by loads and stores and by agents. Run under
// ThreadSanitizer too.
#include <chrono>
#include <cstdlib>

#include <gtest/gtest.h>
#include <mpt/mpi/window.hpp>

#include "support/dice.hpp"
#include "support/wires.hpp"

namespace {
using namespace mpt::test;

double seconds() {
    auto const* given = std::getenv("MPT_STRESS_S");
    return given ? std::strtod(given, nullptr) : 2.0;
}

/// counted: by atomics, of any rank at any time; guarded: two numbers that who has locked their rank alone keeps equal.
struct part {
    static constexpr std::size_t counted = 0, first = 4, second = 5, numbers = 6;
};

template <class Window> std::int64_t guarded_turn(Window& w, int target, bool alone) {
    std::int64_t a = 0, b = 0;
    if (!alone) {
        auto const held = w.lock_shared(target);
        w.get(a, target, part::first), w.get(b, target, part::second);
        EXPECT_EQ(a, b);
        return 0;
    }
    auto const held = w.lock(target);
    w.get(a, target, part::first), w.get(b, target, part::second);
    EXPECT_EQ(a, b);
    w.put(a + 1, target, part::first), w.put(b + 1, target, part::second);
    return 1;
}
template <class Window> std::int64_t counted_turn(Window& w, int target, dice& d) {
    auto const held = w.lock_shared(target);
    auto const at = part::counted + d.below(4);
    auto const x = static_cast<std::int64_t>(d.below(10));
    if (d.coin()) return w.accumulate(x, target, at), x;
    if (d.coin()) return static_cast<void>(w.fetch_and_op(x, target, at)), x;
    for (auto was = w.fetch(target, at);;) {
        auto const found = w.compare_and_swap(was, was + x, target, at);
        if (found == was) return x;
        was = found;
    }
}

template <class View, class Memory> void run(View const& world, Memory const& memory, unsigned seed) {
    mpt::window w{world, memory};
    std::ranges::fill(w.local(), 0);
    world.barrier();
    dice d{seed + static_cast<unsigned>(world.rank().value)};
    std::vector<std::int64_t> added(static_cast<std::size_t>(world.size())), turns = added;
    auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>{seconds() / 4};
    while (std::chrono::steady_clock::now() < end)
        for (int i = 0; i < 50; ++i) {
            auto const target = d.below(static_cast<unsigned>(world.size()));
            if (d.coin()) added[target] += counted_turn(w, static_cast<int>(target), d);
            else turns[target] += guarded_turn(w, static_cast<int>(target), d.coin());
        }
    world.allreduce(added), world.allreduce(turns);
    w.fence();
    auto const me = static_cast<std::size_t>(world.rank().value);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += w.local()[part::counted + i];
    EXPECT_EQ(sum, added[me]) << "seed " << seed;
    EXPECT_EQ(w.local()[part::first], turns[me]) << "seed " << seed;
    EXPECT_EQ(w.local()[part::second], turns[me]) << "seed " << seed;
    w.fence({.no_succeed = true});
}

template <class Stack> struct rma_stress : over<Stack> {};
TYPED_TEST_SUITE(rma_stress, wires);

TYPED_TEST(rma_stress, no_change_is_lost_and_who_is_alone_is_alone) {
    seeds const s{1};
    this->job(3, [&](auto world) { run(world, mpt::allocated<std::int64_t>(part::numbers), s.first); });
    this->job(3, [&](auto world) {
        std::vector<std::int64_t> own(part::numbers);
        run(world, mpt::exposed(own), s.first + 1);
    });
}
} // namespace
