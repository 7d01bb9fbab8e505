// A node's shared memory as one process maps it (mem/arena.hpp).
#include <mpt/core/error.hpp>
#include <mpt/mem/arena.hpp>

#include "arena_system.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

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

constexpr auto huge_page = arena::huge_page;

/// Begins at a multiple of a huge page, as slices do in their file: only then is a page of the file a huge one in every process.
range reserve_range(std::size_t n, std::size_t align = huge_page) noexcept {
    auto* const p = ::mmap(nullptr, n + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return {};
    auto* const first = static_cast<std::byte*>(p);
    auto const before = -reinterpret_cast<std::uintptr_t>(p) % align;
    if (before != 0) ::munmap(first, before);
    if (before != align) ::munmap(first + before + n, align - before);
    return {first + before, n};
}
/// A multiple of the largest page where slices are as far apart: then an offset that begins at such a page does so in every process. And
/// pages are taken from the end of a slice's first part: what is aligned to a size lies on those that were reserved for it.
std::size_t alignment_of(arena_plan const& plan) noexcept {
    return (plan.stride | plan.pages_stride) % arena::largest_page == 0 ? arena::largest_page : huge_page;
}
void* map_shared(void* at, std::size_t n, int fd, std::uint64_t offset, int flags = MAP_NORESERVE) noexcept {
    return ::mmap(at, n, PROT_READ | PROT_WRITE, MAP_SHARED | flags | (at ? MAP_FIXED : 0), fd, static_cast<off_t>(offset));
}
int punch(int fd, std::uint64_t offset, std::uint64_t n) noexcept {
    int failed = 0;
    do failed = ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(n));
    while (failed != 0 && errno == EINTR);
    return failed;
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
    descriptor control_fd, data_fd, pages_fd;
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
    std::uint64_t huge() const noexcept { return plan.pages_stride; }
    /// For slices; without the larger alignment where that would take too many addresses.
    range reserve_slices(std::uint64_t n) const noexcept {
        auto room = reserve_range(n, alignment_of(plan));
        return room ? std::move(room) : reserve_range(n);
    }
    /// A slice with so many base pages, into a reserved range.
    bool map_slice(std::span<std::byte> at, std::uint64_t owner, std::uint64_t n) const noexcept {
        return map_shared(at.data() + huge(), n, plan.data_fd, owner * plan.stride) != MAP_FAILED &&
               (huge() == 0 || map_shared(at.data(), huge(), plan.pages_fd, owner * huge()) != MAP_FAILED);
    }
    bool map_whole(std::uint64_t n) noexcept {
        auto room = reserve_slices(n);
        if (!room) return false;
        auto const each = plan.stride + huge();
        if (huge() == 0) {
            if (map_shared(room.get().data(), n, plan.data_fd, 0) == MAP_FAILED) return false;
        } else {
            for (std::uint64_t r = 0; r < plan.ranks; ++r)
                if (!map_slice(room.get().subspan(r * each, each), r, plan.stride)) return false;
        }
        ::madvise(room.get().data(), n, MADV_DONTDUMP); // else a core dump allocates every hole
        whole = std::move(room);
        return true;
    }
    void choose() {
        auto const budget = mpt::detail::measure_address_budget();
        auto const total = (plan.stride + huge()) * plan.ranks;
        limit = plan.stride;
        if (total <= budget.bytes && map_whole(total)) return;
        auto const each = budget.bytes / plan.ranks;
        limit = std::min(plan.stride, std::max(each - std::min(each, huge()), each / 2)) / page * page;
        limited_by = budget.who;
        while (limit >= least_slice && !reserve_slices(huge() + limit)) limit /= 2;
        if (limit < least_slice)
            throw error{
                errc::no_memory,
                fmt::format("mpt: {} leaves {} of address space for the shared memory of {} ranks, and each needs at least {}.",
                            budget.who, human(budget.bytes), plan.ranks, human(least_slice))};
    }
    /// A run of a slice, in the file behind it.
    struct place {
        int fd;
        std::uint64_t offset;
    };
    place at(rank owner, std::uint64_t offset) const noexcept {
        auto const r = static_cast<std::uint32_t>(owner.value);
        if (offset < huge()) return {plan.pages_fd, huge() * r + offset};
        return {plan.data_fd, plan.stride * r + (offset - huge())};
    }
    /// Is it in a slice, and in one of its parts?
    bool holds(rank owner, std::uint64_t offset, std::uint64_t n) const noexcept {
        if (owner.value < 0 || static_cast<std::uint32_t>(owner.value) >= plan.ranks) return false;
        auto const end = offset < huge() ? huge() : huge() + plan.stride;
        return offset <= end && n <= end - offset;
    }
    /// Whole pages of the first part.
    bool holds_pages(rank owner, std::uint64_t offset, std::uint64_t n) const noexcept {
        return offset < huge() && holds(owner, offset, n) && offset % huge_page == 0 && n % huge_page == 0;
    }
    /// Maps part of a slice once more, of whatever file.
    bool map_again(std::span<std::byte> to, place from, int flags = MAP_NORESERVE) const noexcept {
        if (map_shared(to.data(), to.size(), from.fd, from.offset, flags) == MAP_FAILED) return false;
        ::madvise(to.data(), to.size(), MADV_DONTDUMP);
        return true;
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
            if (i->second.get().size() >= huge() + n) return i->second.get().first(huge() + n);
        auto mapped = reserve_slices(huge() + n);
        if (!mapped || !map_slice(mapped.get(), static_cast<std::uint32_t>(owner.value), n)) return {};
        ::madvise(mapped.get().data(), mapped.get().size(), MADV_DONTDUMP);
        return contacts.emplace(owner, std::move(mapped))->second.get();
    }
};

