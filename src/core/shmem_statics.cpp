// The program's static variables on memory that others can map: shmem/statics.hpp.
//
//   Bytes are moved by system calls that nobody intercepts: to the address sanitizer whole pages are full of gaps, which stay such.
#include <mpt/shmem/statics.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>

#include <csignal>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fmt/format.h>

#include "arena_system.hpp"

namespace mpt::inline v0::shmem {
namespace {

using mpt::detail::descriptor;

std::uint64_t page() noexcept { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }
std::uint64_t down(std::uint64_t n) noexcept { return n / page() * page(); }
std::uint64_t up(std::uint64_t n) noexcept { return down(n + page() - 1); }

struct collecting {
    std::vector<static_part> found;
    std::exception_ptr failed;
};

/// A writable segment without what the linker makes read-only after relocation, with which it begins.
void collect(dl_phdr_info const& program, std::vector<static_part>& found) {
    std::uint64_t sealed = 0, sealed_end = 0;
    for (int i = 0; i < program.dlpi_phnum; ++i)
        if (auto const& h = program.dlpi_phdr[i]; h.p_type == PT_GNU_RELRO)
            sealed = down(program.dlpi_addr + h.p_vaddr), sealed_end = down(program.dlpi_addr + h.p_vaddr + h.p_memsz);
    for (int i = 0; i < program.dlpi_phnum; ++i) {
        auto const& h = program.dlpi_phdr[i];
        if (h.p_type != PT_LOAD || (h.p_flags & (PF_R | PF_W)) != (PF_R | PF_W)) continue;
        auto from = down(program.dlpi_addr + h.p_vaddr);
        auto const to = up(program.dlpi_addr + h.p_vaddr + h.p_memsz);
        if (sealed <= from && from < sealed_end) from = sealed_end;
        if (from >= to) continue;
        auto const before = found.empty() ? 0 : found.back().offset + found.back().bytes;
        found.push_back({from, to - from, before});
    }
}

/// The program comes first.
int first_object(dl_phdr_info* program, std::size_t, void* into) noexcept {
    auto& all = *static_cast<collecting*>(into);
    try {
        collect(*program, all.found);
    } catch (...) { all.failed = std::current_exception(); }
    return 1;
}

std::uint64_t length(std::vector<static_part> const& parts) noexcept {
    return parts.empty() ? 0 : parts.back().offset + parts.back().bytes;
}

bool is_only_thread() {
    auto const text = mpt::detail::read_text("/proc/self/status");
    return mpt::detail::number_after(text, "Threads:", 0) == 1;
}

/// Is all of it private memory that may be read and written? A program may have protected some.
bool is_plain(static_part const& p) {
    auto const text = mpt::detail::read_text("/proc/self/maps");
    auto reached = p.at;
    for (std::size_t line = 0; line < text.size() && reached < p.at + p.bytes;) {
        auto const end = std::min(text.find('\n', line), text.size());
        unsigned long from = 0, to = 0;
        std::array<char, 5> may{};
        if (std::sscanf(text.substr(line, end - line).c_str(), "%lx-%lx %4s", &from, &to, may.data()) == 3 && from <= reached &&
            reached < to) {
            if (std::string_view{may.data()} != "rw-p") return false;
            reached = to;
        }
        line = end + 1;
    }
    return reached >= p.at + p.bytes;
}

__attribute__((no_sanitize("address"))) bool is_zero(std::uint64_t at, std::uint64_t bytes) noexcept {
    auto const* const words = reinterpret_cast<std::uint64_t const*>(at);
    for (std::uint64_t i = 0; i < bytes / sizeof *words; ++i)
        if (words[i] != 0) return false;
    return true;
}

bool write_all(int file, std::uint64_t from, std::uint64_t bytes, std::uint64_t offset) noexcept {
    while (bytes > 0) {
        auto const n = ::syscall(SYS_pwrite64, file, from, bytes, offset);
        if (n <= 0) return false;
        from += static_cast<std::uint64_t>(n), bytes -= static_cast<std::uint64_t>(n), offset += static_cast<std::uint64_t>(n);
    }
    return true;
}
bool map_over(static_part const& p, int file) noexcept {
    return ::syscall(SYS_mmap, p.at, p.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, p.offset) ==
           static_cast<long>(p.at);
}

/// No signal's handler comes between the copy and the change.
class no_signals {
    sigset_t before_{};

public:
    no_signals() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~no_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    no_signals(no_signals const&) = delete;
    no_signals& operator=(no_signals const&) = delete;
};

// --- fork: a child's variables are its own ------------------------------------------------------------------------------------------

struct shared {
    std::mutex changing;
    std::vector<static_part> parts;
    static_file file;
    bool follows_forks = false;
    std::mutex forking;            // from before to after: threads may fork at once
    std::byte* snapshot = nullptr; // of the fork that is under way
};
/// Never destroyed: a program may fork at its end.
shared& all() {
    static shared& only = *new shared;
    return only;
}

__attribute__((no_sanitize("address", "thread"))) void copy_words(std::uint64_t from, std::byte* to,
                                                                  std::uint64_t bytes) noexcept {
    auto const* const words = reinterpret_cast<std::uint64_t const*>(from);
    auto volatile* const into = reinterpret_cast<std::uint64_t*>(to);
    for (std::uint64_t i = 0; i < bytes / sizeof *words; ++i) into[i] = words[i];
}
/// Touched pages of the file, or all where it cannot tell them: by the loads of this process, for a program may have closed the file.
void copy_touched(static_part const& p, static_file const& file, std::byte* snapshot) noexcept {
    struct stat is {};
    auto const fd = static_cast<int>(file.file);
    bool const is_ours = ::fstat(fd, &is) == 0 && is.st_ino == file.inode;
    for (auto at = p.offset, end = p.offset + p.bytes; at < end;) {
        auto hole = end;
        if (is_ours) {
            auto const data = ::lseek(fd, static_cast<off_t>(at), SEEK_DATA);
            if (data < 0 || static_cast<std::uint64_t>(data) >= end) return;
            at = static_cast<std::uint64_t>(data);
            auto const found = ::lseek(fd, data, SEEK_HOLE);
            if (found > data) hole = std::min(end, static_cast<std::uint64_t>(found));
        }
        copy_words(p.at + (at - p.offset), snapshot + at, hole - at);
        at = hole;
    }
}
void before_fork() {
    auto& s = all();
    s.forking.lock();
    if (!s.file) return;
    auto* const room =
        ::mmap(nullptr, s.file.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return; // its child will say so
    s.snapshot = static_cast<std::byte*>(room);
    for (auto const& p : s.parts) copy_touched(p, s.file, s.snapshot);
}
void after_fork() {
    auto& s = all();
    if (auto* const room = std::exchange(s.snapshot, nullptr)) ::munmap(room, s.file.bytes);
    s.forking.unlock();
}
bool put_back(shared& s) noexcept {
    if (!s.snapshot) return false;
    for (auto const& p : s.parts)
        if (::syscall(SYS_mremap, s.snapshot + p.offset, p.bytes, p.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, p.at) !=
            static_cast<long>(p.at))
            return false;
    return true;
}
/// What is under the variables changes, not what they hold.
void in_child() {
    auto& s = all();
    if (s.file && !put_back(s)) {
        std::array<char, 160> why{}; // a child of many threads takes no memory
        auto const end =
            fmt::format_to_n(why.data(), why.size(),
                             "mpt: there is no memory for a child's copy of the {} bytes of static variables\n", s.file.bytes);
        static_cast<void>(!::write(STDERR_FILENO, why.data(), std::min(end.size, why.size())));
        ::_exit(1);
    }
    s.snapshot = nullptr, s.file = {};
    s.forking.unlock();
}

/// When the library is loaded: so other handlers have done their part before the snapshot, and wait for it in the child, where they may
/// write to variables.
__attribute__((constructor(101))) void follow_forks() {
    all().follows_forks = ::pthread_atfork(before_fork, after_fork, in_child) == 0;
}

/// Copied and changed; false: nothing was.
bool lay_on(int file, std::vector<static_part> const& parts) {
    no_signals const quiet;
    for (auto const& p : parts)
        for (std::uint64_t at = 0; at < p.bytes; at += page())
            if (!is_zero(p.at + at, page()) && !write_all(file, p.at + at, page(), p.offset + at)) return false;
    for (auto const& p : parts)
        if (!map_over(p, file)) {
            if (&p == parts.data()) return false;
            std::terminate(); // some are shared, and cannot be taken back
        }
    return true;
}

} // namespace

std::byte static_map::nowhere{};

std::vector<static_part> static_parts() {
    collecting program;
    ::dl_iterate_phdr(first_object, &program);
    if (program.failed) std::rethrow_exception(program.failed);
    return std::move(program.found);
}

static_file share_statics(std::vector<static_part> const& parts, std::uint64_t most) noexcept try {
    auto& s = all();
    std::lock_guard const g{s.changing};
    if (s.file) return s.file;
    auto const bytes = length(parts);
    rlimit files{};
    if (!s.follows_forks || bytes == 0 || bytes > most || ::getrlimit(RLIMIT_FSIZE, &files) != 0 || files.rlim_cur < bytes ||
        !is_only_thread() || !std::ranges::all_of(parts, is_plain))
        return {};
    descriptor file{static_cast<int>(::syscall(SYS_memfd_create, "mpt-static", MFD_CLOEXEC))};
    struct stat is {};
    if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 || ::fstat(file.get(), &is) != 0) return {};
    s.parts = parts;
    s.file = {::getpid(), file.get(), is.st_ino, bytes};
    if (!lay_on(file.get(), parts)) {
        s.file = {};
        return {};
    }
    static_cast<void>(file.release());
    return s.file;
} catch (...) { return {}; }

void static_map::learn(std::vector<static_part> parts, std::vector<static_file> files, rank me) {
    me_ = me.value;
    for (auto& f : files)
        if (f.bytes != length(parts)) f = {};
    places_ = std::make_unique<native_atomics::atomic<std::byte*>[]>(files.size());
    files_ = std::move(files), parts_ = std::move(parts);
}

static_map::~static_map() {
    for (std::size_t pe = 0; pe < files_.size(); ++pe)
        if (auto* const place = places_[pe].load(std::memory_order_relaxed);
            place && place != &nowhere) // order: nobody calls any more
            ::munmap(place, files_[pe].bytes);
}

std::byte* static_map::map(std::size_t who) const noexcept try {
    static std::mutex mapping; // one for all: it is taken once a PE
    std::lock_guard const g{mapping};
    if (auto* const is = places_[who].load(std::memory_order_relaxed)) return is; // order: the mutex
    auto const& f = files_[who];
    auto* place = &nowhere;
    auto const name = fmt::format("/proc/{}/fd/{}", f.process, f.file);
    descriptor const file{::open(name.c_str(), O_RDWR | O_CLOEXEC)};
    struct stat is {};
    if (file && ::fstat(file.get(), &is) == 0 && is.st_ino == f.inode && static_cast<std::uint64_t>(is.st_size) == f.bytes)
        if (auto* const at = ::mmap(nullptr, f.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0); at != MAP_FAILED)
            place = static_cast<std::byte*>(at);
    places_[who].store(place, std::memory_order_release); // sync(shmem.statics): release
    return place;
} catch (...) { return &nowhere; }

} // namespace mpt::inline v0::shmem
