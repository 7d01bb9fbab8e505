/// shmem/team - some of the PEs, in an order: what collectives are over and what contexts count by. OpenSHMEM-1.6 section 9.4.
///
///        parent   0 1 2 3 4 5 6            split_strided(1, 2, 3)         [1 3 5]
///                                          split_2d(3)   x axis [0 1 2] [3 4 5] [6]     y axis [0 3 6] [1 4] [2 5]
///                                          split_2d(3, 2)       [0 1 2] [3 4 5]                [0 3] [1 4] [2 5]
///                                          split(colour, key)             all of a colour, by key
///
///   A split is a collective over its parent. Who is not in the new team gets none.
///
///   Context   that of a team is drawn by the parent's first PE and told to all; teams of one split have no PE in common, and may
///             share it. That of an active set follows from its three numbers, so nobody has to be told.
///   Contexts  a team that is asked to have n contexts can have n at once, and no more: they are kept for it (job/room.hpp). Where a PE
///             has not so many left (MPT_CONTEXTS), no PE gets a team. One that is asked for no number has what is left.
///   Threads   collectives of one team come in one order.
///   Tests     test/shmem_team_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include <mpt/coll/allgather.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/core/hash.hpp>
#include <mpt/shmem/job/room.hpp>
#include <mpt/stack/runtime.hpp>

