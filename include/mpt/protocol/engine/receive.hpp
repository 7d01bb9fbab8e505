/// protocol/engine/receive - the receiving side of the engine: frames find their receive, or are kept until one comes.
///
///        frame --- e0 e1 rts: a posted receive fits? --- yes --> land: copy (e0 e1, to one piece that is known)
///          |                                         |           deliver: copy, borrow, pull, or ask for a push
///          |                                         `-- no ---> keep: an arrival in the tables
///          `------ cts fin ack chunk throttle: straight to the request they name
#pragma once
#include <string>
#include <utility>

#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::receive(request& r, envelope const& wanted) noexcept {
    r.kind = role::receive;
    r.complete = r.matched = false;
    r.result = {};
    if (auto* a = take(wanted)) [[unlikely]]
        return receive(r, *a);
    r.at = phase::posted;
    if (matching_.post(r, wanted) != status::ok) [[unlikely]]
        finish(r, status::no_memory);
}
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::receive(request& r) noexcept {
    envelope const wanted{r.wanted.context, r.wanted.source, r.wanted.label};
    receive(r, wanted);
}

template <class World, class Route, protocol_set Use>
request* engine<World, Route, Use>::receive(envelope const& wanted, sink into) noexcept {
    if (!reaches(wanted.source)) [[unlikely]]
        return nullptr;
    auto* const r = make();
    if (!r) [[unlikely]]
        return nullptr;
    r->into = into, r->wanted.set(wanted);
    receive(*r, wanted);
    if (r->complete && !r->matched) [[unlikely]] // the tables had no room for it
        return drop(*r), nullptr;
    return r;
}

template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::receive(request& r, arrival& taken) noexcept {
    r.kind = role::receive;
    r.complete = false;
    deliver(r, taken);
    release(taken);
}

template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::cancel(request& r) noexcept {
    if (r.at == phase::posted) {
        matching_.withdraw(r);
        finish(r, status::cancelled);
        return true;
    }
    if ((r.at == phase::offered || r.at == phase::acking) && !std::exchange(r.retracting, true))
        control(r.peer, op::retract, wire::retract{requests_.index_of(&r), requests_.generation_of(&r)});
    if (r.at != phase::waiting) return false; // MPI-4.1 section 3.8.4: it may then complete normally
    at(r.peer).waiting.erase(r);
    finish(r, status::cancelled);
    return true;
}

/// The sink of receive_now: the wanted message goes straight to its buffer. Not a lambda, because it is to be inlined whatever
/// its size: as a call it costs a third of a small receive.
template <class World, class Route, protocol_set Use> struct engine<World, Route, Use>::landing {
    engine& on;
    context_id const context;
    tag const label;
    std::byte* const data;
    std::size_t const capacity;
    received got{};

    [[gnu::always_inline]] void operator()(frame const& f) noexcept {
        wire::label what;
        auto const payload = f.payload;
        if (f.op != static_cast<std::uint16_t>(op::e0) || payload.size() < sizeof what) [[unlikely]] // copies, so that the
            return static_cast<void>(got = on.take_other(frame{f}, {context, f.from, label}, {data, capacity})); // frame stays
        std::memcpy(&what, payload.data(), sizeof what); // out of memory
        if (what.context() != context || (what.tag != label && label != any_tag)) [[unlikely]]
            return on.on_frame(frame{f});
        auto const n = payload.size() - sizeof what;
        if (n == capacity && capacity <= small_copy) [[likely]] // which the compiler knows where a value is received
            copy_small(data, payload.data() + sizeof what, capacity);
        else copy_bytes(data, payload.data() + sizeof what, std::min(n, capacity));
        got = {static_cast<std::int32_t>(n), what.tag};
        on.counts_.taken_now.count(n);
    }
    template <class Frame> [[gnu::always_inline]] void stretched(Frame f) noexcept {
        got = on.take_stretched(f, {context, f.from, label}, {data, capacity});
    }
};

template <class World, class Route, protocol_set Use> received
engine<World, Route, Use>::receive_now(rank from, context_id context, tag label, void* data, std::size_t capacity) noexcept {
    return with(
        at(from), [&](auto& wire) __attribute__((always_inline)) {
            landing sink{*this, context, label, static_cast<std::byte*>(data),
                         capacity}; // one for each wire: it stays in registers
            auto left = looks;
            if constexpr (requires { wire.looks(); }) left = wire.looks();
            for (; left != 0 && wire.poll_from(from, sink) == 0; --left) {}
            return sink.got;
        });
}

