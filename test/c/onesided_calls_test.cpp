// Chapter 12 of the C interface: calls that do nothing, calls that are refused, and the epochs that each may stand in.
#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <numeric>

#include "some_windows.hpp"

namespace {

using mpt::c::test::counter;
using mpt::c::test::expect_failure;
using mpt::c::test::ok;
using mpt::c::test::processes;
using mpt::c::test::ranks;

// --- what does nothing, and what is refused -------------------------------------------------------------------------------------

TEST(COneSidedCalls, NobodyIsATargetOfNothing) {
    ranks(2, [](int me, int) {
        counter const c;
        long x = 7, y = 8;
        MPI_Request r[4];
        MPI_Win_lock_all(0, c.win);
        int const to = MPI_PROC_NULL;
        EXPECT_EQ(MPI_Put(&x, 1, MPI_LONG, to, 0, 1, MPI_LONG, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Get(&y, 1, MPI_LONG, to, 0, 1, MPI_LONG, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Accumulate(&x, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Get_accumulate(&x, 1, MPI_LONG, &y, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Fetch_and_op(&x, &y, MPI_LONG, to, 0, MPI_SUM, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Compare_and_swap(&x, &x, &y, MPI_LONG, to, 0, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Rput(&x, 1, MPI_LONG, to, 0, 1, MPI_LONG, c.win, &r[0]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Rget(&y, 1, MPI_LONG, to, 0, 1, MPI_LONG, c.win, &r[1]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Raccumulate(&x, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, c.win, &r[2]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Rget_accumulate(&x, 1, MPI_LONG, &y, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_SUM, c.win, &r[3]),
                  MPI_SUCCESS);
        EXPECT_EQ(MPI_Waitall(4, r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (auto* const flush : {MPI_Win_flush, MPI_Win_flush_local}) EXPECT_EQ(flush(to, c.win), MPI_SUCCESS);
        MPI_Win_unlock_all(c.win);
        EXPECT_EQ(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, c.win), MPI_SUCCESS);
        for (auto* const flush : {MPI_Win_flush_all, MPI_Win_flush_local_all}) EXPECT_EQ(flush(c.win), MPI_SUCCESS);
        auto w = c.win;
        for (int const code : {MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w), MPI_Win_lock_all(0, w), MPI_Win_free(&w)})
            expect_failure(code, MPI_ERR_RMA_SYNC, {"MPI_Win_"});
        EXPECT_EQ(MPI_Win_unlock(to, c.win), MPI_SUCCESS);
        expect_failure(MPI_Win_unlock(to, c.win), MPI_ERR_RMA_SYNC, {"MPI_Win_unlock", "is not locked"});
        EXPECT_EQ(y, 8);
        EXPECT_EQ(c.of(me), 0);
    });
}

/// More messages than wires hold have to leave before the other says that it has them, and this rank does nothing but look for that.
TEST(COneSidedCalls, WhoPollsAWindowMovesMessages) {
    ranks(2, [](int me, int) {
        enum class by { flush, flush_all, unlock, sync };
        for (auto const way : {by::flush, by::flush_all, by::unlock, by::sync}) {
            counter const c;
            std::vector<MPI_Request> sent(20'000, MPI_REQUEST_NULL);
            char const byte = 1;
            long one = 1, seen = 0;
            if (way != by::unlock) MPI_Win_lock_all(0, c.win);
            if (me == 0) {
                for (auto& r : sent) MPI_Isend(&byte, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &r);
                while (seen == 0) {
                    if (way == by::unlock) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, c.win);
                    MPI_Fetch_and_op(nullptr, &seen, MPI_LONG, 0, 0, MPI_NO_OP, c.win);
                    switch (way) {
                    case by::flush: MPI_Win_flush(0, c.win); break;
                    case by::flush_all: MPI_Win_flush_all(c.win); break;
                    case by::unlock: MPI_Win_unlock(0, c.win); break;
                    case by::sync: MPI_Win_sync(c.win); break;
                    }
                }
                MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE);
            } else {
                char got = 0;
                for (auto const& r [[maybe_unused]] : sent)
                    MPI_Recv(&got, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (way == by::unlock) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, c.win);
                MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_REPLACE, c.win);
                if (way == by::unlock) MPI_Win_unlock(0, c.win);
            }
            if (way != by::unlock) MPI_Win_unlock_all(c.win);
        }
    });
}

TEST(COneSidedCalls, WhatOnlyFetchesReadsNoOrigin) {
    ranks(1, [](int, int) {
        counter const c;
        *c.mine = 42;
        long x = 0;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, c.win);
        EXPECT_EQ(MPI_Get_accumulate(nullptr, -9, MPI_DATATYPE_NULL, &x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP, c.win), 0);
        EXPECT_EQ(x, 42);
        x = 0;
        EXPECT_EQ(MPI_Fetch_and_op(nullptr, &x, MPI_LONG, 0, 0, MPI_NO_OP, c.win), MPI_SUCCESS);
        EXPECT_EQ(x, 42);
        MPI_Win_unlock(0, c.win);
        EXPECT_EQ(*c.mine, 42);
    });
}

/// Elements of a row are of any sort that the operation is defined on, and go by the short way or the long one.
TEST(COneSidedCalls, RowsOfAPredefinedTypeAreCombinedInEveryEpoch) {
    struct pair {
        int value, place;
    };
    for (char const* const granularity : {"0", "65536"})
        ranks(2, [granularity](int me, int) {
            MPI_Info hints = MPI_INFO_NULL;
            MPI_Info_create(&hints);
            MPI_Info_set(hints, "mpi_accumulate_granularity", granularity);
            MPI_Win w = MPI_WIN_NULL;
            double* mine = nullptr;
            MPI_Win_allocate(64 * sizeof(double), sizeof(double), hints, MPI_COMM_WORLD, &mine, &w);
            MPI_Info_free(&hints);
            std::fill_n(mine, 64, 1.0);
            MPI_Barrier(MPI_COMM_WORLD);
            std::array<double, 8> with{}, was{};
            std::iota(with.begin(), with.end(), 0.5);
            std::array<pair, 2> const pairs{{{3, 1}, {4, 2}}};
            std::array<pair, 2> found{{{0, 0}, {0, 0}}};
            for (int const kind : {MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED}) {
                int const row = kind == MPI_LOCK_SHARED ? 32 : 0, other = 1 - me;
                auto const add = [&](double* result) {
                    return result ? MPI_Get_accumulate(with.data(), 8, MPI_DOUBLE, result, 8, MPI_DOUBLE, other, row, 8,
                                                       MPI_DOUBLE, MPI_SUM, w)
                                  : MPI_Accumulate(with.data(), 8, MPI_DOUBLE, other, row, 8, MPI_DOUBLE, MPI_SUM, w);
                };
                auto const read = [&](void* result, int n, MPI_Datatype type, int place) {
                    return MPI_Get_accumulate(nullptr, 0, MPI_DATATYPE_NULL, result, n, type, other, place, n, type, MPI_NO_OP,
                                              w);
                };
                MPI_Win_lock(kind, other, 0, w);
                ok(add(nullptr));
                ok(add(was.data()));
                for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(was[i], 1 + with[i]);
                ok(read(was.data(), 8, MPI_DOUBLE, row));
                for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(was[i], 1 + 2 * with[i]);
                ok(MPI_Accumulate(with.data(), 4, MPI_C_DOUBLE_COMPLEX, other, row + 8, 4, MPI_C_DOUBLE_COMPLEX, MPI_PROD, w));
                ok(read(was.data(), 1, MPI_C_DOUBLE_COMPLEX, row + 8));
                EXPECT_EQ(was[0], -1.0) << "(1 + i) * (0.5 + 1.5 i)";
                EXPECT_EQ(was[1], 2.0);
                ok(MPI_Accumulate(pairs.data(), 2, MPI_2INT, other, row + 16, 2, MPI_2INT, MPI_REPLACE, w));
                ok(read(found.data(), 2, MPI_2INT, row + 16));
                EXPECT_EQ(found[0].value * 10 + found[0].place, 31);
                EXPECT_EQ(found[1].value * 10 + found[1].place, 42);
                MPI_Win_unlock(other, w);
            }
            MPI_Win_free(&w);
        });
}

TEST(COneSidedCalls, WrongArgumentsAreTheWindowsErrors) {
    ranks(2, [](int, int) {
        counter const c;
        auto const w = c.win;
        long x = 1, y = 2;
        MPI_Datatype raw = MPI_DATATYPE_NULL;
        MPI_Op mine = MPI_OP_NULL;
        MPI_Type_contiguous(2, MPI_LONG, &raw);
        MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &mine);
        MPI_Win_lock_all(0, w);
        auto const put = [&](void* at, int n, MPI_Datatype t, int target, MPI_Aint disp, int m, MPI_Datatype u) {
            return MPI_Put(at, n, t, target, disp, m, u, w);
        };
        expect_failure(put(&x, 1, MPI_LONG, 2, 0, 1, MPI_LONG), MPI_ERR_RANK,
                       {"MPI_Put", "target_rank is 2", "0 to 1, MPI_PROC_NULL"});
        expect_failure(put(&x, -1, MPI_LONG, 0, 0, 1, MPI_LONG), MPI_ERR_COUNT, {"origin_count is -1"});
        expect_failure(put(&x, 1, MPI_LONG, 0, 0, -4, MPI_LONG), MPI_ERR_COUNT, {"target_count is -4"});
        expect_failure(put(&x, 1, MPI_LONG, 0, -8, 1, MPI_LONG), MPI_ERR_DISP, {"target_disp is -8"});
        expect_failure(put(nullptr, 1, MPI_LONG, 0, 0, 1, MPI_LONG), MPI_ERR_BUFFER, {"origin_addr is a null pointer"});
        expect_failure(put(&x, 1, raw, 0, 0, 1, MPI_LONG), MPI_ERR_TYPE, {"origin_datatype", "not committed"});
        expect_failure(put(&x, 1, MPI_LONG, 0, 0, 1, raw), MPI_ERR_TYPE, {"target_datatype", "not committed"});
        expect_failure(put(&x, 1, MPI_DATATYPE_NULL, 0, 0, 1, raw), MPI_ERR_TYPE, {"origin_datatype is MPI_DATATYPE_NULL"});
        expect_failure(put(&x, 1, MPI_LONG, 0, 1, 1, MPI_LONG), MPI_ERR_RMA_RANGE, {"MPI_Put"}); // there is one element
        expect_failure(put(&x, 2, MPI_LONG, 0, 0, 2, MPI_LONG), MPI_ERR_RMA_RANGE, {"MPI_Put"});
        expect_failure(MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_WIN_NULL), MPI_ERR_WIN, {"win is MPI_WIN_NULL"});
        expect_failure(MPI_Win_sync(MPI_WIN_NULL), MPI_ERR_WIN, {"MPI_Win_sync", "win is MPI_WIN_NULL"});
        expect_failure(MPI_Accumulate(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, mine, w), MPI_ERR_OP, {"op is the user's operation"});
        expect_failure(MPI_Accumulate(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP, w), MPI_ERR_OP, {"op is MPI_NO_OP"});
        expect_failure(MPI_Accumulate(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_OP_NULL, w), MPI_ERR_OP, {"op is MPI_OP_NULL"});
        expect_failure(MPI_Accumulate(&x, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BAND, w), MPI_ERR_OP, {"MPI_Accumulate"});
        expect_failure(MPI_Fetch_and_op(&x, nullptr, MPI_LONG, 0, 0, MPI_SUM, w), MPI_ERR_BUFFER, {"result_addr is a null"});
        expect_failure(MPI_Fetch_and_op(nullptr, &y, MPI_LONG, 0, 0, MPI_SUM, w), MPI_ERR_BUFFER, {"origin_addr is a null"});
        expect_failure(MPI_Compare_and_swap(&x, nullptr, &y, MPI_LONG, 0, 0, w), MPI_ERR_BUFFER, {"compare_addr is a null"});
        expect_failure(MPI_Accumulate(&x, 2, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, w), MPI_ERR_ARG, {"MPI_Accumulate"});
        expect_failure(MPI_Accumulate(&x, 2, MPI_LONG, 0, 0, 2, MPI_LONG, MPI_SUM, w), MPI_ERR_RMA_RANGE, {"MPI_Accumulate"});
        auto const fetch = [&](void* at, int n, void* into, int m, int k, MPI_Op op) {
            return MPI_Get_accumulate(at, n, MPI_LONG, into, m, MPI_LONG, 0, 0, k, MPI_LONG, op, w);
        };
        expect_failure(fetch(nullptr, 1, &y, 1, 1, MPI_SUM), MPI_ERR_BUFFER, {"origin_addr is a null"});
        expect_failure(fetch(&x, 1, nullptr, 1, 1, MPI_NO_OP), MPI_ERR_BUFFER, {"result_addr is a null"});
        expect_failure(fetch(&x, 1, &y, 1, -1, MPI_SUM), MPI_ERR_COUNT, {"target_count is -1"});
        expect_failure(fetch(&x, 1, &y, 1, 1, MPI_OP_NULL), MPI_ERR_OP, {"op is MPI_OP_NULL"});
        for (auto* const at : {static_cast<void*>(&x), MPI_IN_PLACE}) {
            void* const other = at == &x ? MPI_IN_PLACE : &x;
            expect_failure(fetch(at, 1, other, 1, 1, MPI_SUM), MPI_ERR_BUFFER, {"is MPI_IN_PLACE"});
            expect_failure(MPI_Fetch_and_op(at, other, MPI_LONG, 0, 0, MPI_SUM, w), MPI_ERR_BUFFER, {"is MPI_IN_PLACE"});
            expect_failure(MPI_Compare_and_swap(at, other, &y, MPI_LONG, 0, 0, w), MPI_ERR_BUFFER, {"is MPI_IN_PLACE"});
        }
        MPI_Datatype single = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(1, MPI_LONG, &single);
        expect_failure(MPI_Accumulate(&x, 1, single, 0, 0, 1, single, MPI_SUM, w), MPI_ERR_TYPE, {"not committed"});
        MPI_Type_free(&single);
        expect_failure(MPI_Accumulate(MPI_IN_PLACE, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, w), MPI_ERR_BUFFER,
                       {"origin_addr is MPI_IN_PLACE"});
        MPI_Win_unlock_all(w);
        EXPECT_EQ(c.of(0), 0);
        EXPECT_EQ(c.of(1), 0);
        MPI_Type_free(&raw);
        MPI_Op_free(&mine);
    });
}

TEST(COneSidedCalls, BothSidesHaveAsManyBytesAlsoWhereOneHasNone) {
    ranks(2, [](int me, int) {
        counter const c;
        long x = 1, y = 2;
        int const to = 1 - me;
        MPI_Win_lock_all(0, c.win);
        auto const refused = [](int code, char const* here, char const* there) {
            expect_failure(code, MPI_ERR_ARG, {here, there, "both sides are to have as many"});
        };
        for (int const target : {me, to}) {
            refused(MPI_Put(&x, 1, MPI_LONG, target, 0, 0, MPI_LONG, c.win), "8 bytes here", "0 bytes at the target");
            refused(MPI_Get(&x, 1, MPI_LONG, target, 0, 0, MPI_LONG, c.win), "8 bytes here", "0 bytes at the target");
            refused(MPI_Accumulate(&x, 1, MPI_LONG, target, 0, 0, MPI_LONG, MPI_SUM, c.win), "8 bytes here",
                    "0 bytes at the target");
            refused(MPI_Accumulate(&x, 0, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, c.win), "0 bytes here",
                    "8 bytes at the target");
            auto const fetch = [&](int n, int m, int k, MPI_Op op) {
                return MPI_Get_accumulate(&x, n, MPI_LONG, &y, m, MPI_LONG, target, 0, k, MPI_LONG, op, c.win);
            };
            refused(fetch(1, 0, 0, MPI_SUM), "8 bytes here", "0 bytes at the target");
            refused(fetch(0, 1, 0, MPI_SUM), "8 bytes here", "0 bytes at the target");
            refused(fetch(9, 1, 0, MPI_NO_OP), "8 bytes here", "0 bytes at the target");
            refused(fetch(1, 0, 1, MPI_SUM), "0 bytes here", "8 bytes at the target");
            EXPECT_EQ(fetch(0, 0, 0, MPI_SUM), MPI_SUCCESS);
            EXPECT_EQ(fetch(9, 0, 0, MPI_NO_OP), MPI_SUCCESS);
        }
        MPI_Win_unlock_all(c.win);
        EXPECT_EQ(y, 2);
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(c.of(me), 0);
    });
}

/// Their bytes, or the way from the first to the last, are more than 64 bits count: products wrap round to nothing, or to less.
TEST(COneSidedCalls, CountsThatNoMemoryHasAreOutsideTheWindow) {
    ranks(2, [](int me, int) {
        counter const c;
        long x = 1, y = 2;
        MPI_Datatype apart = MPI_DATATYPE_NULL;
        MPI_Type_create_resized(MPI_LONG, 0, MPI_Aint{1} << 40, &apart);
        MPI_Type_commit(&apart);
        MPI_Win_lock_all(0, c.win);
        for (MPI_Count const n : {MPI_Count{1} << 60, MPI_Count{1} << 61, (MPI_Count{1} << 61) + 1, MPI_Count{1} << 62})
            for (int const target : {me, 1 - me}) {
                auto const said = std::to_string(n) + " elements of 8 bytes at displacement 0 are not within rank " +
                                  std::to_string(target) + "'s part of the window, which has 8 bytes";
                auto const refused = [&](int code) { expect_failure(code, MPI_ERR_RMA_RANGE, {said.c_str()}); };
                refused(MPI_Put_c(&x, 1, MPI_LONG, target, 0, n, MPI_LONG, c.win));
                refused(MPI_Get_c(&x, 1, MPI_LONG, target, 0, n, MPI_LONG, c.win));
                for (auto const mine : {MPI_Count{1}, n}) {
                    refused(MPI_Accumulate_c(&x, mine, MPI_LONG, target, 0, n, MPI_LONG, MPI_SUM, c.win));
                    refused(
                        MPI_Get_accumulate_c(&x, mine, MPI_LONG, &y, mine, MPI_LONG, target, 0, n, MPI_LONG, MPI_SUM, c.win));
                }
                for (auto const there : {MPI_Count{1}, n}) {
                    expect_failure(MPI_Put_c(&x, n, MPI_LONG, target, 0, there, MPI_LONG, c.win), MPI_ERR_ARG, {"too large"});
                    expect_failure(MPI_Get_c(&x, n, MPI_LONG, target, 0, there, MPI_LONG, c.win), MPI_ERR_ARG, {"too large"});
                }
                expect_failure(MPI_Accumulate_c(&x, n, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, c.win), MPI_ERR_ARG,
                               {"too large"});
            }
        expect_failure(MPI_Put_c(&x, 1, MPI_LONG, me, 0, (MPI_Count{1} << 24) + 1, apart, c.win), MPI_ERR_RMA_RANGE,
                       {"16777217 elements of 8 bytes"});
        MPI_Win_unlock_all(c.win);
        MPI_Type_free(&apart);
        EXPECT_EQ(x * 10 + y, 12);
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT_EQ(c.of(me), 0);
    });
}

TEST(COneSidedCalls, WhatStandsOutsideItsEpochIsRefused) {
    ranks(2, [](int me, int) {
        counter const c;
        auto w = c.win;
        long x = 1;
        MPI_Group g = MPI_GROUP_NULL;
        MPI_Win_get_group(w, &g);
        auto const refused = [](int code) { expect_failure(code, MPI_ERR_RMA_SYNC, {"MPI_"}); };
        refused(MPI_Put(&x, 1, MPI_LONG, 0, 0, 1, MPI_LONG, w));
        refused(MPI_Win_unlock(0, w));
        refused(MPI_Win_unlock_all(w));
        refused(MPI_Win_complete(w));
        refused(MPI_Win_wait(w));
        refused(MPI_Win_flush(0, w));
        refused(MPI_Win_flush_all(w));
        refused(MPI_Win_flush_local(0, w));
        refused(MPI_Win_flush_local_all(w));
        MPI_Win_fence(0, w); // opens no epoch for requests and flushes
        MPI_Request r = MPI_REQUEST_NULL;
        long y = 0;
        refused(MPI_Rput(&x, 1, MPI_LONG, me, 0, 1, MPI_LONG, w, &r));
        refused(MPI_Rget(&y, 1, MPI_LONG, me, 0, 1, MPI_LONG, w, &r));
        refused(MPI_Raccumulate(&x, 1, MPI_LONG, me, 0, 1, MPI_LONG, MPI_SUM, w, &r));
        expect_failure(MPI_Rget_accumulate(&x, 1, MPI_LONG, &y, 1, MPI_LONG, me, 0, 1, MPI_LONG, MPI_SUM, w, &r),
                       MPI_ERR_RMA_SYNC, {"MPI_Rget_accumulate", "is not locked; operations with a request"});
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        refused(MPI_Win_flush(me, w));
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
        MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w);
        refused(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, w));
        refused(MPI_Win_lock_all(0, w));
        refused(MPI_Win_start(g, 0, w));
        refused(MPI_Put(&x, 1, MPI_LONG, 1 - me, 0, 1, MPI_LONG, w)); // that one is not locked
        refused(MPI_Win_free(&w));
        EXPECT_EQ(MPI_Put(&x, 1, MPI_LONG, me, 0, 1, MPI_LONG, w), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_unlock(me, w), MPI_SUCCESS);
        EXPECT_EQ(c.of(me), 1);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Group_free(&g);
    });
}

TEST(COneSidedCalls, EachSynchronisationTakesItsOwnPromises) {
    ranks(1, [](int, int) {
        counter const c;
        MPI_Group g = MPI_GROUP_NULL;
        MPI_Win_get_group(c.win, &g);
        auto const refused = [](int code, char const* name, char const* allowed) {
            expect_failure(code, MPI_ERR_ASSERT, {name, "assert is", allowed});
        };
        refused(MPI_Win_fence(MPI_MODE_NOCHECK, c.win), "MPI_Win_fence",
                "0, MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED");
        refused(MPI_Win_post(g, MPI_MODE_NOPRECEDE, c.win), "MPI_Win_post",
                "0, MPI_MODE_NOCHECK, MPI_MODE_NOSTORE, MPI_MODE_NOPUT");
        refused(MPI_Win_start(g, MPI_MODE_NOPUT, c.win), "MPI_Win_start", "allowed: 0, MPI_MODE_NOCHECK");
        refused(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOSTORE, c.win), "MPI_Win_lock", "allowed: 0, MPI_MODE_NOCHECK");
        refused(MPI_Win_lock_all(MPI_MODE_NOSUCCEED | MPI_MODE_NOCHECK, c.win), "MPI_Win_lock_all",
                "allowed: 0, MPI_MODE_NOCHECK");
        EXPECT_EQ(MPI_Win_post(g, MPI_MODE_NOSTORE | MPI_MODE_NOPUT, c.win), MPI_SUCCESS); // nothing was begun
        EXPECT_EQ(MPI_Win_start(g, 0, c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_complete(c.win), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_wait(c.win), MPI_SUCCESS);
        MPI_Group_free(&g);
    });
}

TEST(COneSidedCalls, GroupsAreOfTheWindow) {
    ranks(2, [](int me, int) {
        MPI_Win w = MPI_WIN_NULL;
        MPI_Group world = MPI_GROUP_NULL;
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &w);
        MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        auto const who = "rank " + std::to_string(1 - me) + " of group is not in the group of win, which has 1 processes";
        expect_failure(MPI_Win_start(world, 0, w), MPI_ERR_GROUP, {who.c_str()});
        expect_failure(MPI_Win_post(world, 0, w), MPI_ERR_GROUP, {who.c_str()});
        EXPECT_EQ(MPI_Win_post(MPI_GROUP_EMPTY, 0, w), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_start(MPI_GROUP_EMPTY, 0, w), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_complete(w), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_wait(w), MPI_SUCCESS);
        MPI_Group_free(&world);
        EXPECT_EQ(MPI_Win_free(&w), MPI_SUCCESS);
    });
}

TEST(COneSidedCalls, AWindowNeedsNoWorld) {
    processes(2, [](int me, int) {
        MPI_Session s = MPI_SESSION_NULL;
        MPI_Group g = MPI_GROUP_NULL;
        MPI_Comm c = MPI_COMM_NULL;
        MPI_Win w = MPI_WIN_NULL;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s);
        MPI_Group_from_session_pset(s, "mpi://WORLD", &g);
        MPI_Comm_create_from_group(g, "window", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c);
        long *mine = nullptr, x = 10 + me;
        EXPECT_EQ(MPI_Win_allocate(sizeof(long), 1, MPI_INFO_NULL, c, &mine, &w), MPI_SUCCESS);
        MPI_Win_fence(0, w);
        EXPECT_EQ(MPI_Put(&x, 1, MPI_LONG, 1 - me, 0, 1, MPI_LONG, w), MPI_SUCCESS);
        MPI_Win_fence(0, w);
        EXPECT_EQ(*mine, 11 - me);
        EXPECT_EQ(MPI_Win_free(&w), MPI_SUCCESS);
        MPI_Comm_free(&c);
        MPI_Group_free(&g);
        EXPECT_EQ(MPI_Session_finalize(&s), MPI_SUCCESS);
    });
}

} // namespace
