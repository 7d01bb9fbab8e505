#include <algorithm>
#include <deque>
#include <numeric>

#include "support/scattered.hpp"
#include "support/steps.hpp"
#include <mpt/coll/neighbor.hpp>
#include <mpt/mpi/cartesian.hpp>

namespace {
using namespace mpt::test;
namespace coll = mpt::coll;

template <class Stack> using coll_neighbor = team_over<Stack>;
TYPED_TEST_SUITE(coll_neighbor, wires);

struct edge {
    int from, to;
    std::size_t size;
};

/// Edges that all ranks know, some of them more than once, some from a rank to itself.
std::vector<edge> random_edges(int ranks, dice& common, bool one_size) {
    auto const n = static_cast<unsigned>(ranks);
    auto const size = [&] { return common.one_of<std::size_t>({0, 1, 30, 257, 4096, 20000, 80000}); };
    auto const every = size();
    std::vector<edge> all;
    for (auto left = common.below(4 * n); left > 0; --left) {
        edge const e{static_cast<int>(common.below(n)), static_cast<int>(common.below(n)), one_size ? every : size()};
        for (auto times = 1 + common.below(8) / 7; times > 0; --times) all.push_back(e);
    }
    return all;
}

/// One rank's end of the edges: each with its piece, and between them places where nobody is.
struct end_of_edges {
    std::vector<mpt::rank> peers;
    std::vector<int> which; // edge; -1: nobody
    std::deque<scattered> pieces;

    /// Edges of different peers in any order, those of one peer in theirs.
    end_of_edges(std::vector<edge> const& all, int me, int edge::*mine, int edge::*other, dice& own) {
        std::vector<unsigned> key;
        for (int r = 0; r < 64; ++r) key.push_back(own.seed());
        std::vector<std::size_t> list(all.size());
        std::iota(list.begin(), list.end(), std::size_t{0});
        std::erase_if(list, [&](std::size_t i) { return all[i].*mine != me; });
        std::ranges::stable_sort(list, {}, [&](std::size_t i) { return key[static_cast<std::size_t>(all[i].*other)]; });
        for (auto const i : list) {
            if (own.below(5) == 0) add(mpt::proc_null, -1, 40, own);
            add(all[i].*other, static_cast<int>(i), all[i].size, own);
        }
    }
    void add(mpt::rank peer, int edge, std::size_t size, dice& own) {
        peers.push_back(peer), which.push_back(edge), pieces.emplace_back(size, own);
    }
    auto out() const {
        return [this](std::int32_t i) { return pieces[static_cast<std::size_t>(i)].out(); };
    }
    auto in() {
        return [this](std::int32_t i) { return pieces[static_cast<std::size_t>(i)].in(); };
    }
    /// What travels along an edge says so; where nobody is there is a mark of this rank's.
    void fill(unsigned seed) {
        for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i].fill(values_of(seed, which[i], 0, pieces[i].size()));
    }
};

TYPED_TEST(coll_neighbor, what_enters_an_edge_comes_out_of_its_other_end) {
    random_steps<TestFixture>(12, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        auto const edges = random_edges(team.size(), common, false);
        end_of_edges mine{edges, team.me(), &edge::from, &edge::to, own}, all{edges, team.me(), &edge::to, &edge::from, own};
        mine.fill(seed), all.fill(seed + 1);
        coll::neighbours const near{all.peers, mine.peers};
        either_way(team, common, [&](auto const& t) { coll::neighbor_alltoall(t, near, mine.out(), all.in()); });
        for (std::size_t i = 0; i < all.pieces.size(); ++i) {
            auto const& got = all.pieces[i];
            auto const from_whom = all.which[i] < 0 ? seed + 1 : seed; // where nobody is, what was there before
            EXPECT_TRUE(got.packed() == values_of(from_whom, all.which[i], 0, got.size())) << "piece " << i;
            EXPECT_TRUE(got.whole());
        }
    });
}

