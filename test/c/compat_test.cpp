// Names beside the standard's binary interface: libmpt_mpi_compat.
#include <mpi_compat.h>

#include <cstring>

#include "ranks.hpp"
#include "shared.hpp"

namespace {

using mpt::c::test::expect_failure;
using mpt::c::test::ranks;

void ignore(MPI_Comm*, int*, ...) {}

/// Bounds of a type, by the old functions.
struct bounds {
    MPI_Aint lower = -1, upper = -1, extent = -1;
    explicit bounds(MPI_Datatype t) {
        EXPECT_EQ(MPI_Type_lb(t, &lower), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_ub(t, &upper), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_extent(t, &extent), MPI_SUCCESS);
    }
    bounds(MPI_Aint l, MPI_Aint u) : lower{l}, upper{u}, extent{u - l} {}
    bool operator==(bounds const&) const = default;
};
MPI_Datatype structure(std::vector<int> lengths, std::vector<MPI_Aint> places, std::vector<MPI_Datatype> types) {
    MPI_Datatype t = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_struct(static_cast<int>(types.size()), lengths.data(), places.data(), types.data(), &t), MPI_SUCCESS);
    return t;
}

TEST(CCompat, MarkersSetTheBoundsOfAStruct) {
    ranks(1, [](int, int) {
        struct {
            MPI_Datatype type;
            bounds wanted;
        } all[]{
            {structure({1, 1}, {0, 8}, {MPI_INT, MPI_INT}), {0, 12}},
            {structure({1, 1, 1, 1}, {-4, 0, 8, 40}, {MPI_LB, MPI_INT, MPI_INT, MPI_UB}), {-4, 40}},
            {structure({1, 1, 1}, {16, 0, 4}, {MPI_UB, MPI_INT, MPI_UB}), {0, 16}},
            {structure({1, 2}, {2, 4}, {MPI_LB, MPI_INT}), {2, 12}},
            {structure({1, 1}, {3, 9}, {MPI_LB, MPI_UB}), {3, 9}},
            {structure({0, 1}, {99, 0}, {MPI_UB, MPI_INT}), {0, 4}}, // a marker that is not there
            {structure({}, {}, {}), {0, 0}},
        };
        for (auto& one : all) {
            EXPECT_EQ(bounds{one.type}, one.wanted);
            MPI_Type_free(&one.type);
        }
        int const two = 2;
        MPI_Datatype bad = MPI_LB, made = MPI_DATATYPE_NULL;
        expect_failure(MPI_Type_contiguous(two, bad, &made), MPI_ERR_TYPE, {"oldtype is 0xffe"});
        int length = -1;
        MPI_Aint place = 0;
        bad = MPI_INT;
        expect_failure(PMPI_Type_struct(1, &length, &place, &bad, &made), MPI_ERR_COUNT, {"-1"});
        expect_failure(MPI_Type_struct(1, nullptr, &place, &bad, &made), MPI_ERR_ARG, {"null pointer"});
    });
}

TEST(CCompat, OldConstructorsMakeWhatTheNewOnesMake) {
    ranks(1, [](int, int) {
        int lengths[] = {2, 1}, data[20], got[3]{};
        MPI_Aint places[] = {8, 40}, here = 0, there = 0;
        for (int i = 0; i < 20; ++i) data[i] = i;
        MPI_Datatype indexed = MPI_DATATYPE_NULL, vector = MPI_DATATYPE_NULL;
        EXPECT_EQ(MPI_Type_hindexed(2, lengths, places, MPI_INT, &indexed), MPI_SUCCESS);
        EXPECT_EQ(MPI_Type_hvector(3, 1, 12, MPI_INT, &vector), MPI_SUCCESS);
        auto const packed = [&](MPI_Datatype t) {
            int at = 0;
            MPI_Type_commit(&t);
            MPI_Pack(data, 1, t, got, sizeof got, &at, MPI_COMM_SELF);
            MPI_Type_free(&t);
            return std::vector<int>(got, got + 3);
        };
        MPI_Aint upper = 0;
        EXPECT_EQ(MPI_Type_ub(vector, &upper), MPI_SUCCESS);
        EXPECT_EQ(upper, 28);
        expect_failure(MPI_Type_ub(vector, nullptr), MPI_ERR_ARG, {"null pointer"});
        EXPECT_EQ(packed(indexed), (std::vector{2, 3, 10}));
        EXPECT_EQ(packed(vector), (std::vector{0, 3, 6}));
        EXPECT_EQ(MPI_Address(&data[3], &here), MPI_SUCCESS);
        MPI_Get_address(&data[3], &there);
        EXPECT_EQ(here, there);
    });
}

