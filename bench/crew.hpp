/// bench/crew - a few processes, each pinned to a CPU, that run one function together over memory they share.
///
///        parent = side 0 --- fork ---> side 1, side 2, ...        each: pinned to its CPU, runs fn(crew&), leaves
///              \                        /
///               `---- shared_block ----'    (anonymous shared mapping, made before the fork)
///
///   A measurement is a function that all sides enter together (single program, many sides); what side 0 returns counts.
///   A watchdog kills a crew that hangs, and a side that dies takes the crew with it.
#pragma once
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mpt/core/atomics.hpp>
#include <mpt/core/processor.hpp>
#include <mpt/core/types.hpp>

namespace bench {

using mpt::line_pair;
using word = mpt::native_atomics::atomic<std::uint64_t>;
using futex_word = mpt::native_atomics::atomic<std::uint32_t>;

/// The machine's clock in ns; one origin for all processes, so that two sides' readings may be compared.
inline double now_ns() noexcept {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// The compiler must believe that somebody reads *p.
inline void keep(void const* p) noexcept { mpt::processor::is_read(p); }

inline void futex_sleep(futex_word& w, std::uint32_t seen) noexcept {
    syscall(SYS_futex, &w, FUTEX_WAIT, seen, nullptr, nullptr, 0);
}
inline void futex_wake(futex_word& w, int n) noexcept { syscall(SYS_futex, &w, FUTEX_WAKE, n, nullptr, nullptr, 0); }

/// The CPUs this process may use.
inline std::vector<int> allowed_cpus() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        throw std::system_error{errno, std::generic_category(), "sched_getaffinity"};
    std::vector<int> cpus;
    for (int c = 0; c < CPU_SETSIZE; ++c)
        if (CPU_ISSET(c, &set)) cpus.push_back(c);
    return cpus;
}

/// One CPU of every core: hyperthreads of one core share what we measure.
inline std::vector<int> allowed_cores() {
    std::vector<int> cpus;
    std::vector<std::string> seen;
    for (int c : allowed_cpus()) {
        std::ifstream in{"/sys/devices/system/cpu/cpu" + std::to_string(c) + "/topology/thread_siblings_list"};
        std::string siblings = "cpu" + std::to_string(c); // where the file is missing, every CPU is a core
        std::getline(in, siblings);
        if (siblings.empty()) siblings = "cpu" + std::to_string(c);
        bool known = false;
        for (auto const& s : seen) known = known || s == siblings;
        if (!known) cpus.push_back(c), seen.push_back(siblings);
    }
    return cpus;
}

inline void pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        throw std::system_error{errno, std::generic_category(), "sched_setaffinity"};
}

/// Whole pages, touched; private or shared with what is forked later.
class pages {
    void* at_ = nullptr;
    std::size_t size_ = 0;

public:
    enum class kind { private_to_us, shared, shared_untouched };

    explicit pages(std::size_t n, kind k = kind::private_to_us) : size_{(n + 4095) / 4096 * 4096} {
        int const flags = MAP_ANONYMOUS | MAP_NORESERVE | (k == kind::private_to_us ? MAP_PRIVATE : MAP_SHARED);
        at_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, flags, -1, 0);
        if (at_ == MAP_FAILED) throw std::bad_alloc{};
        if (k != kind::shared_untouched) std::memset(at_, 1, size_);
    }
    ~pages() { munmap(at_, size_); }
    pages(pages const&) = delete;
    pages& operator=(pages const&) = delete;
    char* data() const noexcept { return static_cast<char*>(at_); }
};

/// One page of lines that sides hand to and fro. Where a page lies in the machine decides how long its lines take from core to
/// core: on the same two CPUs, pages of 120 and of 300 ns were seen side by side, the same ones through a whole run (what a virtual
/// machine takes for one memory is several to its host). So a crew has a choice of pages, and settle() chooses.
struct alignas(4096) page_of_lines {
    struct alignas(line_pair) line {
        word value;
    };
    std::array<line, 8> free;                     // for role models
    std::array<line, 16> flag;                    // meet(): written by its side
    alignas(line_pair) std::array<word, 16> told; // tell()/heard(): written by its side, rarely
};
static_assert(sizeof(page_of_lines) == 4096);