template <class World, class Route, protocol_set Use> received
engine<World, Route, Use>::look_now(rank from, context_id context, tag label, void* data, std::size_t capacity) noexcept {
    return with(
        at(from), [&]<class E>(E & wire) __attribute__((always_inline)) {
            landing sink{*this, context, label, static_cast<std::byte*>(data), capacity};
            if constexpr (transport_glancing<E>) wire.glance(from, sink);
            return sink.got;
        });
}

// --- frames ---------------------------------------------------------------------------------------------------------------

/// The sink of a round of progress: what most frames are is inlined there, whatever its size, and makes no call.
template <class World, class Route, protocol_set Use> struct engine<World, Route, Use>::arriving {
    engine& on;

    [[gnu::always_inline]] void operator()(frame const& f) const noexcept {
        if (f.op == static_cast<std::uint16_t>(op::e0)) [[likely]]
            return on.on_e0(f);
        if (f.op == static_cast<std::uint16_t>(op::e1)) return on.on_e1(frame{f}); // copies, so that small messages
        on.on_frame(frame{f});                                                     // never lie in memory
    }
    template <class Frame> [[gnu::always_inline]] void stretched(Frame f) const noexcept { on.on_stretched(f); }
};

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_frame(frame const& f) noexcept {
    switch (auto const what = static_cast<op>(f.op)) {
    [[likely]] case op::e0:
        return on_e0(f);
    case op::e1: return on_e1(f);
    case op::e0_sync:
    case op::e1_sync:
    case op::e1_begun:
    case op::rts:
    case op::rts_begun:
    case op::rts_runs: return on_message(f, what, nullptr);
    case op::cts: return on_cts(f);
    case op::ask: return on_ask(f);
    case op::chunk: return on_chunk(f);
    case op::chunk_loan:
    case op::chunk_begun: return on_chunk_loan(f);
    case op::fin: return on_fin(f);
    case op::ack: return on_ack(f);
    case op::throttle: return on_throttle(f);
    case op::retract: return on_retract(f);
    case op::retracted: return on_retracted(f);
    case op::none: break;
    }
    broken("a frame of no known kind", f.from);
}

/// Reads the envelope of a message; false: too short for its kind.
inline bool parse_message(frame const& f, op what, arrival& a, std::span<std::byte const>& data) noexcept {
    auto const label = wire::read<wire::label>(f.payload);
    if (!label || label->tag < 0) return false;
    a.from = f.from;
    a.kind = what;
    a.label = tag{label->tag};
    a.context = label->context();
    if (what == op::e0) {
        data = f.payload.subspan(sizeof(wire::e0));
        a.size = data.size();
    } else if (what == op::e0_sync) {
        auto const h = wire::read<wire::e0_sync>(f.payload);
        if (!h) return false;
        a.sender = {h->index, h->generation};
        data = f.payload.subspan(sizeof(wire::e0_sync));
        a.size = data.size();
    } else if (what == op::rts) {
        auto const h = wire::read<wire::rts>(f.payload);
        if (!h) return false;
        a.offer = *h;
        a.sender = {h->index, h->generation};
        a.size = h->size;
    } else if (what == op::rts_runs) {
        auto const h = wire::read<wire::rts_runs>(f.payload);
        if (!h || h->runs == 0) return false;
        a.kind = op::rts;
        a.offer = {h->what, h->ticket, h->size, h->address, h->index, h->generation, h->in_slice, 1};
        a.sender = {h->index, h->generation};
        a.size = h->size;
        a.runs = h->runs, a.stride = h->stride;
    } else if (what == op::rts_begun) {
        auto const h = wire::read<wire::rts_begun>(f.payload);
        if (!h || h->piece / 2 == 0 || h->piece / 2 >= h->size) return false;
        a.kind = op::rts;
        a.offer = {h->what, h->ticket, h->size, h->address, h->index, h->generation, h->piece % 2, 1};
        a.sender = {h->index, h->generation};
        a.size = h->size;
        a.loan = h->loan, a.piece = h->piece / 2;
    } else {
        auto const h = wire::read<wire::e1>(f.payload);
        if (!h) return false;
        a.sender = {h->index, h->generation};
        a.loan = h->loan;
        a.size = h->size;
    }
    return true;
}