TEST(CCompat, HandlesAndStatusesOfFortranComeBack) {
    ranks(1, [](int, int) {
        MPI_Comm const comm = mpt::c::test::dup_of(MPI_COMM_WORLD);
        MPI_Group group = MPI_GROUP_NULL;
        MPI_Info info = MPI_INFO_NULL;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Op op = MPI_OP_NULL;
        MPI_Message message = MPI_MESSAGE_NULL;
        int x = 4;
        MPI_Comm_group(comm, &group), MPI_Info_create(&info), MPI_Type_contiguous(3, MPI_INT, &type);
        MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &op);
        MPI_Errhandler_create(ignore, &handler);
        MPI_Recv_init(&x, 1, MPI_INT, 0, 1, comm, &request);
        MPI_Send(&x, 1, MPI_INT, 0, 2, comm);
        MPI_Status s{}, back{};
        MPI_Mprobe(0, 2, comm, &message, &s);
        EXPECT_EQ(MPI_Comm_f2c(MPI_Comm_c2f(comm)), comm);
        EXPECT_EQ(MPI_Group_f2c(MPI_Group_c2f(group)), group);
        EXPECT_EQ(MPI_Info_f2c(MPI_Info_c2f(info)), info);
        EXPECT_EQ(MPI_Request_f2c(MPI_Request_c2f(request)), request);
        EXPECT_EQ(MPI_Errhandler_f2c(MPI_Errhandler_c2f(handler)), handler);
        EXPECT_EQ(MPI_Type_f2c(MPI_Type_c2f(type)), type);
        EXPECT_EQ(PMPI_Type_f2c(PMPI_Type_c2f(type)), type);
        EXPECT_EQ(MPI_Op_f2c(MPI_Op_c2f(op)), op);
        EXPECT_EQ(MPI_Message_f2c(MPI_Message_c2f(message)), message);
        EXPECT_EQ(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)), MPI_FILE_NULL);
        EXPECT_EQ(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)), MPI_WIN_NULL);
        EXPECT_EQ(MPI_Session_f2c(MPI_Session_c2f(MPI_SESSION_NULL)), MPI_SESSION_NULL);
        EXPECT_EQ(MPI_Comm_c2f(MPI_COMM_WORLD), MPI_Comm_toint(MPI_COMM_WORLD));
        EXPECT_EQ(MPI_Errhandler_set(comm, handler), MPI_SUCCESS);
        MPI_Errhandler got = MPI_ERRHANDLER_NULL;
        EXPECT_EQ(MPI_Errhandler_get(comm, &got), MPI_SUCCESS);
        EXPECT_EQ(got, handler);

        MPI_Fint f[MPI_F_STATUS_SIZE], f2[MPI_F_STATUS_SIZE];
        MPI_F08_status f08;
        s.MPI_ERROR = 17;
        EXPECT_EQ(MPI_Status_c2f(&s, f), MPI_SUCCESS);
        EXPECT_EQ(f[MPI_F_SOURCE], 0);
        EXPECT_EQ(f[MPI_F_TAG], 2);
        EXPECT_EQ(f[MPI_F_ERROR], 17);
        EXPECT_EQ(MPI_Status_f2f08(f, &f08), MPI_SUCCESS);
        EXPECT_EQ(f08.MPI_TAG, 2);
        EXPECT_EQ(MPI_Status_f082f(&f08, f2), MPI_SUCCESS);
        EXPECT_EQ(MPI_Status_f2c(f2, &back), MPI_SUCCESS);
        EXPECT_EQ(std::memcmp(&s, &back, sizeof s), 0);
        EXPECT_EQ(MPI_Status_c2f08(&s, &f08), MPI_SUCCESS);
        EXPECT_EQ(MPI_Status_f082c(&f08, &back), MPI_SUCCESS);
        EXPECT_EQ(std::memcmp(&s, &back, sizeof s), 0);
        expect_failure(MPI_Status_c2f(MPI_STATUS_IGNORE, f), MPI_ERR_ARG, {});
        expect_failure(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &back), MPI_ERR_ARG, {});

        MPI_Mrecv(&x, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        MPI_Request_free(&request), MPI_Group_free(&group), MPI_Info_free(&info), MPI_Type_free(&type), MPI_Op_free(&op);
        MPI_Errhandler_free(&handler), MPI_Errhandler_free(&got), MPI_Comm_free(const_cast<MPI_Comm*>(&comm));
    });
}

} // namespace
