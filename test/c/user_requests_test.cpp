// Requests that the user completes, among others of any kind; and partitioned operations by the C interface.
#include <algorithm>
#include <array>
#include <numeric>

#include "../support/dice.hpp"
#include "ranks.hpp"
#include "shared.hpp"

namespace {

using mpt::c::test::dup_of;
using mpt::c::test::expect_failure;
using mpt::c::test::ranks;
using mpt::c::test::thread_of_rank;

template <class T> T* at(std::vector<T>& v, int i) { return &v[static_cast<std::size_t>(i)]; }

/// What the callbacks of a request were asked, and what they answer.
struct job {
    int ints = 0, source = 5, tag = 6;
    bool cancelled = false;
    int query_code = MPI_SUCCESS, free_code = MPI_SUCCESS, cancel_code = MPI_SUCCESS;
    int queried = 0, freed = 0, asked_to_cancel = 0, over = -1;

    static int query(void* state, MPI_Status* s) {
        auto& j = *static_cast<job*>(state);
        ++j.queried;
        EXPECT_NE(s, MPI_STATUS_IGNORE);
        s->MPI_SOURCE = j.source, s->MPI_TAG = j.tag;
        MPI_Status_set_elements(s, MPI_INT, j.ints);
        MPI_Status_set_cancelled(s, j.cancelled);
        return j.query_code;
    }
    static int free(void* state) { return ++static_cast<job*>(state)->freed, static_cast<job*>(state)->free_code; }
    static int cancel(void* state, int complete) {
        auto& j = *static_cast<job*>(state);
        ++j.asked_to_cancel;
        j.over = complete;
        j.cancelled = !complete;
        return j.cancel_code;
    }
    MPI_Request start() {
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Grequest_start(query, free, cancel, this, &r), MPI_SUCCESS);
        return r;
    }
};

void expect_status(MPI_Status const& s, job const& j) {
    int count = -1, cancelled = -1;
    MPI_Get_count(&s, MPI_INT, &count);
    MPI_Test_cancelled(&s, &cancelled);
    EXPECT_EQ(s.MPI_SOURCE, j.source);
    EXPECT_EQ(s.MPI_TAG, j.tag);
    EXPECT_EQ(count, j.ints);
    EXPECT_EQ(cancelled != 0, j.cancelled);
}

TEST(CGeneralized, IsCompleteWhenItsUserSaysSo) {
    ranks(1, [](int, int) {
        job j{.ints = 7};
        auto r = j.start();
        int flag = -1;
        MPI_Status s{};
        s.MPI_ERROR = 77;
        for (int i = 0; i < 20; ++i) {
            MPI_Test(&r, &flag, &s);
            EXPECT_FALSE(flag);
            MPI_Request_get_status(r, &flag, &s);
            EXPECT_FALSE(flag);
        }
        EXPECT_EQ(j.queried, 0);
        EXPECT_EQ(MPI_Grequest_complete(r), MPI_SUCCESS);
        expect_failure(MPI_Grequest_complete(r), MPI_ERR_REQUEST, {"MPI_Grequest_complete", "complete already"});
        for (int i = 1; i < 3; ++i) {
            EXPECT_EQ(MPI_Request_get_status(r, &flag, &s), MPI_SUCCESS);
            EXPECT_TRUE(flag);
            expect_status(s, j);
            EXPECT_EQ(j.queried, i);
        }
        EXPECT_EQ(j.freed, 0);
        auto const before = r;
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(j.queried, 3); // of a status that nobody sees, too
        EXPECT_EQ(j.freed, 1);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        EXPECT_EQ(s.MPI_ERROR, 77);
        expect_failure(MPI_Grequest_complete(before), MPI_ERR_REQUEST, {"request is 0x", "freed"});
        MPI_Irecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &r);
        expect_failure(MPI_Grequest_complete(r), MPI_ERR_REQUEST, {"not a generalized request"});
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        expect_failure(MPI_Grequest_start(nullptr, &job::free, &job::cancel, nullptr, &r), MPI_ERR_ARG,
                       {"MPI_Grequest_start", "query_fn is a null pointer"});
    });
}

