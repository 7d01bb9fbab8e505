/// protocol/engine/loans - data in a buffer of the sender's that the receiver reads in place (protocol/e1, and the chunks of rndv_put).
///
///        sender     lend, write --- frame: where, how long --->  the lines of the next loan come here meanwhile
///        receiver                                           '->  find its receive, copy, give back
///
///   Fast paths   a standard send of more than a frame, and a receive that waits for it with nothing else posted, take no request.
///   Begun        a loan from 4 KiB on whose receiver seems to wait goes with its first piece, and says in `shown` how far its sender
///                has come with the others.
///   Cost         two line transfers one after the other, the frame's and the data's. The third, for lines that the receiver has read
///                before to be written again, is over before the next loan. 256 B half way: 118 ns in place of 225 by requests and
///                without looking ahead; 4 KiB 230 in place of 365. origin: bench/peers, latency, AMD EPYC, Zen 5
#pragma once
#include <algorithm>
#include <utility>

#include <mpt/core/crossing.hpp>
#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

/// The smallest loan that is read while it is written. Where long ones are cut by 2 KiB, what the reader's core fetches ahead is what the
/// writer is about to write.
/// origin: latency, half way, AMD EPYC, Zen 5, whole / by 2 KiB / by 8 KiB: 4 KiB 253 / 210 / - ns, 8 KiB 343 / 264 / -, 16 KiB 507 / 580 / 515,
/// 32 KiB 859 / - / 774; without a cache in common 4 KiB 883 / 790 / -, 32 KiB 2310 / - / 2160
inline constexpr std::uint64_t least_begun = 4_KiB;

/// What is wanted of a loan, and where.
template <class World, class Route, protocol_set Use> struct engine<World, Route, Use>::delivery {
    sink const& into;
    std::uint64_t offset, wanted; // the first `wanted` bytes, from there on
    bool past = false;            // the caches: they do not hold what all of this is
};

/// Bytes of a loan, from its byte `got` on, to their place.
template <class World, class Route, protocol_set Use> template <class E>
void engine<World, Route, Use>::copy_lent([[maybe_unused]] std::uint64_t loan, delivery const& d, std::uint64_t got,
                                          std::span<std::byte const> piece) noexcept {
    if constexpr (transport_copying<E>)
        if (d.into.is_contiguous()) {
            auto* const to = d.into.data() + d.offset + got;
            return d.past ? copy_past(to, piece.data(), piece.size()) : E::copy_out(loan, to, piece.data(), piece.size());
        }
    d.into.write(d.offset + got, piece);
}

/// What is wanted of a loan of `size`; and the loan goes back.
template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::read_loan(rank from, std::uint64_t loan, std::uint64_t size, delivery const& d) noexcept {
    with(at(from), [&]<class E>(E& wire) {
        if constexpr (lends<E>) {
            auto const data = wire.borrow(from, loan, size);
            if (data.size() != size) broken("a loan that is not in the sender's slice", from);
            copy_lent<E>(loan, d, 0, data.first(std::min(size, d.wanted)));
            wire.give_back(from, loan);
        } else broken("a loan on a transport that does not lend", from);
    });
}

/// Whoever wants our CPU has it: it may be the writer. Each first one tells, as a wait's does, so that what we send is not copied by both at once
/// again so soon.
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::await_writer(bool first) noexcept {
    if (!first || !limits_.scarce || !limits_.yields) return world_.yield();
    auto const left = world_.now();
    world_.yield();
    limits_.yields->took(world_.now() - left);
}

/// A loan that its sender is still writing, or was when it said so: what is there of it, until all that is wanted is; of a passed one, until all
/// is, for then it is ours to write. The sender is inside a call and does nothing else, so it is waited for here, as the holder of a lock would be.
template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::read_begun(rank from, std::uint64_t loan, std::uint64_t size, delivery const& d,
                                           std::uint64_t there) noexcept {
    with(at(from), [&]<class E>(E& wire) {
        if constexpr (transport_showing<E>) {
            // Looks before the CPU is left to whoever wants it: about 1 us, and 40.
            unsigned const patience = limits_.scarce ? 64 : 4096;
            auto const data = wire.borrow(from, loan, size);
            if (data.size() != size) broken("a loan that is not in the sender's slice", from);
            auto const n = std::min(size, d.wanted);
            auto awaited = n;
            if constexpr (transport_passing<E>)
                if (E::is_passed(loan)) awaited = size;
            unsigned in_vain = 0;
            for (std::uint64_t got = 0; got < n || there < awaited;
                 there = std::max<std::uint64_t>(there, wire.shown(from, loan))) {
                if (auto const more = std::min(there, n); more > got) {
                    copy_lent<E>(loan, d, got, data.subspan(got, more - got));
                    got = more;
                } else if (there < awaited) {
                    if (++in_vain % patience == 0) await_writer(in_vain == patience);
                    else world_.pause();
                }
            }
            wire.give_back(from, loan);
        } else broken("a loan on a transport that does not show how far it is", from);
    });
}

