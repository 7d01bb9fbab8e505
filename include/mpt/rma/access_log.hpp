/// rma/access_log - what all ranks do to one rank's part of a window in the epochs that go on: where two of them conflict.
///
///        put by rank 1      [########]        what    by   where      epoch
///        put by rank 2            [####]      put     1    0 .. 8     fence 3
///                                 ^^ conflict
///
///   Accesses conflict where they meet in a byte, in one epoch, and one of them writes: MPI says nothing of what comes of it. Updates
///   may meet where they are of one predefined type, and, of several origins, by one operation (besides no_op and compare-and-swap).
///
///   Epochs    passive     0: until its origin has flushed or unlocked, which it says here
///             fence n     2n: until the next fence. What is older is dropped by whoever comes next
///             exposure n  2n + 1: of the target's posts, until its next one
///             What overlaps in different epochs does not conflict, so nothing is told that is not so.
///   Writers   all ranks, who hold the lock. Its readers hold it too.
///   Limit     `most` runs of bytes at a time: what comes when it is full is compared, but not kept.
///   Memory    some 80 KiB of shared memory.
///   Tests     test/rma_access_log_test.cpp    Source MPI-4.1 sections 12.2.1 (accumulate_ops) and 12.7.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>

#include <mpt/datatype/operation.hpp>
#include <mpt/datatype/runs.hpp>
#include <mpt/rma/lock_word.hpp>

namespace mpt::inline v0::rma {

enum class touch : std::uint8_t { get, put, update, swap };

/// What an operation does to bytes of a target. Of updates and swaps: to elements of that kind.
struct access {
    touch what = touch::get;
    operation op = operation::no_op;
    element_kind kind = element_kind::byte;
    bool fetches = false;   // its origin gets something back
    std::int32_t by = 0;    // rank in the window
    std::uint32_t call = 0; // which of that rank's
    std::uint64_t epoch = 0;
    memory_run where{}; // counted from the part's beginning; in a dynamic window addresses
};

/// MPI says nothing of what comes of the two.
bool conflict(access const& a, access const& b) noexcept;
/// "bytes 0 to 8 of rank 1's part are written by this call and read by rank 2 in the same epoch"
std::string told_conflict(access const& now, access const& before, std::int32_t target);

inline constexpr std::uint64_t passive_epoch = 0;
constexpr std::uint64_t fence_epoch(std::uint64_t n) noexcept { return 2 * n; }
constexpr std::uint64_t exposure_epoch(std::uint64_t n) noexcept { return 2 * n + 1; }

/// To a fence, which all ranks give or none.
struct promises_of_all {
    bool no_precede = false, no_succeed = false;
};

/// What an exposure or a fence epoch's target has said, and who has locked it. For who holds `lock`.
template <class Atomics = native_atomics> class access_log {
    static constexpr std::uint32_t most = 2048;

public:
    lock_word<Atomics> lock;
    std::uint64_t exposures = 0;                 // how many there were, with the one that goes on
    bool exposed = false;                        // one goes on
    bool exposed_to_reads = false;               // alone: nobody puts or accumulates
    bool exposed_untold = false;                 // nobody was told of it: MPI_MODE_NOCHECK
    std::array<std::uint64_t, 2> reads_fences{}; // fence epochs in which nobody does: this one's, and the next one's
    std::array<promises_of_all, 2> fences{};     // what its rank promises to fences: to this one, and to the next one
    std::uint32_t sharers = 0;                   // that have locked it, also by a promise
    std::int32_t alone = -1;                     // who has locked it alone

    /// Keeps it, unless it conflicts with what is kept: then that.
    std::optional<access> add(access const& a) noexcept {
        for (auto const& b : kept())
            if (conflict(a, b)) return b;
        if (used_ < most) all_[used_++] = a;
        return std::nullopt;
    }
    /// Drops what f(access) is true of.
    template <class F> void drop(F f) noexcept {
        std::uint32_t left = 0;
        for (std::uint32_t i = 0; i < used_; ++i)
            if (!f(all_[i])) all_[left++] = all_[i];
        used_ = left;
    }
    /// Drops what no access of this epoch can meet.
    void drop_before(std::uint64_t epoch) noexcept {
        if (epoch == passive_epoch) return;
        drop([epoch](access const& a) { return a.epoch != passive_epoch && a.epoch % 2 == epoch % 2 && a.epoch < epoch; });
    }
    std::span<access const> kept() const noexcept { return std::span{all_}.first(used_); }

private:
    std::uint32_t used_ = 0;
    std::array<access, most> all_{};
};

} // namespace mpt::inline v0::rma
