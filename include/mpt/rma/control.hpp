/// rma/control - what the others must reach of a rank's part of a window, beside its memory: a block of the arena.
///
///        +--------------------+--------------------+--------------------+
///        | lock: epochs       | wide: elements     | agent's bell       |     each on lines of its own
///        +--------------------+--------------------+--------------------+
///
///   lock    MPI_Win_lock and its kin (rma/lock_word.hpp)
///   wide    held for a moment by whoever combines elements that no processor combines at once (rma/element.hpp)
///   agent   rung by who has sent the agent a request (rma/agent.hpp)
///
///   Tests   test/rma_control_test.cpp
#pragma once
#include <mpt/rma/lock_word.hpp>
#include <mpt/world/bell.hpp>
#include <mpt/world/native.hpp>

namespace mpt::inline v0::rma {

template <class World> struct control {
    using atomics = typename World::atomics;

    alignas(line_pair) lock_word<atomics> lock;
    alignas(line_pair) lock_word<atomics> wide;
    alignas(line_pair) world::bell<World> agent;
};
static_assert(sizeof(control<world::native>) == 3 * line_pair);

} // namespace mpt::inline v0::rma
