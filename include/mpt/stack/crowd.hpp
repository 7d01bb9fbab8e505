/// stack/crowd - the threads of a rank that wait and have found nothing yet, as they see each other.
///
///        come() ... is_crowded(): more of them than `room`  ---> they give their CPUs away soon
///               ... look_out(): one of those that sleep looks at all lanes early, until look_no_more()
///        go()
///
///   A lane has one with room for one thread, of those that wait there. A rank of several lanes has one of all, with room for
///   as many threads as it has CPUs: threads that wait each on a lane of its own take the CPUs of those they wait for, too.
///
///   Order   all are hints: whoever is told wrongly looks a little more or less often, and nothing hangs on it.
///   Cost    come and go: a read-modify-write each, by who has looked in vain: in its lane at once, in the rank, whose line all threads
///           would write, when it has done so `brief` times; is_crowded: a load.
///   Tests   test/stack_crowd_test.cpp
#pragma once
#include <cstdint>
#include <utility>

#include <mpt/core/atomics.hpp>
#include <mpt/wait/wait.hpp>

namespace mpt::inline v0 {

class crowd {
    native_atomics::atomic<std::uint32_t> waiting_{0};
    native_atomics::atomic<bool> looked_out_{false};
    std::uint32_t room_;

public:
    explicit crowd(std::uint32_t room) noexcept : room_{room} {}
    void come() noexcept { waiting_.fetch_add(1, std::memory_order_relaxed); }                    // order: a hint
    void go() noexcept { waiting_.fetch_sub(1, std::memory_order_relaxed); }                      // order: a hint
    bool is_empty() const noexcept { return waiting_.load(std::memory_order_relaxed) == 0; }      // order: a hint
    bool is_crowded() const noexcept { return waiting_.load(std::memory_order_relaxed) > room_; } // order: a hint
    /// True: the caller is the one, and says when it is no more.
    bool look_out() noexcept { return !looked_out_.exchange(true, std::memory_order_relaxed); } // order: a hint
    void look_no_more() noexcept { looked_out_.store(false, std::memory_order_relaxed); }       // order: a hint
};

/// A thread that looks for itself alone, outside lane::wait(): one of the crowd from its first question on.
class passer {
    crowd& all_;
    bool among_ = false;

public:
    explicit passer(crowd& all) noexcept : all_{all} {}
    ~passer() {
        if (among_) all_.go();
    }
    passer(passer const&) = delete;
    bool is_one_too_many() noexcept {
        if (!std::exchange(among_, true)) all_.come();
        return all_.is_crowded();
    }
};

/// A thread that waits, as the others see it: those of its lane, and those of its rank, which may be the same.
class company {
    static constexpr std::uint32_t brief = 64; // looks: two or three microseconds
    crowd &here_, &of_rank_;
    std::uint32_t looks_ = 0;
    bool known_ = false;
    bool is_alone() const noexcept { return &of_rank_ == &here_; } // a lane

public:
    company(crowd& here, crowd& of_rank) noexcept : here_{here}, of_rank_{of_rank} {}
    ~company() {
        if (looks_ == 0) return;
        here_.go();
        if (looks_ > brief && !is_alone()) of_rank_.go();
    }
    company(company const&) = delete;
    /// Asked after a look that found nothing; true the first time that more threads wait than there is room for.
    bool have_come() noexcept {
        if (known_) return false;
        if (looks_ <= brief) {
            if (looks_++ == 0) here_.come();
            if (looks_ == brief + 1 && !is_alone()) of_rank_.come();
        }
        return known_ = (is_alone() || looks_ > brief) && of_rank_.is_crowded();
    }
};

/// How a thread waits that is not alone: as long in all, but most of it in yields. Who is told to spin for ever does so. Few looks, but
/// enough for an answer from a partner that runs, after a window of messages, too: two that run then go on without a switch. Another
/// number for each `moment`, or threads that take turns in step stay so. Measured, 2 ranks of 16 threads on 2 CPUs, M/s in windows of 64:
/// 64 looks 15, 128 27, 512 8.
constexpr wait_facts among_others(wait_facts f, std::uint32_t moment) noexcept {
    constexpr std::uint32_t fewest = 96, spread = 128;
    f.between = 0; // those others want the CPU, too
    return f.spins <= fewest ? f : yielding(f, fewest + moment % spread);
}

} // namespace mpt::inline v0
