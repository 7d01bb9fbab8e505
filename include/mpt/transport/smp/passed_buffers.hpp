/// smp/passed_buffers - buffers that two ranks pass to and fro: who has read one is the next to write it.
///
///        has it                                               has it not
///        ------                                               ----------
///        lend, write; the frame                     ------>   reads, and takes each line as its own
///        has it not                                           gives back: has it
///        reads, and takes each line as its own      <------   lends, writes lines that are here; the frame
///
///   Why it is faster: of a buffer that only one rank writes, the reader keeps copies, and a line cannot be written again before its
///   copy is gone: a question and an answer between the cores for each line, beside the transfer itself.
///
///   How many: ranks that answer each other pass one, ranks that send to each other at once exchange two. Who sends and hears of nothing as
///   long has none left after those that it may make, and takes other loans: it would have to fetch each line from the reader first.
///
///   Whose a buffer is needs no word of its own: it comes with the loan. A message that nobody waits for lies in its buffer.
///
///   Wire     ref = 1 << 63 | (offset of the buffer in its slice / 128) << 24 | it is the reader's slice << 23 | generation
///   Order    the data by the frame that carries the ref (sync smp.frame), of later pieces by sync smp.piece. Who has read writes next, so
///            its reads come before its writes; and the peer, which has the buffer no more, does neither until its frame is here. So a reader
///            has the buffer only when all of the loan is written, however little it wants of it.
///   Memory   none at first. For a peer a rank makes two short ones, one of up to 512 KiB and one longer, and for all of them 16, 8 and 4; where
///            there is too little memory there are fewer. They are the pair's until the end, whether it needs them or not.
///   Cost     half way, AMD EPYC, Zen 4, in place of a buffer for each direction: 8 KiB 0.44 for 1.26 us, 64 KiB 2.4 for 9.3 us;
///            without a cache in common 1.6 for 6.4 and 6.2 for 37 us. origin: bare program of this shape
///   Tests    test/transport_smp_passed_buffers_test.cpp, test/model/passed_buffers_model_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <vector>

#include <mpt/transport/smp/pool.hpp>

namespace mpt::inline v0::smp {

/// One rank's half, for all its peers.
template <class Atomics = native_atomics> class passed_buffers {
public:
    using buffer = loan_buffer<Atomics>;
    static constexpr std::uint32_t generations = buffer::generations / 2;
    static constexpr loan_ref passed = loan_ref{1} << 63, with_reader = generations;

    static constexpr bool is_one(loan_ref r) noexcept { return (r & passed) != 0; }
    static constexpr bool is_with_reader(loan_ref r) noexcept { return (r & with_reader) != 0; }
    static constexpr std::uint32_t generation_of(loan_ref r) noexcept { return static_cast<std::uint32_t>(r % generations); }

    struct lent {
        buffer* at = nullptr; // nullptr: none is to be had
        loan_ref ref = 0;     // as its reader takes it
    };

private:
    static constexpr std::size_t lengths = 3, middle = 512_KiB;
    static constexpr std::uint8_t most_for_one = 2; // of the short ones, for one peer
    static constexpr std::uint32_t patience = 256; // loans refused in vain before memory is asked for again: asking reads files

    struct of_a_length {
        std::uint8_t made = 0, here = 0;
        std::array<lent, 2 * most_for_one> mine{}; // what came last is in this core's caches
    };
    using of_a_pair = std::array<of_a_length, lengths>;
    struct supply {
        std::size_t size;
        std::uint8_t for_one;    // of them may be made for one peer
        std::uint32_t left;      // to be made for all
        std::uint32_t pause = 0; // loans to refuse before the next question
    };

    std::vector<std::unique_ptr<of_a_pair>> of_; // by rank
    std::array<supply, lengths> supplies_;       // of rising sizes, or none
    std::uint32_t first_;

public:
    /// Buffers of up to two lengths, and of one between them; generations start at `first`.
    passed_buffers(std::size_t ranks, std::size_t short_size, std::size_t long_size, std::uint32_t first)
        : of_(ranks), supplies_{{{short_size, most_for_one, 16}, {std::min(middle, long_size), 1, 8}, {long_size, 1, 4}}},
          first_{first % generations} {}

    std::size_t most() const noexcept { return std::max(supplies_.front().size, supplies_.back().size); }

    /// One for a loan of n bytes; a longer one only where none of the length is here or can be made. `extend(bytes)` gives zeroed shared
    /// memory, or an empty span; `refer(buffer)`: its offset in our slice.
    template <class Extend, class Refer> lent lend(std::size_t p, std::size_t n, Extend&& extend, Refer&& refer) noexcept {
        auto i = length_for(n);
        auto* const pair = i < lengths ? find(p) : nullptr;
        if (!pair) [[unlikely]]
            return {};
        if ((*pair)[i].here == 0)
            if (auto const made = make((*pair)[i], supplies_[i], extend, refer); made.at) return made;
        for (; i != lengths; ++i)
            if (auto& all = (*pair)[i]; all.here != 0) return next(all.mine[--all.here]);
        return {};
    }

    /// A loan of the peer's has been read: the buffer is ours.
    void note(std::size_t p, loan_ref r, buffer& at) noexcept { keep(p, {&at, r ^ with_reader}); }
    /// One that was not sent still is.
    void keep(std::size_t p, lent const& l) noexcept {
        auto const i = length_for(l.at->room);
        auto* const pair = i < lengths ? find(p) : nullptr;
        if (!pair) return;
        if (auto& all = (*pair)[i]; all.here != all.mine.size()) all.mine[all.here++] = l;
    }

private:
    std::size_t length_for(std::size_t n) const noexcept {
        std::size_t i = 0;
        while (i != lengths && n > supplies_[i].size) ++i;
        return i;
    }
    of_a_pair* find(std::size_t p) noexcept {
        auto& pair = of_[p];
        if (!pair) [[unlikely]]
            pair.reset(new (std::nothrow) of_a_pair);
        return pair.get();
    }
    static lent next(lent const& l) noexcept {
        return {l.at, (l.ref & ~loan_ref{generations - 1}) | ((generation_of(l.ref) + 1) % generations)};
    }
    template <class Extend, class Refer> lent make(of_a_length& all, supply& s, Extend& extend, Refer& refer) noexcept {
        if (all.made == s.for_one || s.left == 0) return {};
        if (s.pause != 0) return --s.pause, lent{};
        std::span<std::byte> const memory = extend(buffer::bytes_for(s.size));
        if (memory.empty()) return s.pause = patience, lent{};
        ++all.made, --s.left;
        auto& b = *reinterpret_cast<buffer*>(memory.data());
        b.room = s.size;
        return next({&b, passed | buffer::refer(refer(b), first_)});
    }
};

} // namespace mpt::inline v0::smp
