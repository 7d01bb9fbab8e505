/// coll/shared_block - a part of each rank's slice that all of a team map: what they show each other lies there (coll/node.hpp).
///
///        agree(team, bytes, may)      where is yours? (ceil(log2 n) messages)      do you map mine? (as many)      the same answer on all
///
///   Where one does not want it, has no memory left, or does not map another's slice, none has a block.
///
///   End       is local: a block that goes leaves every part, and retires its own, which is used again when all have left it (mem/parts.hpp).
///   Tests     test/coll_shared_block_test.cpp
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <mpt/coll/team.hpp>

namespace mpt::inline v0::coll {

namespace detail {

/// Everybody's word, in rank order from this one on: ceil(log2 n) messages.
template <class Stack> void tell_all(team<Stack> const& t, std::span<std::uint64_t> words) {
    auto const n = t.size(), me = t.me().value;
    auto const bytes = [&](std::int32_t first, std::int32_t count) {
        return std::as_writable_bytes(words.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
    };
    for (std::int32_t have = 1; have < n; have *= 2) {
        auto const more = std::min(have, n - have);
        t.exchange((me - have + n) % n, source{bytes(0, more)}, (me + have) % n, sink{bytes(have, more)}, speaker::barrier);
    }
}
/// Do all say yes? Each hears from all, some more than once.
template <class Stack> bool all_say(team<Stack> const& t, bool yes) {
    auto const n = t.size(), me = t.me().value;
    for (std::int32_t step = 1; step < n; step *= 2) {
        bool theirs = false;
        t.exchange((me + step) % n, source{&yes, 1}, (me - step + n) % n, sink{&theirs, 1}, speaker::barrier);
        yes = yes && theirs;
    }
    return yes;
}

} // namespace detail

/// A part of each rank's slice, which all of a team map.
class shared_block {
    std::weak_ptr<mem::parts> home_; // gone: the rank has left its job
    std::vector<mem::part*> parts_;  // by rank
    std::size_t me_ = 0;

    shared_block(std::shared_ptr<mem::parts> const& home, std::vector<mem::part*> parts, std::size_t me)
        : home_{home}, parts_{std::move(parts)}, me_{me} {}

public:
    shared_block() = default;
    shared_block(shared_block&&) = default;
    shared_block& operator=(shared_block&& o) noexcept {
        std::swap(home_, o.home_), std::swap(parts_, o.parts_), std::swap(me_, o.me_);
        return *this;
    }
    ~shared_block() {
        auto const home = home_.lock();
        if (!home || parts_.empty()) return;
        for (auto* const p : parts_) p->leave();
        home->retire(*parts_[me_], static_cast<std::uint32_t>(parts_.size()));
    }
    explicit operator bool() const noexcept { return !parts_.empty(); }
    std::byte* of(std::int32_t q) const noexcept { return parts_[static_cast<std::size_t>(q)]->data(); }
    std::byte* own() const noexcept { return parts_[me_]->data(); }

    /// Called by all ranks of the team; the same answer on all. may: does this rank want it?
    template <class Stack> static shared_block agree(team<Stack> const& t, std::size_t bytes, bool may) {
        auto& lane = t.wire().on();
        auto const& home = lane.parts();
        auto* const own = may ? home->take(bytes) : nullptr;
        auto const n = static_cast<std::size_t>(t.size()), me = static_cast<std::size_t>(t.me());
        std::vector<std::uint64_t> where(n);
        where[0] = own ? home->heap().refer(own).offset : 0; // no part begins a slice: the transport's does
        detail::tell_all(t, std::span{where});
        std::vector<mem::part*> all(n, own);
        bool good = own != nullptr;
        for (std::size_t i = 1; good && i < n; ++i) {
            auto const q = (me + i) % n;
            auto const world = t.who().world(static_cast<std::int32_t>(q));
            auto* const there = where[i] != 0 ? lane.look_into(world, where[i], sizeof(mem::part) + bytes) : nullptr;
            all[q] = reinterpret_cast<mem::part*>(there);
            good = there != nullptr;
        }
        if (detail::all_say(t, good)) return {home, std::move(all), me};
        if (own) home->retire(*own, 0);
        return {};
    }
};

} // namespace mpt::inline v0::coll
