// Output of a rank with its number before each line, and input that several ranks read, or a terminal's.
#pragma once
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

namespace mptrun {

/// Copies one stream of a rank to one of ours, whole lines only.
class tagged {
public:
    tagged(boost::asio::io_context& io, int from, int to, std::string prefix, std::function<void()> at_end);
    void start();
    /// The last line may lack its end.
    void flush();
    bool at_end() const noexcept { return ended_; }

private:
    boost::asio::posix::stream_descriptor from_;
    int to_;
    std::string prefix_, waiting_, out_; // out_: lines, prefixed, ready to write
    std::array<char, 65536> piece_;
    std::function<void()> told_;
    bool ended_ = false;
    void take(std::size_t n);
};

/// Copies our standard input to ranks. A terminal can only be read by its foreground process group, which the ranks are not. The
/// slowest rank sets the pace; one that has closed its end is left out.
class feeder {
public:
    explicit feeder(boost::asio::io_context& io);
    void add(int to) { to_.emplace_back(io_, to); }
    void start();

private:
    boost::asio::io_context& io_;
    boost::asio::posix::stream_descriptor from_;
    std::deque<boost::asio::posix::stream_descriptor> to_;
    boost::asio::steady_timer later_;
    std::array<char, 4096> piece_;
    void pass(std::size_t n, std::size_t next);
};

/// Writes all of it, whatever interrupts.
void write_all(int fd, std::string_view text) noexcept;

} // namespace mptrun
