// transport::stream: sending. An outlet is a linear buffer of records; what is ready is written in one piece.
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fcntl.h>

#include "stream_impl.hpp"
#include "stream_trust.hpp"

namespace mpt::inline v0::transport::detail {

namespace {

/// The kernel has no room now, and will have.
bool later(error_code ec) noexcept {
    return ec == asio::error::would_block || ec == asio::error::try_again || ec == asio::error::no_buffer_space ||
           ec == asio::error::no_memory;
}
/// No socket now; there may be one when others have closed theirs.
bool no_socket_now(error_code ec) noexcept {
    return later(ec) || ec == asio::error::no_descriptors || ec == boost::system::errc::too_many_files_open_in_system;
}

/// Empty: the bytes that came from the peer are not an address.
asio::generic::stream_protocol::endpoint endpoint_of(std::span<std::byte const> bytes) {
    stream_address a;
    if (bytes.size() != sizeof a) return {};
    std::memcpy(&a, bytes.data(), sizeof a);
    if (a.family == AF_INET) return asio::ip::tcp::endpoint{asio::ip::address_v4::loopback(), a.port};
    if (a.family != AF_UNIX || a.name_size < 2 || a.name_size > a.name.size() || a.name[0] != '\0') return {};
    return asio::local::stream_protocol::endpoint{std::string{a.name.data(), a.name_size}};
}

} // namespace

// --- cells ------------------------------------------------------------------------------------------------------------------

stream_room stream_port::impl::reserve(rank p, std::size_t n) noexcept {
    if (n > max_frame_) return {};
    auto* l = known(p);
    if (!l && !(reaches(p) && (l = link_of(p)))) return {};
    auto& o = l->out;
    if (o.at == outlet::state::broken || l->in.ended || (!o.buffer && !prepare(o))) return {};
    auto const need = stream_record::span_of(n);
    if (o.top + need > outlet_bytes) {
        // Moving is paid for by the half buffer that was written since the last time.
        if (o.open != 0 || o.sent < outlet_bytes / 2) return {};
        std::memmove(o.buffer.get(), o.buffer.get() + o.sent, o.top - o.sent);
        o.ready -= o.sent, o.top -= o.sent, o.sent = 0;
        if (o.top + need > outlet_bytes) return {};
    }
    auto* const at = o.buffer.get() + o.top;
    std::memset(at + need - 8, 0, 8); // what follows the payload says nothing about our memory
    stream_record{static_cast<std::uint32_t>(n), 0, stream_what::open}.write(at);
    stream_room const room{&o, o.top, {at + sizeof(stream_record), n}};
    o.top += need;
    ++o.open;
    return room;
}

void stream_port::impl::commit(stream_room const& r, std::uint16_t op) noexcept {
    auto& o = *static_cast<outlet*>(r.outlet);
    --o.open;
    if (o.at == outlet::state::broken) return;
    stream_record{static_cast<std::uint32_t>(r.payload.size()), op, stream_what::frame}.write(o.buffer.get() + r.at);
    advance(o);
    push_or_list(o);
}

/// The last record is taken back; one in the middle becomes padding, and may have held back those behind it.
void stream_port::impl::abandon(stream_room const& r) noexcept {
    auto& o = *static_cast<outlet*>(r.outlet);
    --o.open;
    if (o.at == outlet::state::broken) return;
    if (r.at + stream_record::span_of(r.payload.size()) == o.top) o.top = r.at;
    else stream_record{static_cast<std::uint32_t>(r.payload.size()), 0, stream_what::padding}.write(o.buffer.get() + r.at);
    advance(o);
    push_or_list(o);
}

void stream_port::impl::advance(outlet& o) noexcept {
    while (o.ready < o.top) {
        auto const r = stream_record::read(o.buffer.get() + o.ready);
        if (r.what == stream_what::open) return;
        o.ready += stream_record::span_of(r.size);
    }
}

/// The outlet's buffer, with the hello as the first thing in it.
bool stream_port::impl::prepare(outlet& o) noexcept {
    if (!reaches(o.of.who)) return false;
    o.buffer.reset(new (std::nothrow) std::byte[outlet_bytes]);
    if (!o.buffer) return false;
    stream_hello const hello{stream_hello::magic_value,
                             stream_hello::current_version,
                             static_cast<std::uint32_t>(max_frame_),
                             job_.me(),
                             o.of.who,
                             static_cast<std::uint16_t>(slot_),
                             static_cast<std::uint16_t>(lane_),
                             0,
                             job_.header().cookie};
    std::memcpy(o.buffer.get(), &hello, sizeof hello);
    o.ready = o.top = sizeof hello;
    return true;
}

// --- writing ----------------------------------------------------------------------------------------------------------------

/// Inside a round frames are gathered, and what the kernel refused waits for the ready set; else they go at once.
void stream_port::impl::push_or_list(outlet& o) noexcept {
    if (o.sent == o.ready) return;
    bool const waits = o.blocked || (inside_ && o.ready - o.sent < gather_bytes);
    if (waits || !push(o)) list(o);
}

void stream_port::impl::list(outlet& o) noexcept {
    if (!std::exchange(o.listed, true)) unsent_.push_back(&o); // link_of() made room
}

bool stream_port::impl::push(outlet& o) noexcept {
    if (o.at == outlet::state::fresh) dial(o);
    else if (o.at == outlet::state::connecting) run_handlers();
    return o.at == outlet::state::broken || (o.at == outlet::state::up && write(o));
}

bool stream_port::impl::push_all(bool blocked_too) noexcept {
    for (std::size_t i = 0; i < unsent_.size();) {
        auto& o = *unsent_[i];
        if ((o.blocked && !blocked_too) || !push(o)) {
            ++i;
            continue;
        }
        o.listed = false;
        unsent_[i] = unsent_.back();
        unsent_.pop_back();
    }
    return unsent_.empty();
}

bool stream_port::impl::write(outlet& o) noexcept {
    while (o.sent < o.ready) {
        error_code ec;
        auto const n = o.socket.write_some(asio::buffer(o.buffer.get() + o.sent, o.ready - o.sent), ec);
        if (!ec) {
            o.sent += n;
            continue;
        }
        if (ec == asio::error::interrupted) continue;
        if (later(ec)) return block(o, true), false;
        if (ec == asio::error::not_connected && o.sent == 0) return hang_up(o), false;
        return break_off(o), true;
    }
    block(o, false);
    if (o.sent == o.top) o.sent = o.ready = o.top = 0;
    return true;
}

void stream_port::impl::block(outlet& o, bool on) noexcept {
    if (std::exchange(o.blocked, on) == on) return;
    ready_.change(o.socket.native_handle(), on ? EPOLLIN | EPOLLOUT : EPOLLIN, &o);
}

// --- connecting -------------------------------------------------------------------------------------------------------------

/// Begins to connect; a Unix socket is connected when this returns. Without success the outlet stays fresh, and is dialled
/// again by the next push.
void stream_port::impl::dial(outlet& o) noexcept {
    try {
        auto const to = endpoint_of(job_.address(o.of.who, slot_, lane_));
        if (to.size() == 0) return break_off(o);
        error_code ec;
        if (o.socket.open(to.protocol(), ec); ec) return no_socket_now(ec) ? void() : break_off(o);
        ::fcntl(o.socket.native_handle(), F_SETFD, FD_CLOEXEC);
        o.socket.set_option(asio::socket_base::send_buffer_size{static_cast<int>(outlet_bytes)}, ec);
        if (to.protocol().family() == AF_INET) o.socket.set_option(asio::ip::tcp::no_delay{true}, ec);
        o.at = outlet::state::connecting;
        o.socket.async_connect(to, [this, &o](error_code failed) { dialled(o, failed); });
    } catch (...) { return hang_up(o); } // no memory
    run_handlers();
    if (o.at == outlet::state::connecting) ready_.add(o.socket.native_handle(), EPOLLOUT, &o);
}

void stream_port::impl::dialled(outlet& o, error_code ec) noexcept {
    if (o.at != outlet::state::connecting || ec == asio::error::operation_aborted) return;
    if (ec) return no_socket_now(ec) || ec == asio::error::interrupted ? hang_up(o) : break_off(o);
    if (!same_user(o.socket)) return break_off(o);
    o.socket.non_blocking(true, ec);
    o.at = outlet::state::up;
    // It may be there already, for the end of connecting. From now on: for the end of the peer, who never writes here.
    if (!ready_.add(o.socket.native_handle(), EPOLLIN, &o)) ready_.change(o.socket.native_handle(), EPOLLIN, &o);
    write(o);
}

/// Closes a socket that never was connected; the outlet is dialled again.
void stream_port::impl::hang_up(outlet& o) noexcept {
    error_code ec;
    if (o.socket.is_open()) {
        ready_.remove(o.socket.native_handle());
        o.socket.close(ec);
    }
    o.at = outlet::state::fresh;
}

/// Something came on a connection on which the peer never writes: it has gone, or is not what we think.
void stream_port::impl::check_peer(outlet& o) noexcept {
    std::byte nothing;
    error_code ec;
    o.socket.read_some(asio::buffer(&nothing, 1), ec);
    if (!later(ec) && ec != asio::error::interrupted) break_off(o);
}

void stream_port::impl::break_off(outlet& o) noexcept {
    if (o.at == outlet::state::broken) return;
    hang_up(o);
    o.at = outlet::state::broken;
    o.blocked = false;
    o.sent = o.ready;
    if (o.open == 0) o.buffer.reset();
    ++departures_;
}

} // namespace mpt::inline v0::transport::detail
