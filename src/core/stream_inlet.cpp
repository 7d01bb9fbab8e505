// transport::stream: receiving. Every byte here came from outside and is checked before it is used.
#include <boost/asio/buffer.hpp>
#include <fcntl.h>

#include "stream_impl.hpp"
#include "stream_trust.hpp"

namespace mpt::inline v0::transport::detail {

// --- strangers --------------------------------------------------------------------------------------------------------------

void stream_port::impl::welcome(stream_socket s) noexcept {
    error_code ec;
    ::fcntl(s.native_handle(), F_SETFD, FD_CLOEXEC);
    s.non_blocking(true, ec);
    if (ec || !same_user(s)) return;
    if (strangers_.size() >= most_strangers) // who connects says hello at once: the oldest never will
        for (auto& old : strangers_)
            if (!old->done) {
                turn_away(*old);
                break;
            }
    try {
        auto& guest = *strangers_.emplace_back(std::make_unique<stranger>(std::move(s)));
        if (!ready_.add(guest.socket.native_handle(), EPOLLIN, &guest)) return turn_away(guest);
        listen_to(guest);
    } catch (...) {} // no memory: the connection is closed, and its sender sees that we have gone
}

void stream_port::impl::listen_to(stranger& s) noexcept {
    while (!s.done && s.heard < s.said.size()) {
        error_code ec;
        auto const n = s.socket.read_some(asio::buffer(s.said.data() + s.heard, s.said.size() - s.heard), ec);
        s.heard += n;
        if (ec == asio::error::interrupted) continue;
        if (ec == asio::error::would_block || ec == asio::error::try_again) return;
        if (ec) return turn_away(s);
    }
    if (!s.done) believe(s);
}

void stream_port::impl::turn_away(stranger& s) noexcept {
    if (std::exchange(s.done, true)) return;
    error_code ec;
    ready_.remove(s.socket.native_handle());
    s.socket.close(ec);
}

/// Who says a right hello is the peer it names; a second one of the same name is not.
void stream_port::impl::believe(stranger& s) noexcept {
    stream_hello h;
    std::memcpy(&h, s.said.data(), sizeof h);
    bool const ours = same_cookie(h.cookie, job_.header().cookie);
    bool const fits = h.magic == stream_hello::magic_value && h.version == stream_hello::current_version &&
                      h.max_frame == max_frame_ && h.to == job_.me() && h.slot == slot_ && h.lane == lane_ && h.zero == 0;
    if (!ours || !fits || h.from < 0 || h.from >= job_.size()) return turn_away(s);
    auto* l = link_of(h.from);
    if (!l || l->in.used) return turn_away(s);
    auto& i = l->in;
    i.capacity = std::max(inlet_bytes, 2 * stream_record::span_of(max_frame_));
    i.buffer.reset(new (std::nothrow) std::byte[i.capacity]);
    if (!i.buffer) return turn_away(s);
    i.used = true;
    i.socket = std::move(s.socket);
    s.done = true;
    ready_.change(i.socket.native_handle(), EPOLLIN, &i);
    read(i);
}

// --- frames -----------------------------------------------------------------------------------------------------------------

void stream_port::impl::read(inlet& i) noexcept {
    if (i.ended) return;
    if (i.begin == i.end) i.begin = i.end = 0;
    if (i.begin != 0 && i.capacity - i.end < stream_record::span_of(max_frame_)) {
        std::memmove(i.buffer.get(), i.buffer.get() + i.begin, i.end - i.begin);
        i.end -= i.begin, i.begin = 0;
    }
    if (i.end == i.capacity) return; // full of frames that nobody took yet
    error_code ec;
    auto const n = i.socket.read_some(asio::buffer(i.buffer.get() + i.end, i.capacity - i.end), ec);
    i.end += n;
    if (ec && ec != asio::error::would_block && ec != asio::error::try_again && ec != asio::error::interrupted) end_inlet(i);
    frame f;
    if (whole_frame(i, f)) list(i);
}

/// The first frame of the buffer, if all of it is here. Padding is skipped; a record that breaks its bounds ends the stream.
bool stream_port::impl::whole_frame(inlet& i, frame& f) noexcept {
    while (i.end - i.begin >= sizeof(stream_record)) {
        auto const* const at = i.buffer.get() + i.begin;
        auto const r = stream_record::read(at);
        if (!r.allowed(max_frame_)) {
            i.begin = i.end = 0;
            end_inlet(i);
            return false;
        }
        auto const need = stream_record::span_of(r.size);
        if (i.end - i.begin < need) return false;
        if (r.what == stream_what::frame) {
            f = {i.of.who, r.op, {at + sizeof r, r.size}};
            return true;
        }
        i.begin += need;
    }
    return false;
}

bool stream_port::impl::take(inlet& i, frame& f) noexcept {
    if (!whole_frame(i, f)) return false;
    current_ = &i;
    current_size_ = stream_record::span_of(f.payload.size());
    return true;
}

void stream_port::impl::list(inlet& i) noexcept {
    if (std::exchange(i.listed, true)) return;
    i.next = nullptr;
    (last_ready_ ? last_ready_->next : first_ready_) = &i;
    last_ready_ = &i;
}

void stream_port::impl::unlist_first() noexcept {
    auto* const i = first_ready_;
    i->listed = false;
    first_ready_ = i->next;
    if (!first_ready_) last_ready_ = nullptr;
}

void stream_port::impl::end_inlet(inlet& i) noexcept {
    if (std::exchange(i.ended, true)) return;
    error_code ec;
    ready_.remove(i.socket.native_handle());
    i.socket.close(ec);
    ++departures_;
}

/// One direction is over. The other may still hold what the peer sent before it went.
bool stream_port::impl::gone(rank p) noexcept {
    auto* l = known(p);
    if (!l || !(l->out.at == outlet::state::broken || l->in.ended) || inside_) return false;
    if (!l->in.used) gather(); // it may stand before the door
    else read(l->in);
    frame f;
    return !whole_frame(l->in, f);
}

} // namespace mpt::inline v0::transport::detail
