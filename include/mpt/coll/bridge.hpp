/// coll/bridge - two groups that do not share a communicator become the two sides of one.
///
///        side A                                            side B
///        leader   --- context, size ---   members --->     leader         by a bridge: a channel that both leaders have
///           |     <-- context, size ---   members ----       |
///           v                                                v
///        broadcast to A                                    broadcast to B
///
///   Each leader draws a context for the case; the greater one counts. One context serves both directions and both sides' own
///   traffic: messages are told apart by their sender's rank in the job, which is on one side only.
///
///   What all ranks of both sides do together needs an order of them that is the same everywhere: both().
///
///   Misuse   A leader that cannot cross (its arguments were refused) says so to its side, which throws. That its counterpart waits then
///            is the program's error.
///   Tests    test/coll_bridge_test.cpp    Source MPI-4.1 section 7.6.2
#pragma once
#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <mpt/coll/allgather.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/core/hash.hpp>

namespace mpt::inline v0::coll {

/// How a leader reaches the other one: a channel that nobody else uses meanwhile, and a rank of the job.
template <class Stack> struct bridge {
    channel<Stack> wire;
    rank other;
};

/// Where two leaders talk to each other, apart from all else: it follows from the communicator that has both, and a tag.
inline context_id aside(context_id shared, tag t) noexcept {
    return drawn_context(hash_of(std::string_view{"bridge"}, static_cast<std::uint64_t>(shared), t.value));
}

/// Where both sides of an intercommunicator talk as one team: what they call there is numbered by itself, not with what each side's team
/// calls in the shared context.
inline context_id joint_context(context_id shared) noexcept { return aside(shared, tag{-1}); }

/// What a side knows of the other one.
struct other_side {
    group members;
    context_id context;
};

/// A rank that is on both sides: there must be none.
inline std::optional<rank> on_both(group const& a, group const& b) {
    for (std::int32_t r = 0; r < a.size(); ++r)
        if (b.find(a.world(r))) return a.world(r);
    return std::nullopt;
}

namespace detail {

inline std::vector<std::int32_t> chained(group const& first, group const& second) {
    std::vector<std::int32_t> world;
    for (auto const* g : {&first, &second})
        for (std::int32_t r = 0; r < g->size(); ++r) world.push_back(g->world(r));
    return world;
}

struct greeting {
    context_id context;
    std::int64_t size; // of the group; -1: there is none to come
};

template <class T> std::span<std::byte> memory_of(T& object) noexcept { return std::as_writable_bytes(std::span{&object, 1}); }
template <class T> std::span<std::byte> memory_of(std::vector<T>& list) noexcept {
    return std::as_writable_bytes(std::span{list});
}

template <class Stack> void swap_across(bridge<Stack> const& b, std::span<std::byte const> mine, std::span<std::byte> theirs) {
    auto const got = b.wire.sendrecv(b.other, tag{0}, mine, b.other, tag{0}, theirs);
    must_have_come(got, b.other, theirs.size());
}

/// Between leaders: the ranks of the other side, and the context of both.
template <class Stack> std::vector<std::int32_t> introduce(bridge<Stack> const& b, group const& mine, greeting& found) {
    auto list = chained(mine, {});
    greeting hello{found.context, mine.size()};
    swap_across(b, memory_of(hello), memory_of(found));
    std::vector<std::int32_t> others(static_cast<std::size_t>(found.size));
    swap_across(b, memory_of(list), memory_of(others));
    found.context = std::max(found.context, hello.context);
    return others;
}

} // namespace detail

/// Collective over `local`, and over the other side's. fresh: a context that nobody has. across(): asked at the leader only, its
/// bridge; where it throws, the others of its side get an error too.
template <class Stack, class Across>
other_side meet(team<Stack> const& local, std::int32_t leader, context_id fresh, Across const& across) {
    detail::greeting found{fresh, -1};
    std::vector<std::int32_t> others;
    std::exception_ptr failure;
    if (local.me() == leader) try {
            others = detail::introduce(across(), local.who(), found);
        } catch (error const&) { failure = std::current_exception(); }
    broadcast(local, detail::memory_of(found), leader);
    if (failure) std::rethrow_exception(failure);
    if (found.size < 0)
        throw error{errc::usage, "mpt: rank " + std::to_string(leader) +
                                     ", which leads this side of an intercommunicator, could not reach the other side"};
    others.resize(static_cast<std::size_t>(found.size));
    broadcast(local, detail::memory_of(others), leader);
    return {group::of(std::move(others)), found.context};
}

/// The ranks of both sides, in the same order on both: the side whose first rank is the lower one in the job comes first.
inline group both(group const& mine, group const& others) {
    return group::of(mine.world(0) < others.world(0) ? detail::chained(mine, others) : detail::chained(others, mine));
}

/// Collective over everybody, the team of both(): one group, in which the side that says `high` comes last; where both sides say the
/// same they stand as in both(). All ranks of a side say the same.
template <class Stack>
other_side merge(team<Stack> const& everybody, group const& mine, group const& others, bool high, context_id fresh) {
    struct vote {
        context_id context; // the first one's counts
        std::uint64_t high;
    };
    vote const own{fresh, high};
    std::vector<vote> votes(static_cast<std::size_t>(everybody.size()));
    allgather(everybody, source{&own, sizeof own}, blocks{detail::memory_of(votes), sizeof own});
    auto const said = [&](group const& side) {
        auto const of = [&](std::int32_t r) {
            return votes[static_cast<std::size_t>(everybody.who().find(side.world(r))->value)].high;
        };
        for (std::int32_t r = 1; r < side.size(); ++r)
            if (of(r) != of(0))
                throw error{errc::argument, "mpt: rank " + std::to_string(r) + " of a side says " + (of(r) ? "high" : "low") +
                                                ", and rank 0 of the same side the contrary"};
        return of(0) != 0;
    };
    bool const mine_high = said(mine), others_high = said(others);
    if (mine_high == others_high) return {everybody.who(), votes.front().context};
    return {group::of(mine_high ? detail::chained(others, mine) : detail::chained(mine, others)), votes.front().context};
}

} // namespace mpt::inline v0::coll
