/// mem/parts - shared memory of a rank's that comes and goes while peers look at it: it is used again when all have left it.
///
///        owner     take(n)  ->  [ left | n bytes ]  -> tells the others where           retire(part, members)
///        members                   `-- leave(part): once each, after their last look    used again when left == members
///
///   Nobody waits for anybody: a part that is retired lies on a list, and take() looks whether it may go. What is on the list when
///   the rank leaves its job goes with the slice.
///
///   Order     sync mem.part: what a member read, it read before it left, and the owner writes after that.
///   Memory    what is spare in the slice (mem/arena.hpp), a line pair more for each; zeroed by take(). Parts of one size follow each other
///             in the same memory; none is given back to the slice.
///   Threads   any of the owner's at once.
///   Tests     test/mem_parts_test.cpp
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include <mpt/core/atomics.hpp>
#include <mpt/mem/arena.hpp>

namespace mpt::inline v0::mem {

/// What lies before the bytes of a part.
struct alignas(line_pair) part {
    native_atomics::atomic<std::uint32_t> left; // members that will not look any more
    std::uint64_t bytes;                        // the owner's

    std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    void leave() noexcept { left.fetch_add(1, std::memory_order_release); } // sync(mem.part): release
    bool was_left_by(std::uint32_t members) const noexcept {
        return left.load(std::memory_order_acquire) == members; // sync(mem.part): acquire
    }
};
static_assert(sizeof(part) == line_pair);

class parts {
public:
    /// heap: outlives it.
    explicit parts(slice_heap& heap);
    ~parts();
    parts(parts const&) = delete;
    parts& operator=(parts const&) = delete;

    /// n zeroed bytes behind a part's head; nullptr: no memory is spare.
    part* take(std::size_t n) noexcept;
    /// The owner needs it no more, and is one of the members that leave it; 0: nobody was told of it.
    void retire(part& p, std::uint32_t members) noexcept;
    /// Parts that wait for members to leave.
    std::size_t retired() const noexcept;
    slice_heap& heap() const noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace mpt::inline v0::mem