TEST(CGeneralized, AThreadThatSleepsOverItIsWokenByAnother) {
    ranks(2, [](int, int) {
        for (int round = 0; round < 20; ++round) {
            job j{.ints = round};
            auto r = j.start();
            auto other = thread_of_rank([&] {
                std::this_thread::sleep_for(std::chrono::milliseconds{round % 3});
                MPI_Grequest_complete(r);
            });
            MPI_Status s{};
            auto mine = r;
            EXPECT_EQ(MPI_Wait(&mine, &s), MPI_SUCCESS);
            other.join();
            expect_status(s, j);
            EXPECT_EQ(j.freed, 1);
        }
    });
}

TEST(CGeneralized, MixesWithMessagesInEveryFamily) {
    mpt::test::seeds const seeds{60};
    ranks(1, [&](int, int) {
        for (unsigned seed = seeds.first; seed != seeds.first + seeds.count && !HasFailure(); ++seed) {
            SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
            std::mt19937 random{seed};
            int const n = 1 + static_cast<int>(random() % 8);
            std::vector<job> jobs(static_cast<std::size_t>(n));
            std::vector<MPI_Request> all(jobs.size(), MPI_REQUEST_NULL);
            std::vector<int> data(jobs.size(), -1), is_job(jobs.size()), order(jobs.size()), done(jobs.size());
            for (int i = 0; i < n; ++i) {
                *at(is_job, i) = random() % 2 != 0;
                *at(jobs, i) = job{.ints = 1, .source = 0, .tag = i};
                if (*at(is_job, i)) *at(all, i) = at(jobs, i)->start();
                else MPI_Irecv(at(data, i), 1, MPI_INT, 0, i, MPI_COMM_SELF, at(all, i));
            }
            std::iota(order.begin(), order.end(), 0);
            std::ranges::shuffle(order, random);
            auto const end = [&](int i) {
                if (*at(is_job, i)) MPI_Grequest_complete(*at(all, i));
                else MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF);
            };
            auto const taken = [&](int i, MPI_Status const& s) {
                EXPECT_EQ((*at(done, i))++, 0);
                expect_status(s, *at(jobs, i));
                EXPECT_EQ(*at(all, i), MPI_REQUEST_NULL);
                EXPECT_EQ(at(jobs, i)->freed, *at(is_job, i));
            };
            int const how = static_cast<int>(random() % 4);
            if (how < 2) { // one by one: any, some
                for (int const i : order) {
                    int index = -1, count = 1;
                    MPI_Status s{};
                    end(i);
                    if (how == 0) {
                        EXPECT_EQ(MPI_Waitany(n, all.data(), &index, &s), MPI_SUCCESS);
                    } else {
                        EXPECT_EQ(MPI_Waitsome(n, all.data(), &count, &index, &s), MPI_SUCCESS);
                    }
                    EXPECT_EQ(count, 1);
                    EXPECT_EQ(index, i);
                    taken(i, s);
                }
                continue;
            }
            std::vector<MPI_Status> statuses(jobs.size());
            int flag = 0;
            auto const rest = order.back();
            for (int const i : order)
                if (i != rest) end(i);
            EXPECT_EQ(MPI_Testall(n, all.data(), &flag, statuses.data()), MPI_SUCCESS);
            EXPECT_FALSE(flag);
            end(rest);
            if (how == 2) {
                EXPECT_EQ(MPI_Waitall(n, all.data(), statuses.data()), MPI_SUCCESS);
            } else
                while (!flag) EXPECT_EQ(MPI_Testall(n, all.data(), &flag, statuses.data()), MPI_SUCCESS);
            for (int i = 0; i < n; ++i) taken(i, *at(statuses, i));
        }
    });
}

