// The system calls of transport/smp/copy.hpp: cross-memory attach.
#include <mpt/transport/smp/copy.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <string>
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

/// The kernel copies as copy_string does, and as slowly where one run lies just behind the other but for the page. Pieces are then moved to
/// a place of our own in between, where they lie just behind neither. The kernel tries the ends of ours first: a buffer that is not there
/// stays a bad address.
/// origin: 16 bytes ahead, AMD EPYC, Zen 3, Linux 6.18, 64 KiB / 1 MiB: 12 / 156 us in place of 29 / 843; else they take 7 / 102
bool copies_slowly(std::uint64_t to, std::uint64_t from, std::size_t n) noexcept {
    return n >= 2 * detail::string_copy &&
           detail::aliases(reinterpret_cast<std::byte const*>(to), reinterpret_cast<std::byte const*>(from)) &&
           processor::is_of_amd();
}
/// move(held, at, bytes) for each piece, until one is not ok.
template <class Move>
status in_between(call& one, std::int32_t pid, std::uint64_t mine, std::uint64_t theirs, std::size_t n, Move move) noexcept {
    constexpr std::size_t page = detail::alias_period, piece = 8 * page;
    alignas(page) std::array<std::byte, page + cache_line + piece> between;
    auto* const held = between.data() + theirs % page + cache_line;
    auto s = move_all(one, pid, mine, theirs, 1);
    if (s == status::ok) s = move_all(one, pid, mine + n - 1, theirs + n - 1, 1);
    for (std::size_t at = 0; at < n && s == status::ok; at += piece) s = move(held, at, std::min(piece, n - at));
    return s;
}

using vectors = std::array<iovec, most_runs_per_get>;
std::span<iovec> vectors_of(vectors& all, std::span<memory_run const> runs, std::uint64_t base) noexcept {
    auto const n = std::min(runs.size(), all.size());
    for (std::size_t i = 0; i < n; ++i) all[i] = {reinterpret_cast<void*>(base + runs[i].at), runs[i].bytes};
    return std::span{all}.first(n);
}
/// Without its first n bytes.
std::span<iovec> rest_of(std::span<iovec> v, std::size_t n) noexcept {
    while (!v.empty() && n >= v.front().iov_len) n -= v.front().iov_len, v = v.subspan(1);
    if (n != 0) v.front() = {static_cast<std::byte*>(v.front().iov_base) + n, v.front().iov_len - n};
    return v;
}

/// Runs of ours, by address, and of theirs, by their offset from `base`.
status move_runs(call& one, std::int32_t pid, std::span<memory_run const> mine, std::uint64_t base,
                 std::span<memory_run const> theirs) noexcept {
    vectors ours, others;
    auto here = vectors_of(ours, mine, 0), there = vectors_of(others, theirs, base);
    while (!here.empty() && !there.empty()) {
        auto const moved = one(pid, here.data(), here.size(), there.data(), there.size(), 0);
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0) return explain(errno);
        if (moved == 0) return status::bad_address;
        here = rest_of(here, static_cast<std::size_t>(moved)), there = rest_of(there, static_cast<std::size_t>(moved));
    }
    return status::ok;
}

} // namespace

status read_process_runs(std::int32_t pid, std::span<memory_run const> into, std::uint64_t from,
                         std::span<memory_run const> theirs) noexcept {
    return move_runs(::process_vm_readv, pid, into, from, theirs);
}
status write_process_runs(std::int32_t pid, std::span<memory_run const> from, std::uint64_t into,
                          std::span<memory_run const> theirs) noexcept {
    return move_runs(::process_vm_writev, pid, from, into, theirs);
}
status read_process(std::int32_t pid, void* into, std::uint64_t from, std::size_t n) noexcept {
    auto const mine = reinterpret_cast<std::uintptr_t>(into);
    auto& read = ::process_vm_readv;
    if (!copies_slowly(mine, from, n)) [[likely]]
        return move_all(read, pid, mine, from, n);
    return in_between(read, pid, mine, from, n, [=](std::byte* held, std::size_t at, std::size_t bytes) noexcept {
        auto const s = move_all(read, pid, reinterpret_cast<std::uintptr_t>(held), from + at, bytes);
        if (s == status::ok) copy_bytes(static_cast<std::byte*>(into) + at, held, bytes);
        return s;
    });
}
status write_process(std::int32_t pid, std::uint64_t into, void const* from, std::size_t n) noexcept {
    auto const mine = reinterpret_cast<std::uintptr_t>(from);
    auto& write = ::process_vm_writev;
    if (!copies_slowly(into, mine, n)) [[likely]]
        return move_all(write, pid, mine, into, n);
    return in_between(write, pid, mine, into, n, [=](std::byte* held, std::size_t at, std::size_t bytes) noexcept {
        copy_bytes(held, static_cast<std::byte const*>(from) + at, bytes);
        return move_all(write, pid, reinterpret_cast<std::uintptr_t>(held), into + at, bytes);
    });
}
bool is_there(void const* p, std::size_t n, bool writable) {
    auto at = reinterpret_cast<std::uintptr_t>(p);
    auto const end = at + n;
    std::ifstream maps{"/proc/self/maps"}; // by address; a line begins with "from-to rwxp "
    for (std::string line; at < end && std::getline(maps, line);) {
        std::uint64_t from = 0, to = 0;
        auto const* const last = line.data() + line.size();
        auto const dash = std::from_chars(line.data(), last, from, 16);
        if (dash.ptr == last) continue;
        auto const blank = std::from_chars(dash.ptr + 1, last, to, 16);
        if (to <= at) continue;
        bool const allowed = last - blank.ptr > 2 && blank.ptr[1] == 'r' && (!writable || blank.ptr[2] == 'w');
        if (from > at || !allowed) return false;
        at = to;
    }
    return at >= end;
}
std::int32_t own_process() noexcept { return static_cast<std::int32_t>(::getpid()); }

void allow_tracer(std::int32_t pid) noexcept {
    // EINVAL where Yama is not built in: then nothing had to be allowed.
    if (pid > 0) ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(pid), 0, 0, 0);
}

} // namespace mpt::inline v0::smp
