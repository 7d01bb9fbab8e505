/// stack/waiting - what a thread that waits says of it: in its rank's record, for who asks why a job hangs, and to its lane's berths.
///
///   telling    what the wait is about, once it goes on for more than some spins; taken back when it ends, by an exception too. Of several
///              threads of a rank the last that told is seen.
///   show_kept  what waits here meanwhile.
///   presence   that it looks (wait/berths.hpp), once it has looked in vain, until it ends.
///
///   Tests   test/stack_waiting_test.cpp, test/stack_lane_test.cpp
#pragma once
#include <cstdint>
#include <utility>

#include <mpt/core/types.hpp>
#include <mpt/lock/lock.hpp>
#include <mpt/protocol/arrival.hpp>
#include <mpt/wait/berths.hpp>
#include <mpt/wait/record.hpp>

namespace mpt::inline v0 {

/// What a wait is about, for the wait record of the rank.
struct waiting {
    wait_for what = wait_for::nothing;
    context_id context{};
    rank peer{any_source}; // world rank
    tag label{any_tag};
    std::uint64_t size = 0;
};

template <class World> class telling {
    wait_record& record_;
    World const& world_;
    bool told_ = false;

public:
    telling(wait_record& r, World const& w) noexcept : record_{r}, world_{w} {}
    ~telling() {
        if (told_) [[unlikely]]
            record_.clear();
    }
    telling(telling const&) = delete;
    void tell(waiting const& a) noexcept {
        if (std::exchange(told_, true)) return;
        record_.write(a.what, a.context, a.peer, a.label, a.size, world_.now().count());
    }
};

template <class World, class Lock> class presence {
    wait::berths<World>& all_;
    World const& world_;
    Lock& lock_; // of what the berths belong to
    bool here_ = false;

public:
    presence(wait::berths<World>& all, World const& w, Lock& l) noexcept : all_{all}, world_{w}, lock_{l} {}
    ~presence() { leave(); }
    presence(presence const&) = delete;
    /// Under the lock.
    void come() noexcept {
        if (!std::exchange(here_, true)) all_.come();
    }
    void go() noexcept {
        if (std::exchange(here_, false)) all_.go(world_);
    }
    /// Outside it.
    void leave() noexcept {
        if (!here_) return;
        guard g{lock_};
        go();
    }
};

/// The first messages here that nobody has asked for, in the rank's record: a report of a rank that hangs compares them with what it waits
/// for. With several lanes, those of the lane that slept last.
template <class Kept> void show_kept(protocol::matching const& tables, Kept& kept) noexcept {
    std::size_t n = 0;
    tables.each_arrival(
        [&](protocol::arrival_hook const& hook) noexcept {
            auto const& a = static_cast<protocol::arrival const&>(hook);
            kept[n++].write(wait_for::message, a.context, a.from, a.label, a.size, 0);
        },
        protocol::in_place{}, kept.size());
    while (n < kept.size()) kept[n++].clear();
}

} // namespace mpt::inline v0