/// A loan is written, and its frame, which is ready, goes. In pieces: with the first one, so that both ranks copy at once.
template <class World, class Route, protocol_set Use> template <class E>
void engine<World, Route, Use>::write_loan(E& wire, [[maybe_unused]] rank to, typename E::cell cell, op kind,
                                           typename E::loan& loan, part const& data, std::uint64_t piece) noexcept {
    auto const n = data.size;
    bool const begun = kind == op::e1_begun || kind == op::rts_begun || kind == op::chunk_begun;
    auto const write = [&](std::uint64_t at, std::uint64_t size) {
        bool written = false;
        if constexpr (transport_copying<E>)
            if (data.whole.is_contiguous())
                wire.copy_in(to, loan, at, data.whole.data() + data.first + at, size), written = true;
        if (!written) data.whole.read(data.first + at, loan.memory().subspan(at, size));
        if constexpr (transport_showing<E>)
            if (begun && (at != 0 || kind == op::rts_begun)) wire.show(loan, at + size);
    };
    if constexpr (transport_showing<E>)
        if (begun) wire.begin(loan);
    auto at = std::min(piece, n);
    write(0, at);
    wire.commit(std::move(cell), static_cast<std::uint16_t>(kind));
    for (; at < n; at += std::min(piece, n - at)) write(at, std::min(piece, n - at));
}

/// The pieces that a loan of n bytes is written in; n: it goes when it is whole. Not in pieces where somebody wants these CPUs (limits): who
/// waits for the rest would keep the writer from its CPU. Nor what is not in one piece at its sender.
template <class World, class Route, protocol_set Use> template <class E>
std::uint64_t engine<World, Route, Use>::piece_of(std::uint64_t n, source const& data) const noexcept {
    if (!transport_showing<E> || n < least_begun || !limits_.from_both_ends(data.size()) || !data.is_contiguous()) return n;
    return wire::first_piece(n);
}

/// Is the receiver likely to wait for this message? It is if it has sent since we last did. One of many in a row is read later, and better
/// when it lies still.
/// origin: windows of 64, AMD EPYC, whole / begun: Zen 5, 4 KiB 29 / 35 GB/s, 8 KiB 48 / 39, 16 KiB 58 / 53, 32 KiB 64 / 63; Zen 4, 4 KiB
/// 18 / 9.4, 8 KiB 22 / 9.7; without a cache in common 6000 B 6.9 / 2.3
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::is_awaited([[maybe_unused]] E& wire, [[maybe_unused]] rank to, std::size_t n) noexcept {
    if constexpr (transport_answering<E>) return wire.our_turn(to);
    else return n < 8_KiB;
}

/// May a message go by a loan? One that is too long for the usual buffers does where its receiver reads it while it is written, or writes to
/// us meanwhile: that is as fast as memory is, and needs no answer first. So does one of up to 512 KiB where ranks share CPUs, whole: there each
/// answer is a turn. But no layout, which is copied once if it is announced. Who has lowered MPT_EAGER_MAX wants rendezvous.
/// origin: latency, half way, AMD EPYC, Zen 5, by rendezvous / by one loan: 64 KiB 1.48 / 1.28 us, 128 KiB 2.59 / 2.29, 256 KiB
/// 4.84 / 4.30, 512 KiB 8.78 / 8.37. Two ranks that send to each other at once, AMD EPYC, Zen 4: 128 KiB 10.5 to 25 / 8.0 us, 256 KiB 20 to 28 / 16.6,
/// 512 KiB 42 / 33.5, 1 MiB 88 / 68, 2 MiB 195 / 154; but windows of 2 and 4 MiB both ways 25 / 23 GB/s. Halos
/// around a ring where ranks share CPUs, Zen 4, by rendezvous / whole: 4 ranks on 2 CPUs, 128 KiB 43 / 29 us, 512 KiB 152 / 122; 8 ranks
/// 96 / 69 and 634 / 301; half way where somebody wants the CPUs, 128 KiB 19 / 6.8, 512 KiB 43 / 28
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::fits_loan(E& wire, source const& data) noexcept {
    auto const n = data.size();
    if (n <= wire.max_loan()) return n <= limits_.eager_max;
    if constexpr (transport_passing<E>)
        return n <= wire.max_passed() && n <= limits_.pipeline_max && limits_.eager_max >= wire.max_loan() &&
               (piece_of<E>(n, data) < n || (limits_.scarce && n <= limits_.longest_shared && data.is_contiguous()));
    else return false;
}

