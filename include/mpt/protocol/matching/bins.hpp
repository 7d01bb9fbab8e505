/// protocol/matching/bins - the hash table under the matching: one bin for each (context, source, tag) that is in use.
///
///        key --hash--> bucket --> bin --> bin          a bin holds the entries of one key only: a key that collides walks
///                                  |                   bins, never another key's entries
///                                  +-- posted    ring of receives, in post order
///                                  `-- arrivals  ring of messages, in arrival order
///
///   Growth   linear hashing: when there are more bins than buckets, each new bin splits one bucket. No operation ever moves
///            the whole table, and no bucket array is thrown away: they are segments of 64, 64, 128, 256 ... buckets.
///   Reuse    a bin that runs empty stays: most keys come back. From spare_bins on, each new bin first looks through two
///            buckets, in turn, and takes empty bins out: a stream of keys that are used once holds about twice the bins that are in
///            use, and a rank that uses some hundred keys never loses one.
///   Memory   64 bytes a bin, 8 a bucket. The first buckets lie in the table itself: to make one cannot fail.
///   Cost     a dozen instructions when the key is the last one again, some 30 otherwise.
///   Limit    without memory the table does not grow but its chains do; with no bin to be had anywhere make() says nullptr.
///   Tests    test/protocol_matching_bins_test.cpp
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include <mpt/core/list.hpp>
#include <mpt/core/pool.hpp>
#include <mpt/core/types.hpp>

namespace mpt::inline v0::protocol {

/// What messages are matched by. source: a world rank; in what is wanted it may be any_source, and label any_tag.
struct envelope {
    context_id context{};
    rank source{};
    tag label{};

    // Member by member: the value is often made of three registers, or was put on the stack a moment ago (wire::put()); and compared
    // without a branch for each.
    void set(envelope const& e) noexcept { context = e.context, source = e.source, label = e.label; }
    friend constexpr bool operator==(envelope const& a, envelope const& b) noexcept {
        return a.context == b.context && ((a.source.value ^ b.source.value) | (a.label.value ^ b.label.value)) == 0;
    }
};
static_assert(sizeof(envelope) == 16);

/// All that goes by one key. One cache line.
struct alignas(cache_line) bin {
    envelope key;
    bin* chain = nullptr; // the next bin of its bucket
    list_node posted;
    list_node arrivals;
    std::uint32_t hash;

    bin(envelope const& k, std::uint32_t h) noexcept : key{k}, hash{h} {
        posted.close();
        arrivals.close();
    }
    bool unused() const noexcept { return posted.alone() && arrivals.alone(); }
};
static_assert(sizeof(bin) == cache_line);

class bin_table {
    static constexpr std::uint32_t first_buckets = 64;
    static constexpr std::uint32_t spare_bins = 1024;
    static constexpr std::size_t most_segments = 21; // 64 << 20 buckets; beyond, chains grow

public:
    explicit bin_table(memory_source source) noexcept : source_{source}, store_{source} { segment_[0] = first_.data(); }
    bin_table(bin_table const&) = delete;
    bin_table& operator=(bin_table const&) = delete;

    /// The key's bin if it is the one used last, else nullptr: the part to inline.
    bin* recent(envelope const& key) noexcept { return last_->key == key ? last_ : nullptr; }
    /// The key's bin, or nullptr: it has none.
    bin* find(envelope const& key) noexcept {
        auto* const b = recent(key);
        return b ? b : search(key, hash_of(key));
    }
    /// The key's bin, made if need be; nullptr: no memory. Takes away bins that are not in use: hold no other one empty.
    bin* make(envelope const& key) noexcept {
        if (auto* const b = recent(key)) return b;
        auto const hash = hash_of(key);
        if (auto* const b = search(key, hash)) return b;
        return create(key, hash);
    }

    std::uint32_t bins() const noexcept { return bins_; }
    std::uint32_t buckets() const noexcept { return buckets_; }

    /// Calls f(bin) for every bin, those not in use too. `see` turns our owner's addresses into this process's, nullptr where
    /// it cannot; see matching::each_posted.
    template <class F, class See> void each(F&& f, See const& see) const {
        auto left = bins_; // an owner that still runs may close a chain to a ring under our eyes
        for (std::uint32_t i = 0; i < buckets_; ++i) {
            auto const* const segment = see(segment_[segment_of(i)]);
            if (!segment) continue;
            for (auto const* b = see(segment[within(i)]); b && left; b = see(b->chain), --left) f(*b);
        }
    }

