// Bad input to the functions that no other test here gives any: the standard's class, a sentence that names function, argument,
// value and what is allowed, and a library that works as before. The tests of the chapters have the rest.
#include "shared.hpp"

namespace {

using mpt::c::here;
using mpt::c::test::expect_failure;
using mpt::c::test::expect_ring;
using mpt::c::test::ranks;

void no_handler(MPI_Comm*, int*, ...) {}

/// What a call may be given: things that are right, and handles whose objects are gone.
struct things {
    int x[8] = {}, y[8] = {}, ones[2] = {1, 1}, bad[2] = {1, -3}, range[1][3] = {{0, 2, 1}}, two = 2, n = -7, flag = -7;
    MPI_Comm comm = MPI_COMM_WORLD, freed_comm = MPI_COMM_NULL, made_comm = MPI_COMM_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL, raw = MPI_DATATYPE_NULL, freed_type = MPI_DATATYPE_NULL;
    MPI_Group group = MPI_GROUP_NULL, made = MPI_GROUP_NULL, freed_group = MPI_GROUP_NULL;
    MPI_Op freed_op = MPI_OP_NULL;
    MPI_Info info = MPI_INFO_NULL, freed_info = MPI_INFO_NULL;
    MPI_Request request = MPI_REQUEST_NULL, freed_request = MPI_REQUEST_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL, freed_handler = MPI_ERRHANDLER_NULL;
    MPI_Message message = MPI_MESSAGE_NO_PROC, no_message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    MPI_Aint lb = 0, extent = 0;
    int key = MPI_KEYVAL_INVALID, freed_key = MPI_KEYVAL_INVALID, type_key = MPI_KEYVAL_INVALID;
    char text[MPI_MAX_ERROR_STRING] = {};
    void* value = nullptr;

    things() {
        made_and_freed(
            freed_comm, [](MPI_Comm& c) { MPI_Comm_dup(MPI_COMM_WORLD, &c); }, MPI_Comm_free);
        made_and_freed(
            freed_type, [](MPI_Datatype& t) { MPI_Type_contiguous(2, MPI_INT, &t); }, MPI_Type_free);
        made_and_freed(
            freed_group, [](MPI_Group& g) { MPI_Comm_group(MPI_COMM_WORLD, &g); }, MPI_Group_free);
        made_and_freed(
            freed_info, [](MPI_Info& i) { MPI_Info_create(&i); }, MPI_Info_free);
        made_and_freed(
            freed_op, [](MPI_Op& o) { MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &o); }, MPI_Op_free);
        made_and_freed(
            freed_handler, [](MPI_Errhandler& h) { MPI_Comm_create_errhandler(no_handler, &h); }, MPI_Errhandler_free);
        made_and_freed(
            freed_request, [this](MPI_Request& r) { MPI_Send_init(x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r); }, MPI_Request_free);
        made_and_freed(
            freed_key, [](int& k) { MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &k, nullptr); },
            MPI_Comm_free_keyval);
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, nullptr);
        MPI_Type_contiguous(2, MPI_INT, &raw); // not committed
        MPI_Comm_group(MPI_COMM_WORLD, &group);
    }
    ~things() {
        MPI_Type_free_keyval(&type_key);
        MPI_Type_free(&raw);
        MPI_Group_free(&group);
    }
    things(things const&) = delete;

private:
    /// A handle as it was before its object went.
    template <class Handle, class Make, class Free> static void made_and_freed(Handle& h, Make make, Free free) {
        make(h);
        auto gone = h;
        EXPECT_EQ(free(&gone), MPI_SUCCESS);
    }
};

struct row {
    char const* function;
    int (*call)(things& a);
    int wanted;
    char const *argument, *allowed;
};

#define GIVEN(function, arguments, ...)                                                                                        \
    row {                                                                                                                      \
        #function, []([[maybe_unused]] things& a) { return function arguments; }, __VA_ARGS__                                  \
    }

constexpr auto dead_comm = "which is no communicator, or one that was freed",
               dead_type = "which is no datatype, or one that was",
               null_type = "is MPI_DATATYPE_NULL; a living datatype is needed",
               null_comm = "is MPI_COMM_NULL; a living communicator is needed",
               dead_group = "which is no group, or one that was", null_group = "is MPI_GROUP_NULL; a living group is needed",
               null_request = "is MPI_REQUEST_NULL; a living request",
               dead_request = "which is no request, or one that was freed", null_pointer = "is a null pointer",
               any_rank = "allowed: 0 to 1, MPI_PROC_NULL", any_source = "allowed: 0 to 1, MPI_PROC_NULL, MPI_ANY_SOURCE",
               any_tag = "allowed: 0 to 2147483647, or MPI_ANY_TAG", any_label = "allowed: 0 to 2147483647",
               not_negative = "allowed: not negative", uncommitted = "is not committed";

