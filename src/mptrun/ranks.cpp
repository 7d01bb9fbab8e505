#include "ranks.hpp"

#include "../core/boot_environment.hpp"
#include "program.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mptrun {
namespace {
using mpt::boot::handed_segment;

handed_segment identity(int fd) {
    struct stat s {};
    if (::fstat(fd, &s) != 0) throw usage_error{fmt::format("a segment of the job is gone: {}", std::strerror(errno))};
    return {fd, s.st_ino, s.st_dev};
}

/// Ends in nullptr; execve does not write to what they point to.
std::vector<char*> pointers(std::vector<std::string> const& words) {
    std::vector<char*> all;
    all.reserve(words.size() + 2);
    for (auto const& w : words) all.push_back(const_cast<char*>(w.c_str()));
    all.push_back(nullptr);
    return all;
}

/// CPUs as the kernel takes them.
class cpu_mask {
    std::vector<cpu_set_t> sets_; // of CPU_SETSIZE each
public:
    explicit cpu_mask(cpu_list const* cpus) {
        if (!cpus || cpus->empty()) return;
        auto const most = static_cast<std::size_t>(*std::ranges::max_element(*cpus));
        sets_.resize(most / CPU_SETSIZE + 1);
        for (int const c : *cpus) CPU_SET_S(static_cast<std::size_t>(c), bytes(), sets_.data());
    }
    cpu_set_t const* set() const noexcept { return sets_.empty() ? nullptr : sets_.data(); }
    std::size_t bytes() const noexcept { return sets_.size() * sizeof(cpu_set_t); }
};

/// All that the child needs between vfork and exec; it may not allocate there.
struct child_plan {
    char const* path;
    char* const* argv;
    char* const* envp;
    char const* directory;
    streams where;
    cpu_set_t const* cpus; // nullptr: as we are
    std::size_t cpus_bytes;
    rlimit const& files;      // the limit that mptrun was started with
    int control, data, pages; // pages: -1 where the job has none
    pid_t launcher;
    sentinel const& guard;
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
    p.guard.join(::getpid());
    for (auto const& [from, to] : {std::pair{p.where.in, 0}, {p.where.out, 1}, {p.where.err, 2}})
        if (from >= 0 && ::dup2(from, to) < 0) return errno;
    if (*p.directory && ::chdir(p.directory) != 0) return errno;
    if (p.cpus) ::sched_setaffinity(0, p.cpus_bytes, p.cpus); // refused: unbound, which is no failure
    keep_open(p.control);
    keep_open(p.data);
    if (p.pages >= 0) keep_open(p.pages);
    ::setrlimit(RLIMIT_NOFILE, &p.files);
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

starter::starter(options const& o, images const& what, mpt::mem::arena_plan const& plan,
                 mpt::boot::control_header const& header, std::vector<int> ignored)
    : options_{o}, images_{what}, plan_{plan}, cookie_{header.cookie}, ignored_{std::move(ignored)} {
    ::getrlimit(RLIMIT_NOFILE, &files_);
    auto const all = rlimit{files_.rlim_max, files_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &all); // mptrun may need four for each rank
}

std::string starter::handed(int me) const {
    mpt::boot::handed h;
    h.me = me;
    h.size = options_.ranks;
    h.launcher = ::getpid();
    h.control = identity(plan_.control_fd);
    h.data = identity(plan_.data_fd);
    if (plan_.pages_fd >= 0) h.pages = identity(plan_.pages_fd), h.pages_stride = plan_.pages_stride;
    h.cookie = cookie_;
    return fmt::format("{}={}", mpt::boot::handed_variable, mpt::boot::print_handed(h));
}

pid_t starter::start(int me, streams const& where, sentinel const& guard) {
    auto const image = images_.of(me);
    auto const own = handed(me);
    auto const program = fmt::format("{}={}", mpt::boot::program_variable, image.of - options_.parts.data());
    auto const argv = pointers(image.arguments);
    auto envp = pointers(*image.environment);
    envp.back() = const_cast<char*>(own.c_str());
    if (options_.parts.size() > 1) envp.push_back(const_cast<char*>(program.c_str()));
    envp.push_back(nullptr);
    cpu_mask const mask{image.cpus};
    int failed = 0;
    auto const pid = spawn({image.program.c_str(), argv.data(), envp.data(), image.of->directory.c_str(), where, mask.set(),
                            mask.bytes(), files_, plan_.control_fd, plan_.data_fd, plan_.pages_fd, ::getpid(), guard, ignored_},
                           failed);
    if (failed != 0)
        throw usage_error{fmt::format("cannot run {}: {}.", image.arguments[0], why_not_run(image.program, failed))};
    return pid;
}

} // namespace mptrun