    /// Spreads keys that differ in few places (ranks in steps, running tags) over the low bits: the top of a product depends on
    /// every bit of its factors, so the bytes are turned round.
    static std::uint32_t hash_of(envelope const& k) noexcept {
        auto const pair =
            std::uint64_t{static_cast<std::uint32_t>(k.source.value)} << 32 | static_cast<std::uint32_t>(k.label.value);
        auto const mixed = (static_cast<std::uint64_t>(k.context) ^ pair * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
        return static_cast<std::uint32_t>(__builtin_bswap64(mixed));
    }

private:
    static constexpr std::size_t segment_of(std::uint32_t i) noexcept {
        return static_cast<std::size_t>(std::bit_width(i | (first_buckets - 1))) - std::bit_width(first_buckets - 1);
    }
    /// Segment s > 0 begins at bucket 32 << s and is as long as that.
    static constexpr std::uint32_t within(std::uint32_t i) noexcept { return i < first_buckets ? i : i - std::bit_floor(i); }
    bin*& bucket(std::uint32_t i) noexcept {
        if (i < first_buckets) [[likely]]
            return first_[i];
        return segment_[segment_of(i)][within(i)];
    }
    std::uint32_t bucket_of(std::uint32_t hash) const noexcept {
        auto const i = hash & mask_;
        return i < buckets_ ? i : i & (mask_ >> 1); // its bucket is not split yet
    }

    bin* search(envelope const& key, std::uint32_t hash) noexcept {
        for (auto* b = bucket(bucket_of(hash)); b; b = b->chain)
            if (b->key == key) return last_ = b;
        return nullptr;
    }

    [[gnu::noinline]] bin* create(envelope const& key, std::uint32_t hash) noexcept {
        if (bins_ >= spare_bins) sweep(2, 2);
        auto* b = store_.create(key, hash);
        if (!b) [[unlikely]] {
            if (!sweep(buckets_, 1)) return nullptr;
            b = store_.create(key, hash);
        }
        if (++bins_ > buckets_) split();
        auto& head = bucket(bucket_of(hash));
        b->chain = head;
        head = b;
        return last_ = b;
    }

    /// Goes on from where it stopped over at most `most` buckets, until `enough` unused bins are free. True: at least one is.
    /// May take last_ away: create(), the only caller, then has a bin and makes it the last.
    bool sweep(std::uint32_t most, std::uint32_t enough) noexcept {
        std::uint32_t freed = 0;
        for (; most && freed < enough; --most) {
            hand_ = hand_ + 1 < buckets_ ? hand_ + 1 : 0;
            for (auto** at = &bucket(hand_); *at;) {
                auto* const b = *at;
                if (!b->unused()) {
                    at = &b->chain;
                    continue;
                }
                *at = b->chain;
                store_.destroy(b);
                --bins_;
                ++freed;
            }
        }
        return freed != 0;
    }

    /// One bucket more: half of an old one's keys move into it.
    void split() noexcept {
        auto const fresh = buckets_;
        auto const s = segment_of(fresh);
        if (s == most_segments) return;
        if (!segment_[s] && !(segment_[s] = static_cast<bin**>(source_(std::size_t{fresh} * sizeof(bin*), cache_line)))) return;
        mask_ = std::bit_ceil(++buckets_) - 1;
        auto const upper = std::bit_floor(fresh); // the bit that tells the two halves apart
        auto* b = std::exchange(bucket(fresh - upper), nullptr);
        while (b) {
            auto& to = bucket(b->hash & upper ? fresh : fresh - upper);
            auto* const rest = std::exchange(b->chain, to);
            to = b;
            b = rest;
        }
    }

    // Of a key that no message has, so that last_ is never null.
    bin nowhere_{{context_id{}, rank{std::numeric_limits<std::int32_t>::min()}, tag{std::numeric_limits<std::int32_t>::min()}},
                 0};
    bin* last_ = &nowhere_; // used last: the next operation is often on the same key
    std::uint32_t mask_ = first_buckets - 1, buckets_ = first_buckets;
    std::uint32_t bins_ = 0, hand_ = 0;
    memory_source source_;
    slab<bin> store_;
    std::array<bin*, first_buckets> first_{};
    std::array<bin**, most_segments> segment_{};
};

} // namespace mpt::inline v0::protocol
