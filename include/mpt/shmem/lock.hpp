/// shmem/lock - a lock that all PEs share, on a symmetric long of zeroes; who came first gets it first. OpenSHMEM-1.6 section 9.13.
///
///        the long at its home, PE 0      | tail: who came last |  place of PE 0 |
///        the long at any other PE        |          -          |  its place     |
///
///        set     place = 0; before = swap(tail, me); nobody: mine. else write me into the place of `before`, wait for `granted` in mine
///        clear   nobody behind me: compare_swap(tail, me, nobody), else wait who it is; write `granted` into its place
///
///   It is the queue lock of Mellor-Crummey and Scott: each waits on its own memory, so waiting costs the others nothing.
///   Both halves are 32 bits; PEs are written as their number plus one.
///   Tests    test/shmem_lock_test.cpp
#pragma once
#include <mpt/shmem/compare.hpp>
#include <mpt/shmem/memory.hpp>

namespace mpt::inline v0::shmem {

template <class Stack> class lock {
    using half = std::uint32_t;
    static constexpr half granted = half{1} << 31;
    static constexpr rank home{0};
    static_assert(sizeof(long) == 2 * sizeof(half));

    memory<Stack>& m_;
    half *tail_, *place_; // our own, whose addresses are those of the others
    half me_;

    static rank pe_of(half word) noexcept { return static_cast<std::int32_t>(word & ~granted) - 1; }
    void begin() { m_.set(place_, half{0}, m_.me()); }
    /// The one that stands behind us, or is about to.
    half next() {
        half seen = 0;
        m_.await([&] { return ((seen = m_.seen(place_)) & ~granted) != 0; });
        return seen;
    }

public:
    /// Of the lock at this address.
    lock(memory<Stack>& m, long* word) noexcept
        : m_{m}, tail_{reinterpret_cast<half*>(word)}, place_{tail_ + 1}, me_{static_cast<half>(m.me().value) + 1} {}

    void set() {
        begin();
        auto const before = m_.swap(tail_, me_, home);
        if (before == 0) return;
        m_.template fetch_or<half>(place_, me_, pe_of(before));
        m_.quiet(pe_of(before));
        m_.await([&] { return (m_.seen(place_) & granted) != 0; });
    }
    /// False: somebody has it. It may be this PE itself, whose place tells who comes next: it is zero already where it is not in use.
    bool test() { return m_.compare_swap(tail_, half{0}, me_, home) == 0; }
    /// All that this PE has done before is done for the one that gets it.
    void clear() {
        m_.quiet();
        if ((m_.seen(place_) & ~granted) == 0 && m_.compare_swap(tail_, me_, half{0}, home) == me_) return begin();
        auto const behind = pe_of(next());
        begin();
        m_.template fetch_or<half>(place_, granted, behind);
    }
};

} // namespace mpt::inline v0::shmem
