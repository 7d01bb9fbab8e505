// transport::stream: the port. Outlets and inlets are in stream_outlet.cpp and stream_inlet.cpp.
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/poll.h>
#include <unistd.h>

#include "stream_impl.hpp"
#include <mpt/config/config.hpp>
#include <mpt/core/error.hpp>

namespace mpt::inline v0::transport::detail {

void stream_failed(std::string_view what, error_code ec) {
    throw error{errc::system, fmt::format("mpt: transport stream: cannot {}: {}", what, ec.message()), ec.value()};
}

// --- the ready set ---------------------------------------------------------------------------------------------------------

ready_set::ready_set() : fd_{::epoll_create1(EPOLL_CLOEXEC)} {
    if (fd_ < 0) stream_failed("make an epoll descriptor", {errno, boost::system::system_category()});
}
ready_set::~ready_set() { ::close(fd_); }

bool ready_set::add(int fd, std::uint32_t events, void* who) noexcept {
    epoll_event e{.events = events, .data = {.ptr = who}};
    return ::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &e) == 0;
}
void ready_set::change(int fd, std::uint32_t events, void* who) noexcept {
    epoll_event e{.events = events, .data = {.ptr = who}};
    ::epoll_ctl(fd_, EPOLL_CTL_MOD, fd, &e);
}
void ready_set::remove(int fd) noexcept {
    epoll_event e{};
    ::epoll_ctl(fd_, EPOLL_CTL_DEL, fd, &e);
}
int ready_set::wait(std::span<epoll_event> events) noexcept {
    auto const n = ::epoll_wait(fd_, events.data(), static_cast<int>(events.size()), 0);
    return n < 0 ? 0 : n; // EINTR: as if nothing was there; the next round asks again
}

// --- the door ---------------------------------------------------------------------------------------------------------------

namespace {
stream_kind configured_kind() {
    return config::values::of_process().get<"MPT_STREAM">() == "tcp" ? stream_kind::tcp : stream_kind::local;
}
} // namespace

stream_port::impl::impl(boot::job& j, unsigned slot, unsigned lane, stream_kind kind, std::size_t max_frame)
    : job_{j}, slot_{slot}, lane_{lane}, max_frame_{max_frame} {
    open_door(kind == stream_kind::configured ? configured_kind() : kind);
    ::fcntl(door_.native_handle(), F_SETFD, FD_CLOEXEC);
    error_code ec;
    if (door_.listen(stream_door::max_listen_connections, ec); ec) stream_failed("listen", ec);
    accept_next();
    if (!ready_.add(door_.native_handle(), EPOLLIN, &door_mark_))
        stream_failed("watch its listening socket", {errno, boost::system::system_category()});
}

/// What is committed reaches the kernel before the sockets close, if the peers take it; a second is long for that. The streams
/// are shut down, not only closed: a child that was forked meanwhile may hold them open.
stream_port::impl::~impl() {
    constexpr int naps = 100, nap_ms = 10;
    for (int i = 0; i < naps && !push_all(true); ++i) {
        pollfd wait{.fd = ready_.descriptor(), .events = POLLIN, .revents = 0};
        ::poll(&wait, 1, nap_ms);
    }
    error_code ec;
    ::shutdown(door_.native_handle(), SHUT_RDWR);
    for (auto& [who, l] : links_) {
        if (l->out.at == outlet::state::up) l->out.socket.shutdown(asio::socket_base::shutdown_both, ec);
        if (l->in.used && !l->in.ended) l->in.socket.shutdown(asio::socket_base::shutdown_both, ec);
    }
}

void stream_port::impl::open_door(stream_kind kind) {
    if (kind == stream_kind::local) bind_local();
    else bind_tcp();
}

/// An abstract name: it lives as long as the socket, and leaves nothing in any file system.
void stream_port::impl::bind_local() {
    error_code ec;
    if (door_.open({AF_UNIX, 0}, ec); ec) stream_failed("make a Unix socket", ec);
    for (int attempt = 0; attempt < 16; ++attempt) {
        auto const name =
            fmt::format("{}mpt.{:016x}.{}.{}.{}.{}", '\0', job_.header().job_id, job_.me().value, slot_, lane_, attempt);
        door_.bind(asio::local::stream_protocol::endpoint{name}, ec);
        if (ec == asio::error::address_in_use) continue;
        if (ec) break;
        address_.family = AF_UNIX;
        address_.name_size = static_cast<std::uint32_t>(name.size());
        std::copy_n(name.begin(), std::min(name.size(), address_.name.size()), address_.name.begin()); // 60 characters at most
        return;
    }
    stream_failed("bind an abstract Unix name", ec);
}

void stream_port::impl::bind_tcp() {
    error_code ec;
    if (door_.open({AF_INET, 0}, ec); ec) stream_failed("make a TCP socket", ec);
    door_.set_option(asio::socket_base::receive_buffer_size{static_cast<int>(outlet_bytes)},
                     ec); // inherited by what it accepts
    door_.bind(asio::ip::tcp::endpoint{asio::ip::address_v4::loopback(), 0}, ec);
    if (ec) stream_failed("bind a port of 127.0.0.1", ec);
    auto const bound = door_.local_endpoint(ec);
    if (ec) stream_failed("learn its port", ec);
    sockaddr_in in{};
    std::memcpy(&in, bound.data(), std::min(sizeof in, bound.size()));
    address_.family = AF_INET;
    address_.port = ntohs(in.sin_port);
}