row const rows[]{
    GIVEN(MPI_Ssend, (a.x, 1, MPI_INT, 9, 0, a.comm), MPI_ERR_RANK, "dest is 9", any_rank),
    GIVEN(MPI_Ssend, (a.x, -2, MPI_INT, 0, 0, a.comm), MPI_ERR_COUNT, "count is -2", not_negative),
    GIVEN(MPI_Ssend, (a.x, 1, MPI_INT, 0, -1, a.comm), MPI_ERR_TAG, "tag is -1", any_label),
    GIVEN(MPI_Ssend, (nullptr, 1, MPI_INT, 0, 0, a.comm), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Ssend, (a.x, 1, a.raw, 0, 0, a.comm), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Ssend, (a.x, 1, a.freed_type, 0, 0, a.comm), MPI_ERR_TYPE, "datatype is 0x", dead_type),
    GIVEN(MPI_Ssend, (a.x, 1, MPI_INT, 0, 0, a.freed_comm), MPI_ERR_COMM, "comm is 0x", dead_comm),
    GIVEN(MPI_Rsend, (a.x, 1, MPI_INT, 9, 0, a.comm), MPI_ERR_RANK, "dest is 9", any_rank),
    GIVEN(MPI_Rsend, (a.x, -2, MPI_INT, 0, 0, a.comm), MPI_ERR_COUNT, "count is -2", not_negative),
    GIVEN(MPI_Rsend, (a.x, 1, MPI_INT, 0, -1, a.comm), MPI_ERR_TAG, "tag is -1", any_label),
    GIVEN(MPI_Rsend, (nullptr, 1, MPI_INT, 0, 0, a.comm), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Rsend, (a.x, 1, a.raw, 0, 0, a.comm), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Rsend, (a.x, 1, a.freed_type, 0, 0, a.comm), MPI_ERR_TYPE, "datatype is 0x", dead_type),
    GIVEN(MPI_Rsend, (a.x, 1, MPI_INT, 0, 0, a.freed_comm), MPI_ERR_COMM, "comm is 0x", dead_comm),
    GIVEN(MPI_Isend, (a.x, 1, MPI_INT, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "dest is 2", any_rank),
    GIVEN(MPI_Isend, (a.x, 1, MPI_INT, 0, -5, a.comm, &a.request), MPI_ERR_TAG, "tag is -5", any_label),
    GIVEN(MPI_Isend, (a.x, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Isend, (nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Isend, (a.x, 1, a.raw, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Isend, (a.x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &a.request), MPI_ERR_COMM, "comm", null_comm),
    GIVEN(MPI_Isend, (a.x, 1, MPI_INT, 0, 0, a.comm, nullptr), MPI_ERR_ARG, "request", null_pointer),
    GIVEN(MPI_Ibsend, (a.x, 1, MPI_INT, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "dest is 2", any_rank),
    GIVEN(MPI_Ibsend, (a.x, 1, MPI_INT, 0, -5, a.comm, &a.request), MPI_ERR_TAG, "tag is -5", any_label),
    GIVEN(MPI_Ibsend, (a.x, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Ibsend, (nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Ibsend, (a.x, 1, a.raw, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Ibsend, (a.x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &a.request), MPI_ERR_COMM, "comm", null_comm),
    GIVEN(MPI_Ibsend, (a.x, 1, MPI_INT, 0, 0, a.comm, nullptr), MPI_ERR_ARG, "request", null_pointer),
    GIVEN(MPI_Issend, (a.x, 1, MPI_INT, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "dest is 2", any_rank),
    GIVEN(MPI_Issend, (a.x, 1, MPI_INT, 0, -5, a.comm, &a.request), MPI_ERR_TAG, "tag is -5", any_label),
    GIVEN(MPI_Issend, (a.x, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Issend, (nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Issend, (a.x, 1, a.raw, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Issend, (a.x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &a.request), MPI_ERR_COMM, "comm", null_comm),
    GIVEN(MPI_Issend, (a.x, 1, MPI_INT, 0, 0, a.comm, nullptr), MPI_ERR_ARG, "request", null_pointer),
    GIVEN(MPI_Irsend, (a.x, 1, MPI_INT, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "dest is 2", any_rank),
    GIVEN(MPI_Irsend, (a.x, 1, MPI_INT, 0, -5, a.comm, &a.request), MPI_ERR_TAG, "tag is -5", any_label),
    GIVEN(MPI_Irsend, (a.x, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Irsend, (nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Irsend, (a.x, 1, a.raw, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Irsend, (a.x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &a.request), MPI_ERR_COMM, "comm", null_comm),
    GIVEN(MPI_Irsend, (a.x, 1, MPI_INT, 0, 0, a.comm, nullptr), MPI_ERR_ARG, "request", null_pointer),
    GIVEN(MPI_Send_init, (a.x, 1, MPI_INT, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "dest is 2", any_rank),
    GIVEN(MPI_Send_init, (a.x, 1, MPI_INT, 0, -5, a.comm, &a.request), MPI_ERR_TAG, "tag is -5", any_label),
    GIVEN(MPI_Send_init, (a.x, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Send_init, (nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Send_init, (a.x, 1, a.raw, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Send_init, (a.x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &a.request), MPI_ERR_COMM, "comm", null_comm),
    GIVEN(MPI_Send_init, (a.x, 1, MPI_INT, 0, 0, a.comm, nullptr), MPI_ERR_ARG, "request", null_pointer),
    GIVEN(MPI_Bsend_init, (a.x, 1, MPI_INT, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "dest is 2", any_rank),
    GIVEN(MPI_Bsend_init, (a.x, 1, MPI_INT, 0, -5, a.comm, &a.request), MPI_ERR_TAG, "tag is -5", any_label),
    GIVEN(MPI_Bsend_init, (a.x, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Bsend_init, (nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Bsend_init, (a.x, 1, a.raw, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Bsend_init, (a.x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &a.request), MPI_ERR_COMM, "comm", null_comm),
    GIVEN(MPI_Bsend_init, (a.x, 1, MPI_INT, 0, 0, a.comm, nullptr), MPI_ERR_ARG, "request", null_pointer),
    GIVEN(MPI_Ssend_init, (a.x, 1, MPI_INT, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "dest is 2", any_rank),
    GIVEN(MPI_Ssend_init, (a.x, 1, MPI_INT, 0, -5, a.comm, &a.request), MPI_ERR_TAG, "tag is -5", any_label),
    GIVEN(MPI_Ssend_init, (a.x, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Ssend_init, (nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Ssend_init, (a.x, 1, a.raw, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Ssend_init, (a.x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &a.request), MPI_ERR_COMM, "comm", null_comm),
    GIVEN(MPI_Ssend_init, (a.x, 1, MPI_INT, 0, 0, a.comm, nullptr), MPI_ERR_ARG, "request", null_pointer),
    GIVEN(MPI_Rsend_init, (a.x, 1, MPI_INT, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "dest is 2", any_rank),
    GIVEN(MPI_Rsend_init, (a.x, 1, MPI_INT, 0, -5, a.comm, &a.request), MPI_ERR_TAG, "tag is -5", any_label),
    GIVEN(MPI_Rsend_init, (a.x, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Rsend_init, (nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Rsend_init, (a.x, 1, a.raw, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Rsend_init, (a.x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &a.request), MPI_ERR_COMM, "comm", null_comm),
    GIVEN(MPI_Rsend_init, (a.x, 1, MPI_INT, 0, 0, a.comm, nullptr), MPI_ERR_ARG, "request", null_pointer),
    GIVEN(MPI_Irecv, (a.x, 1, MPI_INT, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "source is 2", any_source),
    GIVEN(MPI_Irecv, (a.x, 1, MPI_INT, 0, -5, a.comm, &a.request), MPI_ERR_TAG, "tag is -5", any_tag),
    GIVEN(MPI_Irecv, (a.x, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Irecv, (nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Irecv, (a.x, 1, MPI_DATATYPE_NULL, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", null_type),
    GIVEN(MPI_Irecv, (a.x, 1, MPI_INT, 0, 0, a.freed_comm, &a.request), MPI_ERR_COMM, "comm is 0x", dead_comm),
    GIVEN(MPI_Recv_init, (a.x, 1, MPI_INT, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "source is 2", any_source),
    GIVEN(MPI_Recv_init, (a.x, 1, MPI_INT, 0, -5, a.comm, &a.request), MPI_ERR_TAG, "tag is -5", any_tag),
    GIVEN(MPI_Recv_init, (a.x, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Recv_init, (nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Recv_init, (a.x, 1, MPI_DATATYPE_NULL, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", null_type),
    GIVEN(MPI_Recv_init, (a.x, 1, MPI_INT, 0, 0, a.freed_comm, &a.request), MPI_ERR_COMM, "comm is 0x", dead_comm),
    GIVEN(MPI_Sendrecv, (a.x, 1, MPI_INT, 3, 0, a.y, 1, MPI_INT, 0, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_RANK, "dest is 3",
          any_rank),
    GIVEN(MPI_Sendrecv, (a.x, 1, MPI_INT, 0, 0, a.y, 1, MPI_INT, 3, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_RANK, "source is 3",
          any_source),
    GIVEN(MPI_Sendrecv, (a.x, 1, MPI_INT, 0, MPI_ANY_TAG, a.y, 1, MPI_INT, 0, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_TAG,
          "sendtag is ", any_label),
    GIVEN(MPI_Sendrecv, (a.x, 1, MPI_INT, 0, 0, a.y, 1, MPI_INT, 0, -9, a.comm, MPI_STATUS_IGNORE), MPI_ERR_TAG,
          "recvtag is -9", any_tag),
    GIVEN(MPI_Sendrecv, (a.x, 1, MPI_INT, 0, 0, a.y, -1, MPI_INT, 0, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_COUNT,
          "recvcount is -1", not_negative),
    GIVEN(MPI_Sendrecv, (a.x, 1, MPI_INT, 0, 0, nullptr, 1, MPI_INT, 0, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_BUFFER,
          "recvbuf is a null pointer", ""),
    GIVEN(MPI_Sendrecv, (a.x, 1, a.raw, 0, 0, a.y, 1, MPI_INT, 0, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_TYPE, "sendtype",
          uncommitted),
    GIVEN(MPI_Sendrecv, (a.x, 1, MPI_INT, 0, 0, a.y, 1, a.freed_type, 0, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_TYPE,
          "recvtype is 0x", dead_type),
    GIVEN(MPI_Isendrecv, (a.x, 1, MPI_INT, 3, 0, a.y, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_RANK, "dest is 3",
          any_rank),
    GIVEN(MPI_Isendrecv, (a.x, 1, MPI_INT, 0, 0, a.y, 1, MPI_INT, 3, 0, a.comm, &a.request), MPI_ERR_RANK, "source is 3",
          any_source),
    GIVEN(MPI_Isendrecv, (a.x, 1, MPI_INT, 0, MPI_ANY_TAG, a.y, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_TAG,
          "sendtag is ", any_label),
    GIVEN(MPI_Isendrecv, (a.x, 1, MPI_INT, 0, 0, a.y, 1, MPI_INT, 0, -9, a.comm, &a.request), MPI_ERR_TAG, "recvtag is -9",
          any_tag),
    GIVEN(MPI_Isendrecv, (a.x, 1, MPI_INT, 0, 0, a.y, -1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_COUNT, "recvcount is -1",
          not_negative),
    GIVEN(MPI_Isendrecv, (a.x, 1, MPI_INT, 0, 0, nullptr, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER,
          "recvbuf is a null pointer", ""),
    GIVEN(MPI_Isendrecv, (a.x, 1, a.raw, 0, 0, a.y, 1, MPI_INT, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "sendtype",
          uncommitted),
    GIVEN(MPI_Isendrecv, (a.x, 1, MPI_INT, 0, 0, a.y, 1, a.freed_type, 0, 0, a.comm, &a.request), MPI_ERR_TYPE,
          "recvtype is 0x", dead_type),
    GIVEN(MPI_Sendrecv_replace, (a.x, 1, MPI_INT, -4, 0, 0, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_RANK, "dest is -4",
          any_rank),
    GIVEN(MPI_Sendrecv_replace, (a.x, 1, MPI_INT, 0, 0, 2, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_RANK, "source is 2",
          any_source),
    GIVEN(MPI_Sendrecv_replace, (a.x, 1, MPI_INT, 0, -1, 0, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_TAG, "sendtag is -1",
          any_label),
    GIVEN(MPI_Sendrecv_replace, (nullptr, 1, MPI_INT, 0, 0, 0, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_BUFFER,
          "buf is a null pointer", ""),
    GIVEN(MPI_Sendrecv_replace, (a.x, 1, a.raw, 0, 0, 0, 0, a.comm, MPI_STATUS_IGNORE), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Isendrecv_replace, (a.x, 1, MPI_INT, -4, 0, 0, 0, a.comm, &a.request), MPI_ERR_RANK, "dest is -4", any_rank),
    GIVEN(MPI_Isendrecv_replace, (a.x, 1, MPI_INT, 0, 0, 2, 0, a.comm, &a.request), MPI_ERR_RANK, "source is 2", any_source),
    GIVEN(MPI_Isendrecv_replace, (a.x, 1, MPI_INT, 0, -1, 0, 0, a.comm, &a.request), MPI_ERR_TAG, "sendtag is -1", any_label),
    GIVEN(MPI_Isendrecv_replace, (nullptr, 1, MPI_INT, 0, 0, 0, 0, a.comm, &a.request), MPI_ERR_BUFFER, "buf is a null pointer",
          ""),
    GIVEN(MPI_Isendrecv_replace, (a.x, 1, a.raw, 0, 0, 0, 0, a.comm, &a.request), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Probe, (2, 0, a.comm, &a.status), MPI_ERR_RANK, "source is 2", any_source),
    GIVEN(MPI_Probe, (0, -1, a.comm, &a.status), MPI_ERR_TAG, "tag is -1", any_tag),
    GIVEN(MPI_Probe, (0, 0, a.freed_comm, &a.status), MPI_ERR_COMM, "comm is 0x", dead_comm),
    GIVEN(MPI_Iprobe, (2, 0, a.comm, &a.flag, &a.status), MPI_ERR_RANK, "source is 2", any_source),
    GIVEN(MPI_Iprobe, (0, -1, a.comm, &a.flag, &a.status), MPI_ERR_TAG, "tag is -1", any_tag),
    GIVEN(MPI_Iprobe, (0, 0, a.comm, nullptr, &a.status), MPI_ERR_ARG, "flag", null_pointer),
    GIVEN(MPI_Mprobe, (-7, 0, a.comm, &a.message, &a.status), MPI_ERR_RANK, "source is -7", any_source),
    GIVEN(MPI_Mprobe, (0, -1, a.comm, &a.message, &a.status), MPI_ERR_TAG, "tag is -1", any_tag),
    GIVEN(MPI_Mrecv, (a.x, -1, MPI_INT, &a.message, &a.status), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Mrecv, (a.x, 1, a.raw, &a.message, &a.status), MPI_ERR_TYPE, "datatype", uncommitted),
    GIVEN(MPI_Mrecv, (a.x, 1, MPI_INT, nullptr, &a.status), MPI_ERR_ARG, "message", null_pointer),
    GIVEN(MPI_Imrecv, (a.x, -1, MPI_INT, &a.message, &a.request), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Imrecv, (nullptr, 1, MPI_INT, &a.message, &a.request), MPI_ERR_BUFFER, "buf is a null pointer", ""),
    GIVEN(MPI_Imrecv, (a.x, 1, MPI_INT, &a.no_message, &a.request), MPI_ERR_REQUEST, "message is MPI_MESSAGE_NULL",
          "a living message is needed"),
    GIVEN(MPI_Test, (&a.freed_request, &a.flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "request is 0x", dead_request),
    GIVEN(MPI_Request_get_status, (a.freed_request, &a.flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "request is 0x",
          dead_request),
    GIVEN(MPI_Cancel, (&a.freed_request), MPI_ERR_REQUEST, "request is 0x", dead_request),
    GIVEN(MPI_Request_free, (&a.freed_request), MPI_ERR_REQUEST, "request is 0x", dead_request),
    GIVEN(MPI_Cancel, (&a.request), MPI_ERR_REQUEST, "request", null_request),
    GIVEN(MPI_Request_free, (&a.request), MPI_ERR_REQUEST, "request", null_request),
    GIVEN(MPI_Test, (nullptr, &a.flag, MPI_STATUS_IGNORE), MPI_ERR_ARG, "request", null_pointer),
    GIVEN(MPI_Test_cancelled, (nullptr, &a.flag), MPI_ERR_ARG, "status", null_pointer),
    GIVEN(MPI_Testall, (-1, &a.request, &a.flag, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "count is -1", not_negative),
    GIVEN(MPI_Testall, (1, nullptr, &a.flag, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "array_of_requests", null_pointer),
    GIVEN(MPI_Testall, (1, &a.freed_request, &a.flag, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "array_of_requests[0] is 0x",
          dead_request),
    GIVEN(MPI_Testsome, (-1, &a.request, &a.n, a.x, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "incount is -1", not_negative),
    GIVEN(MPI_Testsome, (1, &a.freed_request, &a.n, a.x, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "array_of_requests[0] is 0x",
          dead_request),
    GIVEN(MPI_Testsome, (1, &a.request, &a.n, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "array_of_indices", null_pointer),
    GIVEN(MPI_Waitsome, (-1, &a.request, &a.n, a.x, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "incount is -1", not_negative),
    GIVEN(MPI_Waitsome, (1, &a.freed_request, &a.n, a.x, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST, "array_of_requests[0] is 0x",
          dead_request),
    GIVEN(MPI_Waitsome, (1, &a.request, &a.n, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "array_of_indices", null_pointer),
    GIVEN(MPI_Waitany, (-1, &a.request, &a.n, MPI_STATUS_IGNORE), MPI_ERR_ARG, "count is -1", not_negative),
    GIVEN(MPI_Waitany, (1, &a.freed_request, &a.n, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "array_of_requests[0] is 0x",
          dead_request),
    GIVEN(MPI_Get_count, (&a.status, a.freed_type, &a.n), MPI_ERR_TYPE, "datatype is 0x", dead_type),
    GIVEN(MPI_Get_count, (nullptr, MPI_INT, &a.n), MPI_ERR_ARG, "status", null_pointer),
    GIVEN(MPI_Get_elements, (&a.status, MPI_DATATYPE_NULL, &a.n), MPI_ERR_TYPE, "datatype", null_type),
    GIVEN(MPI_Get_elements, (&a.status, MPI_INT, nullptr), MPI_ERR_ARG, "count", null_pointer),
    GIVEN(MPI_Status_set_elements, (&a.status, MPI_INT, -1), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Status_set_elements, (nullptr, MPI_INT, 1), MPI_ERR_ARG, "status", null_pointer),
    GIVEN(MPI_Buffer_detach, (&a.value, &a.n), MPI_ERR_BUFFER, "no buffer is attached", ""),
    GIVEN(MPI_Buffer_detach, (nullptr, &a.n), MPI_ERR_ARG, "buffer_addr", null_pointer),
    GIVEN(MPI_Get_address, (a.x, nullptr), MPI_ERR_ARG, "address", null_pointer),
    GIVEN(MPI_Pack_size, (-1, MPI_INT, a.comm, &a.n), MPI_ERR_COUNT, "incount is -1", not_negative),
    GIVEN(MPI_Pack_size, (1, MPI_INT, a.freed_comm, &a.n), MPI_ERR_COMM, "comm is 0x", dead_comm),
    GIVEN(MPI_Pack_external_size, ("internal", 1, MPI_INT, &a.extent), MPI_ERR_ARG, "datarep is \"internal\"",
          "allowed: \"external32\""),
    GIVEN(MPI_Pack_external_size, ("external32", -1, MPI_INT, &a.extent), MPI_ERR_COUNT, "incount is -1", not_negative),
    GIVEN(MPI_Type_create_hindexed_block, (-1, 1, &a.lb, MPI_INT, &a.type), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Type_create_hindexed_block, (1, -1, &a.lb, MPI_INT, &a.type), MPI_ERR_COUNT, "blocklength is -1", not_negative),
    GIVEN(MPI_Type_create_hindexed_block, (1, 1, nullptr, MPI_INT, &a.type), MPI_ERR_ARG, "array_of_displacements",
          null_pointer),
    GIVEN(MPI_Type_create_indexed_block, (1, -1, a.x, MPI_INT, &a.type), MPI_ERR_COUNT, "blocklength is -1", not_negative),
    GIVEN(MPI_Type_create_indexed_block, (1, 1, a.x, a.freed_type, &a.type), MPI_ERR_TYPE, "oldtype is 0x", dead_type),
    GIVEN(MPI_Type_create_hvector, (-1, 1, 4, MPI_INT, &a.type), MPI_ERR_COUNT, "count is -1", not_negative),
    GIVEN(MPI_Type_create_hvector, (1, 1, 4, MPI_DATATYPE_NULL, &a.type), MPI_ERR_TYPE, "oldtype", null_type),
    GIVEN(MPI_Type_create_resized, (a.freed_type, 0, 8, &a.type), MPI_ERR_TYPE, "oldtype is 0x", dead_type),
    GIVEN(MPI_Type_create_resized, (MPI_INT, 0, 8, nullptr), MPI_ERR_ARG, "newtype", null_pointer),
    GIVEN(MPI_Type_dup, (a.freed_type, &a.type), MPI_ERR_TYPE, "oldtype is 0x", dead_type),
    GIVEN(MPI_Type_get_envelope, (a.freed_type, a.x, a.x, a.x, a.x), MPI_ERR_TYPE, "datatype is 0x", dead_type),
    GIVEN(MPI_Type_get_extent, (a.freed_type, &a.lb, &a.extent), MPI_ERR_TYPE, "datatype is 0x", dead_type),
    GIVEN(MPI_Type_get_extent, (MPI_INT, nullptr, &a.extent), MPI_ERR_ARG, "lb", null_pointer),
    GIVEN(MPI_Type_get_true_extent, (MPI_DATATYPE_NULL, &a.lb, &a.extent), MPI_ERR_TYPE, "datatype", null_type),
    GIVEN(MPI_Type_get_name, (a.freed_type, a.text, &a.n), MPI_ERR_TYPE, "datatype is 0x", dead_type),
    GIVEN(MPI_Type_get_name, (MPI_INT, nullptr, &a.n), MPI_ERR_ARG, "type_name", null_pointer),
    GIVEN(MPI_Type_get_value_index, (a.freed_type, MPI_INT, &a.type), MPI_ERR_TYPE, "value_type is 0x", dead_type),
    GIVEN(MPI_Alltoallv, (a.x, a.ones, a.x, MPI_INT, a.y, a.bad, a.x, MPI_INT, a.comm), MPI_ERR_COUNT, "recvcounts[1] is -3",
          not_negative),
    GIVEN(MPI_Alltoallv, (a.x, a.bad, a.x, MPI_INT, a.y, a.ones, a.x, MPI_INT, a.comm), MPI_ERR_COUNT, "sendcounts[1] is -3",
          not_negative),
    GIVEN(MPI_Op_commutative, (a.freed_op, &a.flag), MPI_ERR_OP, "op is 0x", "which is no operation, or one that was freed"),
    GIVEN(MPI_Op_commutative, (MPI_OP_NULL, &a.flag), MPI_ERR_OP, "op is MPI_OP_NULL", "a living operation is needed"),
    GIVEN(MPI_Group_difference, (a.freed_group, a.group, &a.made), MPI_ERR_GROUP, "group1 is 0x", dead_group),
    GIVEN(MPI_Group_difference, (a.group, MPI_GROUP_NULL, &a.made), MPI_ERR_GROUP, "group2", null_group),
    GIVEN(MPI_Group_intersection, (a.freed_group, a.group, &a.made), MPI_ERR_GROUP, "group1 is 0x", dead_group),
    GIVEN(MPI_Group_intersection, (a.group, MPI_GROUP_NULL, &a.made), MPI_ERR_GROUP, "group2", null_group),
    GIVEN(MPI_Group_union, (a.freed_group, a.group, &a.made), MPI_ERR_GROUP, "group1 is 0x", dead_group),
    GIVEN(MPI_Group_union, (a.group, MPI_GROUP_NULL, &a.made), MPI_ERR_GROUP, "group2", null_group),
    GIVEN(MPI_Group_compare, (a.group, a.freed_group, &a.n), MPI_ERR_GROUP, "group2 is 0x", dead_group),
    GIVEN(MPI_Group_range_excl, (a.group, -1, a.range, &a.made), MPI_ERR_ARG, "n is -1", not_negative),
    GIVEN(MPI_Group_range_excl, (a.group, 1, a.range, &a.made), MPI_ERR_RANK, "2", "0 to 1"),
    GIVEN(MPI_Group_rank, (a.freed_group, &a.n), MPI_ERR_GROUP, "group is 0x", dead_group),
    GIVEN(MPI_Group_translate_ranks, (a.group, 1, &a.two, a.group, a.x), MPI_ERR_RANK, "ranks1 is 2", any_rank),
    GIVEN(MPI_Group_translate_ranks, (a.group, 1, nullptr, a.group, a.x), MPI_ERR_ARG, "ranks1", null_pointer),
    GIVEN(MPI_Comm_compare, (a.comm, a.freed_comm, &a.n), MPI_ERR_COMM, "comm2 is 0x", dead_comm),
    GIVEN(MPI_Comm_dup_with_info, (a.comm, a.freed_info, &a.made_comm), MPI_ERR_INFO, "info is 0x",
          "which is no info object, or one that was freed"),
    GIVEN(MPI_Comm_get_info, (MPI_COMM_NULL, &a.info), MPI_ERR_COMM, "comm", null_comm),
    GIVEN(MPI_Comm_set_info, (a.comm, a.freed_info), MPI_ERR_INFO, "info is 0x", "or one that was freed"),
    GIVEN(MPI_Comm_get_name, (a.freed_comm, a.text, &a.n), MPI_ERR_COMM, "comm is 0x", dead_comm),
    GIVEN(MPI_Comm_get_name, (a.comm, a.text, nullptr), MPI_ERR_ARG, "resultlen", null_pointer),
    GIVEN(MPI_Comm_group, (a.freed_comm, &a.made), MPI_ERR_COMM, "comm is 0x", dead_comm),
    GIVEN(MPI_Comm_test_inter, (MPI_COMM_NULL, &a.flag), MPI_ERR_COMM, "comm", null_comm),
    GIVEN(MPI_Comm_get_errhandler, (a.freed_comm, &a.handler), MPI_ERR_COMM, "comm is 0x", dead_comm),
    GIVEN(MPI_Comm_set_errhandler, (a.comm, a.freed_handler), MPI_ERR_ERRHANDLER, "errhandler is 0x",
          "which is no error handler, or one that was freed"),
    GIVEN(MPI_Comm_create_keyval, (MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, nullptr, nullptr), MPI_ERR_ARG,
          "comm_keyval", null_pointer),
    GIVEN(MPI_Type_create_keyval, (MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, nullptr, nullptr), MPI_ERR_ARG,
          "type_keyval", null_pointer),
    GIVEN(MPI_Comm_set_attr, (a.comm, a.freed_key, a.x), MPI_ERR_KEYVAL, "key", ""),
    GIVEN(MPI_Comm_set_attr, (a.comm, a.type_key, a.x), MPI_ERR_KEYVAL, "key", ""),
    GIVEN(MPI_Type_get_attr, (MPI_INT, a.key, &a.value, &a.flag), MPI_ERR_KEYVAL, "key", ""),
    GIVEN(MPI_Type_get_attr, (a.freed_type, a.type_key, &a.value, &a.flag), MPI_ERR_TYPE, "datatype is 0x", dead_type),
    GIVEN(MPI_Type_delete_attr, (MPI_INT, a.key), MPI_ERR_KEYVAL, "key", ""),
    GIVEN(MPI_Type_delete_attr, (a.freed_type, a.type_key), MPI_ERR_TYPE, "datatype is 0x", dead_type),
    GIVEN(MPI_Type_free_keyval, (&a.key), MPI_ERR_KEYVAL, "key", ""),
    GIVEN(MPI_Cart_get, (a.comm, 1, a.x, a.x, a.x), MPI_ERR_TOPOLOGY, "comm has no Cartesian grid", ""),
    GIVEN(MPI_Cart_map, (a.comm, -1, a.ones, a.x, &a.n), MPI_ERR_DIMS, "ndims is -1", not_negative),
    GIVEN(MPI_Cart_map, (a.comm, 1, nullptr, a.x, &a.n), MPI_ERR_ARG, "dims", null_pointer),
    GIVEN(MPI_Topo_test, (a.freed_comm, &a.n), MPI_ERR_COMM, "comm is 0x", dead_comm),
    GIVEN(MPI_Add_error_class, (nullptr), MPI_ERR_ARG, "errorclass", null_pointer),
    GIVEN(MPI_Add_error_code, (77777, &a.n), MPI_ERR_ARG, "77777", ""),
    GIVEN(MPI_Error_string, (-1, a.text, &a.n), MPI_ERR_ARG, "-1", ""),
    GIVEN(MPI_Error_string, (MPI_ERR_TAG, nullptr, &a.n), MPI_ERR_ARG, "string", null_pointer),
    GIVEN(MPI_Remove_error_string, (MPI_ERR_TAG), MPI_ERR_ARG, "", ""),
    GIVEN(MPI_File_create_errhandler, (nullptr, &a.handler), MPI_ERR_ARG, "file_errhandler_fn", null_pointer),
    GIVEN(MPI_Win_create_errhandler, (nullptr, &a.handler), MPI_ERR_ARG, "win_errhandler_fn", null_pointer),
    GIVEN(MPI_Session_create_errhandler, (nullptr, &a.handler), MPI_ERR_ARG, "session_errhandler_fn", null_pointer),
    GIVEN(MPI_Info_create, (nullptr), MPI_ERR_ARG, "info", null_pointer),
    GIVEN(MPI_Info_dup, (a.freed_info, &a.info), MPI_ERR_INFO, "info is 0x", "which is no info object, or one that was freed"),
    GIVEN(MPI_Info_dup, (MPI_INFO_NULL, &a.info), MPI_ERR_INFO, "info is MPI_INFO_NULL", "a living info object is needed"),
    GIVEN(MPI_Query_thread, (nullptr), MPI_ERR_ARG, "provided", null_pointer),
    GIVEN(MPI_Is_thread_main, (nullptr), MPI_ERR_ARG, "flag", null_pointer),
    GIVEN(MPI_Abi_get_fortran_booleans, (3, a.x, a.x, &a.flag), MPI_ERR_ARG, "logical_size is 3", "1, 2, 4, 8, 16"),
};

TEST(CBadInput, IsTheStandardsClassWithASentenceAndDisturbsNothing) {
    ranks(2, [](int, int) {
        things a;
        for (auto const& r : rows) {
            SCOPED_TRACE(std::string{r.function} + ": " + r.argument);
            auto const function = std::string{r.function} + ": ";
            expect_failure(r.call(a), r.wanted, {function.c_str(), r.argument, r.allowed});
            a.message = MPI_MESSAGE_NO_PROC; // a call that fails leaves a null handle
            expect_ring(MPI_COMM_WORLD);
            if (testing::Test::HasFailure()) here().last_error.clear();
        }
        EXPECT_EQ(a.request, MPI_REQUEST_NULL); // nothing was made
        EXPECT_EQ(a.type, MPI_DATATYPE_NULL);
        EXPECT_EQ(a.made, MPI_GROUP_NULL);
        EXPECT_EQ(a.made_comm, MPI_COMM_NULL);
    });
}

int refuses(MPI_Comm, int, void*, void*, void*, int*) { return MPI_ERR_OTHER; }

/// Whoever looks at what a failed call was to make finds nothing, whatever stood there.
TEST(CBadInput, LeavesNullHandles) {
    ranks(1, [](int, int) {
        auto comm = MPI_COMM_WORLD;
        auto request = reinterpret_cast<MPI_Request>(std::uintptr_t{1234567});
        auto type = MPI_INT;
        auto group = MPI_GROUP_EMPTY;
        auto message = MPI_MESSAGE_NO_PROC;
        auto info = MPI_INFO_ENV;
        auto op = MPI_SUM;
        int flag = 0, n = 1, key = MPI_KEYVAL_INVALID;
        EXPECT_EQ(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
        EXPECT_EQ(type, MPI_DATATYPE_NULL);
        EXPECT_EQ(MPI_Isend(&n, 1, MPI_INT, 9, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
        EXPECT_EQ(MPI_Group_incl(MPI_GROUP_EMPTY, 1, &n, &group), MPI_ERR_RANK);
        EXPECT_EQ(group, MPI_GROUP_NULL);
        EXPECT_EQ(MPI_Improbe(9, 0, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE), MPI_ERR_RANK);
        EXPECT_EQ(message, MPI_MESSAGE_NULL);
        EXPECT_EQ(MPI_Info_dup(MPI_INFO_NULL, &info), MPI_ERR_INFO);
        EXPECT_EQ(info, MPI_INFO_NULL);
        EXPECT_EQ(MPI_Op_create(nullptr, 1, &op), MPI_ERR_ARG);
        EXPECT_EQ(op, MPI_OP_NULL);
        MPI_Comm_create_keyval(refuses, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, &n);
        EXPECT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &comm), MPI_ERR_OTHER);
        EXPECT_EQ(comm, MPI_COMM_NULL);
        comm = MPI_COMM_SELF, request = reinterpret_cast<MPI_Request>(std::uintptr_t{1234567});
        EXPECT_EQ(MPI_Comm_idup(comm, &comm, &request), MPI_ERR_OTHER);
        EXPECT_EQ(comm, MPI_COMM_NULL);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
        EXPECT_EQ(MPI_Comm_dup(MPI_COMM_SELF, nullptr), MPI_ERR_ARG);
        MPI_Comm_delete_attr(MPI_COMM_SELF, key);
        MPI_Comm_free_keyval(&key);
    });
}

/// A message that is too long for its receive, by every way to receive it.
TEST(CBadInput, TruncationIsToldByEveryReceive) {
    ranks(2, [](int me, int) {
        things a;
        auto const world = MPI_COMM_WORLD;
        for (int way = 0; way < 7; ++way) {
            SCOPED_TRACE(way);
            int const big[4] = {1, 2, 3, 4}, peer = 1 - me;
            MPI_Request out = MPI_REQUEST_NULL;
            MPI_Isend(big, 4, MPI_INT, peer, way, world, &out);
            int code = MPI_SUCCESS;
            MPI_Message m = MPI_MESSAGE_NULL;
            MPI_Request in = MPI_REQUEST_NULL;
            if (way == 2 || way == 3) MPI_Mprobe(peer, way, world, &m, MPI_STATUS_IGNORE);
            switch (way) {
            case 0: code = MPI_Recv(a.x, 2, MPI_INT, peer, way, world, MPI_STATUS_IGNORE); break;
            case 1: MPI_Irecv(a.x, 2, MPI_INT, peer, way, world, &in); break;
            case 2: code = MPI_Mrecv(a.x, 2, MPI_INT, &m, MPI_STATUS_IGNORE); break;
            case 3: MPI_Imrecv(a.x, 2, MPI_INT, &m, &in); break;
            case 4: MPI_Recv_init(a.x, 2, MPI_INT, peer, way, world, &in), MPI_Start(&in); break;
            case 5:
                code = MPI_Sendrecv(big, 0, MPI_INT, MPI_PROC_NULL, 0, a.x, 2, MPI_INT, peer, way, world, MPI_STATUS_IGNORE);
                break;
            default: MPI_Irecv(a.x, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &in); break;
            }
            if (in != MPI_REQUEST_NULL) code = MPI_Wait(&in, MPI_STATUS_IGNORE);
            expect_failure(code, MPI_ERR_TRUNCATE, {"MPI_", "16", "8"});
            if (in != MPI_REQUEST_NULL) MPI_Request_free(&in);
            EXPECT_EQ(MPI_Wait(&out, MPI_STATUS_IGNORE), MPI_SUCCESS);
            expect_ring(world);
        }
    });
}

} // namespace
