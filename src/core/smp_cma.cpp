// The system calls of transport/smp/copy.hpp: cross-memory attach.
#include <mpt/transport/smp/copy.hpp>

#include <algorithm>
#include <cerrno>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace mpt::inline v0::smp {
namespace {

// Linux moves at most MAX_RW_COUNT (2 GiB less a page) in one call; a whole number of pages below it keeps pieces aligned.
constexpr std::size_t most_per_call = std::size_t{1} << 30;

using call = ssize_t(pid_t, iovec const*, unsigned long, iovec const*, unsigned long, unsigned long);

status explain(int error) noexcept {
    switch (error) {
    case ESRCH: return status::peer_gone;
    case EFAULT: return status::bad_address;
    case ENOMEM: return status::no_memory;
    default: return status::refused; // EPERM, EACCES, ENOSYS, and what a seccomp profile may answer
    }
}

status move_all(call& one, std::int32_t pid, std::uint64_t mine, std::uint64_t theirs, std::size_t n) noexcept {
    while (n != 0) {
        auto const piece = std::min(n, most_per_call);
        iovec const here{reinterpret_cast<void*>(mine), piece};
        iovec const there{reinterpret_cast<void*>(theirs), piece};
        auto const moved = one(pid, &here, 1, &there, 1, 0);
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0) return explain(errno);
        if (moved == 0) return status::bad_address;
        auto const step = static_cast<std::size_t>(moved);
        mine += step;
        theirs += step;
        n -= step;
    }
    return status::ok;
}

} // namespace

status read_process(std::int32_t pid, void* into, std::uint64_t from, std::size_t n) noexcept {
    return move_all(::process_vm_readv, pid, reinterpret_cast<std::uintptr_t>(into), from, n);
}
status write_process(std::int32_t pid, std::uint64_t into, void const* from, std::size_t n) noexcept {
    return move_all(::process_vm_writev, pid, reinterpret_cast<std::uintptr_t>(from), into, n);
}
std::int32_t own_process() noexcept { return static_cast<std::int32_t>(::getpid()); }

void allow_tracer(std::int32_t pid) noexcept {
    // EINVAL where Yama is not built in: then nothing had to be allowed.
    if (pid > 0) ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(pid), 0, 0, 0);
}

} // namespace mpt::inline v0::smp
