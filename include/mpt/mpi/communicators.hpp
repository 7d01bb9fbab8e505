/// mpi/communicators - communicators of some ranks of another one, by group or by where they run, and what communicators are asked.
///
///        auto half = mpt::create(world, members);                 all ranks of world call it; nothing for those outside the group
///        auto few = mpt::create_group(world, members, 7);         the group's ranks call it, and nobody else; the tag tells calls apart
///        mpt::info by;  by.set("mpi_hw_resource_type", "L3Cache");
///        auto near = mpt::split_type(world, mpt::split_kind::hw_guided, 0, by);        ranks that share a cache
///        mpt::compare(world, *near);                              comparison::ident, congruent, similar, unequal
///        mpt::set_info(world, hints);                             mpi/hints.hpp
///        mpt::attributes_of(world).set(key, plan);                mpi/caching.hpp
///
///   split_kind   shared            ranks that share memory: all of this version are on one host
///                hw_guided         by the hint mpi_hw_resource_type: a name of mpi/hardware.hpp, or mpi_shared_memory
///                hw_unguided       by the largest sort of hardware that parts these ranks
///                resource_guided   by the same hint, or mpi_pset_name: a process set (mpi/session.hpp)
///   A rank gets nothing where the hardware has no such part that it runs on alone, or where no hint says by what.
///
///   Tests   test/mpi_communicators_test.cpp    Source MPI-4.1 sections 7.4.1 to 7.4.4
#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <mpt/core/hash.hpp>
#include <mpt/mpi/attributes.hpp>
#include <mpt/mpi/communicator.hpp>
#include <mpt/mpi/group_algebra.hpp>
#include <mpt/mpi/hardware.hpp>
#include <mpt/mpi/hints.hpp>

namespace mpt::inline v0 {

enum class split_kind : std::uint8_t { shared, hw_guided, hw_unguided, resource_guided };

namespace detail {

/// Where a group of some of a communicator's ranks talks while the others know nothing of it.
inline context_id aside_for_group(context_id parent, std::int32_t tag) {
    return drawn_context(hash_of("create_group", static_cast<std::uint64_t>(parent), tag));
}

/// Where this thread runs, by a name of MPI_Get_hw_resource_info, or without its "hwloc://".
inline std::int32_t color_by_hardware(std::string_view name) {
    if (name == "mpi_shared_memory") return 0;
    if (name.starts_with("hwloc://")) name.remove_prefix(8);
    return hardware_instance(name, own_cpus()).value_or(undefined);
}
/// By every sort of hardware.
struct hardware_colors {
    std::array<std::int32_t, hardware_sorts.size()> of;
    static hardware_colors here() {
        hardware_colors mine;
        std::ranges::transform(hardware_sorts, mine.of.begin(), color_by_hardware);
        return mine;
    }
    static hardware_colors none() {
        hardware_colors mine;
        mine.of.fill(undefined);
        return mine;
    }
};
/// By the largest sort that parts these ranks.
inline std::int32_t parting_color(hardware_colors const& mine, std::span<hardware_colors const> all) {
    for (std::size_t i = 0; i < mine.of.size(); ++i)
        if (std::ranges::any_of(all, [&](auto const& other) { return other.of[i] != all.front().of[i]; })) return mine.of[i];
    return undefined;
}
/// world: this rank among all of the job.
inline std::int32_t guided_color(split_kind kind, info const& hints, rank world) {
    if (kind == split_kind::shared) return 0;
    if (auto const sort = hints.get("mpi_hw_resource_type")) return color_by_hardware(*sort);
    auto const set = kind == split_kind::resource_guided ? hints.get("mpi_pset_name") : std::nullopt;
    if (set == "mpi://WORLD") return 0;
    return set == "mpi://SELF" ? world.value : undefined;
}

template <class View> inline constexpr bool is_two_sided = requires(View const& v) { v.remote_members(); };

} // namespace detail

/// Two communicators, or two intercommunicators. Section 7.4.1.
template <class A, class B> comparison compare(A const& a, B const& b) {
    if constexpr (detail::is_two_sided<A> != detail::is_two_sided<B>) return comparison::unequal;
    else {
        if (a.context() == b.context()) return comparison::ident;
        auto like = groups::compare(a.members(), b.members());
        if constexpr (detail::is_two_sided<A>) like = std::max(like, groups::compare(a.remote_members(), b.remote_members()));
        return like == comparison::ident ? comparison::congruent : like;
    }
}

/// Collective over all of `on`, which name groups that have no rank in common, or the same. Section 7.4.2.
template <class Stack, class Errors> auto create(communicator_view<Stack, Errors> const& on, group const& who) {
    return Errors::run([&]() -> std::optional<communicator<Stack>> {
        detail::require_subset(who, on.members());
        auto& run = *on.native().run;
        auto const contexts = on.template with<errors::throwing>().allgather(run.new_context());
        auto const me = who.find(run.me());
        if (!me) return std::nullopt;
        auto const leader = static_cast<std::size_t>(on.members().find(who.world(0))->value);
        return communicator<Stack>{run, contexts[leader], who, *me, on.native().origin};
    });
}
/// Collective over the group. Calls at once, by several threads, have tags of their own.
template <class Stack, class Errors>
auto create_group(communicator_view<Stack, Errors> const& on, group const& who, tag t = 0) {
    return Errors::run([&]() -> std::optional<communicator<Stack>> {
        checks::label("create_group", t);
        detail::require_subset(who, on.members());
        auto& run = *on.native().run;
        auto const me = who.find(run.me());
        if (!me) return std::nullopt;
        auto const side = detail::aside_for_group(on.context(), t.value);
        std::uint32_t calls = 0; // of the side context, which is there for this one alone
        coll::team<Stack> const team{channel<Stack>{run.lane_of(side), side}, who, *me, calls};
        auto context = run.new_context();
        coll::broadcast(team, coll::place{std::as_writable_bytes(std::span{&context, 1})}, 0);
        return communicator<Stack>{run, context, who, *me, on.native().origin};
    });
}
/// Collective over all of `on`; without a kind a rank takes no part.
template <class Stack, class Errors> auto split_type(communicator_view<Stack, Errors> const& on, std::optional<split_kind> kind,
                                                     int key = 0, info const& hints = {}) {
    return Errors::run([&] {
        auto const view = on.template with<errors::throwing>();
        auto const unguided = kind == split_kind::hw_unguided;
        // One that goes by something else is asked, too: it cannot know by what the others go.
        auto const mine = unguided ? detail::hardware_colors::here() : detail::hardware_colors::none();
        auto const parting = detail::parting_color(mine, view.allgather(mine));
        auto const guided = [&] { return detail::guided_color(*kind, hints, on.native().run->me()); };
        auto const color = unguided ? parting : kind ? guided() : undefined;
        return view.split(color == undefined ? std::nullopt : std::optional{color}, key);
    });
}

/// What is told changes, the rest stays. A duplicate has none of it. Section 7.4.4.
template <class View> void set_info(View const& on, info const& given) {
    auto& set = on.native().asserted;
    set = hints::taken(given, set);
}
template <class View> info get_info(View const& on) { return hints::shown(on.native().asserted); }
/// A dup and an idup, of communicators of any sort, with these hints.
template <class View> auto dup_with_info(View const& on, info const& hints) { return on.dup(hints::taken(hints)); }
template <class View> auto idup_with_info(View const& on, info const& hints) { return on.idup(hints::taken(hints)); }

/// A dup and an idup have what copy callbacks give, others have none.
template <class View> cached& attributes_of(View const& on) noexcept { return on.native().attached; }

} // namespace mpt::inline v0
