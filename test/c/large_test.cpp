// The large forms: each does what its small one does, and takes a count of more than 32 bits for what it is.
#include <array>
#include <functional>
#include <numeric>

#include "ranks.hpp"
#include "shared.hpp"

namespace {

using mpt::c::test::dup_of;
using mpt::c::test::expect_failure;
using mpt::c::test::ranks;

constexpr MPI_Count wide = MPI_Count{1} << 32; // no int, and zero when it is cut

/// What rank r sends: n numbers.
std::vector<int> numbers_of(int r, MPI_Count n) {
    std::vector<int> v(static_cast<std::size_t>(n));
    std::iota(v.begin(), v.end(), 1000 * r + 1);
    return v;
}
std::vector<int> room_for(MPI_Count n) { return std::vector<int>(static_cast<std::size_t>(n), -1); }

using blocking_send = int (*)(void const*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
using started_send = int (*)(void const*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
constexpr std::array<blocking_send, 4> blocking{MPI_Send_c, MPI_Ssend_c, MPI_Bsend_c, MPI_Rsend_c};
constexpr std::array<started_send, 4> started{MPI_Isend_c, MPI_Issend_c, MPI_Ibsend_c, MPI_Irsend_c};
constexpr std::array<started_send, 4> made{MPI_Send_init_c, MPI_Ssend_init_c, MPI_Bsend_init_c, MPI_Rsend_init_c};

/// A buffer for buffered sends, while it lives.
struct attached {
    std::vector<std::byte> room = std::vector<std::byte>(1 << 20);
    attached() { EXPECT_EQ(MPI_Buffer_attach_c(room.data(), 1 << 20), MPI_SUCCESS); }
    ~attached() {
        void* back = nullptr;
        MPI_Count size = -1;
        EXPECT_EQ(MPI_Buffer_detach_c(&back, &size), MPI_SUCCESS);
        EXPECT_EQ(back, room.data());
        EXPECT_EQ(size, 1 << 20);
    }
};

TEST(CLarge, EverySendArrives) {
    ranks(2, [](int me, int) {
        attached const buffer;
        for (std::size_t mode = 0; mode < 4; ++mode)
            for (MPI_Count n : {0, 7, 30000}) {
                auto const out = numbers_of(me, n);
                std::array<std::vector<int>, 3> in{room_for(n), room_for(n), room_for(n)};
                std::array<MPI_Request, 4> r{};
                int const other = 1 - me;
                MPI_Irecv_c(in[0].data(), n, MPI_INT, other, 1, MPI_COMM_WORLD, &r[0]);
                MPI_Irecv_c(in[1].data(), n, MPI_INT, other, 2, MPI_COMM_WORLD, &r[1]);
                EXPECT_EQ(MPI_Recv_init_c(in[2].data(), n, MPI_INT, other, 3, MPI_COMM_WORLD, &r[2]), MPI_SUCCESS);
                MPI_Start(&r[2]);
                MPI_Barrier(MPI_COMM_WORLD); // ready sends need their receives
                EXPECT_EQ(blocking[mode](out.data(), n, MPI_INT, other, 1, MPI_COMM_WORLD), MPI_SUCCESS);
                EXPECT_EQ(started[mode](out.data(), n, MPI_INT, other, 2, MPI_COMM_WORLD, &r[3]), MPI_SUCCESS);
                MPI_Wait(&r[3], MPI_STATUS_IGNORE);
                EXPECT_EQ(made[mode](out.data(), n, MPI_INT, other, 3, MPI_COMM_WORLD, &r[3]), MPI_SUCCESS);
                MPI_Start(&r[3]);
                EXPECT_EQ(MPI_Waitall(4, r.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
                MPI_Request_free(&r[2]);
                MPI_Request_free(&r[3]);
                for (auto const& data : in) EXPECT_EQ(data, numbers_of(other, n));
            }
    });
}

TEST(CLarge, ExchangesBringThePartnersData) {
    ranks(2, [](int me, int) {
        for (MPI_Count n : {0, 7, 30000}) {
            auto const out = numbers_of(me, n), wanted = numbers_of(1 - me, n);
            auto in = room_for(n);
            MPI_Request r = MPI_REQUEST_NULL;
            int const to = 1 - me;
            EXPECT_EQ(MPI_Sendrecv_c(out.data(), n, MPI_INT, to, 1, in.data(), n, MPI_INT, to, 1, MPI_COMM_WORLD, nullptr), 0);
            EXPECT_EQ(in, wanted);
            in = room_for(n);
            EXPECT_EQ(MPI_Isendrecv_c(out.data(), n, MPI_INT, to, 2, in.data(), n, MPI_INT, to, 2, MPI_COMM_WORLD, &r), 0);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            EXPECT_EQ(in, wanted);
            in = out;
            EXPECT_EQ(MPI_Sendrecv_replace_c(in.data(), n, MPI_INT, to, 3, to, 3, MPI_COMM_WORLD, nullptr), 0);
            EXPECT_EQ(in, wanted);
            EXPECT_EQ(MPI_Isendrecv_replace_c(in.data(), n, MPI_INT, to, 4, to, 4, MPI_COMM_WORLD, &r), 0);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            EXPECT_EQ(in, out);
        }
    });
}

TEST(CLarge, TakenMessagesAreReceived) {
    ranks(1, [](int, int) {
        for (MPI_Count n : {0, 7, 100}) { // a rank that sends to itself must not wait for room
            auto const out = numbers_of(3, n);
            std::array<std::vector<int>, 2> in{room_for(n), room_for(n)};
            std::array<MPI_Message, 2> m{};
            MPI_Request r = MPI_REQUEST_NULL;
            MPI_Status s{};
            for (auto& one : m) {
                EXPECT_EQ(MPI_Send_c(out.data(), n, MPI_INT, 0, 1, MPI_COMM_SELF), MPI_SUCCESS);
                MPI_Mprobe(0, 1, MPI_COMM_SELF, &one, MPI_STATUS_IGNORE);
            }
            EXPECT_EQ(MPI_Mrecv_c(in[0].data(), n, MPI_INT, &m[0], &s), MPI_SUCCESS);
            EXPECT_EQ(MPI_Imrecv_c(in[1].data(), n, MPI_INT, &m[1], &r), MPI_SUCCESS);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            for (auto const& data : in) EXPECT_EQ(data, out);
            MPI_Count elements = -1;
            EXPECT_EQ(MPI_Get_elements_c(&s, MPI_INT, &elements), MPI_SUCCESS);
            EXPECT_EQ(elements, n);
        }
    });
}

TEST(CLarge, BuffersComeBackWithTheirSize) {
    ranks(1, [](int, int) {
        auto twin = dup_of(MPI_COMM_WORLD);
        std::vector<std::byte> room(1000); // of which the library is told more than there is, and uses the front
        int x = 4, y = 0;
        void* back = nullptr;
        MPI_Count size = -1;
        EXPECT_EQ(MPI_Buffer_attach_c(room.data(), wide + 5), MPI_SUCCESS);
        EXPECT_EQ(MPI_Buffer_detach_c(&back, &size), MPI_SUCCESS);
        EXPECT_EQ(back, room.data());
        EXPECT_EQ(size, wide + 5);
        EXPECT_EQ(MPI_Comm_attach_buffer_c(twin, room.data(), wide + 6), MPI_SUCCESS);
        EXPECT_EQ(MPI_Bsend_c(&x, 1, MPI_INT, 0, 1, twin), MPI_SUCCESS);
        MPI_Recv(&y, 1, MPI_INT, 0, 1, twin, MPI_STATUS_IGNORE);
        EXPECT_EQ(y, 4);
        back = nullptr;
        EXPECT_EQ(MPI_Comm_detach_buffer_c(twin, &back, &size), MPI_SUCCESS);
        EXPECT_EQ(back, room.data());
        EXPECT_EQ(size, wide + 6);
        expect_failure(MPI_Buffer_attach_c(room.data(), -1), MPI_ERR_ARG, {"MPI_Buffer_attach_c", "size is -1"});
        expect_failure(MPI_Comm_detach_buffer_c(twin, &back, &size), MPI_ERR_BUFFER, {"no buffer is attached"});
        MPI_Comm_free(&twin);
    });
}

TEST(CLarge, PackedDataAreThoseOfTheSmallForms) {
    ranks(1, [](int, int) {
        auto const data = numbers_of(2, 40);
        std::vector<char> small(200, 'x'), large(200, 'x');
        int at = 3;
        MPI_Count wide_at = 3;
        MPI_Pack(data.data(), 40, MPI_INT, small.data(), 200, &at, MPI_COMM_SELF);
        EXPECT_EQ(MPI_Pack_c(data.data(), 40, MPI_INT, large.data(), 200, &wide_at, MPI_COMM_SELF), MPI_SUCCESS);
        EXPECT_EQ(wide_at, 163);
        EXPECT_EQ(large, small);
        MPI_Aint external_at = 5;
        wide_at = 5;
        MPI_Pack_external("external32", data.data(), 40, MPI_INT, small.data(), 200, &external_at);
        EXPECT_EQ(MPI_Pack_external_c("external32", data.data(), 40, MPI_INT, large.data(), 200, &wide_at), MPI_SUCCESS);
        EXPECT_EQ(wide_at, 165);
        EXPECT_EQ(large, small);
        MPI_Count size = -1;
        EXPECT_EQ(MPI_Pack_size_c(wide, MPI_INT, MPI_COMM_SELF, &size), MPI_SUCCESS);
        EXPECT_EQ(size, 4 * wide);
        EXPECT_EQ(MPI_Pack_external_size_c("external32", wide, MPI_DOUBLE, &size), MPI_SUCCESS);
        EXPECT_EQ(size, 8 * wide);
        wide_at = 0;
        expect_failure(MPI_Pack_c(data.data(), wide, MPI_INT, large.data(), 200, &wide_at, MPI_COMM_SELF), MPI_ERR_TRUNCATE,
                       {"MPI_Pack_c", "4294967296 elements"});
        expect_failure(MPI_Pack_external_c("native", data.data(), 1, MPI_INT, large.data(), 200, &wide_at), MPI_ERR_ARG,
                       {"MPI_Pack_external_c", "native"});
    });
}

TEST(CLarge, CollectivesThatMoveData) {
    ranks(3, [](int me, int size) {
        for (MPI_Count n : {0, 5, 4000}) {
            auto const out = numbers_of(me, n), many = numbers_of(me, 3 * n);
            std::vector<int> all, parts; // all ranks' numbers; all ranks' parts for this one
            for (int r = 0; r < size; ++r) {
                auto const theirs = numbers_of(r, n), long_ones = numbers_of(r, 3 * n);
                all.insert(all.end(), theirs.begin(), theirs.end());
                parts.insert(parts.end(), long_ones.begin() + me * n, long_ones.begin() + (me + 1) * n);
            }
            auto in = me == 1 ? out : room_for(n);
            EXPECT_EQ(MPI_Bcast_c(in.data(), n, MPI_INT, 1, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_EQ(in, numbers_of(1, n));
            in = room_for(3 * n);
            EXPECT_EQ(MPI_Gather_c(out.data(), n, MPI_INT, in.data(), n, MPI_INT, 2, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_EQ(in, me == 2 ? all : room_for(3 * n));
            EXPECT_EQ(MPI_Allgather_c(out.data(), n, MPI_INT, in.data(), n, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_EQ(in, all);
            EXPECT_EQ(MPI_Alltoall_c(many.data(), n, MPI_INT, in.data(), n, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_EQ(in, parts);
            in = room_for(n);
            EXPECT_EQ(MPI_Scatter_c(many.data(), n, MPI_INT, in.data(), n, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
            auto const first = numbers_of(0, 3 * n);
            EXPECT_EQ(in, std::vector<int>(first.begin() + me * n, first.begin() + (me + 1) * n));
        }
    });
}

/// The sum of what the ranks from `first` to `last` (without it) have.
std::vector<int> sum(int first, int last, MPI_Count n) {
    std::vector<int> all(static_cast<std::size_t>(n));
    for (int r = first; r < last; ++r) std::ranges::transform(all, numbers_of(r, n), all.begin(), std::plus{});
    return all;
}

TEST(CLarge, CollectivesThatCombine) {
    ranks(3, [](int me, int size) {
        for (MPI_Count n : {0, 5, 4000}) {
            auto const out = numbers_of(me, n), many = numbers_of(me, 3 * n), all = sum(0, size, 3 * n);
            auto in = room_for(n);
            EXPECT_EQ(MPI_Reduce_c(out.data(), in.data(), n, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_EQ(in, me == 1 ? sum(0, size, n) : room_for(n));
            EXPECT_EQ(MPI_Allreduce_c(out.data(), in.data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_EQ(in, sum(0, size, n));
            EXPECT_EQ(MPI_Scan_c(out.data(), in.data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_EQ(in, sum(0, me + 1, n));
            EXPECT_EQ(MPI_Exscan_c(out.data(), in.data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
            if (me > 0) { EXPECT_EQ(in, sum(0, me, n)); }
            EXPECT_EQ(MPI_Reduce_scatter_block_c(many.data(), in.data(), n, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_EQ(in, std::vector<int>(all.begin() + me * n, all.begin() + (me + 1) * n));
        }
    });
}

/// Every function that takes a count and data, with a count that is zero when it is cut to an int, and no data.
TEST(CLarge, ACountOfMoreThan32BitsIsNotCut) {
    ranks(1, [](int, int) {
        auto const c = MPI_COMM_SELF;
        auto const t = MPI_INT;
        MPI_Request r = MPI_REQUEST_NULL;
        MPI_Message m = MPI_MESSAGE_NO_PROC;
        int x = 0;
        std::vector<std::function<int()>> calls;
        for (auto f : blocking) calls.push_back([=] { return f(nullptr, wide, t, 0, 1, c); });
        for (auto const& list : {started, made})
            for (auto f : list) calls.push_back([=, &r] { return f(nullptr, wide, t, 0, 1, c, &r); });
        calls.insert(calls.end(), {
                                      [&] { return MPI_Irecv_c(nullptr, wide, t, 0, 1, c, &r); },
                                      [&] { return MPI_Recv_init_c(nullptr, wide, t, 0, 1, c, &r); },
                                      [&] { return MPI_Recv_c(nullptr, wide, t, 0, 1, c, nullptr); },
                                      [&] { return MPI_Mrecv_c(nullptr, wide, t, &m, nullptr); },
                                      [&] { return MPI_Imrecv_c(nullptr, wide, t, &m, &r); },
                                      [&] { return MPI_Sendrecv_c(nullptr, wide, t, 0, 1, &x, 1, t, 0, 1, c, nullptr); },
                                      [&] { return MPI_Sendrecv_c(&x, 1, t, 0, 1, nullptr, wide, t, 0, 1, c, nullptr); },
                                      [&] { return MPI_Isendrecv_c(nullptr, wide, t, 0, 1, &x, 1, t, 0, 1, c, &r); },
                                      [&] { return MPI_Sendrecv_replace_c(nullptr, wide, t, 0, 1, 0, 1, c, nullptr); },
                                      [&] { return MPI_Isendrecv_replace_c(nullptr, wide, t, 0, 1, 0, 1, c, &r); },
                                      [&] { return MPI_Bcast_c(nullptr, wide, t, 0, c); },
                                      [&] { return MPI_Gather_c(nullptr, wide, t, &x, 1, t, 0, c); },
                                      [&] { return MPI_Scatter_c(&x, 1, t, nullptr, wide, t, 0, c); },
                                      [&] { return MPI_Allgather_c(nullptr, wide, t, &x, 1, t, c); },
                                      [&] { return MPI_Alltoall_c(nullptr, wide, t, &x, 1, t, c); },
                                      [&] { return MPI_Reduce_c(nullptr, &x, wide, t, MPI_SUM, 0, c); },
                                      [&] { return MPI_Allreduce_c(nullptr, &x, wide, t, MPI_SUM, c); },
                                      [&] { return MPI_Scan_c(nullptr, &x, wide, t, MPI_SUM, c); },
                                      [&] { return MPI_Exscan_c(nullptr, &x, wide, t, MPI_SUM, c); },
                                      [&] { return MPI_Reduce_scatter_block_c(nullptr, &x, wide, t, MPI_SUM, c); },
                                  });
        for (auto const& call : calls) expect_failure(call(), MPI_ERR_BUFFER, {"_c: ", "is a null pointer"});
        EXPECT_EQ(x, 0);
    });
}

} // namespace
