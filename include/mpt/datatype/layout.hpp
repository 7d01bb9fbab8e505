/// datatype/layout - what a datatype becomes when it is committed: a small program that moves packed bytes.
///
///   The tree of constructors is flattened once. Blocks that touch become one; what is regular stays a loop, so that a vector of
///   a million blocks is one step; what is irregular becomes an array of places, searched by the offset in the packed data.
///
///        form        memory                                         packed                    found by
///        run         [========]                                     [========]                -
///        strided     [==]    [==]    [==]    [==]                   [==][==][==][==]          division
///        blocks      [==]  [=====] [=]         [====]               [==][=====][=][====]      search, or division if all are alike
///        loop        <step>      <step>      <step>                 <step><step><step>        division, then in the step
///        sequence    <a>   <b>       <c>                            <a><b><c>                 search, then in the step
///
///   gather and scatter start at any packed offset: O(depth + log blocks), then the speed of the copy. Blocks of up to
///   64 bytes are moved in loops of their own, without a call per block.
///
///   Memory  16 bytes a block, 72 a step of a sequence. Steps of a child are shared with the child's own layout.
///   Tests   test/datatype_layout_test.cpp
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <mpt/datatype/datatype.hpp>

namespace mpt::inline v0::detail {

/// One place of `blocks` or `sequence`: where it is in memory (of `blocks`), and where its data starts in the packed form.
struct block {
    std::int64_t at = 0, start = 0;
};

struct step {
    enum class form : std::uint8_t { run, strided, blocks, loop, sequence };

    form shape = form::run;
    std::int64_t size = 0;   // packed bytes
    std::int64_t at = 0;     // added to the address
    std::int64_t length = 0; // bytes of a block of strided; of blocks if all are alike, else 0; packed bytes of a loop's child
    std::int64_t count = 1;  // of blocks or children
    std::int64_t stride = 0; // strided, loop
    block const* blocks = nullptr;
    step const* child = nullptr; // loop: one; sequence: `count` of them
};

/// `count` of a step, `stride` bytes apart. `s` must outlive the result where that refers to it.
step repeated(step const& s, std::int64_t count, std::int64_t stride);

/// Packs the bytes from `offset` on: memory is the address of the buffer, and 0 where displacements are addresses.
void gather(step const& s, std::uintptr_t memory, std::int64_t offset, std::span<std::byte> into) noexcept;
/// Unpacks to the places from `offset` on.
void scatter(step const& s, std::uintptr_t memory, std::int64_t offset, std::span<std::byte const> from) noexcept;

} // namespace mpt::inline v0::detail
