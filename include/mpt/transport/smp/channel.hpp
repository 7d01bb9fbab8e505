/// smp/channel - all that one rank keeps of one peer: both rings and the turn line, in frame order.
///
///        writer                                          reader
///        my turn?  -- yes: turn line ----.               turn line, unless it is my turn ----.
///           | no                         v                  | not there                      v
///        ring: room? -- yes ----------> number n, n+2, ...  ring: front ----------------> number == expected: take
///           | no
///        falsy: again
///
///   The number in a line is the frame's place in its direction, so that what was written to the ring before a turn came back
///   is read before what was written to the turn line after, and the reverse.
///
///   Memory   128 bytes, private; one line holds what a send touches, the other what a receive touches.
///   Tests    test/transport_smp_channel_test.cpp, test/model/turn_line_model_test.cpp
#pragma once
#include <mpt/transport/smp/ring.hpp>
#include <mpt/transport/smp/turn_line.hpp>

namespace mpt::inline v0::smp {

/// A line to write, and the number to publish it with.
template <class Atomics> struct slot {
    line<Atomics>* at = nullptr;
    std::uint64_t number = 0;
};

/// Far: what the owner keeps of the peer's side beside the rings (its lane block); the channel only carries the pointer, on the
/// line that a send touches anyway.
template <class Atomics = native_atomics, class Far = void> class alignas(line_pair) channel {
    using line_type = line<Atomics>;

    // what a send touches (the turn line's half too)
    turn_line<Atomics> turn_;
    ring_writer<Atomics> out_;
    std::uint64_t next_ = 0; // number of the next frame out
    Far* far_ = nullptr;
    // what a receive touches
    alignas(cache_line) std::uint64_t expected_ = 0; // number of the next frame in
    ring_reader<Atomics> in_;

public:
    channel() = default;
    /// A channel without rings: sends nothing, finds nothing. `before`: frames said to have gone already, in each direction.
    channel(line_type& nothing, direction out, direction in, std::uint64_t before) noexcept
        : turn_{nothing, false}, next_{first_number(out, before)}, expected_{first_number(in, before)}, in_{nothing} {}

    void attach(ring_writer<Atomics> w) noexcept { out_ = w; }
    void attach(ring_reader<Atomics> r) noexcept { in_ = r; }
    void attach(turn_line<Atomics> t) noexcept { turn_ = t; }
    void attach(Far* far) noexcept { far_ = far; }
    Far* far() const noexcept { return far_; }
    /// What the board shows once the next frame is out: one more than before, whatever came before.
    std::uint32_t next_count() const noexcept { return count_of(next_); }
    bool sends() const noexcept { return out_.attached(); }
    bool receives() const noexcept { return in_.attached(); }

    /// Where the next frame goes; nothing: no room now. The slot must be published, be it as padding. The lower rank may get its
    /// first turn before it has looked the peer up; then there is nobody to wake yet, and it must do that first.
    [[gnu::always_inline]] slot<Atomics> reserve() noexcept {
        line_type* const at = our_turn() ? turn_.claim() : out_.reserve();
        if (at == nullptr) [[unlikely]]
            return {};
        slot<Atomics> const s{at, next_};
        next_ += number_step;
        return s;
    }

    /// Will the next reserve() give the turn line?
    bool our_turn() const noexcept { return turn_.mine() && far_ != nullptr; }
    /// The turn line, which takes a longer frame in one piece. Only when our_turn().
    slot<Atomics> reserve_turn() noexcept { return {turn_.claim(), std::exchange(next_, next_ + number_step)}; }

    /// n cells of the ring, for one frame, which is published in the first; none: not so many are free.
    cell_run<Atomics> reserve_cells(std::uint32_t n, std::uint64_t& number) noexcept {
        auto const cells = out_.reserve(n);
        if (cells) number = std::exchange(next_, next_ + number_step);
        return cells;
    }
    /// For `use`, below: the ring that its line is the front of; and the frame takes n cells more.
    ring_reader<Atomics> const& in() const noexcept { return in_; }
    void skip(std::uint32_t n) noexcept { in_.skip(n); }

    /// Hands the next frame to `use(line&)`, if it has come. While `use` runs, the line is still the frame's: the sender's
    /// credit, and our turn, come after. Calls room() when the sender, who may sleep over a full ring, was told of new room.
    template <class Use, class Room>
    [[gnu::always_inline]] bool take(Use&& use, Room&& room, look how = look::loading) noexcept {
        bool const turn = turn_.found(expected_, how);
        line_type& l = turn ? turn_.front() : in_.front();
        if (!turn && !l.holds(expected_)) return false;
        use(l); // in one place: it is large, and is to be inlined
        if (turn) turn_.pop();
        else if (in_.pop()) [[unlikely]] room();
        expected_ += number_step;
        return true;
    }
    /// Shows the next frame's line to `see(line&)`, if it has come; it stays where it is. A look that turn_line leaves out is made by a load.
    template <class See> [[gnu::always_inline]] bool peek(See&& see, look how = look::loading) noexcept {
        bool const turn = turn_.found(expected_, how) || (how == look::owning && turn_.found(expected_));
        line_type& l = turn ? turn_.front() : in_.front();
        if (!turn && !l.holds(expected_)) return false;
        see(l);
        return true;
    }
};
static_assert(sizeof(channel<>) == line_pair);

} // namespace mpt::inline v0::smp
