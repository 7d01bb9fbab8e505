/// datatype/typed - a buffer of datatypes as what protocols move: packed bytes that can be read or written from any offset.
///
///        MPI_Send(buffer, count, type)      typed_source{buffer, count, type}      mpt::source::of(it)      packed into the cell
///
///   Made once per operation. Data in one piece is a pointer and a size, as if there were no datatype.
///
///   Memory  keeps the type: it may be freed by the user while the operation goes on. The buffer may be null where displacements
///           are addresses.
///   Cost    read and write: see datatype/layout.hpp. Nothing is allocated (a type that nobody committed is committed here).
///   Limit   a sink whose type has overlapping places is written in order, where MPI leaves the result open.
///   Tests   test/datatype_typed_test.cpp
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <mpt/core/cursor.hpp>
#include <mpt/datatype/layout.hpp>

namespace mpt::inline v0 {

namespace detail {
/// What sources and sinks have in common.
class typed_data {
    datatype type_;
    std::uintptr_t memory_ = 0;
    step all_;
    bool one_run_ = true;

protected:
    typed_data(std::uintptr_t memory, std::int64_t count, datatype const& type);

    std::uintptr_t memory() const noexcept { return memory_; }
    step const& all() const noexcept { return all_; }
    bool one_run() const noexcept { return one_run_; }
    std::byte* first() const noexcept {
        return reinterpret_cast<std::byte*>(memory_ + static_cast<std::uintptr_t>(all_.at)); // of one run
    }

public:
    std::size_t size() const noexcept { return static_cast<std::size_t>(all_.size); }
    /// The runs of the packed bytes from `offset` on: at most `most` bytes, and as many runs as fit.
    listed_runs list(std::size_t offset, std::size_t most, std::span<memory_run> into) const noexcept;
    /// All of them, where they are of one length at one distance.
    std::optional<regular_runs> regular() const noexcept {
        if (all_.shape != step::form::strided) return std::nullopt;
        return regular_runs{memory_ + static_cast<std::uintptr_t>(all_.at), static_cast<std::uint64_t>(all_.length),
                            all_.stride, static_cast<std::uint64_t>(all_.count)};
    }
};
} // namespace detail

class typed_source : public detail::typed_data {
public:
    typed_source(void const* buffer, std::int64_t count, datatype const& type)
        : typed_data{reinterpret_cast<std::uintptr_t>(buffer), count, type} {}

    void read(std::size_t offset, std::span<std::byte> into) const noexcept {
        MPT_ASSERT(cheap, offset <= size() && into.size() <= size() - offset);
        detail::gather(all(), memory(), static_cast<std::int64_t>(offset), into);
    }
    std::optional<std::span<std::byte const>> contiguous() const noexcept {
        if (!one_run()) return std::nullopt;
        return std::span<std::byte const>{first(), size()};
    }
};
static_assert(byte_source<typed_source>);

class typed_sink : public detail::typed_data {
public:
    typed_sink(void* buffer, std::int64_t count, datatype const& type)
        : typed_data{reinterpret_cast<std::uintptr_t>(buffer), count, type} {}

    void write(std::size_t offset, std::span<std::byte const> from) const noexcept {
        MPT_ASSERT(cheap, offset <= size() && from.size() <= size() - offset);
        detail::scatter(all(), memory(), static_cast<std::int64_t>(offset), from);
    }
    std::optional<std::span<std::byte>> contiguous() const noexcept {
        if (!one_run()) return std::nullopt;
        return std::span{first(), size()};
    }
};
static_assert(byte_sink<typed_sink>);

} // namespace mpt::inline v0
