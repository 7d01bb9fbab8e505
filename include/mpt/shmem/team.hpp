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
///   Memory    where a PE has none for a new team, no PE gets one.
///   Threads   collectives of one team come in one order.
///   Tests     test/shmem_team_test.cpp
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <vector>

#include <mpt/coll/allgather.hpp>
#include <mpt/coll/allreduce.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/core/hash.hpp>
#include <mpt/datatype/operation.hpp>
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

    // --- collectives over this team. Nothing: for no PE there is one ----------------------------------------------------------------
    /// There is no such set.
    std::optional<maybe> split_strided(std::int32_t start, std::int32_t stride, std::int32_t size, team_config config = {});
    /// Teams of this PE's row and column; nothing where xrange < 1.
    std::optional<std::pair<maybe, maybe>> split_2d(std::int32_t xrange, team_config x = {}, team_config y = {});
    /// The same of a grid that may have fewer places than there are PEs, or more: who has none is in no team. Cray's extension.
    std::optional<std::pair<maybe, maybe>> split_2d(std::int32_t xrange, std::int32_t yrange);
    /// The three axes of such a grid; nothing where a range is less than 1. Cray's extension.
    std::optional<std::tuple<maybe, maybe, maybe>> split_3d(std::int32_t xrange, std::int32_t yrange, std::int32_t zrange);
    /// Those of one colour, ordered by key and then by number here; a negative colour: in none. Cray's extension.
    std::optional<maybe> split(std::int32_t colour, std::int32_t key);
    /// What f returns; false, too, where it finds no memory.
    template <class F> static bool tries(F const& f) {
        try {
            return f();
        } catch (std::bad_alloc const&) { return false; }
    }
    /// Do all PEs say that they can? Takes no memory.
    bool all_can(bool mine) {
        std::uint64_t word = mine;
        auto min = find_kernel(operation::min, element_kind::uint64);
        auto const op =
            coll::operand::array(8, true, &min, [](void* f, std::byte const* left, std::byte* right, std::size_t n) {
                (*static_cast<kernel*>(f))(left, right, n);
            });
        coll::allreduce(native(), op, nullptr, reinterpret_cast<std::byte*>(&word), 1);
        return word != 0;
    }

    coll::team<Stack> native() noexcept { return {wire_, who_, me_, rooted_calls_, &shared_}; }
    /// The same in a reduction: by messages alone, where MPT_TEAM_NODE says that.
    coll::team<Stack> reducing() noexcept {
        bool const shares = wire_.on().variables().template get<"MPT_TEAM_NODE">();
        return {wire_, who_, me_, rooted_calls_, shares ? &shared_ : nullptr};
    }

private:
    template <std::size_t N> using some = std::array<maybe, N>;

    static std::uint32_t kept(team_config const& c) noexcept { return static_cast<std::uint32_t>(c.num_contexts.value_or(0)); }
    static bool can_be(team_config const& c) noexcept { return c.num_contexts.value_or(0) >= 0; }
    /// What make(contexts, teams) makes, if it returns true on all PEs.
    template <std::size_t N, class Make> std::optional<some<N>> together(Make const& make) {
        std::array<context_id, N> contexts;
        for (auto& c : contexts) c = run_->new_context();
        coll::broadcast(native(), coll::place{std::as_writable_bytes(std::span{contexts})}, 0);
        some<N> made;
        bool const mine = tries([&] { return make(contexts, made); });
        if (!all_can(mine)) return std::nullopt;
        return made;
    }
    /// False: the PE has not the contexts that are to be kept for it.
    bool make(maybe& made, context_id context, group who, team_config const& config = {}) {
        made = std::make_unique<team>(*run_, context, std::move(who), config, nullptr, memory_);
        if (room_ && !room_->take(kept(config))) return false;
        made->room_ = room_;
        return true;
    }
    /// Of those of all PEs here that `in` takes, by number here; none, where this PE is none of them.
    template <class In> bool make_of(maybe& made, context_id context, In const& in, team_config const& config = {});
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
    auto made = together<1>([&](auto const& contexts, some<1>& t) {
        auto who = strided(start, stride, size);
        if (!who || !can_be(config)) return false;
        return !who->find(run_->me()) || make(t[0], contexts[0], std::move(*who), config);
    });
    if (!made) return std::nullopt;
    return std::move((*made)[0]);
}

