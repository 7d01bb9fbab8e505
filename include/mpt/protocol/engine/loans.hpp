/// protocol/engine/loans - data in a buffer of the sender's that the receiver reads in place (protocol/e1, and the chunks of rndv_put).
///
///        sender     lend, write --- frame: where, how long --->  the lines of the next loan come here meanwhile
///        receiver                                           '->  find its receive, copy, give back
///
///   Fast paths   a standard send of more than a frame, and a receive that waits for it with nothing else posted, take no request.
///   Cost         two line transfers one after the other, the frame's and the data's. The third, for lines that the receiver has read
///                before to be written again, is over before the next loan. 256 B half way: 118 ns in place of 225 by requests and
///                without looking ahead; 4 KiB 230 in place of 365. origin: bench/peers, latency, AMD EPYC, Zen 5
#pragma once
#include <algorithm>

#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

/// The first `wanted` bytes of a loan of `size`, into the sink at an offset; and the loan goes back.
template <class World, class Route, protocol_set Use>
void engine<World, Route, Use>::read_loan(rank from, std::uint64_t loan, std::uint64_t size, sink const& into,
                                          std::uint64_t offset, std::uint64_t wanted) noexcept {
    with(at(from), [&]<class E>(E& wire) {
        if constexpr (lends<E>) {
            auto const data = wire.borrow(from, loan, size);
            if (data.size() != size) broken("a loan that is not in the sender's slice", from);
            into.write(offset, data.first(std::min(size, wanted)));
            wire.give_back(from, loan);
        } else broken("a loan on a transport that does not lend", from);
    });
}

/// The data into a loan, and its reference on the way.
template <class World, class Route, protocol_set Use> template <class E>
auto engine<World, Route, Use>::push_loan(E& wire, rank to, op kind, wire::e1 head, source const& data, bool& no_loan) noexcept
    -> pushed {
    auto loan = wire.lend(to, data.size());
    if (!loan) return no_loan = true, pushed::again;
    auto cell = wire.reserve(to, sizeof head);
    if (!cell) return wire.revoke(std::move(loan)), pushed::again;
    data.read(0, loan.memory());
    head.loan = loan.ref();
    wire::write(cell.payload(), head);
    wire.commit(std::move(cell), static_cast<std::uint16_t>(kind));
    if constexpr (transport_lending_again<E>) wire.foresee(data.size());
    counts_.sent[static_cast<unsigned>(way::loan)].count(data.size());
    return pushed::yes;
}

/// A standard send of more than a frame holds: in a few frames, or by a loan. False: nothing was sent.
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::send_longer_now(E& wire, rank to, wire::label what, source data) noexcept {
    auto const n = data.size();
    if (n <= most_parts<E>() && push_parts(wire, to, what, data)) return counts_.sent_now_bytes += n, true;
    ++counts_.declined; // from here on it is no frame
    if constexpr (Use.e1 && lends<E>) {
        bool no_loan = false;
        if (n > limits_.eager_max || n > wire.max_loan() ||
            push_loan(wire, to, op::e1, {what, static_cast<std::uint32_t>(n), 0, 0, 0}, data, no_loan) != pushed::yes)
            return false;
        if constexpr (to_ourselves<E>) wake_threads();
        return true;
    } else return false;
}

inline bool is_wanted(wire::label const& what, envelope const& wanted) noexcept {
    return what.context() == wanted.context && what.tag >= 0 && (tag{what.tag} == wanted.label || wanted.label == any_tag);
}

/// A frame that is no small message: the wanted one, in a loan or in several frames, goes straight to its buffer; any other is handled as
/// it comes, and nothing is got.
template <class World, class Route, protocol_set Use>
received engine<World, Route, Use>::take_other(frame const& f, envelope const& wanted, std::span<std::byte> into) noexcept {
    if (f.op == static_cast<std::uint16_t>(op::e1)) {
        auto const h = wire::read<wire::e1>(f.payload);
        if (!h || !is_wanted(h->what, wanted)) return on_frame(f), received{};
        read_loan(f.from, h->loan, h->size, sink{into}, 0, into.size());
        counts_.received[static_cast<unsigned>(way::loan)].count(h->size);
        return {static_cast<std::int32_t>(h->size), h->what.tag};
    }
    if (f.op != static_cast<std::uint16_t>(op::e0_first) && f.op != static_cast<std::uint16_t>(op::e0_more))
        return on_frame(f), received{};
    auto const whole = gather(f);
    if (whole.empty()) return {};
    wire::label what;
    std::memcpy(&what, whole.data(), sizeof what);
    if (!is_wanted(what, wanted)) return on_frame({f.from, static_cast<std::uint16_t>(op::e0), whole}), received{};
    auto const n = whole.size() - sizeof what;
    copy_bytes(into.data(), whole.data() + sizeof what, std::min(n, into.size()));
    counts_.taken_now.count(n);
    return {static_cast<std::int32_t>(n), what.tag};
}

} // namespace mpt::inline v0::protocol
