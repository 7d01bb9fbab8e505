#include "lines.hpp"

#include <cerrno>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

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

tagged::tagged(boost::asio::io_context& io, int from, int to, int rank, std::function<void()> at_end)
    : from_{io, from}, to_{to}, prefix_{fmt::format("[{}] ", rank)}, told_{std::move(at_end)} {}

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

// A description of our own: O_NONBLOCK on the shared one would trouble the shell.
terminal::terminal(boost::asio::io_context& io, int to)
    : from_{io, ::open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)}, to_{io, to}, later_{io} {}

void terminal::start() {
    from_.async_read_some(boost::asio::buffer(piece_), [this](boost::system::error_code failed, std::size_t n) {
        if (!failed) return pass(n);
        if (failed != boost::system::errc::io_error) return to_.close(); // the end of the input
        later_.expires_after(std::chrono::milliseconds{300});            // we are in the background: not our turn to read
        later_.async_wait([this](boost::system::error_code stopped) {
            if (!stopped) start();
        });
    });
}

void terminal::pass(std::size_t n) {
    boost::asio::async_write(to_, boost::asio::buffer(piece_, n), [this](boost::system::error_code failed, std::size_t) {
        if (!failed) start();
    });
}

} // namespace mptrun