TEST(CGeneralized, TheErrorsOfItsFunctionsAreThoseOfTheCall) {
    ranks(1, [](int, int) {
        int mine = 0, other = 0, flag = 0;
        MPI_Add_error_class(&mine);
        MPI_Add_error_code(mine, &other);
        job j{.query_code = other};
        auto r = j.start();
        MPI_Grequest_complete(r);
        expect_failure(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE), other, {"query_fn", "returned"});
        EXPECT_TRUE(flag);
        expect_failure(MPI_Wait(&r, MPI_STATUS_IGNORE), other, {"MPI_Wait", "query_fn"});
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        EXPECT_EQ(j.freed, 1);
        job both{.query_code = other, .free_code = mine};
        r = both.start();
        MPI_Grequest_complete(r);
        expect_failure(MPI_Test(&r, &flag, MPI_STATUS_IGNORE), mine, {"MPI_Test", "free_fn"}); // the last one
        job bad{.free_code = mine}, good, stubborn{.cancel_code = other};
        std::array<MPI_Request, 2> two{good.start(), bad.start()};
        std::array<MPI_Status, 2> statuses{};
        MPI_Grequest_complete(two[0]), MPI_Grequest_complete(two[1]);
        expect_failure(MPI_Waitall(2, two.data(), statuses.data()), MPI_ERR_IN_STATUS, {"request 1", "free_fn"});
        EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
        EXPECT_EQ(statuses[1].MPI_ERROR, mine);
        r = stubborn.start();
        expect_failure(MPI_Cancel(&r), other, {"MPI_Cancel", "cancel_fn"});
        MPI_Grequest_complete(r);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    });
}

TEST(CGeneralized, CancellingIsItsOwnAffair) {
    ranks(1, [](int, int) {
        job j;
        auto r = j.start();
        EXPECT_EQ(MPI_Cancel(&r), MPI_SUCCESS);
        EXPECT_EQ(j.over, 0);
        MPI_Grequest_complete(r);
        EXPECT_EQ(MPI_Cancel(&r), MPI_SUCCESS);
        EXPECT_EQ(j.over, 1);
        EXPECT_EQ(j.asked_to_cancel, 2);
        MPI_Status s{};
        EXPECT_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
        expect_status(s, j);
    });
}

TEST(CGeneralized, FreedBeforeOrAfterItsEndItIsLetGoOfOnce) {
    ranks(1, [](int, int) {
        job first, second{.free_code = MPI_ERR_FILE};
        auto r = first.start();
        auto const kept = r;
        EXPECT_EQ(MPI_Request_free(&r), MPI_SUCCESS);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        EXPECT_EQ(first.freed, 0);
        EXPECT_EQ(MPI_Grequest_complete(kept), MPI_SUCCESS);
        EXPECT_EQ(first.freed, 1);
        r = second.start();
        MPI_Grequest_complete(r);
        expect_failure(MPI_Request_free(&r), MPI_ERR_FILE, {"MPI_Request_free", "free_fn"});
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        EXPECT_EQ(second.freed, 1);
        EXPECT_EQ(first.queried + second.queried, 0);
    });
}

// --- partitioned -------------------------------------------------------------------------------------------------------------

using made_send = int (*)(void const*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*);
int small_send(void const* b, int p, MPI_Count n, MPI_Datatype t, int dest, int tag, MPI_Comm c, MPI_Info i, MPI_Request* r) {
    return MPI_Psend_init(b, p, static_cast<int>(n), t, dest, tag, c, i, r);
}
using made_recv = int (*)(void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*);
int small_recv(void* b, int p, MPI_Count n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Info i, MPI_Request* r) {
    return MPI_Precv_init(b, p, static_cast<int>(n), t, from, tag, c, i, r);
}

