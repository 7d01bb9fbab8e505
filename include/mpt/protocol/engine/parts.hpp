/// protocol/engine/parts - a message that is small and yet too long for a frame: a few frames, one behind the other.
///
///        sender     e0_first | label  size  data |  e0_more | data |  e0_more | data |      all of them or none (has_room)
///                                           |                 |                 |
///        receiver   peer.parts   | label  data               data              data  |  --- full ---> as if it had been one frame
///
///   An answer goes in one long frame where the transport takes such (transport_answering): e0 with more data.
///
///   Why it is faster than a loan: the frames are lines that the receiver looks at anyway, and it takes them one after the other
///   from where they lie. A loan is an envelope, and behind it memory that the receiver cannot ask for before it has read that;
///   then the word that gives it back.
///
///   Order    the sender holds the lane's lock until the last frame is out, so nothing of this pair comes between. Matching sees the
///            message when it is whole.
///   Memory   a buffer of gathering::most bytes for each peer that ever sent such a message.
///   Limit    transports that say how many frames they will take (transport_foreseeing), up to gathering::most bytes. Synchronous
///            sends go by a loan.
#pragma once
#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

/// Messages of up to so many bytes may go in frames, be it a long one or several.
template <class World, class Route, protocol_set Use> template <class E>
std::size_t engine<World, Route, Use>::most_parts() const noexcept {
    std::size_t most = 0;
    if constexpr (transport_foreseeing<E>) most = gathering::most;
    if constexpr (transport_answering<E>) most = std::max(most, E::max_answer - sizeof(wire::e0));
    return std::min<std::uint64_t>({most, Use.e0_max, limits_.eager_max});
}

/// More than a frame's data, at most most_parts(). False: there is no room for all of it, and nothing was sent.
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::push_parts(E& wire, rank to, wire::label const& what, source const& data) noexcept {
    if constexpr (transport_answering<E>) {
        bool const gone =
            wire.answer(to, sizeof(wire::e0) + data.size(), static_cast<std::uint16_t>(op::e0), [&](std::span<std::byte> room) {
                wire::write(room, wire::e0{what});
                data.read(0, room.subspan(sizeof(wire::e0)));
            });
        if (gone) return true;
    }
    if constexpr (transport_foreseeing<E>) {
        if (data.size() > gathering::most) return false;
        constexpr auto most = max_frame<E>, head = sizeof(wire::e0_first);
        auto const n = data.size();
        if (!wire.has_room(to, static_cast<std::uint32_t>((n + head + most - 1) / most))) return false;
        auto const put = [&](std::size_t at, std::size_t front, op kind) {
            auto cell = wire.reserve(to, std::min(n - at + front, most));
            auto const room = cell.payload();
            if (front) wire::write(room, wire::e0_first{what, static_cast<std::uint32_t>(n)});
            data.read(at, room.subspan(front));
            wire.commit(std::move(cell), static_cast<std::uint16_t>(kind));
        };
        put(0, head, op::e0_first);
        for (auto at = most - head; at < n; at += most) put(at, 0, op::e0_more);
        return true;
    } else return false;
}

/// The message, as the payload of an e0 frame, once it is whole; else nothing.
template <class World, class Route, protocol_set Use>
std::span<std::byte const> engine<World, Route, Use>::gather(frame const& f) noexcept {
    auto& parts = at(f.from).parts;
    auto data = f.payload;
    if (f.op == static_cast<std::uint16_t>(op::e0_first)) {
        auto const h = wire::read<wire::e0_first>(data);
        bool const begun = parts && parts->left() != 0;
        if (!h || h->what.tag < 0 || h->size > gathering::most || begun) broken("the beginning of no message", f.from);
        if (!parts) parts.reset(new (std::nothrow) gathering);
        if (!parts) job_.abort(1, "mpt: out of memory for messages of several frames");
        parts->begin(h->what, h->size);
        data = data.subspan(sizeof *h);
    }
    if (!parts || data.empty() || data.size() > parts->left()) broken("a piece of no message", f.from);
    parts->add(data);
    return parts->left() == 0 ? parts->payload() : std::span<std::byte const>{};
}

} // namespace mpt::inline v0::protocol
