/// mem/arena - a node's shared memory: a reserved address range into which segments are mapped.
///
///        one process's view                                   segments (memfds, no names, nothing to leave behind)
///        +-----------+---------+---------+-----+---------+
///        |  control  | slice 0 | slice 1 | ... | slice n |    control: boot/control.hpp, made by the launcher
///        +-----------+---------+---------+-----+---------+    slice r: its part of the pages memfd, then of the data memfd
///
///        +--------------------------+-----------------------+
///        | huge pages, pages_stride | base pages, bytes(r)  |  a slice; without a pool of huge pages the first part is empty
///        +--------------------------+-----------------------+
///
///   Huge pages are those of the system's pool (hugetlbfs), if it had some when the job was made. Every process maps the parts of
///   all; its owner reserves what it takes, so that a touch finds a page, and gives the reservation back with the memory.
///
///   A reference between processes is (rank, offset); a peer's address is slice(peer).data() + offset. The stride is fixed when
///   the job is made; how much of its slice a rank uses follows what that process may map (physical memory, RLIMIT_AS,
///   ThreadSanitizer, valgrind) and is published in its control record. Where the whole arena does not fit, peers' slices are
///   mapped at first contact. Only the owner allocates in a slice and touches it first.
///
///   Ranks as threads share one arena object per process (the process registry owns it), so that ThreadSanitizer sees one
///   mapping of each page.
///
///   Order   none of its own: whoever passes a reference on publishes it with a release.
///   Limit   library extents are committed (fallocate) after a look at the cgroup's headroom, because inside a memory cgroup
///           a failing touch is a kill, not an error. User memory is only checked, never committed.
///   Tests   test/mem_arena_test.cpp, test/proc/limits_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <mpt/core/types.hpp>
#include <mpt/mem/place.hpp>

namespace mpt::inline v0::mem {

/// Where a byte of the node's shared memory is, in words that every process understands.
struct reference {
    std::uint32_t owner = ~0u; // whose slice
    std::uint32_t reserved = 0;
    std::uint64_t offset = 0;
    constexpr bool valid() const noexcept { return owner != ~0u; }
};
static_assert(sizeof(reference) == 16);

/// How an arena is laid out: decided once per job by whoever makes the control segment.
struct arena_plan {
    int control_fd = -1; // memfd of the control segment
    int data_fd = -1;    // memfd of all slices, sparse
    int pages_fd = -1;   // memfd of their huge pages, sparse; -1: there are none
    std::uint64_t control_bytes = 0;
    std::uint64_t stride = 0;       // distance of two slices in the data memfd
    std::uint64_t pages_stride = 0; // and in the memfd of huge pages
    std::uint32_t ranks = 0;        // slices on this node
};

/// What the memory cgroup and the machine still have, in bytes.
struct headroom {
    std::uint64_t free = ~0ull;        // bytes that may still be committed, after a reserve for the programs themselves
    std::uint64_t limit = ~0ull;       // of the tightest limit
    std::string_view who = "no limit"; // "cgroup v1 memory", "cgroup v2 memory", "physical memory", "file system"
};
headroom measure_headroom() noexcept;
/// "123.4 MB were asked for, but only 41.0 MB are free (limit 64.0 MB, cgroup v1 memory)".
std::string shortage(std::uint64_t asked, headroom const& room);

/// A node's arena as one process maps it. Thread-safe.
class arena {
public:
    /// Maps the control segment and reserves (or prepares to map) the slices. Takes the descriptors over, also when it throws
    /// mpt::error.
    static std::shared_ptr<arena> open(arena_plan const& plan);
    ~arena();
    arena(arena const&) = delete;
    arena& operator=(arena const&) = delete;

    std::span<std::byte> control() noexcept;
    std::uint32_t ranks() const noexcept;

    /// How many bytes of base pages a rank of this process may use: what fits this process, at most the stride.
    std::uint64_t own_limit() const noexcept;
    /// How long the part of huge pages is with which each slice begins. Nothing is reserved for it yet.
    std::uint64_t huge_part() const noexcept;
    /// Bytes of a page of that part; and the largest size that memory is asked to have, by several of them (MPT_ALLOC_MEM_PG_SZ: 512M)
    /// or by the system's own.
    static constexpr std::uint64_t huge_page = 2 << 20, largest_page = 1 << 30;

