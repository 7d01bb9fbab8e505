/// shmem/job/resources - the pool that a PE's contexts and its registered threads share: places, of which a private context has one alone.
///
///        place    0            1           2            3               n (MPT_CONTEXTS)
///                 the default  thread 1    a private    a context, ...  nobody
///                 context      thread 5    context      thread 2
///
///   A private context takes a place that nobody has, and is not made where there is none. Other contexts and threads go where the
///   fewest are and no private one is; where all are private, to the default context.
///
///   A place is a number: operations of different contexts share nothing here that could run out (job/context.hpp). The pool is what a
///   program written for one that does counts on: limits, refusals and figures. Each PE has a pool of its own, with MPT_CONTEXTS places
///   however many PEs its node has: a place takes nothing of the node's that they would have to share out.
///   Threads   one at a time.
///   Cost      taking looks at all places.
///   Tests     test/shmem_job_test.cpp
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace mpt::inline v0::shmem {

/// How many places there are beside the default context's, and how many of them nobody has or a private context has alone; and who
/// uses them.
struct resource_use {
    std::uint32_t places = 0, unused = 0, owned = 0, contexts = 0, threads = 0;
};

class resources {
    static constexpr std::uint32_t alone = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> users_; // by place

public:
    using place = std::uint32_t;

    explicit resources(std::uint32_t places) : users_(std::size_t{places} + 1) {}

    /// Where the next one would go; none: nobody can have a place alone.
    std::optional<place> find(bool wants_alone) const noexcept {
        auto const least = std::min_element(users_.begin() + 1, users_.end());
        bool const is_there = least != users_.end() && (wants_alone ? *least == 0 : *least != alone);
        if (is_there) return static_cast<place>(least - users_.begin());
        return wants_alone ? std::nullopt : std::optional{place{0}};
    }
    void take(place p, bool for_itself) noexcept { for_itself ? users_[p] = alone : ++users_[p]; }
    void leave(place p) noexcept { users_[p] == alone ? users_[p] = 0 : --users_[p]; }

    std::uint32_t places() const noexcept { return static_cast<std::uint32_t>(users_.size() - 1); }
    std::uint32_t unused() const noexcept { return count(0); }
    std::uint32_t owned() const noexcept { return count(alone); }

private:
    std::uint32_t count(std::uint32_t users) const noexcept {
        return static_cast<std::uint32_t>(std::count(users_.begin() + 1, users_.end(), users));
    }
};

} // namespace mpt::inline v0::shmem
