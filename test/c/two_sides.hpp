// test/c/two_sides - intercommunicators for tests: ranks of MPI_COMM_WORLD on two sides.
#pragma once
#include <algorithm>
#include <set>

#include "shared.hpp"

namespace mpt::c::test {

/// The ranks of MPI_COMM_WORLD on both sides, in the order that they have there, and which side a rank is on: 2: on none.
struct two_sides {
    std::vector<int> of[2];

    /// Some or all of n ranks, n > 1, in any order.
    template <class Random> static two_sides drawn(int n, Random& random) {
        std::vector<int> all(static_cast<std::size_t>(n));
        std::iota(all.begin(), all.end(), 0);
        std::shuffle(all.begin(), all.end(), random);
        auto const first = 1 + random() % (all.size() - 1), last = first + 1 + random() % (all.size() - first);
        auto const at = [&](std::size_t i) { return all.begin() + static_cast<long>(i); };
        return {{{all.begin(), at(first)}, {at(first), at(last)}}};
    }
    /// The first n ranks, and m after them.
    static two_sides in_order(int n, int m) {
        two_sides s;
        for (int r = 0; r < n + m; ++r) s.of[r >= n].push_back(r);
        return s;
    }
    int side(int world) const {
        for (int s : {0, 1})
            if (std::ranges::count(of[s], world) != 0) return s;
        return 2;
    }
};

/// Collective over MPI_COMM_WORLD: an intracommunicator of these ranks in this order.
inline MPI_Comm comm_of(std::vector<int> const& ranks, int me) {
    MPI_Comm made = MPI_COMM_NULL;
    auto const at = std::ranges::find(ranks, me);
    EXPECT_EQ(MPI_Comm_split(MPI_COMM_WORLD, at == ranks.end() ? MPI_UNDEFINED : ranks.front(),
                             static_cast<int>(at - ranks.begin()), &made),
              MPI_SUCCESS);
    return made;
}
/// Collective over MPI_COMM_WORLD: the intercommunicator, or MPI_COMM_NULL. leaders: ranks of their sides.
inline MPI_Comm joined(two_sides const& s, int me, int leader_of_0 = 0, int leader_of_1 = 0) {
    MPI_Comm local[2], made = MPI_COMM_NULL;
    for (int i : {0, 1}) local[i] = comm_of(s.of[i], me);
    int const side = s.side(me), leaders[]{leader_of_0, leader_of_1};
    if (side < 2) {
        int const other = s.of[1 - side][static_cast<std::size_t>(leaders[1 - side])];
        EXPECT_EQ(MPI_Intercomm_create(local[side], leaders[side], MPI_COMM_WORLD, other, 12, &made), MPI_SUCCESS);
        MPI_Comm_free(&local[side]);
    }
    return made;
}

inline std::vector<int> remote_members(MPI_Comm c) {
    MPI_Group g = MPI_GROUP_NULL;
    EXPECT_EQ(MPI_Comm_remote_group(c, &g), MPI_SUCCESS);
    auto all = members(g);
    MPI_Group_free(&g);
    return all;
}

/// Every rank sends its rank in MPI_COMM_WORLD to every rank of the other side, and looks at what comes and from whom.
inline void expect_crossing(MPI_Comm c) {
    auto const others = remote_members(c);
    int me = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    std::vector<MPI_Request> sends(others.size());
    for (std::size_t r = 0; r < others.size(); ++r)
        EXPECT_EQ(MPI_Isend(&me, 1, MPI_INT, static_cast<int>(r), 4, c, &sends[r]), MPI_SUCCESS);
    std::set<int> came;
    for (std::size_t i = 0; i < others.size(); ++i) {
        int got = -1;
        MPI_Status status;
        EXPECT_EQ(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c, &status), MPI_SUCCESS);
        EXPECT_EQ(others.at(static_cast<std::size_t>(status.MPI_SOURCE)), got);
        came.insert(got);
    }
    EXPECT_EQ(came, (std::set<int>{others.begin(), others.end()}));
    MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
}

} // namespace mpt::c::test
