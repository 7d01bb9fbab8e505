/// smp/joint - one large message copied from both ends at once, in a few large pieces.
///
///        sender                                             receiver
///        ------                                             --------
///        free
///          | offer: ticket, RTS carries it  ------------->    | accept: writes where the bytes go, `joined` = ticket
///          v                                                  v
///        waiting  <------ sees joined -------------------   copying: claims pieces from the front, reads them
///          v                                                  |
///        copying: claims pieces from the back, writes them    | nothing left to claim: waits for the sender's pieces
///          | all pieces copied, by whoever claimed them       | all pieces copied: `left` = ticket
///          v                                                  v
///        done --- withdraw ---> free once left == ticket    done
///
///        claims     front 15 bits | back 15 bits | pulled | closed | ticket      pieces  |0|1|2|3|4|5|6|7|
///                                                                                front -->           <-- back
///
///   A claim takes half of what is left, so the first two claims are large and the last are single pieces: two halves measured
///   best where both sides start together, and a side that comes late still finds something to do. A side that never comes
///   (the sender computes) costs the other nothing but a few more claims. Two that send to each other have a copy each to make: each
///   takes all of its own.
///
///   Pushed   the receiver may have asked the sender to push the message some other way, and lost patience: who says first that
///            it goes on, the sender by push() or the receiver by pull(), wins, for both are one exchange of the claims' word. It
///            names the ticket, so that who comes too late for a place that is used again loses, too.
///   Refused  a side whose copy fails says so in its own line and claims no more. The receiver closes the claims, waits until
///            no piece of the sender's is on its way into the buffer, and only then reports refused: another way may then
///            write there in peace. A sender that knows beforehand that it may not write never claims.
///   Reuse    a ticket number is (generation, place): `joined` and `left` hold whole numbers, and a place that a receiver joined
///            is used again only after that receiver left. A ticket that was never joined may be withdrawn once the receiver
///            has said, by a frame, that it takes another way.
///   Order    the sender's fields by the RTS frame (sync smp.frame); the receiver's by `joined` (sync smp.joined); pieces by the
///            two `copied` words (sync smp.copied); reuse by `left` (sync smp.left). Claims need no order: they are one word.
///   Memory   `places` tickets of 384 bytes per lane, in the sender's slice. Each word lies on a line of its writer.
///   Tests    test/transport_smp_joint_test.cpp, test/model/joint_model_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <mpt/transport/smp/copy.hpp>
#include <mpt/transport/transport.hpp>

namespace mpt::inline v0::smp {

/// How a message is cut: the same on both sides, because both compute it from its size.
struct piece_plan {
    // origin: two processes on 2 cores, source rewritten each time. 64 KiB alone 10.3 us, together 5.9; 256 KiB 31 and 14; 1 MiB
    // 108 and 53. Two halves are best up to 64 KiB (a piece costs a system call); above, 8 pieces beat both 2 and 16.
    static constexpr std::uint64_t least = std::uint64_t{8} << 10, most = std::uint64_t{2} << 20;
    static constexpr std::uint64_t halves = std::uint64_t{64} << 10; // up to this size, two pieces
    static constexpr std::uint64_t page = 4096, parts = 8, most_pieces = 1u << 14;

    std::uint64_t size = 0, piece = 1;
    std::uint32_t pieces = 0;

    static constexpr std::uint64_t pages(std::uint64_t n) noexcept { return (n + page - 1) / page * page; }
    static constexpr piece_plan of(std::uint64_t size) noexcept {
        auto const wanted = size <= halves ? std::max(pages((size + 1) / 2), least) : std::max(pages(size / parts), halves / 2);
        auto const piece = std::max(std::min(wanted, most), pages(size / most_pieces + 1));
        return {size, piece, static_cast<std::uint32_t>((size + piece - 1) / piece)};
    }
    /// Pieces of one claim when `left` are unclaimed: half, or all of them; but no more than 4 MiB, so that a claim stays a short call.
    constexpr std::uint32_t share(std::uint32_t left, bool all = false) const noexcept {
        auto const cap = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, 2 * most / piece));
        return std::min(all ? left : (left + 1) / 2, cap);
    }
};

/// A run of pieces that one side took.
struct claim {
    std::uint32_t first = 0, count = 0;
    explicit operator bool() const noexcept { return count != 0; }

    std::uint64_t offset(piece_plan const& p) const noexcept { return first * p.piece; }
    std::uint64_t bytes(piece_plan const& p) const noexcept { return std::min(count * p.piece, p.size - offset(p)); }
};

