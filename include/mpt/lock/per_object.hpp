/// lock::per_object - a lock for each lane, and so many lanes that communicators, windows and contexts seldom share one.
///
///        lane 0    lock + engine: rings, matching, requests, pools, bell     communicators A, Q
///        lane 1    lock + engine                                             communicator B
///          ...                                                               a window, a context of OpenSHMEM
///        lane 15   lock + engine
///
///   Threads that use different objects meet in no lock and write no line in common; each lock learns by whom it is entered, and
///   lets that thread in by plain stores (lock/bias.hpp). Threads that use one object, as one communicator, meet in
///   its lane, and so do those of more objects than lanes: there they share matching, requests and channels, as with lock::ticket.
///
///   Lanes   as many as MPT_LANES says; else sixteen, or two for each CPU that a rank has for itself, where those are fewer: threads that have
///           no CPU of their own gain nothing by a lane. What is made takes the lane after the one before (runtime::new_context), so that
///           as many objects in a row share none.
///   Lock    the ticket lock with all its laws: fair, recursive, biased, its waiters sleep (lock/ticket.hpp says why its orders
///           suffice). The policy adds no access of its own.
///   Cost    each lane has rings to each peer, pools and tables; who waits looks at the others' lanes now and then (stack/lane.hpp).
///   Limit   a job's ranks have one number of lanes: programs of this flavour and of others do not make one job, and a sentence
///           that names MPT_LANES says so, unless it is set.
///   Tests   test/lock_per_object_test.cpp (conformance), test/stress/per_object_stress_test.cpp
///   Source  000, figure 4: a global lock against locks per object
#pragma once
#include <mpt/lock/ticket.hpp>

namespace mpt::inline v0::lock {

struct per_object {
    using kind = mpt::kind::lock;
    static constexpr std::string_view name = "per_object";
    static constexpr bool process_shared = ticket::process_shared;
    static constexpr bool recursive = ticket::recursive;
    static constexpr bool fair = ticket::fair;
    /// At most, where the user does not say how many.
    static constexpr std::uint32_t lanes = 16;

    template <class World> using type = ticket::type<World>;
};
static_assert(lock_policy<per_object>);

} // namespace mpt::inline v0::lock
