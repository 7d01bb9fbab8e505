// Chapter 9 of the C interface: error handlers, error classes and codes.
#include <array>
#include <stdexcept>

#include "shared.hpp"

namespace {

using mpt::c::test::dup_of;
using mpt::c::test::expect_failure;
using mpt::c::test::expect_ring;
using mpt::c::test::ranks;

/// What the handlers of these tests saw, each rank its own.
struct seen {
    MPI_Comm comm;
    int code;
    friend bool operator==(seen const&, seen const&) = default;
};
thread_local std::vector<seen> calls;

void note(MPI_Comm* c, int* code, ...) { calls.push_back({*c, *code}); }
void note_and_throw(MPI_Comm* c, int* code, ...) {
    note(c, code);
    throw std::runtime_error{"of the handler"};
}
void use_mpi(MPI_Comm* c, int* code, ...) {
    note(c, code);
    auto twin = dup_of(MPI_COMM_SELF);
    expect_ring(twin);
    MPI_Comm_free(&twin);
    MPI_Errhandler mine = MPI_ERRHANDLER_NULL; // and let it go while it runs
    MPI_Comm_get_errhandler(*c, &mine);
    MPI_Comm_set_errhandler(*c, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&mine);
}

MPI_Errhandler handler_of(MPI_Comm c) {
    MPI_Errhandler h = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_get_errhandler(c, &h), MPI_SUCCESS);
    return h;
}
MPI_Errhandler made_of(MPI_Comm_errhandler_function* f) {
    MPI_Errhandler h = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_create_errhandler(f, &h), MPI_SUCCESS);
    return h;
}
int bad_send(MPI_Comm c) { return MPI_Send(nullptr, -1, MPI_INT, 0, 0, c); }

TEST(CErrors, AHandlerIsCalledWithItsCommunicatorAndTheCodeComesBack) {
    ranks(2, [](int, int) {
        calls.clear();
        auto c = dup_of(MPI_COMM_WORLD);
        auto h = made_of(note);
        EXPECT_EQ(MPI_Comm_set_errhandler(c, h), MPI_SUCCESS);
        EXPECT_EQ(MPI_Errhandler_free(&h), MPI_SUCCESS); // the communicator keeps it
        EXPECT_EQ(h, MPI_ERRHANDLER_NULL);
        EXPECT_EQ(bad_send(c), MPI_ERR_COUNT);
        EXPECT_EQ(calls, (std::vector<seen>{{c, MPI_ERR_COUNT}}));
        EXPECT_EQ(bad_send(MPI_COMM_WORLD), MPI_ERR_COUNT);
        EXPECT_EQ(calls.size(), 1u);
        EXPECT_EQ(MPI_Comm_call_errhandler(c, MPI_ERR_TOPOLOGY), MPI_SUCCESS);
        EXPECT_EQ(calls.back(), (seen{c, MPI_ERR_TOPOLOGY}));
        EXPECT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TOPOLOGY), MPI_SUCCESS); // MPI_ERRORS_RETURN
        MPI_Comm_free(&c);
    });
}

TEST(CErrors, NewCommunicatorsHaveTheirParentsHandler) {
    ranks(2, [](int, int) {
        calls.clear();
        auto c = dup_of(MPI_COMM_WORLD);
        EXPECT_EQ(handler_of(c), MPI_ERRORS_RETURN);
        auto h = made_of(note);
        MPI_Comm_set_errhandler(c, h);
        MPI_Comm part = MPI_COMM_NULL, made = MPI_COMM_NULL;
        MPI_Group all = MPI_GROUP_NULL;
        MPI_Comm_group(c, &all);
        MPI_Comm_split(c, 1, 0, &part);
        MPI_Comm_create(c, all, &made);
        auto twin = dup_of(c);
        for (auto* x : {&part, &made, &twin}) {
            EXPECT_EQ(bad_send(*x), MPI_ERR_COUNT);
            EXPECT_EQ(calls.back().comm, *x);
            auto theirs = handler_of(*x);
            EXPECT_EQ(theirs, h);
            MPI_Errhandler_free(&theirs);
        }
        EXPECT_EQ(calls.size(), 3u);
        MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN); // theirs alone
        bad_send(part), bad_send(twin);
        EXPECT_EQ(calls.size(), 4u);
        for (auto* x : {&part, &made, &twin, &c}) MPI_Comm_free(x);
        MPI_Group_free(&all);
        MPI_Errhandler_free(&h);
    });
}

