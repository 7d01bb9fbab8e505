// The owner's side of a slice (mem/arena.hpp): runs of pages, library extents, small objects.
//
//        0                   huge                                                       huge + bytes
//        +------+------------+---------+---------+----- free -----+--------+------+-------------+
//        | free | user, huge | extents | extents |                | user   | free | user        |
//        +------+------------+---------+---------+----------------+--------+------+-------------+
//          best fit            library, lowest fit                  user, best fit, from the top
#include <mpt/core/error.hpp>
#include <mpt/mem/arena.hpp>

#include "arena_system.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <vector>

#include <boost/interprocess/managed_external_buffer.hpp>
#include <fmt/format.h>
#include <sys/mman.h>

namespace mpt::inline v0::mem {
namespace {
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t chunk = 128 << 10;      // what the library commits at once, where there is room
constexpr std::uint64_t object_pool = 64 << 10; // first extent for small objects; later ones double
// A look at what is free reads half a dozen files. origin: MPI_Alloc_mem of 8 KiB 110 us with one each time, AMD EPYC guest
constexpr std::chrono::milliseconds freshness{10};
// User memory that was given back and keeps its pages: to take those from the system again is a fault for each. So much of it, in so many
// runs, none larger than what is zeroed sooner than a page of it is had. origin: AMD EPYC guest: MPI_Alloc_mem of 8 KiB, a byte written,
// MPI_Free_mem 10.7 us by pages that go and come
constexpr std::uint64_t most_kept = 1 << 20, largest_kept = 128 << 10;
constexpr std::size_t runs_kept = 16;

constexpr std::uint64_t up(std::uint64_t n, std::uint64_t to) noexcept { return (n + to - 1) / to * to; }

/// Free and used runs of a range. All metadata lies outside of it. May throw bad_alloc: taking then changes nothing,
/// and a run that was given is lost.
class page_runs {
    std::map<std::uint64_t, std::uint64_t> free_;               // start -> size
    std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_; // (size, start)

    void insert(std::uint64_t start, std::uint64_t n) {
        auto const it = free_.emplace(start, n).first;
        try {
            by_size_.emplace(n, start);
        } catch (...) {
            free_.erase(it);
            throw;
        }
    }
    void erase(std::map<std::uint64_t, std::uint64_t>::iterator run) {
        by_size_.erase({run->second, run->first});
        free_.erase(run);
    }
    /// Cuts n bytes off a run, from its low or its high end. Reuses the run's nodes: cannot fail.
    std::uint64_t cut(std::map<std::uint64_t, std::uint64_t>::iterator run, std::uint64_t n, bool low) {
        auto const [start, size] = *run;
        auto node = free_.extract(run);
        auto key = by_size_.extract({size, start});
        if (size > n) {
            node.key() = low ? start + n : start;
            node.mapped() = size - n;
            key.value() = {size - n, node.key()};
            free_.insert(std::move(node));
            by_size_.insert(std::move(key));
        }
        return low ? start : start + size - n;
    }

public:
    static constexpr std::uint64_t none = ~0ull;

    page_runs(std::uint64_t start, std::uint64_t n) {
        if (n != 0) insert(start, n);
    }

