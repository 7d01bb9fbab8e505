/// protocol/engine/pull - the receiving side of a rendezvous: which way the bytes come.
///
///        begin_pull ----- memory that cannot be read, short runs, no single copy --> cts --> filling: chunks come
///           |
///           +-- a ticket, up to pipeline_max --> ask --> hoping --- the first chunk ---> filling
///           |                                              | nothing from the sender for hope_rounds, and it has not begun
///           `-- else ----------------------------------> pulling: one copy, by us or from both ends --- refused: cts
///
///   A push through lent buffers costs a copy more, but both processors copy, one the chunk that the other has just left in the cache
///   they share: up to three times as fast as asking the system for a peer's pages, and no slower without such a cache
///   (docs/design.md, section 4). It needs a sender that is in mpt. One that computes is not waited for: its memory is read.
#pragma once
#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::begin_pull(request& r, arrival const& a) noexcept {
    r.wanted.context = a.context; // which a receive of a probed message has not said
    if (r.total <= a.piece) {
        if (a.piece != 0) read_begun(a.from, a.loan, a.piece, {r.into, 0, r.total}, 0);
        control(a.from, op::fin, wire::fin{r.other.index, r.other.generation});
        tell_received(r);
        return complete(r);
    }
    enum class by : std::uint8_t { push, hope, pull };
    auto const how = with(at(a.from), [&]<class E>([[maybe_unused]] E& wire) {
        if constexpr (reads<E>) {
            if (!a.offer.readable || !limits_.single_copy) return by::push;
            r.where = {a.offer.address, a.offer.size, a.offer.in_slice, 0};
            if (a.runs != 0 || !r.into.is_contiguous()) {
                if constexpr (reads_runs<E>) {
                    if (!find_runs(wire, r, a)) return by::push;
                } else return by::push;
            }
            r.ticket = joins<E> ? a.offer.ticket : 0;
            return lends<E> && r.ticket && r.total <= limits_.pipeline_max ? by::hope : by::pull;
        } else return by::push;
    });
    if (how == by::hope) hope_for_push(r, a);
    else if (a.piece != 0) read_begun(a.from, a.loan, a.piece, {r.into, 0, 0}, 0); // which only gives it back
    if (how == by::push) ask_push(r);
    else if (how == by::pull) start_pull(r);
}

