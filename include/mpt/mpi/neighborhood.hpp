/// mpi/neighborhood - communicators with a topology, and what neighbours exchange on them.
///
///        mpt::cartesian const grid{dims, periodic, world.size()};
///        auto near = mpt::with_topology(world, grid);        // nothing for ranks that the grid leaves out
///        near->neighbor_alltoall(borders, ghosts);           // a share for each neighbour, and one from each
///        auto lists = near->neighbor_allgatherv(mine);       // ranges of any length; empty where nobody is
///        auto later = near->ineighbor_allgather(x, std::vector<double>(near->sources().size()));
///
///        auto web = mpt::with_topology(world, mpt::own_edges(world, edges));       any rank tells any edges
///
///   Neighbours have the order of the topology (mpi/graph.hpp): on a grid below and above in each dimension. Shares lie side by
///   side in that order; where a grid ends they are neither read nor written. What goes down comes in from above, also where both
///   are one rank.
///
///   A topology is what this communicator has: a dup has it too, a split has not.
///   Cost      own_edges: two exchanges of all with all, the second of the edges. The rest: messages to neighbours only.
///   Limit     ranks stay in their order. The forms that begin and are waited for do not tell lengths.
///   Tests     test/mpi_neighborhood_test.cpp    Source MPI-4.1 chapter 8.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <mpt/coll/neighbor.hpp>
#include <mpt/mpi/communicator.hpp>
#include <mpt/mpi/graph.hpp>

