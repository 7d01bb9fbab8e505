// Persistent sends and receives by the C interface: every mode, short starts beside long ones, what cannot be started.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "ranks.hpp"
#include "shared.hpp"

namespace {

using mpt::c::test::expect_failure;
using mpt::c::test::expect_pending;
using mpt::c::test::huge;
using mpt::c::test::numbers_from;
using mpt::c::test::ranks;

using made_send = int (*)(void const*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

TEST(CPersistent, PersistentSendsOfEveryModeAreStartedTogetherAgainAndAgain) {
    constexpr std::array<int, 3> lengths{1, 700, 40000};
    ranks(3, [&](int me, int size) {
        int const right = (me + 1) % size, left = (me + size - 1) % size;
        std::vector<std::byte> room(1 << 20);
        MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
        for (made_send make : {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init}) {
            std::array<std::vector<int>, 3> in, out;
            std::array<MPI_Request, 3> receives{}, sends{};
            for (std::size_t i = 0; i < 3; ++i) {
                auto const tag = static_cast<int>(i);
                in[i].resize(static_cast<std::size_t>(lengths[i]));
                out[i].resize(in[i].size());
                MPI_Recv_init(in[i].data(), lengths[i], MPI_INT, left, tag, MPI_COMM_WORLD, &receives[i]);
                EXPECT_EQ(make(out[i].data(), lengths[i], MPI_INT, right, tag, MPI_COMM_WORLD, &sends[i]), MPI_SUCCESS);
            }
            auto const made = sends;
            for (int round = 0; round < 5; ++round) {
                EXPECT_EQ(MPI_Startall(3, receives.data()), MPI_SUCCESS);
                MPI_Barrier(MPI_COMM_WORLD); // a ready send needs its receive
                for (auto& o : out) std::iota(o.begin(), o.end(), me * 100 + round);
                EXPECT_EQ(MPI_Startall(3, sends.data()), MPI_SUCCESS);
                EXPECT_EQ(MPI_Waitall(3, sends.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
                EXPECT_EQ(MPI_Waitall(3, receives.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
                EXPECT_EQ(sends, made);
                for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(in[i], numbers_from(left * 100 + round, lengths[i]));
            }
            for (std::size_t i = 0; i < 3; ++i) MPI_Request_free(&sends[i]), MPI_Request_free(&receives[i]);
        }
        void* back = nullptr;
        int bytes = 0;
        MPI_Buffer_detach(&back, &bytes);
    });
}

// Those that start by a short way beside those that do not, in every order, started together or one by one: all have one tag, so none overtakes
// another.
TEST(CPersistent, PersistentTransfersOfEverySortAreStartedTogether) {
    ranks(2, [](int me, int) {
        int const other = 1 - me, tag = 6;
        enum { plain, of_anybody, of_nobody, in_pieces, sorts };
        MPI_Datatype apart = MPI_DATATYPE_NULL;
        MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
        MPI_Type_commit(&apart);
        std::array<int, 3 * sorts> in{};
        std::array<int, 3 * sorts> out{};
        std::array<MPI_Request, sorts> receives{}, sends{};
        for (int i = 0; i < sorts; ++i) {
            int const from = i == of_anybody ? MPI_ANY_SOURCE : i == of_nobody ? MPI_PROC_NULL : other;
            auto const type = i == in_pieces ? apart : MPI_INT;
            MPI_Recv_init(&in[static_cast<std::size_t>(3 * i)], 1, type, from, tag, MPI_COMM_WORLD,
                          &receives[static_cast<std::size_t>(i)]);
            MPI_Send_init(&out[static_cast<std::size_t>(3 * i)], 1, type, i == of_nobody ? MPI_PROC_NULL : other, tag,
                          MPI_COMM_WORLD, &sends[static_cast<std::size_t>(i)]);
        }
        std::array<std::size_t, sorts> order{};
        std::iota(order.begin(), order.end(), 0u);
        int round = 0;
        do {
            std::array<MPI_Request, sorts> to{}, from{};
            for (std::size_t i = 0; i < sorts; ++i) to[i] = sends[order[i]], from[i] = receives[order[i]];
            std::iota(out.begin(), out.end(), 100 * me + 1000 * round);
            in.fill(-1);
            auto const start = [&](auto& all) {
                if (round % 2 == 0) return static_cast<void>(MPI_Startall(sorts, all.data()));
                for (auto& r : all) MPI_Start(&r);
            };
            start(from), start(to);
            MPI_Waitall(sorts, to.data(), MPI_STATUSES_IGNORE);
            for (std::size_t i = 0; i < sorts; ++i) {
                MPI_Status s{};
                for (int done = 0; round % 2 == 0 && !done;) MPI_Test(&from[i], &done, &s);
                if (round % 2 == 1) MPI_Wait(&from[i], &s);
                auto const what = static_cast<int>(order[i]);
                int count = -1;
                MPI_Get_count(&s, MPI_INT, &count);
                EXPECT_EQ(s.MPI_SOURCE, what == of_nobody ? MPI_PROC_NULL : other);
                EXPECT_EQ(s.MPI_TAG, what == of_nobody ? MPI_ANY_TAG : tag);
                EXPECT_EQ(count, what == of_nobody ? 0 : what == in_pieces ? 2 : 1);
                auto const at = 3 * order[i];
                int const first = 100 * other + 1000 * round + static_cast<int>(at);
                EXPECT_EQ(in[at], what == of_nobody ? -1 : first);
                EXPECT_EQ(in[at + 2], what == in_pieces ? first + 2 : -1);
                EXPECT_EQ(from[i], receives[order[i]]);
            }
            ++round;
        } while (std::ranges::next_permutation(order).found);
        for (std::size_t i = 0; i < sorts; ++i) MPI_Request_free(&sends[i]), MPI_Request_free(&receives[i]);
        MPI_Type_free(&apart);
    });
}

// Nobody receives yet: some of them have no room to leave.
TEST(CPersistent, PersistentSendsThatCannotLeaveGoOnBehindThoseThatDid) {
    constexpr int n = 400, length = 2000; // more than a wire holds
    ranks(2, [](int me, int) {
        std::vector<std::vector<int>> data(n, std::vector<int>(length));
        std::vector<MPI_Request> all(n);
        for (std::size_t i = 0; i < n; ++i)
            me == 0 ? MPI_Send_init(data[i].data(), length, MPI_INT, 1, 4, MPI_COMM_WORLD, &all[i])
                    : MPI_Recv_init(data[i].data(), length, MPI_INT, 0, 4, MPI_COMM_WORLD, &all[i]);
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; auto& d : data) std::iota(d.begin(), d.end(), me == 0 ? i++ + round : -1);
            if (me == 1) MPI_Barrier(MPI_COMM_WORLD); // receives come when all sends have been started
            EXPECT_EQ(MPI_Startall(n, all.data()), MPI_SUCCESS);
            if (me == 0) MPI_Barrier(MPI_COMM_WORLD);
            EXPECT_EQ(MPI_Waitall(n, all.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
            for (int i = 0; i < n && me == 1; ++i)
                EXPECT_EQ(data[static_cast<std::size_t>(i)], numbers_from(i + round, length));
        }
        for (auto& r : all) MPI_Request_free(&r);
    });
}

TEST(CPersistent, APersistentSendIsCompleteWhenItsModeSays) {
    ranks(1, [](int, int) {
        auto const out = numbers_from(9, huge);
        std::vector<int> in(out.size());
        std::vector<std::byte> room(huge * sizeof(int) + MPI_BSEND_OVERHEAD);
        MPI_Request sync = MPI_REQUEST_NULL, buffered = MPI_REQUEST_NULL;
        MPI_Ssend_init(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &sync);
        MPI_Bsend_init(out.data(), huge, MPI_INT, 0, 2, MPI_COMM_SELF, &buffered);
        MPI_Start(&sync);
        expect_pending(sync);
        MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        EXPECT_EQ(MPI_Wait(&sync, MPI_STATUS_IGNORE), MPI_SUCCESS);
        expect_failure(MPI_Start(&buffered), MPI_ERR_BUFFER, {"MPI_Start", "no buffer is attached"});
        MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
        EXPECT_EQ(MPI_Start(&buffered), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&buffered, MPI_STATUS_IGNORE), MPI_SUCCESS); // nobody has received it
        MPI_Recv(in.data(), huge, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        EXPECT_EQ(in, out);
        void* back = nullptr;
        int bytes = 0;
        MPI_Buffer_detach(&back, &bytes);
        MPI_Request_free(&sync);
        MPI_Request_free(&buffered);
    });
}

TEST(CPersistent, WhatCannotBeStartedIsRefused) {
    ranks(1, [](int, int) {
        int x = 0;
        MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Recv_init(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]);
        expect_failure(MPI_Startall(-1, r), MPI_ERR_ARG, {"MPI_Startall", "count is -1"});
        expect_failure(MPI_Startall(1, nullptr), MPI_ERR_ARG, {"array_of_requests is a null pointer"});
        expect_failure(MPI_Startall(2, r), MPI_ERR_REQUEST, {"array_of_requests[1]", "MPI_REQUEST_NULL"});
        int flag = 0;
        MPI_Request_get_status(r[0], &flag, MPI_STATUS_IGNORE);
        EXPECT_TRUE(flag); // the first was not started either
        EXPECT_EQ(MPI_Startall(1, r), MPI_SUCCESS);
        expect_failure(MPI_Startall(1, r), MPI_ERR_REQUEST, {"active already"});
        MPI_Irecv(&x, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &r[1]);
        expect_failure(MPI_Startall(1, &r[1]), MPI_ERR_REQUEST, {"not persistent"});
        for (int tag : {2, 1}) MPI_Send(&tag, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
        EXPECT_EQ(MPI_Waitall(2, r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        auto dead = r[0];
        MPI_Request_free(&r[0]);
        int index = 0;
        expect_failure(MPI_Testany(1, &dead, &index, &flag, nullptr), MPI_ERR_REQUEST, {"array_of_requests[0] is 0x", "freed"});
        expect_failure(MPI_Request_get_status_any(1, &dead, &index, &flag, nullptr), MPI_ERR_REQUEST, {"freed"});
        expect_failure(MPI_Request_get_status_some(-2, r, &index, &flag, nullptr), MPI_ERR_ARG, {"incount is -2"});
        expect_failure(MPI_Request_get_status_all(2, nullptr, &flag, nullptr), MPI_ERR_ARG, {"array_of_requests is a null"});
    });
}

} // namespace
