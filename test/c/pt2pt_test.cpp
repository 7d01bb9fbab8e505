// Chapter 3 of the C interface: sends and receives of every mode, requests, probes, buffers, and what is refused.
#include <chrono>
#include <numeric>
#include <thread>

#include "../support/dice.hpp"
#include "random_messages.hpp"
#include "ranks.hpp"
#include "shared.hpp"

namespace {

using mpt::c::here;
using mpt::c::test::expect_failure;
using mpt::c::test::numbers_from;
using mpt::c::test::ranks;

using blocking_send = int (*)(void const*, int, MPI_Datatype, int, int, MPI_Comm);
using started_send = int (*)(void const*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

TEST(CPt2pt, EveryBlockingSendIsReceivedWithItsStatus) {
    ranks(2, [](int me, int) {
        std::vector<std::byte> room(200000);
        if (me == 0) MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
        for (blocking_send send : {MPI_Send, MPI_Ssend, MPI_Bsend}) {
            for (int n : {0, 1, 5, 11, 300, 3000, 40000}) {
                auto const out = numbers_from(n, n);
                if (me == 0) {
                    EXPECT_EQ(send(out.data(), n, MPI_INT, 1, n % 100, MPI_COMM_WORLD), MPI_SUCCESS);
                    continue;
                }
                std::vector<int> in(static_cast<std::size_t>(n) + 3, -1);
                MPI_Status s{};
                EXPECT_EQ(MPI_Recv(in.data(), n + 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s), MPI_SUCCESS);
                int count = -1;
                MPI_Get_count(&s, MPI_INT, &count);
                EXPECT_EQ(count, n);
                EXPECT_EQ(s.MPI_SOURCE, 0);
                EXPECT_EQ(s.MPI_TAG, n % 100);
                EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
                EXPECT_EQ(in[static_cast<std::size_t>(n)], -1);
            }
        }
        void* back = nullptr;
        int size = 0;
        if (me == 0) {
            EXPECT_EQ(MPI_Buffer_detach(&back, &size), MPI_SUCCESS);
            EXPECT_EQ(back, room.data());
            EXPECT_EQ(size, 200000);
        }
    });
}

TEST(CPt2pt, AReadySendMeetsItsPostedReceive) {
    ranks(2, [](int me, int) {
        int x = me == 0 ? 17 : 0;
        MPI_Request r = MPI_REQUEST_NULL;
        if (me == 1) {
            MPI_Irecv(&x, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &r);
            MPI_Send(nullptr, 0, MPI_INT, 0, 5, MPI_COMM_WORLD);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            EXPECT_EQ(x, 17);
            return;
        }
        MPI_Recv(nullptr, 0, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(MPI_Rsend(&x, 1, MPI_INT, 1, 4, MPI_COMM_WORLD), MPI_SUCCESS);
    });
}

TEST(CPt2pt, StartedSendsAndReceivesCompleteByEveryWayOfWaiting) {
    ranks(3, [](int me, int size) {
        std::vector<std::byte> room(1 << 20);
        MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
        int const right = (me + 1) % size, left = (me + size - 1) % size;
        for (int way = 0; way < 6; ++way) {
            for (started_send send : {MPI_Isend, MPI_Issend, MPI_Ibsend}) {
                constexpr int messages = 6;
                std::vector<std::vector<int>> in(messages), out(messages);
                std::vector<MPI_Request> all(2 * messages);
                for (int i = 0; i < messages; ++i) {
                    auto const k = static_cast<std::size_t>(i);
                    out[k] = numbers_from(me * 1000 + i, 1 << (2 * i));
                    in[k].resize(out[k].size());
                    MPI_Irecv(in[k].data(), 1 << (2 * i), MPI_INT, left, i, MPI_COMM_WORLD, &all[k]);
                    send(out[k].data(), 1 << (2 * i), MPI_INT, right, i, MPI_COMM_WORLD, &all[k + messages]);
                }
                int const n = 2 * messages;
                int left_over = n;
                if (way == 0) MPI_Waitall(n, all.data(), MPI_STATUSES_IGNORE);
                for (int flag = 0; way == 1 && !flag;) MPI_Testall(n, all.data(), &flag, MPI_STATUSES_IGNORE);
                for (int at = 0; way == 2 && at != MPI_UNDEFINED; --left_over)
                    MPI_Waitany(n, all.data(), &at, MPI_STATUS_IGNORE);
                std::vector<int> which(static_cast<std::size_t>(n));
                for (int count = 0; way == 3 && left_over > 0; left_over -= count)
                    MPI_Waitsome(n, all.data(), &count, which.data(), MPI_STATUSES_IGNORE);
                for (int count = 0; way == 4 && left_over > 0; left_over -= count)
                    MPI_Testsome(n, all.data(), &count, which.data(), MPI_STATUSES_IGNORE);
                for (auto& r : all)
                    for (int flag = 0; way == 5 && !flag;) MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
                for (auto const r : all) EXPECT_EQ(r, MPI_REQUEST_NULL);
                for (int i = 0; i < messages; ++i)
                    EXPECT_EQ(in[static_cast<std::size_t>(i)], numbers_from(left * 1000 + i, 1 << (2 * i)));
            }
        }
        void* back = nullptr;
        int bytes = 0;
        MPI_Buffer_detach(&back, &bytes);
    });
}

TEST(CPt2pt, PersistentRequestsRunAgainAndAgain) {
    ranks(2, [](int me, int) {
        std::vector<int> data(1000);
        MPI_Request r = MPI_REQUEST_NULL;
        if (me == 0) MPI_Send_init(data.data(), 1000, MPI_INT, 1, 1, MPI_COMM_WORLD, &r);
        else MPI_Recv_init(data.data(), 1000, MPI_INT, 0, 1, MPI_COMM_WORLD, &r);
        for (int round = 0; round < 20; ++round) {
            if (me == 0) std::iota(data.begin(), data.end(), round);
            MPI_Status s{};
            int flag = 0;
            MPI_Test(&r, &flag, &s); // inactive: done, with an empty status
            EXPECT_TRUE(flag);
            EXPECT_EQ(s.MPI_SOURCE, MPI_ANY_SOURCE);
            EXPECT_EQ(MPI_Start(&r), MPI_SUCCESS);
            EXPECT_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
            EXPECT_NE(r, MPI_REQUEST_NULL);
            EXPECT_EQ(data, numbers_from(round, 1000));
        }
        EXPECT_EQ(MPI_Request_free(&r), MPI_SUCCESS);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
    });
}

TEST(CPt2pt, AProbedMessageIsOfTheSizeThatTheProbeTold) {
    ranks(2, [](int me, int) {
        if (me == 0) {
            for (int n : {3, 70, 9000}) MPI_Send(numbers_from(n, n).data(), n, MPI_INT, 1, n, MPI_COMM_WORLD);
            return;
        }
        for (int n : {9000, 3}) { // out of order
            MPI_Status s{};
            int count = 0;
            MPI_Probe(0, n, MPI_COMM_WORLD, &s);
            MPI_Get_count(&s, MPI_INT, &count);
            EXPECT_EQ(count, n);
            std::vector<int> in(static_cast<std::size_t>(count));
            MPI_Recv(in.data(), count, MPI_INT, 0, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            EXPECT_EQ(in, numbers_from(n, n));
        }
        MPI_Message m = MPI_MESSAGE_NULL;
        MPI_Status s{};
        EXPECT_EQ(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &s), MPI_SUCCESS);
        EXPECT_EQ(s.MPI_TAG, 70);
        int flag = 1;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
        EXPECT_FALSE(flag); // it is taken out of matching
        std::vector<int> in(70);
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Imrecv(in.data(), 70, MPI_INT, &m, &r);
        EXPECT_EQ(m, MPI_MESSAGE_NULL);
        MPI_Wait(&r, &s);
        EXPECT_EQ(s.MPI_SOURCE, 0);
        EXPECT_EQ(in, numbers_from(70, 70));
    });
}

/// Of another rank than the first, in more pieces than go with its announcement.
TEST(CPt2pt, AProbedMessageIsReceivedFromWhoeverSentIt) {
    ranks(3, [](int me, int) {
        constexpr int n = 3 << 20;
        if (me == 2) MPI_Send(numbers_from(9, n).data(), n, MPI_INT, 1, 6, MPI_COMM_WORLD);
        if (me == 1) {
            std::vector<int> in(n);
            MPI_Message m = MPI_MESSAGE_NULL;
            MPI_Status s{};
            MPI_Mprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &m, &s);
            EXPECT_EQ(MPI_Mrecv(in.data(), n, MPI_INT, &m, &s), MPI_SUCCESS);
            EXPECT_EQ(s.MPI_SOURCE, 2);
            EXPECT_EQ(in, numbers_from(9, n));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    });
}

TEST(CPt2pt, NobodyIsSentToAndReceivedFromAtOnce) {
    ranks(1, [](int, int) {
        int x = 5;
        MPI_Status s{};
        EXPECT_EQ(MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_EQ(MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &s), MPI_SUCCESS);
        EXPECT_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
        EXPECT_EQ(s.MPI_TAG, MPI_ANY_TAG);
        MPI_Message m = MPI_MESSAGE_NULL;
        MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &m, &s);
        EXPECT_EQ(m, MPI_MESSAGE_NO_PROC);
        EXPECT_EQ(MPI_Mrecv(&x, 1, MPI_INT, &m, &s), MPI_SUCCESS);
        EXPECT_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
        EXPECT_EQ(x, 5);
    });
}

TEST(CPt2pt, WhatWasExchangedInOneBufferIsThePartners) {
    ranks(2, [](int me, int) {
        auto data = numbers_from(me * 50, 5000);
        MPI_Status s{};
        EXPECT_EQ(MPI_Sendrecv_replace(data.data(), 5000, MPI_INT, 1 - me, 1, 1 - me, 1, MPI_COMM_WORLD, &s), MPI_SUCCESS);
        EXPECT_EQ(data, numbers_from((1 - me) * 50, 5000));
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Isendrecv_replace(data.data(), 5000, MPI_INT, 1 - me, 1, 1 - me, 1, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, &s);
        EXPECT_EQ(s.MPI_SOURCE, 1 - me);
        EXPECT_EQ(data, numbers_from(me * 50, 5000));
        std::vector<int> in(5000);
        MPI_Sendrecv(data.data(), 5000, MPI_INT, 1 - me, 2, in.data(), 5000, MPI_INT, 1 - me, 2, MPI_COMM_WORLD, &s);
        EXPECT_EQ(in, numbers_from((1 - me) * 50, 5000));
    });
}

/// One message round the ring, by either call, and what its status says.
void shift_round(int me, int size, int n, bool in_one_buffer, bool any) {
    int const right = (me + 1) % size, left = (me + size - 1) % size, tag = n % 1000;
    int const source = any ? MPI_ANY_SOURCE : left, wanted = any ? MPI_ANY_TAG : tag;
    auto out = numbers_from(me * 100, n);
    std::vector<int> in(static_cast<std::size_t>(n) + 1, -1);
    MPI_Status s{};
    int count = -1;
    int const code =
        in_one_buffer
            ? MPI_Sendrecv_replace(out.data(), n, MPI_INT, right, tag, source, wanted, MPI_COMM_WORLD, &s)
            : MPI_Sendrecv(out.data(), n, MPI_INT, right, tag, in.data(), n + 1, MPI_INT, source, wanted, MPI_COMM_WORLD, &s);
    EXPECT_EQ(code, MPI_SUCCESS);
    MPI_Get_count(&s, MPI_INT, &count);
    EXPECT_EQ(count, n);
    EXPECT_EQ(s.MPI_SOURCE, left);
    EXPECT_EQ(s.MPI_TAG, tag);
    EXPECT_EQ(in.back(), -1);
    in.pop_back();
    EXPECT_EQ(in_one_buffer ? out : in, numbers_from(left * 100, n));
}

TEST(CPt2pt, BothAtOnceAreASendAndAReceive) {
    ranks(3, [](int me, int size) {
        for (int n : {0, 1, 7, 40, 240, 300, 3000, 40000, 1 << 21})
            for (bool const in_one_buffer : {false, true})
                for (bool const any : {false, true})
                    for (int i = 0; i < 3; ++i) {
                        // Who comes late is waited for longer than anybody looks.
                        if (i == 2 && me == 1) std::this_thread::sleep_for(std::chrono::milliseconds{2});
                        shift_round(me, size, n, in_one_buffer, any);
                        if (any) MPI_Barrier(MPI_COMM_WORLD); // or it would be the next one's
                    }
    });
}

TEST(CPt2pt, BothAtOnceWhereOneSideIsNobody) {
    ranks(3, [](int me, int size) {
        int const right = me + 1 < size ? me + 1 : MPI_PROC_NULL, left = me > 0 ? me - 1 : MPI_PROC_NULL;
        for (int n : {1, 3000, 400000}) {
            auto out = numbers_from(me * 100, n);
            std::vector<int> in(out.size(), -1);
            MPI_Status s{};
            int count = -1;
            EXPECT_EQ(MPI_Sendrecv(out.data(), n, MPI_INT, right, 1, in.data(), n, MPI_INT, left, 1, MPI_COMM_WORLD, &s), 0);
            MPI_Get_count(&s, MPI_INT, &count);
            EXPECT_EQ(s.MPI_SOURCE, left);
            EXPECT_EQ(s.MPI_TAG, me > 0 ? 1 : MPI_ANY_TAG);
            EXPECT_EQ(count, me > 0 ? n : 0);
            EXPECT_EQ(in, me > 0 ? numbers_from((me - 1) * 100, n) : std::vector<int>(in.size(), -1));
            EXPECT_EQ(MPI_Sendrecv_replace(out.data(), n, MPI_INT, right, 2, left, 2, MPI_COMM_WORLD, &s), MPI_SUCCESS);
            EXPECT_EQ(s.MPI_SOURCE, left);
            EXPECT_EQ(out, numbers_from(me > 0 ? (me - 1) * 100 : 0, n));
        }
    });
}

/// What is too long for one side leaves the other side's message whole; and wrong arguments leave both unsent.
TEST(CPt2pt, BothAtOnceTellWhatIsWrongAsThemselves) {
    ranks(2, [](int me, int) {
        int const peer = 1 - me;
        for (int n : {4, 3000, 40000}) {
            auto const out = numbers_from(me, n);
            std::vector<int> in(out.size(), -1);
            MPI_Status s{};
            int const room = me == 0 ? 2 : n;
            int const code =
                MPI_Sendrecv(out.data(), n, MPI_INT, peer, 1, in.data(), room, MPI_INT, peer, 1, MPI_COMM_WORLD, &s);
            if (me == 1) {
                EXPECT_EQ(code, MPI_SUCCESS);
                EXPECT_EQ(in, numbers_from(0, n));
            } else {
                expect_failure(code, MPI_ERR_TRUNCATE, {"MPI_Sendrecv", "rank 1", "room for 8"});
                EXPECT_EQ(in[2], -1);
                expect_failure(MPI_Sendrecv(out.data(), n, MPI_INT, peer, 2, in.data(), n, MPI_INT, 2, 2, MPI_COMM_WORLD, &s),
                               MPI_ERR_RANK, {"MPI_Sendrecv", "source is 2"});
            }
            MPI_Barrier(MPI_COMM_WORLD);
            int here = -1;
            MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
            EXPECT_FALSE(here);
        }
        int both[2] = {me, me};
        MPI_Status s{};
        if (me == 0) {
            expect_failure(MPI_Sendrecv_replace(both, 1, MPI_INT, 1, 3, 1, 3, MPI_COMM_WORLD, &s), MPI_ERR_TRUNCATE,
                           {"MPI_Sendrecv_replace", "room for 4"});
            return;
        }
        MPI_Send(both, 2, MPI_INT, 0, 3, MPI_COMM_WORLD);
        MPI_Recv(both, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &s);
        EXPECT_EQ(both[0], 0);
    });
}

TEST(CPt2pt, AReceiveThatIsCancelledSaysSo) {
    ranks(1, [](int, int) {
        int x = 0, cancelled = 0;
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Status s{};
        MPI_Irecv(&x, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &r);
        EXPECT_EQ(MPI_Cancel(&r), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
        MPI_Test_cancelled(&s, &cancelled);
        EXPECT_TRUE(cancelled);
    });
}

TEST(CPt2pt, ARequestFreedWhileActiveStillDeliversItsMessage) {
    ranks(2, [](int me, int) {
        auto const data = numbers_from(1, 100000);
        if (me == 0) {
            MPI_Request r = MPI_REQUEST_NULL;
            MPI_Isend(data.data(), 100000, MPI_INT, 1, 1, MPI_COMM_WORLD, &r);
            EXPECT_EQ(MPI_Request_free(&r), MPI_SUCCESS);
            EXPECT_EQ(r, MPI_REQUEST_NULL);
            MPI_Recv(nullptr, 0, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            return;
        }
        std::vector<int> in(100000);
        MPI_Recv(in.data(), 100000, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(in, data);
        MPI_Send(nullptr, 0, MPI_INT, 0, 2, MPI_COMM_WORLD);
    });
}

TEST(CPt2pt, BadArgumentsAreRefusedWithTheirNamesAndTheLibraryWorksOn) {
    ranks(1, [](int, int size) {
        int x = 1;
        MPI_Comm const world = MPI_COMM_WORLD;
        expect_failure(MPI_Send(&x, -1, MPI_INT, 0, 0, world), MPI_ERR_COUNT, {"MPI_Send", "count is -1", "not negative"});
        expect_failure(MPI_Send(&x, 1, MPI_INT, size, 0, world), MPI_ERR_RANK, {"dest is 1", "0 to 0", "MPI_PROC_NULL"});
        expect_failure(MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, world), MPI_ERR_RANK, {"dest is -1"});
        expect_failure(MPI_Recv(&x, 1, MPI_INT, -7, 0, world, nullptr), MPI_ERR_RANK, {"source is -7", "MPI_ANY_SOURCE"});
        expect_failure(MPI_Send(&x, 1, MPI_INT, 0, -5, world), MPI_ERR_TAG, {"tag is -5", "0 to 2147483647"});
        expect_failure(MPI_Send(&x, 1, MPI_INT, 0, MPI_ANY_TAG, world), MPI_ERR_TAG, {"tag is -2"});
        expect_failure(MPI_Send(nullptr, 1, MPI_INT, 0, 0, world), MPI_ERR_BUFFER, {"buf is a null pointer", "MPI_INT"});
        MPI_Datatype shifted = MPI_DATATYPE_NULL; // relative to a buffer, which there must be
        int const one = 1, four = 4;
        MPI_Type_indexed(1, &one, &four, MPI_INT, &shifted);
        MPI_Type_commit(&shifted);
        expect_failure(MPI_Send(MPI_BOTTOM, 1, shifted, 0, 0, world), MPI_ERR_BUFFER,
                       {"buf is a null pointer", "no addresses"});
        MPI_Type_free(&shifted);
        expect_failure(MPI_Buffer_attach(nullptr, 100), MPI_ERR_BUFFER, {"buffer is a null pointer", "100 bytes"});
        expect_failure(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, world), MPI_ERR_TYPE, {"datatype is MPI_DATATYPE_NULL"});
        expect_failure(MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM, {"comm is MPI_COMM_NULL"});
        auto const forged = reinterpret_cast<MPI_Comm>(std::uintptr_t{0x7fff12345678});
        expect_failure(MPI_Send(&x, 1, MPI_INT, 0, 0, forged), MPI_ERR_COMM, {"0x7fff12345678", "no communicator"});
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Irecv(&x, 1, MPI_INT, 0, 1, world, &r);
        auto const dead = r;
        MPI_Send(&size, 1, MPI_INT, 0, 1, world);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        auto again = dead;
        expect_failure(MPI_Wait(&again, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, {"request is 0x", "freed"});
        EXPECT_EQ(x, 1);
    });
}

TEST(CPt2pt, ATruncatedMessageIsAnErrorThatTellsBothSizes) {
    ranks(1, [](int, int) {
        auto const out = numbers_from(0, 10);
        int in[4] = {};
        MPI_Status s{};
        MPI_Send(out.data(), 10, MPI_INT, 0, 3, MPI_COMM_WORLD);
        expect_failure(MPI_Recv(in, 4, MPI_INT, 0, 3, MPI_COMM_WORLD, &s), MPI_ERR_TRUNCATE,
                       {"40 bytes", "room for 16", "tag 3"});
        MPI_Request both[2];
        MPI_Status statuses[2];
        MPI_Irecv(in, 4, MPI_INT, 0, 4, MPI_COMM_WORLD, &both[0]);
        MPI_Irecv(in, 4, MPI_INT, 0, 5, MPI_COMM_WORLD, &both[1]);
        MPI_Send(out.data(), 2, MPI_INT, 0, 4, MPI_COMM_WORLD);
        MPI_Send(out.data(), 10, MPI_INT, 0, 5, MPI_COMM_WORLD);
        expect_failure(MPI_Waitall(2, both, statuses), MPI_ERR_IN_STATUS, {"request 1", "40 bytes"});
        EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
        EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    });
}

TEST(CPt2pt, ABufferThatIsFullOrMissingIsAnErrorWithTheNumbers) {
    ranks(1, [](int, int) {
        std::vector<std::byte> room(2000);
        int x[300] = {};
        expect_failure(MPI_Bsend(x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER, {"no buffer is attached"});
        MPI_Buffer_attach(room.data(), 2000);
        expect_failure(MPI_Buffer_attach(room.data(), 2000), MPI_ERR_BUFFER, {"2000 bytes is attached already"});
        expect_failure(MPI_Bsend(x, 600, MPI_INT, 0, 1, MPI_COMM_WORLD), MPI_ERR_BUFFER, {"2912 bytes", "2000 bytes"});
        EXPECT_EQ(MPI_Bsend(x, 300, MPI_INT, 0, 1, MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_EQ(MPI_Recv(x, 300, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        void* back = nullptr;
        int size = 0;
        EXPECT_EQ(MPI_Buffer_detach(&back, &size), MPI_SUCCESS);
    });
}

TEST(CPt2pt, ABufferOfExactlyWhatTheMessagesNeedIsEnough) {
    ranks(1, [](int, int) {
        std::vector<std::byte> room(2 * (1 + MPI_BSEND_OVERHEAD));
        char x = 'a', y = 0;
        MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
        EXPECT_EQ(MPI_Bsend(&x, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_EQ(MPI_Bsend(&x, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD), MPI_SUCCESS);
        for (int i = 0; i < 2; ++i) MPI_Recv(&y, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(y, 'a');
        void* back = nullptr;
        int size = 0;
        EXPECT_EQ(MPI_Buffer_detach(&back, &size), MPI_SUCCESS);
    });
}

TEST(CPt2pt, LargeCountsAreTheSameCall) {
    ranks(1, [](int, int) {
        auto const out = numbers_from(3, 100);
        std::vector<int> in(100);
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Isend_c(out.data(), MPI_Count{100}, MPI_INT, 0, 1, MPI_COMM_WORLD, &r);
        MPI_Status s{};
        MPI_Recv_c(in.data(), MPI_Count{100}, MPI_INT, 0, 1, MPI_COMM_WORLD, &s);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Count n = 0;
        MPI_Get_count_c(&s, MPI_INT, &n);
        EXPECT_EQ(n, 100);
        EXPECT_EQ(in, out);
        MPI_Status_set_elements_c(&s, MPI_INT, MPI_Count{1} << 40);
        int small = 0;
        MPI_Get_count(&s, MPI_INT, &small);
        EXPECT_EQ(small, MPI_UNDEFINED); // does not fit an int
    });
}

/// What a call may be given, good or bad.
struct given {
    bool buffer;
    int count;
    MPI_Datatype type;
    int peer, tag;
    MPI_Comm comm;

    given(mpt::test::dice& random, bool receives, std::initializer_list<MPI_Datatype> types,
          std::initializer_list<MPI_Comm> comms)
        : buffer{random.below(8) != 0}, count{random.one_of({-1, 0, 1, 2, 3, 9, 20})}, type{random.one_of(types)},
          peer{random.one_of<int>({0, 0, 0, 0, 1, -7, MPI_PROC_NULL, receives ? MPI_ANY_SOURCE : 0})},
          tag{random.one_of<int>({7, 7, 7, 7, -5, receives ? MPI_ANY_TAG : 7})}, comm{random.one_of(comms)} {}
};

/// What a call did: its code and sentence, what it received, and the status.
struct done {
    int code = -1;
    std::string sentence;
    std::vector<int> data = std::vector<int>(64, -1); // 20 elements with gaps lie over 60
    MPI_Status status{};
    int bytes = -1;

    void told(int returned, std::string const& name) {
        code = returned;
        if (code != MPI_SUCCESS) sentence = here().last_error;
        if (auto const at = sentence.find(name + "_c"); at != sentence.npos) sentence.erase(at + name.size(), 2);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
    }
};
void expect_same(done const& a, done const& b) {
    EXPECT_EQ(a.code, b.code) << a.sentence << b.sentence;
    EXPECT_EQ(a.sentence, b.sentence);
    EXPECT_EQ(a.data, b.data);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(a.status.MPI_SOURCE, b.status.MPI_SOURCE);
    EXPECT_EQ(a.status.MPI_TAG, b.status.MPI_TAG);
}
/// Takes every message of tag 7, the first one into `into`.
void take_all(MPI_Comm c, done& into) {
    for (int flag = 1; c != MPI_COMM_NULL;) {
        MPI_Iprobe(0, 7, c, &flag, MPI_STATUS_IGNORE);
        if (!flag) return;
        std::vector<int> other(50);
        MPI_Recv(into.bytes < 0 ? into.data.data() : other.data(), 200, MPI_BYTE, 0, 7, c, &into.status);
        MPI_Get_count(&into.status, MPI_BYTE, &into.bytes);
    }
}
done sent(given const& g, bool large, bool started) {
    auto const out = numbers_from(100, 64);
    void const* const at = g.buffer ? out.data() : nullptr;
    MPI_Request r = MPI_REQUEST_NULL;
    done d;
    if (started) {
        d.told(large ? MPI_Isend_c(at, g.count, g.type, g.peer, g.tag, g.comm, &r)
                     : MPI_Isend(at, g.count, g.type, g.peer, g.tag, g.comm, &r),
               "MPI_Isend");
        EXPECT_EQ(r == MPI_REQUEST_NULL, d.code != MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    } else {
        d.told(large ? MPI_Send_c(at, g.count, g.type, g.peer, g.tag, g.comm)
                     : MPI_Send(at, g.count, g.type, g.peer, g.tag, g.comm),
               "MPI_Send");
    }
    d.bytes = -1;
    take_all(g.comm, d);
    return d;
}
/// Of a message of `ints` from this rank.
done received(given const& g, int ints, bool large, bool started) {
    auto const out = numbers_from(200, ints);
    MPI_Request r = MPI_REQUEST_NULL;
    done d;
    void* const at = g.buffer ? d.data.data() : nullptr;
    if (g.comm != MPI_COMM_NULL) MPI_Send(out.data(), ints, MPI_INT, 0, 7, g.comm);
    if (!started) {
        d.told(large ? MPI_Recv_c(at, g.count, g.type, g.peer, g.tag, g.comm, &d.status)
                     : MPI_Recv(at, g.count, g.type, g.peer, g.tag, g.comm, &d.status),
               "MPI_Recv");
    } else if (int const code = large ? MPI_Irecv_c(at, g.count, g.type, g.peer, g.tag, g.comm, &r)
                                      : MPI_Irecv(at, g.count, g.type, g.peer, g.tag, g.comm, &r);
               code != MPI_SUCCESS) {
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        d.told(code, "MPI_Irecv");
    } else {
        d.told(MPI_Wait(&r, &d.status), "MPI_Wait");
        EXPECT_EQ(r, MPI_REQUEST_NULL);
    }
    done rest;
    take_all(g.comm, rest);
    bool const took = g.peer != MPI_PROC_NULL && (d.code == MPI_SUCCESS || d.code == MPI_ERR_TRUNCATE);
    EXPECT_EQ(rest.bytes < 0, took || g.comm == MPI_COMM_NULL);
    return d;
}

// The large twins have no short way.
TEST(CPt2pt, TheSmallFormAndItsTwinDoTheSameWithWhateverTheyAreGiven) {
    mpt::test::seeds const seeds{400};
    ranks(1, [&](int, int) {
        MPI_Datatype pair = MPI_DATATYPE_NULL, gaps = MPI_DATATYPE_NULL, raw = MPI_DATATYPE_NULL, dead = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
        MPI_Type_commit(&gaps);
        MPI_Type_contiguous(2, MPI_INT, &raw);
        MPI_Type_dup(pair, &dead);
        auto const gone = dead;
        MPI_Type_free(&dead);
        MPI_Comm twin = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &twin);
        for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !testing::Test::HasFailure(); ++seed) {
            SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
            mpt::test::dice random{seed};
            auto const started = random.coin();
            auto const ints = random.one_of({0, 1, 2, 3, 9, 20});
            given const out{random, false, {MPI_INT, MPI_BYTE, pair, gaps, raw, gone}, {MPI_COMM_WORLD, twin, MPI_COMM_NULL}};
            given const in{random, true, {MPI_INT, MPI_BYTE, pair, gaps, raw, gone}, {MPI_COMM_WORLD, twin, MPI_COMM_NULL}};
            expect_same(sent(out, false, started), sent(out, true, started));
            expect_same(received(in, ints, false, started), received(in, ints, true, started));
        }
        MPI_Comm_free(&twin);
        for (auto* t : {&pair, &gaps, &raw}) MPI_Type_free(t);
    });
}

// What every rank does, one after the other, is random; what meets what is for the oracle to judge.
TEST(CPt2pt, WildcardsAndExactReceivesGetWhatTheOrderOfMessagesAllows) {
    mpt::test::seeds const seeds{8};
    for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !HasFailure(); ++seed)
        ranks(1 + static_cast<int>(seed % 5), [seed](int, int size) {
            long messages = 0;
            auto const faults = mpt::c::test::random_messages{seed}.run(15, messages);
            EXPECT_EQ(faults, "") << size << " ranks; replay with MPT_SEED=" << seed;
            EXPECT_EQ(here().last_error, "");
        });
}

} // namespace
