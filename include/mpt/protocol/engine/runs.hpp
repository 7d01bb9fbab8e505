/// protocol/engine/runs - a rendezvous of layouts: the receiver reads each run of the sender's straight to where it belongs.
///
///        sender                          wire                            receiver
///        [==]  [==]  [==]  regular       hull, length, distance          [====]    [==]
///        [=] [===]   [=]   listed        hull, the table's address       reads the table first, as it reads the rest
///
///        run by run     where both sides' runs are long enough for it (transport: least_runs)
///        else           as before: pieces that the sender brings (rndv_put)
///
///   Cost     one copy, by the receiver alone: of a message with a ticket only when the sender does not push (engine/pull). A table is
///            16 bytes a run, and a read more.
///   Memory   the table is the sender's until the message is through: with what ends the offer it goes.
///   Limit    the hull of the runs is one piece of memory that the receiver reaches; a peer without leave is pushed to.
#pragma once
#include <array>
#include <limits>

#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

template <class World, class Route, protocol_set Use> void engine<World, Route, Use>::forget_runs(request& r) noexcept {
    if (!r.by_runs) return;
    r.by_runs = false;
    far_.drop(*r.far);
}

// --- the sender ---------------------------------------------------------------------------------------------------------------------

/// Says where the runs are, in the rest of an announcement, if the receiver may want to read them. False: it shall not.
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::offer_runs(E& wire, request& r, wire::rts_runs& head, memory_run& hull) noexcept {
    if (!r.from.lists() || r.from.size() == 0) return false;
    auto const expose = [&](memory_run const& m) {
        return wire.expose({reinterpret_cast<std::byte const*>(m.at), static_cast<std::size_t>(m.bytes)});
    };
    auto const all = r.from.regular();
    if (all && all->stride != 0 && all->bytes <= std::numeric_limits<std::uint32_t>::max() &&
        all->stride == static_cast<std::int32_t>(all->stride)) {
        auto const way = static_cast<std::uint64_t>(all->stride) * (all->count - 1);
        hull = all->stride > 0 ? memory_run{all->at, way + all->bytes} : memory_run{all->at + way, all->bytes - way};
        auto const where = expose(hull);
        if (all->bytes < wire.least_runs(r.peer, where).theirs) return false;
        head.address = where.address, head.in_slice = where.in_slice;
        head.runs = static_cast<std::uint32_t>(all->bytes), head.stride = static_cast<std::int32_t>(all->stride);
        return true;
    }
    memory_run first;
    if (r.from.list(0, 1, {&first, 1}).runs == 0) return false;
    auto* const f = far_.make();
    if (!f) return false;
    auto const least = wire.least_runs(r.peer, expose(first)).theirs;
    bool const told = f->tabulate(r.from, least) && f->listed.size() <= std::numeric_limits<std::uint32_t>::max();
    if (!told) return far_.drop(*f), false;
    auto& top = f->listed.front();
    hull = top;
    auto const where = expose(hull);
    if (where.in_slice == 0 && least < wire.least_runs(r.peer, where).theirs)
        return far_.drop(*f), false; // it only begins in the slice
    top.at = where.address;
    r.far = f, r.by_runs = true;
    head.address = reinterpret_cast<std::uintptr_t>(f->listed.data()), head.in_slice = where.in_slice;
    head.runs = static_cast<std::uint32_t>(f->listed.size()), head.stride = 0;
    return true;
}

template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::write_runs(E& wire, request& r, std::span<std::byte> into) noexcept {
    wire::rts_runs head{};
    memory_run hull;
    if (!offer_runs(wire, r, head, hull)) return false;
    head.what = wire::label::of(r.wanted.context, r.wanted.label);
    head.size = r.from.size();
    head.index = requests_.index_of(&r), head.generation = requests_.generation_of(&r);
    head.ticket = take_ticket(wire, r, {reinterpret_cast<std::byte const*>(hull.at), static_cast<std::size_t>(hull.bytes)});
    wire::write(into, head);
    return true;
}

// --- the receiver -------------------------------------------------------------------------------------------------------------------

/// Prepares for reading run by run; false: it is not worth it, or not possible.
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::find_runs(E& wire, request& r, arrival const& a) noexcept {
    auto const least = wire.least_runs(r.peer, {a.offer.address, a.offer.size, a.offer.in_slice, 0});
    if (!has_long_runs(r.into, r.total, least.ours)) return false;
    auto const n = a.offer.size;
    regular_runs runs{0, n, 0, 1};
    std::uint64_t hull = n;
    if (a.runs != 0 && a.stride != 0) {
        if (n % a.runs != 0) broken("runs that do not make a message", a.from);
        runs = {0, a.runs, a.stride, n / a.runs};
        auto const way = static_cast<std::uint64_t>(std::abs(std::int64_t{a.stride})) * (runs.count - 1);
        hull = way + a.runs;
        if (a.stride < 0) runs.at = way;
    }
    bool const listed = a.runs != 0 && a.stride == 0;
    if (listed && (a.runs < 2 || a.runs - 1 > n)) broken("a table that cannot be one", a.from);
    if ((listed ? n / (a.runs - 1) : runs.bytes) < least.theirs && runs.count != 1) return false;
    auto* const f = far_.make();
    if (!f) return false;
    r.where = {a.offer.address, hull, a.offer.in_slice, 0};
    f->regular = runs;
    if (listed) {
        f->regular = {};
        try {
            f->listed.resize(a.runs);
        } catch (std::bad_alloc const&) { return far_.drop(*f), false; }
    }
    r.far = f, r.by_runs = true;
    return true;
}

/// Reads the table, if there is one.
template <class World, class Route, protocol_set Use> template <class E>
status engine<World, Route, Use>::read_table(E& wire, request& r) noexcept {
    auto& listed = r.far->listed;
    if (listed.empty()) return status::ok;
    auto const n = listed.size() * sizeof(memory_run);
    auto const got = wire.get(r.peer, std::as_writable_bytes(std::span{listed}), {r.where.address, n, 0, 0}, 0);
    if (got != status::ok) return got;
    if (!r.far->is_table_of(r.result.bytes)) broken("a table of other runs than the message's", r.peer);
    r.where = {listed.front().at, listed.front().bytes, r.where.in_slice, 0};
    return status::ok;
}

/// One call's worth of runs; n: their bytes.
template <class World, class Route, protocol_set Use> template <class E>
status engine<World, Route, Use>::pull_runs(E& wire, request& r, std::uint64_t most, std::uint64_t& n) noexcept {
    std::array<memory_run, most_runs_per_get> theirs, ours;
    if (r.moved == 0)
        if (auto const got = read_table(wire, r); got != status::ok) return got;
    auto from = r.far->list(r.moved, std::min(most, r.total - r.moved), theirs);
    auto to = listed_runs{1, from.bytes};
    if (r.into.is_contiguous()) ours[0] = {reinterpret_cast<std::uintptr_t>(r.into.data()) + r.moved, from.bytes};
    else to = r.into.list(static_cast<std::size_t>(r.moved), from.bytes, ours);
    if (to.bytes == 0) return status::bad_address;
    if (to.bytes < from.bytes) from.runs = cut_runs(std::span{theirs}.first(from.runs), to.bytes);
    n = to.bytes;
    return wire.get_runs(r.peer, std::span{ours}.first(to.runs), r.where, std::span{theirs}.first(from.runs));
}

} // namespace mpt::inline v0::protocol