    /// The mapped slice of a rank, mapped at first contact if need be: the part of huge pages, then `bytes` of base pages, which is
    /// what its owner published. Empty when it cannot be mapped.
    std::span<std::byte> slice(rank owner, std::uint64_t bytes) noexcept;

    /// Who sees to it that a touch is within the limits of the control groups: reserve(), which makes the pages at once where there is a
    /// limit; or its caller, who touches them next or has looked at the limits.
    enum class touches : std::uint8_t { safe, by_caller };
    /// Reserves huge pages for whole pages of the own slice's first part: a touch, by whatever process, finds a page after that.
    /// no_memory: the system has too few, or a control group permits no more.
    status reserve(rank owner, std::uint64_t offset, std::uint64_t bytes, touches are = touches::safe) noexcept;
    /// Gives them back, touched or not. refused: the system cannot, they keep their bytes.
    status release(rank owner, std::uint64_t offset, std::uint64_t bytes) noexcept;

    /// Shows huge pages, which begin at `pages` of the slice, also at an offset of its second part, in this process alone: whoever looks
    /// there does the same before, and undoes it. Both begin at huge pages.
    status lay_pages(rank owner, std::uint64_t offset, std::uint64_t pages, std::uint64_t bytes) noexcept;
    void lift_pages(rank owner, std::uint64_t offset, std::uint64_t bytes) noexcept;

    /// Whole pages of another size of the system's pool, reserved, in memory of their own, which others of the node find by these two
    /// numbers: they are there until their process takes them back, and whoever shows them has lifted them.
    struct lent_pages {
        std::int64_t process = 0, file = -1;
        explicit operator bool() const noexcept { return file >= 0; }
    };
    /// None: there are too few, or a control group permits no more.
    static lent_pages lend_pages(std::uint64_t page, std::uint64_t bytes) noexcept;
    static void take_back(lent_pages const& of) noexcept;
    /// Shows them as those of the slice; the offset is a multiple of their size. refused: they cannot be shown here.
    status lay_pages(rank owner, std::uint64_t offset, lent_pages const& of, std::uint64_t bytes) noexcept;

    /// Commits (allocates, does not touch) part of an own slice. no_memory when the cgroup or the machine has no room.
    /// Ranks of the node take turns, so that two do not both take the last room.
    status commit(rank owner, std::uint64_t offset, std::uint64_t bytes) noexcept;
    /// Gives pages back to the system; they read as zeroes after it. refused: the system cannot, they keep their bytes.
    status discard(rank owner, std::uint64_t offset, std::uint64_t bytes) noexcept;
    /// What may still be committed here: the machine's headroom, and the file system's where the segments are files.
    headroom room() noexcept;
    /// The segments are files of a file system of limited size (memfd_create is refused here): a touch beyond that size is a
    /// bus error, so that user memory is committed too.
    bool may_bus_error() const noexcept;
    /// What bounds own_limit(), for a message: "ulimit -v", "valgrind", ...
    std::string_view limited_by() const noexcept;

private:
    struct impl;
    explicit arena(std::unique_ptr<impl>);
    std::unique_ptr<impl> impl_;
};

/// What memory of a slice is for: the library's own, then the program's.
enum class purpose : std::uint8_t { control, mailboxes, buffers, collectives, allocated, windows, symmetric };
inline constexpr std::size_t purposes = 7;
std::string_view to_string(purpose p) noexcept;

/// The owner's side of a slice: library objects, extents for pools, and the user's pages.
/// Thread-safe: lanes grow under their own locks, and the user allocates under none.
class slice_heap {
public:
    /// Uses the huge pages of the slice and the first `bytes` of its base pages, and empties what an earlier heap left there;
    /// `internal`: where library memory comes from, as far as it can be had; `by` is named where the bytes limit it. Throws
    /// mpt::error.
    slice_heap(std::shared_ptr<arena> where, rank owner, std::uint64_t bytes, wish const& internal = {},
               std::string_view by = "what was asked for");
    ~slice_heap();
    slice_heap(slice_heap const&) = delete;
    slice_heap& operator=(slice_heap const&) = delete;

