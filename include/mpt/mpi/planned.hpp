/// mpi/planned - collectives that are written down once, on memory of the caller, and done whenever it suits, again and again.
///
///        auto step = mpt::planned(world, [&](auto const& all) {           nothing is sent yet
///            all.allreduce(std::span{residual}, mpt::max);
///            all.broadcast(parameters, 0);                                several in a row: one after the other
///        });
///        for (...) { step.start(); work(); step.wait(); }
///
///        auto lists = mpt::begun(world, [&](auto const& all) { all.alltoallv(leaving, coming); });    ...   lists.wait();
///        mpt::done(world, [&](auto const& all) { all.broadcast(read_column, write_column, 0); });                       here and now
///
///   The function gets every collective in the form without results: what goes in and what comes out are ranges of the caller's, which
///   must stay where they are, as long as they are when it is written down. With v: a range of ranges, one for each rank; nothing tells
///   lengths. With w: a range of layouts (datatype/typed.hpp), which all others with v take too. Those without v take one layout of all
///   pieces, which are equal. A piece that is read and written is two layouts of the same memory: a source and a sink. In place: no piece
///   is of the same memory as another one. Reductions take ranges and any callable, or addresses and a typed_operation
///   (mpi/typed_operation.hpp), of any datatype. On an intercommunicator pieces are the other side's, on a communicator with a topology
///   there are those of neighbours too. All ranks write the same down, in the same order among the collectives that do not block.
///
///   Cost      as the collective itself; what its algorithm keeps is made once.
///   Limit     operations are copied. One run at a time. A plan waits when it is destroyed, and is withdrawn where
///             an exception unwinds past it. The communicator outlives it.
///   Tests     test/mpi_planned_test.cpp    Source MPI-4.1 sections 6.12, 6.13, 8.7 and 8.8
#pragma once
#include <mpt/mpi/planned/of_neighbours.hpp>
#include <mpt/mpi/planned/on_ranges.hpp>

namespace mpt::inline v0 {

/// Collectives that were written down.
template <class Stack> class [[nodiscard]] planned_collectives {
    struct work {
        std::vector<std::shared_ptr<void>> kept; // operations
        std::optional<coll::schedule<Stack>> steps;
    };
    std::unique_ptr<work> work_ = std::make_unique<work>();
    int exceptions_ = std::uncaught_exceptions(); // on their way when this was made

public:
    /// write(team, kept) writes the steps down.
    template <class Write> planned_collectives(coll::team<Stack> const& t, std::uint32_t number, Write const& write) {
        work_->steps.emplace(t, number, [&](auto const& team) { write(team, work_->kept); });
    }
    planned_collectives(planned_collectives&&) noexcept = default;
    planned_collectives& operator=(planned_collectives&& o) noexcept {
        if (this == &o) return *this;
        settle();
        work_ = std::move(o.work_), exceptions_ = o.exceptions_;
        return *this;
    }
    ~planned_collectives() { settle(); }

    bool is_active() const noexcept { return work_ && work_->steps->is_active(); }
    void start() {
        if (is_active()) throw error{errc::usage, "mpt: start: these collectives are under way; wait() comes first"};
        work_->steps->start();
    }
    /// One round of progress; true: complete, and wait() will not wait.
    bool test() { return work_->steps->test(); }
    /// Waits for what was started, if anything was. Throws what it failed by.
    void wait() { work_->steps->finish(); }

private:
    void settle() noexcept {
        if (!is_active()) return;
        try {
            if (std::uncaught_exceptions() > exceptions_) work_->steps->abandon();
            else work_->steps->wait(), work_->steps->collect();
        } catch (error const&) { // the job is over: nobody will touch the data any more
        }
    }
};

namespace detail {
using kept_operations = std::vector<std::shared_ptr<void>>;

/// Gives `what` the collectives of a communicator, by a team of its own side.
template <class Stack, class Errors, class Team, class What>
void offer(communicator_view<Stack, Errors> const&, Team const& t, kept_operations& kept, What const& what) {
    what(collectives_on_ranges{t, t.me(), t.size(), kept});
}
template <class Stack, class Errors, class Team, class What>
void offer(topology_view<Stack, Errors> const& c, Team const& t, kept_operations& kept, What const& what) {
    what(collectives_of_neighbours{t, c.shape(), kept});
}
template <class Stack, class Errors, class Team, class What>
void offer(intercommunicator_view<Stack, Errors> const& c, Team const& t, kept_operations& kept, What const& what) {
    coll::between const sides{t, c.native().who};
    what(collectives_on_ranges{sides, t.me(), c.native().who.size(), kept});
}
/// Shared memory of collectives that block: those of one call meet there, whichever form it has.
template <class Stack, class Errors> coll::meeting* meeting_of(communicator_view<Stack, Errors> const& c) noexcept {
    return &c.native().shared;
}
template <class Stack, class Errors> coll::meeting* meeting_of(intercommunicator_view<Stack, Errors> const&) noexcept {
    return nullptr;
}
template <class View> coll::team<typename View::stack_type> own_side(View const& c, coll::meeting* shared = nullptr) noexcept {
    auto const& s = c.native();
    return {s.wire, c.members(), s.me, s.rooted_calls, shared};
}
} // namespace detail

/// Collective: all ranks write the same down. Nothing is sent before start().
template <class View, class What> auto planned(View const& c, What const& what) {
    return View::errors_type::run([&] {
        auto const write = [&](auto const& t, auto& kept) { detail::offer(c, t, kept, what); };
        return planned_collectives<typename View::stack_type>{detail::own_side(c), c.native().next_schedule(), write};
    });
}
/// The same here and now: nothing is written down.
template <class View, class What> auto done(View const& c, What const& what) {
    return View::errors_type::run([&] {
        detail::kept_operations kept;
        detail::offer(c, detail::own_side(c, detail::meeting_of(c)), kept, what);
    });
}
/// What planned() writes down, started.
template <class View, class What> auto begun(View const& c, What const& what) {
    return View::errors_type::run([&] {
        auto p = planned(c.template with<errors::throwing>(), what);
        p.start();
        return p;
    });
}

} // namespace mpt::inline v0
