/// smp/pool - E1: buffers of the sender's that the receiver reads in place.
///
///        sender                                                receiver
///        ------                                                --------
///        free (returned == generation)
///          | lend: ++generation
///          v
///        lent: memory written, frame {ref} committed  ----->   borrow(ref): reads in place, now or much later
///          |                                                     | give back: returned = generation of the ref
///          v      <--- seen at the next lap -----------------    v
///        free
///
///        a buffer        +------------------+----------------+----------------------------+
///        in the slice    | returned (a line)| shown (a line) | size bytes                 |
///                        +------------------+----------------+----------------------------+
///                          the receiver writes  the sender writes
///
///   Some loans are read while they are written: the frame goes when the first piece is there, and `shown` says how far the sender is.
///
///   The receiver alone writes `returned` and the sender alone reads it, so a loan costs one transfer of that line; the
///   generation that a loan was made in stays private to the sender and travels in the reference. Buffers are taken in turn:
///   the one looked at was lent longest ago, and while it is handed out the next one's line is already on its way here.
///
///   Wire     ref = (offset of the buffer in the slice / 128) << 24 | generation. Checked against the slice on arrival.
///   Order    the data by the frame that carries the ref (sync smp.frame), of later pieces by sync smp.piece; the way back: sync
///            smp.loan.
///   Laps     What the reader has in its cache is slow to write again, and faster where other lines have driven it out to a common one. So
///            the pool grows, too, each time that its buffers were lent 15 or 16 times, to `lap` buffers: by then a buffer has gained as much as
///            its pages cost both ranks (0.6 ms a MiB; 0.3 us a loan of 4 KiB). But while `few` were enough, by need alone: what is
///            written when the last ones have been read stays in the caches then, and in one where the ranks share a CPU. They were too few
///            when there are twice as many, for it doubles.
///   Memory   none at first; grows by doubling, later by less, where much memory is free. Never gives back.
///   Cost     lend and give back are O(1): at most `glances` buffers are looked at in one call.
///   Tests    test/transport_smp_pool_test.cpp, test/model/loan_model_test.cpp
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mpt/core/processor.hpp>
#include <mpt/transport/smp/layout.hpp>

