/// stack/visit - a look inside a lane by a thread that waits, and its rest where another one is inside.
///
///        visit: try_acquire ---> inside: look, and say so where it was in vain
///                  `-- refused: rest, until the request that it waits for is over; 64, 128, 192, then 256 pauses at most
///                               the 32nd time in a row: stand in line
///
///   Whoever is inside moves everybody's messages, or will when it waits. So a thread that only looks does not stand in line for
///   the lock: a line of threads that look would have to be run through by each that has something to do, asleep or not. Nor does it ask
///   again at once, for each question takes the lock's line from who is inside: it looks at its own request instead, whose line
///   nobody else writes before it is over.
///   origin: 2 ranks on 16 CPUs of an Intel Xeon, 8 bytes, half a round trip of each thread with its partner, us: 16 refusals and no rest /
///   64 and a rest: 4 threads a rank 5.5 / 1.2, 8 threads 13 / 2.4 to 6; rests that grow: 8 threads 2.2, 16 threads 7
///
///   Tests     test/stack_visit_test.cpp
#pragma once
#include <algorithm>
#include <cstdint>

#include <mpt/lock/lock.hpp>
#include <mpt/protocol/request.hpp>

namespace mpt::inline v0 {

/// What a thread that waits keeps from one visit to the next. over: the one request that it waits for, if it is one.
template <class World, class Lock> class visitor {
    template <class, class> friend class visit;
    static constexpr std::uint32_t most = 32;             // refusals; some 300 us on a processor whose pause takes 50 ns
    static constexpr std::uint32_t first = 64, blind = 8; // pauses of the first rest; where there is no request to look at
    static constexpr std::uint32_t longest = 4;           // first rests

    World const& world_;
    Lock& lock_;
    [[no_unique_address]] typename Lock::node node_{};
    protocol::request const* over_;
    std::uint32_t refusals_ = 0;

    bool comes_in() noexcept {
        if (!lock_.try_acquire(node_)) {
            if (++refusals_ < most) return take_rest(), false;
            lock_.acquire(node_);
        }
        refusals_ = 0;
        return true;
    }
    [[gnu::noinline]] void take_rest() const noexcept {
        auto const pauses = (over_ ? first : blind) * std::min(refusals_, longest);
        for (std::uint32_t i = 0; i < pauses && !(over_ && over_->is_over()); ++i) world_.pause();
    }

public:
    visitor(World const& w, Lock& l, protocol::request const* over) noexcept : world_{w}, lock_{l}, over_{over} {}
    visitor(visitor const&) = delete;
};

template <class World, class Lock> class visit {
    visitor<World, Lock>& who_;
    bool const inside_;

public:
    explicit visit(visitor<World, Lock>& v) noexcept : who_{v}, inside_{v.comes_in()} {}
    ~visit() {
        if (inside_) who_.lock_.release(who_.node_);
    }
    visit(visit const&) = delete;
    explicit operator bool() const noexcept { return inside_; }
};

} // namespace mpt::inline v0
