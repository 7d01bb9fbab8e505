/// smp/turn_line - one line that both ranks of a pair write by turns: an answer costs one line transfer instead of two.
///
///        higher rank (has the first turn)            lower rank (the line lies in its slice)
///        --------------------------------            ---------------------------------------
///        mine                                        theirs
///          | claim, write, publish ---------------->   | found: read
///          v                                           v
///        theirs                                      mine
///          | found: read  <------------------------    | claim, write, publish
///          v                                           v
///        mine                                        theirs
///
///   Why it is faster: a ring's writer must first take the line from the reader that polls it, and the reader then fetches it
///   back. A line that the peer wrote last and we have read arrives in a state in which we may write it (migratory sharing),
///   so the answer needs one transfer only.
///
///   Whose turn it is needs no word of its own: I may write after I took the peer's frame from the line, until I have written.
///   A sender whose turn it is not uses the ring. The higher rank begins, because it is the one that must look the line up:
///   until it has, the lower rank, which owns the line, never writes it. A pair in which nobody ever answers stays on the ring
///   and pays nothing.
///
///   Order    number: sync smp.frame, both ways. My reads of the peer's frame come before my publish, which it acquires before
///            it writes again; so the payload needs no other hand-over.
///   Cost     62-85 ns half round trip against 134 for a ring (2-core x86 guest).
///   Tests    test/transport_smp_turn_line_test.cpp, test/model/turn_line_model_test.cpp
#pragma once
#include <mpt/transport/smp/line.hpp>

namespace mpt::inline v0::smp {

/// One rank's private half.
template <class Atomics = native_atomics> class turn_line {
public:
    using line_type = line<Atomics>;

private:
    line_type* at_ = nullptr;
    bool mine_ = false;

public:
    turn_line() = default;
    turn_line(line_type& at, bool first_turn) noexcept : at_{&at}, mine_{first_turn} {}

    bool mine() const noexcept { return mine_; }

    /// The line, to be written and published by the caller. Only when mine().
    line_type* claim() noexcept {
        mine_ = false;
        return at_;
    }
    /// Does the peer's frame `expected` lie in the line? Costs no look at the line while it is our turn.
    bool found(std::uint64_t expected) const noexcept { return !mine_ && at_->holds(expected); }
    line_type& front() const noexcept { return *at_; }

    /// The frame was read to its end: our turn.
    void pop() noexcept { mine_ = true; }
};

} // namespace mpt::inline v0::smp
