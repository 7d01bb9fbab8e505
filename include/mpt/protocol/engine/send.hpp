/// protocol/engine/send - the sending side of the engine: which protocol a message takes, and its way to the wire.
///
///        send(r) --- peer has sends waiting ------------------------------------------> queue behind them
///           |
///           +-- fits a frame, not throttled ----> e0 ----- wire full ------------------> queue
///           +-- fits a long one, not throttled -> e0 ----- no room: as if it did not fit it
///           +-- fits a loan, not throttled -----> e1 ----- no loan: rts, wire full ----> queue
///           |   and not better read
///           +-- else ---------------------------> rts --- ask, cts: push / joined: help / fin: done
#pragma once
#include <mpt/protocol/e0.hpp>
#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::send(request& r) noexcept {
    r.kind = role::send;
    r.complete = r.retracting = false;
    r.result = {r.peer, r.wanted.label, r.from.size(), status::ok};
    auto& p = at(r.peer);
    if (p.waiting.empty() && start(r, p) == pushed::yes) return;
    r.at = phase::waiting;
    ++counts_.queued;
    p.waiting.push_back(r);
    p.clear = false;
    if (!p.stuck) p.stuck = true, stuck_.push_back(&p);
}

template <class World, class Route, protocol_set Use> auto engine<World, Route, Use>::start(request& r, peer_state& p) noexcept
    -> pushed {
    return with(p, [&]<class E>(E& wire) {
        auto const done = start_on(wire, r, p);
        if constexpr (to_ourselves<E>) wake_threads();
        return done;
    });
}

template <class World, class Route, protocol_set Use> template <class E>
auto engine<World, Route, Use>::start_on(E& wire, request& r, peer_state& p) noexcept -> pushed {
    auto const n = r.from.size();
    auto const head = r.mode == send_mode::synchronous ? sizeof(wire::e0_sync) : sizeof(wire::e0);
    if (!p.throttled) {
        if (n <= Use.e0_max && n + head <= max_frame<E>) return push_e0(wire, r);
        if (r.mode == send_mode::standard &&
            push_stretched(wire, r.peer, wire::label::of(r.wanted.context, r.wanted.label), r.from)) {
            counts_.sent[static_cast<unsigned>(way::frame)].count(n);
            return complete(r), pushed::yes;
        }
        if constexpr (Use.e1 && lends<E>) {
            bool const may = n <= wire.max_loan() || r.mode != send_mode::synchronous;
            if (may && !better_read<E>(r.peer, r.wanted.context, r.from) && fits_loan(wire, r.from)) {
                bool no_loan = false;
                auto const done = push_e1(wire, r, no_loan);
                if (!no_loan) return done;
                counts_.loanless += n <= wire.max_loan();
            }
        }
    }
    return push_rts(wire, r);
}

/// Data of any layout behind its header in a usual frame. False: there is no room.
template <class World, class Route, protocol_set Use> template <class E, class Head>
bool engine<World, Route, Use>::push_eager(E& wire, rank to, op kind, Head const& head, source const& data) noexcept {
    auto cell = wire.reserve(to, sizeof head + data.size());
    if (!cell) return false;
    wire::write(cell.payload(), head);
    data.read(0, cell.payload().subspan(sizeof head));
    wire.commit(std::move(cell), static_cast<std::uint16_t>(kind));
    return true;
}

template <class World, class Route, protocol_set Use> template <class E>
auto engine<World, Route, Use>::push_e0(E& wire, request& r) noexcept -> pushed {
    bool const sync = r.mode == send_mode::synchronous;
    auto const what = wire::label::of(r.wanted.context, r.wanted.label);
    auto const push = [&] {
        if (!sync) return push_eager(wire, r.peer, op::e0, wire::e0{what}, r.from);
        return push_eager(wire, r.peer, op::e0_sync, wire::e0_sync{what, requests_.index_of(&r), requests_.generation_of(&r)},
                          r.from);
    };
    if (!push()) return pushed::again;
    counts_.sent[static_cast<unsigned>(way::frame)].count(r.from.size());
    if (sync) r.at = phase::acking, ++outstanding_;
    else complete(r);
    return pushed::yes;
}