/// Says that all partitions are ready, by one of the three calls.
void all_ready(int parts, int how, MPI_Request r) {
    std::vector<int> odd;
    for (int i = 1; i < parts; i += 2) odd.push_back(i);
    if (how == 0) { EXPECT_EQ(MPI_Pready_range(0, parts - 1, r), MPI_SUCCESS); }
    if (how != 1) {
        for (int i = parts - 1; how == 2 && i >= 0; --i) EXPECT_EQ(MPI_Pready(i, r), MPI_SUCCESS);
        return;
    }
    EXPECT_EQ(MPI_Pready_list(static_cast<int>(odd.size()), odd.data(), r), MPI_SUCCESS);
    for (int i = 0; i < parts; i += 2) EXPECT_EQ(MPI_Pready(i, r), MPI_SUCCESS);
}

TEST(CPartitioned, BothSidesPartTheSameBytesAsTheyLike) {
    static constexpr int total = 2520; // ints
    ranks(2, [](int me, int) {
        auto const twin = dup_of(MPI_COMM_WORLD);
        MPI_Datatype every_other = MPI_DATATYPE_NULL;
        MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &every_other);
        MPI_Type_commit(&every_other);
        int tag = 0;
        for (auto const [out, in] : {std::array{1, 7}, std::array{8, 3}, std::array{20, 20}, std::array{5, 2520}})
            for (bool large : {false, true})
                for (auto type : {MPI_INT, every_other}) {
                    int const stride = type == MPI_INT ? 1 : 2, parts = me == 0 ? out : in;
                    std::vector<int> data(static_cast<std::size_t>(total * stride), -1);
                    MPI_Request r = MPI_REQUEST_NULL;
                    ++tag;
                    if (me == 0) {
                        made_send const make = large ? MPI_Psend_init_c : small_send;
                        EXPECT_EQ(make(data.data(), parts, total / parts, type, 1, tag, twin, MPI_INFO_NULL, &r), MPI_SUCCESS);
                    } else {
                        made_recv const make = large ? MPI_Precv_init_c : small_recv;
                        EXPECT_EQ(make(data.data(), parts, total / parts, type, 0, tag, twin, MPI_INFO_NULL, &r), MPI_SUCCESS);
                    }
                    for (int round = 0; round < 3; ++round) {
                        MPI_Status s{};
                        if (me == 0)
                            for (int i = 0; i < total; ++i) *at(data, i * stride) = i + round;
                        EXPECT_EQ(MPI_Start(&r), MPI_SUCCESS);
                        if (me == 0) all_ready(parts, round, r);
                        EXPECT_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
                        EXPECT_NE(r, MPI_REQUEST_NULL);
                        if (me == 0) continue;
                        int count = 0;
                        MPI_Get_count(&s, MPI_INT, &count);
                        EXPECT_EQ(count, total);
                        EXPECT_EQ(s.MPI_SOURCE, 0);
                        EXPECT_EQ(s.MPI_TAG, tag);
                        for (int i = 0; i < total; ++i) ASSERT_EQ(*at(data, i * stride), i + round);
                        for (int i = 1; i < total * stride; i += stride)
                            if (stride == 2) { ASSERT_EQ(*at(data, i), -1); }
                    }
                    EXPECT_EQ(MPI_Request_free(&r), MPI_SUCCESS);
                }
        MPI_Type_free(&every_other);
        MPI_Comm_free(const_cast<MPI_Comm*>(&twin));
    });
}

