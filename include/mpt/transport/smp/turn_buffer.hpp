/// smp/turn_buffer - one buffer that both ranks of a pair write by turns: what the turn line is to frames, it is to loans.
///
///        has the turn                                         has it not
///        ------------                                         ----------
///        lend, write; its frame, on the turn line   ------>   reads, and takes each line as its own
///        has it not                                           gives back: has the turn
///        reads, and takes each line as its own      <------   lend, write lines that are here; its frame, on the turn line
///
///   Why it is faster: of a buffer that only one rank writes, the reader keeps copies, and a line cannot be written again before its
///   copy is gone: a question and an answer between the cores for each line, beside the transfer itself.
///
///   Whose it is needs no word of its own: the turn comes to a reader when it gives the loan back. A message that nobody waits for lies
///   in the buffer, and the turn stays where it is; meanwhile all goes by the rings, and by other loans.
///
///   Wire     ref = 1 << 63 | (offset of the buffer in its slice / 128) << 24 | it is the reader's slice << 23 | generation
///   Order    the data by the frame that carries the ref (sync smp.frame), of later pieces by sync smp.piece. The reads come before the
///            reader's next frame on the turn line, which the other acquires before it writes again.
///   Memory   none at first. Who has the first turn with a loan to make takes a buffer of its own; it is the pair's until one of the two
///            needs a longer one. A rank makes at most 16 short ones, 8 of up to 512 KiB and 4 longer ones: where there is too little memory for
///            those, there are the others.
///   Cost     half way, AMD EPYC, Zen 4, in place of a buffer for each direction: 8 KiB 0.44 for 1.26 us, 64 KiB 2.4 for 9.3 us;
///            without a cache in common 1.6 for 6.4 and 6.2 for 37 us. origin: bare program of this shape
///   Tests    test/transport_smp_turn_buffer_test.cpp, test/model/turn_buffer_model_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include <mpt/transport/smp/pool.hpp>

namespace mpt::inline v0::smp {

/// One rank's half, for all its peers.
template <class Atomics = native_atomics> class turn_buffers {
public:
    using buffer = loan_buffer<Atomics>;
    static constexpr std::uint32_t generations = buffer::generations / 2;
    static constexpr loan_ref by_turns = loan_ref{1} << 63, with_reader = generations;

    static constexpr bool is_one(loan_ref r) noexcept { return (r & by_turns) != 0; }
    static constexpr bool is_with_reader(loan_ref r) noexcept { return (r & with_reader) != 0; }
    static constexpr std::uint32_t generation_of(loan_ref r) noexcept { return static_cast<std::uint32_t>(r % generations); }

    struct lent {
        buffer* at = nullptr; // nullptr: none is to be had
        loan_ref ref = 0;     // as its reader takes it
        std::uint32_t generation = 0;
    };

private:
    struct entry {
        buffer* at = nullptr;
        std::size_t room = 0;
        std::uint64_t offset = 0;
        std::uint32_t generation = 0;
        std::uint32_t place = none; // ours: in its pool
        std::size_t pool = 0;
    };
    static constexpr std::uint32_t none = loan_pool<Atomics>::none;
    static constexpr std::size_t middle = 512_KiB;
    std::vector<entry> of_;                   // by rank
    std::array<loan_pool<Atomics>, 3> pools_; // of rising sizes, or none

public:
    /// Buffers of up to two sizes, and of one between them; generations start at `first`.
    turn_buffers(std::size_t ranks, std::size_t short_size, std::size_t long_size, std::uint32_t first)
        : of_(ranks), pools_{{{16, short_size, first}, {8, std::min(middle, long_size), first}, {4, long_size, first}}} {
        for (auto& e : of_) e.generation = first % generations;
    }

    std::size_t most() const noexcept { return std::max(pools_.front().size(), pools_.back().size()); }

    /// The pair's buffer, for a loan of n bytes. Only in our turn. `extend` as a pool has it; `refer(buffer)`: its offset in our slice.
    template <class Extend, class Refer> lent lend(std::size_t p, std::size_t n, Extend&& extend, Refer&& refer) noexcept {
        auto& e = of_[p];
        if (n > e.room) [[unlikely]]
            if (!take(e, n, extend, refer)) return {};
        e.generation = (e.generation + 1) % generations;
        auto const reader = e.place == none ? with_reader : 0;
        return {e.at, by_turns | buffer::refer(e.offset, static_cast<std::uint32_t>(reader) | e.generation), e.generation};
    }

    /// A loan of the peer's has been read: its buffer, of `room` bytes, is the pair's from now on.
    void note(std::size_t p, loan_ref r, buffer& at, std::size_t room) noexcept {
        auto& e = of_[p];
        e.generation = generation_of(r);
        if (&at == e.at || is_with_reader(r)) return;
        drop(e);
        e.at = &at;
        e.room = room;
        e.offset = buffer::offset_of(r & ~by_turns);
    }

private:
    template <class Extend, class Refer> bool take(entry& e, std::size_t n, Extend& extend, Refer& refer) noexcept {
        auto const fitting = std::ranges::find_if(pools_, [n](auto const& p) { return n <= p.size(); });
        if (fitting == pools_.end()) return false;
        auto const place = fitting->lend(extend);
        if (place == none) return false;
        drop(e);
        e.at = &fitting->at(place);
        e.at->room = e.room = fitting->size();
        e.offset = refer(*e.at);
        e.place = place;
        e.pool = static_cast<std::size_t>(fitting - pools_.begin());
        return true;
    }
    void drop(entry& e) noexcept {
        if (e.place != none) pools_[e.pool].revoke(e.place);
        e.place = none;
    }
};

} // namespace mpt::inline v0::smp