    /// Best fit, from the high end.
    std::uint64_t take(std::uint64_t n) {
        auto const best = by_size_.lower_bound({n, 0});
        return best == by_size_.end() ? none : cut(free_.find(best->second), n, false);
    }
    /// The lowest place that fits.
    std::uint64_t take_low(std::uint64_t n) {
        for (auto run = free_.begin(); run != free_.end(); ++run)
            if (run->second >= n) return cut(run, n, true);
        return none;
    }
    /// Takes a run back and joins it with its neighbours.
    void give(std::uint64_t start, std::uint64_t n) {
        auto const after = free_.lower_bound(start);
        if (after != free_.begin())
            if (auto const before = std::prev(after); before->first + before->second == start) {
                start = before->first;
                n += before->second;
                erase(before);
            }
        if (after != free_.end() && after->first == start + n) {
            n += after->second;
            erase(after);
        }
        insert(start, n);
    }
    std::uint64_t largest() const noexcept { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }
};

namespace bi = boost::interprocess;
/// A heap of small objects in one extent; one owner, so no mutex.
using object_heap = bi::basic_managed_external_buffer<char, bi::rbtree_best_fit<bi::null_mutex_family>, bi::iset_index>;

struct pool {
    std::span<std::byte> where;
    object_heap heap;
    pool(std::span<std::byte> s) : where{s}, heap{bi::create_only, s.data(), s.size()} {}
    bool holds(void const* p) const noexcept { return p >= where.data() && p < where.data() + where.size(); }
};
} // namespace

struct slice_heap::impl {
    std::mutex turn; // lanes grow under their own locks, and the user allocates under none
    std::shared_ptr<arena> where;
    rank owner;
    std::span<std::byte> all;
    std::string_view limited_by;
    std::uint64_t huge; // bytes of huge pages, with which the slice begins
    page_runs runs, pages;
    struct block {
        std::uint64_t size;
        purpose what;
    };
    std::map<std::uint64_t, block> user; // by offset: what allocate() handed out
    struct kept_run {
        std::uint64_t at, n;
    };
    std::vector<kept_run> kept; // given back last, latest last
    std::uint64_t bytes_kept = 0;
    std::span<std::byte> open{}; // committed, not handed out yet
    std::vector<std::unique_ptr<pool>> pools;
    shares use;
    wish internal; // of library memory
    offer here;    // looked up where that is not plain
    std::string internal_lacks;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> library; // offset, size of committed runs
    std::map<std::uint64_t, outcome> placed;                      // of what allocate() placed
    std::uint64_t refused = 0;                                    // bytes of the last extent that there was no room for
    bool watches = false;                                         // what is touched, whenever memory is given back
    standing most_touched;
    bool discards = true;                           // false once the system refused to take pages back
    std::chrono::steady_clock::time_point looked{}; // at what is free,
    std::uint64_t unlooked = 0;                     // and how much of that may be handed out without another look

    impl(std::shared_ptr<arena> w, rank o, std::span<std::byte> s, std::string_view by)
        : where{std::move(w)}, owner{o}, all{s}, limited_by{by}, huge{where->huge_part()}, runs{huge, s.size() - huge},
          pages{0, huge} {
        kept.reserve(runs_kept);
    }

    std::uint64_t offset(void const* p) const noexcept {
        return static_cast<std::uint64_t>(static_cast<std::byte const*>(p) - all.data());
    }