/// Which pieces are taken, and who goes on: one word, written by both.
template <class Atomics> class claim_word {
    typename Atomics::template atomic<std::uint64_t> word_;

    static constexpr unsigned bits = 15;
    static constexpr std::uint32_t mask = (1u << bits) - 1, pulled = 1u << 30, closed = 1u << 31;
    static constexpr std::uint32_t front_of(std::uint64_t w) noexcept { return static_cast<std::uint32_t>(w) & mask; }
    static constexpr std::uint32_t back_of(std::uint64_t w) noexcept { return static_cast<std::uint32_t>(w) >> bits & mask; }
    static constexpr std::uint64_t fresh(std::uint32_t ticket) noexcept { return std::uint64_t{ticket} << 32; }

public:
    /// Before the ticket is offered.
    void reset(std::uint32_t ticket) noexcept {
        word_.store(fresh(ticket), std::memory_order_relaxed); // order: the frame that carries the ticket publishes it
    }
    /// The sender will push the message. False: the receiver has joined, or will.
    bool push(std::uint32_t ticket) noexcept { return decide(ticket, closed); }
    /// The receiver will join. False: the sender pushes the message.
    bool pull(std::uint32_t ticket) noexcept { return decide(ticket, pulled); }

    claim from_front(piece_plan const& p, bool all = false) noexcept { return take(p, true, all); }
    claim from_back(piece_plan const& p) noexcept { return take(p, false, false); }

    /// No more claims. Returns how many pieces were ever claimed from the back.
    std::uint32_t close() noexcept {
        return back_of(word_.fetch_or(closed, std::memory_order_relaxed)); // order: who claims what is decided in one word
    }

private:
    bool decide(std::uint32_t ticket, std::uint32_t how) noexcept {
        auto w = fresh(ticket);
        // order: who is first is decided in one word; what the loser needs comes by frames
        return word_.compare_exchange_strong(w, w | how, std::memory_order_relaxed);
    }
    claim take(piece_plan const& p, bool front, bool all) noexcept {
        auto w = word_.load(std::memory_order_relaxed); // order: only a guess, the exchange decides
        for (;;) {
            auto const used = front_of(w) + back_of(w);
            if ((w & closed) || used >= p.pieces) return {};
            auto const n = p.share(p.pieces - used, all);
            auto const next = w + (front ? n : n << bits);
            // order: who claims what is decided in one word; the bytes are handed over by `copied`
            if (word_.compare_exchange_weak(w, next, std::memory_order_relaxed))
                return {front ? front_of(w) : p.pieces - back_of(w) - n, n};
        }
    }
};

/// One side's progress: pieces it has copied, and whether it was refused. One writer.
template <class Atomics> class copied_word {
    typename Atomics::template atomic<std::uint32_t> word_;
    static constexpr std::uint32_t refused_bit = 1u << 31;

public:
    struct reading {
        std::uint32_t pieces;
        bool refused;
    };
    /// Before the other side may look.
    void reset() noexcept { word_.store(0, std::memory_order_relaxed); } // order: published with the ticket, or by joined
    reading look() const noexcept {
        auto const w = word_.load(std::memory_order_acquire); // sync(smp.copied): acquire
        return {w & ~refused_bit, (w & refused_bit) != 0};
    }
    void add(std::uint32_t pieces) noexcept {
        auto const w = word_.load(std::memory_order_relaxed); // order: only this side writes it
        word_.store(w + pieces, std::memory_order_release);   // sync(smp.copied): release
    }
    void refuse() noexcept {
        auto const w = word_.load(std::memory_order_relaxed);    // order: only this side writes it
        word_.store(w | refused_bit, std::memory_order_release); // sync(smp.copied): release
    }
};

/// A place of the table, in the sender's slice.
template <class Atomics = native_atomics> struct alignas(line_pair) ticket_place {
    using word = typename Atomics::template atomic<std::uint32_t>;

    // written by the sender, before the RTS frame
    remote_memory source;
    // written by the receiver in accept(), before joined
    alignas(cache_line) remote_memory target;
    word joined; // the ticket that a receiver joined
    word left;   // the ticket that its receiver is through with
    // written by the sender while it copies
    alignas(cache_line) copied_word<Atomics> given;
    // written by the receiver while it copies
    alignas(cache_line) copied_word<Atomics> taken;
    // written by both
    alignas(cache_line) claim_word<Atomics> claims;

    void join(std::uint32_t ticket) noexcept {
        joined.store(ticket, std::memory_order_release); // sync(smp.joined): release
    }
    bool is_joined(std::uint32_t ticket) const noexcept {
        return joined.load(std::memory_order_acquire) == ticket; // sync(smp.joined): acquire
    }
    void leave_it(std::uint32_t ticket) noexcept {
        left.store(ticket, std::memory_order_release); // sync(smp.left): release
    }
    bool is_left(std::uint32_t ticket) const noexcept {
        return left.load(std::memory_order_acquire) == ticket; // sync(smp.left): acquire
    }
};

