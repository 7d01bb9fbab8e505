/// mem/kinds - kinds of memory as types: the policy family of where memory comes from.
///
///        mem::ddr                       nodes of ordinary memory
///        mem::mcdram                    nodes of high bandwidth: MCDRAM, HBM (mem/offer.hpp says which, and by whom: memkind, hwloc, ...)
///        mem::cxl                       nodes of memory further away: behind CXL, persistent memory used as ordinary memory
///        mem::interleave<K>             page by page over all nodes of K
///        mem::hugepage<2_MiB>           huge pages: of the system's pools, else transparent ones; 2M and 1G are native, sizes between
///        mem::hugepage<16_MiB, mcdram>  them are several pages, and the alignment is the size; of a kind's nodes
///        mem::file<"/mnt/pmem">         a file without a name: DAX, a file system of persistent memory, a disk
///        mem::fallback<A, B>            A, else B
///        mem::mandatory<A>              A, else an error that says what there is
///
///        std::vector<double, mem::allocator<double, mem::fallback<mem::mcdram, mem::ddr>>> v;
///        mem::resource<mem::hugepage<2_MiB>> r;   std::pmr::unsynchronized_pool_resource pool{&r};
///
///   A kind gives what its name says, or nothing and the reason. What stands behind it is told by mapping::page and from; transparent
///   pages come at the first touch, if at all: look_at() (mem/place.hpp) tells.
///
///   expression    returns   meaning
///   K::page       bytes     granule and alignment of what it maps
///   K::map(n)     mapping   n bytes, a multiple of page: zeroed, untouched, of this process alone. mandatory throws mpt::error(no_memory)
///   K::unmap(r)   -         gives all of a mapping back
///   and what mem/memory.hpp has: K::shape(range) asks the same for a range of shared memory, as far as that has it
///
///   Cost     a few system calls for each mapping: for large memory, or below a pool.
///   Threads  any.
///   Tests    test/mem_kinds_test.cpp
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <new>
#include <span>
#include <string_view>

#include <mpt/core/text.hpp>
#include <mpt/mem/memory.hpp>
#include <mpt/mem/place.hpp>
#include <mpt/mem/standard.hpp>

