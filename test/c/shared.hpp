// test/c/shared - what tests of groups, communicators and requests ask again and again.
#pragma once
#include <numeric>
#include <vector>

#include "ranks.hpp"

namespace mpt::c::test {

/// The world ranks of a group, in its order.
inline std::vector<int> members(MPI_Group g) {
    int n = 0;
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group_size(g, &n);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    std::vector<int> ranks(static_cast<std::size_t>(n)), there(ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    EXPECT_EQ(MPI_Group_translate_ranks(g, n, ranks.data(), world, there.data()), MPI_SUCCESS);
    MPI_Group_free(&world);
    return there;
}
inline std::vector<int> members(MPI_Comm c) {
    MPI_Group g = MPI_GROUP_NULL;
    MPI_Comm_group(c, &g);
    auto all = members(g);
    MPI_Group_free(&g);
    return all;
}

/// Sends every rank's number round a communicator and looks at what comes: the members agree on the channel.
inline void expect_ring(MPI_Comm c) {
    int me = -1, n = 0, got = -1;
    MPI_Comm_rank(c, &me);
    MPI_Comm_size(c, &n);
    EXPECT_EQ(MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % n, 3, &got, 1, MPI_INT, (me + n - 1) % n, 3, c, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    EXPECT_EQ(got, (me + n - 1) % n);
}

inline MPI_Comm dup_of(MPI_Comm c) {
    MPI_Comm twin = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_dup(c, &twin), MPI_SUCCESS);
    return twin;
}

inline constexpr int huge = (1 << 20) + 1; // ints: no transport takes so much before it is received

inline std::vector<int> numbers_from(int first, int n) {
    std::vector<int> v(static_cast<std::size_t>(n));
    std::iota(v.begin(), v.end(), first);
    return v;
}
/// However often it is asked for.
inline void expect_pending(MPI_Request& r) {
    for (int i = 0, flag = -1; i < 50; ++i) {
        MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        EXPECT_FALSE(flag);
    }
}

} // namespace mpt::c::test
