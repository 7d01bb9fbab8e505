/// mpi/intercommunicator - two groups that face each other: messages and collectives go from one side to the other.
///
///        auto half = world.split(world.rank() % 2);
///        mpt::intercommunicator across{*half, 0, world, 1 - world.rank() % 2};       // leaders: 0 here, and there rank 1 or 0 of world
///        across.send(42, 0);                             // to rank 0 of the other side
///        auto theirs = across.allgather(x);              // what the other side brings
///        auto sum = across.reduce(x, std::plus{}, 2);    // to rank 2 of the other side, who says mpt::root_here
///        auto all = across.merge(high);                  // one group of both
///        auto few = across.split(color);                 // those of one color, of both sides;  mpt::create(across, members): by group
///
///   rank() and size() are this side's; whoever a message names, or comes from, is of the other. In a collective with a root the other
///   side names its rank, the root root_here, and those beside it root_beside, or they leave the call out.
///
///   An intercommunicator_view is two words that do not own; an intercommunicator owns, and is move-only.
///   Limit     no collectives that do not block, none that tell lengths by themselves but allgatherv: pieces are of one length on both
///             sides. The C interface has all of them.
///   Tests     test/mpi_intercommunicator_test.cpp    Source MPI-4.1 sections 6.2.3 and 7.6
#pragma once
#include <mpt/coll/bridge.hpp>
#include <mpt/coll/inter.hpp>
#include <mpt/mpi/communicator.hpp>

