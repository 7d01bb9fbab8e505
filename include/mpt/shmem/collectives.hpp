/// shmem/collectives - what the PEs of a team do together, on bytes and on ranges of elements: the algorithms are those of coll/, as for
/// MPI. OpenSHMEM-1.6 section 9.10.
///
///        sync          nobody goes on before all have come (job::barrier_all completes what is under way, besides)
///        broadcast     the root's source in everybody's dest, its own too; of an active set, its own dest is left as it is
///        fcollect      each one's n bytes, in order       collect     pieces of different sizes, in order
///        alltoall      piece p of each goes to PE p       alltoalls   the same of elements in strides
///        alltoallv     pieces of any sizes and places,    packed      what comes stands side by side, in order
///                      their sizes told
///        reduce        each element combined over all     scan        over those up to here, or before here
///
///   dest is this PE's own; so a PE that returns may use its own, and sources are its own again. source and dest do not overlap, or are
///   the same in reduce and scan. Both may be anywhere, but a dest in the symmetric heap is so on all PEs alike, and theirs may be
///   written from the first call on: large pieces of alltoall go there by stores.
///
///        reduce(pe.world(), sums, numbers, std::plus{});        broadcast(pe.world(), dest, source, root);        (at the end)
///
///   Over ranges their sizes say how much; elements are of any trivially copyable type, and so are those that an operation combines.
///   Tests    test/shmem_collectives_test.cpp
#pragma once
#include <numeric>

#include <mpt/coll/allreduce.hpp>
#include <mpt/coll/alltoall.hpp>
#include <mpt/coll/scan.hpp>
#include <mpt/datatype/datatype.hpp>
#include <mpt/datatype/operation.hpp>
#include <mpt/datatype/typed.hpp>
#include <mpt/mpi/operations.hpp>
#include <mpt/mpi/sendable.hpp>
#include <mpt/shmem/memory.hpp>
#include <mpt/shmem/team.hpp>

namespace mpt::inline v0::shmem {

namespace detail {
inline std::span<std::byte> room(void* at, std::size_t n) noexcept { return {static_cast<std::byte*>(at), n}; }
inline std::span<std::byte const> data(void const* at, std::size_t n) noexcept {
    return {static_cast<std::byte const*>(at), n};
}

/// The operation on elements of a kind, as collectives want it. Throws mpt::error(argument) where it is not defined.
class reduction_of {
    kernel combine_;
    merger merge_; // may be missing
    std::size_t size_;

public:
    reduction_of(operation op, element_kind kind)
        : combine_{find_kernel(op, kind)}, merge_{find_merger(op, kind)}, size_{facts(kind).size} {
        if (!combine_)
            throw error{errc::argument, "mpt: this reduction is not defined on elements of " +
                                            std::string{facts(kind).name.substr(4)}}; // without MPI_
    }
    std::size_t size() const noexcept { return size_; }
    coll::operand operand() noexcept {
        coll::operand::merger const merge = [](void* f, std::byte const* left, std::byte const* right, std::byte* result,
                                               std::size_t n) {
            static_cast<reduction_of*>(f)->merge_(left, right, result, n);
        };
        return coll::operand::array(
            size_, true, this,
            [](void* f, std::byte const* left, std::byte* right, std::size_t n) {
                static_cast<reduction_of*>(f)->combine_(left, right, n);
            },
            merge_ ? merge : nullptr);
    }
};
} // namespace detail

template <class Stack> void sync(team<Stack>& t) { coll::barrier(t.native()); }

/// is_set: of an active set, where the root's dest is not written. Throws mpt::error(rank_range) where the root is no PE of the team.
template <class Stack>
void broadcast(team<Stack>& t, void* dest, void const* source, std::size_t n, rank root, bool is_set = false) {
    if (!t.has(root))
        throw error{errc::rank_range, "mpt: broadcast: the root is " + std::to_string(root.value) + "; allowed: 0 to " +
                                          std::to_string(t.size() - 1)};
    bool const mine = t.me() == root;
    auto* const at = static_cast<std::byte*>(mine ? const_cast<void*>(source) : dest); // of the root it is read only
    coll::broadcast(t.native(), coll::place{std::span{at, n}}, root);
    if (mine && !is_set && dest != source) copy_bytes(static_cast<std::byte*>(dest), static_cast<std::byte const*>(source), n);
}

template <class Stack> void fcollect(team<Stack>& t, void* dest, void const* source, std::size_t n) {
    auto const all = detail::room(dest, n * static_cast<std::size_t>(t.size()));
    coll::allgather(t.native(), mpt::source{source, n}, coll::blocks{all, n});
}

namespace detail {
/// How many bytes that were. Throws mpt::error(truncate), before anything moves, where they are more than dest has.
template <class Stack>
std::size_t collect_into(team<Stack>& t, void* dest, std::size_t room, void const* source, std::size_t n) {
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(t.size())), ends(sizes.size());
    std::uint64_t const mine = n;
    fcollect(t, sizes.data(), &mine, sizeof mine);
    std::inclusive_scan(sizes.begin(), sizes.end(), ends.begin());
    if (ends.back() > room)
        throw error{errc::truncate, "mpt: collect: " + std::to_string(ends.back()) + " bytes come, and dest has room for " +
                                        std::to_string(room)};
    auto const piece = [&](std::int32_t pe) -> coll::place {
        auto const p = static_cast<std::size_t>(pe);
        return {detail::room(static_cast<std::byte*>(dest) + (ends[p] - sizes[p]), sizes[p])};
    };
    coll::allgather(t.native(), mpt::source{source, n}, piece);
    return ends.back();
}
} // namespace detail
/// room: dest's bytes, where they are known. Throws mpt::error(truncate), before anything moves, where more come.
template <class Stack>
void collect(team<Stack>& t, void* dest, void const* source, std::size_t n, std::size_t room = ~std::size_t{0}) {
    detail::collect_into(t, dest, room, source, n);
}