/// May the receiver read it where it lies, and would that be faster than through a buffer? Data in one piece: others would need a table of
/// their runs. Not a collective's, which its sender has just made: those come out of its cache as fast from a buffer, and without an answer.
/// origin: MPT_EAGER_READABLE, config/table/engine.hpp
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::may_be_read([[maybe_unused]] context_id context,
                                            [[maybe_unused]] source const& data) const noexcept {
    if constexpr (reads<E> && !to_ourselves<E>)
        return data.size() > limits_.eager_readable && limits_.single_copy && data.size() >= limits_.single_copy_min &&
               data.is_contiguous() && !is_collective(context);
    else return false;
}

/// Will it be read? Where ranks share CPUs, not if the last one went to another rank: who waits for the first would keep the next one waiting. A
/// peer that would not read is asked again after a while: it may have been the receive, or what the system allows.
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::better_read(rank to, context_id context, source const& data) noexcept {
    return may_be_read<E>(context, data) && at(to).by_loan == 0 && ((limits_.both_ends && !limits_.scarce) || read_last_ == to);
}

/// One that might have been read has left, either way.
template <class World, class Route, protocol_set Use> template <class E>
void engine<World, Route, Use>::note_way(rank to, context_id context, source const& data) noexcept {
    if (!may_be_read<E>(context, data)) [[likely]]
        return;
    read_last_ = to;
    if (auto& p = at(to); p.by_loan != 0) --p.by_loan;
}

/// The data into a loan, and its reference on the way.
template <class World, class Route, protocol_set Use> template <class E>
auto engine<World, Route, Use>::push_loan(E& wire, rank to, op kind, wire::label const& what, request_ref sender,
                                          source const& data, bool& no_loan) noexcept -> pushed {
    auto const n = data.size();
    bool const answers = std::exchange(at(to).acked, false); // its ack took the turn
    auto const piece = answers || is_awaited(wire, to, n) ? piece_of<E>(n, data) : n;
    auto loan = [&] {
        if constexpr (transport_passing<E>)
            if (auto l = wire.lend_passed(to, n)) return l;
        return wire.lend(to, n);
    }();
    if (!loan) return no_loan = true, pushed::again;
    auto cell = wire.reserve(to, sizeof(wire::e1));
    if (!cell) return wire.revoke(std::move(loan)), pushed::again;
    auto const ref = loan.ref();
    wire::write(cell.payload(), wire::e1{what, static_cast<std::uint32_t>(n), ref, sender.index, sender.generation});
    write_loan(wire, to, std::move(cell), piece < n ? op::e1_begun : kind, loan, {data, 0, n}, piece);
    if constexpr (transport_lending_again<E>) {
        bool is_passed = false;
        if constexpr (transport_passing<E>) is_passed = E::is_passed(ref);
        if (!is_passed) wire.foresee(n);
    }
    counts_.sent[static_cast<unsigned>(way::loan)].count(data.size());
    note_way<E>(to, what.context(), data);
    return pushed::yes;
}

/// A standard send of more than a frame holds: in a long one, or by a loan. False: nothing was sent.
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::send_longer_now(E& wire, rank to, context_id context, tag label, void const* from,
                                                std::size_t n) noexcept {
    auto const what = wire::label::of(context, label);
    source const data{from, n};
    if (push_stretched(wire, to, what, data)) return counts_.sent_now_bytes += n, true;
    ++counts_.declined; // from here on it is no frame
    if constexpr (Use.e1 && lends<E>) {
        bool no_loan = false;
        if (better_read<E>(to, context, data) || !fits_loan(wire, data)) return false;
        if (push_loan(wire, to, op::e1, what, {}, data, no_loan) != pushed::yes) return false;
        if constexpr (to_ourselves<E>) wake_threads();
        return true;
    } else return false;
}