template <class World, class Route, protocol_set Use> template <class E>
auto engine<World, Route, Use>::push_e1(E& wire, request& r, bool& no_loan) noexcept -> pushed {
    bool const sync = r.mode == send_mode::synchronous;
    auto const what = wire::label::of(r.wanted.context, r.wanted.label);
    request_ref const me = sync ? request_ref{requests_.index_of(&r), requests_.generation_of(&r)} : request_ref{};
    if (push_loan(wire, r.peer, sync ? op::e1_sync : op::e1, what, me, r.from, no_loan) != pushed::yes) return pushed::again;
    if (sync) r.at = phase::acking, ++outstanding_;
    else complete(r);
    return pushed::yes;
}

template <class World, class Route, protocol_set Use>
bool engine<World, Route, Use>::send_now(rank to, context_id context, tag label, void const* data, std::size_t n,
                                         bool in_round) noexcept {
    auto& p = at(to);
    if (!p.clear) [[unlikely]]
        return false;
    auto const tries = ++counts_.tried;
    if (!in_round && tries % 64 == 0) [[unlikely]]
        progress(); // a sender that never receives must still hear "throttle"
    return with(
        p, [&]<class E>(E & wire) __attribute__((always_inline)) {
            constexpr auto room = std::min<std::size_t>(max_frame<E> - sizeof(wire::e0), Use.e0_max);
            if (n > room) [[unlikely]]
                return send_longer_now(wire, to, context, label, data, n);
            auto cell = wire.reserve(to, sizeof(wire::e0) + n);
            if (!cell) return ++counts_.declined, false;
            auto* const at = cell.payload().data();
            wire::write_label(at, context, label);
            auto* const into = at + sizeof(wire::e0);
            if constexpr (room <= small_copy) copy_small(into, static_cast<std::byte const*>(data), n);
            else copy_bytes(into, static_cast<std::byte const*>(data), n);
            wire.commit(std::move(cell), static_cast<std::uint16_t>(op::e0));
            counts_.sent_now_bytes += n;
            if constexpr (to_ourselves<E>) wake_threads();
            return true;
        });
}

