/// wait/doorbell - how the threads of a lane that found nothing to do go to sleep, and how a sender wakes them.
///
///        sender                                sleeper
///        ------                                -------
///        publish the message                   armed = bell.arm(mode)
///        bell.ring(world, mode)                last look, under the lane's lock: poll, and look at what is waited for;
///                                              found something -> bell.disarm(), go on
///                                              bell.sleep(world, armed, nap), outside the lock; bell.disarm()
///
///   Order     world/bell.hpp; this is the lane's bell on lines of its own.
///   Who wakes A ring wakes every thread that sleeps on the lane, for the sender cannot know whose message it was. But a
///             message may be taken by one thread of the rank and what it completes be waited for by another. Two rules
///             keep the second from sleeping through it:
///             1. the last look holds the lane's lock and looks at what is waited for, not only at the wire: whoever took
///                the message before has then also completed what it completes;
///             2. a thread that completes what another thread of the rank may wait for, without a message having come for
///                it at that moment (the second half of a rendezvous, a cancel, a message to self), rings the lane's own bell;
///                who waits for one request while another thread sleeps here may lie in a berth: wait/berths.hpp.
///             The engine counts its sleeping threads under the lane's lock, so that a completion costs two loads where none is.
///   disarm()  folds to nothing: one sleeper cannot know that it is the last, so the bell stays armed and the next ring
///             is a spare wake-up call (a fraction of a microsecond, once per sleep that nobody ended).
///   Cost      ring(): one load of a line that only sleeping writes; 1 ns while it is shared.
///   Memory    lies in shared memory; valid from zeroes.
///   Tests     test/wait_doorbell_test.cpp, test/model/bell_model_test.cpp
#pragma once
#include <cstdint>

#include <mpt/core/types.hpp>
#include <mpt/world/bell.hpp>

namespace mpt::inline v0::wait {

template <class World> class doorbell {
    alignas(line_pair) world::bell<World> bell_; // no other writer's field lies on this pair of lines

public:
    /// Sleeper: says that it is about to sleep. Returns what sleep() must be given. Look once more after it.
    std::uint32_t arm(fence_mode mode) noexcept { return bell_.arm(mode); }
    /// Sleeper: until a ring after arm(), at most `longest`; may return early. longest: the wait policy's nap().
    void sleep(World const& world, std::uint32_t armed, nanoseconds longest) noexcept { bell_.sleep(world, armed, longest); }
    /// Sleeper: is awake again, or did not sleep.
    void disarm() noexcept {}

    /// Sender: after the message is published; see also rule 2 above.
    [[gnu::always_inline]] void ring(World const& world, fence_mode mode) noexcept { bell_.ring(world, mode); }
};

} // namespace mpt::inline v0::wait
