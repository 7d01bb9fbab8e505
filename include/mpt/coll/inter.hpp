/// coll/inter - collectives between two groups: what one side brings, the other one gets.
///
///        the side of the root            the other side                 by way of
///        broadcast   root                all get it                     its first rank, and a broadcast there
///        gather      root gets it        all bring a piece              one message from each
///        scatter     root                all get a piece                one message to each
///        reduce      root gets it        all bring elements             a reduction to its first rank, in rank order
///
///        without a root, both ways at once
///        barrier         each side waits for its own ranks, the first ranks for each other, then each side again
///        allgather       a rank's piece goes to one rank of the other side, which that side's own allgather hands on:
///                        each byte crosses once
///        alltoall        in step k the ranks whose sum is k, modulo the larger side, are partners
///        allreduce, reduce_scatter
///                        each side reduces to its first rank; those swap; each side hands on what came, or the parts of it
///
///   The functions have the names and arguments of those within one group (coll/gather.hpp ...), and get between{team, others} in place of
///   a team: `team` is this rank's side, whose messages travel in the same context. Data of all ranks are by ranks of the other side, but
///   for the counts of reduce_scatter: each side brings as many elements in all as the other, and cuts what it gets by its own counts.
///   A root is a rank of the other side, root_here at the root itself, or root_beside at the others of its side, who do nothing.
///
///   Limit    ranks that name different roots are not told. No piece is in place.
///   Memory   reductions: all elements at the first rank of a side, twice for reduce_scatter.
///   Tests    test/coll_inter_test.cpp    Source MPI-4.1 section 6.2.3, and those of the collectives.
#pragma once
#include <mpt/coll/allgather.hpp>
#include <mpt/coll/barrier.hpp>
#include <mpt/coll/broadcast.hpp>
#include <mpt/coll/reduce.hpp>

