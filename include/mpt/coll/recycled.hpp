/// coll/recycled - memory of a rank that it shows in rounds, part after part, and again when nobody looks there any more.
///
///        0            at                          size        take(bytes, round): the part from `at` on, or from the beginning
///        |  3  | 4 | 5 |  1   |     2     |  gap  |           where it does not fit; and the last round that showed what lies there
///
///   The owner alone writes here and keeps the list of what it has shown; where a part lies stands in the entry of its round
///   (coll/rounds.hpp), so ranks whose sizes differ by mistake are not out of step.
///
///   A lap is some `in_lap` parts of the size that is asked for, or all there is: small parts stay in the first caches. Large ones had better
///   not: see node_room.
///
///   Order    parts are used in the order of the ring and so lie in the list from the oldest to the newest.
///   Limit    a part is at most a quarter of the memory. So it is never where the part of the round before lies, which others read
///            until they show the next round themselves: all of them may be waiting for us to show it.
///   Tests    test/coll_recycled_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <mpt/core/assert.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0::coll {

/// rounds, a power of two and at most Most: so many rounds after a part was shown, nobody looks at it any more, whatever the list says.
template <std::size_t Most> class recycled {
    struct use {
        std::uint64_t round = 0;
        std::size_t begin = 0, end = 0;
    };
    std::array<use, Most> uses_{};
    std::size_t oldest_ = 0, count_ = 0;
    std::size_t size_ = 0, at_ = 0, rounds_ = Most, in_lap_ = 32;

public:
    struct part {
        std::size_t at;
        std::uint64_t used; // the last round that showed what lies there; 0: none
    };

    recycled() = default;
    recycled(std::size_t bytes, std::size_t rounds) noexcept : recycled{bytes, rounds, 32} {}
    recycled(std::size_t bytes, std::size_t rounds, std::size_t in_lap) noexcept
        : size_{bytes}, rounds_{rounds}, in_lap_{in_lap} {}
    static constexpr std::size_t whole = ~std::size_t{0} / line_pair; // a lap of all there is

    /// Where so many bytes lie that round `round` is to show. lap: a lap may end after so many bytes.
    part take(std::size_t bytes, std::uint64_t round, std::size_t lap = ~std::size_t{0}) noexcept {
        auto const n = whole_lines(bytes);
        std::size_t over = 0;
        auto const p = find(n, lap, over);
        drop(over);
        if (count_ == rounds_) drop(1);
        uses_[(oldest_ + count_++) & (rounds_ - 1)] = {round, p.at, p.at + n};
        at_ = p.at + n;
        return p;
    }
    /// What take() would give.
    part next(std::size_t bytes, std::size_t lap = ~std::size_t{0}) const noexcept {
        std::size_t over = 0;
        return find(whole_lines(bytes), lap, over);
    }

private:
    static std::size_t whole_lines(std::size_t bytes) noexcept { return (bytes + line_pair - 1) / line_pair * line_pair; }
    /// i: from the oldest on.
    use const& kept(std::size_t i) const noexcept { return uses_[(oldest_ + i) & (rounds_ - 1)]; }
    void drop(std::size_t n) noexcept { oldest_ = (oldest_ + n) & (rounds_ - 1), count_ -= n; }
    /// over: so many uses lie there, or in what is left of the lap before.
    part find(std::size_t n, std::size_t lap, std::size_t& over) const noexcept {
        MPT_ASSERT(cheap, n != 0 && n <= size_ / 4);
        part p{at_, 0};
        bool const lap_is_long = (at_ / n >= in_lap_ || at_ >= lap) && count_ != 0 && kept(count_ - 1).begin >= n;
        if (at_ + n > size_ || lap_is_long) {
            for (; over < count_ && kept(over).begin >= at_; ++over) p.used = kept(over).round;
            p.at = 0;
        }
        for (; over < count_ && kept(over).begin < p.at + n && kept(over).end > p.at; ++over) p.used = kept(over).round;
        return p;
    }
};

} // namespace mpt::inline v0::coll