/// What a crew shares. All zero at birth.
struct shared_block {
    static constexpr int most_sides = 16;
    static constexpr std::size_t pages = 16;
    std::array<page_of_lines, pages> page;
    alignas(line_pair) futex_word parked;                 // futex of the sides that take no part in a calibration
    alignas(line_pair) std::array<futex_word, 4> futexes; // free for role models
};

class crew {
    shared_block& block_;
    page_of_lines* page_ = &block_.page[0];
    int side_, sides_;
    bool scarce_;
    std::uint64_t round_ = 0; // of meet(), whatever the page

public:
    /// scarce: sides outnumber their CPUs, so that whoever waits must yield.
    crew(shared_block& block, int side, int sides, bool scarce) : block_{block}, side_{side}, sides_{sides}, scarce_{scarce} {}

    int side() const noexcept { return side_; }
    int sides() const noexcept { return sides_; }
    bool scarce() const noexcept { return scarce_; }
    shared_block& block() noexcept { return block_; }
    /// A line for role models, on the crew's page. Between two meets both sides of a role model leave it as they found each other.
    word& line(std::size_t i) noexcept { return page_->free[i].value; }
    /// All sides go to another page; returns the one they were on.
    std::size_t move_to(std::size_t page) noexcept {
        meet();
        auto const old = static_cast<std::size_t>(page_ - block_.page.data());
        page_ = &block_.page[page];
        return old;
    }

    /// Polls until done() says so; without `pause`, which costs more than what we measure.
    template <class Done> void until(Done done) const noexcept {
        if (scarce_)
            while (!done()) sched_yield();
        else
            while (!done()) {}
    }

    /// Nobody leaves before all have come.
    void meet() noexcept {
        auto const round = ++round_;
        page_->flag[static_cast<std::size_t>(side_)].value.store(round, std::memory_order_release); // sync(bench.meet): release
        for (std::size_t s = 0; s < static_cast<std::size_t>(sides_); ++s)
            until([&] { return page_->flag[s].value.load(std::memory_order_acquire) >= round; }); // sync(bench.meet): acquire
    }

    /// One number per side for the others; read it after the next meet(), and meet again before telling anew.
    void tell(std::uint64_t v) noexcept {
        page_->told[static_cast<std::size_t>(side_)].store(v, std::memory_order_relaxed); // order: meet() publishes it
    }
    std::uint64_t heard(int side) const noexcept {
        return page_->told[static_cast<std::size_t>(side)].load(std::memory_order_relaxed); // order: meet() came before
    }
    /// Side 0 decides for all.
    std::uint64_t agree(std::uint64_t v) noexcept {
        tell(v);
        meet();
        auto const chosen = heard(0);
        meet();
        return chosen;
    }

    /// Runs fn on one process per entry of `cpus`; side 0 is the caller, whose affinity is put back afterwards.
    /// Throws what side 0 throws; a side that fails ends the program.
    static void run(std::vector<int> const& cpus, std::function<void(crew&)> const& fn);
};

