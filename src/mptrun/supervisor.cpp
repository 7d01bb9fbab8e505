#include "supervisor.hpp"

#include "pages.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mpt/config/config.hpp>

namespace mptrun {
namespace {
using mpt::boot::rank_state;

constexpr std::chrono::seconds grace{2};
constexpr std::chrono::seconds long_wait{1}; // makes one who ends the job ask why
constexpr int timed_out = 124;
constexpr int looks_without_progress = 10; // make a hang

void say(std::string const& sentence) { write_all(2, "mptrun: " + sentence + '\n'); }

/// `mptrun ... | head`: the reader of our output has left. What dies of that is silent, as it is to a shell.
bool output_is_unread() {
    pollfd out{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
    return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/// High numbers: shell scripts between us and the program use the low ones.
int move_high(int fd) noexcept {
    for (int const from : {700, 200, 64}) {
        auto const moved = ::fcntl(fd, F_DUPFD_CLOEXEC, from);
        if (moved < 0) continue;
        ::close(fd);
        return moved;
    }
    return fd;
}

mpt::mem::arena_plan new_segments(int ranks) {
    auto plan = mpt::boot::make_segments(ranks);
    plan.control_fd = move_high(plan.control_fd);
    plan.data_fd = move_high(plan.data_fd);
    if (plan.pages_fd >= 0) plan.pages_fd = move_high(plan.pages_fd);
    return plan;
}

/// The control segment's variables are those of the ranks, so -x counts.
std::chrono::seconds hang_report(options const& o) {
    for (auto const& p : o.parts)
        for (auto const& [name, value] : p.variables)
            if (name == "MPT_HANG_REPORT") ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<std::string> warnings; // the ranks' to tell
    return std::chrono::seconds{mpt::config::values::read(environ, warnings).get<"MPT_HANG_REPORT">()};
}

/// The pages of these ranks are their mallocs'.
bool is_for_malloc(part const& p) {
    constexpr std::string_view name = "GLIBC_TUNABLES=";
    return std::ranges::any_of(environment_of(p), [name](std::string const& e) {
        return e.starts_with(name) && malloc_takes_of_pool(std::string_view{e}.substr(name.size()));
    });
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this host";
}
} // namespace

supervisor::supervisor(options const& o, images const& what)
    : options_{o}, images_{what}, plan_{new_segments(o.ranks)}, arena_{mpt::mem::arena::open(plan_)},
      header_{reinterpret_cast<mpt::boot::control_header*>(arena_->control().data())}, signals_{io_}, limit_{io_}, grace_{io_},
      deserters_{io_}, drain_{io_}, progress_{io_}, ranks_(static_cast<std::size_t>(o.ranks)),
      streams_{io_, o, [this] { stop_when_drained(); }},
      tick_{std::chrono::milliseconds{hang_report(o)} / looks_without_progress} {
    header_->launcher_pid = ::getpid();
}

supervisor::~supervisor() {
    if (alive_ > 0) send(SIGKILL); // start_all() gave up in the middle
}

std::span<mpt::boot::control_record> supervisor::records() const {
    auto* const first = arena_->control().data() + mpt::boot::control_records_at;
    return {reinterpret_cast<mpt::boot::control_record*>(first), ranks_.size()};
}

int supervisor::run() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1); // what a rank leaves behind comes to us
    catch_signals();
    if (asks_for_pages(options_))
        if (auto const line = reserve_pages(options_, *arena_, is_for_malloc); !line.empty()) say(line);
    start_all();
    listen();
    if (options_.timeout.count() > 0) {
        limit_.expires_after(options_.timeout);
        limit_.async_wait([this](boost::system::error_code stopped) {
            if (!stopped)
                fail(-1, timed_out,
                     fmt::format("the time limit of {:g} s is over", static_cast<double>(options_.timeout.count()) / 1000));
        });
    }
    if (tick_.count() > 0) watch_progress();
    io_.run();
    streams_.flush();
    return code_;
}

void supervisor::catch_signals() {
    auto const is_ignored = [](int s) {
        struct sigaction now {};
        return ::sigaction(s, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    };
    for (int const s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGPIPE})
        if (is_ignored(s)) ignored_.push_back(s);
    for (int const s : {SIGPIPE, SIGTTIN, SIGTTOU}) ::signal(s, SIG_IGN);
    for (int const s : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT})
        if (s == SIGQUIT || std::ranges::find(ignored_, s) == ignored_.end()) signals_.add(s); // a report disturbs nobody
}

