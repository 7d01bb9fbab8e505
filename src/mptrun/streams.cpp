#include "streams.hpp"

#include "image.hpp"
#include "words.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mptrun {
namespace {

/// Both ends close-on-exec; the child gets its end by dup2.
std::pair<int, int> new_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw usage_error{fmt::format("no pipe for a rank's streams: {}.", std::strerror(errno))};
    return {ends[0], ends[1]};
}

/// A file, or /dev/null: each rank can read it for itself.
bool can_be_read_twice() noexcept {
    struct stat s {};
    return ::fstat(0, &s) == 0 && (S_ISREG(s.st_mode) || (S_ISCHR(s.st_mode) && !::isatty(0)));
}

int read_again() noexcept {
    auto const fd = ::open("/proc/self/fd/0", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) ::lseek(fd, ::lseek(0, 0, SEEK_CUR), SEEK_SET);
    return fd;
}

bool several_read(options const& o) noexcept {
    int n = 0;
    for (int r = 0; r < o.ranks && n < 2; ++r) n += o.input.has(r);
    return n > 1;
}
} // namespace

stream_set::stream_set(boost::asio::io_context& io, options const& o, std::function<void()> at_end)
    : io_{io}, options_{o}, told_{std::move(at_end)},
      copies_input_{!debugs_here(o) && !o.input.empty() && (::isatty(0) || (several_read(o) && !can_be_read_twice()))} {}

int stream_set::input_of(int rank) {
    auto const debugging = debugs_here(options_);
    if (debugging ? !options_.debugged.has(rank) : !options_.input.has(rank)) return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!copies_input_) return several_read(options_) && !debugging ? read_again() : -1;
    auto const [read, write] = new_pipe();
    if (!input_) input_ = std::make_unique<feeder>(io_);
    input_->add(write);
    return read;
}

/// A file that several ranks share is emptied by the first of them.
int stream_set::file_for(std::string const& pattern, int rank) {
    auto const name = expanded(pattern, rank);
    std::error_code failed;
    if (auto const folder = std::filesystem::path{name}.parent_path(); !folder.empty())
        std::filesystem::create_directories(folder, failed); // open() says what is wrong
    auto const fresh = written_.insert(name).second;
    auto const fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (fresh ? O_TRUNC : 0), 0666);
    if (fd < 0)
        throw usage_error{fmt::format("cannot write the output of rank {} to {}: {}.", rank, name, std::strerror(errno))};
    return fd;
}

void stream_set::tag(int rank, int& end, int to) {
    auto const [read, write] = new_pipe();
    outputs_.emplace_back(io_, read, end >= 0 ? end : to, expanded(options_.tag, rank), told_).start();
    end = write;
}

streams stream_set::of(int rank) {
    streams s;
    s.in = input_of(rank);
    if (!options_.out_file.empty()) s.out = file_for(options_.out_file, rank);
    if (!options_.err_file.empty()) s.err = file_for(options_.err_file, rank);
    if (options_.tag.empty() || (debugs_here(options_) && options_.debugged.has(rank))) return s;
    tag(rank, s.out, 1);
    tag(rank, s.err, 2);
    return s;
}

void stream_set::started(int rank, pid_t group) {
    if (!debugs_here(options_) || !options_.debugged.has(rank) || !::isatty(0)) return;
    terminal_lent_ = ::tcsetpgrp(0, group) == 0; // SIGTTOU is ignored here
}

void stream_set::begin() {
    if (input_) input_->start();
}

void stream_set::close_input() {
    input_.reset();
    if (terminal_lent_) ::tcsetpgrp(0, ::getpgrp());
}

bool stream_set::at_end() const noexcept { return std::ranges::all_of(outputs_, &tagged::at_end); }

void stream_set::flush() {
    for (auto& o : outputs_) o.flush();
}

std::string redirections(options const& o, int rank) {
    std::string text;
    if (!o.out_file.empty()) text += " >" + shell_quoted(expanded(o.out_file, rank));
    if (!o.err_file.empty()) text += " 2>" + shell_quoted(expanded(o.err_file, rank));
    return text;
}

} // namespace mptrun