namespace detail {

/// The watchdog's span: each crew has this long. Far above what any takes.
inline constexpr unsigned patience_seconds = 300;

inline void end_with_child(int, siginfo_t* info, void*) {
    if (info->si_code == CLD_EXITED && info->si_status == 0) return;
    static constexpr char text[] = "bench: a side of the crew died; its figures are worth nothing\n";
    static_cast<void>(!write(2, text, sizeof text - 1));
    _exit(1);
}

/// Puts back the caller's affinity and signal handling, and collects the children.
class crew_keeper {
    cpu_set_t mask_{};
    struct sigaction old_ {};
    std::vector<pid_t> children_;

public:
    crew_keeper() {
        sched_getaffinity(0, sizeof mask_, &mask_);
        struct sigaction act {};
        act.sa_sigaction = end_with_child;
        act.sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP;
        sigaction(SIGCHLD, &act, &old_);
        alarm(patience_seconds);
    }
    void add(pid_t p) { children_.push_back(p); }
    ~crew_keeper() {
        if (std::uncaught_exceptions() > 0) { // the children wait for a side that will not come
            signal(SIGCHLD, SIG_DFL);
            for (pid_t p : children_) kill(p, SIGKILL);
        }
        for (pid_t p : children_) waitpid(p, nullptr, 0);
        sigaction(SIGCHLD, &old_, nullptr);
        alarm(0);
        sched_setaffinity(0, sizeof mask_, &mask_);
    }
    crew_keeper(crew_keeper const&) = delete;
    crew_keeper& operator=(crew_keeper const&) = delete;
};

[[noreturn]] inline void child_life(crew& me, int cpu, pid_t parent, std::function<void(crew&)> const& fn) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    alarm(patience_seconds);
    try {
        pin_to(cpu);
        fn(me);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "bench: side %d: %s\n", me.side(), e.what());
        _exit(1);
    }
    _exit(0);
}

} // namespace detail

/// Shared memory of ranks that somebody else started (mptrun): side 0 makes it without a name, the others open it through side 0's
/// descriptor. `share(words)` must give all sides side 0's words; `all_here()` must not return before every side has called it.
class joined_memory {
    void* at_ = nullptr;
    std::size_t size_;

public:
    template <class Share, class Meet> joined_memory(int side, std::size_t extra, Share share, Meet all_here)
        : size_{sizeof(shared_block) + extra} {
        int fd = side == 0 ? memfd_create("bench", MFD_CLOEXEC) : -1;
        if (side == 0 && (fd < 0 || ftruncate(fd, static_cast<off_t>(size_)) != 0))
            throw std::system_error{errno, std::generic_category(), "memfd"};
        std::array<std::uint64_t, 2> where{static_cast<std::uint64_t>(getpid()), static_cast<std::uint64_t>(fd)};
        share(where);
        auto const path = "/proc/" + std::to_string(where[0]) + "/fd/" + std::to_string(where[1]);
        if (side != 0) fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (fd < 0) throw std::system_error{errno, std::generic_category(), path};
        at_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (at_ == MAP_FAILED) throw std::bad_alloc{};
        if (side == 0) new (at_) shared_block{};
        all_here();
        close(fd);
    }
    ~joined_memory() { munmap(at_, size_); }
    joined_memory(joined_memory const&) = delete;
    joined_memory& operator=(joined_memory const&) = delete;

    shared_block& block() const noexcept { return *static_cast<shared_block*>(at_); }
    /// The bytes behind the block; page-aligned, untouched.
    char* extra() const noexcept { return static_cast<char*>(at_) + sizeof(shared_block); }
};

inline void crew::run(std::vector<int> const& cpus, std::function<void(crew&)> const& fn) {
    auto const sides = static_cast<int>(cpus.size());
    if (sides < 1 || sides > shared_block::most_sides) throw std::invalid_argument{"bench: a crew has 1 to 16 sides"};
    bool scarce = false;
    for (std::size_t i = 0; i < cpus.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) scarce = scarce || cpus[i] == cpus[j];

    pages const memory{sizeof(shared_block), pages::kind::shared_untouched};
    auto& block = *new (memory.data()) shared_block{};
    std::fflush(nullptr);
    detail::crew_keeper keeper;
    pid_t const parent = getpid();
    for (int side = 1; side < sides; ++side) {
        pid_t const child = fork();
        if (child < 0) throw std::system_error{errno, std::generic_category(), "fork"};
        crew me{block, side, sides, scarce};
        if (child == 0) detail::child_life(me, cpus[static_cast<std::size_t>(side)], parent, fn);
        keeper.add(child);
    }
    pin_to(cpus[0]);
    crew me{block, 0, sides, scarce};
    fn(me);
}

} // namespace bench
