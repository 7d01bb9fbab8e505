// Handles as integers: there and back again, for what lives, what is predefined, null handles, and what was freed.
#include <functional>
#include <set>

#include "ranks.hpp"

namespace {

using mpt::c::test::expect_failure;
using mpt::c::test::ranks;

template <class Handle> using into = int (*)(Handle);
template <class Handle> using back = Handle (*)(int);

/// What stands at a fixed place in the standard's binary interface: its integer is the handle's value.
template <class Handle> void expect_fixed(into<Handle> to, back<Handle> from, std::initializer_list<Handle> handles) {
    for (auto const h : handles) {
        EXPECT_EQ(to(h), static_cast<int>(reinterpret_cast<std::intptr_t>(h)));
        EXPECT_EQ(from(to(h)), h);
    }
}

/// Objects that are made: each has an integer of its own, which gives its handle while it lives, and after that no handle of it.
template <class Handle>
void expect_round_trips(into<Handle> to, back<Handle> from, std::function<Handle()> make, std::function<void(Handle)> free) {
    constexpr std::size_t many = 50;
    std::vector<Handle> all;
    std::set<int> integers;
    for (std::size_t i = 0; i < many; ++i) {
        all.push_back(make());
        integers.insert(to(all.back()));
    }
    EXPECT_EQ(integers.size(), many);
    for (auto const h : all) EXPECT_EQ(from(to(h)), h);
    for (std::size_t i = 0; i < many; i += 2) free(all[i]);
    for (std::size_t i = 0; i < many; ++i) EXPECT_EQ(from(to(all[i])) == all[i], i % 2 == 1);
    auto const again = make(); // in a freed one's place, perhaps: its integer stands for the new one then
    EXPECT_EQ(from(to(again)), again);
    for (std::size_t i = 0; i < many; i += 2) EXPECT_NE(from(to(all[i])), all[i]);
    free(again);
    for (std::size_t i = 1; i < many; i += 2) free(all[i]);
}

void sum_of_two(void*, void*, int*, MPI_Datatype*) {}
void on_error(MPI_Comm*, int*, ...) {}

TEST(CIntegers, PredefinedAndNullHandlesHaveTheIntegersOfTheBinaryInterface) {
    ranks(1, [](int, int) {
        expect_fixed<MPI_Comm>(MPI_Comm_toint, MPI_Comm_fromint, {MPI_COMM_NULL, MPI_COMM_WORLD, MPI_COMM_SELF});
        expect_fixed<MPI_Group>(MPI_Group_toint, MPI_Group_fromint, {MPI_GROUP_NULL, MPI_GROUP_EMPTY});
        expect_fixed<MPI_Datatype>(MPI_Type_toint, MPI_Type_fromint, {MPI_DATATYPE_NULL, MPI_INT, MPI_DOUBLE, MPI_INT64_T});
        expect_fixed<MPI_Op>(MPI_Op_toint, MPI_Op_fromint, {MPI_OP_NULL, MPI_SUM, MPI_MAXLOC, MPI_NO_OP});
        expect_fixed<MPI_Errhandler>(MPI_Errhandler_toint, MPI_Errhandler_fromint,
                                     {MPI_ERRHANDLER_NULL, MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT, MPI_ERRORS_RETURN});
        expect_fixed<MPI_Info>(MPI_Info_toint, MPI_Info_fromint, {MPI_INFO_NULL, MPI_INFO_ENV});
        expect_fixed<MPI_Message>(MPI_Message_toint, MPI_Message_fromint, {MPI_MESSAGE_NULL, MPI_MESSAGE_NO_PROC});
        expect_fixed<MPI_Request>(MPI_Request_toint, MPI_Request_fromint, {MPI_REQUEST_NULL});
        expect_fixed<MPI_File>(MPI_File_toint, MPI_File_fromint, {MPI_FILE_NULL});
        expect_fixed<MPI_Session>(MPI_Session_toint, MPI_Session_fromint, {MPI_SESSION_NULL});
        expect_fixed<MPI_Win>(MPI_Win_toint, MPI_Win_fromint, {MPI_WIN_NULL});
    });
}

TEST(CIntegers, ObjectsComeBackWhileTheyLive) {
    ranks(1, [](int, int) {
        expect_round_trips<MPI_Comm>(
            MPI_Comm_toint, MPI_Comm_fromint, [](MPI_Comm c = MPI_COMM_NULL) { return MPI_Comm_dup(MPI_COMM_SELF, &c), c; },
            [](MPI_Comm c) { MPI_Comm_free(&c); });
        expect_round_trips<MPI_Group>(
            MPI_Group_toint, MPI_Group_fromint,
            [](MPI_Group g = MPI_GROUP_NULL) { return MPI_Comm_group(MPI_COMM_WORLD, &g), g; },
            [](MPI_Group g) { MPI_Group_free(&g); });
        expect_round_trips<MPI_Datatype>(
            MPI_Type_toint, MPI_Type_fromint,
            [](MPI_Datatype t = MPI_DATATYPE_NULL) { return MPI_Type_contiguous(3, MPI_INT, &t), t; },
            [](MPI_Datatype t) { MPI_Type_free(&t); });
        expect_round_trips<MPI_Op>(
            MPI_Op_toint, MPI_Op_fromint, [](MPI_Op o = MPI_OP_NULL) { return MPI_Op_create(sum_of_two, 1, &o), o; },
            [](MPI_Op o) { MPI_Op_free(&o); });
        expect_round_trips<MPI_Errhandler>(
            MPI_Errhandler_toint, MPI_Errhandler_fromint,
            [](MPI_Errhandler e = MPI_ERRHANDLER_NULL) { return MPI_Comm_create_errhandler(on_error, &e), e; },
            [](MPI_Errhandler e) { MPI_Errhandler_free(&e); });
        expect_round_trips<MPI_Info>(
            MPI_Info_toint, MPI_Info_fromint, [](MPI_Info i = MPI_INFO_NULL) { return MPI_Info_create(&i), i; },
            [](MPI_Info i) { MPI_Info_free(&i); });
    });
}

TEST(CIntegers, RequestsAndMessagesDoToo) {
    ranks(1, [](int, int) {
        expect_round_trips<MPI_Request>(
            MPI_Request_toint, MPI_Request_fromint,
            [](MPI_Request r = MPI_REQUEST_NULL) { return MPI_Irecv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &r), r; },
            [](MPI_Request r) {
                MPI_Cancel(&r);
                MPI_Wait(&r, MPI_STATUS_IGNORE);
            });
        expect_round_trips<MPI_Message>(
            MPI_Message_toint, MPI_Message_fromint,
            [](MPI_Message m = MPI_MESSAGE_NULL) {
                MPI_Send(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_SELF);
                return MPI_Mprobe(0, 1, MPI_COMM_SELF, &m, MPI_STATUS_IGNORE), m;
            },
            [](MPI_Message m) { MPI_Mrecv(nullptr, 0, MPI_INT, &m, MPI_STATUS_IGNORE); });
    });
}

TEST(CIntegers, WhatNobodyHasIsAHandleOfNothing) {
    ranks(1, [](int, int) {
        int size = 0;
        MPI_Comm dead = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_SELF, &dead);
        auto const freed = MPI_Comm_toint(dead);
        MPI_Comm_free(&dead);
        for (int n : {freed, 999, 4096 + 77777, -1}) {
            auto const c = MPI_Comm_fromint(n);
            EXPECT_NE(c, MPI_COMM_WORLD);
            expect_failure(MPI_Comm_size(c, &size), MPI_ERR_COMM, {"comm is 0x", "no communicator"});
            expect_failure(MPI_Type_size(MPI_Type_fromint(n), &size), MPI_ERR_TYPE, {"no datatype"});
        }
    });
}

} // namespace
