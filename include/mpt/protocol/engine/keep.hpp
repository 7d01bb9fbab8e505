/// protocol/engine/keep - messages that came before their receive: an entry each, until one claims it.
///
///        frame ---> keep: an entry, filed in the tables ----> take_kept, take_out, deliver ---> release
///          |                             `-- retract: its sender takes it back -----------------> release
///          `------> take_now (engine/peek.hpp): an entry of a matched probe's, not filed -------> release
///
///   Memory   what the entries and their copies take is counted; senders are throttled above MPT_UNEXPECTED_MAX, and relieved at its half.
///   Tests    test/protocol_engine_test.cpp, test/protocol_peek_test.cpp
#pragma once
#include <algorithm>
#include <new>
#include <span>

#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

/// The data of a small message, which lies in its frame, is copied to its entry. False: no memory.
template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::hold(arrival& a) noexcept {
    if (a.kind != op::e0 && a.kind != op::e0_sync) return true;
    auto* to = a.near.data();
    if (a.size > a.near.size()) to = static_cast<std::byte*>(::operator new(a.size, std::nothrow));
    if (!to) return false;
    copy_bytes(to, a.buffer, a.size);
    a.buffer = to;
    account(static_cast<std::int64_t>(sizeof(arrival) + a.size), a.from);
    return true;
}

/// Nobody waits for it: remember it.
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::keep(arrival const& came) noexcept {
    auto* const a = arrivals_.create();
    if (!a) job_.abort(1, out_of_entries);
    *a = came;
    if (!hold(*a) || matching_.store(*a, {a->context, a->from, a->label}) != status::ok) job_.abort(1, out_of_entries);
    counts_.kept.count(a->size);
    counts_.kept_most = std::max<std::uint64_t>(counts_.kept_most, matching_.arrivals());
    tell(notice_kind::unexpected, a->what, a->from, a->size);
}

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::release(arrival& a) noexcept {
    if (a.kind == op::e0 || a.kind == op::e0_sync) {
        if (a.keeps_a_copy()) ::operator delete(a.buffer);
        account(-static_cast<std::int64_t>(sizeof(arrival) + a.size), a.from);
    }
    arrivals_.destroy(&a);
}

/// Counts what is kept, and tells senders when it is too much, and when it is so no more.
template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::account(std::int64_t bytes, rank from) noexcept {
    unexpected_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(unexpected_) + bytes);
    unexpected_high_ = std::max(unexpected_high_, unexpected_);
    if (bytes > 0 && unexpected_ > limits_.unexpected_max) {
        auto& p = at(from);
        if (p.throttling) return;
        p.throttling = true;
        throttling_.push_back(&p);
        ++counts_.throttles;
        control(from, op::throttle, wire::throttle{1});
    } else if (bytes < 0 && unexpected_ <= limits_.unexpected_max / 2 && !throttling_.empty()) {
        for (auto* p : throttling_) {
            p->throttling = false;
            control(p->who, op::throttle, wire::throttle{0});
        }
        throttling_.clear();
    }
}

// --- claimed --------------------------------------------------------------------------------------------------------------
template <class World, class Route, protocol_set Use>
received engine<World, Route, Use>::take_kept(envelope const& wanted, std::span<std::byte> into) noexcept {
    auto* const hook = matching_.find(wanted);
    if (!hook || !entry_of(hook)->is_whole()) return {};
    matching_.remove(*hook);
    return take_out(*entry_of(hook), into);
}

template <class World, class Route, protocol_set Use>
received engine<World, Route, Use>::take_out(arrival& a, std::span<std::byte> into) noexcept {
    received const got{static_cast<std::int32_t>(a.size), a.label};
    copy_bytes(into.data(), a.buffer, std::min<std::size_t>(a.size, into.size()));
    counts_.received[static_cast<unsigned>(way::frame)].count(a.size);
    release(a);
    return got;
}

// --- taken back -----------------------------------------------------------------------------------------------------------

/// The kept message of that request of the peer's.
template <class World, class Route, protocol_set Use>
arrival* engine<World, Route, Use>::kept_of(rank from, wire::retract const& sender) noexcept {
    arrival const* found = nullptr;
    matching_.each_arrival([&](arrival_hook const& hook) noexcept {
        auto const& a = static_cast<arrival const&>(hook);
        bool const waited_for = a.kind == op::rts || wants_ack(a.kind, a.sender);
        if (waited_for && a.from == from && a.sender.index == sender.index && a.sender.generation == sender.generation)
            found = &a;
    });
    return const_cast<arrival*>(found);
}

/// The sender takes a message back: its buffer is about to go. A message that is matched, or in the hands of a matched probe, is
/// the receive's: the sender hears of its end.
template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::on_retract(frame const& f) noexcept {
    auto const h = wire::read<wire::retract>(f.payload);
    if (!h) return broken("a short retract", f.from);
    auto* a = kept_of(f.from, *h);
    if (!a) return;
    matching_.remove(*a);
    if (way_of(a->kind) == way::loan || a->piece != 0)
        with(at(f.from), [&]<class E>(E& wire) {
            if constexpr (lends<E>) wire.give_back(a->from, a->loan);
        });
    release(*a);
    control(f.from, op::retracted, *h);
}

} // namespace mpt::inline v0::protocol
