#include "sentinel.hpp"

#include <algorithm>
#include <csignal>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mptrun {
namespace {

/// Nothing of mptrun's may stay open because of us: somebody may wait for the end of its output.
void keep_only(int fd) noexcept {
    ::dup2(fd, 0);
    if (::close_range(1, ~0u, 0) == 0) return;
    for (int other = 1; other < 4096; ++other) ::close(other);
}

[[noreturn]] void serve(int from) {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::setsid(); // out of the terminal's reach
    keep_only(from);
    std::vector<pid_t> groups;
    for (pid_t word = 0; ::read(0, &word, sizeof word) == static_cast<ssize_t>(sizeof word);)
        if (word > 0) groups.push_back(word);
        else std::erase(groups, -word);
    for (auto const g : groups) ::kill(-g, SIGKILL);
    ::_exit(0);
}
} // namespace

void sentinel::start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
        ::close(ends[1]);
        serve(ends[0]);
    }
    ::close(ends[0]);
    to_ = ends[1];
    for (auto const g : groups_) tell(g);
}

void sentinel::stop() noexcept {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    if (to_ >= 0) ::close(to_);
}

void sentinel::tell(pid_t word) const noexcept {
    if (pid_ > 0) static_cast<void>(::write(to_, &word, sizeof word) == 0); // one that is gone is replaced soon
}

void sentinel::forget(pid_t group) {
    std::erase(groups_, group);
    tell(-group);
}

bool sentinel::replaced(pid_t ended) {
    if (ended != pid_) return false;
    ::close(to_);
    pid_ = to_ = -1;
    start();
    return true;
}

} // namespace mptrun
