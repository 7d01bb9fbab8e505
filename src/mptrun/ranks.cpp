#include "ranks.hpp"

#include "../core/boot_environment.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mptrun {
namespace {
using mpt::boot::handed_segment;

bool runnable(std::string const& path) noexcept {
    struct stat s {};
    return ::stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string why_not(std::string const& path) {
    struct stat s {};
    if (::stat(path.c_str(), &s) != 0) return std::strerror(errno);
    if (S_ISDIR(s.st_mode)) return "it is a directory";
    if (!S_ISREG(s.st_mode)) return "it is not a file";
    return "it is not executable";
}

handed_segment identity(int fd) {
    struct stat s {};
    if (::fstat(fd, &s) != 0) throw usage_error{fmt::format("a segment of the job is gone: {}", std::strerror(errno))};
    return {fd, s.st_ino, s.st_dev};
}

/// mptrun's own library directory, where it is installed beside its libraries; a program with a foreign RUNPATH then loads ours.
std::string own_libraries() {
    std::array<char, 4096> self{};
    auto const n = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
    std::string path{self.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
    path = path.substr(0, path.rfind('/'));
    path = path.substr(0, path.rfind('/')) + "/lib";
    return ::access((path + "/libmpt_core.so.0").c_str(), R_OK) == 0 ? path : std::string{};
}

bool names(std::string_view entry, std::string_view variable) noexcept {
    return entry.size() > variable.size() && entry.starts_with(variable) && entry[variable.size()] == '=';
}

void set(std::vector<std::string>& environment, std::string_view name, std::string_view value) {
    std::erase_if(environment, [&](auto const& e) { return names(e, name); });
    environment.push_back(fmt::format("{}={}", name, value));
}

std::vector<std::string> environment_for(options const& o) {
    std::vector<std::string> all;
    for (auto** e = environ; *e; ++e) all.emplace_back(*e);
    for (auto const& [name, value] : o.variables) set(all, name, value);
    std::erase_if(all, [](auto const& e) { return names(e, mpt::boot::handed_variable); });
    auto libraries = own_libraries();
    if (libraries.empty()) return all;
    auto const path = std::ranges::find_if(all, [](auto const& e) { return names(e, "LD_LIBRARY_PATH"); });
    if (path != all.end()) libraries += ':' + path->substr(std::strlen("LD_LIBRARY_PATH="));
    set(all, "LD_LIBRARY_PATH", libraries);
    return all;
}

/// All that the child needs between vfork and exec; it may not allocate there.
struct child_plan {
    char const* path;
    char* const* argv;
    char* const* envp;
    char const* directory;
    streams where;
    int control, data;
    pid_t launcher;
    std::vector<int> const& ignored;
};

void keep_open(int fd) noexcept { ::fcntl(fd, F_SETFD, 0); }

void reset_signals(std::vector<int> const& ignored) noexcept {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    for (int s = 1; s < NSIG; ++s) ::sigaction(s, &standard, nullptr);
    for (int const s : ignored) ::signal(s, SIG_IGN);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// In the child, which shares our memory until exec. Returns errno.
int become(child_plan const& p) noexcept {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // survives exec, but not into a set-uid program, nor into children
    if (::getppid() != p.launcher) ::_exit(1);
    for (auto const& [from, to] : {std::pair{p.where.in, 0}, {p.where.out, 1}, {p.where.err, 2}})
        if (from >= 0 && ::dup2(from, to) < 0) return errno;
    if (*p.directory && ::chdir(p.directory) != 0) return errno;
    keep_open(p.control);
    keep_open(p.data);
    reset_signals(p.ignored);
    ::execve(p.path, p.argv, p.envp);
    return errno;
}

/// vfork: the ranks start as fast as the system can, and a failed exec is known at once. All signals wait meanwhile, so that no
/// handler of ours runs in the child on our memory.
pid_t spawn(child_plan const& plan, int& failed) noexcept {
    sigset_t all, before;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, &before);
    failed = 0;
    auto const pid = ::vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (pid == 0) {
        failed = become(plan); // the parent's memory: it sees this when it goes on
        ::_exit(127);
    }
    if (pid < 0) failed = errno;
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return pid;
}
} // namespace

std::string find_program(std::string_view name, std::string const& directory) {
    std::string text{name};
    if (!directory.empty() && !std::filesystem::is_directory(directory))
        throw usage_error{fmt::format("-wdir: there is no directory {}.", directory)};
    if (name.find('/') != name.npos) { // as exec sees it, after the change of directory
        auto const seen = directory.empty() || name.front() == '/' ? text : directory + '/' + text;
        if (!runnable(seen)) throw usage_error{fmt::format("cannot run {}: {}.", text, why_not(seen))};
        return text;
    }
    auto const* const variable = std::getenv("PATH");
    std::string_view path = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
    while (!path.empty()) {
        auto const end = path.find(':');
        auto const candidate = fmt::format("{}/{}", end == 0 ? "." : path.substr(0, end), text);
        if (runnable(candidate)) return std::filesystem::absolute(candidate);
        path.remove_prefix(end == path.npos ? path.size() : end + 1);
    }
    if (runnable("./" + text)) return std::filesystem::absolute(text); // nobody wants "not found" for what `ls` shows
    throw usage_error{fmt::format("there is no program \"{}\" in PATH, nor here.", text)};
}

starter::starter(options const& o, mpt::mem::arena_plan const& plan, mpt::boot::control_header const& header,
                 std::vector<int> ignored)
    : options_{o}, path_{find_program(*o.program, o.directory)}, plan_{plan}, cookie_{header.cookie},
      ignored_{std::move(ignored)}, environment_{environment_for(o)} {
    environment_.emplace_back();
}

std::string starter::handed(int me) const {
    mpt::boot::handed h;
    h.me = me;
    h.size = options_.ranks;
    h.launcher = ::getpid();
    h.control = identity(plan_.control_fd);
    h.data = identity(plan_.data_fd);
    h.cookie = cookie_;
    return fmt::format("{}={}", mpt::boot::handed_variable, mpt::boot::print_handed(h));
}

pid_t starter::start(int me, streams const& where) {
    environment_.back() = handed(me);
    std::vector<char*> envp;
    envp.reserve(environment_.size() + 1);
    for (auto& e : environment_) envp.push_back(e.data());
    envp.push_back(nullptr);
    int failed = 0;
    auto const pid = spawn({path_.c_str(), options_.program, envp.data(), options_.directory.c_str(), where, plan_.control_fd,
                            plan_.data_fd, ::getpid(), ignored_},
                           failed);
    if (failed != 0) throw usage_error{fmt::format("cannot run {}: {}.", *options_.program, std::strerror(failed))};
    return pid;
}

} // namespace mptrun
