// Where the ranks' standard streams lead.
//
//        input     rank 0, or whom --stdin names: our own where one rank can have it; copied where a terminal is in between, or several read
//        output    ours; with -l through a pipe of ours, line by line; with --out into a file of the rank's own, which it writes itself
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>

#include <sys/types.h>

#include "lines.hpp"
#include "options.hpp"

namespace mptrun {

/// Of one rank; -1: mptrun's own.
struct streams {
    int in = -1, out = -1, err = -1;
};

class stream_set {
public:
    /// at_end: called whenever a rank's output ended.
    stream_set(boost::asio::io_context& io, options const& o, std::function<void()> at_end);
    /// Opens those of a rank; the caller closes them when the rank has been started.
    streams of(int rank);
    /// The rank lives: the one in the debugger gets the terminal.
    void started(int rank, pid_t group);
    /// All ranks have got theirs: input begins to flow.
    void begin();
    void close_input();
    bool at_end() const noexcept;
    void flush();

private:
    boost::asio::io_context& io_;
    options const& options_;
    std::function<void()> told_;
    std::deque<tagged> outputs_;
    std::unique_ptr<feeder> input_;
    std::set<std::string> written_; // files that a rank of this job writes already
    bool copies_input_, terminal_lent_ = false;
    int input_of(int rank);
    int file_for(std::string const& pattern, int rank);
    void tag(int rank, int& end, int to);
};

/// " >FILE 2>FILE" for a shell.
std::string redirections(options const& o, int rank);

} // namespace mptrun