    std::span<std::byte> zeroed(std::span<std::byte> s) const noexcept {
        if (!discards) std::memset(s.data(), 0, s.size()); // pages that nobody took back still hold old bytes
        return s;
    }
    bool commit(std::uint64_t at, std::uint64_t n) {
        if (where->commit(owner, at, n) == status::ok) return true;
        if (kept.empty()) return false;
        release_all_kept();
        return where->commit(owner, at, n) == status::ok;
    }
    /// A committed run for the library, or empty.
    std::span<std::byte> committed(std::uint64_t n) {
        auto at = runs.take_low(n);
        if (at == page_runs::none && !kept.empty()) release_all_kept(), at = runs.take_low(n);
        if (at == page_runs::none) return {};
        if (!internal.is_plain()) { // before the pages are there
            auto const is = place(all.subspan(at, n), internal, here);
            if (internal_lacks.empty()) internal_lacks = is.lacks;
        }
        if (!commit(at, n)) {
            runs.give(at, n);
            return {};
        }
        use.library.add(n);
        if (!library.empty() && library.back().first + library.back().second == at) library.back().second += n;
        else library.emplace_back(at, n);
        return zeroed(all.subspan(at, n));
    }
    share& share_of(purpose what) noexcept { return use.of[static_cast<std::size_t>(what)]; }
    void hand_out(std::uint64_t at, std::uint64_t n, purpose what) {
        user.emplace(at, block{n, what});
        use.user.add(n);
        share_of(what).add(n);
    }
    std::span<std::byte> carve(std::size_t n, std::size_t align) noexcept {
        auto const skip = up(offset(open.data()), align) - offset(open.data());
        if (open.empty() || skip + n > open.size()) return {};
        auto const s = open.subspan(skip, n);
        open = open.subspan(skip + n);
        return s;
    }
    std::span<std::byte> extent(std::size_t n, std::size_t align) {
        if (n == 0 || n > all.size() || align > page) return {};
        if (auto const s = carve(n, align); !s.empty()) return s;
        auto const least = up(n, page);
        auto fresh = committed(std::max(least, chunk));
        if (fresh.empty() && least < chunk) fresh = committed(least);
        if (fresh.empty()) return {};
        auto const s = fresh.first(n);
        if (fresh.size() - n > open.size()) open = fresh.subspan(n);
        return s;
    }
    void* object(std::size_t n, std::size_t align) {
        align = std::max(align, alignof(std::max_align_t));
        for (auto const& p : pools)
            if (auto* const at = p->heap.allocate_aligned(n, align, std::nothrow)) return at;
        auto const wanted = std::max(object_pool << std::min<std::size_t>(pools.size(), 4), up(n + align + 1024, page));
        auto const s = extent(wanted, page);
        share_of(purpose::control).add(s.size());
        if (s.empty()) return nullptr;
        pools.push_back(std::make_unique<pool>(s));
        return pools.back()->heap.allocate_aligned(n, align, std::nothrow);
    }
    /// For user memory. What is asked for soon after a look, and is little of what was free then, needs none.
    bool has_room(std::uint64_t n) {
        auto const now = std::chrono::steady_clock::now();
        if (n > unlooked || now - looked > freshness) {
            auto const free = where->room().free;
            if (n > free) return false;
            looked = now, unlooked = free / 256;
        }
        unlooked -= std::min(n, unlooked);
        return true;
    }
    std::string why_not(std::uint64_t n) const {
        auto const room = where->room();
        if (n > room.free) return shortage(n, room);
        if (n <= runs.largest())
            return fmt::format("{} were asked for and were not there a moment ago, now {} are free (limit {}, {})",
                               detail::human(n), detail::human(room.free), detail::human(room.limit), room.who);
        return fmt::format("{} were asked for, but the largest free part of this rank's slice is {} (slice {}, limited by {})",
                           detail::human(n), detail::human(runs.largest()), detail::human(all.size() - huge), limited_by);
    }
    [[noreturn]] void refuse(std::uint64_t n) const { throw error{errc::no_memory, "mpt: " + why_not(n) + "."}; }
    /// Are runs for it kept when they are given back? Nobody says where those pages have to be.
    static bool keeps(purpose what) noexcept { return what == purpose::allocated || what == purpose::windows; }
    /// A run that was given back, with its pages.
    std::span<std::byte> take_kept(std::uint64_t n, purpose what) {
        auto const it = std::find_if(kept.rbegin(), kept.rend(), [n](kept_run const& k) { return k.n == n; });
        if (it == kept.rend() || !has_room(n)) return {}; // not all of its pages may be there
        auto const at = it->at;
        hand_out(at, n, what);
        kept.erase(std::next(it).base());
        bytes_kept -= n;
        auto const s = all.subspan(at, n);
        std::memset(s.data(), 0, s.size());
        return s;
    }
    void release(std::uint64_t at, std::uint64_t n) {
        if (where->discard(owner, at, n) != status::ok) discards = false;
        runs.give(at, n);
    }
    void keep(std::uint64_t at, std::uint64_t n) {
        while (!kept.empty() && (kept.size() == runs_kept || bytes_kept + n > most_kept)) release_kept(0);
        kept.push_back({at, n});
        bytes_kept += n;
    }
    void release_kept(std::size_t i) {
        auto const [at, n] = kept[i];
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
        bytes_kept -= n;
        release(at, n);
    }
    void release_all_kept() {
        while (!kept.empty()) release_kept(kept.size() - 1);
    }
    /// A run at a multiple of align in this process's view; of: runs of pages of that size.
    std::uint64_t take_aligned(page_runs& from, std::uint64_t n, std::uint64_t align, std::uint64_t of = page) {
        auto const more = align > of ? align - of : 0;
        if (n > ~std::uint64_t{0} - more) return page_runs::none;
        auto const at = from.take(n + more);
        if (at == page_runs::none || more == 0) return at;
        auto const base = reinterpret_cast<std::uintptr_t>(all.data());
        auto const fits = up(base + at, align) - base;
        if (fits != at) from.give(at, fits - at);
        if (auto const left = at + more - fits; left != 0) from.give(fits + n, left);
        return fits;
    }
    std::span<std::byte> allocate(std::uint64_t n, purpose what, std::uint64_t align = page, std::uint64_t elsewhere = 0) {
        auto const needed = n - std::min(n, elsewhere);
        if (!has_room(needed)) {
            release_all_kept();
            if (!has_room(needed)) refuse(needed);
        }
        auto at = take_aligned(runs, n, align);
        if (at == page_runs::none && !kept.empty()) release_all_kept(), at = take_aligned(runs, n, align);
        if (at == page_runs::none) refuse(n);
        try {
            if (where->may_bus_error() && !commit(at, n)) refuse(n);
            hand_out(at, n, what);
        } catch (...) {
            runs.give(at, n);
            throw;
        }
        return zeroed(all.subspan(at, n));
    }
    std::span<std::byte> allocate(std::uint64_t n, wish const& w, purpose what) {
        auto const around = look_around();
        if (auto const s = allocate_huge(n, w, around, what); !s.empty()) return s;
        auto const s = allocate(n, what, w.page);
        try {
            placed.emplace(offset(s.data()), place(s, w, around));
        } catch (...) {
            deallocate(s);
            throw;
        }
        return s;
    }
    std::uint64_t reserve_pages(std::uint64_t n, std::uint64_t align, arena::touches are = arena::touches::safe) {
        if (n > pages.largest()) return page_runs::none;
        auto const at = take_aligned(pages, n, align, arena::huge_page);
        if (at == page_runs::none || where->reserve(owner, at, n, are) == status::ok) return at;
        pages.give(at, n);
        return page_runs::none;
    }
    void release_pages(std::uint64_t at, std::uint64_t n) {
        if (where->release(owner, at, n) != status::ok) discards = false;
        pages.give(at, n);
    }
    /// Of the system's huge pages; empty where it has too few, in all or on the nodes that they are to be of. What binds to nodes binds
    /// this process alone, so that such pages are touched here.
    std::span<std::byte> allocate_huge(std::uint64_t n, wish const& w, offer const& around, purpose what) {
        if (w.page < arena::huge_page) return {};
        bool const is_touched = w.kind != affinity::system; // by us, below
        auto const touchable = is_touched ? detail::touchable_pages(arena::huge_page) : detail::any_number;
        if (touchable < n / arena::huge_page) return {}; // what is reserved in vain is so until the end
        auto const at = reserve_pages(n, w.page, is_touched ? arena::touches::by_caller : arena::touches::safe);
        if (at == page_runs::none) return {};
        auto const s = all.subspan(at, n);
        try {
            auto is = place(s, {.kind = w.kind, .policy = w.policy, .page = 4_KiB}, around);
            is.page = bytes{arena::huge_page}, is.pages_from = "hugetlb";
            if (is_touched && (is.lacks.empty() || touchable != detail::any_number) && !touch(s))
                return release_pages(at, n), std::span<std::byte>{};
            placed.emplace(at, std::move(is));
            hand_out(at, n, what);
        } catch (...) {
            placed.erase(at);
            release_pages(at, n);
            throw;
        }
        return zeroed(s);
    }
    /// False: there is no memory of the nodes that it is bound to, or a control group permits no more.
    static bool touch(std::span<std::byte> s) noexcept {
        constexpr int populate_write = 23; // MADV_POPULATE_WRITE, Linux 5.14; an older one leaves it to the first touch
        return ::madvise(s.data(), s.size(), populate_write) == 0 || errno == EINVAL;
    }
    standing look_at_user() const {
        standing sum;
        for (auto const& [at, b] : user) sum += look_at(all.subspan(at, b.size));
        return sum;
    }
    void look_again() {
        if (auto now = look_at_user(); now.touched > most_touched.touched) most_touched = std::move(now);
    }
    void deallocate(std::span<std::byte> s) {
        auto const run = user.find(offset(s.data()));
        if (run == user.end()) return;
        auto const at = run->first;
        auto const [n, what] = run->second;
        if (watches) look_again();
        bool const was_placed = placed.erase(at) != 0;
        if (was_placed) forget_place(s);
        use.user.less(n);
        share_of(what).less(n);
        user.erase(run);
        if (at < huge) return release_pages(at, n);
        if (n <= largest_kept && !was_placed && keeps(what)) keep(at, n);
        else release(at, n);
    }
};

std::string_view to_string(purpose p) noexcept {
    switch (p) {
    case purpose::control: return "control blocks";
    case purpose::mailboxes: return "mailboxes";
    case purpose::buffers: return "buffers";
    case purpose::collectives: return "collectives";
    case purpose::allocated: return "allocated";
    case purpose::windows: return "windows";
    case purpose::symmetric: return "symmetric heap";
    }
    return "?";
}

slice_heap::slice_heap(std::shared_ptr<arena> where, rank owner, std::uint64_t n, wish const& internal, std::string_view by) {
    if (n >= where->own_limit()) by = where->limited_by();
    auto const s = where->slice(owner, n / page * page);
    if (s.empty())
        throw error{errc::no_memory, fmt::format("mpt: rank {}'s slice of {} cannot be mapped (limited by {}).", owner.value,
                                                 detail::human(n), by)};
    impl_ = std::make_unique<impl>(std::move(where), owner, s, by);
    auto const huge = impl_->huge;
    impl_->discards = impl_->where->discard(owner, huge, s.size() - huge) == status::ok &&
                      impl_->where->discard(owner, 0, huge) == status::ok;
    impl_->internal = internal;
    if (!internal.is_plain()) impl_->here = look_around();
}
slice_heap::~slice_heap() = default;

std::span<std::byte> slice_heap::extent(std::size_t n, std::size_t align, purpose what) noexcept try {
    std::scoped_lock const hold{impl_->turn};
    auto const s = impl_->extent(n, align);
    if (s.empty()) impl_->refused = up(n, page);
    impl_->share_of(what).add(s.size());
    return s;
} catch (std::bad_alloc const&) { return {}; }

std::span<std::byte> slice_heap::spare(std::size_t n, purpose what) noexcept try {
    std::scoped_lock const hold{impl_->turn};
    if (n > std::min(impl_->runs.largest(), impl_->where->room().free) / 8) return {};
    auto const s = impl_->extent(n, line_pair);
    impl_->share_of(what).add(s.size());
    return s;
} catch (std::bad_alloc const&) { return {}; }

void slice_heap::refuse(std::size_t bytes, std::string_view what) {
    throw error{errc::no_memory, fmt::format("mpt: no shared memory is left for {} ({} bytes were asked for)", what, bytes)};
}

void* slice_heap::object(std::size_t n, std::size_t align) noexcept try {
    std::scoped_lock const hold{impl_->turn};
    return impl_->object(n, align);
} catch (...) { // bad_alloc, or Interprocess finding an extent too small
    return nullptr;
}

void slice_heap::free_object(void* p) noexcept {
    std::scoped_lock const hold{impl_->turn};
    for (auto const& pool : impl_->pools)
        if (pool->holds(p)) return pool->heap.deallocate(p);
}

std::span<std::byte> slice_heap::allocate(std::size_t n, purpose what, std::uint64_t elsewhere) {
    if (n == 0) return {};
    if (n > impl_->all.size()) n = std::max(n, n / page * page); // too large to round up
    else n = up(n, page);
    std::scoped_lock const hold{impl_->turn};
    if (elsewhere == 0 && impl::keeps(what))
        if (auto const s = impl_->take_kept(n, what); !s.empty()) return s;
    return impl_->allocate(n, what, page, elsewhere);
}

std::span<std::byte> slice_heap::allocate(std::size_t n, wish const& w, purpose what) {
    if (w.is_plain() || n == 0) return allocate(n, what);
    auto const grain = std::max<std::uint64_t>(w.page, page);
    n = n > impl_->all.size() ? n : up(n, grain);
    std::scoped_lock const hold{impl_->turn};
    return impl_->allocate(n, w, what);
}

std::optional<outcome> slice_heap::placed_as(void const* p) const {
    std::scoped_lock const hold{impl_->turn};
    auto const is = impl_->placed.find(impl_->offset(p));
    return is == impl_->placed.end() ? std::nullopt : std::optional{is->second};
}
std::string slice_heap::internal_lacks() const {
    std::scoped_lock const hold{impl_->turn};
    return impl_->internal_lacks;
}

void slice_heap::deallocate(std::span<std::byte> s) noexcept try {
    std::scoped_lock const hold{impl_->turn};
    impl_->deallocate(s);
} catch (std::bad_alloc const&) {
    // the run is lost to this heap, nothing else
}

std::optional<std::uint64_t> slice_heap::take_pages(std::uint64_t n) noexcept try {
    std::scoped_lock const hold{impl_->turn};
    auto const at = impl_->reserve_pages(n, arena::huge_page);
    return at == page_runs::none ? std::nullopt : std::optional{at};
} catch (std::bad_alloc const&) { return std::nullopt; }

void slice_heap::give_pages(std::uint64_t at, std::uint64_t n) noexcept try {
    std::scoped_lock const hold{impl_->turn};
    impl_->release_pages(at, n);
} catch (std::bad_alloc const&) {
    // as in deallocate()
}

std::string slice_heap::why_refused() const {
    std::scoped_lock const hold{impl_->turn};
    return impl_->why_not(impl_->refused);
}

bool slice_heap::contains(void const* p, std::size_t n) const noexcept {
    auto const at = reinterpret_cast<std::uintptr_t>(p), start = reinterpret_cast<std::uintptr_t>(impl_->all.data());
    return at >= start && at - start <= impl_->all.size() && n <= impl_->all.size() - (at - start);
}
reference slice_heap::refer(void const* p) const noexcept {
    return {static_cast<std::uint32_t>(impl_->owner.value), 0, impl_->offset(p)};
}
std::span<std::byte> slice_heap::whole() const noexcept { return impl_->all; }
std::uint64_t slice_heap::used() const noexcept {
    std::scoped_lock const hold{impl_->turn};
    return impl_->use.library.now + impl_->use.user.now;
}
auto slice_heap::look() const -> standings {
    std::scoped_lock const hold{impl_->turn};
    standings all;
    for (auto const& [at, n] : impl_->library) all.library += look_at(impl_->all.subspan(at, n));
    all.user = impl_->look_at_user();
    if (impl_->most_touched.touched > all.user.touched) all.user = impl_->most_touched;
    return all;
}
void slice_heap::watch() noexcept {
    std::scoped_lock const hold{impl_->turn};
    impl_->watches = true;
}
void slice_heap::look_again() noexcept try {
    std::scoped_lock const hold{impl_->turn};
    if (impl_->watches) impl_->look_again();
} catch (std::bad_alloc const&) {
    // nobody is told of it
}
auto slice_heap::by_use() const noexcept -> shares {
    std::scoped_lock const hold{impl_->turn};
    return impl_->use;
}

} // namespace mpt::inline v0::mem
