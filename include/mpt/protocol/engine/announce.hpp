/// protocol/engine/announce - the beginning of a rendezvous at the sender: the receiver hears how much there is and where it lies.
///
///        rts          size, where, ticket
///        rts_runs     the same of a message in many runs
///        rts_begun    the same, and a loan: its first bytes, which are written while the announcement travels and its answer comes
///                     back. Who is asked to push goes on behind them.
///
///   Why the first bytes go at once: an answer takes as long as a copy of 16 KiB, and both ranks would do nothing meanwhile. A
///   receiver that goes another way gives the loan back unread: nothing is begun of what nobody pushes (MPT_PIPELINE_MAX). And only for
///   who has nothing else on offer: a rank that has, has what to do until the answer comes, and the loans are for those who are answered.
#pragma once
#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

/// What of a rendezvous goes with its announcement.
/// origin: latency, half way, AMD EPYC, Zen 5: 64 KiB 1.67 us without, 1.77 with 16 KiB, 1.44 with 32 KiB
inline constexpr std::uint64_t first_bytes = 32_KiB;

template <class World, class Route, protocol_set Use> template <class E>
auto engine<World, Route, Use>::push_rts(E& wire, request& r) noexcept -> pushed {
    bool const single = limits_.single_copy && r.from.size() >= limits_.single_copy_min;
    bool const runs = reads_runs<E> && single && !r.from.is_contiguous();
    bool const begun = begins<E> && single && may_begin(r);
    auto cell = wire.reserve(r.peer, runs ? sizeof(wire::rts_runs) : begun ? sizeof(wire::rts_begun) : sizeof(wire::rts));
    if (!cell) return pushed::again;
    auto const announced = [&] {
        counts_.sent[static_cast<unsigned>(way::rendezvous)].count(r.from.size());
        tell(notice_kind::offered, r.wanted, r.peer, r.from.size());
        note_way<E>(r.peer, r.wanted.context, r.from);
        r.at = phase::offered;
        ++outstanding_;
        r.moved = 0;
        if (r.ticket) offers_.push_back(r);
        return pushed::yes;
    };
    auto what = op::rts;
    r.ticket = 0;
    if constexpr (reads_runs<E>)
        if (runs && write_runs(wire, r, cell.payload())) what = op::rts_runs;
    if (what == op::rts) {
        wire::rts head{wire::label::of(r.wanted.context, r.wanted.label),
                       0,
                       r.from.size(),
                       0,
                       requests_.index_of(&r),
                       requests_.generation_of(&r),
                       0,
                       0};
        if constexpr (reads<E>) {
            if (single && r.from.is_contiguous()) {
                std::span const memory{r.from.data(), r.from.size()};
                auto const where = wire.expose(memory);
                head.address = where.address, head.in_slice = where.in_slice, head.readable = 1;
                head.ticket = take_ticket(wire, r, memory);
            }
        }
        wire::write(cell.payload(), head);
        if constexpr (begins<E>)
            if (begun && r.ticket) return push_begun(wire, r, head, std::move(cell)), announced();
    }
    wire.commit(std::move(cell), static_cast<std::uint16_t>(what));
    return announced();
}

template <class World, class Route, protocol_set Use> bool engine<World, Route, Use>::may_begin(request const& r) noexcept {
    return limits_.from_both_ends(r.from.size()) && offers_.empty() && pushes_.empty() && !at(r.peer).throttled &&
           r.from.is_contiguous() && r.from.size() > first_bytes && r.from.size() <= limits_.pipeline_max;
}

/// An announcement that is ready, with a loan if there is one.
template <class World, class Route, protocol_set Use> template <class E>
void engine<World, Route, Use>::push_begun(E& wire, request& r, wire::rts const& head, typename E::cell cell) noexcept {
    auto const n = std::min<std::uint64_t>(first_bytes, wire.max_loan());
    auto loan = lend_part(wire, r.peer, static_cast<std::size_t>(n));
    if (loan)
        wire::write(cell.payload(),
                    wire::rts_begun{head.what, head.ticket, head.size, head.address, head.index, head.generation,
                                    static_cast<std::uint32_t>(n) << 1 | head.in_slice, loan.ref()});
    if (!loan) return wire.commit(std::move(cell), static_cast<std::uint16_t>(op::rts));
    write_loan(wire, r.peer, std::move(cell), op::rts_begun, loan, {r.from, 0, n}, piece_of<E>(n, r.from));
}

/// For a message that both ends may copy, or that either may bring.
template <class World, class Route, protocol_set Use> template <class E>
std::uint32_t engine<World, Route, Use>::take_ticket(E& wire, request& r, std::span<std::byte const> memory) noexcept {
    auto const n = r.from.size();
    if constexpr (joins<E>)
        if (n >= limits_.both_ends_min && (limits_.from_both_ends(n) || n <= limits_.pipeline_max))
            r.ticket = wire.offer(r.peer, memory);
    return r.ticket;
}

} // namespace mpt::inline v0::protocol