namespace mpt::inline v0::smp {

using loan_ref = std::uint64_t;

template <class Atomics = native_atomics> struct alignas(line_pair) loan_buffer {
    typename Atomics::template atomic<std::uint32_t> returned;                  // generation of the last loan that came back
    alignas(cache_line) typename Atomics::template atomic<std::uint64_t> shown; // generation, and bytes that are written
    std::uint64_t room;                                                         // of a passed buffer: its bytes, for the peer
    alignas(line_pair) std::byte data[line_pair];                               // `size` of them

    static constexpr std::uint32_t generations = 1u << 24;

    static constexpr std::size_t bytes_for(std::size_t size) noexcept {
        return line_pair + (size + line_pair - 1) / line_pair * line_pair;
    }
    void give_back(std::uint32_t generation) noexcept {
        returned.store(generation, std::memory_order_release); // sync(smp.loan): release
    }
    bool came_back(std::uint32_t generation) const noexcept {
        return returned.load(std::memory_order_acquire) == generation; // sync(smp.loan): acquire
    }

    /// Nothing is written yet. A word of an earlier loan is told by its generation, unless they have all been used since.
    void begin(std::uint32_t generation) noexcept {
        if (shown.load(std::memory_order_relaxed) >> 32 != generation) return; // order: our own word
        shown.store(0, std::memory_order_relaxed); // order: the frame, which goes next, publishes it (sync smp.frame)
    }
    /// The first n bytes are written.
    void show(std::uint32_t generation, std::size_t n) noexcept {
        shown.store(std::uint64_t{generation} << 32 | n, std::memory_order_release); // sync(smp.piece): release
    }
    std::size_t shows(std::uint32_t generation) const noexcept {
        auto const word = shown.load(std::memory_order_acquire); // sync(smp.piece): acquire
        return word >> 32 == generation ? static_cast<std::uint32_t>(word) : 0;
    }

    static constexpr loan_ref refer(std::uint64_t offset, std::uint32_t generation) noexcept {
        return offset / line_pair * generations | generation;
    }
    static constexpr std::uint64_t offset_of(loan_ref r) noexcept { return r / generations * line_pair; }
    static constexpr std::uint32_t generation_of(loan_ref r) noexcept { return static_cast<std::uint32_t>(r % generations); }

    /// The buffer that a peer's reference names, or nullptr when no buffer of n bytes can lie there.
    static loan_buffer* resolve(slice_view const& owner, loan_ref r, std::size_t n) noexcept {
        auto const offset = offset_of(r);
        if (offset == 0 || n > owner.size || !owner.holds(offset, line_pair + n)) return nullptr;
        return reinterpret_cast<loan_buffer*>(owner.at(offset));
    }
};
static_assert(offsetof(loan_buffer<>, data) == line_pair);

/// The sender's private half.
template <class Atomics = native_atomics> class loan_pool {
public:
    using buffer = loan_buffer<Atomics>;
    static constexpr std::uint32_t none = ~0u, laps_before_more = 16;

private:
    struct entry {
        buffer* at;
        std::uint32_t generation;
    };
    static constexpr std::uint32_t glances = 8;
    static constexpr std::size_t foreseen = 2048;  // longer runs are not waited for line by line
    static constexpr std::uint32_t patience = 256; // loans refused in vain before memory is asked for again: asking reads files

    std::vector<entry> entries_;
    std::uint32_t cursor_ = 0;
    std::uint32_t most_ = 0;
    std::uint32_t first_ = 0;
    std::uint32_t pause_ = 0; // loans to refuse before the next question
    std::uint32_t lap_ = 0, few_ = 0;
    std::uint32_t laps_ = 0; // since it has grown
    std::size_t size_ = 0;

public:
    loan_pool() = default;
    /// most buffers of `size` bytes; generations start at `first`. lap: so many are had where there is much to lend, once `few` were too few.
    loan_pool(std::uint32_t most, std::size_t size, std::uint32_t first, std::uint32_t lap = 0, std::uint32_t few = 0)
        : most_{most}, first_{first % buffer::generations}, lap_{std::min(lap, most)}, few_{few}, size_{size} {
        entries_.reserve(most);
    }

    std::size_t size() const noexcept { return size_; }
    std::size_t made() const noexcept { return entries_.size(); }
    buffer& at(std::uint32_t i) const noexcept { return *entries_[i].at; }
    std::uint32_t generation(std::uint32_t i) const noexcept { return entries_[i].generation; }

    /// A free buffer, now lent, or none. `extend(bytes)` gives zeroed shared memory, or an empty span.
    template <class Extend> std::uint32_t lend(Extend&& extend) noexcept {
        auto i = find();
        if (i == none || laps_ >= laps_before_more) [[unlikely]]
            if (auto const more = grow(extend); more != none) i = more;
        if (i == none) return none;
        auto& e = entries_[i];
        e.generation = (e.generation + 1) % buffer::generations;
        cursor_ = i + 1;
        if (cursor_ == entries_.size()) cursor_ = 0, laps_ += 2 * few_ <= entries_.size() && entries_.size() < lap_;
        __builtin_prefetch(&entries_[cursor_].at->returned);
        return i;
    }
    /// Another loan of n bytes is likely to follow soon: the lines that it will be written to come here now, if it has come back.
    void foresee(std::size_t n) const noexcept {
        if (n > foreseen || cursor_ >= entries_.size()) return;
        auto const& e = entries_[cursor_];
        if (!e.at->came_back(e.generation)) return;
        for (std::size_t at = 0; at < n; at += cache_line) processor::fetch_to_write(e.at->data + at);
    }
    /// The loan was never sent.
    void revoke(std::uint32_t i) noexcept { entries_[i].at->give_back(entries_[i].generation); }

private:
    std::uint32_t find() noexcept {
        auto const n = static_cast<std::uint32_t>(entries_.size());
        for (auto k = std::min(n, glances); k != 0; --k) {
            auto const i = cursor_;
            if (entries_[i].at->came_back(entries_[i].generation)) return i;
            cursor_ = i + 1 < n ? i + 1 : 0;
        }
        return none;
    }
    template <class Extend> std::uint32_t grow(Extend&& extend) noexcept {
        auto const old = static_cast<std::uint32_t>(entries_.size());
        laps_ = 0;
        auto const more = std::min(std::clamp(old, 2u, std::max(16u, lap_ / 4)), most_ - old);
        if (more == 0) return none;
        if (pause_ != 0) return --pause_, none;
        auto const stride = buffer::bytes_for(size_);
        std::span<std::byte> const memory = extend(stride * more);
        if (memory.empty()) return pause_ = patience, none;
        for (std::uint32_t k = 0; k < more; ++k) {
            auto& b = *reinterpret_cast<buffer*>(memory.data() + k * stride);
            b.returned.store(first_, std::memory_order_relaxed); // order: no reference to this buffer exists yet
            entries_.push_back({&b, first_});
        }
        return old;
    }
};

} // namespace mpt::inline v0::smp
