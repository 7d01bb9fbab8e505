/// rma/clerk - a thread beside the program's that works for windows of its rank (rma/agent.hpp), one or many.
///
///        window made ----> serve(agent) ... rung: each agent.do_next() ... leave() ----> the clerk stays, for the next windows
///                          the first one begins the thread
///
///   A rank has up to four of them, which its windows take in turn: each of the first few windows has one to itself, and what is asked of one
///   waits for none of the others; hundreds of windows share them, and a rank has no more threads for it. A clerk sleeps on its bell, which all of
///   its windows have in common. So a window takes it and gives it back without waking it: no thread begins or ends, and no system call is
///   made, but for a rank's first windows of memory that others do not reach.
///   origin: MPI_Win_create and MPI_Win_free of 64 KiB, AMD EPYC, Zen 4, 2 CPUs: a thread for each window 46 us on 2 ranks, 230 on 4; so 5 and 47.
///   300 windows at once, a thread each: not made within 30 s
///
///   Order     whom it serves: under the post's turn, which it has as long as it looks for something. The posts themselves: under the list's.
///             Which of many windows was asked: a flag in the window's control block, set before the bell is rung (world/bell.hpp), and cleared
///             before its letters are looked for. A clerk of one window looks without asking the flag, and any clerk does after a nap that
///             nobody has ended.
///   Ending    the job's end ends it, and its destructor; the runtime keeps none when its rank leaves.
///   Memory    its bell (two lines of cache) in the slice, for as long as the job. It stays on the CPUs on which it began.
///   CPU       it yields 64 times before it sleeps. Where a yield takes a time slice, it sleeps at once for the next 64 times: who is asleep is
///             put in front of a program that computes, when it is rung for.
///   Cost      while it sleeps, a look after 10 ms, and after twice as long each time that nobody has rung, up to a second: many
///             ranks on few CPUs do not spend them on agents that nobody asks.
///   Tests     test/rma_clerk_test.cpp, test/model/asked_flag_model_test.cpp, and of windows with agents
#pragma once
#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include <mpt/lock/pthread.hpp>
#include <mpt/rma/memory.hpp>
#include <mpt/stack/runtime.hpp>
#include <mpt/wait/yields.hpp>
#include <mpt/world/helper.hpp>