TYPED_TEST(coll_neighbor, everybody_has_the_piece_of_each_rank_it_hears_of) {
    random_steps<TestFixture>(8, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        auto edges = random_edges(team.size(), common, true);
        std::vector<std::size_t> sizes; // of a rank's piece
        for (int r = 0; r < team.size(); ++r) sizes.push_back(common.one_of<std::size_t>({0, 1, 300, 5000, 70000}));
        for (auto& e : edges) e.size = sizes[static_cast<std::size_t>(e.from)];
        end_of_edges const out{edges, team.me(), &edge::from, &edge::to, own};
        end_of_edges all{edges, team.me(), &edge::to, &edge::from, own};
        scattered mine{sizes[static_cast<std::size_t>(team.me())], own};
        mine.fill(values_of(seed, team.me(), 0, mine.size()));
        coll::neighbours const near{all.peers, out.peers};
        either_way(team, common, [&](auto const& t) { coll::neighbor_allgather(t, near, mine.out(), all.in()); });
        for (std::size_t i = 0; i < all.pieces.size(); ++i) {
            if (all.which[i] < 0) continue;
            EXPECT_TRUE(all.pieces[i].packed() == values_of(seed, all.peers[i], 0, all.pieces[i].size())) << "piece " << i;
        }
    });
}

/// Sizes whose product is n.
std::vector<int> random_dims(int n, dice& common) {
    std::vector<int> dims;
    for (int d = 2; n > 1; ++d)
        for (; n % d == 0; n /= d) dims.push_back(d);
    for (auto more = common.below(3); more > 0; --more) dims.push_back(1);
    for (auto i = dims.size(); i > 1; --i) std::swap(dims[i - 1], dims[common.below(static_cast<unsigned>(i))]);
    return dims;
}

TYPED_TEST(coll_neighbor, on_a_grid_what_goes_down_comes_in_from_above) {
    random_steps<TestFixture>(8, 12, [](auto const& team, dice& common, dice& own) {
        auto const seed = common.seed();
        auto const dims = random_dims(team.size(), common);
        std::vector<int> periodic;
        for (std::size_t i = 0; i < dims.size(); ++i) periodic.push_back(common.coin());
        mpt::cartesian const grid{dims, periodic, team.size()};
        auto const peers = grid.neighbours(team.me());
        auto const n = common.one_of<std::size_t>({1, 40, 5000, 70000});
        std::deque<scattered> mine, all;
        for (std::size_t i = 0; i < peers.size(); ++i) {
            mine.emplace_back(n, own), all.emplace_back(n, own);
            mine[i].fill(values_of(seed, team.me(), static_cast<int>(i), n));
            all[i].fill(values_of(seed, -1, 0, n));
        }
        auto const out = [&](std::int32_t i) { return mine[static_cast<std::size_t>(i)].out(); };
        auto const in = [&](std::int32_t i) { return all[static_cast<std::size_t>(i)].in(); };
        either_way(team, common, [&](auto const& t) { coll::neighbor_alltoall(t, {peers, peers, true}, out, in); });
        for (std::size_t i = 0; i < peers.size(); ++i) {
            auto const below = i % 2 == 0;
            auto const sent =
                static_cast<int>(below ? i + 1 : i - 1); // my lower neighbour's upper piece, and the other way round
            auto const wanted = peers[i] == mpt::proc_null ? values_of(seed, -1, 0, n) : values_of(seed, peers[i], sent, n);
            EXPECT_TRUE(all[i].packed() == wanted) << "piece " << i << " of " << peers.size();
        }
    });
}

TYPED_TEST(coll_neighbor, another_size_than_was_expected_is_a_sentence) {
    auto const said = this->failure_of_team(3, [](auto const& team, int me) {
        std::vector<mpt::rank> const below{(me + 2) % 3}, above{(me + 1) % 3};
        std::vector<int> const mine(3);
        std::vector<int> all(3);
        coll::neighbor_alltoall(team, {below, above}, coll::const_blocks{readable(mine), me == 1 ? 8u : 12u},
                                coll::blocks{writable(all), 12});
    });
    EXPECT_NE(said.find("8 bytes came where 12 were expected"), std::string::npos) << said;
}
} // namespace