/// What most frames are: a small message, and most often its receive is posted.
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_e0(frame const& f) noexcept {
    wire::label what;
    if (f.payload.size() < sizeof what) [[unlikely]]
        return on_message(frame{f}, op::e0, nullptr);
    std::memcpy(&what, f.payload.data(), sizeof what);
    if (what.tag < 0) [[unlikely]]
        return on_message(frame{f}, op::e0, nullptr);
    auto* const hook = matching_.match({what.context(), f.from, tag{what.tag}});
    if (!hook || !land(static_cast<request&>(*hook), f, what)) [[unlikely]]
        on_message(frame{f}, op::e0, hook);
}

/// A small message goes to where its receive wants it, if that is one piece that is known. False: nothing was done.
template <class World, class Route, protocol_set Use>
bool engine<World, Route, Use>::land(request& r, frame const& f, wire::label const& what) noexcept {
    if (r.provide || !r.into.is_contiguous()) [[unlikely]]
        return false;
    auto const data = f.payload.subspan(sizeof what);
    auto const n = std::min(data.size(), r.into.size());
    copy_bytes(r.into.data(), data.data(), n);
    r.matched = true;
    r.peer = f.from;
    r.result.set(f.from, tag{what.tag}, data.size(), n < data.size() ? status::truncated : status::ok);
    counts_.received[static_cast<unsigned>(way::frame)].count(data.size());
    complete(r);
    return true;
}

/// matched: its receive, if that is known already; for e0 and e1 it has been looked for.
template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::on_message(frame const& f, op what, posted_hook* matched) noexcept {
    arrival a;
    std::span<std::byte const> data;
    if (!parse_message(f, what, a, data))
        return broken("a message that is shorter than its header, or has no valid tag", f.from);
    a.buffer = const_cast<std::byte*>(data.data()); // read only: the frame's own bytes, until hold() makes a copy
    if (!matched && what != op::e0 && what != op::e1) matched = matching_.match({a.context, a.from, a.label});
    if (matched) return deliver(static_cast<request&>(*matched), a);
    keep(a);
}

/// The way that a message of that kind came.
constexpr way way_of(op kind) noexcept {
    if (kind == op::rts) return way::rendezvous;
    return kind == op::e1 || kind == op::e1_sync || kind == op::e1_begun ? way::loan : way::frame;
}

/// The size is known: finds room for it, and says in the result what is received. False: it cannot be received.
template <class World, class Route, protocol_set Use>
bool engine<World, Route, Use>::prepare(request& r, std::uint64_t size) noexcept {
    if (r.provide) {
        if (auto const s = r.provide(r, size); s != status::ok) return r.result.how = s, false;
    }
    r.total = std::min<std::uint64_t>(size, r.into.size());
    r.moved = 0;
    r.result.bytes = size;
    r.result.how = size > r.total ? status::truncated : status::ok;
    return true;
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::deliver(request& r, arrival& a) noexcept {
    r.matched = true;
    r.peer = a.from;
    r.other.index = a.sender.index, r.other.generation = a.sender.generation;
    r.result.set(a.from, a.label, a.size, status::ok);
    counts_.received[static_cast<unsigned>(way_of(a.kind))].count(a.size);
    bool const room = prepare(r, a.size);
    if (!room) r.total = 0;
    switch (a.kind) {
    case op::rts: return begin_pull(r, a);
    case op::e1:
    case op::e1_begun:
    case op::e1_sync:
        read_lent(a.kind, a.from, a.loan, a.size, {r.into, 0, r.total, limits_.goes_past(a.size)}, wire::first_piece(a.size));
        break;
    default: r.into.write(0, {a.buffer, static_cast<std::size_t>(r.total)}); break;
    }
    if (wants_ack(a.kind, a.sender)) control(a.from, op::ack, wire::ack{a.sender.index, a.sender.generation});
    complete(r);
}

/// A peer broke the protocol: there is no sound way on.
template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::broken(std::string_view what, rank from) noexcept {
    job_.abort(1,
               "rank " + std::to_string(from.value) + " sent " + std::string{what} + ": the protocol is broken, or memory is");
}

} // namespace mpt::inline v0::protocol
