// Statuses by the C interface: what is written into one is found there again, and nothing else is changed.
#include <array>

#include "../support/dice.hpp"
#include "ranks.hpp"

namespace {

using mpt::c::test::expect_failure;
using mpt::c::test::ranks;

/// What a status should hold.
struct model {
    int source = 0, tag = 0, error = MPI_SUCCESS, cancelled = 0;
    MPI_Count bytes = 0;
};

void expect_holds(MPI_Status const& s, model const& m) {
    int source = -9, tag = -9, error = -9, cancelled = -9;
    MPI_Count bytes = -9;
    EXPECT_EQ(MPI_Status_get_source(&s, &source), MPI_SUCCESS);
    EXPECT_EQ(MPI_Status_get_tag(&s, &tag), MPI_SUCCESS);
    EXPECT_EQ(MPI_Status_get_error(&s, &error), MPI_SUCCESS);
    EXPECT_EQ(MPI_Test_cancelled(&s, &cancelled), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_elements_x(&s, MPI_BYTE, &bytes), MPI_SUCCESS);
    EXPECT_EQ(source, m.source);
    EXPECT_EQ(tag, m.tag);
    EXPECT_EQ(error, m.error);
    EXPECT_EQ(cancelled, m.cancelled);
    EXPECT_EQ(bytes, m.bytes);
    EXPECT_EQ(s.MPI_SOURCE, m.source);
    EXPECT_EQ(s.MPI_TAG, m.tag);
    EXPECT_EQ(s.MPI_ERROR, m.error);
}

TEST(CStatus, WhatIsSetIsFoundAndTheRestIsAsItWas) {
    auto const seed = mpt::test::seeds{1}.first;
    ranks(1, [&](int, int) {
        SCOPED_TRACE(testing::Message() << "MPT_SEED=" << seed);
        std::mt19937_64 random{seed};
        MPI_Status s{};
        model m;
        for (int round = 0; round < 2000; ++round) {
            auto const x = static_cast<int>(random());
            auto const n = static_cast<MPI_Count>(random() >> (1 + random() % 62)); // of every magnitude
            switch (random() % 6) {
            case 0: EXPECT_EQ(MPI_Status_set_source(&s, m.source = x), MPI_SUCCESS); break;
            case 1: EXPECT_EQ(MPI_Status_set_tag(&s, m.tag = x), MPI_SUCCESS); break;
            case 2: EXPECT_EQ(MPI_Status_set_error(&s, m.error = x), MPI_SUCCESS); break;
            case 3:
                m.cancelled = x % 2 != 0;
                EXPECT_EQ(MPI_Status_set_cancelled(&s, m.cancelled), MPI_SUCCESS);
                break;
            case 4: EXPECT_EQ(MPI_Status_set_elements_x(&s, MPI_BYTE, m.bytes = n), MPI_SUCCESS); break;
            case 5:
                m.bytes = n / 16 * 4;
                EXPECT_EQ(MPI_Status_set_elements_x(&s, MPI_FLOAT, n / 16), MPI_SUCCESS);
                break;
            }
            expect_holds(s, m);
        }
    });
}

TEST(CStatus, ElementsAreCountedThatWholeDatatypesDoNotFill) {
    ranks(1, [](int, int) {
        std::array<int, 2> const lengths{1, 2};
        std::array<MPI_Aint, 2> const places{0, 8};
        std::array<MPI_Datatype, 2> const parts{MPI_DOUBLE, MPI_SHORT};
        MPI_Datatype t = MPI_DATATYPE_NULL; // 8 + 2 + 2 bytes
        MPI_Type_create_struct(2, lengths.data(), places.data(), parts.data(), &t);
        MPI_Type_commit(&t);
        MPI_Status s{};
        for (MPI_Count n : {0, 1, 2, 3, 4, 5, 6, 3000000, 3000001}) {
            MPI_Count elements = -1, large = -1, count = -1, bytes = -1;
            EXPECT_EQ(MPI_Status_set_elements_x(&s, t, n), MPI_SUCCESS);
            EXPECT_EQ(MPI_Get_elements_x(&s, t, &elements), MPI_SUCCESS);
            EXPECT_EQ(MPI_Get_elements_c(&s, t, &large), MPI_SUCCESS);
            EXPECT_EQ(MPI_Get_count_c(&s, t, &count), MPI_SUCCESS);
            EXPECT_EQ(MPI_Get_elements_x(&s, MPI_BYTE, &bytes), MPI_SUCCESS);
            EXPECT_EQ(elements, n);
            EXPECT_EQ(large, n);
            EXPECT_EQ(count, n % 3 == 0 ? n / 3 : MPI_Count{MPI_UNDEFINED});
            EXPECT_EQ(bytes, n / 3 * 12 + (n % 3 == 0 ? 0 : n % 3 == 1 ? 8 : 10));
        }
        MPI_Type_free(&t);
        MPI_Status_set_elements_x(&s, MPI_BYTE, 7); // no number of ints
        MPI_Count elements = 0;
        MPI_Get_elements_x(&s, MPI_INT, &elements);
        EXPECT_EQ(elements, MPI_UNDEFINED);
        MPI_Status_set_elements_x(&s, MPI_INT, MPI_Count{1} << 40);
        int small = 0;
        MPI_Get_elements(&s, MPI_INT, &small);
        EXPECT_EQ(small, MPI_UNDEFINED);
        MPI_Get_elements_c(&s, MPI_INT, &elements);
        EXPECT_EQ(elements, MPI_Count{1} << 40);
    });
}

TEST(CStatus, AReceivedMessagesStatusIsReadByFunctionsToo) {
    ranks(2, [](int me, int) {
        double const out[3] = {1, 2, 3};
        double in[5] = {};
        if (me == 0) {
            MPI_Send(out, 3, MPI_DOUBLE, 1, 12, MPI_COMM_WORLD);
            return;
        }
        MPI_Status s{};
        s.MPI_ERROR = 77; // a call that tells one status leaves it alone
        MPI_Recv(in, 5, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        expect_holds(s, {0, 12, 77, 0, 24});
    });
}

TEST(CStatus, MisuseIsRefused) {
    ranks(1, [](int, int) {
        MPI_Status s{};
        int x = 0;
        MPI_Count n = 0;
        expect_failure(MPI_Status_get_source(nullptr, &x), MPI_ERR_ARG, {"MPI_Status_get_source", "status is a null pointer"});
        expect_failure(MPI_Status_get_tag(&s, nullptr), MPI_ERR_ARG, {"MPI_Status_get_tag", "tag is a null pointer"});
        expect_failure(MPI_Status_get_error(nullptr, &x), MPI_ERR_ARG, {"status is a null pointer"});
        expect_failure(MPI_Status_set_source(nullptr, 1), MPI_ERR_ARG, {"status is a null pointer"});
        expect_failure(MPI_Status_set_tag(nullptr, 1), MPI_ERR_ARG, {"status is a null pointer"});
        expect_failure(MPI_Status_set_error(nullptr, 1), MPI_ERR_ARG, {"status is a null pointer"});
        expect_failure(MPI_Status_set_cancelled(nullptr, 1), MPI_ERR_ARG, {"status is a null pointer"});
        expect_failure(MPI_Get_elements_x(&s, MPI_DATATYPE_NULL, &n), MPI_ERR_TYPE, {"datatype is MPI_DATATYPE_NULL"});
        expect_failure(MPI_Status_set_elements_x(&s, MPI_DATATYPE_NULL, 1), MPI_ERR_TYPE, {"MPI_DATATYPE_NULL"});
        expect_failure(MPI_Status_set_elements_x(&s, MPI_INT, -1), MPI_ERR_COUNT, {"count is -1", "not negative"});
    });
}

} // namespace