/// What fits a frame goes so, or not now.
template <class World, class Route, protocol_set Use>
bool engine<World, Route, Use>::lend_now(rank to, context_id context, tag label, source const& data) noexcept {
    auto& p = at(to);
    if (!p.clear) return false;
    auto const what = wire::label::of(context, label);
    return with(p, [&]<class E>(E& wire) {
        bool const runs = !data.is_contiguous(), small = is_small<E>(data);
        bool left = runs && (small ? push_eager(wire, to, op::e0, wire::e0{what}, data) : push_stretched(wire, to, what, data));
        if (left) counts_.sent[static_cast<unsigned>(way::frame)].count(data.size());
        if constexpr (Use.e1 && lends<E>) {
            bool no_loan = false;
            if (!left && !small && fits_loan(wire, data))
                left = push_loan(wire, to, op::e1, what, {}, data, no_loan) == pushed::yes;
        }
        if constexpr (to_ourselves<E>)
            if (left) wake_threads();
        return left;
    });
}

/// The usual message in a loan: its receive is posted.
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_e1(frame const& f) noexcept {
    auto const h = wire::read<wire::e1>(f.payload);
    if (!h || h->what.tag < 0) [[unlikely]]
        return on_message(f, op::e1, nullptr);
    auto* const hook = matching_.match({h->what.context(), f.from, tag{h->what.tag}});
    if (!hook || !land_lent(static_cast<request&>(*hook), f.from, *h)) [[unlikely]]
        on_message(f, op::e1, hook);
}

/// What lies in a loan goes to where its receive wants it, if that is one piece that is known. False: nothing was done.
template <class World, class Route, protocol_set Use>
bool engine<World, Route, Use>::land_lent(request& r, rank from, wire::e1 const& h) noexcept {
    if (r.provide || !r.into.is_contiguous()) [[unlikely]]
        return false;
    auto const n = std::min<std::size_t>(h.size, r.into.size());
    read_loan(from, h.loan, h.size, {r.into, 0, n, limits_.goes_past(h.size)});
    landed(r, from, tag{h.what.tag}, h.size, n < h.size ? status::truncated : status::ok, way::loan);
    return true;
}

/// A message of `size` bytes lies where its receive wants it.
template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::landed(request& r, rank from, tag label, std::uint64_t size, status how, way by) noexcept {
    r.matched = true;
    r.peer = from;
    r.result.set(from, label, size, how);
    counts_.received[static_cast<unsigned>(by)].count(size);
    complete(r);
}

/// A frame that is no small standard message: the wanted one, in a loan or sent synchronously, goes straight to its buffer; any other is
/// handled as it comes, and nothing is got.
template <class World, class Route, protocol_set Use>
received engine<World, Route, Use>::take_other(frame const& f, envelope const& wanted, std::span<std::byte> into) noexcept {
    auto const kind = static_cast<op>(f.op);
    if (kind == op::e1 || kind == op::e1_begun || kind == op::e1_sync) {
        auto const h = wire::read<wire::e1>(f.payload);
        if (!h || !is_wanted(h->what, wanted)) return on_frame(f), received{};
        read_lent(kind, f.from, h->loan, h->size, {sink{into}, 0, into.size(), limits_.goes_past(h->size)},
                  wire::first_piece(h->size));
        if (wants_ack(kind, {h->index, h->generation})) control(f.from, op::ack, wire::ack{h->index, h->generation});
        counts_.received[static_cast<unsigned>(way::loan)].count(h->size);
        return {static_cast<std::int32_t>(h->size), h->what.tag};
    }
    if (kind == op::e0_sync) {
        auto const h = wire::read<wire::e0_sync>(f.payload);
        if (!h || !is_wanted(h->what, wanted)) return on_frame(f), received{};
        auto const data = f.payload.subspan(sizeof *h);
        copy_bytes(into.data(), data.data(), std::min(data.size(), into.size()));
        control(f.from, op::ack, wire::ack{h->index, h->generation});
        counts_.received[static_cast<unsigned>(way::frame)].count(data.size());
        return {static_cast<std::int32_t>(data.size()), h->what.tag};
    }
    on_frame(f);
    return {};
}

} // namespace mpt::inline v0::protocol