namespace mpt::inline v0 {

/// An edge of a graph, which any process may tell.
struct edge {
    rank source, destination;
    std::int32_t weight = 1;
};

namespace detail {

/// What a process says to another one before it sends it edges.
struct edges_told {
    std::uint64_t count;         // of those for that one
    std::uint32_t any, weighted; // of all it tells
};
/// Has the graph weights? Those that tell edges must agree; where nobody does the first rank's word counts.
inline bool agreed_on_weights(std::vector<edges_told> const& all) {
    std::size_t first = 0;
    while (first < all.size() && !all[first].any) ++first;
    if (first == all.size()) return all.front().weighted != 0;
    for (auto r = first; r < all.size(); ++r)
        if (all[r].any && all[r].weighted != all[first].weighted)
            throw mpi_error{error_class::arg,
                            "mpt: dist graph create: rank " + std::to_string(all[first].weighted ? first : r) +
                                " tells edges with weights, and rank " + std::to_string(all[first].weighted ? r : first) +
                                " edges without; all tell them alike"};
    return all[first].weighted != 0;
}
/// The ends that are here. The order is that of the ranks that told the edges, and of each one's list.
inline dist_graph ends_at(rank me, std::span<edge const> edges, std::int32_t ranks, bool weighted) {
    edge_list in, out;
    auto const add = [weighted](edge_list& to, rank r, std::int32_t weight) {
        to.ranks.push_back(r);
        if (weighted) to.weights.push_back(weight);
    };
    for (auto const& e : edges) {
        if (e.destination == me) add(in, e.source, e.weight);
        if (e.source == me) add(out, e.destination, e.weight);
    }
    return {std::move(in), std::move(out), ranks, weighted};
}

} // namespace detail

/// Collective: every process tells edges, of whomever they are, and gets those that begin or end at it.
template <coll::team_type Team> dist_graph own_edges(Team const& t, std::span<edge const> told, bool weighted) {
    auto const n = static_cast<std::size_t>(t.size());
    std::vector<std::vector<edge>> out(n);
    for (auto const& e : told) {
        checks::to("own_edges", e.source, t.size()), checks::to("own_edges", e.destination, t.size());
        out[static_cast<std::size_t>(e.source.value)].push_back(e);
        if (e.source != e.destination) out[static_cast<std::size_t>(e.destination.value)].push_back(e);
    }
    using detail::edges_told;
    std::vector<edges_told> saying, heard(n);
    for (auto const& list : out) saying.push_back({list.size(), !told.empty(), weighted});
    coll::alltoall(t, coll::const_blocks{std::as_bytes(std::span{saying}), sizeof(edges_told)},
                   coll::blocks{std::as_writable_bytes(std::span{heard}), sizeof(edges_told)});
    bool const with_weights = detail::agreed_on_weights(heard);
    std::vector<std::size_t> ends; // of each rank's edges among those that came
    ends.reserve(n);
    std::size_t sum = 0;
    for (auto const& h : heard) ends.push_back(sum += h.count);
    std::vector<edge> came(sum);
    auto const leaving = [&](std::int32_t r) { return source{std::as_bytes(std::span{out[static_cast<std::size_t>(r)]})}; };
    auto const coming = [&](std::int32_t r) {
        auto const count = heard[static_cast<std::size_t>(r)].count;
        return sink{std::as_writable_bytes(std::span{came}.subspan(ends[static_cast<std::size_t>(r)] - count, count))};
    };
    coll::alltoallv(t, leaving, coming);
    return detail::ends_at(t.me(), came, t.size(), with_weights);
}
template <class Stack, class Errors> typename Errors::template as<dist_graph>
own_edges(communicator_view<Stack, Errors> const& c, std::span<edge const> told, bool weighted = false) {
    return Errors::run([&] {
        auto const& s = c.native();
        return own_edges(coll::team<Stack>{s.wire, s.who, s.me, s.rooted_calls}, told, weighted);
    });
}

template <class Stack> class topology_communicator;

/// A communicator whose processes have neighbours. Does not own.
template <class Stack, class Errors = errors::throwing> class topology_view : public communicator_view<Stack, Errors> {
    using base = communicator_view<Stack, Errors>;
    topology const* shape_;
    template <class T> using as = typename Errors::template as<T>;
    template <class T> using begun = typename Errors::template as<collective_request<Stack, T>>;
    template <class T> using lists = std::vector<std::vector<T>>;
    using lengths = std::vector<std::uint64_t>;

public:
    topology_view(communicator_state<Stack> const& s, topology const& shape) noexcept : base{s}, shape_{&shape} {}
    template <class Other> topology_view<Stack, Other> with() const noexcept { return {this->native(), *shape_}; }

    topology const& shape() const noexcept { return *shape_; }
    /// Whom this rank hears of, and whom it tells, in the order of the shares.
    std::span<mpt::rank const> sources() const noexcept { return shape_->sources(); }
    std::span<mpt::rank const> destinations() const noexcept { return shape_->destinations(); }
    as<topology_communicator<Stack>> dup(std::uint32_t asserted = 0) const;
    begun<topology_communicator<Stack>> idup(std::uint32_t asserted = 0) const;

    /// all: room for what each source brings. Section 8.6.1.
    template <sendable T, receivable R> as<void> neighbor_allgather(T const& mine, R&& all) const {
        return Errors::run([&] {
            std::span<std::byte const> const one = detail::bytes_of(mine);
            auto const gathered = checked_gather<T>("neighbor_allgather", one, detail::room_of(all));
            coll::neighbor_allgather(this->team(), near(), source{one}, gathered);
        });
    }
    /// Every source's range, of any length.
    template <element_range R> as<lists<std::ranges::range_value_t<R>>> neighbor_allgatherv(R const& mine) const {
        return Errors::run([&] {
            require("neighbor_allgatherv");
            auto all = lists_of<std::ranges::range_value_t<R>>(lengths(destinations().size(), std::ranges::size(mine)));
            coll::neighbor_allgather(this->team(), near(), source{detail::bytes_of(mine)}, room(all));
            return all;
        });
    }
    /// mine: a share for each destination, side by side; all: room for one from each source. Section 8.6.2.
    template <element_range R, receivable I> as<void> neighbor_alltoall(R const& mine, I&& all) const {
        return Errors::run([&] {
            auto const [out, in] = checked_shares<R>("neighbor_alltoall", detail::bytes_of(mine), detail::room_of(all));
            coll::neighbor_alltoall(this->team(), near(), out, in);
        });
    }
    /// mine: for each destination a range of any length; what came from each source.
    template <detail::range_of_ranges R> as<lists<detail::inner_t<R>>> neighbor_alltoallv(R const& mine) const {
        return Errors::run([&] {
            require("neighbor_alltoallv");
            if (std::ranges::size(mine) != destinations().size())
                checks::bad_neighbours("neighbor_alltoallv", std::ranges::size(mine), 1, destinations().size());
            lengths out;
            for (auto const& one : mine) out.push_back(std::ranges::size(one));
            auto all = lists_of<detail::inner_t<R>>(out);
            auto const piece = [&](std::int32_t i) { return source{detail::bytes_of(std::ranges::begin(mine)[i])}; };
            coll::neighbor_alltoall(this->team(), near(), piece, room(all));
            return all;
        });
    }

    /// mine: for each destination what it gets, laid out by any datatype; all: for each source where what it brings goes.
    template <detail::range_of_layouts Out, detail::range_of_rooms In>
    as<void> neighbor_alltoallw(Out const& mine, In const& all) const {
        return Errors::run([&] {
            require("neighbor_alltoallw");
            if (std::ranges::size(mine) != destinations().size())
                checks::bad_neighbours("neighbor_alltoallw", std::ranges::size(mine), 1, destinations().size());
            if (std::ranges::size(all) != sources().size())
                checks::bad_neighbours("neighbor_alltoallw", std::ranges::size(all), 1, sources().size());
            auto const piece = [&](std::int32_t i) { return detail::bytes_of(std::ranges::begin(mine)[i]); };
            auto const place = [&](std::int32_t i) { return detail::room_of(std::ranges::begin(all)[i]); };
            coll::neighbor_alltoall(this->team(), near(), piece, place);
        });
    }

    // --- begun here and waited for later: data are taken by value, `all` comes back from wait() (mpi/nonblocking.hpp) --------
    template <sendable T, element_range R> begun<R> ineighbor_allgather(T mine, R all) const {
        return Errors::run([&] {
            return this->started(
                std::pair{std::move(mine), std::move(all)},
                [&](auto const& t, auto& d) {
                    std::span<std::byte const> const one = detail::bytes_of(d.first);
                    auto const gathered = checked_gather<T>("ineighbor_allgather", one, detail::room_of(d.second));
                    coll::neighbor_allgather(t, near(), source{one}, gathered);
                },
                [](auto& d) { return std::move(d.second); });
        });
    }
    template <element_range R, element_range I> begun<I> ineighbor_alltoall(R mine, I all) const {
        return Errors::run([&] {
            return this->started(
                std::pair{std::move(mine), std::move(all)},
                [&](auto const& t, auto& d) {
                    auto const [out, in] =
                        checked_shares<R>("ineighbor_alltoall", detail::bytes_of(d.first), detail::room_of(d.second));
                    coll::neighbor_alltoall(t, near(), out, in);
                },
                [](auto& d) { return std::move(d.second); });
        });
    }

private:
    coll::neighbours near() const noexcept { return {sources(), destinations(), shape_->template as<cartesian>() != nullptr}; }
    void require(char const* call) const { shape_->require_neighbours(call); }

    template <class T>
    coll::blocks checked_gather(char const* call, std::span<std::byte const> one, std::span<std::byte> all) const {
        require(call);
        constexpr auto size = sizeof(element_t<T>);
        if (all.size() != one.size() * sources().size())
            checks::bad_neighbours(call, all.size() / size, one.size() / size, sources().size());
        return {all, one.size()};
    }
    /// As large as the side says that has neighbours.
    template <class R> std::pair<coll::const_blocks, coll::blocks>
    checked_shares(char const* call, std::span<std::byte const> mine, std::span<std::byte> all) const {
        require(call);
        constexpr auto size = sizeof(element_t<R>);
        auto const to = destinations().size(), from = sources().size();
        auto const each = to != 0 ? mine.size() / to / size * size : from != 0 ? all.size() / from / size * size : 0;
        if (mine.size() != each * to) checks::bad_neighbours(call, mine.size() / size, each / size, to);
        if (all.size() != each * from) checks::bad_neighbours(call, all.size() / size, each / size, from);
        return {{mine, each}, {all, each}};
    }
    /// Room for what comes, whose lengths the senders tell.
    template <class T> lists<T> lists_of(lengths const& out) const {
        lengths in(sources().size());
        coll::neighbor_alltoall(this->team(), near(), coll::const_blocks{std::as_bytes(std::span{out}), sizeof(out[0])},
                                coll::blocks{std::as_writable_bytes(std::span{in}), sizeof(in[0])});
        lists<T> all;
        for (auto const n : in) all.emplace_back(n);
        return all;
    }
    template <class T> static auto room(lists<T>& all) noexcept {
        return [&all](std::int32_t i) { return sink{detail::room_of(all[static_cast<std::size_t>(i)])}; };
    }
};

/// Owns its state; the rest is the view's.
template <class Stack> class topology_communicator : public topology_view<Stack> {
    communicator<Stack> own_;
    std::unique_ptr<topology> shape_;
    topology_communicator(communicator<Stack> c, std::unique_ptr<topology> shape)
        : topology_view<Stack>{c.native(), *shape}, own_{std::move(c)}, shape_{std::move(shape)} {}

public:
    /// c: a communicator that nobody else uses.
    topology_communicator(communicator<Stack> c, topology shape)
        : topology_communicator{std::move(c), std::make_unique<topology>(std::move(shape))} {}
    topology_communicator(topology_communicator&&) noexcept = default;
    topology_communicator& operator=(topology_communicator&&) noexcept = default;
    topology_view<Stack> view() const noexcept { return *this; }
};

template <class Stack, class Errors> auto topology_view<Stack, Errors>::dup(std::uint32_t asserted) const
    -> as<topology_communicator<Stack>> {
    return Errors::run([&] {
        return topology_communicator<Stack>{this->base::template with<errors::throwing>().dup(asserted), *shape_};
    });
}

template <class Stack, class Errors> auto topology_view<Stack, Errors>::idup(std::uint32_t asserted) const
    -> begun<topology_communicator<Stack>> {
    return Errors::run([&] {
        return this->duplicated(asserted, [shape = *shape_](communicator<Stack> c) {
            return topology_communicator<Stack>{std::move(c), shape};
        });
    });
}

/// Collective: a communicator of the ranks that have a place in a grid or a graph. Sections 8.5.1 and 8.5.3.
template <class Stack, class Errors, class Shape>
    requires std::same_as<Shape, cartesian> || std::same_as<Shape, graph>
typename Errors::template as<std::optional<topology_communicator<Stack>>>
with_topology(communicator_view<Stack, Errors> const& c, Shape shape) {
    return Errors::run([&]() -> std::optional<topology_communicator<Stack>> {
        if (shape.size() > c.size()) checks::bad_pieces("with_topology", static_cast<std::size_t>(shape.size()), c.size());
        auto const place = c.rank() < shape.size() ? std::optional{0} : std::nullopt;
        auto part = c.template with<errors::throwing>().split(place, c.rank());
        if (!part) return std::nullopt;
        return topology_communicator<Stack>{std::move(*part), topology{std::move(shape), c.rank()}};
    });
}
/// Of all ranks. Section 8.5.4.
template <class Stack, class Errors> typename Errors::template as<topology_communicator<Stack>>
with_topology(communicator_view<Stack, Errors> const& c, dist_graph shape) {
    return Errors::run([&] {
        for (auto const* list : {&shape.in(), &shape.out()})
            for (auto const r : list->ranks) checks::to("with_topology", r, c.size());
        auto all = c.template with<errors::throwing>().split(0, c.rank()); // not a dup: it gets none of the attributes
        return topology_communicator<Stack>{std::move(*all), topology{std::move(shape)}};
    });
}

} // namespace mpt::inline v0