namespace detail {
/// Pieces from here on cross memory once, straight to their place. origin: bench/peers/shmem_bench.c, 2 to 8 PEs on two cores
inline constexpr std::size_t direct_piece = 8_KiB;

template <class Stack> bool alltoall_directly(team<Stack>& t, void* dest, void const* source, std::size_t n) {
    auto* const memory = t.memory();
    if (n < direct_piece || !memory || !memory->is_direct(dest)) return false;
    auto const mine = static_cast<std::size_t>(t.me().value) * n;
    for (std::int32_t k = 0; k < t.size(); ++k) { // everybody begins at another
        auto const pe = (t.me().value + k) % t.size();
        copy_bytes(memory->at(dest, t.world(pe)) + mine,
                   static_cast<std::byte const*>(source) + static_cast<std::size_t>(pe) * n, n);
    }
    memory->fence();
    coll::barrier(t.native());
    return true;
}
} // namespace detail

template <class Stack> void alltoall(team<Stack>& t, void* dest, void const* source, std::size_t n) {
    if (detail::alltoall_directly(t, dest, source, n)) return;
    auto const all = n * static_cast<std::size_t>(t.size());
    coll::const_blocks const from{detail::data(source, all), n};
    coll::blocks const into{detail::room(dest, all), n};
    coll::alltoall(t.native(), from, [&](std::int32_t pe) -> sink { return into(pe); });
}

/// n elements of `width` bytes for each PE; they stand `there` elements apart in dest, `here` in source.
template <class Stack> void alltoalls(team<Stack>& t, void* dest, void const* source, std::ptrdiff_t there, std::ptrdiff_t here,
                                      std::size_t n, std::size_t width) {
    auto const spread = [&](std::ptrdiff_t step) {
        auto const bytes = static_cast<std::int64_t>(width);
        return datatype::hvector(static_cast<std::int64_t>(n), bytes, step * bytes, datatype::named(element_kind::byte));
    };
    auto const into = spread(there), from = spread(here);
    auto const of_pe = [&](std::int32_t pe, std::ptrdiff_t step) { return pe * step * static_cast<std::ptrdiff_t>(n * width); };
    std::vector<typed_source> out;
    std::vector<typed_sink> in;
    for (std::int32_t pe = 0; pe < t.size(); ++pe) {
        out.emplace_back(static_cast<std::byte const*>(source) + of_pe(pe, here), 1, from);
        in.emplace_back(static_cast<std::byte*>(dest) + of_pe(pe, there), 1, into);
    }
    coll::alltoall(
        t.native(), [&](std::int32_t pe) { return mpt::source::of(out[static_cast<std::size_t>(pe)]); },
        [&](std::int32_t pe) { return sink::of(in[static_cast<std::size_t>(pe)]); });
}