namespace mpt::inline v0::coll {

/// Roots that are no rank of the other side, with the values of the binary interface: MPI_PROC_NULL, MPI_ROOT.
inline constexpr std::int32_t root_beside = proc_null, root_here = -4;

/// Both sides, as a rank of one sees them.
template <team_type Team> class between {
    Team here_, there_;

public:
    /// others: the other side, which shares no rank with the team.
    between(Team const& team, group const& others) noexcept : here_{team}, there_{team.among(others, team.me())} {}
    /// This side.
    Team const& here() const noexcept { return here_; }
    /// To send to and receive from the other one: its ranks.
    Team const& there() const noexcept { return there_; }
    bool is_first() const noexcept { return here_.me() == 0; }
};

template <team_type Team, class Algorithm> void to_the_end(between<Team> const& s, Algorithm const& algorithm) {
    to_the_end(s.here(), [&](Team const& here) { algorithm(between{here, s.there().who()}); });
}

template <team_type Team> void barrier(between<Team> const& s) {
    barrier(s.here());
    if (s.is_first()) s.there().nod(0, 0, speaker::barrier);
    barrier(s.here());
}

/// data: read at the root, written on the other side.
template <team_type Team> void broadcast(between<Team> const& s, place const& data, std::int32_t root) {
    if (root == root_beside) return;
    if (root == root_here) return s.there().send(0, speaker::broadcast, data.out);
    to_the_end(s, [&](auto const& sides) {
        if (sides.is_first()) sides.there().recv(root, speaker::broadcast, data.in);
        detail::broadcast_by_size(sides.here(), data, 0, speaker::broadcast);
    });
}

// --- pieces ---------------------------------------------------------------------------------------------------------------------

/// mine: on the side that brings. all: asked for at the root.
template <team_type Team>
void gatherv(between<Team> const& s, std::optional<source> const& mine, by_rank<sink> all, std::int32_t root) {
    if (root >= 0) return s.there().send(root, speaker::gather, *mine);
    to_the_end(s, [&](auto const& sides) {
        for (std::int32_t r = 0; root == root_here && r < s.there().size(); ++r) sides.there().recv(r, speaker::gather, all(r));
    });
}
template <team_type Team>
void gather(between<Team> const& s, std::optional<source> const& mine, by_rank<sink> all, std::int32_t root) {
    gatherv(s, mine, all, root);
}

/// all: asked for at the root. mine: on the side that gets.
template <team_type Team>
void scatterv(between<Team> const& s, by_rank<source> all, std::optional<sink> const& mine, std::int32_t root) {
    if (root >= 0) return s.there().recv(root, speaker::scatter, *mine);
    for (std::int32_t r = 0; root == root_here && r < s.there().size(); ++r) s.there().send(r, speaker::scatter, all(r));
}
template <team_type Team>
void scatter(between<Team> const& s, by_rank<source> all, std::optional<sink> const& mine, std::int32_t root) {
    scatterv(s, all, mine, root);
}

namespace detail {

/// Piece r of the other side comes to rank r modulo this side's size, in round r / size; this rank's own goes by the other's size.
template <team_type Team> void cross(between<Team> const& s, source const& mine, by_rank<place> all) {
    auto const here = s.here().size(), there = s.there().size(), me = s.here().me().value;
    for (std::int32_t round = 0; round <= std::max((there - 1) / here, me / there); ++round) {
        auto const from = round * here + me, to = me % there;
        bool const gives = round == me / there, takes = from < there;
        if (gives && takes) s.there().exchange(to, mine, from, all(from).in, speaker::allgather);
        else if (gives) s.there().send(to, speaker::allgather, mine);
        else if (takes) s.there().recv(from, speaker::allgather, all(from).in);
    }
}

} // namespace detail

/// Pieces of any sizes; all ranks of a side know those of the other.
template <team_type Team> void allgather(between<Team> const& s, std::optional<source> const& mine, by_rank<place> all) {
    auto const here = s.here().size(), there = s.there().size();
    to_the_end(s, [&](auto const& sides) {
        detail::cross(sides, *mine, all);
        for (std::int32_t first = 0; first < there; first += here)
            allgather(sides.here(), in_place, [&](std::int32_t r) { return first + r < there ? all(first + r) : place{}; });
    });
}

/// Pieces of any sizes: what one rank has for another is as large as what that one expects of it.
template <team_type Team> void alltoallv(between<Team> const& s, by_rank<source> mine, by_rank<sink> all) {
    auto const steps = std::max(s.here().size(), s.there().size());
    to_the_end(s, [&](auto const& sides) {
        for (std::int32_t k = 0; k < steps; ++k) {
            auto const partner = (k - s.here().me() + steps) % steps;
            if (partner >= s.there().size()) continue;
            sides.there().exchange(partner, mine(partner), partner, all(partner), speaker::alltoall);
        }
    });
}
template <team_type Team> void alltoall(between<Team> const& s, by_rank<source> mine, by_rank<sink> all) {
    alltoallv(s, mine, all);
}

// --- reductions -----------------------------------------------------------------------------------------------------------------

/// n elements from each rank of the other side. mine: on the side that brings. result: at the root.
template <team_type Team> void reduce(between<Team> const& s, operand const& op, std::byte const* mine, std::byte* result,
                                      std::size_t n, std::int32_t root) {
    if (root == root_beside || n == 0) return;
    to_the_end(s, [&](auto const& sides) {
        reduction const here{sides.here(), op, speaker::reduce}, there{sides.there(), op, speaker::reduce};
        if (root == root_here) return there.recv(0, result, n);
        auto const sum = here.work(s.is_first() ? n : 0);
        detail::reduce_by_size(here, mine, sum.origin(), n, 0);
        if (s.is_first()) there.send(root, sum.origin(), n);
    });
}

namespace detail {

/// This side's combination to the other's first rank; what comes from there is at this side's first rank, in `got`.
template <team_type Team>
void swap_sums(between<Team> const& s, reduction<Team> const& here, std::byte const* mine, std::byte* got, std::size_t n) {
    reduction const there{s.there(), here.op(), here.speaks()};
    auto const sum = here.work(s.is_first() ? n : 0);
    reduce_by_size(here, mine, sum.origin(), n, 0);
    if (s.is_first()) there.exchange(0, sum.origin(), n, 0, got, n);
}

} // namespace detail

/// n elements from each rank, as many on both sides. all: the combination of the other side's.
template <team_type Team>
void allreduce(between<Team> const& s, operand const& op, std::byte const* mine, std::byte* all, std::size_t n) {
    if (n == 0) return;
    to_the_end(s, [&](auto const& sides) {
        reduction const here{sides.here(), op, speaker::allreduce};
        detail::swap_sums(sides, here, mine, all, n);
        elements_out const read{here.op(), all, n};
        elements_in const written{here.op(), all, n};
        place const data{source::of(sides.here().lasting(read)), sink::of(sides.here().lasting(written))};
        detail::broadcast_by_size(sides.here(), data, 0, speaker::allreduce);
    });
}

/// counts(r): how many elements rank r of this side keeps of the other side's combination. mine: the sum of those. part: the own.
template <team_type Team> void reduce_scatter(between<Team> const& s, operand const& op, std::byte const* mine, std::byte* part,
                                              by_rank<std::size_t> counts) {
    auto const firsts = detail::firsts_of(s.here().size(), counts);
    auto const all = firsts.back();
    if (all == 0) return;
    to_the_end(s, [&](auto const& sides) {
        reduction const here{sides.here(), op, speaker::reduce_scatter};
        auto const got = here.work(s.is_first() ? all : 0);
        detail::swap_sums(sides, here, mine, got.origin(), all);
        if (!s.is_first()) return here.recv(0, part, counts(here.me()));
        here.copy(got.origin(), part, counts(0));
        for (std::int32_t r = 1; r < here.size(); ++r)
            here.send(r, here.at(got.origin(), firsts[static_cast<std::size_t>(r)]), counts(r));
    });
}
/// The same number of elements for each rank of a side: here count times the ranks here, there as many in all.
template <team_type Team> void reduce_scatter_block(between<Team> const& s, operand const& op, std::byte const* mine,
                                                    std::byte* part, std::size_t count) {
    reduce_scatter(s, op, mine, part, [count](std::int32_t) { return count; });
}

} // namespace mpt::inline v0::coll