/// The sender's next step with a ticket that it offered. copy(plan, claim) -> status; may_help(): may this side copy?
template <class Atomics, class Help, class Copy>
joint_state step_sender(ticket_place<Atomics>& t, std::uint32_t ticket, Help&& may_help, Copy&& copy) noexcept {
    if (!t.is_joined(ticket)) return joint_state::waiting;
    auto const taken = t.taken.look();
    auto const given = t.given.look();
    if (taken.refused || given.refused) return joint_state::refused;
    auto const plan = piece_plan::of(std::min(t.target.size, t.source.size));
    if (taken.pieces + given.pieces == plan.pieces) return joint_state::done;
    auto const c = may_help() ? t.claims.from_back(plan) : claim{};
    if (!c) return joint_state::waiting;
    if (copy(plan, c) != status::ok) return t.given.refuse(), joint_state::refused;
    t.given.add(c.count);
    return joint_state::copying;
}

/// The receiver's next step with a ticket that it accepted. alone: the sender has a copy of its own to make, and will not help.
/// After done or refused the place is the sender's again.
template <class Atomics, class Copy>
joint_state step_receiver(ticket_place<Atomics>& t, std::uint32_t ticket, bool alone, Copy&& copy) noexcept {
    auto const given = t.given.look();
    auto const taken = t.taken.look();
    auto const plan = piece_plan::of(t.target.size);
    if (taken.refused || given.refused) {
        auto const back = t.claims.close();
        if (!given.refused && given.pieces != back) return joint_state::waiting;
        if (!taken.refused) t.taken.refuse();
        t.leave_it(ticket);
        return joint_state::refused;
    }
    if (taken.pieces + given.pieces == plan.pieces) {
        t.leave_it(ticket);
        return joint_state::done;
    }
    auto const c = t.claims.from_front(plan, alone);
    if (!c) return joint_state::waiting;
    if (copy(plan, c) != status::ok) t.taken.refuse();
    else t.taken.add(c.count);
    return joint_state::copying;
}

/// The sender's private table: which places are in use.
class ticket_book {
public:
    // A message without a ticket is read by its receiver alone: two windows of 64 should all have one.
    static constexpr std::uint32_t places = 128, place_bits = 7;

    struct entry {
        std::uint32_t ticket = 0; // 0: free
        bool withdrawn = false;   // free again once its receiver has left
        std::int32_t peer = -1;
        std::byte const* memory = nullptr;
    };

private:
    std::array<entry, places> entries_{};
    std::uint32_t generation_ = 0;
    std::uint32_t cursor_ = 0;

public:
    ticket_book() = default;
    explicit ticket_book(std::uint32_t first) noexcept : generation_{first} {}

    static constexpr std::uint32_t place_of(std::uint32_t ticket) noexcept { return ticket % places; }
    bool holds(std::uint32_t ticket) const noexcept { return ticket != 0 && entries_[place_of(ticket)].ticket == ticket; }
    entry& of(std::uint32_t ticket) noexcept { return entries_[place_of(ticket)]; }

    /// A new ticket, or 0: every place is in use. table: the shared places.
    template <class Atomics>
    std::uint32_t open(ticket_place<Atomics>* table, std::int32_t peer, std::byte const* memory) noexcept {
        for (std::uint32_t k = 0; k < places; ++k, cursor_ = (cursor_ + 1) % places) {
            auto& e = entries_[cursor_];
            if (e.ticket != 0 && !(e.withdrawn && over(table[cursor_], e.ticket))) continue;
            generation_ = (generation_ + 1) % (1u << (32 - place_bits));
            if (generation_ == 0) generation_ = 1;
            e = {generation_ << place_bits | cursor_, false, peer, memory};
            cursor_ = (cursor_ + 1) % places;
            return e.ticket;
        }
        return 0;
    }
    void withdraw(std::uint32_t ticket) noexcept { of(ticket).withdrawn = true; }

private:
    template <class Atomics> static bool over(ticket_place<Atomics> const& t, std::uint32_t ticket) noexcept {
        return !t.is_joined(ticket) || t.is_left(ticket);
    }
};

} // namespace mpt::inline v0::smp
