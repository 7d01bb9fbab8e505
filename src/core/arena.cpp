// A node's shared memory as one process maps it (mem/arena.hpp).
#include <mpt/core/error.hpp>
#include <mpt/mem/arena.hpp>

#include "arena_system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

namespace mpt::inline v0::mem {
namespace {
using mpt::detail::descriptor;
using mpt::detail::human;

constexpr std::uint64_t least_slice = 1 << 20;
constexpr std::uint64_t page = 4096;

/// A range of addresses that is given back.
class range {
    std::span<std::byte> at_{};

public:
    range() = default;
    range(void* p, std::size_t n) noexcept
        : at_{p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p), p == MAP_FAILED ? 0 : n} {}
    range(range&& o) noexcept : at_{std::exchange(o.at_, {})} {}
    range& operator=(range&& o) noexcept {
        std::swap(at_, o.at_);
        return *this;
    }
    ~range() {
        if (!at_.empty()) ::munmap(at_.data(), at_.size());
    }
    std::span<std::byte> get() const noexcept { return at_; }
    explicit operator bool() const noexcept { return !at_.empty(); }
};

range reserve(std::size_t n) noexcept {
    return {::mmap(nullptr, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), n};
}
/// At a multiple of a huge page, as slices are in the segment: a huge page of it can be one in every process.
range reserve_aligned(std::size_t n) noexcept {
    constexpr std::size_t huge_page = 2 << 20;
    auto* const p = ::mmap(nullptr, n + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return reserve(n);
    auto* const at = static_cast<std::byte*>(p);
    auto const skip = (huge_page - reinterpret_cast<std::uintptr_t>(p) % huge_page) % huge_page;
    if (skip != 0) ::munmap(at, skip);
    if (skip != huge_page) ::munmap(at + skip + n, huge_page - skip);
    return {at + skip, n};
}
void* map_shared(void* at, std::size_t n, int fd, std::uint64_t offset) noexcept {
    return ::mmap(at, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), fd,
                  static_cast<off_t>(offset));
}

/// Ranks of the node take turns. A lock of fcntl belongs to the process and dies with it; within the process a mutex.
class turn {
    std::scoped_lock<std::mutex> lock_;
    int fd_;
    void set(short kind) noexcept {
        struct flock f {};
        f.l_type = kind;
        f.l_whence = SEEK_SET;
        f.l_len = 1;
        while (::fcntl(fd_, F_SETLKW, &f) != 0 && errno == EINTR) {}
    }

public:
    turn(std::mutex& m, int fd) noexcept : lock_{m}, fd_{fd} { set(F_WRLCK); }
    ~turn() { set(F_UNLCK); }
};

} // namespace

struct arena::impl {
    arena_plan plan;
    descriptor control_fd, data_fd;
    range control;
    range whole;                                 // all slices, where they fit
    std::multimap<std::int32_t, range> contacts; // else: the slices mapped so far
    std::uint64_t limit = 0;
    std::string_view limited_by = "the job's stride";
    std::mutex contact, commit;

