// The flavour -debug of the C interface: what MPI leaves undefined in one-sided programs is an error that says what it is, and correct
// programs go as they do.
#include "shared.hpp"

namespace {

using mpt::c::test::expect_failure;
using mpt::c::test::ranks;

struct numbers {
    MPI_Win win = MPI_WIN_NULL;
    long* mine = nullptr;

    explicit numbers(MPI_Aint n = 8) {
        MPI_Win_allocate(n * MPI_Aint{sizeof(long)}, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        for (int i = 0; i < n; ++i) mine[i] = 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    numbers(numbers const&) = delete;
    ~numbers() { EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS); }

    int put(int target, MPI_Aint at, long x = 1) const { return MPI_Put(&x, 1, MPI_LONG, target, at, 1, MPI_LONG, win); }
    int get(int target, MPI_Aint at) const {
        long x = 0;
        return MPI_Get(&x, 1, MPI_LONG, target, at, 1, MPI_LONG, win);
    }
    int add(int target, MPI_Aint at, MPI_Op op = MPI_SUM) const {
        long const x = 1;
        return MPI_Accumulate(&x, 1, MPI_LONG, target, at, 1, MPI_LONG, op, win);
    }
};
void meet() { MPI_Barrier(MPI_COMM_WORLD); }
void expect_conflict(int code, char const* said) { expect_failure(code, MPI_ERR_RMA_CONFLICT, {"MPI_", said}); }
void expect_misuse(int code, char const* said) { expect_failure(code, MPI_ERR_RMA_SYNC, {"MPI_", said}); }

TEST(CWatched, AccessesOfOneOriginConflictUntilTheyAreFlushed) {
    ranks(2, [](int me, int) {
        numbers const w;
        if (me == 0) {
            MPI_Win_lock_all(0, w.win);
            EXPECT_EQ(w.put(1, 0), MPI_SUCCESS);
            expect_conflict(w.put(1, 0), "bytes 0 to 8 of rank 1's part of the window are written by this call");
            expect_conflict(w.get(1, 0), "were written by rank 0 in the same epoch");
            expect_conflict(w.add(1, 0), "updated by this call");
            EXPECT_EQ(w.put(1, 1), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_flush(1, w.win), MPI_SUCCESS);
            EXPECT_EQ(w.get(1, 0), MPI_SUCCESS);
            expect_conflict(w.put(1, 0), "were read by rank 0");
            EXPECT_EQ(MPI_Win_flush_local(1, w.win), MPI_SUCCESS);
            EXPECT_EQ(w.put(1, 0), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_flush_all(w.win), MPI_SUCCESS);
            EXPECT_EQ(w.put(1, 0), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_flush_local_all(w.win), MPI_SUCCESS);
            expect_conflict(w.put(1, 0), "written");
            MPI_Win_unlock_all(w.win);
        }
        meet();
    });
}

TEST(CWatched, AccessesOfSeveralOriginsConflictInOneFence) {
    ranks(3, [](int me, int) {
        numbers const w;
        MPI_Win_fence(0, w.win);
        if (me == 1) { EXPECT_EQ(w.put(0, 2), MPI_SUCCESS); }
        meet();
        if (me == 2) {
            expect_conflict(w.get(0, 2),
                            "bytes 16 to 24 of rank 0's part of the window are read by this call, and were written "
                            "by rank 1");
            EXPECT_EQ(w.put(0, 3), MPI_SUCCESS);
        }
        MPI_Win_fence(0, w.win);
        EXPECT_EQ(w.get(0, 2), MPI_SUCCESS); // all of them
        MPI_Win_fence(0, w.win);
        EXPECT_EQ(w.mine[2], me == 0);
        EXPECT_EQ(w.mine[3], me == 0);
    });
}

TEST(CWatched, UpdatesMeetWhereTheStandardLetsThem) {
    ranks(2, [](int me, int) {
        numbers const w;
        MPI_Win_fence(0, w.win);
        EXPECT_EQ(w.add(0, 0), MPI_SUCCESS);
        long const one = 1, none = 0;
        long was = 0;
        EXPECT_EQ(MPI_Fetch_and_op(&one, &was, MPI_LONG, 0, 0, MPI_SUM, w.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Fetch_and_op(nullptr, &was, MPI_LONG, 0, 0, MPI_NO_OP, w.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Compare_and_swap(&one, &none, &was, MPI_LONG, 0, 0, w.win), MPI_SUCCESS);
        meet();
        if (me == 1) {
            double const half = 0.5;
            expect_conflict(MPI_Accumulate(&half, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, w.win), ", as ");
        }
        MPI_Win_fence(0, w.win);
        if (me == 0) { EXPECT_EQ(w.add(0, 4, MPI_MAX), MPI_SUCCESS); }
        meet();
        if (me == 1) expect_conflict(w.add(0, 4, MPI_MIN), "by another operation");
        MPI_Win_fence(0, w.win);
    });
}

TEST(CWatched, WhatOnlyFetchesMeetsAGet) {
    ranks(3, [](int me, int) {
        numbers const w;
        long got = 0;
        auto const fetch = [&](int target, MPI_Datatype t) {
            return MPI_Get_accumulate(nullptr, 0, MPI_DATATYPE_NULL, &got, 1, t, target, 0, 1, t, MPI_NO_OP, w.win);
        };
        MPI_Win_fence(0, w.win);
        EXPECT_EQ(w.get(0, 0), MPI_SUCCESS);
        EXPECT_EQ(fetch(0, MPI_LONG), MPI_SUCCESS);
        EXPECT_EQ(MPI_Fetch_and_op(nullptr, &got, MPI_DOUBLE, 0, 0, MPI_NO_OP, w.win), MPI_SUCCESS);
        meet();
        if (me == 1) {
            expect_conflict(w.put(0, 0), "written by this call");
            expect_conflict(w.add(0, 0), "updated by this call");
        }
        if (me == 1) { EXPECT_EQ(w.put(2, 0), MPI_SUCCESS); }
        meet();
        if (me == 0) expect_conflict(fetch(2, MPI_LONG), "were written by rank 1");
        MPI_Win_fence(0, w.win);
    });
}

TEST(CWatched, WhatARequestHasFetchedIsOver) {
    ranks(2, [](int me, int) {
        numbers const w;
        MPI_Win_lock_all(0, w.win);
        long x = 0;
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Rget(&x, 1, MPI_LONG, 0, me, 1, MPI_LONG, w.win, &r), MPI_SUCCESS);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        EXPECT_EQ(MPI_Rput(&x, 1, MPI_LONG, 0, me, 1, MPI_LONG, w.win, &r), MPI_SUCCESS);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        expect_failure(MPI_Rget(&x, 1, MPI_LONG, 0, me, 1, MPI_LONG, w.win, &r), MPI_ERR_RMA_CONFLICT, {"MPI_Rget"});
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        MPI_Win_unlock_all(w.win);
        meet();
    });
}

TEST(CWatched, WhatTheWindowRefusesIsNotKept) {
    ranks(1, [](int, int) {
        numbers const w;
        expect_failure(w.put(0, 0), MPI_ERR_RMA_SYNC, {"no epoch"});
        MPI_Win_fence(0, w.win);
        expect_failure(w.put(0, 8), MPI_ERR_RMA_RANGE, {"MPI_Put"});
        EXPECT_EQ(w.put(0, 0), MPI_SUCCESS);
        EXPECT_EQ(w.put(MPI_PROC_NULL, 0), MPI_SUCCESS);
        MPI_Win_fence(0, w.win);
    });
}

TEST(CWatched, PromisesThatAreNotKeptAreTold) {
    ranks(2, [](int me, int) {
        numbers const w;
        MPI_Win_fence(MPI_MODE_NOPUT, w.win);
        expect_misuse(w.put(0, me), "MPI_MODE_NOPUT");
        if (me == 0) {
            EXPECT_EQ(w.get(0, me), MPI_SUCCESS);
            expect_misuse(MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win), "MPI_MODE_NOPRECEDE"); // and has met the other
        } else EXPECT_EQ(MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win), MPI_SUCCESS);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);

        if (me == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win);
        meet();
        if (me == 1) {
            expect_misuse(MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, w.win), "is locked by rank 0");
            expect_misuse(MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win), "MPI_MODE_NOCHECK");
        }
        meet();
        if (me == 0) MPI_Win_unlock(1, w.win);
        meet();
        if (me == 1) {
            EXPECT_EQ(MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_unlock_all(w.win), MPI_SUCCESS);
        }
        meet();
    });
}

