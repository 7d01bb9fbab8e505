// Trying the system calls that a container may refuse.
#include <mpt/core/probe.hpp>

#include <cerrno>
#include <cstring>
#include <mutex>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mpt::inline v0 {

namespace {

/// What a child or a reader finds, if it finds anything.
constexpr std::uint64_t expected = 0x6d70742070726f62; // "mpt prob"
std::uint64_t witness = expected;                      // only its address is used, and that leaves for the kernel

int errno_of(long result) noexcept { return result < 0 ? errno : 0; }

class descriptor {
    int fd_;

public:
    explicit descriptor(long fd) noexcept : fd_{static_cast<int>(fd)} {}
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    descriptor(descriptor const&) = delete;
    descriptor& operator=(descriptor const&) = delete;
    int value() const noexcept { return fd_; }
};

/// Maps n bytes, writes the first, unmaps.
int try_mapping(int fd, std::size_t n, int flags, bool touch) noexcept {
    void* const p = ::mmap(nullptr, n, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED) return errno;
    if (touch) *static_cast<char*>(p) = 1;
    ::munmap(p, n);
    return 0;
}

int try_memfd(unsigned flags, std::size_t n, bool touch) noexcept {
    descriptor const fd{::syscall(SYS_memfd_create, "mpt probe", MFD_CLOEXEC | flags)};
    if (fd.value() < 0) return errno;
    if (::ftruncate(fd.value(), static_cast<off_t>(n)) != 0) return errno;
    return try_mapping(fd.value(), n, MAP_SHARED, touch); // reserves huge pages, so touching them is not needed to know
}

int try_membarrier() noexcept {
    if (auto const e = errno_of(::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0))) return e;
    return errno_of(::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0));
}

/// Reads the witness of a process that has our image at our addresses. Async-signal-safe: children call it.
int read_witness(pid_t pid) noexcept {
    std::uint64_t copy = 0;
    iovec const here{&copy, sizeof copy}, there{&witness, sizeof witness};
    auto const n = ::syscall(SYS_process_vm_readv, pid, &here, 1ul, &there, 1ul, 0ul);
    if (n < 0) return errno;
    return n == static_cast<long>(sizeof copy) && copy == expected ? 0 : EIO;
}

/// A child without an exit signal: the program's SIGCHLD handler and its wait() calls do not learn of it.
pid_t quiet_fork() noexcept { return static_cast<pid_t>(::syscall(SYS_clone, 0ul, nullptr, nullptr, nullptr, 0ul)); }

int reap(pid_t child) noexcept {
    int status = 0;
    while (::waitpid(child, &status, __WALL) < 0)
        if (errno != EINTR) return errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

int try_read_child() noexcept {
    int gate[2]; // the child lives until we close our end, or die
    if (::pipe2(gate, O_CLOEXEC) != 0) return errno;
    auto const child = quiet_fork();
    if (child == 0) {
        char end = 0;
        ::syscall(SYS_close, gate[1]);
        while (::syscall(SYS_read, gate[0], &end, 1ul) < 0 && errno == EINTR) {}
        ::_exit(0);
    }
    int const failed = child < 0 ? errno : read_witness(child);
    ::close(gate[1]);
    ::close(gate[0]);
    if (child > 0) reap(child);
    return failed;
}

/// A child is no ancestor of its parent, so it reads us as one rank reads another.
int try_read_peer() noexcept {
    auto const parent = ::getpid();
    auto const child = quiet_fork();
    if (child < 0) return errno;
    if (child == 0) ::_exit(read_witness(parent));
    return reap(child);
}

int try_pidfd() noexcept {
    descriptor const fd{::syscall(SYS_pidfd_open, ::getpid(), 0)};
    return fd.value() < 0 ? errno : 0;
}

int try_mbind() noexcept {
    auto const n = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const p = ::mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return errno;
    auto const e = errno_of(::syscall(SYS_mbind, p, n, MPOL_PREFERRED, nullptr, 0ul, 0u)); // no node named: the local one
    ::munmap(p, n);
    return e;
}

int try_futex() noexcept {
    void* const p = ::mmap(nullptr, sizeof(std::uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return errno;
    auto* const word = static_cast<std::uint32_t*>(p);
    auto e = errno_of(::syscall(SYS_futex, word, FUTEX_WAIT, 1u, nullptr, nullptr, 0)); // it is 0: no sleep, EAGAIN
    if (e == EAGAIN || e == EINTR) e = errno_of(::syscall(SYS_futex, word, FUTEX_WAKE, 1, nullptr, nullptr, 0));
    ::munmap(p, sizeof(std::uint32_t));
    return e;
}

int error_of(feature f) noexcept {
    constexpr std::size_t page = 4096, huge = std::size_t{2} << 20;
    switch (f) {
    case feature::memfd: return try_memfd(0, page, true);
    case feature::hugetlb: return try_memfd(MFD_HUGETLB | (21u << MAP_HUGE_SHIFT), huge, false); // 2 MiB
    case feature::membarrier: return try_membarrier();
    case feature::read_self: return read_witness(::getpid());
    case feature::read_child: return try_read_child();
    case feature::read_peer: return try_read_peer();
    case feature::pidfd: return try_pidfd();
    case feature::mbind: return try_mbind();
    case feature::futex: return try_futex();
    }
    return EINVAL;
}

} // namespace

probe_result try_feature(feature f) noexcept { return {f, error_of(f)}; }

probe_result probe(feature f) {
    static std::array<std::once_flag, features.size()> once;
    static std::array<probe_result, features.size()> results;
    auto const at = static_cast<std::size_t>(f);
    std::call_once(once[at], [&] { results[at] = try_feature(f); });
    return results[at];
}

std::string to_string(probe_result const& r) {
    if (r.available()) return "available";
    char const* const name = ::strerrorname_np(r.error);
    return name != nullptr ? fmt::format("refused ({})", name) : fmt::format("refused (errno {})", r.error);
}

} // namespace mpt::inline v0