template <class Stack> template <class In>
bool team<Stack>::make_of(maybe& made, context_id context, In const& in, team_config const& config) {
    if (!can_be(config)) return false;
    if (!in(me_.value)) return true;
    std::vector<std::int32_t> world;
    for (std::int32_t i = 0; i < size(); ++i)
        if (in(i)) world.push_back(who_.world(i));
    return make(made, context, group::of(std::move(world)), config);
}

template <class Stack> auto team<Stack>::split_2d(std::int32_t xrange, team_config x, team_config y)
    -> std::optional<std::pair<maybe, maybe>> {
    if (xrange < 1) return std::nullopt;
    auto made = together<2>([&](auto const& contexts, some<2>& t) {
        return make_of(
                   t[0], contexts[0], [&](std::int32_t i) { return i / xrange == me_ / xrange; }, x) &&
               make_of(
                   t[1], contexts[1], [&](std::int32_t i) { return i % xrange == me_ % xrange; }, y);
    });
    if (!made) return std::nullopt;
    return std::pair{std::move((*made)[0]), std::move((*made)[1])};
}

template <class Stack> auto team<Stack>::split_2d(std::int32_t xrange, std::int32_t yrange)
    -> std::optional<std::pair<maybe, maybe>> {
    if (xrange < 1 || yrange < 1) return std::nullopt;
    auto const has_place = [=](std::int32_t i) { return i / xrange < yrange; };
    auto made = together<2>([&](auto const& contexts, some<2>& t) {
        return make_of(t[0], contexts[0], [&](std::int32_t i) { return has_place(i) && i / xrange == me_ / xrange; }) &&
               make_of(t[1], contexts[1], [&](std::int32_t i) { return has_place(i) && i % xrange == me_ % xrange; });
    });
    if (!made) return std::nullopt;
    return std::pair{std::move((*made)[0]), std::move((*made)[1])};
}

template <class Stack> auto team<Stack>::split_3d(std::int32_t xrange, std::int32_t yrange, std::int32_t zrange)
    -> std::optional<std::tuple<maybe, maybe, maybe>> {
    if (xrange < 1 || yrange < 1 || zrange < 1) return std::nullopt;
    auto const x = [=](std::int32_t i) { return i % xrange; };
    auto const y = [=](std::int32_t i) { return i / xrange % yrange; };
    auto const z = [=](std::int32_t i) { return i / xrange / yrange; };
    auto const me = me_.value;
    auto const line = [&](auto const& a, auto const& b) { // those that have the same a and b
        return [=](std::int32_t i) { return z(i) < zrange && a(i) == a(me) && b(i) == b(me); };
    };
    auto made = together<3>([&](auto const& contexts, some<3>& t) {
        return make_of(t[0], contexts[0], line(y, z)) && make_of(t[1], contexts[1], line(x, z)) &&
               make_of(t[2], contexts[2], line(x, y));
    });
    if (!made) return std::nullopt;
    return std::tuple{std::move((*made)[0]), std::move((*made)[1]), std::move((*made)[2])};
}

template <class Stack> auto team<Stack>::split(std::int32_t colour, std::int32_t key) -> std::optional<maybe> {
    std::array const mine{colour, key};
    std::vector<std::array<std::int32_t, 2>> all;
    bool const has_room = tries([&] { return all.resize(static_cast<std::size_t>(size())), true; });
    if (!all_can(has_room)) return std::nullopt;
    coll::allgather(native(), source{&mine, sizeof mine}, coll::blocks{std::as_writable_bytes(std::span{all}), sizeof mine});
    auto made = together<1>([&](auto const& contexts, some<1>& t) {
        if (colour < 0) return true;
        std::vector<std::pair<std::int32_t, std::int32_t>> in; // key, number here
        for (std::int32_t i = 0; i < size(); ++i)
            if (auto const& [c, k] = all[static_cast<std::size_t>(i)]; c == colour) in.emplace_back(k, i);
        std::ranges::sort(in);
        std::vector<std::int32_t> world;
        world.reserve(in.size());
        for (auto const& [k, i] : in) world.push_back(who_.world(i));
        return make(t[0], contexts[0], group::of(std::move(world)));
    });
    if (!made) return std::nullopt;
    return std::move((*made)[0]);
}

/// The context of an active set: PEs start, start + 2^log_stride ...
inline context_id context_of_set(std::int32_t start, std::int32_t log_stride, std::int32_t size) noexcept {
    return drawn_context(hash_of("active set", start, log_stride, size));
}

} // namespace mpt::inline v0::shmem
