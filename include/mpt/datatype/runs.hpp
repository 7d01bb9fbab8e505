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

class typed_runs : public detail::typed_data {
public:
    typed_runs(std::uint64_t memory, std::int64_t count, datatype const& type) : typed_data{memory, count, type} {}
};

/// The kind of all elements where they are of one named type, whatever their places; else mixed, as it is
/// where there are none. Of a pair: the pair.
element_kind uniform_element(datatype const& t);

} // namespace mpt::inline v0
