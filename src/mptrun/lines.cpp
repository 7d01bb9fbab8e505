#include "lines.hpp"

#include <cerrno>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace mptrun {

void write_all(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        auto const n = ::write(fd, text.data(), text.size());
        if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
        else if (errno == EAGAIN) {
            pollfd p{fd, POLLOUT, 0};
            ::poll(&p, 1, -1);
        } else if (errno != EINTR) return; // nobody reads any more
    }
}

tagged::tagged(boost::asio::io_context& io, int from, int to, std::string prefix, std::function<void()> at_end)
    : from_{io, from}, to_{to}, prefix_{std::move(prefix)}, told_{std::move(at_end)} {}

void tagged::start() {
    from_.async_read_some(boost::asio::buffer(piece_), [this](boost::system::error_code failed, std::size_t n) {
        take(n);
        if (failed) ended_ = true;
        else start();
    });
}

void tagged::take(std::size_t n) {
    std::string_view text{piece_.data(), n};
    out_.clear();
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
        out_ += prefix_;
        out_ += waiting_;
        out_ += text.substr(0, end + 1);
        waiting_.clear();
    }
    waiting_ += text;
    write_all(to_, out_);
}

void tagged::flush() {
    if (!waiting_.empty()) write_all(to_, prefix_ + waiting_ + '\n');
    waiting_.clear();
}

// A description of our own: O_NONBLOCK on the shared one would trouble the shell. (A socket has only the shared one.)
feeder::feeder(boost::asio::io_context& io) : io_{io}, from_{io}, later_{io} {
    auto own = ::open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0) own = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
    if (own >= 0) from_.assign(own);
}

void feeder::start() {
    from_.async_read_some(boost::asio::buffer(piece_), [this](boost::system::error_code failed, std::size_t n) {
        if (!failed) return pass(n, 0);
        if (failed == boost::asio::error::operation_aborted) return;     // we are gone
        if (failed != boost::system::errc::io_error) return to_.clear(); // the end of the input
        later_.expires_after(std::chrono::milliseconds{300});            // we are in the background: not our turn to read
        later_.async_wait([this](boost::system::error_code stopped) {
            if (!stopped) start();
        });
    });
}

/// To each rank in turn, then the next piece. A rank that did not take it is left out from now on.
void feeder::pass(std::size_t n, std::size_t next) {
    if (to_.empty()) return;
    if (next == to_.size()) return start();
    boost::asio::async_write(to_[next], boost::asio::buffer(piece_, n),
                             [this, n, next](boost::system::error_code failed, std::size_t) {
                                 if (failed == boost::asio::error::operation_aborted) return; // we are gone
                                 if (!failed) return pass(n, next + 1);
                                 to_.erase(to_.begin() + static_cast<std::ptrdiff_t>(next));
                                 pass(n, next);
                             });
}

} // namespace mptrun
