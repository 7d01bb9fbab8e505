/// protocol/engine/stretched - a message that is small and yet too long for a usual frame: e0 in a long one.
///
///        sender     stretch(): label | data ......... written piece by piece to where the transport has them
///        receiver   stretched(): its receive is posted, or waits --> piece by piece to where it belongs
///                                        nobody's yet ------------> put together, then as any frame
///
///   Limit    transports that have long frames (transport_stretching), up to their max_stretch, E0's largest and MPT_EAGER_MAX. Synchronous
///            sends go by a loan.
#pragma once
#include <mpt/protocol/engine.hpp>

namespace mpt::inline v0::protocol {

/// More than a frame's data. False: it may not go so, or there is no room for all of it, and nothing was sent.
template <class World, class Route, protocol_set Use> template <class E>
bool engine<World, Route, Use>::push_stretched(E& wire, rank to, wire::label const& what, source const& data) noexcept {
    if constexpr (transport_stretching<E>) {
        constexpr auto head = sizeof(wire::e0),
                       most = std::min<std::size_t>(wires_type::template facts_of<E>().max_stretch - head, Use.e0_max);
        static_assert(most + head > max_frame<E>, "mpt: a transport that stretches says how far: facts.max_stretch");
        if (data.size() > most || data.size() > limits_.eager_max) return false;
        auto const write = [&](auto const& read) {
            return wire.stretch(to, head + data.size(), static_cast<std::uint16_t>(op::e0),
                                [&]<class Room>(std::size_t at, Room room) {
                                    if (at != 0) return read(at - head, room);
                                    wire::write(room, wire::e0{what});
                                    if constexpr (Room::extent == std::dynamic_extent) read(0, room.subspan(head));
                                    else read(0, room.template subspan<head>());
                                });
        };
        if (!data.is_contiguous()) return write([&](std::size_t at, std::span<std::byte> room) { data.read(at, room); });
        return write([from = data.data()]<class Room>(std::size_t at, Room room) {
            if constexpr (Room::extent != std::dynamic_extent) std::memcpy(room.data(), from + at, Room::extent);
            else copy_bytes(room.data(), from + at, room.size());
        });
    } else return false;
}

/// A long frame that nobody waits for in a call.
template <class World, class Route, protocol_set Use> template <class F>
void engine<World, Route, Use>::on_stretched(F f) noexcept {
    wire::label what;
    std::memcpy(&what, f.front().data(), sizeof what);
    bool const usual = f.op == static_cast<std::uint16_t>(op::e0) && what.tag >= 0;
    auto* const hook = usual ? matching_.match({what.context(), f.from, tag{what.tag}}) : nullptr;
    if (hook) {
        auto& r = static_cast<request&>(*hook);
        if (!r.provide && r.into.is_contiguous()) [[likely]] {
            auto const size = f.size - sizeof what;
            auto const n = std::min(size, r.into.size());
            f.template copy<sizeof what>(r.into.data(), n);
            return landed(r, f.from, tag{what.tag}, size, n < size ? status::truncated : status::ok, way::frame);
        }
    }
    std::array<std::byte, F::most> whole;
    f.template copy<0>(whole.data(), f.size);
    frame const flat{f.from, f.op, std::span{whole}.first(f.size)};
    usual ? on_message(flat, op::e0, hook) : on_frame(flat);
}

/// A long frame that comes while a call waits for a message: the wanted one goes straight to its buffer, any other is handled as it comes.
template <class World, class Route, protocol_set Use> template <class F>
received engine<World, Route, Use>::take_stretched(F f, envelope const& wanted, std::span<std::byte> into) noexcept {
    wire::label what;
    std::memcpy(&what, f.front().data(), sizeof what);
    if (f.op != static_cast<std::uint16_t>(op::e0) || !is_wanted(what, wanted)) return on_stretched(f), received{};
    auto const n = f.size - sizeof what;
    f.template copy<sizeof what>(into.data(), std::min(n, into.size()));
    counts_.taken_now.count(n);
    return {static_cast<std::int32_t>(n), what.tag};
}

} // namespace mpt::inline v0::protocol