    /// Library memory: committed, zeroed, never given back before the end, aligned to `align` (a power of two, at most a
    /// page). Empty span: no memory.
    std::span<std::byte> extent(std::size_t n, std::size_t align = line_pair, purpose what = purpose::control) noexcept;
    /// An extent for what is only faster with it: empty unless at least eight times as much is free, in the slice and in all.
    std::span<std::byte> spare(std::size_t n, purpose what = purpose::control) noexcept;

    /// n objects of T, made in an extent; never destroyed. Throws mpt::error(no_memory), with what they are for.
    template <class T> std::span<T> make(std::size_t n, std::string_view what, purpose why = purpose::control) {
        auto const room = extent(n * sizeof(T), std::max(alignof(T), line_pair), why);
        if (room.empty() && n != 0) refuse(n * sizeof(T), what);
        return {new (room.data()) T[n]{}, n};
    }

    /// Small library objects that come and go (Boost.Interprocess inside a slice, null mutex family). nullptr: no memory.
    void* object(std::size_t n, std::size_t align) noexcept;
    void free_object(void* p) noexcept;

    /// The user's memory: whole pages, zeroed, not committed, not touched; but little that was given back lately has its pages still, on
    /// whatever node those are, and in no report meanwhile. Throws mpt::error(no_memory) with the numbers when
    /// n exceeds the slice or the headroom.
    /// `elsewhere`: of them will have pages that are laid over them.
    std::span<std::byte> allocate(std::size_t n, purpose what = purpose::allocated, std::uint64_t elsewhere = 0);
    /// The same, placed: aligned to the wish's pages, and of whole ones; of the system's huge pages while there are any, which are not
    /// touched unless they are to be of some nodes. Throws mpt::error(no_memory) where a mandatory kind is not there, too.
    std::span<std::byte> allocate(std::size_t n, wish const& w, purpose what = purpose::allocated);
    /// What a placed allocation that begins there has become; nothing for others.
    std::optional<outcome> placed_as(void const* p) const;
    /// What library memory lacks of its wish: sentences, or empty.
    std::string internal_lacks() const;
    void deallocate(std::span<std::byte> s) noexcept;

    /// Reserves huge pages to be laid over memory that allocate() gave (arena::lay_pages): where in the slice they begin; nothing where
    /// there are too few. n: whole pages.
    std::optional<std::uint64_t> take_pages(std::uint64_t n) noexcept;
    void give_pages(std::uint64_t at, std::uint64_t n) noexcept;

    /// For who was refused an extent: what was asked for, what is free, and the limit. A sentence without its full stop.
    std::string why_refused() const;

    bool contains(void const* p, std::size_t n) const noexcept;
    reference refer(void const* p) const noexcept; // p must lie in the slice
    std::span<std::byte> whole() const noexcept;
    std::uint64_t used() const noexcept;
    /// Bytes by use, now and at most.
    struct share {
        std::uint64_t now = 0, most = 0;
        void add(std::uint64_t n) noexcept { now += n, most = std::max(most, now); }
        void less(std::uint64_t n) noexcept { now -= n; }
    };
    struct shares {
        share library, user;              // committed; handed out
        std::array<share, purposes> of{}; // what was handed out, by purpose
        share const& operator[](purpose p) const noexcept { return of[static_cast<std::size_t>(p)]; }
    };
    shares by_use() const noexcept;
    /// What stands behind them now, as this process sees it. Takes a system call for each two megabytes.
    struct standings {
        standing library, user;
    };
    standings look() const;
    /// From here on the heap also looks whenever the user's memory is given back, and look() tells of the moment when most was touched.
    void watch() noexcept;
    /// Such a look, for who changes what stands behind the user's memory.
    void look_again() noexcept;

private:
    [[noreturn]] static void refuse(std::size_t bytes, std::string_view what);
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace mpt::inline v0::mem
