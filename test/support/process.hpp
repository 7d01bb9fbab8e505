/// test/support/process - runs a shell command and says how it ended and what it wrote; kills it, with its group, when it
/// lives longer than its limit.
#pragma once
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mpt::test {

struct ended {
    int code = -1; // exit code, or 128 + signal
    bool late = false;
    std::string out, err;
    std::chrono::milliseconds took{};
    bool says(std::string_view part) const { return err.find(part) != std::string::npos; }
};

namespace detail {
inline std::string content(int fd) {
    std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
    auto const n = ::pread(fd, text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    ::close(fd);
    return text;
}
inline int scratch() {
    std::string path = "/tmp/mpt-test-XXXXXX"; // not a memfd: some tests refuse them
    auto const fd = ::mkostemp(path.data(), O_CLOEXEC | O_APPEND);
    ::unlink(path.c_str());
    return fd;
}
} // namespace detail

/// A shell command that runs in the background, in a process group of its own.
class process {
    int out_ = detail::scratch(), err_ = detail::scratch();
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    pid_t pid_;

public:
    explicit process(std::string const& command) : pid_{::fork()} {
        if (pid_ != 0) return;
        ::setpgid(0, 0);
        ::dup2(::open("/dev/null", O_RDONLY), 0);
        ::dup2(out_, 1);
        ::dup2(err_, 2);
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    process(process const&) = delete;
    process& operator=(process const&) = delete;

    pid_t pid() const noexcept { return pid_; }
    ended wait(std::chrono::seconds limit = std::chrono::seconds{60}) {
        ended e;
        int status = 0;
        while (::waitpid(pid_, &status, WNOHANG) == 0) {
            if (!e.late && std::chrono::steady_clock::now() - started_ > limit) {
                e.late = true;
                ::kill(-pid_, SIGKILL);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
        e.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_);
        e.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        e.out = detail::content(out_);
        e.err = detail::content(err_);
        return e;
    }
};

inline ended run(std::string const& command, std::chrono::seconds limit = std::chrono::seconds{60}) {
    return process{"exec " + command}.wait(limit);
}

} // namespace mpt::test
