/// coll/allgather - everybody's block to everybody, round a ring.
///
///   In step k each rank hands the block it got in step k-1 to its right neighbour: n-1 steps, every byte crosses each
///   neighbour's wire once.    Source MPI-4.1 section 6.7.
#pragma once
#include <cstring>

#include <mpt/coll/team.hpp>

namespace mpt::inline v0::coll {

/// all: size() blocks of mine.size() bytes, in rank order.
template <class Stack> void allgather(team<Stack> const& t, std::span<std::byte const> mine, std::span<std::byte> all) {
    auto const n = t.size();
    auto const block = mine.size();
    auto const part = [&](std::int32_t r) { return all.subspan(static_cast<std::size_t>((r + n) % n) * block, block); };
    if (block != 0) std::memmove(part(t.me()).data(), mine.data(), block);
    for (std::int32_t k = 0; k < n - 1; ++k)
        t.exchange((t.me() + 1) % n, part(t.me() - k + n), (t.me() - 1 + n) % n, part(t.me() - k - 1 + 2 * n),
                   speaker::allgather);
}

} // namespace mpt::inline v0::coll