template <class World, class Route, protocol_set Use> wire::cts engine<World, Route, Use>::wanted_of(request& r) noexcept {
    return {r.other.index, r.other.generation, requests_.index_of(&r), requests_.generation_of(&r), r.total};
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::ask_push(request& r) noexcept {
    forget_runs(r);
    r.at = phase::filling;
    r.moved = 0;
    control(r.peer, op::cts, wanted_of(r));
}

// A sender that is in mpt answers within a round of its own; one that computes, or has no CPU, is not waited for much longer than
// the smallest such message takes to be read. origin: 256 rounds are 10 to 20 us where two ranks have two cores.
inline constexpr std::uint32_t hope_rounds = 256;

template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::hope_for_push(request& r, arrival const& a) noexcept {
    r.at = phase::hoping;
    r.moved = 0;
    r.patience = hope_rounds;
    r.heard = at(r.peer).chunks;
    ++active_;
    hopes_.push_back(r);
    control(r.peer, op::ask, wire::ask{wanted_of(r), r.ticket, a.piece});
    if (a.piece == 0) return;
    read_begun(a.from, a.loan, a.piece, {r.into, 0, a.piece}, 0); // while the sender hears of the rest
    r.moved = a.piece;
}

/// One round of hope: a sender that pushes anything to us will come to this message, too. True: it is given up.
template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::advance_hope(request& r) noexcept {
    if (auto const chunks = at(r.peer).chunks; chunks != r.heard) r.heard = chunks, r.patience = hope_rounds;
    if (--r.patience != 0) return false;
    hopes_.erase(r);
    --active_;
    bool const first = with(at(r.peer), [&]<class E>(E& wire) {
        if constexpr (joins<E>) return wire.pull_instead(r.peer, r.ticket);
        else return true;
    });
    if (first) start_pull(r);
    else forget_runs(r), r.at = phase::filling; // the first chunk is on its way
    return true;
}

/// A chunk of it has come.
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::heard_of(request& r) noexcept {
    ++at(r.peer).chunks;
    if (r.at != phase::hoping) return;
    hopes_.erase(r);
    --active_;
    forget_runs(r);
    r.at = phase::filling;
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::start_pull(request& r) noexcept {
    with(at(r.peer), [&]<class E>(E& wire) {
        if constexpr (joins<E>)
            if (r.ticket && !r.by_runs) wire.accept(r.peer, r.ticket, {r.into.data(), static_cast<std::size_t>(r.total)});
    });
    r.moved = 0;
    r.at = phase::pulling;
    ++active_;
    pulls_.push_back(r);
    advance_pull(r);
}

/// Has it a copy of ours to make, as far as that can be seen here? Not all of many offers are looked at, and one that it has not matched yet
/// counts, too: then it would have had time to help.
template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::copies_from_us(rank peer) noexcept {
    return !offers_.empty() && (offers_.front().peer == peer || offers_.back().peer == peer);
}

/// One step of a pull: one piece. True: something moved.
template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::advance_pull(request& r) noexcept {
    constexpr std::uint64_t piece = 1_MiB;
    auto state = joint_state::waiting;
    bool fin = false;
    with(at(r.peer), [&]<class E>(E& wire) {
        if constexpr (joins<E>)
            if (r.ticket && !r.by_runs) return void(state = wire.advance_accept(r.peer, r.ticket, copies_from_us(r.peer)));
        if constexpr (reads<E>) {
            auto n = std::min(piece, r.total - r.moved);
            auto const got = [&] {
                if constexpr (reads_runs<E>)
                    if (r.by_runs) return pull_runs(wire, r, piece, n);
                return wire.get(r.peer, {r.into.data() + r.moved, static_cast<std::size_t>(n)}, r.where, r.moved);
            }();
            if (got == status::refused) return void(state = joint_state::refused);
            if (got != status::ok) r.result.how = got, r.moved = r.total;
            else r.moved += n;
            state = r.moved == r.total ? joint_state::done : joint_state::copying;
            fin = true;
        }
    });
    if (state == joint_state::waiting) return false;
    if (state == joint_state::copying) return true;
    pulls_.erase(r);
    --active_;
    if (state == joint_state::refused) return ++counts_.refused, ask_push(r), true;
    forget_runs(r);
    (fin ? counts_.pulled : counts_.joined).count(r.total);
    tell_received(r);
    if (fin) control(r.peer, op::fin, wire::fin{r.other.index, r.other.generation});
    complete(r);
    return true;
}

/// So many bytes more were brought.
template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::filled(request& r, std::uint64_t bytes) noexcept {
    if ((r.moved += bytes) < r.total) return;
    counts_.pushed.count(r.total);
    tell_received(r);
    complete(r);
}

constexpr bool takes_chunks(request const& r) noexcept { return r.at == phase::filling || r.at == phase::hoping; }

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_chunk(frame const& f) noexcept {
    auto const h = wire::read<wire::chunk>(f.payload);
    auto* r = h ? find_request(h->index, h->generation) : nullptr;
    auto const n = f.payload.size() - sizeof(wire::chunk);
    if (!r || !takes_chunks(*r) || r->peer != f.from || h->offset > r->total || n > r->total - h->offset)
        return broken("a chunk for no receive", f.from);
    heard_of(*r);
    r->into.write(h->offset, f.payload.subspan(sizeof(wire::chunk)));
    filled(*r, n);
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_chunk_loan(frame const& f) noexcept {
    auto const h = wire::read<wire::chunk_loan>(f.payload);
    auto* r = h ? find_request(h->index, h->generation) : nullptr;
    if (!r || !takes_chunks(*r) || r->peer != f.from || h->offset > r->total || h->size > r->total - h->offset)
        return broken("a chunk for no receive", f.from);
    heard_of(*r);
    delivery const d{r->into, h->offset, h->size, r->total > limits_.cached_max};
    read_lent(static_cast<op>(f.op), f.from, h->loan, h->size, d, h->written);
    filled(*r, h->size);
}

} // namespace mpt::inline v0::protocol