void stream_port::impl::accept_next() {
    door_closed_ = false;
    door_.async_accept([this](error_code ec, stream_socket s) {
        if (ec == asio::error::operation_aborted) return;
        door_closed_ = static_cast<bool>(ec); // without descriptors, accepting again at once would never end
        if (ec) return;
        welcome(std::move(s));
        accept_next();
    });
}

void stream_port::impl::run_handlers() noexcept {
    try {
        if (context_.stopped()) context_.restart();
        context_.poll();
    } catch (...) { door_closed_ = true; } // no memory for a connection: it waits in the kernel
}

// --- peers ------------------------------------------------------------------------------------------------------------------

link* stream_port::impl::known(rank p) noexcept {
    if (last_ && last_->who == p) return last_;
    auto const it = links_.find(p);
    return it == links_.end() ? nullptr : last_ = it->second.get();
}

link* stream_port::impl::link_of(rank p) noexcept {
    if (auto* l = known(p)) return l;
    try {
        unsent_.reserve(links_.size() + 1);
        auto made = std::make_unique<link>(context_, p);
        return last_ = links_.emplace(p, std::move(made)).first->second.get();
    } catch (...) { return nullptr; }
}

bool stream_port::impl::reaches(rank p) noexcept {
    return p >= 0 && p < job_.size() && job_.address(p, slot_, lane_).size() == sizeof(stream_address);
}

void stream_port::impl::drop_current() noexcept {
    if (auto* i = std::exchange(current_, nullptr)) i->begin += current_size_;
}

// --- rounds -----------------------------------------------------------------------------------------------------------------

/// Asks the ready set once and does what it says. Never while a frame is being handed over: reading may move a buffer.
void stream_port::impl::gather() noexcept {
    std::array<epoll_event, 64> events;
    auto const n = ready_.wait(events);
    for (int i = 0; i < n; ++i) on_event(events[static_cast<std::size_t>(i)]);
    if (!strangers_.empty()) std::erase_if(strangers_, [](auto const& s) { return s->done; });
}

void stream_port::impl::on_event(epoll_event const& e) noexcept {
    auto* who = static_cast<watched*>(e.data.ptr);
    switch (who->as) {
    case watched::role::door:
        try {
            if (door_closed_) accept_next();
        } catch (...) { door_closed_ = true; }
        return run_handlers();
    case watched::role::stranger: return listen_to(*static_cast<stranger*>(who));
    case watched::role::inlet: return read(*static_cast<inlet*>(who));
    case watched::role::outlet: break;
    }
    auto& o = *static_cast<outlet*>(who);
    if (o.at == outlet::state::connecting) return run_handlers();
    if (o.at == outlet::state::up && (e.events & (EPOLLIN | EPOLLHUP | EPOLLERR))) check_peer(o);
    if (o.at == outlet::state::up && (e.events & EPOLLOUT)) write(o);
}

// --- the plain class --------------------------------------------------------------------------------------------------------

stream_port::stream_port(boot::job& job, unsigned slot, unsigned lane, stream_kind kind, std::size_t max_frame)
    : impl_{std::make_unique<impl>(job, slot, lane, kind, max_frame)} {}
stream_port::~stream_port() = default;

stream_address stream_port::local() const noexcept { return impl_->address_; }
bool stream_port::reaches(rank p) noexcept { return impl_->reaches(p); }
stream_room stream_port::reserve(rank p, std::size_t n) noexcept { return impl_->reserve(p, n); }
void stream_port::commit(stream_room const& r, std::uint16_t op) noexcept { impl_->commit(r, op); }
void stream_port::abandon(stream_room const& r) noexcept { impl_->abandon(r); }

void stream_port::begin() noexcept { impl_->inside_ = true, impl_->gathered_ = false; }
bool stream_port::next(frame& f) noexcept {
    auto& me = *impl_;
    me.drop_current();
    for (;;) {
        for (; me.first_ready_; me.unlist_first())
            if (me.take(*me.first_ready_, f)) return true;
        if (std::exchange(me.gathered_, true)) return false;
        me.gather();
    }
}
/// The peer's socket is read without asking the ready set: one system call when nothing is there.
bool stream_port::next_from(rank p, frame& f) noexcept {
    auto& me = *impl_;
    me.drop_current();
    auto* l = me.known(p);
    if (!l || !l->in.used) {
        me.gather();
        if (l = me.known(p); !l || !l->in.used) return false;
    }
    if (me.take(l->in, f)) return true;
    me.read(l->in);
    return me.take(l->in, f);
}
void stream_port::end() noexcept {
    impl_->drop_current();
    impl_->inside_ = false;
    if (!impl_->unsent_.empty()) impl_->push_all(false);
}

bool stream_port::flush() noexcept { return impl_->push_all(true); }
std::span<int const> stream_port::descriptors() const noexcept { return {&impl_->ready_.descriptor(), 1}; }
std::uint32_t stream_port::departures() const noexcept { return impl_->departures_; }
bool stream_port::gone(rank p) noexcept { return impl_->gone(p); }

} // namespace mpt::inline v0::transport::detail
