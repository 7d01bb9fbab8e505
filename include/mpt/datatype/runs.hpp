/// datatype/runs - the places of a datatype's data, one run of bytes after the other: for who moves them himself.
///
///        typed_runs{memory, count, type}.list(offset, most, into)
///
///        memory   [==]    [==]    [==]          packed   [==][==][==]           into   {memory + 0, 2} {memory + 8, 2} ...
///
///   One-sided communication reaches a target's bytes by a pointer, by the kernel, or by a list that it sends there: the addresses
///   are never followed here.
///
///   Cost    O(depth + log blocks) to find the first run, then a step each.
///   Tests   test/datatype_runs_test.cpp
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <mpt/datatype/typed.hpp>

namespace mpt::inline v0 {

struct memory_run {
    std::uint64_t at = 0, bytes = 0;
    friend bool operator==(memory_run const&, memory_run const&) = default;
};

/// Of a list: how many runs there are in it, and how many packed bytes those are.
struct listed_runs {
    std::size_t runs = 0, bytes = 0;
};

class typed_runs : public detail::typed_data {
public:
    typed_runs(std::uint64_t memory, std::int64_t count, datatype const& type) : typed_data{memory, count, type} {}

    /// The runs of the packed bytes from `offset` on: at most `most` bytes, and as many runs as fit.
    listed_runs list(std::size_t offset, std::size_t most, std::span<memory_run> into) const noexcept;
};

/// The kind of all elements where they are of one named type, whatever their places; else mixed, as it is
/// where there are none. Of a pair: the pair.
element_kind uniform_element(datatype const& t);

} // namespace mpt::inline v0