TEST(CErrors, AHandlerIsFreedAsOftenAsItWasGiven) {
    ranks(1, [](int, int) {
        auto h = made_of(note);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
        auto again = handler_of(MPI_COMM_WORLD), dead = h;
        EXPECT_EQ(again, h);
        MPI_Errhandler_free(&h);
        EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, again), MPI_SUCCESS); // still named
        MPI_Errhandler_free(&again);
        expect_failure(MPI_Errhandler_free(&dead), MPI_ERR_ERRHANDLER, {"errhandler is 0x", "freed"});
        again = handler_of(MPI_COMM_WORLD); // a new name
        EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, again), MPI_SUCCESS);
        MPI_Errhandler_free(&again);
        for (auto c : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
        for (int i = 0; i < 3; ++i) {
            auto predefined = handler_of(MPI_COMM_WORLD);
            EXPECT_EQ(MPI_Errhandler_free(&predefined), MPI_SUCCESS);
            EXPECT_EQ(predefined, MPI_ERRHANDLER_NULL);
        }
        EXPECT_EQ(handler_of(MPI_COMM_WORLD), MPI_ERRORS_RETURN);
    });
}

TEST(CErrors, AHandlerMayCallMpiReplaceItselfAndThrow) {
    ranks(1, [](int, int) {
        calls.clear();
        auto h = made_of(use_mpi);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
        MPI_Errhandler_free(&h);
        EXPECT_EQ(bad_send(MPI_COMM_WORLD), MPI_ERR_COUNT);
        EXPECT_EQ(bad_send(MPI_COMM_WORLD), MPI_ERR_COUNT); // by MPI_ERRORS_RETURN
        EXPECT_EQ(calls.size(), 1u);
        h = made_of(note_and_throw);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
        MPI_Errhandler_free(&h);
        EXPECT_THROW(bad_send(MPI_COMM_WORLD), std::runtime_error);
        EXPECT_EQ(calls.size(), 2u);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        expect_ring(MPI_COMM_WORLD);
    });
}

TEST(CErrors, ErrorsWithoutAnObjectAreSelfs) {
    ranks(1, [](int, int) {
        calls.clear();
        auto h = made_of(note);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, h);
        int n = 0;
        EXPECT_EQ(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
        EXPECT_EQ(calls, (std::vector<seen>{{MPI_COMM_SELF, MPI_ERR_GROUP}}));
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Errhandler_free(&h);
    });
}