namespace mpt::inline v0::mem {

/// What a kind has made of a request.
struct mapping {
    std::span<std::byte> range{}; // empty: nothing
    bytes page = 4_KiB;           // of the system, behind it
    std::string_view from{};      // "DDR", "MCDRAM", "CXL", "hugetlb", "transparent", "file"
    std::string_view why{};       // there is nothing
};

template <class K>
concept memory_kind = memory_policy<K> && requires(std::size_t n, std::span<std::byte> range) {
    { K::map(n) } -> std::same_as<mapping>;
    { K::unmap(range) } noexcept;
};

namespace detail {
mapping map_placed(std::size_t n, wish const& w);
mapping map_huge(std::size_t n, std::size_t page, wish const& w);
mapping map_file(std::size_t n, std::string_view folder);
void unmap(std::span<std::byte> range) noexcept;
status shape(std::span<std::byte> range, wish const& w) noexcept;
[[noreturn]] void refuse(std::string_view kind, std::size_t page, std::size_t n, std::string_view why);

/// What all kinds have in common.
struct kind_base {
    using kind = mpt::kind::memory;
    static constexpr unsigned memfd_flags = 0;
    static void unmap(std::span<std::byte> range) noexcept { detail::unmap(range); }
};
/// Base pages of some nodes.
template <affinity Nodes, strictness Policy> struct placed : kind_base {
    static constexpr bytes page = 4_KiB;
    static constexpr wish asks{.kind = Nodes, .policy = Policy, .page = page};
    static mapping map(std::size_t n) { return map_placed(n, asks); }
    static status shape(std::span<std::byte> range) noexcept { return detail::shape(range, asks); }
};
} // namespace detail

struct ddr : detail::placed<affinity::ddr, strictness::mandatory> {
    static constexpr std::string_view name = "ddr";
};
struct mcdram : detail::placed<affinity::mcdram, strictness::mandatory> {
    static constexpr std::string_view name = "mcdram";
};

struct cxl : detail::placed<affinity::cxl, strictness::mandatory> {
    static constexpr std::string_view name = "cxl";
};

template <class K = ddr> struct interleave : detail::placed<K::asks.kind, strictness::interleave> {
    static constexpr std::string_view name = "interleave";
};

/// Of: `standard` is any nodes.
template <bytes Size, class Of = standard> struct hugepage : detail::kind_base {
    static_assert(std::has_single_bit(Size.value) && Size.value >= bytes{2_MiB},
                  "mpt::mem::hugepage: the size is a power of two, and 2 MiB is the smallest huge page");
    static constexpr std::string_view name = "hugepage";
    static constexpr bytes page = Size;
    static constexpr wish asks = [] {
        wish w{.kind = affinity::system, .policy = strictness::preferred, .page = Size};
        if constexpr (requires { Of::asks; }) w.kind = Of::asks.kind, w.policy = Of::asks.policy;
        return w;
    }();
    static mapping map(std::size_t n) { return detail::map_huge(n, Size, asks); }
    static status shape(std::span<std::byte> range) noexcept { return detail::shape(range, asks); }
};

/// Bytes of a file that nobody else sees. A file system that others fill up ends the program at a touch (SIGBUS).
template <text Folder> struct file : detail::kind_base {
    static constexpr std::string_view name = "file";
    static constexpr bytes page = 4_KiB;
    static mapping map(std::size_t n) { return detail::map_file(n, Folder); }
    /// A segment is a file already.
    static status shape(std::span<std::byte> range) noexcept { return range.empty() ? status::ok : status::refused; }
};

namespace detail {
/// At a multiple of `page`, which may be more than the kind's own.
template <memory_kind K> mapping map_at(std::size_t n, std::size_t page) {
    if (page <= K::page) return K::map(n);
    auto m = K::map(n + page);
    if (m.range.empty()) return m;
    auto const skip = (page - reinterpret_cast<std::uintptr_t>(m.range.data()) % page) % page;
    K::unmap(m.range.first(skip));
    K::unmap(m.range.subspan(skip + n));
    m.range = m.range.subspan(skip, n);
    return m;
}
} // namespace detail

template <memory_kind A, memory_kind B> struct fallback : detail::kind_base {
    static constexpr std::string_view name = "fallback";
    static constexpr bytes page{std::max(A::page.value, B::page.value)};
    static mapping map(std::size_t n) {
        auto const first = detail::map_at<A>(n, page);
        return first.range.empty() ? detail::map_at<B>(n, page) : first;
    }
    static status shape(std::span<std::byte> range) noexcept {
        return A::shape(range) == status::ok ? status::ok : B::shape(range);
    }
};

template <memory_kind A> struct mandatory : detail::kind_base {
    static constexpr std::string_view name = "mandatory";
    static constexpr bytes page = A::page;
    static mapping map(std::size_t n) {
        auto const m = A::map(n);
        if (m.range.empty()) detail::refuse(A::name, A::page, n, m.why);
        return m;
    }
    static status shape(std::span<std::byte> range) noexcept { return A::shape(range); }
};

namespace detail {
/// n in whole pages of a kind. Throws std::bad_alloc.
template <memory_kind K> std::span<std::byte> take(std::size_t n, std::size_t align) {
    if (align > K::page || n > std::numeric_limits<std::size_t>::max() - K::page) throw std::bad_alloc{};
    auto const m = K::map((std::max<std::size_t>(n, 1) + K::page - 1) / K::page * K::page);
    if (m.range.empty()) throw std::bad_alloc{};
    return m.range;
}
template <memory_kind K> void give(void* p, std::size_t n) noexcept {
    K::unmap({static_cast<std::byte*>(p), (std::max<std::size_t>(n, 1) + K::page - 1) / K::page * K::page});
}
} // namespace detail

/// For containers of the standard library: each allocation is whole pages of the kind. Throws std::bad_alloc, or what K::map throws.
template <class T, memory_kind K> struct allocator {
    using value_type = T;
    template <class U> struct rebind {
        using other = allocator<U, K>;
    };
    constexpr allocator() noexcept = default;
    template <class U> constexpr allocator(allocator<U, K> const&) noexcept {}

    T* allocate(std::size_t n) {
        if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length{};
        return reinterpret_cast<T*>(detail::take<K>(n * sizeof(T), alignof(T)).data());
    }
    void deallocate(T* p, std::size_t n) noexcept { detail::give<K>(p, n * sizeof(T)); }
    template <class U> friend constexpr bool operator==(allocator, allocator<U, K> const&) noexcept { return true; }
};

/// The same as a memory resource: what std::pmr's pools take their large blocks from.
template <memory_kind K> class resource : public std::pmr::memory_resource {
    void* do_allocate(std::size_t n, std::size_t align) override { return detail::take<K>(n, align).data(); }
    void do_deallocate(void* p, std::size_t n, std::size_t) override { detail::give<K>(p, n); }
    bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
        return dynamic_cast<resource const*>(&other) != nullptr;
    }
};

} // namespace mpt::inline v0::mem
