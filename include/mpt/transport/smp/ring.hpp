/// smp/ring - one sender's frames to one receiver, in cache lines that only the sender writes.
///
///        writer: head --------.                                  reader: tail ----.
///                             v                                                   v
///        cells   | .. | .. | .. | free | free | ... | told but not taken | taken | ..   line i of cell c: c mod lines
///                                                                          told
///        credit  [ consumed ]   the reader's line; it stores there every quarter of the ring, so that a cell costs it no
///                               second line
///
///   A frame is there when the number of its first cell is the one the reader expects (smp/line.hpp); most have one cell. The reader never
///   writes a cell: the line goes to the reader's cache, shared, and is taken back by the writer one lap later.
///
///   Order    cells: sync smp.frame. A cell is written again only after the reader gave it back: sync smp.credit.
///   Memory   lines * 64 bytes and the credit line, in the receiver's slice. Counters are 32 bits and wrap.
///   Cost     two line transfers a cell. Measured: 134 ns half round trip, 75-140 M frames/s (2-core x86 guest).
///   Limit    lines is a power of two, at least 4.
///   Tests    test/transport_smp_ring_test.cpp, test/model/ring_model_test.cpp
#pragma once
#include <utility>

#include <mpt/core/processor.hpp>
#include <mpt/transport/smp/line.hpp>

namespace mpt::inline v0::smp {

/// Cells of a ring, one behind the other; the first one follows the last.
template <class Atomics = native_atomics> struct cell_run {
    line<Atomics>* ring = nullptr;
    std::uint32_t mask = 0, first = 0;

    line<Atomics>& operator[](std::uint32_t i) const noexcept { return ring[(first + i) & mask]; }
    explicit operator bool() const noexcept { return ring != nullptr; }
};

/// The sender's private half.
template <class Atomics = native_atomics> class ring_writer {
public:
    using line_type = line<Atomics>;
    using word = typename Atomics::template atomic<std::uint32_t>;

private:
    line_type* cells_ = nullptr;
    word const* credit_{};
    std::uint32_t mask_ = 0;
    std::uint32_t head_ = 0; // cells written, modulo 2^32
    std::uint32_t room_ = 0; // cells known to be free

    static constexpr std::uint32_t ahead = 4; // so many cells before they are written, their lines are asked for

public:
    ring_writer() = default;
    /// first: what both counters start from; the credit line starts there too.
    ring_writer(line_type* cells, word const& consumed, std::uint32_t lines, std::uint32_t first) noexcept
        : cells_{cells}, credit_{&consumed}, mask_{lines - 1}, head_{first} {}

    bool attached() const noexcept { return cells_ != nullptr; }

    /// The next cell to write, or nullptr: the ring is full (or there is none yet).
    line_type* reserve() noexcept {
        if (room_ == 0) [[unlikely]]
            if (!refresh()) return nullptr;
        --room_;
        if (room_ > ahead) [[likely]] // a cell that the reader is through with
            processor::fetch_to_write(cells_ + ((head_ + ahead) & mask_));
        return cells_ + (head_++ & mask_);
    }

    /// The next n cells, for one frame, or none: not so many are free.
    cell_run<Atomics> reserve(std::uint32_t n) noexcept {
        if (room_ < n && (!refresh() || room_ < n)) [[unlikely]]
            return {};
        room_ -= n;
        for (auto i = ahead; i < ahead + n && i < n + room_; ++i) processor::fetch_to_write(cells_ + ((head_ + i) & mask_));
        return {cells_, mask_, std::exchange(head_, head_ + n)};
    }

private:
    bool refresh() noexcept {
        if (!attached()) return false;
        room_ = mask_ + 1 - (head_ - credit_->load(std::memory_order_acquire)); // sync(smp.credit): acquire
        return room_ != 0;
    }
};

/// The receiver's private half.
template <class Atomics = native_atomics> class ring_reader {
public:
    using line_type = line<Atomics>;
    using word = typename Atomics::template atomic<std::uint32_t>;

private:
    line_type* cells_ = nullptr;
    word* credit_{};
    std::uint32_t mask_ = 0;
    std::uint32_t tail_ = 0; // cells taken
    std::uint32_t told_ = 0; // what the writer knows of it

public:
    ring_reader() = default;
    ring_reader(line_type* cells, word& consumed, std::uint32_t lines, std::uint32_t first) noexcept
        : cells_{cells}, credit_{&consumed}, mask_{lines - 1}, tail_{first}, told_{first} {}

    /// A reader of no ring: looks at one line that nobody writes, and finds nothing.
    explicit ring_reader(line_type& nothing) noexcept : cells_{&nothing} {}
    bool attached() const noexcept { return credit_ != nullptr; }

    /// Where the next frame will be.
    line_type& front() const noexcept { return cells_[tail_ & mask_]; }
    /// The same, and the cells behind it.
    cell_run<Atomics> cells() const noexcept { return {cells_, mask_, tail_}; }
    /// The frame at front() takes n cells more.
    void skip(std::uint32_t n) noexcept { tail_ += n; }

    /// The frame at front() was read to its end. True: the writer was told of new room.
    bool pop() noexcept {
        ++tail_;
        if (tail_ - told_ <= mask_ / 4) [[likely]]
            return false;
        told_ = tail_;
        credit_->store(tail_, std::memory_order_release); // sync(smp.credit): release
        return true;
    }
};

} // namespace mpt::inline v0::smp