arena::arena(std::unique_ptr<impl> i) : impl_{std::move(i)} {}
arena::~arena() = default;

std::shared_ptr<arena> arena::open(arena_plan const& plan) {
    auto i = std::make_unique<impl>();
    i->control_fd = descriptor{plan.control_fd};
    i->data_fd = descriptor{plan.data_fd};
    i->pages_fd = descriptor{plan.pages_fd};
    i->plan = plan;
    if (!i->pages_fd) i->plan.pages_stride = 0;
    i->map_control();
    i->choose();
    return std::shared_ptr<arena>{new arena{std::move(i)}};
}

std::span<std::byte> arena::control() noexcept { return impl_->control.get(); }
std::uint32_t arena::ranks() const noexcept { return impl_->plan.ranks; }
std::uint64_t arena::own_limit() const noexcept { return impl_->limit; }
std::uint64_t arena::huge_part() const noexcept { return impl_->huge(); }
std::string_view arena::limited_by() const noexcept { return impl_->limited_by; }

std::span<std::byte> arena::slice(rank owner, std::uint64_t n) noexcept try {
    auto const huge = impl_->huge(), each = impl_->plan.stride + huge;
    if (n == 0 || !impl_->holds(owner, huge, n)) return {};
    if (impl_->whole) return impl_->whole.get().subspan(each * static_cast<std::uint32_t>(owner.value), huge + n);
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
    auto const at = impl_->at(owner, offset);
    return mpt::detail::allocate(at.fd, at.offset, n) == 0 ? status::ok : status::no_memory;
}

status arena::discard(rank owner, std::uint64_t offset, std::uint64_t n) noexcept {
    if (n == 0) return status::ok;
    if (!impl_->holds(owner, offset, n)) return status::too_large;
    auto const at = impl_->at(owner, offset);
    if (punch(at.fd, at.offset, n) == 0) return status::ok;
    auto const s = slice(owner, impl_->limit); // where the call is filtered, the same by way of the mapping
    if (offset + n > s.size()) return status::refused;
    return ::madvise(s.data() + offset, n, MADV_REMOVE) == 0 ? status::ok : status::refused;
}

