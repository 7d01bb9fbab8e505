/// coll/broadcast - one rank's bytes to all, along a binomial tree.
///
///        n = 8, root 0     0 -> 4      0 -> 2, 4 -> 6      0 -> 1, 2 -> 3, 4 -> 5, 6 -> 7
///
///   Cost      ceil(log2 n) steps.    Source MPI-4.1 section 6.4.
#pragma once
#include <mpt/coll/team.hpp>

namespace mpt::inline v0::coll {

template <class Stack> void broadcast(team<Stack> const& t, std::span<std::byte> data, std::int32_t root) {
    auto const n = t.size();
    auto const place = (t.me() - root + n) % n; // the root is place 0
    auto const who = [&](std::int32_t p) { return (p + root) % n; };
    std::int32_t step = 1;
    for (; step < n; step *= 2)
        if (place & step) {
            t.recv(who(place - step), speaker::broadcast, data);
            break;
        }
    for (step /= 2; step > 0; step /= 2)
        if (place + step < n) t.send(who(place + step), speaker::broadcast, data);
}

} // namespace mpt::inline v0::coll
