/// coll/rounds - numbered rounds in which each rank of a group shows one entry to all others: what collectives in shared memory are made of.
///
///        entries of rank r, one writer             what is shown in round k lies in set k mod n
///        +--------+--------+ ... +--------+
///        | set 0  | set 1  |     | set n-1|        | number | call | size | where, next | 96 bytes of data |    two lines
///        +--------+--------+ ... +--------+              `--- stored last, with release
///
///   A rank that shows round k is through with all rounds before. So an entry may be written again when all have shown the round
///   after the one it was shown in. A rank knows that from what it waited for anyway (all_have_begun), and where it waited for
///   nobody - the root of broadcasts - it looks every n-8th round: it may run ahead of the others by n-1. No second
///   synchronisation, no counter that several write, nothing to reset.
///
///        round    1   2   3   ...  64             n = 64: rank 0, a root, shows round 65 into set 1: all must have begun round 2,
///        rank 0   #   #   # # # # # #             and so that the next looks find it settled, it waits until all
///        rank 1   #   #                           have begun round 57
///
///   Other memory goes with the rounds: its parts are used again when all have begun the round after the one that showed them
///   (coll/recycled.hpp).
///
///   Order     number: sync coll.round. What was written before a round is shown is seen by who finds it begun; what a rank read
///             before it shows a round, it has read before who finds it begun writes there again.
///   Memory    128 bytes a set and rank; valid from zeroes: rounds count from 1.
///   Cost      to show: one line, and what the data take. To see: a line of each other's. Whoever shows a round then writes a word of
///             the next one's line, which nobody reads for it: the line is mostly its own again by the time it is needed.
///   Tests     test/coll_rounds_test.cpp, test/model/rounds_model_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <mpt/core/assert.hpp>
#include <mpt/core/atomics.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0::coll {

template <class Atomics = native_atomics> class rounds {
public:
    static constexpr std::size_t room = 96;

    struct alignas(line_pair) entry {
        typename Atomics::template atomic<std::uint64_t> number;
        std::uint64_t call, size; // what the rank has called: of two that differ, one finds it out
        std::uint32_t where;      // in other memory, that goes with the round
        std::uint32_t next;       // not read
        std::array<std::byte, room> data;
    };
    static_assert(sizeof(entry) == line_pair && offsetof(entry, data) == 32);

private:
    std::vector<entry*> of_; // by rank
    std::size_t me_;
    std::uint64_t sets_, ahead_;
    std::uint64_t next_ = 1;  // not shown yet
    std::uint64_t begun_ = 0; // by all, as far as we know

public:
    /// sets: a power of two, the same at all ranks. entries: where each rank's `sets` of them begin.
    rounds(std::vector<entry*> entries, rank me, std::uint64_t sets) noexcept
        : of_{std::move(entries)}, me_{static_cast<std::size_t>(me)}, sets_{sets},
          ahead_{std::min<std::uint64_t>(8, sets / 2)} {
        MPT_ASSERT(cheap, std::has_single_bit(sets));
    }

    static constexpr std::size_t bytes(std::uint64_t sets) noexcept { return sets * sizeof(entry); }
    std::size_t bytes() const noexcept { return bytes(sets_); }
    std::uint64_t sets() const noexcept { return sets_; }
    /// The round that is shown next.
    std::uint64_t next() const noexcept { return next_; }
    std::uint64_t last() const noexcept { return next_ - 1; }
    /// Where this rank writes what it shows next, once it may.
    entry& own() const noexcept { return of_[me_][next_ & (sets_ - 1)]; }

    /// The round that all others must have begun before memory is written that round `used` showed; 0: it may be written.
    std::uint64_t awaited_since(std::uint64_t used) const noexcept {
        if (begun_ > used) [[likely]]
            return 0;
        return std::max(used + 1, next_ > ahead_ ? next_ - ahead_ : 0);
    }
    /// The same of what was shown `kept` rounds ago.
    std::uint64_t awaited(std::uint64_t kept) const noexcept { return next_ <= kept ? 0 : awaited_since(next_ - kept); }
    entry& at(std::int32_t q, std::uint64_t number) const noexcept {
        return of_[static_cast<std::size_t>(q)][number & (sets_ - 1)];
    }
    bool has_begun(std::int32_t q, std::uint64_t number) const noexcept {
        return at(q, number).number.load(std::memory_order_acquire) >= number; // sync(coll.round): acquire
    }
    /// has_begun() said yes of every other rank.
    void all_have_begun(std::uint64_t number) noexcept { begun_ = std::max(begun_, number); }

    void show(std::uint64_t call, std::uint64_t size, std::uint32_t where = 0) noexcept {
        auto& e = own();
        e.call = call, e.size = size, e.where = where;
        e.number.store(next_++, std::memory_order_release); // sync(coll.round): release
        own().next = 1;                                     // where others may still read the rest of it
    }
    /// What a rank showed in our last round, which it has begun.
    entry const& of(std::int32_t q) const noexcept { return at(q, last()); }
};

} // namespace mpt::inline v0::coll