TEST(CPartitioned, APartitionIsThereWhileOthersAreNotReady) {
    ranks(2, [](int me, int) {
        for (int n : {2, 20000}) {
            std::vector<int> data(static_cast<std::size_t>(4 * n), me == 0 ? 9 : 0);
            MPI_Request r = MPI_REQUEST_NULL;
            int flag = 0;
            if (me == 0) {
                MPI_Psend_init(data.data(), 4, n, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
                MPI_Start(&r);
                MPI_Pready(1, r);
                MPI_Recv(nullptr, 0, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Pready(0, r);
                auto other = thread_of_rank([r] { MPI_Pready_range(2, 3, r); });
                EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
                other.join();
            } else {
                MPI_Precv_init(data.data(), 4, n, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
                EXPECT_EQ(MPI_Parrived(r, 0, &flag), MPI_SUCCESS);
                EXPECT_TRUE(flag); // it is inactive
                MPI_Startall(1, &r);
                for (flag = 0; !flag;) EXPECT_EQ(MPI_Parrived(r, 1, &flag), MPI_SUCCESS);
                EXPECT_EQ(std::count(data.begin() + n, data.begin() + 2 * n, 9), n);
                for (int i : {0, 2, 3}) {
                    MPI_Parrived(r, i, &flag);
                    EXPECT_FALSE(flag);
                }
                MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
                EXPECT_FALSE(flag);
                MPI_Send(nullptr, 0, MPI_INT, 0, 2, MPI_COMM_WORLD);
                EXPECT_EQ(MPI_Waitall(1, &r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
            }
            EXPECT_EQ(std::ranges::count(data, 9), 4 * n);
            MPI_Request_free(&r);
        }
    });
}

TEST(CPartitioned, PairsMeetInTheOrderTheyWereMadeAndNeverAnOrdinaryMessage) {
    ranks(2, [](int me, int) {
        std::array<int, 6> data{};
        std::array<MPI_Request, 3> r{};
        int x = 0;
        for (int k = 0; k < 3; ++k) {
            int* const at_k = &data[static_cast<std::size_t>(2 * k)];
            auto* const made = &r[static_cast<std::size_t>(k)];
            if (me == 0) {
                at_k[0] = at_k[1] = k + 1;
                MPI_Psend_init(at_k, 2, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, made);
            } else MPI_Precv_init(at_k, 1, 2, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, made);
        }
        for (std::size_t k : {2u, 0u, 1u}) { // begun in another order
            MPI_Start(&r[k]);
            if (me == 0) MPI_Pready_range(0, 1, r[k]);
        }
        if (me == 0) {
            MPI_Send(&(x = 44), 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            EXPECT_EQ(x, 44);
        }
        EXPECT_EQ(MPI_Waitall(3, r.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(data, (std::array{1, 1, 2, 2, 3, 3}));
        for (auto& one : r) MPI_Request_free(&one);
    });
}

TEST(CPartitioned, MistakesAreToldWithTheirNumbers) {
    ranks(1, [](int, int) {
        std::array<int, 6> out{}, in{};
        MPI_Request s = MPI_REQUEST_NULL, r = MPI_REQUEST_NULL, other = MPI_REQUEST_NULL;
        int flag = -1;
        auto const c = MPI_COMM_SELF;
        MPI_Psend_init(out.data(), 3, 2, MPI_INT, 0, 1, c, MPI_INFO_NULL, &s);
        MPI_Precv_init(in.data(), 2, 3, MPI_INT, 0, 1, c, MPI_INFO_NULL, &r);
        expect_failure(MPI_Pready(0, s), MPI_ERR_REQUEST, {"MPI_Pready", "not active"});
        MPI_Startall(1, &s), MPI_Start(&r);
        expect_failure(MPI_Pready(3, s), MPI_ERR_ARG, {"partition is 3", "0 to 2"});
        expect_failure(MPI_Pready(-1, s), MPI_ERR_ARG, {"partition is -1"});
        expect_failure(MPI_Pready(0, r), MPI_ERR_REQUEST, {"not a partitioned send"});
        expect_failure(MPI_Pready_range(1, 3, s), MPI_ERR_ARG, {"partition_high is 3"});
        expect_failure(MPI_Pready_range(2, 1, s), MPI_ERR_ARG, {"partition_low is 2"});
        std::array<int, 2> list{1, 4};
        expect_failure(MPI_Pready_list(2, list.data(), s), MPI_ERR_ARG, {"array_of_partitions[1] is 4"});
        expect_failure(MPI_Parrived(s, 0, &flag), MPI_ERR_REQUEST, {"not a partitioned receive"});
        expect_failure(MPI_Parrived(r, 2, &flag), MPI_ERR_ARG, {"partition is 2", "0 to 1"});
        EXPECT_EQ(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag), MPI_SUCCESS);
        EXPECT_TRUE(flag);
        EXPECT_EQ(MPI_Pready(1, s), MPI_SUCCESS);
        expect_failure(MPI_Pready(1, s), MPI_ERR_ARG, {"partition 1 is ready already"});
        expect_failure(MPI_Cancel(&s), MPI_ERR_REQUEST, {"MPI_Cancel", "cannot be cancelled"});
        for (auto* one : {&s, &r}) {
            expect_failure(MPI_Request_free(one), MPI_ERR_REQUEST, {"MPI_Request_free", "cannot be freed"});
            EXPECT_NE(*one, MPI_REQUEST_NULL);
        }
        EXPECT_EQ(MPI_Pready(0, s), MPI_SUCCESS);
        EXPECT_EQ(MPI_Pready(2, s), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&s, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_Request_free(&r), MPI_SUCCESS);
        MPI_Precv_init(in.data(), 1, 5, MPI_INT, 0, 1, c, MPI_INFO_NULL, &r);
        MPI_Psend_init(out.data(), 3, 2, MPI_INT, 0, 1, c, MPI_INFO_NULL, &other);
        MPI_Start(&other), MPI_Start(&r);
        MPI_Pready_range(0, 2, other);
        MPI_Status status{};
        expect_failure(MPI_Wait(&r, &status), MPI_ERR_TRUNCATE, {"3 partitions of 8 bytes", "1 of 20"});
        MPI_Wait(&other, MPI_STATUS_IGNORE);
        for (auto* one : {&r, &s, &other}) MPI_Request_free(one);
        expect_failure(MPI_Psend_init(out.data(), -1, 2, MPI_INT, 0, 1, c, MPI_INFO_NULL, &s), MPI_ERR_ARG,
                       {"partitions is -1"});
        expect_failure(MPI_Psend_init(nullptr, 2, 2, MPI_INT, 0, 1, c, MPI_INFO_NULL, &s), MPI_ERR_BUFFER, {"buf is a null"});
        expect_failure(MPI_Psend_init_c(out.data(), 16, MPI_Count{1} << 60, MPI_INT, 0, 1, c, MPI_INFO_NULL, &s), MPI_ERR_COUNT,
                       {"16 partitions of 1152921504606846976"});
        expect_failure(MPI_Precv_init(in.data(), 2, 2, MPI_INT, MPI_ANY_SOURCE, 1, c, MPI_INFO_NULL, &r), MPI_ERR_RANK,
                       {"MPI_Precv_init", "is -1"});
        expect_failure(MPI_Precv_init(in.data(), 2, 2, MPI_INT, 0, MPI_ANY_TAG, c, MPI_INFO_NULL, &r), MPI_ERR_TAG, {"tag is"});
    });
}

TEST(CPartitioned, NobodyIsAPartnerToo) {
    ranks(1, [](int, int) {
        int x = 3, flag = 0;
        MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status s[2]{};
        MPI_Psend_init(&x, 1, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, MPI_INFO_NULL, &r[0]);
        MPI_Precv_init(&x, 1, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, MPI_INFO_NULL, &r[1]);
        MPI_Startall(2, r);
        EXPECT_EQ(MPI_Pready(0, r[0]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Parrived(r[1], 0, &flag), MPI_SUCCESS);
        EXPECT_TRUE(flag);
        EXPECT_EQ(MPI_Waitall(2, r, s), MPI_SUCCESS);
        EXPECT_EQ(s[1].MPI_SOURCE, MPI_PROC_NULL);
        EXPECT_EQ(x, 3);
        MPI_Request_free(&r[0]), MPI_Request_free(&r[1]);
    });
}

} // namespace