TEST(CWatched, PostsAreWaitedForAndStarted) {
    ranks(2, [](int me, int) {
        numbers const w;
        MPI_Group all = MPI_GROUP_NULL, other = MPI_GROUP_NULL;
        int const it = 1 - me;
        MPI_Win_get_group(w.win, &all);
        MPI_Group_incl(all, 1, &it, &other);
        if (me == 1) expect_misuse(MPI_Win_start(other, MPI_MODE_NOCHECK, w.win), "rank 0 of the window has not posted");
        meet();
        if (me == 0) {
            EXPECT_EQ(MPI_Win_post(other, MPI_MODE_NOPUT, w.win), MPI_SUCCESS);
            expect_misuse(MPI_Win_fence(0, w.win), "an exposure epoch is open");
            EXPECT_EQ(MPI_Win_wait(w.win), MPI_SUCCESS);
        } else {
            EXPECT_EQ(MPI_Win_start(other, 0, w.win), MPI_SUCCESS);
            expect_misuse(w.put(0, 0), "MPI_MODE_NOPUT");
            EXPECT_EQ(w.get(0, 0), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_complete(w.win), MPI_SUCCESS);
        }
        MPI_Group_free(&all);
        MPI_Group_free(&other);
        meet();
    });
}

TEST(CWatched, ThePromisesOfAFenceAreThoseOfAll) {
    ranks(2, [](int me, int) {
        numbers const w;
        EXPECT_EQ(MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win), MPI_SUCCESS);
        expect_misuse(MPI_Win_fence(me == 0 ? MPI_MODE_NOSUCCEED : 0, w.win),
                      me == 0 ? "MPI_MODE_NOSUCCEED is given to this fence by this rank and not by rank 1"
                              : "MPI_MODE_NOSUCCEED is given to this fence by rank 0");
        EXPECT_EQ(MPI_Win_fence(me == 0 ? MPI_MODE_NOSTORE : MPI_MODE_NOPUT, w.win), MPI_SUCCESS); // each rank's own
        EXPECT_EQ(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win), MPI_SUCCESS);
    });
}