namespace detail {
/// The sizes of what comes are known.
template <class Stack> void alltoallv_sized(team<Stack>& t, void* dest, std::size_t const* offsets, std::size_t const* sizes,
                                            void const* source, std::size_t const* source_offsets,
                                            std::size_t const* source_sizes) {
    coll::alltoallv(
        t.native(),
        [&](std::int32_t pe) {
            return mpt::source{static_cast<std::byte const*>(source) + source_offsets[pe], source_sizes[pe]};
        },
        [&](std::int32_t pe) {
            return sink{static_cast<std::byte*>(dest) + offsets[pe], sizes[pe]};
        });
}
} // namespace detail

/// Offsets and sizes in bytes, by PE; `sizes` are told: of what came. Cray's extension.
template <class Stack> void alltoallv(team<Stack>& t, void* dest, std::size_t const* offsets, std::size_t* sizes,
                                      void const* source, std::size_t const* source_offsets, std::size_t const* source_sizes) {
    alltoall(t, sizes, source_sizes, sizeof(std::size_t));
    detail::alltoallv_sized(t, dest, offsets, sizes, source, source_offsets, source_sizes);
}

/// What comes stands in the order of the PEs; how many bytes that were. Throws mpt::error(truncate), before anything moves, where
/// they are more than dest has. Cray's extension.
template <class Stack> std::size_t alltoallv_packed(team<Stack>& t, void* dest, std::size_t room, void const* source,
                                                    std::size_t const* source_offsets, std::size_t const* source_sizes) {
    std::vector<std::size_t> sizes(static_cast<std::size_t>(t.size())), offsets(sizes.size());
    alltoall(t, sizes.data(), source_sizes, sizeof(std::size_t));
    std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), std::size_t{0});
    auto const all = offsets.back() + sizes.back();
    if (all > room)
        throw error{errc::truncate, "mpt: alltoallv_packed: " + std::to_string(all) + " bytes come, and there is room for " +
                                        std::to_string(room)};
    detail::alltoallv_sized(t, dest, offsets.data(), sizes.data(), source, source_offsets, source_sizes);
    return all;
}

/// n elements of a kind. Throws mpt::error(argument) where the operation is not defined on them.
template <class Stack>
void reduce(team<Stack>& t, void* dest, void const* source, std::size_t n, operation op, element_kind kind) {
    detail::reduction_of how{op, kind};
    auto const* const mine = source == dest ? nullptr : static_cast<std::byte const*>(source);
    coll::allreduce(t.reducing(), how.operand(), mine, static_cast<std::byte*>(dest), n);
}

enum class scan_kind : std::uint8_t { inclusive, exclusive };

/// The sums up to here; exclusive: without our own, zeroes at the first PE.
template <class Stack>
void scan(team<Stack>& t, void* dest, void const* source, std::size_t n, scan_kind which, element_kind kind) {
    detail::reduction_of how{operation::sum, kind};
    auto const* const mine = source == dest ? nullptr : static_cast<std::byte const*>(source);
    auto* const into = static_cast<std::byte*>(dest);
    if (which == scan_kind::inclusive) return coll::scan(t.native(), how.operand(), mine, into, n);
    coll::exscan(t.native(), how.operand(), mine, into, n);
    if (t.me() == 0) std::memset(dest, 0, n * how.size());
}

// --- over ranges. Throw mpt::error(argument), before anything moves, where dest has less room than comes -----------------------------

namespace detail {
template <class Dest, class Source>
concept same_elements = element_range<Dest> && element_range<Source> && // written, and read
                        std::same_as<std::ranges::range_reference_t<Dest>, std::ranges::range_value_t<Source>&>;

inline void must_have(char const* call, std::size_t has, std::size_t needs, char const* which = "dest") {
    if (has < needs)
        throw error{errc::argument, "mpt: " + std::string{call} + ": " + which + " has " + std::to_string(has) +
                                        " elements, and needs " + std::to_string(needs)};
}
/// The elements between the first and the last of n in strides, both included.
inline std::size_t reach(std::size_t n, std::ptrdiff_t stride) noexcept {
    return n == 0 ? 0 : (n - 1) * static_cast<std::size_t>(stride) + 1;
}
template <class Stack> std::size_t count(team<Stack>& t) noexcept { return static_cast<std::size_t>(t.size()); }
template <class R> std::size_t size_of(R const& r) noexcept {
    return std::ranges::size(r) * sizeof(std::ranges::range_value_t<R>);
}
} // namespace detail

/// Of all PEs the source has as many elements.
template <class Stack, class Dest, class Source>
    requires detail::same_elements<Dest, Source>