// A mapping with a reservation, whose pages belong to the file: they stay reserved for it, whoever touches them, also when it is
// mapped without one. What a control group limits is not what is reserved, but what is there.
status arena::reserve(rank owner, std::uint64_t offset, std::uint64_t n, touches are) noexcept try {
    auto const s = slice(owner, page);
    if (s.empty() || !impl_->holds_pages(owner, offset, n)) return status::too_large;
    auto const at = impl_->at(owner, offset);
    if (are == touches::safe && mpt::detail::touchable_pages(huge_page) != mpt::detail::any_number) {
        if (mpt::detail::allocate(at.fd, at.offset, n) == 0) return status::ok;
        punch(at.fd, at.offset, n);
        return status::no_memory;
    }
    if (impl_->map_again(s.subspan(offset, n), at, 0)) return status::ok;
    impl_->map_again(s.subspan(offset, n), at); // the kernel may have taken away what was mapped there
    return status::no_memory;
} catch (...) {
    return status::no_memory; // not even room to look
}

// A hole that is punched gives back only pages that are there: reserved ones are made first.
status arena::release(rank owner, std::uint64_t offset, std::uint64_t n) noexcept {
    auto const s = slice(owner, page);
    if (s.empty() || !impl_->holds_pages(owner, offset, n)) return status::too_large;
    auto const at = impl_->at(owner, offset);
    mpt::detail::allocate(at.fd, at.offset, n);
    auto const is = discard(owner, offset, n);
    impl_->map_again(s.subspan(offset, n), at);
    return is;
}

status arena::lay_pages(rank owner, std::uint64_t offset, std::uint64_t pages, std::uint64_t n) noexcept {
    if (!impl_->holds_pages(owner, pages, n) || offset < impl_->huge() || offset % huge_page != 0) return status::too_large;
    auto const s = slice(owner, offset + n - impl_->huge());
    if (s.empty()) return status::too_large;
    return impl_->map_again(s.subspan(offset, n), impl_->at(owner, pages)) ? status::ok : status::no_memory;
}

void arena::lift_pages(rank owner, std::uint64_t offset, std::uint64_t n) noexcept {
    if (offset < impl_->huge()) return;
    auto const s = slice(owner, offset + n - impl_->huge());
    if (s.empty()) return;
    impl_->map_again(s.subspan(offset, n), impl_->at(owner, offset));
}

// Reserved by a mapping, as in reserve(), which need not stay.
auto arena::lend_pages(std::uint64_t size, std::uint64_t n) noexcept -> lent_pages try {
    constexpr int shift = 26; // MFD_HUGE_SHIFT
    auto const flags = MFD_CLOEXEC | MFD_HUGETLB | static_cast<unsigned>(std::countr_zero(size)) << shift;
    descriptor f{static_cast<int>(::syscall(SYS_memfd_create, "mpt-pages", flags))};
    if (!f || ::ftruncate(f.get(), static_cast<off_t>(n)) != 0) return {};
    if (mpt::detail::touchable_pages(size) != mpt::detail::any_number) {
        if (mpt::detail::allocate(f.get(), 0, n) != 0) return {};
    } else {
        range const reserving{map_shared(nullptr, n, f.get(), 0, 0), n};
        if (!reserving) return {};
    }
    return {::getpid(), f.release()};
} catch (...) { return {}; }

void arena::take_back(lent_pages const& of) noexcept { descriptor const closed{static_cast<int>(of.file)}; }

status arena::lay_pages(rank owner, std::uint64_t offset, lent_pages const& of, std::uint64_t n) noexcept try {
    if (offset < impl_->huge()) return status::too_large;
    auto const s = slice(owner, offset + n - impl_->huge());
    if (s.empty()) return status::too_large;
    auto const name = fmt::format("/proc/{}/fd/{}", of.process, of.file);
    descriptor const file{::open(name.c_str(), O_RDWR | O_CLOEXEC)};
    if (file && impl_->map_again(s.subspan(offset, n), {file.get(), 0})) return status::ok;
    lift_pages(owner, offset, n);
    return status::refused;
} catch (...) { return status::no_memory; }

} // namespace mpt::inline v0::mem