namespace mpt::inline v0::rma {

/// What a clerk does for a window.
class duty {
public:
    /// Does the next thing that was asked for. all: look also where nobody has said so. False: there is none.
    virtual bool do_next(bool all) = 0;

protected:
    ~duty() = default;
};

template <class Stack> class clerk {
    using world_type = typename Stack::world_type;
    using turn_type = typename lock::pthread::template type<world_type>;
    static constexpr nanoseconds shortest_nap{10'000'000}, longest_nap{1'000'000'000};
    static constexpr std::size_t patience = 64; // looks before it sleeps: who asks once mostly asks again
    // After one slice, and not two as a lane's waits: others wait for a clerk.
    static constexpr std::uint32_t rests_without = 64;
    static constexpr std::size_t some = 4; // posts that are looked at in the time of a yield or so

    /// A window's place.
    struct post {
        duty* taken_by = nullptr; // under the list's turn
        duty* whose = nullptr;    // under its own
        turn_type turn{};
    };

    boot::job& job_;
    world::bell<world_type>& bell_;
    [[no_unique_address]] world_type world_{};
    typename world_type::atomics::template atomic<bool> stop_{false}, awake_{true};
    turn_type list_turn_{};
    std::vector<std::unique_ptr<post>> posts_; // under the list's turn; a post stays when its window has gone, for the next
    std::size_t served_ = 0;                   // the same
    nanoseconds nap_ = shortest_nap;
    std::uint32_t armed_ = 0;   // the bell's word at the last nap
    std::uint32_t without_ = 0; // rests yet to come that yield nothing
    nanoseconds const long_{wait::yields::slice_beside(job_.ranks_on_each())};
    std::size_t looks_ = patience;        // in a row that found nothing
    std::optional<world::helper> thread_; // the last: the first that is served begins it; under the list's turn

    class in_turn {
        turn_type& turn_;
        typename turn_type::node place_;

    public:
        explicit in_turn(turn_type& t) noexcept : turn_{t} { turn_.acquire(place_); }
        ~in_turn() { turn_.release(place_); }
        in_turn(in_turn const&) = delete;
    };

public:
    /// bell: there as long as the clerk is.
    clerk(runtime<Stack>& run, world::bell<world_type>& bell) : job_{run.job()}, bell_{bell} {}
    ~clerk() {
        stop_.store(true, std::memory_order_release); // sync(rma.stop): release
        bell_.ring(world_, job_.fences());
    }
    clerk(clerk const&) = delete;

    /// Rung by who has asked for something.
    world::bell<world_type>& bell() noexcept { return bell_; }
    /// Is it about to look anyway? An estimate.
    bool is_awake() const noexcept { return awake_.load(std::memory_order_relaxed); } // order: an estimate
    std::size_t served() noexcept {
        in_turn const mine{list_turn_};
        return served_;
    }
    /// Throws mpt::error(system) where the system gives no thread.
    void serve(duty& d) {
        auto& p = take_post(d);
        in_turn const its{p.turn};
        p.whose = &d;
    }
    /// It does nothing of the duty afterwards.
    void leave(duty& d) noexcept {
        auto& p = [&]() -> post& {
            in_turn const mine{list_turn_};
            return post_of(&d);
        }();
        {
            in_turn const its{p.turn};
            p.whose = nullptr;
        }
        in_turn const mine{list_turn_};
        p.taken_by = nullptr;
        --served_;
    }

private:
    post& take_post(duty& d) {
        in_turn const mine{list_turn_};
        auto& p = post_of(nullptr);
        if (!thread_) thread_.emplace([this] { this->run(); });
        p.taken_by = &d;
        ++served_;
        return p;
    }
    /// A new one where there is none. With the list's turn.
    post& post_of(duty* d) {
        for (auto const& p : posts_)
            if (p->taken_by == d) return *p;
        return *posts_.emplace_back(std::make_unique<post>());
    }
    post* post_at(std::size_t i) noexcept {
        in_turn const mine{list_turn_};
        return i < posts_.size() ? posts_[i].get() : nullptr;
    }
    void run() noexcept {
        try {
            while (!stopped())
                if (do_next(false)) looks_ = 0;
                else rest();
        } catch (error const& e) {
            // The job is over, and so are we; or we cannot go on, and who waits for us would wait for ever.
            if (!job_.aborted()) job_.abort(1, e.what());
        } catch (std::bad_alloc const&) { job_.abort(1, "mpt: no memory for a one-sided operation's data"); }
    }
    bool stopped() const noexcept { return stop_.load(std::memory_order_acquire); } // sync(rma.stop): acquire
    /// A thing of each window. all: of those that nobody has rung for, too.
    bool do_next(bool all) {
        all = all || served() == 1;
        bool found = false;
        for (std::size_t i = 0; auto* const p = post_at(i); ++i) {
            in_turn const its{p->turn};
            if (p->whose && p->whose->do_next(all)) found = true;
        }
        return found;
    }
    void rest() {
        looks_ += 1 + served() / some;
        if (looks_ <= patience && without_ == 0) return yield();
        if (without_ != 0) --without_;
        auto const armed = bell_.arm(job_.fences());
        bool const quiet = armed == armed_; // nobody has rung since the last nap
        if (!do_next(quiet) && !stopped()) sleep(armed, quiet);
        looks_ = 0;
    }
    /// Who is not asleep is not woken: where somebody computes on this CPU, a yield takes as long as that has its time slice.
    void yield() noexcept {
        auto const left = world_.now();
        world_.yield();
        if (world_.now() - left >= long_) without_ = rests_without;
    }
    void sleep(std::uint32_t armed, bool quiet) {
        nap_ = quiet ? std::min(2 * nap_, longest_nap) : shortest_nap;
        armed_ = armed;
        awake_.store(false, std::memory_order_relaxed); // order: an estimate
        bell_.sleep(world_, armed, nap_);
        awake_.store(true, std::memory_order_relaxed); // order: an estimate
    }
};

} // namespace mpt::inline v0::rma