void supervisor::start_all() {
    starter start{options_, images_, plan_, *header_, ignored_};
    for (int r = 0; r < options_.ranks; ++r) {
        auto const where = streams_.of(r);
        auto& m = ranks_[static_cast<std::size_t>(r)];
        m.pid = start.start(r, where, sentinel_);
        m.alive = true;
        ++alive_;
        sentinel_.watch(m.pid);
        for (int const fd : {where.in, where.out, where.err})
            if (fd >= 0) ::close(fd);
        streams_.started(r, m.pid);
    }
    streams_.begin();
}

void supervisor::listen() {
    signals_.async_wait([this](boost::system::error_code stopped, int signal) {
        if (stopped) return;
        signalled(signal);
        if (alive_ > 0) listen();
        else finish();
    });
}

void supervisor::signalled(int signal) {
    switch (signal) {
    case SIGCHLD: return reap();
    case SIGQUIT: return say_all("who waits for whom:", look().waits());
    case SIGTSTP:
        send(SIGTSTP);
        ::kill(::getpid(), SIGSTOP);
        return;
    case SIGINT:
        if (++interrupts_ > 1) return send(SIGKILL);
        [[fallthrough]];
    case SIGTERM:
    case SIGHUP: explain(signal); return end_others(signal);
    default: return send(signal);
    }
}

/// Who ends a job that hangs is told why it does; one that moves ends without a word.
void supervisor::explain(int signal) const {
    if (auto const now = look(); !ending_ && now.still() >= long_wait)
        say_all(fmt::format("signal {} ({}) ends the job; who waits for whom:", signal, ::strsignal(signal)), now.waits());
}

void supervisor::reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (sentinel_.replaced(pid)) continue;
        for (std::size_t r = 0; r < ranks_.size(); ++r) // orphans of ranks are only reaped
            if (ranks_[r].pid == pid && ranks_[r].alive) ended(static_cast<int>(r), status);
    }
}

void supervisor::ended(int rank, int wait_status) {
    auto& m = ranks_[static_cast<std::size_t>(rank)];
    m.alive = false;
    --alive_;
    if (::kill(-m.pid, 0) != 0) sentinel_.forget(m.pid);
    record(rank).exit_state = wait_status;
    if (WIFSIGNALED(wait_status)) {
        auto const signal = WTERMSIG(wait_status);
        if (signal == SIGPIPE && output_is_unread()) return fail(rank, 128 + SIGPIPE, {});
        std::string_view const words = record(rank).exception.data();
        fail(rank, 128 + signal,
             fmt::format("{} was killed by signal {} ({}){}{}{}", name_of(rank), signal, ::strsignal(signal),
                         before_joining(rank), words.empty() ? "" : ", by an exception that nobody caught: ", words));
    } else if (auto const code = WEXITSTATUS(wait_status); code != 0) {
        fail(rank, code, fmt::format("{} ended with exit code {}{}", name_of(rank), code, before_joining(rank)));
    } else judge_quiet_end(rank);
}

std::string supervisor::name_of(int rank) const {
    return fmt::format("rank {} on {} (process {})", rank, host_name(), ranks_[static_cast<std::size_t>(rank)].pid);
}

/// Said only where others have joined: the program may not know of mpt.
std::string supervisor::before_joining(int rank) const {
    auto const joined = [](auto const& r) {
        return r.state.load(std::memory_order_acquire) != rank_state::absent; // sync(boot.record): acquire
    };
    if (joined(record(rank)) || std::ranges::none_of(records(), joined)) return "";
    return fmt::format(" before {}", look().first_call());
}

/// Exit code 0 is a failure all the same when the others wait for the rank.
void supervisor::judge_quiet_end(int rank) {
    auto const state = record(rank).state.load(std::memory_order_acquire); // sync(boot.record): acquire
    if (state == rank_state::finalized) return;
    if (state == rank_state::absent) {
        left_early_ = true;
        return look_for_deserters();
    }
    fail(rank, 1, name_of(rank) + " ended without finalizing (exit code 0)");
}

/// A program without mpt may run under mptrun, and one beside sessions that do without it. But when a rank ended that never joined,
/// and another waits for it to begin, that is for ever. Looked at again now and then, because the other may come to wait later.
void supervisor::look_for_deserters() {
    if (!left_early_ || alive_ == 0 || ending_) return;
    if (auto const gone = look().deserter(); gone >= 0)
        return fail(gone, 1, name_of(gone) + " ended without joining the job that others wait in (exit code 0)");
    deserters_.expires_after(std::chrono::milliseconds{200});
    deserters_.async_wait([this](boost::system::error_code stopped) {
        if (!stopped) look_for_deserters();
    });
}