void broadcast(team<Stack>& t, Dest&& dest, Source const& source, rank root) {
    detail::must_have("broadcast", std::ranges::size(dest), std::ranges::size(source));
    broadcast(t, std::ranges::data(dest), std::ranges::data(source), detail::size_of(source), root);
}
template <class Stack, class Dest, class Source>
    requires detail::same_elements<Dest, Source>
void fcollect(team<Stack>& t, Dest&& dest, Source const& source) {
    detail::must_have("fcollect", std::ranges::size(dest), std::ranges::size(source) * detail::count(t));
    fcollect(t, std::ranges::data(dest), std::ranges::data(source), detail::size_of(source));
}
/// How many elements came. Throws mpt::error(truncate), before they do, where dest has not so many.
template <class Stack, class Dest, class Source>
    requires detail::same_elements<Dest, Source>
std::size_t collect(team<Stack>& t, Dest&& dest, Source const& source) {
    auto const came = detail::collect_into(t, std::ranges::data(dest), detail::size_of(dest), std::ranges::data(source),
                                           detail::size_of(source));
    return came / sizeof(std::ranges::range_value_t<Source>);
}
/// Equal pieces of the source, one for each PE.
template <class Stack, class Dest, class Source>
    requires detail::same_elements<Dest, Source>
void alltoall(team<Stack>& t, Dest&& dest, Source const& source) {
    if (std::ranges::size(source) % detail::count(t) != 0)
        throw error{errc::argument, "mpt: alltoall: " + std::to_string(std::ranges::size(source)) +
                                        " elements are not as many for each of " + std::to_string(t.size()) + " PEs"};
    detail::must_have("alltoall", std::ranges::size(dest), std::ranges::size(source));
    alltoall(t, std::ranges::data(dest), std::ranges::data(source), detail::size_of(source) / detail::count(t));
}
/// n elements for each PE.
template <class Stack, class Dest, class Source>
    requires detail::same_elements<Dest, Source>
void alltoalls(team<Stack>& t, Dest&& dest, Source const& source, std::ptrdiff_t there, std::ptrdiff_t here, std::size_t n) {
    detail::must_have("alltoalls", std::ranges::size(dest), detail::reach(n * detail::count(t), there));
    detail::must_have("alltoalls", std::ranges::size(source), detail::reach(n * detail::count(t), here), "source");
    alltoalls(t, std::ranges::data(dest), std::ranges::data(source), there, here, n,
              sizeof(std::ranges::range_value_t<Source>));
}

/// op(left, right) of two elements, which keeps the order of the PEs unless it is known to commute (mpi/operations.hpp).
template <class Stack, class Dest, class Source, class Op>
    requires detail::same_elements<Dest, Source>
void reduce(team<Stack>& t, Dest&& dest, Source const& source, Op op) {
    using T = std::ranges::range_value_t<Source>;
    auto const n = std::ranges::size(source);
    detail::must_have("reduce", std::ranges::size(dest), n);
    T* const into = std::ranges::data(dest);
    T const* const from = std::ranges::data(source);
    constexpr auto known = mpt::detail::operation_of<Op>;
    constexpr auto kind = mpt::detail::number_kind<T>();
    if constexpr (known != operation::no_op && kind != element_kind::mixed)
        if (find_kernel(known, kind)) return reduce(t, into, from, n, known, kind);
    auto const how = coll::operand::array(sizeof(T), commutes_v<Op, T>, std::addressof(op),
                                          [](void* f, std::byte const* left, std::byte* right, std::size_t m) {
                                              std::span const both{right, m * sizeof(T)};
                                              mpt::detail::combine<T>({left, m * sizeof(T)}, both, both, *static_cast<Op*>(f));
                                          });
    coll::allreduce(t.reducing(), how, into == from ? nullptr : reinterpret_cast<std::byte const*>(from),
                    reinterpret_cast<std::byte*>(into), n);
}
template <class Stack, class Dest, class Source>
    requires detail::same_elements<Dest, Source>
void scan(team<Stack>& t, Dest&& dest, Source const& source, scan_kind which) {
    using T = std::ranges::range_value_t<Source>;
    static_assert(mpt::detail::number_kind<T>() != element_kind::mixed, "mpt::shmem::scan: these elements are no numbers");
    detail::must_have("scan", std::ranges::size(dest), std::ranges::size(source));
    scan(t, std::ranges::data(dest), std::ranges::data(source), std::ranges::size(source), which,
         mpt::detail::number_kind<T>());
}

} // namespace mpt::inline v0::shmem
