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
///   Cost     62-85 ns half round trip against 134 for a ring (2-core x86 guest), where lines migrate; see look where not.
///   Tests    test/transport_smp_turn_line_test.cpp, test/model/turn_line_model_test.cpp
#pragma once
#include <string_view>
#include <utility>

#include <mpt/core/processor.hpp>
#include <mpt/transport/smp/line.hpp>

namespace mpt::inline v0::smp {

/// How a rank that waits looks at the line.
///   loading   by a load. The line comes shared, so that the answer must take it from the peer, a second transfer - unless the
///             processor guesses that we shall write, and hands it over as our own (migratory sharing).
///   owning    by a read-modify-write that changes nothing: the line comes as our own. A look that comes too early takes it from
///             a peer that is about to write, so there are rests between looks: without them 90 ns in place of 50.
enum class look : std::uint8_t { loading, owning };

/// What is faster on this processor, as far as it was measured (half round trip of the bare line / of 8 bytes through mpt):
///   AMD EPYC, Zen 5, a cache in common   loading 42-62 / 49 (with the ticket lock 54) ns    owning 29 / 30-51 (30-47) ns
///   AMD EPYC, Zen 5, two caches          loading 180-200 / 183 (192) ns                     owning 125 / 120 (120) ns
///   Intel Xeon, Granite Rapids           loading 63 ns, where a line for each direction takes 130: it does hand lines over
inline look natural_look() noexcept { return processor::is_of_amd() ? look::owning : look::loading; }
/// MPT_LOOK.
inline look look_of(std::string_view word) noexcept {
    return word == "owning" ? look::owning : word == "loading" ? look::loading : natural_look();
}

/// One rank's private half.
template <class Atomics = native_atomics> class turn_line {
public:
    using line_type = line<Atomics>;

private:
    line_type* at_ = nullptr;
    bool mine_ = false;
    bool just_written_ = false; // and not looked since

public:
    turn_line() = default;
    turn_line(line_type& at, bool first_turn) noexcept : at_{&at}, mine_{first_turn} {}

    bool mine() const noexcept { return mine_; }

    /// The line, to be written and published by the caller. Only when mine().
    line_type* claim() noexcept {
        mine_ = false;
        just_written_ = true;
        return at_;
    }
    /// Does the peer's frame `expected` lie in the line? Costs no look at the line while it is our turn.
    bool found(std::uint64_t expected) const noexcept { return !mine_ && at_->holds(expected); }
    /// The same, for who waits for this frame and will answer: see look. The first owning look after our own frame is left out:
    /// it would take the line back from a peer that has just got it (8 bytes: 36-52 ns in place of 30-39). An answer that is here
    /// already is found a rest later.
    bool found(std::uint64_t expected, look how) noexcept {
        if (mine_) return false;
        if (how == look::loading) return at_->holds(expected);
        return !std::exchange(just_written_, false) && at_->takes_over(expected);
    }
    line_type& front() const noexcept { return *at_; }

    /// The frame was read to its end: our turn.
    void pop() noexcept { mine_ = true; }
};

} // namespace mpt::inline v0::smp