namespace mpt::inline v0::shmem {

template <class Stack> class memory;

/// How a team is to be made. Section 9.4.1.
struct team_config {
    std::optional<int> num_contexts;
};

template <class Stack> class team {
    runtime<Stack>* run_;
    channel<Stack> wire_;
    group who_;
    rank me_;
    team_config config_;
    context_room* room_;           // null: nobody counts
    shmem::memory<Stack>* memory_; // null: nobody's is known
    std::uint32_t rooted_calls_ = 0;
    int contexts_ = 0;
    coll::meeting shared_;

public:
    using stack_type = Stack;
    using maybe = std::unique_ptr<team>; // null: this PE is not in it

    /// Of the room it has taken already what it is to have.
    team(runtime<Stack>& run, context_id context, group who, team_config config = {}, context_room* room = nullptr,
         shmem::memory<Stack>* memory = nullptr)
        : run_{&run}, wire_{run.lane_of(context), context}, who_{std::move(who)}, me_{*who_.find(run.me())}, config_{config},
          room_{room}, memory_{memory} {}
    team(team const&) = delete;
    team& operator=(team const&) = delete;
    ~team() {
        if (room_) room_->give(kept(config_));
    }

    rank me() const noexcept { return me_; }
    std::int32_t size() const noexcept { return who_.size(); }
    group const& members() const noexcept { return who_; }
    team_config const& config() const noexcept { return config_; }
    shmem::memory<Stack>* memory() const noexcept { return memory_; }
    /// One context more, or less. False: it cannot have it. For who counts them, a thread at a time.
    bool take_context() {
        if (config_.num_contexts ? contexts_ >= *config_.num_contexts : room_ && !room_->take(1)) return false;
        return ++contexts_, true;
    }
    void give_context() {
        --contexts_;
        if (!config_.num_contexts && room_) room_->give(1);
    }
    bool has(rank pe) const noexcept { return pe >= 0 && pe < size(); }
    /// The number of all PEs that the team's PE has.
    rank world(rank pe) const noexcept { return who_.world(pe); }
    /// The number that its PE has in another team.
    std::optional<rank> translate(rank pe, team const& other) const noexcept {
        return has(pe) ? other.who_.find(world(pe)) : std::nullopt;
    }
    /// The set of PEs start, start + stride ... of a team: nothing where that is none.
    std::optional<group> strided(std::int32_t start, std::int32_t stride, std::int32_t size) const;

    // --- collectives over this team --------------------------------------------------------------------------------------------------
    /// Nothing: there is no such set, for any PE.
    std::optional<maybe> split_strided(std::int32_t start, std::int32_t stride, std::int32_t size, team_config config = {});
    /// Teams of this PE's row and column; nothing where xrange < 1.
    std::optional<std::pair<maybe, maybe>> split_2d(std::int32_t xrange, team_config x = {}, team_config y = {});
    /// The same of a grid that may have fewer places than there are PEs, or more: who has none is in no team. Cray's extension.
    std::optional<std::pair<maybe, maybe>> split_2d(std::int32_t xrange, std::int32_t yrange);
    /// The three axes of such a grid; nothing where a range is less than 1. Cray's extension.
    std::optional<std::tuple<maybe, maybe, maybe>> split_3d(std::int32_t xrange, std::int32_t yrange, std::int32_t zrange);
    /// Those of one colour, ordered by key and then by number here; a negative colour: in none. Cray's extension.
    maybe split(std::int32_t colour, std::int32_t key);

    coll::team<Stack> native() noexcept { return {wire_, who_, me_, rooted_calls_, &shared_}; }
    /// The same in a reduction: by messages alone, where MPT_TEAM_NODE says that.
    coll::team<Stack> reducing() noexcept {
        bool const shares = wire_.on().variables().template get<"MPT_TEAM_NODE">();
        return {wire_, who_, me_, rooted_calls_, shares ? &shared_ : nullptr};
    }

private:
    static std::uint32_t kept(team_config const& c) noexcept { return static_cast<std::uint32_t>(c.num_contexts.value_or(0)); }
    /// Contexts are kept for the teams that this PE will be in, on all PEs or on none; the same on all of them.
    bool keep_contexts(bool is_in, team_config const& a, team_config const& b = {}) {
        bool const can_be = a.num_contexts.value_or(0) >= 0 && b.num_contexts.value_or(0) >= 0;
        auto const n = can_be && is_in ? kept(a) + kept(b) : 0;
        bool const mine = can_be && (!room_ || room_->take(n));
        std::vector<std::byte> all(static_cast<std::size_t>(size()));
        coll::allgather(native(), source{&mine, 1}, coll::blocks{std::span{all}, 1});
        bool const have_all = std::ranges::count(all, std::byte{1}) == size();
        if (mine && !have_all && room_) room_->give(n);
        return have_all;
    }
    context_id new_context() {
        auto context = run_->new_context();
        coll::broadcast(native(), coll::place{std::as_writable_bytes(std::span{&context, 1})}, 0);
        return context;
    }
    /// Of those of all PEs here that `in` takes, by number here; of none, where this PE is none of them.
    template <class In> maybe of_those(In const& in, team_config config = {});
};

template <class Stack>
std::optional<group> team<Stack>::strided(std::int32_t start, std::int32_t stride, std::int32_t size) const {
    if (size < 1 || !has(start)) return std::nullopt;
    auto const last = start + std::int64_t{stride} * (size - 1);
    if (last < 0 || last >= this->size() || (stride == 0 && size > 1)) return std::nullopt;
    std::vector<std::int32_t> world;
    world.reserve(static_cast<std::size_t>(size));
    for (std::int32_t i = 0; i < size; ++i) world.push_back(who_.world(start + i * stride));
    return group::of(std::move(world));
}

template <class Stack> auto team<Stack>::split_strided(std::int32_t start, std::int32_t stride, std::int32_t size,
                                                       team_config config) -> std::optional<maybe> {
    auto const who = strided(start, stride, size);
    bool const is_in = who && who->find(run_->me());
    if (!who || !keep_contexts(is_in, config)) return std::nullopt;
    auto const context = new_context();
    if (!is_in) return maybe{};
    return std::make_unique<team>(*run_, context, *who, config, room_, memory_);
}

template <class Stack> template <class In> auto team<Stack>::of_those(In const& in, team_config config) -> maybe {
    auto const context = new_context();
    if (!in(me_.value)) return {};
    std::vector<std::int32_t> world;
    for (std::int32_t i = 0; i < size(); ++i)
        if (in(i)) world.push_back(who_.world(i));
    return std::make_unique<team>(*run_, context, group::of(std::move(world)), config, room_, memory_);
}

template <class Stack> auto team<Stack>::split_2d(std::int32_t xrange, team_config x, team_config y)
    -> std::optional<std::pair<maybe, maybe>> {
    if (xrange < 1 || !keep_contexts(true, x, y)) return std::nullopt;
    auto row = of_those([&](std::int32_t i) { return i / xrange == me_ / xrange; }, x);
    auto column = of_those([&](std::int32_t i) { return i % xrange == me_ % xrange; }, y);
    return std::pair{std::move(row), std::move(column)};
}

template <class Stack> auto team<Stack>::split_2d(std::int32_t xrange, std::int32_t yrange)
    -> std::optional<std::pair<maybe, maybe>> {
    if (xrange < 1 || yrange < 1) return std::nullopt;
    auto const has_place = [=](std::int32_t i) { return i / xrange < yrange; };
    auto row = of_those([&](std::int32_t i) { return has_place(i) && i / xrange == me_ / xrange; });
    auto column = of_those([&](std::int32_t i) { return has_place(i) && i % xrange == me_ % xrange; });
    return std::pair{std::move(row), std::move(column)};
}

template <class Stack> auto team<Stack>::split_3d(std::int32_t xrange, std::int32_t yrange, std::int32_t zrange)
    -> std::optional<std::tuple<maybe, maybe, maybe>> {
    if (xrange < 1 || yrange < 1 || zrange < 1) return std::nullopt;
    auto const x = [=](std::int32_t i) { return i % xrange; };
    auto const y = [=](std::int32_t i) { return i / xrange % yrange; };
    auto const z = [=](std::int32_t i) { return i / xrange / yrange; };
    auto const me = me_.value;
    auto const line = [&](auto const& a, auto const& b) { // of those that have the same a and b
        return of_those([&](std::int32_t i) { return z(i) < zrange && a(i) == a(me) && b(i) == b(me); });
    };
    auto on_x = line(y, z), on_y = line(x, z), on_z = line(x, y);
    return std::tuple{std::move(on_x), std::move(on_y), std::move(on_z)};
}

template <class Stack> auto team<Stack>::split(std::int32_t colour, std::int32_t key) -> maybe {
    std::array const mine{colour, key};
    std::vector<std::array<std::int32_t, 2>> all(static_cast<std::size_t>(size()));
    coll::allgather(native(), source{&mine, sizeof mine}, coll::blocks{std::as_writable_bytes(std::span{all}), sizeof mine});
    auto const context = new_context();
    if (colour < 0) return {};
    std::vector<std::pair<std::int32_t, std::int32_t>> in; // key, number here
    for (std::int32_t i = 0; i < size(); ++i)
        if (auto const& [c, k] = all[static_cast<std::size_t>(i)]; c == colour) in.emplace_back(k, i);
    std::ranges::sort(in);
    std::vector<std::int32_t> world;
    world.reserve(in.size());
    for (auto const& [k, i] : in) world.push_back(who_.world(i));
    return std::make_unique<team>(*run_, context, group::of(std::move(world)), team_config{}, room_, memory_);
}

/// The context of an active set: PEs start, start + 2^log_stride ...
inline context_id context_of_set(std::int32_t start, std::int32_t log_stride, std::int32_t size) noexcept {
    return drawn_context(hash_of("active set", start, log_stride, size));
}

} // namespace mpt::inline v0::shmem