// --- what comes back ----------------------------------------------------------------------------------------------------

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_ack(frame const& f) noexcept {
    auto const h = wire::read<wire::ack>(f.payload);
    auto* r = h ? find_request(h->index, h->generation) : nullptr;
    if (!r || r->at != phase::acking || r->peer != f.from) return broken("an ack for no send", f.from);
    --outstanding_;
    complete(*r);
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_fin(frame const& f) noexcept {
    auto const h = wire::read<wire::fin>(f.payload);
    auto* r = h ? find_request(h->index, h->generation) : nullptr;
    if (!r || r->at != phase::offered || r->peer != f.from) return broken("a fin for no rendezvous", f.from);
    withdraw_offer(*r);
    --outstanding_;
    tell_sent(*r);
    complete(*r);
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_cts(frame const& f) noexcept {
    auto const h = wire::read<wire::cts>(f.payload);
    auto* r = h ? find_request(h->index, h->generation) : nullptr;
    if (!r || r->at != phase::offered || r->peer != f.from || h->size > r->from.size())
        return broken("a cts for no rendezvous", f.from);
    with(at(f.from), [&]<class E>(E&) {
        constexpr std::uint8_t a_while = 64;
        if (may_be_read<E>(r->wanted.context, r->from)) at(f.from).by_loan = a_while;
    });
    begin_push(*r, *h, 0);
}

/// A receiver that could read by itself asks for a push. It may have lost patience since, and have read everything: then the
/// request is another one, or none.
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_ask(frame const& f) noexcept {
    auto const h = wire::read<wire::ask>(f.payload);
    if (!h) return broken("a short ask", f.from);
    auto* r = find_request(h->what.index, h->what.generation);
    if (!r || r->at != phase::offered || r->peer != f.from || r->ticket != h->ticket) return;
    if (h->what.size > r->from.size() || h->from > h->what.size) return broken("an ask for more than was offered", f.from);
    bool const first = with(at(f.from), [&]<class E>(E& wire) {
        if constexpr (joins<E>) return wire.push_instead(h->ticket);
        else return false;
    });
    if (first) begin_push(*r, h->what, h->from);
}

template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::begin_push(request& r, wire::cts const& wanted, std::uint64_t from) noexcept {
    withdraw_offer(r);
    r.other = {wanted.to_index, wanted.to_generation};
    r.total = wanted.size;
    r.moved = from;
    r.at = phase::pushing;
    ++active_;
    pushes_.push_back(r);
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_throttle(frame const& f) noexcept {
    auto const h = wire::read<wire::throttle>(f.payload);
    if (!h) return broken("a short throttle", f.from);
    auto& p = at(f.from);
    p.throttled = h->on != 0;
    counts_.throttled += p.throttled;
    tell(p.throttled ? notice_kind::throttled : notice_kind::relieved, {}, f.from, 0);
    p.clear = !p.throttled && p.waiting.empty();
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_retracted(frame const& f) noexcept {
    auto const h = wire::read<wire::retracted>(f.payload);
    auto* r = h ? find_request(h->index, h->generation) : nullptr;
    bool const asked = r && r->retracting && (r->at == phase::offered || r->at == phase::acking) && r->peer == f.from;
    if (!asked) return broken("an answer to a retract that was not sent", f.from);
    withdraw_offer(*r);
    --outstanding_;
    finish(*r, status::cancelled);
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::forsake(request& r) noexcept {
    switch (r.at) {
    case phase::waiting:
    case phase::posted: cancel(r); return;
    case phase::offered: withdraw_offer(r); [[fallthrough]];
    case phase::acking: --outstanding_; break;
    case phase::pushing: pushes_.erase(r), --active_, --outstanding_; break;
    case phase::hoping: hopes_.erase(r), --active_, forget_runs(r); break;
    case phase::pulling: pulls_.erase(r), --active_, forget_runs(r); break;
    case phase::filling: break;
    case phase::working:
    case phase::parked:
    case phase::errand:
    case phase::idle: return;
    }
    finish(r, status::peer_gone);
}

/// Takes a ticket back that nobody will use any more.
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::withdraw_offer(request& r) noexcept {
    forget_runs(r);
    if (!r.ticket) return;
    with(at(r.peer), [&]<class E>(E& wire) {
        if constexpr (joins<E>) wire.withdraw(r.ticket);
    });
    r.ticket = 0;
    offers_.erase(r);
}

/// The sender's share of a joint copy. True: something moved.
template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::advance_offer(request& r) noexcept {
    return with(at(r.peer), [&]<class E>(E& wire) {
        if constexpr (joins<E>) {
            switch (wire.advance_offer(r.ticket, limits_.from_both_ends(r.from.size()) && pulls_.empty())) {
            case joint_state::waiting: return false;
            case joint_state::copying: return true;
            case joint_state::done:
                withdraw_offer(r);
                --outstanding_;
                tell_sent(r);
                complete(r);
                return true;
            case joint_state::refused: withdraw_offer(r); return true; // the receiver's cts is on its way
            }
        }
        return false;
    });
}

template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::advance_push(request& r) noexcept {
    bool moved = false;
    for (int budget = 8; budget > 0 && r.moved < r.total; --budget) {
        if (!with(at(r.peer), [&](auto& wire) { return push_chunk(wire, r); })) break;
        moved = true;
    }
    if (r.moved < r.total) return moved;
    pushes_.erase(r);
    --active_;
    --outstanding_;
    tell_sent(r);
    complete(r);
    return true;
}

/// How much goes next. A message that goes alone begins with small chunks, each as long as all before it, so that the receiver begins
/// soon. Where others wait to be pushed, too, the receiver has something to do anyway.
template <class World, class Route, protocol_set Use>
std::uint64_t engine<World, Route, Use>::next_chunk(request const& r) noexcept {
    constexpr std::uint64_t first = 8_KiB;
    auto const most = std::min<std::uint64_t>(r.total - r.moved, limits_.chunk);
    bool const alone = &pushes_.front() == &r && &pushes_.back() == &r;
    return alone ? std::min(most, std::max(first, r.moved)) : most;
}

template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::push_chunk(E& wire, request& r) noexcept {
    if constexpr (lends<E>) {
        auto const n = std::min<std::uint64_t>(next_chunk(r), wire.max_loan());
        if (auto loan = lend_part(wire, r.peer, n)) {
            auto cell = wire.reserve(r.peer, sizeof(wire::chunk_loan));
            if (!cell) return wire.revoke(std::move(loan)), false;
            auto const piece =
                r.moved + n == r.total ? piece_of<E>(n, r.from) : n; // of the last one: the receiver ends soon after us
            wire::write(cell.payload(), wire::chunk_loan{r.other.index, r.other.generation, r.moved, loan.ref(),
                                                         static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(piece)});
            write_loan(wire, r.peer, std::move(cell), piece < n ? op::chunk_begun : op::chunk_loan, loan, {r.from, r.moved, n},
                       piece);
            r.moved += n;
            loanless_ = 0;
            return true;
        }
        // Loans of chunks come back soon. Those of messages that nobody receives yet may wait for this very one, and where
        // memory is short there are none at all: frames need nothing.
        constexpr std::uint32_t patience = 1024;
        if (loanless_ < patience) return ++loanless_, false;
        bool moved = false;
        while (r.moved < r.total && push_frame(wire, r)) moved = true;
        return moved;
    } else return push_frame(wire, r);
}

/// A chunk that is a frame's payload.
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::push_frame(E& wire, request& r) noexcept {
    auto const n = std::min<std::uint64_t>(r.total - r.moved, max_frame<E> - sizeof(wire::chunk));
    auto cell = wire.reserve(r.peer, sizeof(wire::chunk) + n);
    if (!cell) return false;
    wire::write(cell.payload(), wire::chunk{r.other.index, r.other.generation, r.moved});
    r.from.read(r.moved, cell.payload().subspan(sizeof(wire::chunk)));
    wire.commit(std::move(cell), static_cast<std::uint16_t>(op::chunk));
    r.moved += n;
    return true;
}

// --- control frames -----------------------------------------------------------------------------------------------------

template <class World, class Route, protocol_set Use> template <class T>
void engine<World, Route, Use>::control(rank to, op what, T const& body) noexcept {
    auto& p = at(to);
    if (what == op::ack) p.acked = true;
    bool const sent = p.controls.empty() && with(p, [&]<class E>(E& wire) {
                          auto cell = wire.reserve(to, sizeof body);
                          if (!cell) return false;
                          wire::write(cell.payload(), body);
                          wire.commit(std::move(cell), static_cast<std::uint16_t>(what));
                          if constexpr (to_ourselves<E>) wake_threads();
                          return true;
                      });
    if (sent) return;
    auto* c = controls_.create();
    if (!c) return job_.abort(1, "mpt: out of memory for control frames");
    c->what = what;
    c->size = sizeof body;
    std::memcpy(c->body.data(), &body, sizeof body);
    p.controls.push_back(*c);
    if (!p.stuck) p.stuck = true, stuck_.push_back(&p);
}

/// Gives the wire what it would not take before. True: nothing waits for this peer any more.
template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::flush_peer(peer_state& p) noexcept {
    while (!p.controls.empty()) {
        auto& c = p.controls.front();
        bool const sent = with(p, [&]<class E>(E& wire) {
            auto cell = wire.reserve(p.who, c.size);
            if (!cell) return false;
            std::memcpy(cell.payload().data(), c.body.data(), c.size);
            wire.commit(std::move(cell), static_cast<std::uint16_t>(c.what));
            if constexpr (to_ourselves<E>) wake_threads();
            return true;
        });
        if (!sent) return false;
        p.controls.erase(c);
        controls_.destroy(&c);
    }
    while (!p.waiting.empty()) {
        auto& r = p.waiting.front();
        p.waiting.erase(r);
        if (start(r, p) == pushed::again) return p.waiting.push_front(r), false;
    }
    p.clear = !p.throttled;
    p.stuck = false;
    return true;
}

} // namespace mpt::inline v0::protocol