TEST(CWatched, APartIsNotExposedAndLockedAtOnce) {
    ranks(2, [](int me, int) {
        numbers const w;
        MPI_Group all = MPI_GROUP_NULL, other = MPI_GROUP_NULL;
        int const it = 1 - me;
        MPI_Win_get_group(w.win, &all);
        MPI_Group_incl(all, 1, &it, &other);
        if (me == 0) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w.win);
        meet();
        if (me == 1) expect_misuse(MPI_Win_post(other, 0, w.win), "rank 1's part of the window is locked by 1 rank, and");
        meet();
        if (me == 0) MPI_Win_unlock(1, w.win);
        meet();
        if (me == 1) { EXPECT_EQ(MPI_Win_post(other, 0, w.win), MPI_SUCCESS); }
        meet();
        if (me == 0) {
            expect_misuse(MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, w.win), "rank 1's part of the window is exposed");
            expect_misuse(MPI_Win_lock_all(0, w.win), "is exposed by MPI_Win_post");
            expect_misuse(MPI_Win_start(other, MPI_MODE_NOCHECK, w.win), "rank 1 of the window has posted without");
            EXPECT_EQ(MPI_Win_start(other, 0, w.win), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_complete(w.win), MPI_SUCCESS);
        } else {
            EXPECT_EQ(MPI_Win_wait(w.win), MPI_SUCCESS);
        }
        meet();
        if (me == 0) {
            EXPECT_EQ(MPI_Win_lock_all(0, w.win), MPI_SUCCESS);
            EXPECT_EQ(MPI_Win_unlock_all(w.win), MPI_SUCCESS);
        }
        MPI_Group_free(&all);
        MPI_Group_free(&other);
        meet();
    });
}

TEST(CWatched, NobodyLocksWhatHasTheHintNoLocks) {
    ranks(2, [](int me, int) {
        numbers const w;
        MPI_Info hints = MPI_INFO_NULL;
        MPI_Info_create(&hints);
        MPI_Info_set(hints, "no_locks", "true");
        EXPECT_EQ(MPI_Win_set_info(w.win, hints), MPI_SUCCESS);
        expect_misuse(MPI_Win_lock(MPI_LOCK_SHARED, 1 - me, 0, w.win), "no_locks");
        expect_misuse(MPI_Win_lock_all(0, w.win), "no_locks");
        MPI_Info_set(hints, "no_locks", "false");
        EXPECT_EQ(MPI_Win_set_info(w.win, hints), MPI_SUCCESS);
        MPI_Info_free(&hints);
        EXPECT_EQ(MPI_Win_lock_all(0, w.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_unlock_all(w.win), MPI_SUCCESS);
        meet();
    });
}

TEST(CWatched, LockedRanksTakeTurns) {
    ranks(3, [](int, int size) {
        numbers const w{1};
        for (int round = 0; round < 50; ++round)
            for (int target = 0; target < size; ++target) {
                long x = 0;
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win);
                EXPECT_EQ(MPI_Get(&x, 1, MPI_LONG, target, 0, 1, MPI_LONG, w.win), MPI_SUCCESS);
                MPI_Win_flush(target, w.win);
                EXPECT_EQ(w.put(target, 0, x + 1), MPI_SUCCESS);
                MPI_Win_unlock(target, w.win);
            }
        meet();
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win);
        EXPECT_EQ(w.mine[0], 50 * size);
        MPI_Win_unlock(0, w.win);
    });
}

} // namespace