namespace mpt::inline v0 {

using coll::root_beside;
using coll::root_here;

template <class Stack> class intercommunicator;

/// What an intercommunicator is: a communicator whose ranks are the other side's, and this side.
template <class Stack> struct intercommunicator_state : communicator_state<Stack> {
    group ours;
    intercommunicator_state(runtime<Stack>& r, context_id context, group mine, rank me_here, group others,
                            buffer_origin<Stack> from = {})
        : communicator_state<Stack>{r, context, std::move(others), me_here, std::move(from)}, ours{std::move(mine)} {}
};

template <class Stack, class Errors = errors::throwing> class intercommunicator_view
    : private communicator_view<Stack, Errors> {
    using messages = communicator_view<Stack, Errors>;
    template <class T> using as = typename Errors::template as<T>;
    template <class T> using lists = std::vector<std::vector<T>>;
    intercommunicator_state<Stack> const* s_;

public:
    using stack_type = Stack;
    using errors_type = Errors;

    explicit intercommunicator_view(intercommunicator_state<Stack> const& s) noexcept : messages{s}, s_{&s} {}

    using messages::rank;
    std::int32_t size() const noexcept { return s_->ours.size(); }
    std::int32_t remote_size() const noexcept { return s_->who.size(); }
    group const& members() const noexcept { return s_->ours; }
    group const& remote_members() const noexcept { return s_->who; }
    using messages::context;
    using messages::name;
    using messages::set_name;
    /// The same with another error policy.
    template <class Other> intercommunicator_view<Stack, Other> with() const noexcept {
        return intercommunicator_view<Stack, Other>{*s_};
    }
    intercommunicator_state<Stack> const& native() const noexcept { return *s_; }

    // --- messages, as between ranks of a communicator ---------------------------------------------------------------------------
    using messages::improbe;
    using messages::iprobe;
    using messages::irecv;
    using messages::irsend;
    using messages::isend;
    using messages::issend;
    using messages::mprobe;
    using messages::probe;
    using messages::recv;
    using messages::rsend;
    using messages::send;
    using messages::sendrecv;
    using messages::ssend;

    // --- new communicators --------------------------------------------------------------------------------------------------------
    /// The same sides, what copy callbacks give, a context of their own. asserted: its hints (dup_with_info). Collective.
    as<intercommunicator<Stack>> dup(std::uint32_t asserted = 0) const {
        return Errors::run([&] {
            auto const all = coll::both(s_->ours, s_->who);
            auto agreed = s_->run->new_context();
            coll::broadcast(everybody(all), std::as_writable_bytes(std::span{&agreed, 1}), 0);
            return twin(agreed, asserted);
        });
    }
    /// The same, begun here, where the attributes are copied; its wait() gives the twin.
    as<collective_request<Stack, intercommunicator<Stack>>> idup(std::uint32_t asserted = 0) const {
        return Errors::run([&] {
            auto const all = coll::both(s_->ours, s_->who);
            return detail::started_by(
                everybody(all), s_->next_schedule(), std::pair{s_->run->new_context(), twin(context_id{}, asserted)},
                [](auto const& t, auto& d) {
                    coll::broadcast(t, std::as_writable_bytes(std::span{&d.first, 1}), 0);
                },
                [](auto& d) {
                    d.second.agree_on(d.first);
                    return std::move(d.second);
                });
        });
    }
    /// One intercommunicator for each color, each side ordered by key, then by rank here. Ranks without a color get none, nor do those
    /// whose color nobody has on the other side. Collective. Section 7.4.2.
    as<std::optional<intercommunicator<Stack>>> split(std::optional<int> color, int key = 0) const {
        return Errors::run([&]() -> std::optional<intercommunicator<Stack>> {
            auto const all = coll::both(s_->ours, s_->who);
            detail::color_vote const mine{color.has_value(), color.value_or(0), key, s_->run->new_context()};
            std::vector<detail::color_vote> votes(static_cast<std::size_t>(all.size()));
            coll::allgather(everybody(all), source{&mine, sizeof mine},
                            coll::blocks{std::as_writable_bytes(std::span{votes}), sizeof mine});
            if (!color) return std::nullopt;
            auto const side = [&](group const& g) { return detail::of_color(g, all, votes, mine); };
            auto ours = side(s_->ours), others = side(s_->who);
            if (others.size() == 0) return std::nullopt;
            auto const me = *ours.find(world_rank());
            return intercommunicator<Stack>{
                *s_->run, detail::context_of_color(votes, mine), std::move(ours), me, std::move(others), s_->origin};
        });
    }
    /// One group of both sides: the side that says high comes last. Collective. Section 7.6.2.
    as<communicator<Stack>> merge(bool high) const {
        return Errors::run([&] {
            auto const all = coll::both(s_->ours, s_->who);
            auto const one = coll::merge(everybody(all), s_->ours, s_->who, high, s_->run->new_context());
            return communicator<Stack>{*s_->run, one.context, one.members, *one.members.find(world_rank()), s_->origin};
        });
    }

    // --- collectives ----------------------------------------------------------------------------------------------------------------
    /// Returns when all ranks of both sides have called it.
    as<void> barrier() const {
        return Errors::run([&] { coll::barrier(sides()); });
    }
    /// The root's value or range to all of the other side.
    template <receivable T> as<void> broadcast(T&& data, mpt::rank root) const {
        return Errors::run([&] {
            check("broadcast", root);
            std::span<std::byte> const bytes = detail::room_of(data);
            coll::broadcast(sides(), bytes, root);
        });
    }
    /// At the root the elements of every rank of the other side, in rank order; its own only say how long a piece is.
    template <sendable T> as<std::vector<element_t<T>>> gather(T const& mine, mpt::rank root) const {
        return Errors::run([&] {
            check("gather", root);
            std::span<std::byte const> const data = detail::bytes_of(mine);
            auto all = room_for<element_t<T>>(root == root_here ? data.size() : 0);
            coll::gather(sides(), source{data}, coll::blocks{all.bytes(), data.size()}, root);
            return std::move(all).take();
        });
    }
    /// all: at the root the elements for every rank of the other side, in rank order. mine: filled on the other side; at the root it says
    /// how long a piece is.
    template <element_range R, receivable T> as<void> scatter(R const& all, T&& mine, mpt::rank root) const {
        return Errors::run([&] {
            check("scatter", root);
            std::span<std::byte> const into = detail::room_of(mine);
            std::span<std::byte const> const from = detail::bytes_of(all);
            if (root == root_here && from.size() != into.size() * count())
                checks::bad_share("scatter", from.size(), into.size(), remote_size());
            coll::scatter(sides(), coll::const_blocks{from, into.size()}, sink{into}, root);
        });
    }
    /// The elements of every rank of the other side, in rank order.
    template <sendable T> as<std::vector<element_t<T>>> allgather(T const& mine) const {
        return Errors::run([&] { return allgathered(mine); });
    }
    /// The range of every rank of the other side, of any length.
    template <element_range R> as<lists<std::ranges::range_value_t<R>>> allgatherv(R const& mine) const {
        return Errors::run([&] {
            lists<std::ranges::range_value_t<R>> all;
            for (auto const n : allgathered(std::uint64_t{std::ranges::size(mine)})) all.emplace_back(n);
            auto const place = [&](std::int32_t r) { return coll::place{detail::room_of(all[static_cast<std::size_t>(r)])}; };
            coll::allgather(sides(), source{detail::bytes_of(mine)}, place);
            return all;
        });
    }
    /// mine: for each rank of the other side as many elements, in rank order; what came from each.
    template <element_range R> as<std::vector<std::ranges::range_value_t<R>>> alltoall(R const& mine) const {
        return Errors::run([&] {
            auto const n = std::ranges::size(mine);
            if (n % count() != 0) checks::bad_share("alltoall", n, n / count(), remote_size());
            auto const each = n / count() * sizeof(std::ranges::range_value_t<R>);
            auto all = room_for<std::ranges::range_value_t<R>>(each);
            coll::alltoall(sides(), coll::const_blocks{detail::bytes_of(mine), each}, coll::blocks{all.bytes(), each});
            return std::move(all).take();
        });
    }
    /// The other side's values combined, at the root; elsewhere nothing.
    template <class T, class Op = std::plus<>>
        requires(element<T> && !std::ranges::range<T>)
    as<std::optional<T>> reduce(T const& mine, Op op, mpt::rank root) const {
        return Errors::run([&]() -> std::optional<T> {
            check("reduce", root);
            T all = mine;
            coll::reduce(sides(), detail::operand_of<T>(op), bytes(&mine), bytes(&all), 1, root);
            return root == root_here ? std::optional{all} : std::nullopt;
        });
    }
    /// The other side's values combined; all get them.
    template <class T, class Op = std::plus<>>
        requires(element<T> && !std::ranges::range<T>)
    as<T> allreduce(T const& mine, Op op = {}) const {
        return Errors::run([&] {
            T all = mine;
            coll::allreduce(sides(), detail::operand_of<T>(op), bytes(&mine), bytes(&all), 1);
            return all;
        });
    }
    /// Element by element.
    template <element_range R, class Op = std::plus<>>
    as<std::vector<std::ranges::range_value_t<R>>> allreduce(R const& mine, Op op = {}) const {
        return Errors::run([&] {
            using T = std::ranges::range_value_t<R>;
            detail::vector_room<T> all{std::ranges::size(mine)};
            coll::allreduce(sides(), detail::operand_of<T>(op), detail::bytes_of(mine).data(), all.data(),
                            std::ranges::size(mine));
            return std::move(all).take();
        });
    }
    /// The other side's ranges combined, of which rank r of this side keeps the r-th of size() equal parts.
    template <element_range R, class Op = std::plus<>>
    as<std::vector<std::ranges::range_value_t<R>>> reduce_scatter_block(R const& mine, Op op = {}) const {
        return Errors::run([&] {
            using T = std::ranges::range_value_t<R>;
            auto const n = std::ranges::size(mine), each = n / static_cast<std::size_t>(size());
            if (n % static_cast<std::size_t>(size()) != 0) checks::bad_share("reduce_scatter_block", n, each, size());
            detail::vector_room<T> part{each};
            coll::reduce_scatter_block(sides(), detail::operand_of<T>(op), detail::bytes_of(mine).data(), part.data(), each);
            return std::move(part).take();
        });
    }

private:
    intercommunicator<Stack> twin(context_id agreed, std::uint32_t asserted) const {
        intercommunicator<Stack> made{*s_->run, agreed, s_->ours, s_->me, s_->who, s_->origin};
        made.native().asserted = asserted;
        s_->attached.copy_to(made.native().attached);
        return made;
    }
    coll::between<coll::team<Stack>> sides() const noexcept {
        return {coll::team<Stack>{s_->wire, s_->ours, s_->me, s_->rooted_calls}, s_->who};
    }
    mpt::rank world_rank() const noexcept { return s_->ours.world(s_->me); }
    coll::team<Stack> everybody(group const& all) const noexcept {
        auto const joint = coll::joint_context(s_->wire.context());
        return {channel<Stack>{s_->run->lane_of(joint), joint}, all, *all.find(world_rank()), s_->joint_calls};
    }
    std::size_t count() const noexcept { return static_cast<std::size_t>(remote_size()); }
    void check(char const* call, mpt::rank root) const {
        if (root != root_here && root != root_beside) checks::to(call, root, remote_size());
    }
    template <class T> static auto* bytes(T* data) noexcept {
        if constexpr (std::is_const_v<T>) return reinterpret_cast<std::byte const*>(data);
        else return reinterpret_cast<std::byte*>(data);
    }
    /// A piece of so many bytes from every rank of the other side.
    template <class T> detail::vector_room<T> room_for(std::size_t each) const {
        return detail::vector_room<T>{count() * each / sizeof(T)};
    }
    template <class T> std::vector<element_t<T>> allgathered(T const& mine) const {
        std::span<std::byte const> const data = detail::bytes_of(mine);
        auto all = room_for<element_t<T>>(data.size());
        coll::allgather(sides(), source{data}, coll::blocks{all.bytes(), data.size()});
        return std::move(all).take();
    }
};

/// Owns its state; the rest is the view's.
template <class Stack> class intercommunicator : public intercommunicator_view<Stack> {
    using state = intercommunicator_state<Stack>;
    std::unique_ptr<state> own_;
    explicit intercommunicator(std::unique_ptr<state> s) : intercommunicator_view<Stack>{*s}, own_{std::move(s)} {}

public:
    intercommunicator(runtime<Stack>& run, context_id context, group mine, rank me, group others,
                      buffer_origin<Stack> from = {})
        : intercommunicator{std::make_unique<state>(run, context, std::move(mine), me, std::move(others), std::move(from))} {}
    /// Collective over `local` and the other side's. The leaders, who are ranks `leader` of their sides, find each other by `peer`, in which
    /// both are: there the other one is remote_leader. peer and remote_leader count at the leader only. Section 7.6.2.
    template <class Local, class Peer> intercommunicator(communicator_view<Stack, Local> local, rank leader,
                                                         communicator_view<Stack, Peer> peer, rank remote_leader, tag t = 0)
        : intercommunicator{met(local.native(), leader, peer.native(), remote_leader, t)} {}
    intercommunicator(intercommunicator&&) noexcept = default;
    intercommunicator& operator=(intercommunicator&&) noexcept = default;
    intercommunicator_view<Stack> view() const noexcept { return *this; }

private:
    template <class, class> friend class intercommunicator_view;
    void agree_on(context_id c) { own_->wire = {own_->run->lane_of(c), c}; }
    static std::unique_ptr<state> met(communicator_state<Stack> const& local, rank leader,
                                      communicator_state<Stack> const& peer, rank remote_leader, tag t) {
        checks::to("intercommunicator", leader, local.who.size());
        coll::team<Stack> const team{local.wire, local.who, local.me, local.rooted_calls};
        auto found = coll::meet(team, leader, local.run->new_context(), [&] {
            checks::to("intercommunicator", remote_leader, peer.who.size());
            auto const aside = coll::aside(peer.wire.context(), t);
            return coll::bridge<Stack>{{local.run->lane_of(aside), aside}, peer.who.world(remote_leader)};
        });
        if (auto const r = coll::on_both(local.who, found.members))
            throw error{errc::argument, "mpt: intercommunicator: the two groups are not disjoint: rank " +
                                            std::to_string(r->value) + " of the job is in both"};
        return std::make_unique<state>(*local.run, found.context, local.who, local.me, std::move(found.members), local.origin);
    }
};

/// Collective over both sides: an intercommunicator of some ranks of each, in the order of the group that their side names; nothing for
/// those outside it, and for everybody where the other side names nobody. Section 7.4.2.
template <class Stack, class Errors> auto create(intercommunicator_view<Stack, Errors> const& on, group const& who) {
    return Errors::run([&] {
        detail::require_subset(who, on.members());
        auto const place = who.find(on.members().world(on.rank()));
        return on.template with<errors::throwing>().split(place ? std::optional{0} : std::nullopt, place.value_or(rank{0}));
    });
}

} // namespace mpt::inline v0