std::string supervisor::others() const {
    if (alive_ == 0) return ".";
    auto const* const other = alive_ == static_cast<int>(ranks_.size()) ? "" : "other ";
    return alive_ == 1 ? fmt::format("; ending the {}rank.", other) : fmt::format("; ending the {}{} ranks.", other, alive_);
}

/// Calls of OpenSHMEM that look at nothing end so where a PE or an address is none.
bool supervisor::lacks_checks(int rank, int code) const {
    if (rank < 0 || (code != 128 + SIGSEGV && code != 128 + SIGBUS)) return false;
    auto const spoken = record(rank).speaks.load(std::memory_order_relaxed); // order: words of a report
    return (spoken & static_cast<std::uint32_t>(mpt::boot::facade::shmem_unchecked)) != 0;
}

void supervisor::fail(int rank, int code, std::string const& why) {
    if (failed_) return;
    failed_ = true;
    std::uint32_t culprit = 0, none = 0;
    if (rank >= 0)
        header_->abort_rank.compare_exchange_strong(culprit, 1u + static_cast<unsigned>(rank),
                                                    std::memory_order_relaxed); // order: `aborted` releases it
    bool const told = culprit != 0;                                             // by a rank, which ended the job
    bool const well = header_->aborted.load(std::memory_order_acquire) == 1;    // sync(boot.abort): acquire; with exit code 0
    if (!ending_ && !why.empty() && !well) {
        auto lines = rank >= 0 ? look().others_of(told ? static_cast<int>(culprit - 1) : rank) : look().waits();
        if (!told && lacks_checks(rank, code))
            lines.emplace_back(
                "--flavour debug (or a program built by oshcc -debug) checks the PEs and addresses of every call");
        say_all(told ? "" : why + others(), lines);
    }
    header_->aborted.compare_exchange_strong(none, 1u + static_cast<unsigned>(code),
                                             std::memory_order_acq_rel); // sync(boot.abort): acq_rel
    code_ = none == 0 ? code : static_cast<int>(none - 1);
    ::syscall(SYS_futex, &header_->arrived, FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
    end_others(SIGTERM);
}

void supervisor::say_all(std::string const& first, std::vector<std::string> const& more) const {
    if (!first.empty()) say(first);
    for (auto const& line : more) say("  " + line + '.');
}

/// Ten looks that see the same make a hang. The job goes on, and may hang again.
void supervisor::watch_progress() {
    auto const now = look().fingerprint();
    unchanged_ = now != 0 && now == std::exchange(seen_, now) ? unchanged_ + 1 : 0;
    if (unchanged_ == looks_without_progress)
        say_all(fmt::format("no wait has begun or ended for {:g} s; the job goes on:",
                            std::chrono::duration<double>{tick_ * looks_without_progress}.count()),
                look().waits());
    progress_.expires_after(tick_);
    progress_.async_wait([this](boost::system::error_code stopped) {
        if (!stopped && alive_ > 0) watch_progress();
    });
}

void supervisor::end_others(int signal) {
    send(signal);
    send(SIGCONT); // a stopped rank must be able to end
    if (std::exchange(ending_, true)) return;
    grace_.expires_after(grace);
    grace_.async_wait([this](boost::system::error_code stopped) {
        if (!stopped) send(SIGKILL);
    });
}

void supervisor::send(int signal) {
    for (auto const& m : ranks_)
        if (m.alive) ::kill(-m.pid, signal);
}

/// All ranks have ended; what is still in their pipes is not lost.
void supervisor::finish() {
    for (auto* const timer : {&limit_, &grace_, &deserters_, &progress_}) timer->cancel();
    streams_.close_input();
    if (failed_ || ending_) // members of the ranks' groups that outlived them
        for (auto const& m : ranks_) ::kill(-m.pid, SIGKILL);
    drain_.expires_after(std::chrono::milliseconds{500}); // a child of a rank may hold a pipe for ever
    drain_.async_wait([this](boost::system::error_code stopped) {
        if (!stopped) io_.stop();
    });
    stop_when_drained();
}

void supervisor::stop_when_drained() {
    if (alive_ == 0 && streams_.at_end()) io_.stop();
}

} // namespace mptrun
