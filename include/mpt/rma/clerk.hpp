/// rma/clerk - a thread beside the program's that works for one window of its rank after the other (rma/agent.hpp), and its control block.
///
///        window made ----> serve(agent) ... rung: agent.do_next() ... leave() ----> kept by the runtime, for the next window
///
///   It sleeps on the bell of the control block, which goes with it from window to window. So a window takes it and gives it back without
///   waking it: no thread begins or ends, and no system call is made, but for a rank's first window of memory that others do not reach.
///   origin: MPI_Win_create and MPI_Win_free of 64 KiB, AMD EPYC, Zen 4, 2 CPUs: a thread for each window 46 us on 2 ranks, 230 on 4; so 5 and 47
///
///   Order     whom it serves: under its turn, which it has as long as it looks for something.
///   Ending    the job's end ends it, and its destructor; the runtime keeps none when its rank leaves.
///   Memory    its control block (4 KiB) in the slice; up to four are kept. It stays on the CPUs on which it began.
///   Cost      while it sleeps, a look after 10 ms, and after twice as long each time that nobody has rung, up to a second: many
///             ranks on few CPUs do not spend them on agents that nobody asks.
///   Tests     test/rma_clerk_test.cpp, and of windows with agents
#pragma once
#include <algorithm>
#include <new>
#include <utility>

#include <mpt/lock/pthread.hpp>
#include <mpt/rma/memory.hpp>
#include <mpt/stack/runtime.hpp>
#include <mpt/world/helper.hpp>

namespace mpt::inline v0::rma {

/// What a clerk does.
class duty {
public:
    /// Does the next thing that was asked for. False: there is none.
    virtual bool do_next() = 0;

protected:
    ~duty() = default;
};

template <class Stack> class clerk {
    using world_type = typename Stack::world_type;
    using turn_type = typename lock::pthread::template type<world_type>;
    static constexpr nanoseconds shortest_nap{10'000'000}, longest_nap{1'000'000'000};
    static constexpr int patience = 64; // looks before it sleeps: who asks once mostly asks again

    boot::job& job_;
    control<world_type>& desk_;
    [[no_unique_address]] world_type world_{};
    typename world_type::atomics::template atomic<bool> stop_{false}, awake_{true};
    turn_type turn_{};
    duty* serves_ = nullptr; // under its turn
    nanoseconds nap_ = shortest_nap;
    std::uint32_t armed_ = 0; // the bell's word at the last nap
    int looks_ = patience;    // in a row that found nothing
    world::helper thread_;    // the last: it begins at once

    class in_turn {
        turn_type& turn_;
        typename turn_type::node place_;

    public:
        explicit in_turn(turn_type& t) noexcept : turn_{t} { turn_.acquire(place_); }
        ~in_turn() { turn_.release(place_); }
        in_turn(in_turn const&) = delete;
    };

public:
    /// desk: at rest, and there as long as the clerk is. Throws mpt::error(system) where the system gives no thread.
    clerk(runtime<Stack>& run, control<world_type>& desk) : job_{run.job()}, desk_{desk}, thread_{[this] { this->run(); }} {}
    ~clerk() {
        stop_.store(true, std::memory_order_release); // sync(rma.stop): release
        desk_.agent.ring(world_, job_.fences());
    }
    clerk(clerk const&) = delete;

    control<world_type>& desk() noexcept { return desk_; }
    /// Is it about to look anyway? An estimate.
    bool is_awake() const noexcept { return awake_.load(std::memory_order_relaxed); } // order: an estimate
    void serve(duty& d) noexcept {
        in_turn const mine{turn_};
        serves_ = &d;
    }
    /// It does nothing of the duty afterwards.
    void leave() noexcept {
        in_turn const mine{turn_};
        serves_ = nullptr;
    }

private:
    void run() noexcept {
        try {
            while (!stopped())
                if (do_next()) looks_ = 0;
                else rest();
        } catch (error const& e) {
            // The job is over, and so are we; or we cannot go on, and who waits for us would wait for ever.
            if (!job_.aborted()) job_.abort(1, e.what());
        } catch (std::bad_alloc const&) { job_.abort(1, "mpt: no memory for a one-sided operation's data"); }
    }
    bool stopped() const noexcept { return stop_.load(std::memory_order_acquire); } // sync(rma.stop): acquire
    bool do_next() {
        in_turn const mine{turn_};
        return serves_ && serves_->do_next();
    }
    void rest() {
        if (++looks_ <= patience) return world_.yield();
        auto const armed = desk_.agent.arm(job_.fences());
        if (do_next()) {
            looks_ = 0;
            return;
        }
        if (!stopped()) sleep(armed);
        looks_ = 0;
    }
    /// The bell's word has changed since the last nap: somebody rang.
    void sleep(std::uint32_t armed) {
        nap_ = std::exchange(armed_, armed) == armed ? std::min(2 * nap_, longest_nap) : shortest_nap;
        awake_.store(false, std::memory_order_relaxed); // order: an estimate
        desk_.agent.sleep(world_, armed, nap_);
        awake_.store(true, std::memory_order_relaxed); // order: an estimate
    }
};

} // namespace mpt::inline v0::rma
