/// coll/pieces - what a collective's data are: one piece for each rank, named by whoever calls, and scratch memory.
///
///        by_rank<sink>     piece(r) is where rank r's data go                   gather, alltoall
///        by_rank<source>   piece(r) is what rank r gets                         scatter, alltoall
///        by_rank<place>    a place that is written and read again               allgather, alltoall in place
///
///   Pieces of equal size, of sizes by rank, of types by rank (MPI's plain, v and w forms) are then one algorithm: a piece knows
///   its size and its layout. The pieces are asked for when they are needed, so no table as long as the communicator is made.
///   An argument std::optional<source> or <sink> that holds nothing stands for MPI_IN_PLACE: the own piece is, or stays, where
///   the pieces say.
///
///   Limit   by_rank refers to the callable it is made of, and a cursor of a layout to that layout: both outlive the collective.
///   Tests   test/coll_pieces_test.cpp
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include <mpt/core/cursor.hpp>
#include <mpt/core/error.hpp>

namespace mpt::inline v0::coll {

/// No piece of one's own: MPI_IN_PLACE.
inline constexpr std::nullopt_t in_place = std::nullopt;

/// Memory that is written and read again.
struct place {
    source out;
    sink in;

    constexpr place() = default;
    constexpr place(source const& reading, sink const& writing) noexcept : out{reading}, in{writing} {}
    constexpr place(std::span<std::byte> bytes) noexcept : out{bytes.data(), bytes.size()}, in{bytes} {}
    constexpr operator source() const noexcept { return out; }
    constexpr operator sink() const noexcept { return in; }
};

/// A value for each rank, made when it is asked for: two words that refer to a callable.
template <class T> class by_rank {
    void const* what_ = nullptr;
    T (*at_)(void const* what, std::int32_t r) = nullptr;

public:
    constexpr by_rank() = default;
    template <class F>
        requires(!std::is_same_v<F, by_rank> && std::is_invocable_r_v<T, F const&, std::int32_t>)
    by_rank(F const& f) noexcept
        : what_{std::addressof(f)},
          at_{[](void const* what, std::int32_t r) -> T { return (*static_cast<F const*>(what))(r); }} {}

    T operator()(std::int32_t r) const { return at_(what_, r); }
};

/// Equal pieces that lie side by side.
struct blocks {
    std::span<std::byte> all;
    std::size_t size;
    place operator()(std::int32_t r) const noexcept { return {all.subspan(static_cast<std::size_t>(r) * size, size)}; }
};
struct const_blocks {
    std::span<std::byte const> all;
    std::size_t size;
    source operator()(std::int32_t r) const noexcept { return {all.subspan(static_cast<std::size_t>(r) * size, size)}; }
};

/// Bytes for the time of a collective: its own, of which few lie in the object, or a schedule's. It stays where it is.
/// origin: scan of 8 bytes, 2 ranks, AMD EPYC, Zen 4: its work buffers from new / so, 103 / 85 ns
class scratch {
    static constexpr std::size_t few = 256;
    std::unique_ptr<std::byte[]> own_;
    std::byte* at_ = nullptr; // nullptr: here_, or nowhere where there is nothing
    std::size_t size_;
    alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) mutable std::array<std::byte, few> here_;

public:
    scratch(scratch const&) = delete;
    explicit scratch(std::size_t n) try
        : own_{n > few ? std::make_unique_for_overwrite<std::byte[]>(n) : nullptr}, at_{own_.get()}, size_{n} {
    } catch (std::bad_alloc const&) {
        throw error{errc::no_memory, "mpt: no memory for the " + std::to_string(n) + " bytes that a collective needs"};
    }
    /// Memory of somebody's who keeps it as long.
    explicit scratch(std::span<std::byte> bytes) noexcept : at_{bytes.data()}, size_{bytes.size()} {}
    std::byte* data() const noexcept { return at_ || size_ == 0 ? at_ : here_.data(); }
    std::span<std::byte> all() const noexcept { return {data(), size_}; }
    std::span<std::byte> part(std::size_t first, std::size_t n) const noexcept { return all().subspan(first, n); }
};

} // namespace mpt::inline v0::coll
