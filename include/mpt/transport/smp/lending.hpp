/// smp/lending - loans of one rank to the peers of its node: from its pools, and passed to and fro; how they are written and read.
///
///   Tests    test/transport_smp_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <mpt/core/crossing.hpp>
#include <mpt/transport/smp/neighbours.hpp>
#include <mpt/transport/smp/passed_buffers.hpp>

namespace mpt::inline v0::smp {

/// Loans of up to so many bytes have buffers of their own, of which many lie in a few pages. The buffers are twice as long: what the
/// reader's core fetches ahead of what it reads is then nothing that the sender writes.
/// origin: windows of 64, AMD EPYC, Zen 4, in place of buffers of 128 KiB: 512 B and 1 KiB 10 and 18 % faster in buffers of 2 KiB (1 KiB 3 % in
/// those of 4 KiB); 2 KiB 4 % in those of 4 KiB, a fifth slower in those of 2 KiB
inline constexpr std::size_t short_loan = 1_KiB;

/// Longer ones have buffers of the next of these lengths, or of MPT_LOAN_BYTES, but where that says that memory is dear: so many times MPT_LOANS
/// of them that more is written than the reader's second cache holds before memory is used again (smp/pool.hpp), and of the longest no more than a
/// common cache holds. That many where two ranks are, or where a rank sends more at once than what all do with each other takes.
/// origin: windows of 64 one way / both ways, AMD EPYC, Zen 4, 1 MiB of second cache, CPUs near, GB/s: 4 KiB in 64 buffers of 128 KiB 5.4 / 9.7,
/// in 128, 512, 1024 of 4 KiB 7.1 / 11, 18.6 / 20, 13.8 / 15; 8 KiB 6.1 / 12, and in 128, 256, 512 of 16 KiB 13 / 26, 26 / 28, 24 / 26;
/// 16 KiB 7.4 / 22, and 27 / 27; 32 KiB 25 / 28, in 64 of 64 KiB 29 / 33; 128 KiB in 64 of 128 KiB 28 / 12, in 16 33 / 18.
/// CPUs far: 4 KiB 2.6 / 3.9, and 5.3 / 4.8. Alltoall of 64 KiB, 4 and 8 ranks, so / by need: 283 and 1168 / 31 and 259 us. Two of four ranks
/// on two such CPUs, by need / so: 4 KiB 7.4 / 24 and 13 / 28, 8 KiB 8.1 / 29 and 16 / 21, 16 KiB 11 / 34 and 25 / 36, 128 KiB 15 / 34 and 29 / 29
struct loan_length {
    std::size_t bytes;
    std::uint32_t times;
};
inline constexpr std::size_t lengths_from = 64_KiB, longest_lap = 4_MiB;
inline constexpr std::array<loan_length, 2> loan_lengths{{{4_KiB, 8}, {16_KiB, 4}}};

/// The part of transport::smp's endpoint that lends (transport_lending and what refines it), over its peers and its slice.
template <class World> class lending {
    using atomics = typename World::atomics;
    using buffer_type = loan_buffer<atomics>;
    using passed_type = passed_buffers<atomics>;

protected:
    using peers_type = neighbours<World>;
    peers_type peers_;
    mem::slice_heap& heap_;

private:
    loan_pool<atomics> long_, short_;
    std::array<loan_pool<atomics>, loan_lengths.size()> between_;
    passed_type passed_;
    std::vector<crossing> ways_; // by rank

public:
    /// A buffer of this rank, or of the pair, for one peer to read.
    class [[nodiscard]] loan {
        friend lending;
        std::span<std::byte> memory_{};
        loan_ref ref_ = 0;
        buffer_type* at_ = nullptr;
        std::uint32_t generation_ = 0;
        rank to_ = any_source; // of a passed one
        loan(buffer_type& at, std::size_t n, loan_ref ref, std::uint32_t generation, rank to = any_source) noexcept
            : memory_{at.data, n}, ref_{ref}, at_{&at}, generation_{generation}, to_{to} {}

    public:
        loan() = default;
        explicit operator bool() const noexcept { return ref_ != 0; }
        std::span<std::byte> memory() noexcept { return memory_; }
        std::uint64_t ref() const noexcept { return ref_; }
    };

    lending(lane_context<World> const& c, settings const& s, std::uint32_t first)
        : peers_{c, s, first}, heap_{c.heap}, long_{s.loans, s.loan_bytes, first, lap_of_long(s), few(peers_.size())},
          short_{s.loans, s.loan_bytes >= 8 * short_loan ? 2 * short_loan : 0, first},
          passed_{peers_.size(), s.loan_bytes, s.long_loan, first}, ways_(peers_.size()) {
        if (s.loan_bytes < lengths_from) return;
        for (std::size_t i = 0; i < between_.size() && loan_lengths[i].bytes <= s.loan_bytes; ++i) {
            auto const [bytes, times] = loan_lengths[i];
            between_[i] = {times * s.loans, bytes, first, times * s.loans, few(peers_.size())};
        }
    }

    std::size_t max_loan() noexcept { return long_.size(); }
    loan lend(rank, std::size_t n) noexcept {
        if (n > long_.size()) return {};
        auto& first = pool_for(n);
        if (auto l = lend(first, n)) return l;
        return &first != &long_ ? lend(long_, n) : loan{};
    }
    /// All from the one pool: parts of messages are few at a time, and of all lengths.
    loan lend_part(rank, std::size_t n) noexcept { return n <= long_.size() ? lend(long_, n) : loan{}; }
    void foresee(std::size_t n) noexcept { pool_for(n).foresee(n); }
    void begin(loan& l) noexcept { l.at_->begin(l.generation_); }
    void show(loan& l, std::size_t n) noexcept { l.at_->show(l.generation_, n); }
    std::size_t shown(rank p, std::uint64_t ref) noexcept {
        auto const* b = buffer_at(p, ref, 0);
        return b ? b->shows(generation_of(ref)) : 0;
    }
    void revoke(loan&& l) noexcept {
        auto const ref = std::exchange(l.ref_, 0);
        if (ref == 0) return;
        if (is_passed(ref)) passed_.keep(static_cast<std::size_t>(l.to_), {l.at_, ref});
        else l.at_->give_back(l.generation_);
    }
    /// Empty: the reference cannot be one of the peer's.
    std::span<std::byte const> borrow(rank p, std::uint64_t ref, std::size_t n) noexcept {
        auto const* b = buffer_at(p, ref, n);
        return b ? std::span<std::byte const>{b->data, n} : std::span<std::byte const>{};
    }
    void give_back(rank p, std::uint64_t ref) noexcept {
        auto* b = buffer_at(p, ref, 0);
        if (!b) return;
        if (!is_passed(ref)) return b->give_back(generation_of(ref));
        if (buffer_at(p, ref, b->room)) passed_.note(static_cast<std::size_t>(p), ref, *b);
    }

    std::size_t max_passed() noexcept { return passed_.most(); }
    loan lend_passed(rank p, std::size_t n) noexcept {
        auto const l =
            passed_.lend(static_cast<std::size_t>(p), n, spare(), [this](auto& b) { return heap_.refer(&b).offset; });
        return l.at ? loan{*l.at, n, l.ref, passed_type::generation_of(l.ref), p} : loan{};
    }
    static constexpr bool is_passed(std::uint64_t ref) noexcept { return passed_type::is_one(ref); }

    /// Bytes of a loan, from `at` on: at its sender, and at its receiver.
    void copy_in(rank p, loan& l, std::size_t at, std::byte const* from, std::size_t n) noexcept {
        if (is_passed(l.ref_)) copy_string(l.memory_.data() + at, from, n);
        else ways_[static_cast<std::size_t>(p)].write(l.memory_.data() + at, from, n);
    }
    static void copy_out(std::uint64_t ref, std::byte* to, std::byte const* from, std::size_t n) noexcept {
        if (is_passed(ref)) copy_ahead<true>(to, from, n);
        else copy_ahead<false>(to, from, n);
    }

private:
    /// So many loans at once are no window: among more than two ranks, one to each, and then some.
    static std::uint32_t few(std::size_t ranks) noexcept {
        return ranks <= 2 ? 0 : static_cast<std::uint32_t>(std::max<std::size_t>(2 * ranks, 8));
    }
    static std::uint32_t lap_of_long(settings const& s) noexcept {
        return s.loan_bytes < lengths_from ? 0 : static_cast<std::uint32_t>(longest_lap / s.loan_bytes);
    }
    loan lend(loan_pool<atomics>& pool, std::size_t n) noexcept {
        auto const i = pool.lend(spare());
        if (i == pool.none) return {};
        auto& b = pool.at(i);
        return {b, n, buffer_type::refer(heap_.refer(&b).offset, pool.generation(i)), pool.generation(i)};
    }
    loan_pool<atomics>& pool_for(std::size_t n) noexcept {
        if (n <= std::min(short_loan, short_.size())) return short_;
        for (auto& p : between_)
            if (n <= p.size()) return p;
        return long_;
    }
    auto spare() noexcept {
        return [this](std::size_t size) noexcept { return heap_.spare(size, mem::purpose::buffers); };
    }
    static constexpr std::uint32_t generation_of(std::uint64_t ref) noexcept {
        return is_passed(ref) ? passed_type::generation_of(ref) : buffer_type::generation_of(ref);
    }
    buffer_type* buffer_at(rank p, std::uint64_t ref, std::size_t n) noexcept {
        if (!peers_.find(p)) return nullptr;
        bool const here = is_passed(ref) && passed_type::is_with_reader(ref);
        auto const where = here ? slice_view{heap_.whole()} : peers_.memory_of(p).slice;
        return buffer_type::resolve(where, ref & ~passed_type::passed, n);
    }
};

} // namespace mpt::inline v0::smp