/// Programs of MPI-3.1 set the world's handler and mean all that goes wrong.
TEST(CErrors, ErrorsWithoutAnObjectAreTheWorldsWhereSelfsHandlerIsTheFirstOne) {
    ranks(1, [](int, int) {
        calls.clear();
        auto h = made_of(note);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
        int n = 0;
        EXPECT_EQ(MPI_Group_size(MPI_GROUP_NULL, &n), MPI_ERR_GROUP);
        EXPECT_EQ(MPI_Type_size(MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE);
        EXPECT_EQ(calls, (std::vector<seen>{{MPI_COMM_WORLD, MPI_ERR_GROUP}, {MPI_COMM_WORLD, MPI_ERR_TYPE}}));
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Errhandler_free(&h);
    });
}

/// A request outlives its communicator, whose handler hears what goes wrong with it, whatever is made and freed meanwhile.
TEST(CErrors, ErrorsOfARequestAreItsCommunicatorsAlsoAfterThatWasFreed) {
    ranks(2, [](int me, int) {
        calls.clear();
        MPI_Datatype column = MPI_DATATYPE_NULL;
        MPI_Type_vector(3, 1, 2, MPI_INT, &column);
        MPI_Type_commit(&column);
        for (bool const strided : {false, true}) {
            auto c = dup_of(MPI_COMM_WORLD);
            auto const was = c;
            if (me == 1) {
                MPI_Barrier(c); // the receive is posted
                std::array<int, 4> const four{};
                EXPECT_EQ(MPI_Send(four.data(), 4, MPI_INT, 0, 0, c), MPI_SUCCESS);
                MPI_Comm_free(&c);
                continue;
            }
            auto h = made_of(note);
            MPI_Comm_set_errhandler(c, h);
            MPI_Errhandler_free(&h);
            std::array<int, 9> room{};
            MPI_Request r = MPI_REQUEST_NULL;
            if (strided) MPI_Irecv(room.data(), 1, column, 1, 0, c, &r);
            else MPI_Irecv(room.data(), 3, MPI_INT, 1, 0, c, &r);
            MPI_Barrier(c);
            MPI_Comm_free(&c);
            for (int i = 0; i < 3; ++i) {
                auto other = dup_of(MPI_COMM_SELF);
                MPI_Comm_free(&other);
            }
            EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
            EXPECT_EQ(calls, (std::vector<seen>{{was, MPI_ERR_TRUNCATE}}));
            calls.clear();
            auto last = dup_of(MPI_COMM_SELF);
            MPI_Comm_free(&last);
            EXPECT_TRUE(mpt::c::here().outlived.empty()) << "no request is under way";
        }
        MPI_Type_free(&column);
    });
}

/// Whose handler is called where a call names no communicator: that of the communicator which its request or message belongs to, and
/// MPI_COMM_SELF's where the handle is bad or belongs to none. MPI-4.1 section 9.3.
class belongings {
    MPI_Errhandler noted_ = made_of(note);

public:
    MPI_Comm comm = dup_of(MPI_COMM_SELF), other = dup_of(MPI_COMM_SELF);

    belongings() {
        calls.clear();
        for (auto c : {comm, other, MPI_COMM_SELF}) MPI_Comm_set_errhandler(c, noted_);
    }
    ~belongings() {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Errhandler_free(&noted_);
        for (auto* c : {&comm, &other}) MPI_Comm_free(c);
    }
    static void expect(int code, int wanted, MPI_Comm heard_by) {
        EXPECT_EQ(code, wanted) << mpt::c::here().last_error;
        EXPECT_EQ(calls, (std::vector<seen>{{heard_by, wanted}})) << mpt::c::here().last_error;
        calls.clear();
    }
};

TEST(CErrors, WhoNamesOnlyARequestMeansItsCommunicator) {
    ranks(1, [](int, int) {
        belongings of;
        int in[3]{}, flag = -1;
        std::array<int, 2> const two{1, 2};
        std::array<MPI_Request, 2> both{};
        MPI_Recv_init(in, 1, MPI_INT, 0, 1, of.other, both.data());
        MPI_Recv_init(in + 1, 1, MPI_INT, 0, 1, of.comm, &both[1]);
        auto& r = both[1];
        of.expect(MPI_Cancel(&r), MPI_ERR_REQUEST, of.comm); // it is not active
        EXPECT_EQ(MPI_Start(&r), MPI_SUCCESS);
        of.expect(MPI_Start(&r), MPI_ERR_REQUEST, of.comm);
        of.expect(MPI_Startall(2, both.data()), MPI_ERR_REQUEST, of.comm); // the other one begins
        of.expect(MPI_Test(&r, nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, of.comm);
        of.expect(MPI_Request_get_status(r, nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, of.comm);
        of.expect(MPI_Grequest_complete(r), MPI_ERR_REQUEST, of.comm);
        of.expect(MPI_Pready(0, r), MPI_ERR_REQUEST, of.comm);
        of.expect(MPI_Parrived(r, -1, &flag), MPI_ERR_ARG, of.comm);
        of.expect(MPI_Parrived(r, 0, &flag), MPI_ERR_REQUEST, of.comm);
        for (auto c : {of.comm, of.other}) MPI_Send(two.data(), 2, MPI_INT, 0, 1, c); // more than there is room for
        of.expect(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, of.comm);
        of.expect(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, of.comm);
        of.expect(MPI_Wait(both.data(), MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, of.other);
        for (auto& one : both) EXPECT_EQ(MPI_Request_free(&one), MPI_SUCCESS);

        MPI_Ibarrier(of.comm, &r);
        of.expect(MPI_Cancel(&r), MPI_ERR_REQUEST, of.comm);
        of.expect(MPI_Request_free(&r), MPI_ERR_REQUEST, of.comm);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);

        MPI_Psend_init(two.data(), 2, 1, MPI_INT, 0, 4, of.comm, MPI_INFO_NULL, &r);
        of.expect(MPI_Pready(0, r), MPI_ERR_REQUEST, of.comm); // it is not active
        of.expect(MPI_Pready(-1, r), MPI_ERR_ARG, of.comm);
        of.expect(MPI_Pready_range(0, 7, r), MPI_ERR_REQUEST, of.comm);
        of.expect(MPI_Pready_list(2, two.data(), r), MPI_ERR_REQUEST, of.comm);
        of.expect(MPI_Parrived(r, 0, &flag), MPI_ERR_REQUEST, of.comm); // it is a send
        EXPECT_EQ(MPI_Request_free(&r), MPI_SUCCESS);

        MPI_Comm_attach_buffer(of.comm, MPI_BUFFER_AUTOMATIC, 0);
        MPI_Comm_iflush_buffer(of.comm, &r);
        of.expect(MPI_Start(&r), MPI_ERR_REQUEST, of.comm);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    });
}

TEST(CErrors, WhoNamesOnlyAMessageMeansItsCommunicator) {
    ranks(1, [](int, int) {
        belongings of;
        int in = 0;
        std::array<int, 2> const two{1, 2};
        MPI_Message m = MPI_MESSAGE_NULL;
        MPI_Request r = MPI_REQUEST_NULL;
        for (int i = 0; i < 2; ++i) MPI_Send(two.data(), 2, MPI_INT, 0, 1, of.comm);
        MPI_Mprobe(0, 1, of.comm, &m, MPI_STATUS_IGNORE);
        of.expect(MPI_Mrecv(&in, -1, MPI_INT, &m, MPI_STATUS_IGNORE), MPI_ERR_COUNT, of.comm);
        of.expect(MPI_Mrecv(&in, 1, MPI_DATATYPE_NULL, &m, MPI_STATUS_IGNORE), MPI_ERR_TYPE, of.comm);
        of.expect(MPI_Imrecv(&in, 1, MPI_INT, &m, nullptr), MPI_ERR_ARG, of.comm);
        MPI_Message copy = m;
        of.expect(MPI_Mrecv(&in, 1, MPI_INT, &m, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, of.comm);
        MPI_Mprobe(0, 1, of.comm, &m, MPI_STATUS_IGNORE);
        EXPECT_NE(copy, m);
        of.expect(MPI_Mrecv(&in, 1, MPI_INT, &copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, MPI_COMM_SELF); // it is over
        EXPECT_EQ(MPI_Imrecv(&in, 1, MPI_INT, &m, &r), MPI_SUCCESS);
        of.expect(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, of.comm);
        of.expect(MPI_Mrecv(&in, 1, MPI_INT, &m, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, MPI_COMM_SELF); // there is none
        m = MPI_MESSAGE_NO_PROC;
        of.expect(MPI_Mrecv(&in, -1, MPI_INT, &m, MPI_STATUS_IGNORE), MPI_ERR_COUNT, MPI_COMM_SELF);
    });
}

TEST(CErrors, WhatBelongsToNoCommunicatorIsSelfs) {
    ranks(1, [](int, int) {
        belongings of;
        int flag = -1;
        MPI_Request r = MPI_REQUEST_NULL;
        of.expect(MPI_Start(&r), MPI_ERR_REQUEST, MPI_COMM_SELF);
        of.expect(MPI_Cancel(&r), MPI_ERR_REQUEST, MPI_COMM_SELF);
        of.expect(MPI_Request_free(&r), MPI_ERR_REQUEST, MPI_COMM_SELF);
        of.expect(MPI_Grequest_complete(r), MPI_ERR_REQUEST, MPI_COMM_SELF);
        of.expect(MPI_Pready(0, r), MPI_ERR_REQUEST, MPI_COMM_SELF);
        of.expect(MPI_Test(&r, nullptr, MPI_STATUS_IGNORE), MPI_ERR_ARG, MPI_COMM_SELF);
        MPI_Recv_init(&flag, 1, MPI_INT, 0, 1, of.comm, &r);
        auto dead = r;
        MPI_Request_free(&r);
        of.expect(MPI_Wait(&dead, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, MPI_COMM_SELF);
        of.expect(MPI_Start(&dead), MPI_ERR_REQUEST, MPI_COMM_SELF);
        MPI_Isend(nullptr, 0, MPI_INT, 0, 9, of.comm, &r); // it has left: its handle is that of all that have
        of.expect(MPI_Start(&r), MPI_ERR_REQUEST, MPI_COMM_SELF);
        MPI_Recv(nullptr, 0, MPI_INT, 0, 9, of.comm, MPI_STATUS_IGNORE);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        auto const no = [](void*, int) -> int { return MPI_ERR_OTHER; };
        auto const fine = [](void*) -> int { return MPI_SUCCESS; };
        MPI_Grequest_start([](void*, MPI_Status*) -> int { return MPI_SUCCESS; }, fine, no, nullptr, &r);
        of.expect(MPI_Cancel(&r), MPI_ERR_OTHER, MPI_COMM_SELF);
        EXPECT_EQ(MPI_Grequest_complete(r), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    });
}

/// What MPI_ERR_IN_STATUS stands for: the handler hears the code of the request that failed. MPI-4.1 section 9.3.1.
TEST(CErrors, AHandlerHearsTheCodeOfTheRequestThatFailed) {
    ranks(1, [](int, int) {
        auto c = dup_of(MPI_COMM_WORLD);
        auto h = made_of(note);
        MPI_Comm_set_errhandler(c, h);
        MPI_Errhandler_free(&h);
        int const four[4] = {1, 2, 3, 4};
        for (int way = 0; way < 5; ++way) {
            calls.clear();
            int one = 0, n = 0, flag = 0, indices[1];
            MPI_Request r = MPI_REQUEST_NULL;
            MPI_Status s{};
            MPI_Irecv(&one, 1, MPI_INT, 0, way, c, &r);
            MPI_Send(four, 4, MPI_INT, 0, way, c);
            int code = MPI_SUCCESS;
            switch (way) {
            case 0: code = MPI_Waitall(1, &r, &s); break;
            case 1: code = MPI_Waitsome(1, &r, &n, indices, &s); break;
            case 2:
                while (!flag && code == MPI_SUCCESS) code = MPI_Testall(1, &r, &flag, &s);
                break;
            case 3: code = MPI_Waitall(1, &r, MPI_STATUSES_IGNORE); break;
            default: code = MPI_Wait(&r, &s); break;
            }
            EXPECT_EQ(code, way < 4 ? MPI_ERR_IN_STATUS : MPI_ERR_TRUNCATE) << way;
            EXPECT_EQ(calls, (std::vector<seen>{{c, MPI_ERR_TRUNCATE}})) << way;
            if (way < 3) { EXPECT_EQ(s.MPI_ERROR, MPI_ERR_TRUNCATE) << way; }
        }
        MPI_Comm_free(&c);
    });
}

int files; // calls of note_file
void note_file(MPI_File* f, int* code, ...) {
    EXPECT_EQ(*f, MPI_FILE_NULL);
    EXPECT_EQ(*code, MPI_ERR_FILE);
    ++files;
}
void of_session(MPI_Session*, int*, ...) {}
void of_window(MPI_Win*, int*, ...) {}

TEST(CErrors, HandlersBelongToOneSortOfObject) {
    ranks(1, [](int, int) {
        files = 0;
        MPI_Errhandler f = MPI_ERRHANDLER_NULL, s = f, w = f, now = f;
        EXPECT_EQ(MPI_File_create_errhandler(note_file, &f), MPI_SUCCESS);
        EXPECT_EQ(MPI_Session_create_errhandler(of_session, &s), MPI_SUCCESS);
        EXPECT_EQ(MPI_Win_create_errhandler(of_window, &w), MPI_SUCCESS);
        for (auto h : {f, s, w})
            expect_failure(MPI_Comm_set_errhandler(MPI_COMM_WORLD, h), MPI_ERR_ERRHANDLER, {"another sort", "communicators"});
        MPI_File_get_errhandler(MPI_FILE_NULL, &now);
        EXPECT_EQ(now, MPI_ERRORS_RETURN);
        expect_failure(MPI_File_set_errhandler(MPI_FILE_NULL, w), MPI_ERR_ERRHANDLER, {"another sort", "files"});
        EXPECT_EQ(MPI_File_set_errhandler(MPI_FILE_NULL, f), MPI_SUCCESS);
        EXPECT_EQ(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_FILE), MPI_SUCCESS);
        EXPECT_EQ(files, 1);
        MPI_File_get_errhandler(MPI_FILE_NULL, &now);
        EXPECT_EQ(now, f);
        for (auto* h : {&f, &s, &w, &now}) EXPECT_EQ(MPI_Errhandler_free(h), MPI_SUCCESS);
        expect_failure(MPI_Comm_create_errhandler(nullptr, &f), MPI_ERR_ARG, {"comm_errhandler_fn is a null pointer"});
        expect_failure(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER,
                       {"MPI_ERRHANDLER_NULL"});
    });
}

std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = -1;
    EXPECT_EQ(MPI_Error_string(code, text, &length), MPI_SUCCESS);
    EXPECT_EQ(std::string{text}.size(), static_cast<std::size_t>(length));
    return text;
}
int class_of(int code) {
    int c = -1;
    EXPECT_EQ(MPI_Error_class(code, &c), MPI_SUCCESS);
    return c;
}

TEST(CErrors, TheTextOfTheLastErrorSaysWhatWasWrong) {
    ranks(1, [](int, int) {
        for (int const code : {MPI_ERR_RANK, MPI_ERR_COMM, MPI_ERR_ABI, MPI_T_ERR_INVALID}) EXPECT_EQ(class_of(code), code);
        EXPECT_TRUE(text_of(MPI_ERR_RANK).starts_with("MPI_ERR_RANK: ")) << text_of(MPI_ERR_RANK);
        auto const before = text_of(MPI_ERR_COUNT);
        EXPECT_EQ(bad_send(MPI_COMM_WORLD), MPI_ERR_COUNT);
        auto const after = text_of(MPI_ERR_COUNT);
        EXPECT_TRUE(after.starts_with(before));
        EXPECT_NE(after.find("MPI_Send: count is -1"), std::string::npos) << after;
        EXPECT_EQ(text_of(MPI_ERR_RANK).find("MPI_Send"), std::string::npos); // of another code
        expect_failure(MPI_Error_class(12345, nullptr), MPI_ERR_ARG, {"errorclass"});
        int c = 0;
        expect_failure(MPI_Error_class(12345, &c), MPI_ERR_ARG, {"12345"});
    });
}

TEST(CErrors, WhatAProcessAddsInCIsAddedForItsCppToo) {
    mpt::c::binding mine; // knows of no rank: the process's
    mpt::c::take_up(mine);
    int cls = 0, code = 0;
    auto const both = mpt::error_registry::of_process();
    auto const before = both->add_class();
    EXPECT_EQ(MPI_Add_error_class(&cls), MPI_SUCCESS);
    EXPECT_EQ(cls, before + 1);
    EXPECT_EQ(MPI_Add_error_code(before, &code), MPI_SUCCESS);
    EXPECT_EQ(both->class_of(code), before);
    EXPECT_EQ(MPI_Add_error_string(code, "the tea is hot"), MPI_SUCCESS);
    EXPECT_EQ(both->text_of(code), "the tea is hot");
    both->remove_string(code), both->remove_code(code), both->remove_class(cls), both->remove_class(before);
    EXPECT_LT(both->last_used(), before);
}

TEST(CErrors, UsersAddClassesCodesAndTexts) {
    ranks(1, [](int, int) {
        int cls = 0, code = 0, other = 0;
        EXPECT_EQ(MPI_Add_error_class(&cls), MPI_SUCCESS);
        EXPECT_GT(cls, MPI_ERR_LASTCODE);
        EXPECT_EQ(MPI_Add_error_code(cls, &code), MPI_SUCCESS);
        EXPECT_EQ(MPI_Add_error_code(MPI_ERR_IO, &other), MPI_SUCCESS);
        EXPECT_EQ(class_of(code), cls);
        EXPECT_EQ(class_of(cls), cls);
        EXPECT_EQ(class_of(other), MPI_ERR_IO);
        EXPECT_EQ(text_of(code), "");
        EXPECT_EQ(MPI_Add_error_string(code, "the coffee is cold"), MPI_SUCCESS);
        EXPECT_EQ(text_of(code), "the coffee is cold");
        expect_failure(MPI_Add_error_string(MPI_ERR_RANK, "mine"), MPI_ERR_ARG, {"MPI_Add_error_string"});
        expect_failure(MPI_Remove_error_class(cls), MPI_ERR_ARG, {"MPI_Remove_error_class"}); // it has a code
        expect_failure(MPI_Remove_error_code(code), MPI_ERR_ARG, {"MPI_Remove_error_code"});  // it has a text
        calls.clear();
        auto h = made_of(note);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
        MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
        EXPECT_EQ(calls, (std::vector<seen>{{MPI_COMM_WORLD, code}}));
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Errhandler_free(&h);
        EXPECT_EQ(text_of(code), "the coffee is cold"); // a program compares its texts
        EXPECT_EQ(MPI_Remove_error_string(code), MPI_SUCCESS);
        EXPECT_EQ(MPI_Remove_error_code(code), MPI_SUCCESS);
        EXPECT_EQ(MPI_Remove_error_class(cls), MPI_SUCCESS);
        EXPECT_EQ(MPI_Remove_error_code(other), MPI_SUCCESS);
        expect_failure(MPI_Comm_call_errhandler(MPI_COMM_WORLD, code), MPI_ERR_ARG, {std::to_string(code).c_str()});
    });
}

} // namespace