    void map_control() {
        control = {map_shared(nullptr, plan.control_bytes, plan.control_fd, 0), plan.control_bytes};
        if (!control)
            throw error{
                errc::system,
                fmt::format("mpt: cannot map the control segment of {} bytes: {}", plan.control_bytes, std::strerror(errno)),
                errno};
    }
    bool map_whole(std::uint64_t n) noexcept {
        auto room = reserve_aligned(n);
        if (!room || map_shared(room.get().data(), n, plan.data_fd, 0) == MAP_FAILED) return false;
        ::madvise(room.get().data(), n, MADV_DONTDUMP); // else a core dump allocates every hole
        whole = std::move(room);
        return true;
    }
    void choose() {
        auto const budget = mpt::detail::measure_address_budget();
        auto const total = plan.stride * plan.ranks;
        limit = plan.stride;
        if (total <= budget.bytes && map_whole(total)) return;
        limit = std::min(plan.stride, budget.bytes / plan.ranks) / page * page;
        limited_by = budget.who;
        while (limit >= least_slice && !reserve(limit)) limit /= 2;
        if (limit < least_slice)
            throw error{
                errc::no_memory,
                fmt::format("mpt: {} leaves {} of address space for the shared memory of {} ranks, and each needs at least {}.",
                            budget.who, human(budget.bytes), plan.ranks, human(least_slice))};
    }
    std::uint64_t at(rank owner, std::uint64_t offset) const noexcept {
        return plan.stride * static_cast<std::uint32_t>(owner.value) + offset;
    }
    bool holds(rank owner, std::uint64_t offset, std::uint64_t n) const noexcept {
        return owner.value >= 0 && static_cast<std::uint32_t>(owner.value) < plan.ranks && offset <= plan.stride &&
               n <= plan.stride - offset;
    }
    /// Size and free bytes of the segments' file system; zeroes for a memfd, or a tmpfs without a size.
    std::pair<std::uint64_t, std::uint64_t> file_system() const noexcept {
        struct statvfs fs {};
        if (::fstatvfs(data_fd.get(), &fs) != 0) return {};
        return {std::uint64_t{fs.f_blocks} * fs.f_frsize, std::uint64_t{fs.f_bavail} * fs.f_frsize};
    }
    std::span<std::byte> contact_with(rank owner, std::uint64_t n) {
        std::scoped_lock const lock{contact};
        auto const [first, last] = contacts.equal_range(owner);
        for (auto i = first; i != last; ++i)
            if (i->second.get().size() >= n) return i->second.get().first(n);
        range mapped{map_shared(nullptr, n, plan.data_fd, at(owner, 0)), n};
        if (!mapped) return {};
        ::madvise(mapped.get().data(), n, MADV_DONTDUMP);
        return contacts.emplace(owner, std::move(mapped))->second.get();
    }
};

arena::arena(std::unique_ptr<impl> i) : impl_{std::move(i)} {}
arena::~arena() = default;

std::shared_ptr<arena> arena::open(arena_plan const& plan) {
    auto i = std::make_unique<impl>();
    i->control_fd = descriptor{plan.control_fd};
    i->data_fd = descriptor{plan.data_fd};
    i->plan = plan;
    i->map_control();
    i->choose();
    return std::shared_ptr<arena>{new arena{std::move(i)}};
}

std::span<std::byte> arena::control() noexcept { return impl_->control.get(); }
std::uint32_t arena::ranks() const noexcept { return impl_->plan.ranks; }
std::uint64_t arena::own_limit() const noexcept { return impl_->limit; }
std::string_view arena::limited_by() const noexcept { return impl_->limited_by; }

std::span<std::byte> arena::slice(rank owner, std::uint64_t n) noexcept try {
    if (n == 0 || !impl_->holds(owner, 0, n)) return {};
    if (impl_->whole) return impl_->whole.get().subspan(impl_->at(owner, 0), n);
    return impl_->contact_with(owner, n);
} catch (...) {
    return {}; // no room for the table of contacts
}

headroom arena::room() noexcept {
    auto room = measure_headroom();
    if (auto const [size, free] = impl_->file_system(); size != 0 && free < room.free) room = {free, size, "file system"};
    return room;
}
bool arena::may_bus_error() const noexcept { return impl_->file_system().first != 0; }

status arena::commit(rank owner, std::uint64_t offset, std::uint64_t n) noexcept {
    if (!impl_->holds(owner, offset, n)) return status::too_large;
    turn const mine{impl_->commit, impl_->control_fd.get()};
    if (n > room().free) return status::no_memory;
    return mpt::detail::allocate(impl_->data_fd.get(), impl_->at(owner, offset), n) == 0 ? status::ok : status::no_memory;
}

status arena::discard(rank owner, std::uint64_t offset, std::uint64_t n) noexcept {
    if (n == 0) return status::ok;
    if (!impl_->holds(owner, offset, n)) return status::too_large;
    auto const at = static_cast<off_t>(impl_->at(owner, offset));
    int failed = 0;
    do failed = ::fallocate(impl_->data_fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, static_cast<off_t>(n));
    while (failed != 0 && errno == EINTR);
    if (failed == 0) return status::ok;
    auto const s = slice(owner, impl_->limit); // where the call is filtered, the same by way of the mapping
    if (offset + n > s.size()) return status::refused;
    return ::madvise(s.data() + offset, n, MADV_REMOVE) == 0 ? status::ok : status::refused;
}

} // namespace mpt::inline v0::mem
